import { join } from 'node:path'
import { DeleteCommand, PutCommand, QueryCommand, ScanCommand, type DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import t, { type Test } from 'tap'
import { newspaper } from '../../dev/content.ts'
import type { Save } from '#lib/editions/save/recorder.ts'
import { stateOf } from '#lib/saves/edition-state.ts'
import { createJournal, type JournalDeps } from '#lib/saves/journal.ts'
import { VALUE_MAX } from '#lib/saves/journal-values.ts'
import { model } from '../editions/fixtures.ts'
import { bearer, jwtEnv } from '../auth/fixtures.ts'
import { openHostile, startHostileCms, JSONAPI } from '../editions/hostile-cms.ts'
import { basic, editionsOf, type Call } from '../editions/site.ts'
import { buildLogged } from '../helper.ts'
import { startEngine } from '../locks/fixtures/engines.ts'
import { type Faked, fakeTime } from '../fixtures/time.ts'

const { id, uuid } = editionsOf(newspaper()).find(({ published, bundle }) => published && bundle === 'daily')!
const path = `/api/collection/${id}`
const title = (text: string) => ({ title: [{ value: text }] })
const anna = { 'x-user-uid': '7' }
const NOON = Date.UTC(2026, 10, 23, 12)

interface Options {
  env?: Record<string, string>
}

/** Quoin with a table, before a site whose clock only the test moves. */
async function openDesk(t: Test, { env = {} }: Options = {}) {
  const { endpoint, client } = await startEngine(t, 'dynalite')
  const clock = { now: NOON }
  const { app, call, cms } = await openHostile(t, { env: { DYNAMODB_ENDPOINT: endpoint, ...env }, now: () => clock.now })
  const save = (body: object, options: Call = {}) => call('POST', path, { body, as: 'editor', ...options })
  const read = async (query = '', options: Call = {}) => (await call('GET', `${path}/journal${query}`, { as: 'editor', ...options })).body
  const restore = (body: object, options: Call = {}) => call('POST', `${path}/restore`, { body, as: 'editor', ...options })
  /** A save in Drupal's own form. */
  const saveOutside = (attributes: object, relationships: object = {}) =>
    fetch(`${cms.url}/jsonapi/publisher_container/daily/${uuid}`, {
      method: 'PATCH',
      headers: { ...JSONAPI, ...basic('admin') },
      body: JSON.stringify({ data: { type: 'publisher_container--daily', id: uuid, attributes, relationships } })
    }).then(async (answer) => {
      if (answer.status !== 200) throw new Error(await answer.text())
    })
  return {
    app,
    call,
    cms,
    client,
    clock,
    endpoint,
    save,
    read,
    restore,
    saveOutside,
    journal: (deps: Faked<JournalDeps> = {}) => journalOf(client, deps)
  }
}

function journalOf(client: DynamoDBDocumentClient, { time, ...deps }: Faked<JournalDeps> = {}) {
  return createJournal({
    client,
    table: 'DataState',
    environment: 'test',
    days: 30,
    model,
    time: fakeTime({ ...time }),
    warn() {},
    ...deps
  })
}

/** A save as an instance decides it that is killed before it can say what became of it. */
function saveOf(fields: Save['fields'], more: Partial<Save> = {}): Save {
  return {
    kind: 'update',
    uuid,
    by: { uid: '7' },
    before: { edition: { changed: [{ value: '2026-11-23T12:00:00+00:00' }], langcode: [{ value: 'en' }] }, etag: '"a.b"' },
    fields,
    isShared: true,
    ...more
  }
}

const kindsOf = ({ data }: { data: Array<{ kind: string; outcome: string }> }) => data.map(({ kind, outcome }) => `${kind} ${outcome}`)

t.test('each save has an entry with who, when and what', async (t) => {
  const { call, save, read, restore } = await openDesk(t)
  const { headers, body: saved } = await save(title('First'), { headers: anna })
  t.equal((await save({ field_page_count: [{ value: -1 }] })).status, 422)
  t.equal(
    (
      await call('POST', `${path}/articles`, {
        body: { operations: [{ op: 'insert', article: { target_id: 9 }, at: 'start' }] },
        as: 'editor',
        headers: anna
      })
    ).status,
    200
  )
  t.equal((await save({ status: [{ value: false }] })).status, 200)
  const {
    data: [, , , first]
  } = await read()
  t.equal((await restore({ entry: first.id, fields: ['title'], side: 'before' }, { headers: anna })).status, 200)
  const closed = await call('POST', `${path}/close`, { body: {}, as: 'editor' })
  t.ok(closed.status === 200 || closed.body.code === 'NOT_READY', String(closed.status))
  const { data, meta } = await read()
  t.equal(meta.next, null)
  t.match(data.slice(closed.status === 200 ? 1 : 0), [
    {
      kind: 'restore',
      by: { uid: '7', name: null },
      outcome: 'saved',
      fields: { title: { before: [{ value: 'First' }], after: first.fields.title.before } }
    },
    { kind: 'update', fields: { status: { before: [{ value: true }], after: [{ value: false }] } } },
    { kind: 'order', outcome: 'saved', fields: { field_articles: { before: Array, after: [{ target_id: 9 }] } } },
    {
      kind: 'update',
      by: { uid: null, name: null },
      outcome: 'refused',
      fields: { field_page_count: { after: [{ value: -1 }] } },
      etag: null
    },
    {
      kind: 'update',
      by: { uid: '7', name: null },
      outcome: 'saved',
      etag: headers['etag'],
      fields: { title: { before: [{ value: /./ }], after: saved.title } }
    }
  ])
  if (closed.status === 200) t.match(data[0], { kind: 'close', outcome: 'saved', fields: { status: { after: [{ value: true }] } } })
  t.ok(data.every(({ at }: { at: string }) => Math.abs(Date.parse(at) - Date.now()) < 600_000))
})

t.test('a new edition begins its journal with its create', async (t) => {
  const { call } = await openDesk(t)
  const {
    body: {
      id: [{ value: newId }],
      uuid: [{ value: newUuid }]
    }
  } = await call('POST', '/api/collection', {
    body: { type: 'daily', ...title('New'), field_key: [{ value: 'new' }] },
    as: 'editor',
    headers: anna
  })
  for (const name of [newId, newUuid]) {
    t.match((await call('GET', `/api/collection/${name}/journal`, { as: 'editor' })).body, {
      data: [{ kind: 'create', by: { uid: '7' }, outcome: 'saved', fields: { title: { before: undefined, after: [{ value: 'New' }] } } }]
    })
  }
})

t.test('a change in Drupal shows as a gap, between two saves and since the last one', async (t) => {
  const { save, read, saveOutside, clock } = await openDesk(t)
  await save(title('First'))
  clock.now += 5000
  await save(title('Second'))
  t.strictSame(kindsOf(await read()), ['update saved', 'update saved'], 'saves through Quoin leave none')
  clock.now += 5000
  const changedAt = new Date(clock.now).toISOString()
  await saveOutside({ title: 'Outside' })
  t.match(await read(), {
    data: [
      { kind: 'outside', at: changedAt, by: { uid: null, name: null }, fields: {}, message: /^Changed outside Quoin since / },
      { kind: 'update' },
      { kind: 'update' }
    ]
  })
  clock.now += 5000
  await save({ ...title('Third') })
  const { data } = await read()
  t.strictSame(kindsOf({ data }), ['update saved', 'outside saved', 'update saved', 'update saved'])
  t.match(data[1], {
    at: changedAt,
    between: [data[2].at, data[0].at],
    message: `Changed outside Quoin between ${data[2].at} and ${data[0].at}`
  })
})

t.test('a site without a time of change is told by entity tags of the same user', async (t) => {
  const edition = { changed: [{ value: '2026-11-23T12:00:00+00:00' }], langcode: [{ value: 'en' }] }
  t.strictSame(stateOf(edition, '"a"', { keys: { ...model.keys, changed: null, langcode: null } }), { etag: '"a"' })
  t.strictSame(stateOf(edition, '"a"', model), { etag: '"a"', changed: NOON, language: 'en' })
})

t.test('on such a site a gap shows between two saves of one user, and nowhere else', async (t) => {
  const { save, read, saveOutside } = await openDesk(t, {
    env: { CONTENT_MODEL: join(t.testdir({ 'model.json': JSON.stringify({ keys: { changed: null } }) }), 'model.json') }
  })
  await save(title('First'), { headers: anna })
  await save(title('Second'), { headers: anna })
  await saveOutside({ title: 'Outside' })
  t.strictSame(kindsOf(await read()), ['update saved', 'update saved'], 'since the last save nothing can be told')
  await save(title('Third'), { headers: anna })
  await saveOutside({ title: 'Outside again' })
  await save(title('Fourth'), { headers: { 'x-user-uid': '8' } })
  const { data } = await read()
  t.strictSame(
    kindsOf({ data }),
    ['update saved', 'update saved', 'outside saved', 'update saved', 'update saved'],
    'entity tags of two users are not compared'
  )
  t.match(data[2], {
    at: data[1].at,
    between: [data[3].at, data[1].at],
    message: `Changed outside Quoin between ${data[3].at} and ${data[1].at}`
  })
})

t.test('so it is where Drupal does not show the time of change', async (t) => {
  const { cms, save, read, saveOutside } = await openDesk(t)
  cms.behave = async ({ method, path }, honest) => {
    const answer = await honest()
    if (path.includes('/publisher_container/') && method !== 'DELETE') {
      for (const { attributes } of [answer.body.data ?? []].flat()) delete attributes?.changed
    }
    return answer
  }
  await save(title('First'), { headers: anna })
  await save(title('Second'), { headers: anna })
  await saveOutside({ title: 'Outside' })
  await save(title('Third'), { headers: anna })
  t.strictSame(kindsOf(await read()), ['update saved', 'outside saved', 'update saved', 'update saved'])
})

t.test('pages follow each other, and gaps stand where they were', async (t) => {
  const { save, read, saveOutside, clock } = await openDesk(t)
  for (let count = 1; count <= 5; count++) {
    clock.now += 5000
    await save(title(`Save ${count}`))
    clock.now += 5000
    if (count === 3) await saveOutside({ title: 'Outside' })
  }
  const all = (await read()).data
  t.strictSame(kindsOf({ data: all }), ['update saved', 'update saved', 'outside saved', 'update saved', 'update saved', 'update saved'])
  const pages = []
  for (let next = ''; ;) {
    const { data, meta } = await read(`?limit=2${next}`)
    pages.push(data)
    if (meta.next === null) break
    next = `&before=${meta.next}`
  }
  t.strictSame(
    pages.map(({ length }) => length),
    [3, 2, 1]
  )
  t.strictSame(pages.flat(), all)
  t.strictSame((await read('?limit=5')).meta, { next: null })
  t.match(await read('?limit=101'), { code: 'BAD_REQUEST' })
  t.match(await read('?before=x'), { code: 'BAD_REQUEST' })
})

t.test('a gap is told of the save before it, though a takeover begins the next page', async (t) => {
  const { app, save, read, saveOutside, clock } = await openDesk(t)
  await save(title('First'))
  for (const uid of ['7', '8']) {
    await app.inject({
      method: 'PUT',
      url: `/api/cloud/data-state/publisher_container/${id}`,
      payload: { fieldName: 'title', userData: { uid } }
    })
  }
  clock.now += 5000
  await saveOutside({ title: 'Outside' })
  await save(title('Second'))
  const all = (await read()).data
  t.strictSame(kindsOf({ data: all }), ['update saved', 'outside saved', 'takeover saved', 'update saved'])
  const first = await read('?limit=1')
  t.strictSame(first.data, all.slice(0, 2))
  const second = await read(`?limit=1&before=${first.meta.next}`)
  t.strictSame(second.data, all.slice(2, 3))
  t.strictSame(await read(`?limit=1&before=${second.meta.next}`), { data: all.slice(3), meta: { next: null } })
})

t.test('a gap is told though only takeovers of the same key come next', async (t) => {
  const file = join(t.testdir({ 'model.json': JSON.stringify({ lockIds: 'uuid' }) }), 'model.json')
  const { app, save, read, saveOutside, clock } = await openDesk(t, { env: { CONTENT_MODEL: file } })
  await save(title('First'))
  for (const uid of ['7', '8', '7']) {
    await app.inject({
      method: 'PUT',
      url: `/api/cloud/data-state/publisher_container/${uuid}`,
      payload: { fieldName: 'title', userData: { uid } }
    })
  }
  clock.now += 5000
  await saveOutside({ title: 'Outside' })
  await save(title('Second'))
  const all = (await read()).data
  t.strictSame(kindsOf({ data: all }), ['update saved', 'outside saved', 'takeover saved', 'takeover saved', 'update saved'])
  t.strictSame((await read('?limit=1')).data, all.slice(0, 2))
})

t.test('an item of another form than an entry, such as one of a later release, is left out', async (t) => {
  const { client, save, read, restore } = await openDesk(t)
  await save(title('First'))
  const {
    data: [entry]
  } = await read()
  const { Items = [] } = await client.send(new ScanCommand({ TableName: 'DataState' }))
  const other = { ...Items.find(({ fieldName }) => fieldName === entry.id), fieldName: 'zzzzzzzzzzzzzzzz', kind: 'of a later release' }
  await client.send(new PutCommand({ TableName: 'DataState', Item: other }))
  t.strictSame(await read('?limit=1'), { data: [entry], meta: { next: null } })
  t.match(await restore({ entry: other.fieldName, fields: ['title'], side: 'before' }), { status: 404, body: { code: 'NOT_FOUND' } })
})

t.test('a takeover of a lock that another program has written names its user by text', async (t) => {
  const { app, client, read } = await openDesk(t)
  const lock = { env_entityType_entityId: `test-publisher_container-${id}`, fieldName: 'title' }
  await client.send(
    new PutCommand({ TableName: 'DataState', Item: { ...lock, timestamp: Math.floor(Date.now() / 1000), userData: { uid: 9, name: 5 } } })
  )
  await app.inject({
    method: 'PUT',
    url: `/api/cloud/data-state/publisher_container/${id}`,
    payload: { fieldName: 'title', userData: { uid: '7' } }
  })
  t.match((await read()).data, [{ kind: 'takeover', from: { uid: '9', name: '5' } }])
})

t.test('of an instance that was killed the next reader tells what became of its save', async (t) => {
  const { journal, read, saveOutside, client, clock } = await openDesk(t)
  const { record } = journal()
  const [before] = newspaper()
    .entities.filter((entity) => entity.uuid === uuid)
    .map(({ fields }) => String(fields!['title']))
  const ticket = { env_entityType_entityId: `test#save-${uuid}`, fieldName: 'save' }
  const hold = (leaseUntil: number) =>
    client.send(new PutCommand({ TableName: 'DataState', Item: { ...ticket, version: 'x', leaseUntil } }))
  const change = (from: string, to: string) => ({ title: { before: [{ value: from }], after: [{ value: to }] } })

  await hold(Date.now() + 60_000)
  await record(saveOf(change(before!, 'Killed')))
  t.strictSame(kindsOf(await read()), ['update uncertain'], 'its turn may not be over')
  await hold(Date.now() - 1)
  t.strictSame(kindsOf(await read()), ['update refused'], 'killed before the save')

  await record(saveOf(change(before!, 'Saved')))
  clock.now += 5000
  await saveOutside({ title: 'Saved' })
  t.strictSame(kindsOf(await read()), ['update saved', 'update refused'], 'killed after it')
  t.strictSame(kindsOf(await read()), ['update saved', 'update refused'], 'and so it stays, without a gap')

  await record(saveOf(change('Saved', 'Overtaken')))
  await record(saveOf(change('Saved', 'Other')))
  clock.now += 5000
  await saveOutside({ title: 'Other' })
  t.strictSame(kindsOf(await read()).slice(0, 2), ['update saved', 'update refused'], 'what the next save found tells of the one before it')

  await record(saveOf(change('Other', 'Lost')))
  clock.now += 5000
  await saveOutside({ title: 'Something else' })
  t.strictSame(kindsOf(await read()).slice(0, 1), ['update uncertain'], 'neither of its values is there')
  t.strictSame(kindsOf(await read('?limit=1')).slice(0, 1), ['update uncertain'])
  await client.send(new DeleteCommand({ TableName: 'DataState', Key: ticket }))
})

t.test('what cannot be compared stays uncertain', async (t) => {
  const { journal, read, call } = await openDesk(t)
  const { record } = journal()
  await record(saveOf({ title: { before: undefined, after: [{ value: 'x'.repeat(VALUE_MAX) }] } }))
  await record(saveOf({ field_unknown: { before: undefined, after: [{ value: 'x' }] } }))
  await record(
    saveOf(
      Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`f${'x'.repeat(200)}${index}`, { before: undefined, after: [] }]))
    )
  )
  const { data } = await read()
  t.match(data, [
    { outcome: 'uncertain', moreFields: Number, fields: {} },
    { outcome: 'uncertain', fields: {} },
    { outcome: 'uncertain', fields: { title: { leftOut: ['after'] } } }
  ])

  const created = await call('POST', '/api/collection', {
    body: { type: 'daily', ...title('New'), field_key: [{ value: 'new' }] },
    as: 'editor'
  })
  const [{ value: newUuid }] = created.body.uuid
  const values = { type: { before: undefined, after: [{ target_id: 'daily' }] }, title: { before: undefined, after: [{ value: 'New' }] } }
  await record(
    saveOf(
      { title: { before: undefined, after: [{ value: 'Other' }] } },
      { kind: 'create', uuid: newUuid, before: undefined, isShared: false }
    )
  )
  await record(saveOf(values, { kind: 'create', uuid: newUuid, before: undefined, isShared: false }))
  const entries = (await call('GET', `/api/collection/${newUuid}/journal`, { as: 'editor' })).body
  t.strictSame(kindsOf(entries), ['create saved', 'create uncertain', 'create saved'], 'a create that is there')
})

t.test('the fields that Drupal hides from a reader are not in his journal, and he cannot restore them', async (t) => {
  const { cms, save, read, restore } = await openDesk(t)
  await save({ ...title('Shown'), field_page_count: [{ value: 4 }] })
  cms.behave = async ({ method, headers }, honest) => {
    if (method !== 'GET' || headers.authorization !== basic('editor2').authorization) return undefined
    const answer = await honest()
    for (const resource of [answer.body.data].flat()) delete resource?.attributes?.field_page_count
    return answer
  }
  const fieldsOf = async (as: string) => Object.keys((await read('', { as })).data[0].fields).sort()
  t.strictSame(await fieldsOf('editor'), ['field_page_count', 'title'])
  t.strictSame(await fieldsOf('editor2'), ['title'])
  const {
    data: [{ id: entry }]
  } = await read()
  const body = { entry, fields: ['field_page_count'], side: 'before' }
  t.match(await restore(body, { as: 'editor2' }), {
    status: 422,
    body: { code: 'UNPROCESSABLE', message: 'The journal has no value of "field_page_count" from before this save that you may see' }
  })
  t.equal((await restore(body)).status, 200)
})

t.test('each kind of field is put back, and the empty too', async (t) => {
  const { call, save, read, restore } = await openDesk(t)
  await save({ field_page_count: [{ value: 4 }] })
  const before = (await call('GET', path, { as: 'editor' })).body
  const changed = {
    ...title('Changed'),
    field_page_count: [],
    field_articles: before.field_articles.toReversed().slice(1),
    status: [{ value: false }]
  }
  const fields = Object.keys(changed)
  t.equal((await save(changed)).status, 200)
  const {
    data: [{ id: entry, etag }]
  } = await read()
  t.equal((await restore({ entry, fields, side: 'before' }, { headers: { 'if-match': '"x.y"' } })).status, 412)
  const back = await restore({ entry, fields, side: 'before' }, { headers: { 'if-match': etag } })
  t.equal(back.status, 200)
  for (const field of fields) t.strictSame(back.body[field], before[field], field)
  const again = await restore({ entry, fields, side: 'after' })
  t.match(again.body, { ...title('Changed'), field_page_count: [], status: [{ value: false }] })
  t.strictSame(
    again.body.field_articles.map(({ target_id: target }: any) => target),
    changed.field_articles.map(({ target_id: target }: any) => target)
  )
  t.strictSame(kindsOf(await read()), ['restore saved', 'restore saved', 'update saved', 'update saved'])

  t.match(await restore({ entry: 'x'.repeat(16), fields, side: 'after' }), {
    status: 404,
    body: { code: 'NOT_FOUND', message: `There is no journal entry ${'x'.repeat(16)}` }
  })
  t.match(await restore({ entry, fields: ['changed'], side: 'after' }), { status: 422 })
  t.match(await restore({ entry, fields: [], side: 'after' }), { status: 400 })
  t.match(await restore({ entry, fields, side: 'middle' }), { status: 400 })
})

t.test('a restore that is repeated under its Idempotency-Key is made once', async (t) => {
  const { save, read, restore } = await openDesk(t)
  await save(title('Changed'))
  const {
    data: [{ id: entry, fields }]
  } = await read()
  const send = () => restore({ entry, fields: ['title'], side: 'before' }, { headers: { 'idempotency-key': '"once"' } })
  const answer = await send()
  t.match(answer, { status: 200, headers: { 'idempotency-replayed': undefined }, body: { title: fields.title.before } })
  t.match(await send(), { status: 200, headers: { 'idempotency-replayed': 'true', etag: answer.headers['etag'] }, body: answer.body })
  t.strictSame(kindsOf(await read()), ['restore saved', 'update saved'])
})

t.test('a restore respects locks', async (t) => {
  const { call, save, read, restore } = await openDesk(t, { env: { EDITION_LOCKS: 'enforce' } })
  await save(title('Changed'), { headers: anna })
  await call('POST', `/api/cloud/data-state/publisher_container/${id}`, { body: { fieldName: 'title', userData: { uid: '8' } } })
  const {
    data: [{ id: entry }]
  } = await read()
  t.match(await restore({ entry, fields: ['title'], side: 'before' }, { headers: anna }), { status: 423, body: { code: 'FIELD_LOCKED' } })
})

t.test('who takes over a field of an edition is in its journal', async (t) => {
  for (const payload of ['typed', undefined]) {
    const { app, save, read } = await openDesk(t)
    const lock = (method: 'POST' | 'PUT', type: string, uid: string | number, name?: string) =>
      app.inject({
        method,
        url: `/api/cloud/data-state/${type}/${id}`,
        payload: { fieldName: 'title', userData: { uid, ...(name !== undefined && { name }) }, ...(payload !== undefined && { payload }) }
      })
    for (const type of ['publisher_container', 'node']) {
      t.equal((await lock('PUT', type, 7, 'Anna')).statusCode, 200)
      t.equal((await lock('PUT', type, 7, 'Anna')).statusCode, 200)
      t.strictSame((await lock('PUT', type, 8)).json(), { success: true })
    }
    await save(title('After it'))
    t.match(
      await read(),
      {
        data: [
          { kind: 'update' },
          {
            kind: 'takeover',
            by: { uid: '8', name: null },
            from: { uid: '7', name: 'Anna' },
            fields: { title: { before: undefined, after: undefined } },
            outcome: 'saved',
            etag: null
          }
        ]
      },
      `a lock ${payload === undefined ? 'without' : 'with'} a text`
    )
    t.equal((await read()).data.length, 2, 'an article is in no edition as far as locks know')
    t.match(
      (await read('?limit=1')).data.map(({ kind }: { kind: string }) => kind),
      ['update']
    )
  }
})

t.test('who proposes a text for an edition is in its journal, and what became of it, without the text', async (t) => {
  const { app, save, read, restore, client } = await openDesk(t)
  const url = (type: string) => `/api/cloud/data-state/${type}/${id}/proposals`
  const propose = async (type: string, userData: object) => {
    const payload = { fieldName: 'title', userData, payload: 'SECRET', base: 'v' }
    const reply = await app.inject({ method: 'POST', url: url(type), payload })
    t.equal(reply.statusCode, 201)
    return reply.json().data.id as string
  }
  const settle = async (type: string, proposal: string, query: string) =>
    t.equal((await app.inject({ method: 'DELETE', url: `${url(type)}/${proposal}${query}` })).statusCode, 200)
  const planner = { uid: 'agent:planner:7', name: 'Planner' }
  const author = { uid: planner.uid, name: 'Planner' }
  await save(title('Before them'))
  for (const type of ['publisher_container', 'node']) {
    await settle(type, await propose(type, planner), '?taken=1&uid=8&name=Ben')
    await settle(type, await propose(type, planner), '')
    await settle(type, await propose(type, { uid: '7' }), '?uid=7')
  }
  const { data } = await read()
  const fields = { title: {} }
  const entry = (kind: string, by: object, from?: object) => ({ kind, by, fields, outcome: 'saved', etag: null, ...(from && { from }) })
  t.strictSame(
    data.slice(0, -1).map(({ id: _id, at: _at, ...rest }: Record<string, unknown>) => rest),
    [
      entry('withdrawn', { uid: '7', name: null }),
      entry('proposed', { uid: '7', name: null }),
      entry('discarded', { uid: null, name: null }, author),
      entry('proposed', author),
      entry('taken', { uid: '8', name: 'Ben' }, author),
      entry('proposed', author)
    ],
    'an article is in no edition as far as locks know'
  )
  t.match(await restore({ entry: data[0].id, fields: ['title'], side: 'after' }), { status: 404 }, 'there is nothing to put back')
  const { Items = [] } = await client.send(new ScanCommand({ TableName: 'DataState' }))
  const entries = Items.filter(({ env_entityType_entityId: key }) => String(key).includes('#journal-'))
  t.notOk(JSON.stringify(entries).includes('SECRET'))
})

t.test('what an agent hands over to a person is in the journal as a takeover and as a proposal', async (t) => {
  const { app, read } = await openDesk(t)
  const url = `/api/cloud/data-state/publisher_container/${id}`
  const userData = { uid: 'agent:planner:7', name: 'Planner' }
  await app.inject({ method: 'POST', url, headers: { 'if-none-match': '*' }, payload: { fieldName: 'title', userData, payload: 'typed' } })
  await app.inject({ method: 'POST', url: `${url}/requests`, payload: { fieldName: 'title', userData: { uid: '8', name: 'Ben' } } })
  t.match((await read()).data, [
    { kind: 'proposed', by: userData },
    { kind: 'takeover', by: { uid: '8', name: 'Ben' }, from: userData }
  ])
})

t.test('a gap is told of the save before it, though proposals lie between', async (t) => {
  const { app, save, read, saveOutside, clock } = await openDesk(t)
  await save(title('First'))
  for (const uid of ['7', '8']) {
    const payload = { fieldName: 'title', userData: { uid }, payload: 'x' }
    await app.inject({ method: 'POST', url: `/api/cloud/data-state/publisher_container/${id}/proposals`, payload })
  }
  clock.now += 5000
  await saveOutside({ title: 'Outside' })
  await save(title('Second'))
  const all = (await read()).data
  t.strictSame(kindsOf({ data: all }), ['update saved', 'outside saved', 'proposed saved', 'proposed saved', 'update saved'])
  t.strictSame((await read('?limit=1')).data, all.slice(0, 2))
})

t.test('a lock of another program is taken over from whoever it names, if anybody', async (t) => {
  const { app, client, read } = await openDesk(t)
  for (const [fieldName, userData] of [
    ['title', undefined],
    ['status', { name: 'Anna' }]
  ] as const) {
    await client.send(
      new PutCommand({
        TableName: 'DataState',
        Item: {
          env_entityType_entityId: `test-publisher_container-${id}`,
          fieldName,
          timestamp: Math.floor(Date.now() / 1000),
          payload: 'typed',
          ...(userData && { userData })
        }
      })
    )
    t.equal(
      (
        await app.inject({
          method: 'PUT',
          url: `/api/cloud/data-state/publisher_container/${id}`,
          payload: { fieldName, userData: { uid: '8' } }
        })
      ).statusCode,
      200
    )
  }
  t.match(await read(), {
    data: [
      { kind: 'takeover', by: { uid: '8' }, from: { uid: null, name: 'Anna' }, fields: { status: {} } },
      { kind: 'takeover', by: { uid: '8' }, from: { uid: null, name: null }, fields: { title: {} } }
    ]
  })
})

t.test('saves go on without their entries while the table is away, and the next entry says how many', async (t) => {
  const { client, read } = await openDesk(t)
  let isAway = false
  const warnings: string[] = []
  const clock = { now: 0 }
  const flaky = {
    send: (command: never) => (isAway ? Promise.reject(new Error('away')) : client.send(command))
  } as unknown as DynamoDBDocumentClient
  const { record, takenOver, proposal } = journalOf(flaky, {
    warn: ({ message }) => warnings.push(message),
    time: { monotonic: () => clock.now, wait: async () => {} }
  })
  const fields = (text: string, before = '') => ({ title: { before: [{ value: before }], after: [{ value: text }] } })
  const saved = {
    outcome: 'saved' as const,
    edition: { changed: [{ value: '2026-11-23T12:00:00+00:00' }], langcode: [{ value: 'en' }] },
    etag: '"a.c"'
  }

  await (
    await record(saveOf(fields('First')))
  )(saved)
  isAway = true
  await (
    await record(saveOf(fields('Second')))
  )(saved)
  t.equal(warnings.length, 1)
  await (
    await record(saveOf(fields('Refused')))
  )({ outcome: 'refused' })
  await (
    await record(saveOf(fields('Third')))
  )({ outcome: 'uncertain' })
  await takenOver(id.toString(), { fieldName: 'title', from: {}, by: {} })
  await proposal(id.toString(), { kind: 'proposed', fieldName: 'title', by: {} })
  t.equal(warnings.length, 1, 'it is left alone for a while')
  isAway = false
  await (
    await record(saveOf(fields('Unticketed'), { isShared: false }))
  )(saved)
  clock.now += 5000
  await (
    await record(saveOf(fields('Begun again')))
  )({ outcome: 'withdrawn' })
  await (
    await record(saveOf(fields('Fourth')))
  )(saved)
  const tell = await record(saveOf(fields('Fifth')))
  isAway = true
  await tell(saved)
  isAway = false
  t.equal(warnings.length, 2)
  clock.now += 5000
  await (
    await record(saveOf(fields('Sixth', 'Fifth')))
  )({ outcome: 'uncertain' })

  const { data } = await read()
  t.strictSame(
    data.map(({ kind, outcome, fields: { title } }: any) => [kind, outcome, title?.after[0].value]),
    [
      ['update', 'uncertain', 'Sixth'],
      ['update', 'saved', 'Fifth'],
      ['update', 'saved', 'Fourth'],
      ['outside', 'saved', undefined],
      ['update', 'saved', 'First']
    ]
  )
  t.match(data[3], {
    unrecorded: 3,
    message: 'Saved through Quoin 3 times while the lock store was away',
    between: [data[4].at, data[2].at]
  })
})

t.test('one save without an entry is said to be one, and without an entry before it no time is told', async (t) => {
  const { client, read } = await openDesk(t)
  const clock = { now: 0 }
  let isAway = true
  const flaky = {
    send: (command: never) => (isAway ? Promise.reject(new Error('away')) : client.send(command))
  } as unknown as DynamoDBDocumentClient
  const { record } = journalOf(flaky, { time: { monotonic: () => clock.now, wait: async () => {} } })
  await (
    await record(saveOf({}))
  )({ outcome: 'uncertain' })
  isAway = false
  clock.now += 5000
  await (
    await record(saveOf({}))
  )({ outcome: 'refused' })
  t.match((await read()).data.slice(-1), [
    { kind: 'outside', unrecorded: 1, message: 'Saved through Quoin once while the lock store was away', between: undefined }
  ])
})

t.test('of the editions whose saves have no entry a thousand are remembered', async (t) => {
  const { client } = await openDesk(t)
  let isAway = true
  const { record, page } = journalOf(
    { send: (command: never) => (isAway ? Promise.reject(new Error('away')) : client.send(command)) } as unknown as DynamoDBDocumentClient,
    { time: { wait: async () => {}, monotonic: () => (isAway ? 0 : 10_000) } }
  )
  const saved = { outcome: 'saved' as const, edition: {}, etag: '"a.c"' }
  const save = async (number: number) => (await record(saveOf({}, { uuid: `edition ${number}` })))(saved)
  for (let number = 0; number <= 1000; number++) await save(number)
  isAway = false
  for (const number of [0, 1]) await save(number)
  const missedBy = async (number: number) => (await page(`edition ${number}`, { limit: 1 })).map(({ missed }) => missed)
  t.strictSame([await missedBy(0), await missedBy(1)], [[0], [1]])
})

t.test('an entry goes after so many days, whether or not the table removes it', async (t) => {
  const { client, journal } = await openDesk(t)
  const old = journal({ time: { now: () => Date.now() - 31 * 86_400_000 } })
  await old.record(saveOf({ title: { before: [], after: [] } }))
  const young = journal()
  await young.record(saveOf({ title: { before: [], after: [] } }))
  const { Items } = await client.send(
    new QueryCommand({
      TableName: 'DataState',
      KeyConditionExpression: 'env_entityType_entityId = :key',
      ExpressionAttributeValues: { ':key': `test#journal-${uuid}` }
    })
  )
  t.strictSame(
    Items!.map(({ at, removeAt }) => removeAt - Math.floor(at / 1000)),
    [30 * 86_400, 30 * 86_400]
  )
  t.equal((await young.page(uuid, { limit: 10 })).length, 1)
  const [first, second] = Items!.map(({ fieldName }) => String(fieldName))
  t.strictSame([await young.find(uuid, first!), (await young.find(uuid, second!))?.kind], [undefined, 'update'])
  await young.settle(uuid, { ...(await young.find(uuid, second!))!, id: 'gone' })
})

t.test('while the store is away saves go on, and the journal cannot be read', async (t) => {
  const { call } = await openHostile(t)
  const saved = await call('POST', path, { body: title('Without'), as: 'editor' })
  t.match([saved.status, saved.headers['edition-turn']], [200, 'instance'])
  t.match(
    await call('POST', '/api/collection', { body: { type: 'daily', ...title('New'), field_key: [{ value: 'new' }] }, as: 'editor' }),
    { status: 201 }
  )
  t.match(await call('GET', `${path}/journal`, { as: 'editor' }), { status: 503, body: { code: 'STORE_UNAVAILABLE' } })
})

t.test('with JOURNAL_DAYS=0 there is none', async (t) => {
  const { save, read, restore, client, app } = await openDesk(t, { env: { JOURNAL_DAYS: '0' } })
  t.equal((await save(title('Unseen'))).status, 200)
  for (const uid of ['7', '8']) {
    await app.inject({
      method: 'PUT',
      url: `/api/cloud/data-state/publisher_container/${id}`,
      payload: { fieldName: 'title', userData: { uid } }
    })
  }
  t.match(await read(), { statusCode: 404, message: 'There is no journal: JOURNAL_DAYS is 0' })
  t.equal((await restore({ entry: 'x'.repeat(16), fields: ['title'], side: 'before' })).status, 404)
  const { Items } = await client.send(new ScanCommand({ TableName: 'DataState' }))
  t.strictSame(
    Items!.map(({ env_entityType_entityId: key }) => key).filter((key) => key.includes('#journal-')),
    [],
    'nothing is written'
  )
})

t.test('the journal is for those who may edit', async (t) => {
  const hidden = editionsOf(newspaper()).find(({ published }) => !published)!.id
  const journal = (number: number) => `/api/collection/${number}/journal`
  for (const env of [{}, { AUTH: 'drupal' }]) {
    const { call } = await openDesk(t, { env })
    const statuses = async (as: string) => [
      (await call('GET', journal(id), { as })).status,
      (await call('GET', journal(hidden), { as })).status
    ]
    t.strictSame(await statuses('editor'), [200, 200])
    t.strictSame(await statuses('reader'), [403, 404], JSON.stringify(env))
    t.match(await call('POST', `${path}/restore`, { body: { entry: 'x'.repeat(16), fields: ['title'], side: 'before' }, as: 'reader' }), {
      status: 403
    })
  }
  const { call } = await openDesk(t, { env: { CMS_AUTH: 'basic', CMS_USER: 'editor', CMS_PASSWORD: 'editor' } })
  t.equal((await call('GET', journal(id))).status, 200, 'where callers are not known everybody may edit')
})

t.test('with AUTH=jwt the token says who may read it, and with CMS_AUTH=passthrough Drupal too', async (t) => {
  const env = { ...jwtEnv(t), AUTH_LOCK_CLAIM: 'roles=editor' }
  const account = { CMS_AUTH: 'basic', CMS_USER: 'editor', CMS_PASSWORD: 'editor' }
  for (const [mode, wanted] of [
    [account, [200, 403, 200]],
    [{}, [200, 403, 403]]
  ] as const) {
    const { call, cms } = await openDesk(t, { env: { ...env, ...mode } })
    // The sample site knows no tokens.
    const users = new Map([
      [bearer({ sub: '7', roles: ['editor'] }).authorization, 'editor'],
      [bearer({ sub: '8' }).authorization, 'editor'],
      [bearer({ sub: '9', roles: ['editor'] }).authorization, 'reader']
    ])
    cms.behave = ({ headers }) => {
      const user = users.get(headers.authorization ?? '')
      if (user !== undefined) headers.authorization = basic(user).authorization
      return undefined
    }
    const answers = []
    for (const authorization of users.keys()) answers.push((await call('GET', `${path}/journal`, { headers: { authorization } })).status)
    t.strictSame(answers, wanted)
    t.equal(
      cms.asked.some(({ method }) => method === 'PATCH'),
      mode !== account,
      'whether Drupal is asked'
    )
  }
})

t.test('while Drupal cannot say who may edit nobody reads it, and the log tells of the circuit breaker once', async (t) => {
  const cms = await startHostileCms(t)
  const { app, logged } = await buildLogged(t, { CMS_URL: cms.url })
  cms.behave = () => ({ status: 500, body: 'down' })
  const ask = (user: string) => app.inject({ url: `${path}/journal`, headers: basic(user) })
  for (let count = 0; count < 12; count++) t.match((await ask(`stranger-${count}`)).json(), { code: 'AUTH_UNAVAILABLE' })
  t.match(
    logged().filter(({ msg }) => /circuit breaker/.test(msg)),
    [{ level: 40, msg: /^the journal: .*is open/ }]
  )
})
