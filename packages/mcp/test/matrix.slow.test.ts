import { UpdateCommand, type DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import t, { type Test } from 'tap'
import { newspaper } from '../../../dev/content.ts'
import { createCms } from '../../drupal-stand-in/cms.ts'
import { bearer } from '../../../test/auth/fixtures.ts'
import { startEngine } from '../../../test/locks/fixtures/engines.ts'
import { SCOPES } from '../server/tool.ts'
import { TOOLS } from '../server/tools.ts'
import { openLine } from './line.ts'
import { anna, ben, openNewsroom, planner, scribe, type Newsroom } from './newsroom.ts'

/** Where a call is made: on which edition, in which state that was read, with which version of a lock. */
interface Cell {
  room: Newsroom
  /** The table, to change what only time changes. */
  table: DynamoDBDocumentClient
  id: string
  field: string
  tag: string
}

const WRITTEN = 'By the planner'
const UNKNOWN = 'C3E_YO_-sD1zSdV0'
const place = ({ id, field }: Cell) => ({ type: 'edition', id, field })

/** The tools that write, and what they are called with. */
const tools: Record<string, { name: string; field: string; args: (cell: Cell, version: string) => object }> = {
  edit_field: { name: 'edit_field', field: 'title', args: ({ id, field, tag }) => ({ id, field, value: WRITTEN, tag }) },
  'edit_field with a version': {
    name: 'edit_field',
    field: 'title',
    args: ({ id, field, tag }, version) => ({ id, field, value: WRITTEN, tag, version })
  },
  arrange_articles: {
    name: 'arrange_articles',
    field: 'field_articles',
    args: ({ id, tag }) => ({ id, tag, operations: [{ op: 'insert', article: '70', at: 'end' }] })
  },
  'arrange_articles with a version': {
    name: 'arrange_articles',
    field: 'field_articles',
    args: ({ id }, version) => ({ id, version, operations: [{ op: 'insert', article: '70', at: 'end' }] })
  },
  start_editing: { name: 'start_editing', field: 'title', args: place },
  save_text: { name: 'save_text', field: 'title', args: (cell, version) => ({ ...place(cell), version, text: WRITTEN }) },
  stop_editing: { name: 'stop_editing', field: 'title', args: (cell, version) => ({ ...place(cell), version }) },
  ask_for_field: { name: 'ask_for_field', field: 'title', args: place },
  propose_text: { name: 'propose_text', field: 'title', args: (cell) => ({ ...place(cell), text: WRITTEN, base: cell.tag }) },
  withdraw_proposal: { name: 'withdraw_proposal', field: 'title', args: ({ id }) => ({ type: 'edition', id, proposal: 'x'.repeat(38) }) }
}
type Tool = keyof typeof tools

const lockPath = ({ id }: Cell) => `/api/cloud/data-state/publisher_container/${id}`

async function lockedBy(cell: Cell, headers: Record<string, string>, payload: string): Promise<string> {
  const { status } = await cell.room.rest('POST', lockPath(cell), { headers, body: { fieldName: cell.field, payload } })
  if (status !== 200) throw new Error(String(status))
  return UNKNOWN
}

async function lockedByAgent(cell: Cell, headers = planner): Promise<string> {
  const { version } = (await cell.room.call('start_editing', place(cell), { headers })).body
  return (await cell.room.call('save_text', { ...place(cell), version, text: "an agent's" }, { headers })).body.version
}

/** Lets the lock of a field end. */
async function expire({ table, id, field }: Cell): Promise<void> {
  await table.send(
    new UpdateCommand({
      TableName: 'DataState',
      Key: { env_entityType_entityId: `test-publisher_container-${id}`, fieldName: field },
      UpdateExpression: 'SET expiresAt = :past',
      ExpressionAttributeValues: { ':past': 1_767_225_600 }
    })
  )
}

/** Who has the field, and the version that the agent then names. */
const situations: Record<string, (cell: Cell) => Promise<string>> = {
  'nobody holds it': async () => UNKNOWN,
  'the agent holds it': (cell) => lockedByAgent(cell),
  'another session of the agent holds it': async (cell) => {
    await lockedByAgent(cell)
    return UNKNOWN
  },
  'a person holds it': (cell) => lockedBy(cell, ben, "Ben's"),
  'its own user holds it': (cell) => lockedBy(cell, anna, "Anna's"),
  'another agent of its user holds it': async (cell) => {
    await lockedByAgent(cell, scribe)
    return UNKNOWN
  },
  'its lock has ended': async (cell) => {
    const version = await lockedByAgent(cell)
    await expire(cell)
    return version
  },
  'the lock of a person has ended': async (cell) => {
    await lockedBy(cell, ben, "Ben's")
    await expire(cell)
    return UNKNOWN
  }
}

const done = 'done'
const [HELD, CHANGED, UNHELD] = ['FIELD_LOCKED', 'LOCK_CHANGED', 'FIELD_NOT_LOCKED']

/** What each tool comes to in each of the situations, in their order. */
const outcomes: Record<Tool, string[]> = {
  edit_field: [done, CHANGED, CHANGED, HELD, HELD, HELD, done, done],
  'edit_field with a version': [CHANGED, done, CHANGED, HELD, HELD, HELD, done, CHANGED],
  arrange_articles: [done, HELD, HELD, HELD, HELD, HELD, done, done],
  'arrange_articles with a version': [done, done, HELD, HELD, HELD, HELD, done, done],
  start_editing: [done, CHANGED, CHANGED, HELD, HELD, HELD, done, done],
  save_text: [CHANGED, done, CHANGED, HELD, HELD, HELD, done, CHANGED],
  stop_editing: [done, done, CHANGED, done, done, done, done, done],
  ask_for_field: [UNHELD, UNHELD, UNHELD, done, done, done, UNHELD, UNHELD],
  propose_text: Array(8).fill(done),
  withdraw_proposal: Array(8).fill('NOT_FOUND')
}

/** What people and agents have in an edition: its text and order, the texts of its locks, the drafts of its people. */
async function stateOf(cell: Cell) {
  const { room, id, field } = cell
  const { body } = await room.rest('GET', `/api/collection/${id}`)
  const locks = (await room.rest('GET', lockPath(cell))).body.data.Items
  const drafts = await Promise.all(
    [anna, ben, planner, scribe].map(async (headers) => (await room.rest('GET', `${lockPath(cell)}/drafts`, { headers })).body.data.Items)
  )
  return {
    value: JSON.stringify(body[field]),
    locks: locks.map(({ userData, payload, version }: any) => ({ uid: userData.uid, payload, version })),
    texts: drafts.flat().map(({ payload }) => payload)
  }
}

const isAgents = ({ uid }: { uid: string }) => uid === 'agent:planner:7'

async function codeOf({ room }: Cell, tool: Tool, args: object, headers: Record<string, string> = planner): Promise<string> {
  const { isError, body } = await room.call(tools[tool]!.name, args, { headers })
  return isError ? body.error.code : done
}

/** Calls a tool in a situation, and looks at what it has left. */
async function tryCell(t: Test, cell: Cell, tool: Tool, situation: string, expected: string): Promise<void> {
  const version = await situations[situation]!(cell)
  const before = await stateOf(cell)
  t.equal(await codeOf(cell, tool, tools[tool]!.args(cell, version)), expected, `${tool}, ${situation}`)
  const after = await stateOf(cell)

  const saves = /^(?:edit|arrange)/.test(tool) && expected === done
  t.equal(after.value !== before.value, saves, 'the edition is changed by a save alone')
  const others = (locks: Array<{ uid: string }>) => locks.filter((lock) => !isAgents(lock))
  t.strictSame(others(after.locks), others(before.locks), 'the locks of others are as they were')
  const texts = [...before.locks.map(({ payload }: any) => payload), ...before.texts].filter((text) => /^(?:Anna|Ben)/.test(text))
  const left = [...after.locks.map(({ payload }: any) => payload), ...after.texts]
  if (situation !== 'the lock of a person has ended') {
    t.strictSame(
      texts.filter((text) => !left.includes(text)),
      [],
      'no text of a person is lost'
    )
  }
  if (expected !== done) t.strictSame(after.locks, before.locks, 'nothing was written')
  if (tool.startsWith('edit_field') && expected === done) t.notOk(after.locks.some(isAgents), 'the lock was given back')

  for (const lock of after.locks.filter(isAgents)) await codeOf(cell, 'stop_editing', { ...place(cell), version: lock.version })
}

/** A newsroom whose lines to the store and to the CMS can fail, and editions that no call has touched. */
async function openCells(t: Test, env: Record<string, string> = {}, auth = true, reader?: Record<string, string>) {
  const { endpoint, client: table } = await startEngine(t, 'dynalite')
  const cms = createCms({ content: newspaper() })
  t.teardown(() => cms.close())
  const [toStore, toCms] = [await openLine(t, endpoint), await openLine(t, await cms.listen())]
  const limits = { writesPerMinute: '1000', writesPerDay: '10000' }
  const room = await openNewsroom(t, { env: { ...limits, DYNAMODB_ENDPOINT: toStore.url, CMS_URL: toCms.url, ...env }, auth })
  let last = 0
  async function nextCell(tool: Tool): Promise<Cell> {
    const id = String(++last)
    const { tag } = (await room.call('read_edition', { id }, reader && { headers: reader })).body
    return { room, table, id, field: tools[tool]!.field, tag }
  }
  return { room, toStore, toCms, nextCell }
}

t.test('each tool in each state of a lock', async (t) => {
  for (const tool of Object.keys(tools)) {
    await t.test(tool, async (t) => {
      const { nextCell } = await openCells(t)
      const names = Object.keys(situations)
      for (const [index, situation] of names.entries()) await tryCell(t, await nextCell(tool), tool, situation, outcomes[tool]![index]!)
    })
  }
})

t.test('without the CMS nothing of it is saved; locks go on', async (t) => {
  const { toCms, nextCell } = await openCells(t)
  const cells = await Promise.all(Object.keys(tools).map(async (tool) => ({ tool, cell: await nextCell(tool) })))
  const versions = new Map<string, string>()
  for (const { tool, cell } of cells) {
    if (/stop/.test(tool)) versions.set(tool, await lockedByAgent({ ...cell, field: 'title' }).catch(String))
  }
  toCms.fate = () => 'dropped'
  for (const { tool, cell } of cells) {
    const saves = /^(?:edit|arrange)/.test(tool)
    const expected = saves ? 'CMS_UNREACHABLE' : outcomes[tool]![versions.has(tool) ? 1 : 0]!
    const version = versions.get(tool)
    const code = await codeOf(cell, tool, tools[tool]!.args(cell, version ?? UNKNOWN))
    t.ok(code === expected || (saves && code === 'CMS_UNAVAILABLE'), `${tool}: ${code}`)
  }
  toCms.fate = () => 'answered'
})

t.test('without the store nothing is written at all', async (t) => {
  const { toStore, toCms, nextCell } = await openCells(t)
  const cells = await Promise.all(Object.keys(tools).map(async (tool) => ({ tool, cell: await nextCell(tool) })))
  const writes: string[] = []
  toStore.fate = () => 'dropped'
  toCms.fate = (_count, { method }) => {
    if (method !== 'GET') writes.push(method)
    return 'answered'
  }
  for (const { tool, cell } of cells) {
    t.equal(await codeOf(cell, tool, tools[tool]!.args(cell, UNKNOWN)), 'STORE_UNAVAILABLE', tool)
  }
  t.strictSame(writes, [])
})

/** What needs no right to edit, and what it comes to where there is nothing of the agent's. */
const ALWAYS: Record<Tool, string> = { stop_editing: done, withdraw_proposal: 'NOT_FOUND' }

t.test('who may not lock writes nothing, and may give back', async (t) => {
  const { nextCell } = await openCells(t, { AUTH_LOCK_CLAIM: 'scope=edit' })
  for (const tool of Object.keys(tools)) {
    const cell = await nextCell(tool)
    const before = await stateOf(cell)
    t.equal(await codeOf(cell, tool, tools[tool]!.args(cell, UNKNOWN)), ALWAYS[tool] ?? 'FORBIDDEN', tool)
    t.strictSame(await stateOf(cell), before)
  }
  const cell = await nextCell('start_editing')
  const allowed = bearer({ sub: '7', name: 'Anna', act: { sub: 'planner' }, scope: 'read edit' })
  t.equal(await codeOf(cell, 'start_editing', place(cell), allowed), done)
})

t.test('with a token whose scopes allow all but its own, each tool asks for that and does nothing', async (t) => {
  const url = 'https://h.example/mcp'
  const { room, nextCell } = await openCells(t, { MCP: url, MCP_ALLOW: 'publish,close,restore' }, true, tokenFor(SCOPES))
  for (const { name, scope } of TOOLS) {
    const cell = await nextCell('edit_field')
    const before = await stateOf(cell)
    const send = (scopes: readonly string[]) =>
      room.app.inject({
        method: 'POST',
        url: '/mcp',
        headers: { accept: 'application/json, text/event-stream', ...tokenFor(scopes) },
        body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: { ...argumentsOf(name, cell) } } }
      })
    const refused = await send(SCOPES.filter((other) => other !== scope))
    t.match([refused.statusCode, refused.headers['www-authenticate']], [403, new RegExp(`insufficient_scope.*scope="${scope} `)], name)
    t.strictSame(await stateOf(cell), before)
    t.equal((await send([scope])).statusCode, 200, name)
  }

  function tokenFor(scopes: readonly string[]) {
    return bearer({ sub: '7', name: 'Anna', act: { sub: 'planner' }, aud: url, scope: scopes.join(' ') })
  }

  function argumentsOf(name: string, cell: Cell): object {
    return tools[name]?.args(cell, UNKNOWN) ?? { id: cell.id }
  }
})

t.test('with AUTH=none who names no agent reads alone', async (t) => {
  const { nextCell } = await openCells(t, {}, false)
  for (const headers of [{}, { 'quoin-agent': 'planner' }, { 'x-user-uid': '7' }] as Array<Record<string, string>>) {
    for (const tool of Object.keys(tools)) {
      const cell = await nextCell(tool)
      t.equal(await codeOf(cell, tool, tools[tool]!.args(cell, UNKNOWN), headers), 'FORBIDDEN', tool)
    }
  }
  const cell = await nextCell('edit_field')
  const named = { 'quoin-agent': 'planner', 'x-user-uid': '7' }
  t.equal(await codeOf(cell, 'edit_field', tools['edit_field']!.args(cell, UNKNOWN), named), done)
})
