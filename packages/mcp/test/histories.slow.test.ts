import { QueryCommand, UpdateCommand, type DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import t, { type Test } from 'tap'
import { newspaper } from '../../../dev/content.ts'
import { createCms } from '../../drupal-stand-in/cms.ts'
import { hasDynoxide } from '../../../test/locks/fixtures/dynoxide.ts'
import { startEngine } from '../../../test/locks/fixtures/engines.ts'
import { randomOf } from '../../../test/locks/fixtures/schedule.ts'
import { openLine, type Fate, type Line } from './line.ts'
import { bearer, openNewsroom, type Newsroom } from './newsroom.ts'

/** How many histories are tried, from the seed MCP_FIRST on. */
const HISTORIES = Number(process.env['MCP_HISTORIES'] ?? 24)
const FIRST = Number(process.env['MCP_FIRST'] ?? 1)
const STEPS = 14
const FIELDS = ['title', 'field_labels']
/** How many editions take turns. */
const EDITIONS = 40

type Headers = Record<string, string>

/** A token that outlives many histories. */
const tokenFor = (claims: object): Headers => bearer({ ...claims, exp: Math.floor(Date.now() / 1000) + 86_400 })

/** Two people, and an agent that works for each of them. */
const people: Record<string, Headers> = { anna: tokenFor({ sub: '7', name: 'Anna' }), ben: tokenFor({ sub: '8', name: 'Ben' }) }
const agents: Record<string, Headers> = {
  planner: tokenFor({ sub: '7', name: 'Anna', act: { sub: 'planner' } }),
  scribe: tokenFor({ sub: '8', name: 'Ben', act: { sub: 'scribe' } })
}
const chief = tokenFor({ sub: '1', name: 'Chief' })

interface World extends Newsroom {
  table: DynamoDBDocumentClient
  toStore: Line
  toCms: Line
  random: () => number
  id: string
  /** What an actor has read last, and which versions of locks it knows. */
  known: Map<string, { tag: string; values: Record<string, string>; versions: Record<string, string> }>
  counts: Record<string, number>
  /** Whether agents use the tokens of their people, as the checker has to notice. */
  isCareless: boolean
}

const pick = <T>({ random }: Pick<World, 'random'>, list: readonly T[]): T => list[Math.floor(random() * list.length)]!

/** All texts there are: in the edition, in locks (also ended ones), in drafts and in proposals. */
interface State {
  values: Record<string, string>
  texts: Set<string>
  /** The locks of people: by field whose they are, and their texts. */
  held: Record<string, string>
}

const pathOf = ({ id }: World) => `/api/cloud/data-state/publisher_container/${id}`

async function stateOf(world: World): Promise<State> {
  const { rest, id, table } = world
  const { body } = await rest('GET', `/api/collection/${id}`, { headers: chief })
  const values = Object.fromEntries(FIELDS.map((field) => [field, String(body[field][0]?.value)]))
  const key = `test-publisher_container-${id}`
  const partitions = [key, `${key}#drafts`, `${key}#proposals`]
  const items = await Promise.all(
    partitions.map(async (partition) => {
      const query = { TableName: 'DataState', KeyConditionExpression: 'env_entityType_entityId = :key', ConsistentRead: true }
      const { Items = [] } = await table.send(new QueryCommand({ ...query, ExpressionAttributeValues: { ':key': partition } }))
      return Items
    })
  )
  const now = Date.now() / 1000
  const held = items[0]!.filter(({ userData, expiresAt }) => /^[78]$/.test(String(userData?.uid)) && !(expiresAt <= now))
  return {
    values,
    texts: new Set([...Object.values(values), ...items.flat().flatMap(({ payload }) => (payload === undefined ? [] : [String(payload)]))]),
    held: Object.fromEntries(held.map(({ fieldName, version, payload }) => [fieldName, `${version} ${payload}`]))
  }
}

/** Reads the edition, as an actor does before it saves. */
async function look(world: World, actor: string): Promise<string> {
  const { rest, id, known } = world
  const { body, etag, status } = await rest('GET', `/api/collection/${id}`, { headers: people[actor] ?? agents[actor]! })
  if (status !== 200) return String(status)
  const values = Object.fromEntries(FIELDS.map((field) => [field, String(body[field][0]?.value)]))
  known.set(actor, { tag: etag, values, versions: known.get(actor)?.versions ?? {} })
  return 'read'
}

/** What a person does: the code that it is answered. */
async function act(world: World, actor: string, field: string, text: string): Promise<string> {
  const { rest, id, known } = world
  const headers = people[actor]!
  const body = { fieldName: field, payload: text }
  const own = known.get(actor)
  const save = () =>
    rest('POST', `/api/collection/${id}`, { headers: { ...headers, 'if-match': own!.tag }, body: { [field]: [{ value: text }] } })
  const verb = pick(world, ['look', 'type', 'type', 'takeOver', 'release', 'ask', 'save', 'save'])
  const calls: Record<string, () => Promise<{ status: number }>> = {
    type: () => rest('POST', pathOf(world), { headers, body }),
    takeOver: () => rest('PUT', pathOf(world), { headers, body }),
    release: () => rest('DELETE', `${pathOf(world)}?fieldName=${field}&uid=${actor === 'anna' ? 7 : 8}`, { headers }),
    ask: () => rest('POST', `${pathOf(world)}/requests`, { headers, body: { fieldName: field } }),
    save
  }
  if (verb === 'look' || !own) return `look ${await look(world, actor)}`
  return `${verb} ${(await calls[verb]!()).status}`
}

/** What an agent does. */
async function actByTools(world: World, actor: string, field: string, text: string): Promise<string> {
  const { call, rest, id, known, isCareless } = world
  const own = known.get(actor)
  if (!own) return `look ${await look(world, actor)}`
  const place = { type: 'edition', id, field }
  if (isCareless) {
    const headers = people[actor === 'planner' ? 'anna' : 'ben']!
    const { status } = await rest('POST', pathOf(world), { headers, body: { fieldName: field, payload: text } })
    return `lock ${status}`
  }
  const { tag, versions } = own
  const version = versions[field] ?? 'none'
  const argsOf: Record<string, object> = {
    edit_field: { id, field, value: text, tag, ...(versions[field] && { version }) },
    start_editing: place,
    save_text: { ...place, version, text },
    stop_editing: { ...place, version },
    ask_for_field: place,
    propose_text: { ...place, text, base: tag }
  }
  const holding = ['save_text', 'save_text', 'save_text', 'edit_field', 'edit_field', 'stop_editing', 'look']
  const free = ['edit_field', 'edit_field', 'start_editing', 'start_editing', 'ask_for_field', 'propose_text', 'save_text', 'look']
  const name = pick(world, versions[field] ? holding : free)
  if (name === 'look') return `look ${await look(world, actor)}`
  const { isError, body } = await call(name, argsOf[name]!, { headers: agents[actor]! })
  if (!isError && body.version) versions[field] = body.version
  if (name === 'edit_field' && !isError) known.set(actor, { ...own, tag: body.tag, values: { ...own.values, [field]: text } })
  if (isError && /^(?:PRECONDITION_FAILED|BAD_REQUEST)$/.test(body.error?.code)) await look(world, actor)
  if (!isError && /edit_field|stop_editing/.test(name)) delete versions[field]
  return `${name} ${isError ? (body.error?.code ?? 'refused') : 'done'}`
}

/** Lets the locks of agents end, as their leases do. */
async function passTime({ table, id }: World, field: string): Promise<string> {
  const ended = {
    TableName: 'DataState',
    Key: { env_entityType_entityId: `test-publisher_container-${id}`, fieldName: field },
    UpdateExpression: 'SET expiresAt = :past',
    ConditionExpression: 'begins_with(userData.uid, :agent) AND expiresAt > :past',
    ExpressionAttributeValues: { ':past': 1_767_225_600, ':agent': 'agent:' }
  }
  return table.send(new UpdateCommand(ended)).then(
    () => 'time passes',
    () => 'time passes for nobody'
  )
}

/** Faults for a step: one request of a line fails, or all from one on, as when an instance is killed. */
function fail(world: World): void {
  const { toStore, toCms, random } = world
  if (random() < 0.4) return
  const lines = pick(world, [[toStore], [toCms], [toStore, toCms]])
  const at = 1 + Math.floor(random() * (lines.includes(toStore) ? 12 : 4))
  const isKilled = random() < 0.3
  const fate = isKilled ? 'dropped' : pick(world, ['dropped', 'lost', 'broken'] as Fate[])
  for (const line of lines) {
    line.count = 0
    line.fate = (count) => (count === at || (isKilled && count > at) ? fate : 'answered')
  }
}

function heal({ toStore, toCms }: World): void {
  for (const line of [toStore, toCms]) line.fate = () => 'answered'
}

/** One or two actors act at once; what was there is there still, or its own author has replaced it. */
async function step(world: World, before: State, name: string): Promise<{ after: State; said: string; wrong: string[] }> {
  const { random, known, counts } = world
  const actors = Object.keys({ ...people, ...agents })
    .sort(() => random() - 0.5)
    .slice(0, random() < 0.3 ? 2 : 1)
  const field = pick(world, FIELDS)
  const reads = new Map(actors.map((actor) => [actor, known.get(actor)?.values]))
  const textOf = (actor: string) => `${actor} ${name}`
  let said: string[]
  if (random() < 0.08) said = [await passTime(world, field)]
  else {
    fail(world)
    said = await Promise.all(actors.map((actor) => (agents[actor] ? actByTools : act)(world, actor, field, textOf(actor))))
    heal(world)
  }
  for (const one of said) counts[one] = (counts[one] ?? 0) + 1
  const after = await stateOf(world)
  const wrong: string[] = []
  const byAgentsAlone = actors.every((actor) => agents[actor])

  for (const text of before.texts) {
    const isOwn = actors.some((actor) => text.startsWith(`${actor} `))
    if (after.texts.has(text) || isOwn || !/^(?:anna|ben|planner|scribe) /.test(text)) continue
    // A value may be replaced by who has read it, and only so.
    const isReplaced =
      before.values[field] === text && actors.some((actor) => reads.get(actor)?.[field] === text && after.values[field] === textOf(actor))
    if (!isReplaced) wrong.push(`${text} is lost`)
  }
  for (const held of FIELDS) {
    if (byAgentsAlone && before.held[held] !== undefined) {
      if (after.held[held] !== before.held[held]) wrong.push(`the lock of a person on ${held} has changed`)
      if (after.values[held] !== before.values[held]) wrong.push(`${held} was saved over under the lock of a person`)
    }
    const saver = actors.find((actor) => agents[actor] && after.values[held] === textOf(actor))
    const value = before.values[held]
    if (saver && value !== after.values[held] && actors.length === 1 && reads.get(saver)?.[held] !== value) {
      wrong.push(`${saver} has saved over what it has not read`)
    }
  }
  actors.forEach((actor, index) => {
    const text = textOf(actor)
    if (/^edit_field done/.test(said[index] ?? '') && !after.texts.has(text) && actors.length === 1) wrong.push(`${text} is not saved`)
    if (/^(?:save_text|propose_text) done/.test(said[index] ?? '') && !after.texts.has(text) && actors.length === 1) {
      wrong.push(`${text} is not kept`)
    }
  })
  return { after, said: `${actors.join(' and ')} at ${field}: ${said.join(', ')}`, wrong }
}

/**
 * A history on one edition.
 * @returns what is wrong with it, with all that was done; undefined where nothing is
 */
async function tryHistory(world: World, seed: number): Promise<string | undefined> {
  for (const actor of Object.keys({ ...people, ...agents })) await look(world, actor)
  let state = await stateOf(world)
  const log: string[] = []
  for (let count = 1; count <= STEPS; count++) {
    const { after, said, wrong } = await step(world, state, `${seed}.${count}`)
    log.push(said)
    if (wrong.length > 0) return `seed ${seed}, step ${count}: ${wrong.join('; ')}\n${log.join('\n')}`
    state = after
  }
  // What is left is no other history's.
  for (const field of FIELDS) {
    await world.rest('DELETE', `${pathOf(world)}?fieldName=${field}`, { headers: chief })
  }
  return undefined
}

/** A newsroom whose lines can fail, for histories. */
async function openWorld(t: Test): Promise<Omit<World, 'random' | 'id' | 'known' | 'counts' | 'isCareless'>> {
  const { endpoint, client: table } = await startEngine(t, hasDynoxide ? 'dynoxide' : 'dynalite')
  const cms = createCms({ content: newspaper() })
  t.teardown(() => cms.close())
  const [toStore, toCms] = [await openLine(t, endpoint), await openLine(t, await cms.listen())]
  const limits = { writesPerMinute: '1000', writesPerDay: '1000000' }
  const env = { ...limits, DYNAMODB_ENDPOINT: toStore.url, CMS_URL: toCms.url, AUTH_ADMINS: '1' }
  return { ...(await openNewsroom(t, { env })), table, toStore, toCms }
}

t.test(`${HISTORIES} histories of two people and their agents on one edition, with faults, lose no text`, async (t) => {
  const room = await openWorld(t)
  const counts: Record<string, number> = {}
  for (let seed = FIRST; seed < FIRST + HISTORIES; seed++) {
    const id = String(1 + (seed % EDITIONS))
    const wrong = await tryHistory({ ...room, random: randomOf(seed), id, known: new Map(), counts, isCareless: false }, seed)
    t.equal(wrong, undefined, `seed ${seed}`)
  }
  t.comment(`${HISTORIES} histories: ${JSON.stringify(counts)}`)
  for (const what of [
    'edit_field done',
    'edit_field FIELD_LOCKED',
    'save_text done',
    'propose_text done',
    'save 200',
    'takeOver 200',
    'type 200'
  ]) {
    t.ok(counts[what]! > 3, what)
  }
})

t.test('the checker catches agents that use the tokens of their people', async (t) => {
  const room = await openWorld(t)
  let caught = 0
  for (let seed = 1; seed <= 10; seed++) {
    const world = { ...room, random: randomOf(seed), id: String(seed), known: new Map(), counts: {}, isCareless: true }
    if (await tryHistory(world, seed)) caught++
  }
  t.comment(`${caught} of 10`)
  t.ok(caught > 0)
})
