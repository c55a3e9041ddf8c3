import t from 'tap'
import { authorOf } from '../server/writing.ts'
import { anna, ben, openNewsroom, planner, scribe, type Newsroom } from './newsroom.ts'

const LOCK = '/api/cloud/data-state/publisher_container/1'
const TITLE = { type: 'edition', id: '1', field: 'title' }
const tagOf = async ({ call }: Newsroom) => (await call('read_edition', { id: '1' })).body.tag as string
const codeOf = ({ isError, body }: { isError: boolean; body: any }) => (isError ? (body.error?.code ?? body) : 'done')

t.test('an agent edits a field in one call, and a repeated call is told the same until somebody undoes it', async (t) => {
  const room = await openNewsroom(t)
  const { call, rest } = room
  const tag = await tagOf(room)
  const { title: before } = (await rest('GET', '/api/collection/1')).body
  const args = { id: '1', field: 'title', value: 'By the planner', tag }
  const first = await call('edit_field', args)
  t.match(first, { isError: false, body: { saved: true, tag: await tagOf(room) } })
  t.match((await rest('GET', '/api/collection/1')).body.title, [{ value: 'By the planner' }])
  t.strictSame((await rest('GET', LOCK)).body.data.Items, [])

  const again = await call('edit_field', args)
  t.match(again, { isError: false, body: { saved: true, tag: first.body.tag, repeated: /An earlier call/ } })
  t.equal(codeOf(await call('edit_field', args, { headers: scribe })), 'PRECONDITION_FAILED', 'another agent has not done it')

  await rest('POST', '/api/collection/1', { body: { title: before } })
  const next = await call('edit_field', { ...args, tag: await tagOf(room) })
  t.notOk(next.body.repeated)
  t.match((await rest('GET', '/api/collection/1')).body.title, [{ value: 'By the planner' }])
  const entry = (await rest('GET', '/api/collection/1/journal')).body
  t.match(JSON.stringify(entry), /agent:planner:7/, 'the journal names the agent, not its user')
})

t.test('a value of one item keeps the format of its text; a list replaces all items; null empties the field', async (t) => {
  const room = await openNewsroom(t)
  const { call, rest } = room
  const edit = async (field: string, value: unknown) => call('edit_field', { id: '1', field, value, tag: await tagOf(room) })
  const read = async (field: string) => (await rest('GET', '/api/collection/1')).body[field]
  const [{ format }] = await read('field_description')
  t.equal(codeOf(await edit('field_description', '<p>Short</p>')), 'done')
  t.match(await read('field_description'), [{ value: '<p>Short</p>', format }])
  t.equal(codeOf(await edit('field_labels', [{ value: 'a' }, { value: 'b' }])), 'done')
  t.match(await edit('field_labels', 'c'), {
    isError: true,
    body: { error: { code: 'BAD_REQUEST', problems: [{ argument: 'value', problem: /several items/ }] } }
  })
  t.equal(codeOf(await edit('field_labels', null)), 'done')
  t.strictSame(await read('field_labels'), [])
  t.equal(codeOf(await edit('field_labels', 'only')), 'done')
  t.match(await read('field_labels'), [{ value: 'only' }])
  const absent = await edit('no_such_field', 'x')
  t.match(absent.body.error, { code: 'BAD_REQUEST', problems: [{ argument: 'field', allowed: Array }] })
  t.ok(absent.body.error.problems[0].allowed.includes('field_key'))
  t.equal(codeOf(await edit('field_page_count', -1)), 'UNPROCESSABLE')
  t.strictSame((await rest('GET', LOCK)).body.data.Items, [], 'every lock was given back')
  t.strictSame((await rest('GET', `${LOCK}/drafts`, { headers: planner })).body.data.Items, [], 'what was refused is not kept')
})

t.test('no tool publishes, unpublishes or closes', async (t) => {
  const room = await openNewsroom(t)
  const { rest, call } = room
  const tag = await tagOf(room)
  for (const field of ['status', 'moderation_state', 'publish_on', 'unpublish_on']) {
    for (const check of [true, false]) {
      t.equal(codeOf(await call('edit_field', { id: '1', field, value: true, tag, check })), 'FORBIDDEN', field)
    }
  }
  t.equal(await tagOf(room), tag)
  t.strictSame((await rest('GET', LOCK)).body.data.Items, [])
})

t.test('a tag is one that was read: neither * nor a list of them', async (t) => {
  const room = await openNewsroom(t)
  const tag = await tagOf(room)
  for (const wrong of ['*', `${tag}, "other"`, '', tag.slice(1)]) {
    const { isError, body } = await room.call('edit_field', { id: '1', field: 'title', value: 'x', tag: wrong })
    t.ok(isError && /"?tag/.test(JSON.stringify(body)), wrong)
  }
  t.equal(await tagOf(room), tag)
})

t.test('an agent works longer under a lock of its own, and saves under it', async (t) => {
  const room = await openNewsroom(t)
  const { call, rest } = room
  const started = (await call('start_editing', TITLE)).body
  t.match(started, { version: String, endsAt: /^20/ })
  const kept = (await call('save_text', { ...TITLE, version: started.version, text: 'half a head' })).body
  t.match((await rest('GET', LOCK)).body.data.Items, [
    { payload: 'half a head', userData: { uid: 'agent:planner:7', name: 'planner (Anna)', agent: 'planner', principal: '7' } }
  ])
  t.equal(codeOf(await call('save_text', { ...TITLE, version: started.version, text: 'late' })), 'LOCK_CHANGED')
  const saved = await call('edit_field', { id: '1', field: 'title', value: 'A head', tag: await tagOf(room), version: kept.version })
  t.equal(codeOf(saved), 'done')
  t.strictSame((await rest('GET', LOCK)).body.data.Items, [])

  const order = { type: 'edition', id: '1', field: 'field_articles' }
  const { version } = (await call('start_editing', order)).body
  const operations = [{ op: 'insert', article: '70', at: 'end' }]
  t.equal(codeOf(await call('arrange_articles', { id: '1', operations })), 'FIELD_LOCKED')
  t.match(await call('arrange_articles', { id: '1', operations, version }), { body: { saved: true, operations: ['done'] } })
  t.match((await call('stop_editing', { ...order, version })).body, { released: true })

  const article = { type: 'article', id: '1', field: 'title' }
  const ofArticle = (await call('start_editing', article)).body
  t.match((await rest('GET', '/api/cloud/data-state/node/1')).body.data.Items, [{ fieldName: 'title' }])
  t.match((await call('stop_editing', { ...article, ...ofArticle, endsAt: undefined })).body, { released: true })
  t.equal(codeOf(await call('start_editing', { ...article, id: 'bb65a4e6-c195-51c2-925f-b831b9ac311a' })), 'BAD_REQUEST')
  t.equal(codeOf(await call('start_editing', { type: 'media', id: '5', field: 'name' })), 'done', 'any type has locks')
})

t.test('a person who asks has the field of an agent at once, and its text is a proposal', async (t) => {
  const room = await openNewsroom(t)
  const { call, rest } = room
  const { version } = (await call('start_editing', TITLE)).body
  const kept = (await call('save_text', { ...TITLE, version, text: 'half a head' })).body
  t.equal((await rest('POST', `${LOCK}/requests`, { headers: ben, body: { fieldName: 'title' } })).status, 409)
  t.equal((await rest('POST', LOCK, { headers: ben, body: { fieldName: 'title', payload: "Ben's" } })).status, 200)
  t.match((await rest('GET', `${LOCK}/proposals`, { headers: ben })).body.data.Items, [{ payload: 'half a head' }])
  t.equal(codeOf(await call('save_text', { ...TITLE, version: kept.version, text: 'x' })), 'FIELD_LOCKED')
  t.equal(codeOf(await call('edit_field', { id: '1', field: 'title', value: 'x', tag: await tagOf(room) })), 'FIELD_LOCKED')
  t.match((await call('ask_for_field', TITLE)).body, { asked: true, endsAt: /^20/ })
  t.match((await call('stop_editing', { ...TITLE, version: kept.version })).body, { released: true })
  t.match((await rest('GET', LOCK)).body.data.Items, [{ payload: "Ben's", userData: { uid: '8' } }])
})

t.test('an agent proposes once, and withdraws its own', async (t) => {
  const room = await openNewsroom(t)
  const { call, rest } = room
  await rest('POST', LOCK, { headers: anna, body: { fieldName: 'title', payload: "Anna's" } })
  const args = { ...TITLE, text: 'A better head', base: await tagOf(room), reason: 'It is shorter' }
  const { id } = (await call('propose_text', args)).body
  t.match((await call('propose_text', args)).body, { proposed: true, id, repeated: /An earlier call/ })
  const { reason: _, ...withoutReason } = args
  const other = (await call('propose_text', { ...withoutReason, text: 'Another head' })).body
  t.match((await rest('GET', `${LOCK}/proposals`)).body.data.Items, [
    { id: other.id, payload: 'Another head' },
    { id, payload: 'A better head', reason: 'It is shorter', userData: { agent: 'planner', principal: '7' } }
  ])
  const withdrawal = { type: 'edition', id: '1', proposal: id }
  const refusal = async (more: object, headers?: Record<string, string>) =>
    (await call('withdraw_proposal', { ...withdrawal, ...more }, { ...(headers && { headers }) })).body.error
  t.match(await refusal({}, scribe), { code: 'FORBIDDEN', message: /not of this agent/ })
  t.match(await refusal({ proposal: 'x'.repeat(38) }), { code: 'NOT_FOUND', message: /no such proposal/ })
  t.match((await call('withdraw_proposal', withdrawal)).body, { withdrawn: true })
  t.match(await refusal({}), { code: 'CONFLICT', message: /already/ })
  t.match((await rest('GET', LOCK)).body.data.Items, [{ payload: "Anna's" }])
})

t.test('where as many proposals are open as may be, an agent is told that time ends none', async (t) => {
  const room = await openNewsroom(t)
  const base = await tagOf(room)
  const propose = (text: string) => room.call('propose_text', { ...TITLE, text, base })
  for (let count = 1; count <= 5; count++) t.equal(codeOf(await propose(`Head ${count}`)), 'done')
  t.match((await propose('One more')).body.error, { code: 'TOO_MANY_REQUESTS', next: /time alone ends none/, retryAfterSeconds: undefined })
})

t.test('a check says what would come of it, and writes nothing', async (t) => {
  const room = await openNewsroom(t)
  const { call, rest } = room
  const tag = await tagOf(room)
  const { title } = (await rest('GET', '/api/collection/1')).body
  const check = (args: object) => call('edit_field', { id: '1', field: 'title', tag, check: true, ...args })
  const note = /Drupal validates on the real write alone/
  t.match((await check({ value: 'New' })).body, { outcome: 'saved', isTagCurrent: true, tag, heldBy: [], stored: title, note })
  t.match((await check({ value: title[0].value })).body, { outcome: 'same' })
  t.match((await check({ value: [title[0].value] })).body, { outcome: 'same' })
  t.match((await check({ value: null })).body, { outcome: 'saved' })
  t.match((await check({ value: 'New', tag: '"older.state"' })).body, { outcome: 'refused', isTagCurrent: false, tag })
  await rest('POST', LOCK, { headers: ben, body: { fieldName: 'title' } })
  t.match((await check({ value: 'New' })).body, {
    outcome: 'refused',
    heldBy: [{ fieldName: 'title', holder: { uid: '8', name: 'Ben' }, since: /^20/ }]
  })
  await rest('DELETE', `${LOCK}?fieldName=title`, { headers: ben })
  const { version } = (await call('start_editing', TITLE)).body
  t.match((await check({ value: 'New' })).body, {
    outcome: 'refused',
    heldBy: [{ holder: { uid: 'agent:planner:7' }, expiresAt: /^20/, version: String }]
  })
  t.match((await check({ value: 'New', version })).body, { outcome: 'saved', heldBy: [] })

  const arrange = (args: object) => call('arrange_articles', { id: '1', check: true, ...args })
  t.match((await arrange({ operations: [{ op: 'remove', article: '1' }] })).body, { outcome: 'saved', operations: ['done'], note })
  t.match((await arrange({ operations: [{ op: 'remove', article: '99' }], tag })).body, { outcome: 'same', operations: ['already'] })
  const neighbours = [
    { op: 'move', article: '2', before: '1' },
    { op: 'insert', article: 'bb65a4e6-c195-51c2-925f-b831b9ac311a', after: '2' }
  ]
  t.match((await arrange({ operations: neighbours })).body, { operations: ['done', 'already'] })
  t.equal(codeOf(await arrange({ operations: [{ op: 'move', article: '99', at: 'end' }] })), 'ORDER_CONFLICT')
  t.equal(codeOf(await arrange({ operations: [{ op: 'insert', article: '70' }] })), 'BAD_REQUEST')
  t.equal(codeOf(await arrange({ operations: [{ op: 'remove', article: '1' }], field: 'title' })), 'BAD_REQUEST')
  t.equal(await tagOf(room), tag)
})

t.test('an order is arranged once by its tag, and again without one', async (t) => {
  const room = await openNewsroom(t)
  const { call, rest } = room
  const operations = [{ op: 'insert', article: '70', at: 'start' }]
  const args = { id: '1', operations, tag: await tagOf(room) }
  const first = (await call('arrange_articles', args)).body
  t.match(first, { saved: true, operations: ['done'] })
  t.match((await call('arrange_articles', args)).body, { saved: true, tag: first.tag, operations: ['done'], repeated: String })
  t.match((await call('arrange_articles', { id: '1', operations })).body, { saved: true, operations: ['already'] })
  t.equal(codeOf(await call('arrange_articles', { ...args, operations: [{ op: 'remove', article: '70' }] })), 'PRECONDITION_FAILED')
  t.equal((await rest('GET', '/api/collection/1')).body.field_articles[0].target_id, 70)
})

t.test('an agent that has used its budget may still give back and withdraw', async (t) => {
  const room = await openNewsroom(t, { env: { writesPerMinute: '2' } })
  const { call } = room
  const tag = await tagOf(room)
  const { version } = (await call('start_editing', TITLE)).body
  const { id } = (await call('propose_text', { ...TITLE, field: 'field_key', text: 'x', base: tag })).body
  const edit = { id: '1', field: 'field_key', value: 'x', tag }
  for (const [name, args] of [
    ['edit_field', edit],
    ['arrange_articles', { id: '1', operations: [{ op: 'remove', article: '1' }] }],
    ['start_editing', { ...TITLE, field: 'field_key' }],
    ['save_text', { ...TITLE, version, text: 'x' }],
    ['ask_for_field', TITLE],
    ['propose_text', { ...TITLE, text: 'y', base: tag }]
  ] as const) {
    t.match(await call(name, args), { isError: true, body: { error: { code: 'TOO_MANY_REQUESTS', retryAfterSeconds: Number } } }, name)
  }
  t.equal(codeOf(await call('edit_field', { ...edit, check: true })), 'done', 'a check is no write')
  t.equal(await tagOf(room), tag)
  t.equal(codeOf(await call('stop_editing', { ...TITLE, version })), 'done')
  t.equal(codeOf(await call('withdraw_proposal', { type: 'edition', id: '1', proposal: id })), 'done')
})

t.test('an agent is named after its user, as far as that is known and short enough', (t) => {
  const agent = { name: 'planner', principal: '7', uid: 'agent:planner:7' }
  const named = (identity: object | undefined) => authorOf({ agent, request: { identity } } as never).name
  t.equal(named({ uid: '7', name: 'Anna' }), 'planner (Anna)')
  t.equal(named({ uid: '7' }), 'planner (7)')
  t.equal(named(undefined), 'planner (7)')
  t.equal(named({ uid: agent.uid, name: 'planner (Anna)' }), 'planner (Anna)')
  t.equal(named({ uid: agent.uid }), 'planner')
  t.equal(named({ uid: '7', name: 'A'.repeat(250) }), 'planner')
  t.end()
})
