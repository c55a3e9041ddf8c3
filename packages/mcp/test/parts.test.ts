import { Client } from '@modelcontextprotocol/client'
import { InMemoryTransport } from '@modelcontextprotocol/server'
import t, { type Test } from 'tap'
import { Failure } from '../../../lib/errors.ts'
import { contentModel, type ContentModel } from '../../../lib/editions/model.ts'
import { callingAgent } from '../server/agent.ts'
import { entityAnswer } from '../server/entity-answer.ts'
import { listAnswer } from '../server/list-rows.ts'
import { serverFor } from '../server/server.ts'
import type { ToolCall } from '../server/tool.ts'
import { checkReadiness } from '../server/tools/check-readiness.ts'
import { findEditions } from '../server/tools/find-editions.ts'
import { readJournal } from '../server/tools/read-journal.ts'

const model = contentModel({})

/** A call without an agent, of services that answer as a test has them. */
const callOf = (services: object, request: object = {}) =>
  ({
    services,
    model,
    config: { contentModel: model, mcpAllow: [] },
    request: {
      may: async () => true,
      demand: async () => {},
      caller: {},
      uid: undefined,
      headers: {},
      log: { error: () => {} },
      ...request
    }
  }) as unknown as ToolCall

const lockOf = (fieldName: string) => ({ entityType: 'node', entityId: '1', fieldName, timestamp: 1, version: 'v', userData: { uid: '7' } })
const boardsOf = (locks: unknown) => ({ boards: { ofRows: async () => locks, edition: (id: string) => ({ type: 'node', id }) } })

t.test('who writes is the agent that the token names, or the one that the header field names for its user', async (t) => {
  const agentOf = (uid: string | undefined, name?: string) =>
    callingAgent({ uid, headers: name === undefined ? {} : { 'quoin-agent': name } })
  t.strictSame(agentOf('7', 'night%20desk'), { name: 'night desk', principal: '7', uid: 'agent:night%20desk:7' })
  t.strictSame(agentOf('agent:planner:7', 'other'), { name: 'planner', principal: '7', uid: 'agent:planner:7' })
  t.equal(agentOf('7'), undefined)
  t.equal(agentOf(undefined, 'planner'), undefined)
  for (const [uid, name] of [
    ['7', ''],
    ['7', 'two words'],
    ['7', '%E4'],
    ['7', 'x'.repeat(101)],
    ['x'.repeat(250), 'planner']
  ] as const) {
    t.throws(() => agentOf(uid, name), { code: 'BAD_REQUEST', message: /quoin-agent/ }, name)
  }
})

t.test('a row of a list has five locks and five editions at most, and says how many more there are', async (t) => {
  const placements = Array.from({ length: 7 }, (_, index) => ({
    id: String(index),
    uuid: `u${index}`,
    bundle: 'daily',
    label: `Edition ${index}`
  }))
  const page = {
    entityType: 'node',
    rows: [{ id: '1', uuid: 'u' }],
    editions: [JSON.stringify({ title: [{ value: 'A' }], status: [{ value: true }] })],
    placed: { u: placements },
    total: null,
    hasMore: false
  } as unknown as Parameters<typeof listAnswer>[1]
  const locks = { u: Array.from({ length: 6 }, (_, index) => lockOf(`field_${index}`)) }
  const answer: any = await listAnswer(callOf(boardsOf(locks)), page, model)
  t.match(answer.rows[0], { id: '1', title: 'A', published: true, moreLocks: 1, morePlaced: 2 })
  t.strictSame([answer.rows[0].locks.length, answer.rows[0].placed.length, answer.total], [5, 5, undefined])
  const away: any = await listAnswer(
    callOf(boardsOf(null)),
    { ...page, placed: {}, total: 1 } as typeof page,
    {
      ...model,
      keys: { ...model.keys, label: null, published: null }
    } as unknown as ContentModel
  )
  t.strictSame(away.locks, null)
  t.strictSame(away.rows[0], { id: '1', uuid: 'u', placed: [] })
})

t.test('an entity with many locks shows as many as fit; a field that it lacks is answered with those that it has', async (t) => {
  const subject = {
    text: { id: '1', uuid: 'u', etag: '"a"', json: JSON.stringify({ title: [{ value: 'A' }], status: [{ value: true }] }) },
    entityType: 'node',
    model,
    orders: []
  } as unknown as Parameters<typeof entityAnswer>[1]
  const many = { u: Array.from({ length: 200 }, (_, index) => lockOf(`field_${index}`)) }
  const answer: any = await entityAnswer(callOf(boardsOf(many)), subject, {})
  t.equal(answer.locks.length + answer.moreLocks, 200)
  await t.rejects(entityAnswer(callOf(boardsOf(many)), subject, { field: 'nope' }), {
    code: 'BAD_REQUEST',
    details: { problems: [{ argument: 'field', allowed: ['title', 'status'] }] }
  })
  const configured = { ...subject, model: { ...model, fieldConfig: { title: { label: 'Headline' } } } } as unknown as typeof subject
  t.match(await entityAnswer(callOf(boardsOf(null)), subject, { field: 'status/0/value' }), { of: 1, value: true })
  t.match(await entityAnswer(callOf(boardsOf(null)), configured, { field: 'title/0/value' }), {
    locks: null,
    help: { title: { label: 'Headline' } },
    of: 1,
    value: 'A'
  })
})

t.test('findings that do not fit come with the next call', async (t) => {
  const finding = (index: number) => ({
    code: 'FIELD_EMPTY',
    message: 'x',
    entityType: 'node',
    entityId: '1',
    fieldName: `field_${index}_${'x'.repeat(200)}`
  })
  const warnings = Array.from({ length: 200 }, (_, index) => finding(index))
  const services = { ...boardsOf({}), closing: { readiness: async () => ({ ready: true, blockers: [], warnings }) } }
  let from = 0
  let count = 0
  for (let calls = 0; calls < 20; calls++) {
    const answer: any = await checkReadiness.run(callOf(services), { id: '1', from })
    count += answer.findings.length
    if (!answer.more) break
    from = answer.more.from
  }
  t.equal(count, 200)
})

t.test('a defect is no wrong name', async (t) => {
  const services = { ...boardsOf({}), editions: { search: async () => Promise.reject(new TypeError('a defect')) } }
  await t.rejects(findEditions.run(callOf(services), {}), { message: 'a defect' })
})

t.test('the journal tells of gaps with the entry that they stand at, and of what it does not keep', async (t) => {
  const entryOf = (id: string, more: object = {}) => ({
    id,
    at: '2026-11-27T10:00:00Z',
    by: { uid: '7', name: 'Anna' },
    kind: 'update',
    outcome: 'saved',
    etag: null,
    fields: {},
    ...more
  })
  const large = Object.fromEntries(Array.from({ length: 8 }, (_, index) => [`field_${index}`, { before: [{ value: 'x'.repeat(600) }] }]))
  const pages: object[][] = [
    [
      entryOf('c.gap', { kind: 'outside', between: ['a', 'b'], unrecorded: 2 }),
      entryOf('c', { etag: '"c"', from: { uid: '8', name: 'Ben' }, moreFields: 3, fields: large }),
      ...Array.from({ length: 40 }, (_, index) => entryOf(`b${index}`, { fields: large }))
    ]
  ]
  const history = { read: async () => ({ entries: pages[0]!, next: 'older' }) }
  const server = { history, boards: boardsOf({}).boards }
  const answer: any = await readJournal.run(callOf({}, { server }), { id: '1' })
  t.match(answer.entries[0], { id: 'c.gap', between: ['a', 'b'], unrecorded: 2 })
  t.match(answer.entries[1], { tag: '"c"', from: { uid: '8', name: 'Ben' }, moreFields: 3, more: [{ limit: 1 }] })
  t.ok(answer.entries.length < 42, 'what does not fit comes with the next call')
  t.strictSame(answer.more, { before: answer.entries.at(-1).id })
  pages[0] = [entryOf('c.gap', { kind: 'outside' }), entryOf('a')]
  t.strictSame(((await readJournal.run(callOf({}, { server }), { id: '1', before: 'x', limit: 1 })) as any).more, { before: 'older' })
  pages[0] = []
  await t.rejects(readJournal.run(callOf({}, { server }), { id: '1', field: 'title' }), {
    code: 'BAD_REQUEST',
    details: { problems: [{ allowed: [] }] }
  })
  pages[0] = [entryOf('c', { fields: { body: { before: [{ value: 'z'.repeat(50_000) }] } } })]
  const value: any = await readJournal.run(callOf({}, { server }), { id: '1', field: 'body', from: 0 })
  t.equal(value.entry, 'c')
  t.ok(value.more.length > 0)
})

/** What a tool answers through the SDK, of services that a test has made; and what is logged. */
async function callBySdk(t: Test, services: object) {
  const logged: unknown[] = []
  const counted: string[] = []
  const call = callOf(services, { log: { error: (entry: unknown) => logged.push(entry) } })
  const server = serverFor({ request: call.request, reply: {} } as never, {
    config: call.config,
    services: call.services,
    count: (tool, outcome) => counted.push(`${tool} ${outcome}`)
  })
  const client = new Client({ name: 'a test', version: '1' })
  const [ours, theirs] = InMemoryTransport.createLinkedPair()
  t.teardown(() => client.close())
  await Promise.all([server.connect(ours), client.connect(theirs)])
  const { content, isError } = await client.callTool({ name: 'read_edition', arguments: { id: '1' } })
  return { isError, body: JSON.parse((content as unknown as [{ text: string }])[0].text), logged, counted }
}

t.test('a defect is logged, counted and told without its words; what is logged already is not logged again', async (t) => {
  const broken = await callBySdk(t, { ...boardsOf({}), editions: { read: async () => Promise.reject(new TypeError('secret')) } })
  t.match(broken, {
    isError: true,
    body: { error: { code: 'INTERNAL' } },
    logged: [{ tool: 'read_edition' }],
    counted: ['read_edition INTERNAL']
  })
  t.notMatch(JSON.stringify(broken.body), 'secret')
  const away = new Failure('CMS_UNAVAILABLE', 'x', { isLogged: true })
  const known = await callBySdk(t, { ...boardsOf({}), editions: { read: async () => Promise.reject(away) } })
  t.match(known, { isError: true, body: { error: { code: 'CMS_UNAVAILABLE' } }, counted: ['read_edition CMS_UNAVAILABLE'] })
  t.strictSame(known.logged, [])
})
