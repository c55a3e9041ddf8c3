import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { createAnswerMemory } from '#lib/http/answer-memory.ts'
import { createLocks } from '#lib/locks/locks.ts'
import { recordOf, USER_DATA_LIMIT } from '#lib/locks/record.ts'
import { asClient, memoryStore, type Command, type Item, type Send } from './fixtures/memory-store.ts'
import { fakeTime } from '../fixtures/time.ts'

const at = { type: 'node', id: '1' }
const ada = { uid: '7', name: 'Ada' }
const bob = { uid: '8', name: 'Bob' }
const unpolled = { feed: { pollMs: 1_000_000_000 } }

/** A table whose queries are answered in pages of so many items, and a count of its requests. */
function paged(size: number, heard: (name: string) => void = () => {}) {
  const store = memoryStore()
  const client: Send = {
    async send(command: Command) {
      heard(command.constructor.name)
      const answer = await store.send(command)
      if (command.constructor.name !== 'QueryCommand') return answer
      const from = command.input['ExclusiveStartKey']?.from ?? 0
      const Items = answer['Items'].slice(from, from + size)
      return {
        Items,
        Count: Items.length,
        ScannedCount: Items.length,
        ...(from + size < answer['Items'].length && { LastEvaluatedKey: { from: from + size } })
      }
    }
  }
  return { ...store, client: asClient(client) }
}

function fill(items: Map<string, Item>, count: number, item: (index: number) => Item): void {
  for (let index = 0; index < count; index++) {
    const record = { env_entityType_entityId: 'test-node-1', timestamp: 1, userData: ada, ...item(index) } as Item
    items.set(JSON.stringify([record['env_entityType_entityId'], record['fieldName']]), record)
  }
}

t.test('a list that takes longer than its deadline is given up', async (t) => {
  let time = 0
  let queries = 0
  const { client, items } = paged(1, () => {
    queries++
    time += 3000
  })
  const locks = createLocks({ client, table: 'DataState', environment: 'test', time: fakeTime({ monotonic: () => time }), ...unpolled })
  fill(items, 10, (index) => ({ fieldName: `f${index}` }))
  await t.rejects(locks.list(at), { code: 'STORE_UNAVAILABLE', headers: { 'retry-after': '1' }, message: /more than 10 s/ })
  t.equal(queries, 4, 'nothing is begun after 10 s')
  queries = 0
  await t.rejects(
    locks.drafts.list({ type: 'node', id: '1' }).then(() => locks.release(at, { uid: '7' })),
    { code: 'STORE_UNAVAILABLE' }
  )
})

t.test('a DELETE that takes longer than its deadline names what is left, and calling again finishes it', async (t) => {
  let time = 0
  const { client, items } = paged(1000, (name) => {
    if (name === 'DeleteCommand') time += 500
  })
  const locks = createLocks({ client, table: 'DataState', environment: 'test', time: fakeTime({ monotonic: () => time }), ...unpolled })
  fill(items, 60, (index) => ({ fieldName: `f${index}` }))
  let left = 60
  for (let calls = 1; left > 0 && calls <= 5; calls++) {
    const failed = await locks.release(at, { uid: '7' }).then(
      () => [],
      ({ details }) => details.failed
    )
    t.equal(failed.length, items.size, 'every field that is still locked is named')
    t.ok(items.size < left)
    left = items.size
  }
  t.equal(left, 0)
})

t.test('a list beyond 16 MiB is refused, with how to ask for less, and read no further', async (t) => {
  let queries = 0
  let payload: string | undefined = 'é'.repeat(200_000)
  const client = asClient({
    async send({ input }) {
      queries++
      const page = input['ExclusiveStartKey']?.page ?? 0
      const isDrafts = input['ExpressionAttributeValues'][':key'].endsWith('#drafts')
      const Items =
        !isDrafts && input['FilterExpression'].includes('attribute_exists(#payload)')
          ? []
          : [0, 1].map((n) => ({
              env_entityType_entityId: 'test-node-1',
              fieldName: `${isDrafts ? `field#${'u'.repeat(22)}.` : ''}v${2 * page + n}`,
              field: 'title',
              timestamp: 1,
              userData: ada,
              displacedAt: 1,
              ...(payload && { payload })
            }))
      return {
        Items,
        Count: Items.length,
        ScannedCount: Items.length,
        ...(Items.length > 0 && page < 29 && { LastEvaluatedKey: { page: page + 1 } })
      }
    }
  })
  const locks = createLocks({ client, table: 'DataState', environment: 'test', time: fakeTime({ monotonic: () => 0 }), ...unpolled })
  await t.rejects(locks.list(at), {
    code: 'TOO_LARGE',
    statusCode: 413,
    message: 'The answer would have more than 16777216 bytes; ask for one field (fieldName), or leave the texts out (payload=0)'
  })
  t.equal(queries, 21, 'by bytes, not by characters')
  await t.rejects(locks.drafts.list(at), { code: 'TOO_LARGE', message: /\(fieldName\).*\(uid\).*\(draft\)/ })
  t.match(await locks.drafts.list(at, { draft: 'v7' }), { Count: 1, Items: [{ id: 'v7' }] })
  payload = undefined
  t.equal((await locks.list(at)).Items.length, 60)
})

t.test('a list is refused while others take the memory, and leaves nothing behind', async (t) => {
  const memory = createAnswerMemory(1_000_000)
  const { client, items } = paged(1)
  const locks = createLocks({ client, table: 'DataState', environment: 'test', memory, ...unpolled })
  fill(items, 4, (index) => ({ fieldName: `f${index}`, payload: 'x'.repeat(100_000) }))
  const other = memory.open()
  other.take(700_000)
  for (let turn = 0; turn < 3; turn++) await t.rejects(locks.list(at), { code: 'OVERLOADED', statusCode: 503 })
  other.free(200_000)
  for (let turn = 0; turn < 3; turn++) t.equal((await locks.list(at)).Count, 4)
})

t.test('of the drafts of a field and user the newest 50 are kept', async (t) => {
  let time = 1_700_000_000_000
  let isBroken = false
  const store = memoryStore()
  const client = asClient({
    async send(command) {
      if (isBroken && command.input['ProjectionExpression']?.includes('#displacedAt')) throw new Error('away')
      return store.send(command)
    }
  })
  const locks = createLocks({
    client,
    table: 'DataState',
    environment: 'test',
    time: fakeTime({
      now: () => {
        time += 1000
        return time
      }
    }),
    ...unpolled
  })
  const takeOver = async (userData: object, payload: string, fieldName = 'title') => {
    await locks.overwrite(at, { fieldName, userData: userData as typeof ada, payload })
  }
  await takeOver(ada, 'other', 'lead')
  await takeOver(bob, 'of Bob', 'lead')
  for (let n = 0; n < 60; n++) {
    await takeOver(ada, `Ada ${n}`)
    await takeOver(bob, `Bob ${n}`)
  }
  const texts = async (uid: string, fieldName = 'title') =>
    (await locks.drafts.list(at, { fieldName, uid })).Items.map(({ payload }) => payload)
  t.strictSame(
    await texts('7'),
    Array.from({ length: 50 }, (_, index) => `Ada ${59 - index}`)
  )
  t.strictSame(
    await texts('8'),
    Array.from({ length: 50 }, (_, index) => `Bob ${58 - index}`)
  )
  t.strictSame(await texts('7', 'lead'), ['other'], 'another field has its own')

  isBroken = true
  await takeOver(ada, 'more')
  t.equal((await texts('8')).length, 51, 'what cannot be removed now')
  isBroken = false
  await takeOver(bob, 'more')
  await takeOver(ada, 'more')
  t.equal((await texts('8')).length, 50, 'is removed with the next')

  fill(store.items, 60, (index) => ({ env_entityType_entityId: 'test-node-2#drafts', fieldName: `x#${index}`, displacedAt: index }))
  fill(store.items, 1, () => ({
    env_entityType_entityId: 'test-node-2',
    fieldName: 'title',
    userData: {},
    payload: 'of nobody',
    version: 'v'
  }))
  await locks.overwrite({ type: 'node', id: '2' }, { fieldName: 'title', userData: ada })
  t.match((await locks.drafts.list({ type: 'node', id: '2' }, { fieldName: 'title' })).Items, [{ payload: 'of nobody' }])
  await setImmediate()
})

t.test('a takeover reads the drafts of the displaced user alone', async (t) => {
  const store = memoryStore()
  let scanned = 0
  const client = asClient({
    async send(command) {
      const output = await store.send(command)
      scanned += output['ScannedCount'] ?? 0
      return output
    }
  })
  const NOW = 1_700_000_000
  const locks = createLocks({ client, table: 'DataState', environment: 'test', time: fakeTime({ now: () => NOW * 1000 }), ...unpolled })
  const takeOver = (uid: string, payload = `of ${uid}`) => locks.overwrite(at, { fieldName: 'title', userData: { uid }, payload })
  for (let uid = 1; uid <= 40; uid++) await takeOver(String(uid))
  scanned = 0
  await takeOver('41')
  t.equal(scanned, 1, 'that of user 40')
  await takeOver('40')
  scanned = 0
  await takeOver('41')
  t.equal(scanned, 2, 'those of user 40')
})

t.test('userData is limited by its bytes as JSON; that of others may be larger', async (t) => {
  const { client, items } = paged(1000)
  const locks = createLocks({ client, table: 'DataState', environment: 'test', ...unpolled })
  const sized = (bytes: number, letter = 'x') => ({
    uid: '7',
    note: letter.repeat((bytes - '{"uid":"7","note":""}'.length) / Buffer.byteLength(letter))
  })
  for (const userData of [sized(USER_DATA_LIMIT), sized(USER_DATA_LIMIT - 1, 'é')]) {
    t.match(await locks.acquire(at, { fieldName: 'title', userData }), { outcome: 'acquired' })
  }
  for (const userData of [sized(USER_DATA_LIMIT + 1), sized(USER_DATA_LIMIT + 1, 'é'), { uid: '7', note: '"'.repeat(5000) }]) {
    for (const write of [locks.acquire, locks.overwrite]) {
      await t.rejects(write(at, { fieldName: 'title', userData }), {
        code: 'TOO_LARGE',
        statusCode: 413,
        message: /^body\/userData has \d+ bytes of JSON; at most 8192 bytes are taken$/
      })
    }
  }
  t.throws(() => recordOf('k', { fieldName: 'title', userData: sized(USER_DATA_LIMIT + 1) }, 1), { message: /has 8193 bytes/ })
  fill(items, 1, () => ({ fieldName: 'foreign', userData: sized(100_000) }))
  t.equal((await locks.list(at, { fieldName: 'foreign' })).Items[0]!.userData['note' as never], sized(100_000).note)
})
