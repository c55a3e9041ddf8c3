import t from 'tap'
import { AGENT_LOCKS_MAX } from '#lib/locks/agents.ts'
import { memoryStore, type Command, type Item, type Send } from './fixtures/memory-store.ts'
import { instance } from './fixtures/signs.ts'

const uid = 'agent:planner:7'
const userData = { uid, name: 'planner (Anna)' }
const ben = { uid: '8', name: 'Ben' }
const node = { type: 'node', id: '1' }
const NAMES = JSON.stringify([`test#agent-${uid}`, 'agent'])
const alone = { alone: true }

/** A store that does something before it is sent a command, which may fail. */
function watchedStore(before: (command: Command, item: Item | undefined) => void) {
  const store = memoryStore()
  const watched: Send = {
    async send(command) {
      before(command, command.input['Item'] ?? command.input['Key'])
      return store.send(command)
    }
  }
  return { ...store, ...watched }
}

t.test('instances that lock for one agent at once lock three fields together', async (t) => {
  const store = memoryStore()
  const instances = [instance(t, store), instance(t, store)]
  const results = await Promise.allSettled(
    Array.from({ length: 10 }, (_, index) => instances[index % 2]!.acquire(node, { fieldName: `field_${index}`, userData }, alone))
  )
  t.equal(results.filter(({ status }) => status === 'fulfilled').length, AGENT_LOCKS_MAX)
  for (const result of results) if (result.status === 'rejected') t.match(result.reason, { code: 'TOO_MANY_REQUESTS' })
  t.equal((await instances[0]!.list(node)).Count, AGENT_LOCKS_MAX, 'who comes too late has given the lock back')
  t.equal((await instances[0]!.drafts.list(node)).Count, 0)
})

t.test('what an agent has released or lost makes room, and what has expired', async (t) => {
  let now = 1_767_225_600_000
  const locks = instance(t, memoryStore(), { time: { now: () => now } })
  const take = (fieldName: string) => locks.acquire(node, { fieldName, userData }, alone)
  for (let count = 0; count < 3 * AGENT_LOCKS_MAX; count++) {
    const taken = await take(`field_${count}`)
    t.equal(taken.outcome, 'acquired')
    if (taken.outcome === 'acquired') await locks.release(node, { fieldName: `field_${count}`, uid }, { ifMatch: [taken.version] })
  }
  for (let count = 0; count < AGENT_LOCKS_MAX; count++) await take(`field_${count}`)
  await t.rejects(take('title'), { code: 'TOO_MANY_REQUESTS', headers: { 'retry-after': '5' } })
  await locks.overwrite(node, { fieldName: 'field_0', userData: ben })
  t.match(await take('title'), { outcome: 'acquired' })
  await t.rejects(take('body'), { code: 'TOO_MANY_REQUESTS' })
  now += 121_000
  t.match(await take('body'), { outcome: 'acquired' })
})

t.test('an agent that renews a lock that it has lost is told so, also while it holds three others', async (t) => {
  let now = 1_767_225_600_000
  const locks = instance(t, memoryStore(), { time: { now: () => now } })
  const take = async (fieldName: string) => {
    const taken = await locks.acquire(node, { fieldName, userData, payload: fieldName }, alone)
    return taken.outcome === 'acquired' ? taken.version : ''
  }
  const renew = (fieldName: string, version: string) => locks.acquire(node, { fieldName, userData }, { ifMatch: [version] })
  const [held, released, expired] = [await take('held'), await take('released'), await take('expired')]
  await locks.overwrite(node, { fieldName: 'held', userData: ben })
  await locks.release(node, { fieldName: 'released', uid }, { ifMatch: [released] })
  now += 121_000
  const [one] = [await take('a'), await take('b'), await take('c')]
  t.match(await renew('held', held), { outcome: 'held', lock: { userData: ben } })
  t.match(await renew('released', released), { outcome: 'changed' })
  await t.rejects(renew('expired', expired), { code: 'TOO_MANY_REQUESTS' })
  await locks.release(node, { fieldName: 'a', uid }, { ifMatch: [one] })
  t.match(await renew('expired', expired), { outcome: 'acquired' }, 'nobody has it, so it is not lost')
})

t.test('a lock that cannot be counted is given back, and where that fails too, it ends by itself', async (t) => {
  const contested = watchedStore(({ constructor: { name } }, item) => {
    if (name === 'PutCommand' && item?.['fieldName'] === 'agent') {
      contested.items.set(NAMES, { ...item, version: String(Math.random()), fields: [] })
    }
  })
  const locks = instance(t, contested)
  await t.rejects(locks.acquire(node, { fieldName: 'title', userData, payload: 'x' }, alone), {
    code: 'STORE_UNAVAILABLE',
    message: /changes hands too fast/
  })
  t.strictSame([(await locks.list(node)).Count, (await locks.drafts.list(node)).Count], [0, 0])

  const failing = watchedStore(({ constructor: { name } }, item) => {
    if (name === 'DeleteCommand' || (name === 'PutCommand' && item?.['fieldName'] === 'agent')) throw new Error('away')
  })
  const others = instance(t, failing)
  await t.rejects(others.acquire(node, { fieldName: 'title', userData }, alone), { code: 'STORE_FAILED' })
  t.match((await others.list(node)).Items, [{ userData: { uid }, expiresAt: Number }])
})

t.test('a lock of an agent costs two reads more, and a write where its field is not named yet', async (t) => {
  const sent: string[] = []
  const locks = instance(
    t,
    watchedStore(({ constructor: { name } }) => {
      sent.push(name.replace('Command', ''))
    })
  )
  const taken = await locks.acquire(node, { fieldName: 'title', userData }, alone)
  t.strictSame(sent.splice(0), ['Get', 'Put', 'Get', 'Put'])
  if (taken.outcome !== 'acquired') throw new Error(taken.outcome)
  await locks.acquire(node, { fieldName: 'title', userData }, { ifMatch: [taken.version] })
  t.strictSame(sent, ['Get', 'Put', 'Get'])
})

t.test('a record of another form names no fields, and is replaced', async (t) => {
  const store = memoryStore()
  store.items.set(NAMES, { env_entityType_entityId: `test#agent-${uid}`, fieldName: 'agent', fields: 'title' })
  const locks = instance(t, store)
  t.match(await locks.acquire(node, { fieldName: 'title', userData }, alone), { outcome: 'acquired' })
  t.strictSame(store.items.get(NAMES)!['fields'], [{ env_entityType_entityId: 'test-node-1', fieldName: 'title' }])
})

t.test('an agent that renews its lock while a person asks gives it back nevertheless; one that never stops is asked', async (t) => {
  for (const [renewals, outcome] of [
    [2, 'unheld'],
    [99, 'petitioned']
  ] as const) {
    let count = 0
    const store = watchedStore(({ constructor: { name } }, key) => {
      if (name !== 'DeleteCommand' || key?.['fieldName'] !== 'title' || count++ >= renewals) return
      const lockName = JSON.stringify(['test-node-1', 'title'])
      store.items.set(lockName, { ...store.items.get(lockName), version: `0${count}` })
    })
    const locks = instance(t, store)
    await locks.acquire(node, { fieldName: 'title', userData, payload: 'x' }, alone)
    t.match(await locks.petitions.file(node, { fieldName: 'title', userData: ben }), { outcome })
    t.equal((await locks.list(node)).Count, outcome === 'unheld' ? 0 : 1)
  }
})

t.test('a lock of an agent that another program wrote, without a version, is asked for', async (t) => {
  const store = memoryStore()
  store.items.set(JSON.stringify(['test-node-1', 'title']), {
    env_entityType_entityId: 'test-node-1',
    fieldName: 'title',
    timestamp: 5,
    userData
  })
  const locks = instance(t, store)
  t.match(await locks.petitions.file(node, { fieldName: 'title', userData: ben }), { outcome: 'petitioned' })
  t.equal((await locks.list(node)).Count, 1)
})

t.test('what a person gets of an agent is noted as a takeover, of the types that are noted', async (t) => {
  const notes: unknown[] = []
  const takeovers = {
    concerns: (type: string) => type === 'node',
    async note(...note: unknown[]) {
      notes.push(note)
    }
  }
  const locks = instance(t, memoryStore(), { takeovers })
  for (const by of [ben, { uid: '9' }]) {
    for (const entity of [node, { type: 'media', id: '1' }]) {
      await locks.acquire(entity, { fieldName: 'title', userData }, alone)
      t.match(await locks.petitions.file(entity, { fieldName: 'title', userData: by }), { outcome: 'unheld' })
    }
  }
  t.strictSame(notes, [
    [node, { fieldName: 'title', from: userData, by: ben }],
    [node, { fieldName: 'title', from: userData, by: { uid: '9' } }]
  ])
})
