import t from 'tap'
import { itemsOf } from '../../lib/locks/draft.ts'
import { createDrafts } from '../../lib/locks/drafts.ts'
import { ITEM_LIMIT, itemSize, type Stored } from '../../lib/locks/item.ts'
import { createLocks, type Locks } from '../../lib/locks/locks.ts'
import { createLockTable } from '../../lib/locks/table.ts'
import { createVersions, newInstance } from '../../lib/locks/version.ts'
import { asClient, memoryStore, type Command, type Item, type Send } from './fixtures/memory-store.ts'

const NOW = 1_900_000_000
const at = { type: 'node', id: '1' }
const [ada, bob] = [{ uid: '7', name: 'Ada' }, { uid: '8', name: 'Bob' }]
const title = { env_entityType_entityId: 'test-node-1', fieldName: 'title' }

/** Sends a put as the SDK sends it a second time (lib/dynamodb/fence.ts). */
async function again (store: Send, { constructor, input }: Command): Promise<Item> {
  return store.send({ constructor, input: { ...input, Item: { ...input['Item'], fencedUntil: NOW + 960 } } })
    .catch((error) => { throw Object.assign(error, { repeated: true }) })
}

/**
 * Has Bob's lock refuse Ada, at her second attempt.
 * @param meanwhile does what Bob does before each attempt of hers at marking it, the first of which is her second put
 */
async function refusal (meanwhile: (put: number, bobs: Locks) => Promise<unknown>) {
  const store = memoryStore()
  let time = NOW * 1000 - 1
  const options = { table: 'DataState', environment: 'test', now: () => time, wait: async () => {} }
  const bobs = createLocks({ ...options, client: asClient(store) })
  await bobs.acquire(at, { fieldName: 'title', userData: bob })
  time++
  let puts = 0
  const client = asClient({
    async send (command) {
      if (command.constructor.name !== 'PutCommand') return store.send(command)
      if (++puts === 1) return again(store, command)
      await meanwhile(puts, bobs)
      return store.send(command)
    }
  })
  const refused = createLocks({ ...options, client }).acquire(at, { fieldName: 'title', userData: ada })
  return { refused, bobs, items: () => [...store.items.values()], puts: () => puts }
}

/** Bob types on, so often. */
const typing = (changes: number) => async (put: number, bobs: Locks) => {
  if (put <= changes + 1) await bobs.acquire(at, { fieldName: 'title', userData: bob, payload: `text ${put}` })
}

t.test('a lock that changes while it is marked against a late attempt is marked as it is then', async (t) => {
  const { refused, items, puts } = await refusal(typing(3))
  t.match(await refused, { outcome: 'held', lock: { userData: bob } })
  t.match(items()[0], { userData: bob, payload: 'text 4', fencedUntil: NOW + 960 })
  t.equal(puts(), 5)
})

t.test('a lock that changes each time it is to be marked ends the request', async (t) => {
  const { refused, items, puts } = await refusal(typing(Infinity))
  await t.rejects(refused, { code: 'STORE_UNAVAILABLE', message: /changes hands too fast/ })
  t.match(items()[0], { userData: bob, payload: 'text 21', fencedUntil: undefined })
  t.equal(puts(), 21)
})

t.test('a lock that is released while it is marked leaves a tombstone, which the late attempt meets', async (t) => {
  const { refused, bobs, items } = await refusal(async (put, bobs) => { if (put === 2) await bobs.release(at, { fieldName: 'title', uid: '8' }) })
  t.match(await refused, { outcome: 'held', lock: { userData: bob } })
  t.match(items(), [{ fieldName: 'title', payload: undefined, expiresAt: 0, fencedUntil: NOW + 960 }])
  t.strictSame((await bobs.list(at)).Items, [], 'no reader sees it')
})

t.test('a record of others, which has no version, is not written again to mark it', async (t) => {
  const store = memoryStore()
  const foreign = { ...title, timestamp: NOW, userData: bob, payload: 'text' }
  await store.send({ constructor: { name: 'PutCommand' }, input: { TableName: 'DataState', Item: foreign } } as never)
  let puts = 0
  const client = asClient({ send: async (command) => command.constructor.name === 'PutCommand' && ++puts === 1 ? again(store, command) : store.send(command) })
  const locks = createLocks({ table: 'DataState', environment: 'test', now: () => NOW * 1000, wait: async () => {}, client })
  t.match(await locks.acquire(at, { fieldName: 'title', userData: ada }), { outcome: 'held', lock: { userData: bob } })
  t.equal(puts, 1)
})

t.test('a takeover that is always late, after an attempt without an answer, ends as not known', async (t) => {
  const store = memoryStore()
  let time = NOW * 1000
  const options = { table: 'DataState', environment: 'test', now: () => time++, wait: async () => {} }
  const other = createLocks({ ...options, client: asClient(store) })
  await other.acquire(at, { fieldName: 'title', userData: bob, payload: 'text' })
  let puts = 0
  const client = asClient({
    async send (command) {
      if (command.constructor.name !== 'PutCommand' || command.input['Item']['fieldName'] !== 'title') return store.send(command)
      if (++puts > 1) await other.acquire(at, { fieldName: 'title', userData: bob, payload: `text ${puts}` })
      return puts === 1 ? again(store, command) : store.send(command)
    }
  })
  await t.rejects(createLocks({ ...options, client }).overwrite(at, { fieldName: 'title', userData: ada }), { code: 'STORE_UNAVAILABLE', message: /not known/ })
  t.match(store.items.get([...store.items.keys()].find((key) => key.includes('title'))!), { userData: bob })
})

/** Drafts over a table in memory, and what puts are made of on their way. */
function drafting (send?: (store: Send, command: Command) => Promise<Item>) {
  const store = memoryStore()
  const client = asClient({ send: (command) => send && command.constructor.name === 'PutCommand' ? send(store, command) : store.send(command) })
  const now = () => NOW * 1000
  const drafts = createDrafts({
    table: createLockTable({ client, table: 'DataState' }), environment: 'test', draftDays: 30, now, moment: () => ({ now: NOW }), monotonic: () => 0, nextVersion: createVersions(now, newInstance())
  })
  return { drafts, items: () => [...store.items.values()] }
}

t.test('a draft that was written by a second attempt is dropped for good', async (t) => {
  let sent = 0
  const { drafts, items } = drafting(async (store, command) => ++sent === 1 ? again(store, command) : store.send(command))
  const draft = await drafts.keep({ ...title, userData: ada, payload: 'text', version: 'v' }, bob, 'successor')
  t.match(items(), [{ payload: 'text', fencedUntil: NOW + 960 }])
  await drafts.drop(draft)
  t.match(items(), [{ fieldName: draft['fieldName'], payload: undefined, expiresAt: 0, fencedUntil: NOW + 960 }], 'a tombstone keeps the first attempt off')
})

t.test('a draft in two items is dropped whole', async (t) => {
  const { drafts, items } = drafting()
  const draft = await drafts.keep({ ...title, userData: ada, payload: 'x'.repeat(ITEM_LIMIT - 100), version: 'v' }, bob, 'successor')
  t.equal(items().length, 2)
  await drafts.drop(draft)
  t.strictSame(items(), [])
})

t.test('a long draft is divided between two characters', async (t) => {
  for (const before of ['', 'x']) {
    for (const after of ['', 'x', 'xx']) {
      const payload = before + '🔑'.repeat(ITEM_LIMIT / 4) + after
      const [rest, first] = itemsOf({ ...title, payload, removeAt: NOW }) as [Record<string, string>, Record<string, string>]
      t.equal(first['payload']! + rest['rest'], payload)
      t.ok(first['payload']!.isWellFormed() && rest['rest']!.isWellFormed(), `${before}…${after}`)
    }
  }
})

t.test('of a user who leaves no room for a draft no more is kept than its item can hold, whatever others wrote as the user', async (t) => {
  const long = 'x'.repeat(ITEM_LIMIT - 50)
  for (const [userData, kept] of [[long, {}], [[long], {}], [new Map([['uid', '7'], ['note', long]]), { uid: '7' }]] as Array<[Stored, object]>) {
    const items = itemsOf({ ...title, userData, payload: 'text', removeAt: NOW })
    t.strictSame(Object.fromEntries(items[1]!['userData'] as Map<string, Stored>), kept)
    for (const item of items) t.ok(itemSize(item) <= ITEM_LIMIT)
  }
})
