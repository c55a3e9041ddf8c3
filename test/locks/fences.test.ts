import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb'
import t from 'tap'
import { isOlder } from '#lib/locks/attempt.ts'
import { itemsOf, type Displacer } from '#lib/locks/draft.ts'
import { dropDraft, keepDraft, listDrafts } from '#lib/locks/drafts.ts'
import { createLockContext, createLocks, type Locks } from '#lib/locks/locks.ts'
import { unansweredBy } from '#lib/table/fence.ts'
import { ITEM_LIMIT, itemSize, type Item as LockItem, type StoredValue } from '#lib/table/item.ts'
import { asClient, memoryStore, type Command, type Item, type Send } from './fixtures/memory-store.ts'
import { fakeTime } from '../fixtures/time.ts'

const NOW = 1_900_000_000
const at = { type: 'node', id: '1' }
const [ada, bob] = [
  { uid: '7', name: 'Ada' },
  { uid: '8', name: 'Bob' }
]
const title = { env_entityType_entityId: 'test-node-1', fieldName: 'title' }

/** A write that gets no answer (lib/table/fence.ts). */
const noAnswer = () => unansweredBy(Object.assign(new Error('no answer from the store'), { name: 'TimeoutError' }))

/**
 * Has Bob's lock refuse Ada, whose first put hangs.
 * @param meanwhile does what Bob does before each of her attempts at marking his record
 */
async function refusal(meanwhile: (mark: number, bobs: Locks, arrive: () => Promise<Item>) => Promise<unknown>) {
  const store = memoryStore()
  const options = { table: 'DataState', environment: 'test', time: fakeTime({ wait: async () => {} }) }
  const bobs = createLocks({ ...options, time: fakeTime({ ...options.time, now: () => NOW * 1000 - 1 }), client: asClient(store) })
  await bobs.acquire(at, { fieldName: 'title', userData: bob })
  let first: Command | undefined
  let marks = 0
  const client = asClient({
    async send(command) {
      if (command.constructor.name === 'PutCommand' && !first) {
        first = command
        throw noAnswer()
      }
      if (command.input['Item']?.userData && command.input['Item'].userData.get('uid') === '8') {
        await meanwhile(++marks, bobs, () => store.send(first!))
      }
      return store.send(command)
    }
  })
  const refused = createLocks({ ...options, time: fakeTime({ ...options.time, now: () => NOW * 1000 }), client }).acquire(at, {
    fieldName: 'title',
    userData: ada
  })
  return { refused, bobs, items: () => [...store.items.values()], marks: () => marks, late: () => store.send(first!).catch(() => {}) }
}

/** Bob types on, so often. */
const typing = (changes: number) => async (mark: number, bobs: Locks) => {
  if (mark <= changes) await bobs.acquire(at, { fieldName: 'title', userData: bob, payload: `text ${mark}` })
}

t.test('a lock that changes while it is marked against a late attempt is marked as it is then', async (t) => {
  const { refused, items, marks } = await refusal(typing(3))
  t.match(await refused, { outcome: 'held', lock: { userData: bob } })
  t.match(items()[0], { userData: bob, payload: 'text 3', fencedUntil: NOW + 960 })
  t.equal(marks(), 4)
})

t.test('a lock that changes each time it is to be marked ends the request', async (t) => {
  const { refused, items, marks } = await refusal(typing(Infinity))
  await t.rejects(refused, { code: 'STORE_UNAVAILABLE', message: /changes hands too fast/ })
  t.match(items()[0], { userData: bob, payload: 'text 20', fencedUntil: undefined })
  t.equal(marks(), 20)
})

t.test('a lock that is released while it is marked leaves a tombstone, which the late attempt meets', async (t) => {
  const { refused, bobs, items, late } = await refusal(async (_mark, bobs) => bobs.release(at, { fieldName: 'title', uid: '8' }))
  t.match(await refused, { outcome: 'held', lock: { userData: bob } })
  await late()
  t.match(items(), [{ fieldName: 'title', payload: undefined, expiresAt: 0, fencedUntil: NOW + 960 }])
  t.strictSame((await bobs.list(at)).Items, [], 'no reader sees it')
})

t.test('a late attempt that locks the field while the record in its way is marked is the lock', async (t) => {
  const { refused, items } = await refusal(async (_mark, bobs, arrive) => {
    await bobs.release(at, { fieldName: 'title', uid: '8' })
    await arrive()
  })
  const { version } = (await refused) as { version: string }
  t.match(items(), [{ userData: ada, version }])
})

t.test('a record of others, which has no version, is not written again to mark it', async (t) => {
  const store = memoryStore()
  const foreign = { ...title, timestamp: NOW, userData: bob, payload: 'text' }
  await store.send({ constructor: { name: 'PutCommand' }, input: { TableName: 'DataState', Item: foreign } } as never)
  let puts = 0
  const client = asClient({
    async send(command) {
      if (command.constructor.name === 'PutCommand' && ++puts === 1) throw noAnswer()
      return store.send(command)
    }
  })
  const locks = createLocks({
    table: 'DataState',
    environment: 'test',
    time: fakeTime({ now: () => NOW * 1000, wait: async () => {} }),
    client
  })
  t.match(await locks.acquire(at, { fieldName: 'title', userData: ada }), { outcome: 'held', lock: { userData: bob } })
  t.strictSame([...store.items.values()], [foreign])
})

t.test('a takeover that is always late, after an attempt without an answer, ends as not known, and leaves no draft', async (t) => {
  const store = memoryStore()
  const options = { table: 'DataState', environment: 'test', time: fakeTime({ wait: async () => {} }) }
  const other = createLocks({ ...options, time: fakeTime({ ...options.time, now: () => NOW * 1000 - 1 }), client: asClient(store) })
  await other.acquire(at, { fieldName: 'title', userData: bob, payload: 'text' })
  let puts = 0
  const client = asClient({
    async send(command) {
      if (command.constructor.name !== 'PutCommand' || command.input['Item']['userData']?.get('uid') !== '7') return store.send(command)
      if (++puts === 1) throw noAnswer()
      await other.acquire(at, { fieldName: 'title', userData: bob, payload: `text ${puts}` })
      return store.send(command)
    }
  })
  await t.rejects(
    createLocks({ ...options, time: fakeTime({ ...options.time, now: () => NOW * 1000 }), client }).overwrite(at, {
      fieldName: 'title',
      userData: ada
    }),
    {
      code: 'STORE_UNAVAILABLE',
      message: /does not know/
    }
  )
  t.match([...store.items.values()], [{ userData: bob }])
})

/** Takeovers of Bob's text whose last write the store refuses, or does not answer, until it does again. */
async function failedTakeover(take: (locks: Locks) => Promise<unknown>, failures: Array<() => Error>) {
  const store = memoryStore()
  let now = NOW
  const options = {
    table: 'DataState',
    environment: 'test',
    time: fakeTime({ wait: async () => {}, now: () => now * 1000 }),
    leaseSeconds: 60
  }
  const bobs = createLocks({ ...options, client: asClient(store) })
  await bobs.acquire(at, { fieldName: 'title', userData: bob, payload: 'text' })
  now += 20
  const client = asClient({
    async send(command) {
      const isDraft = (command.input['Item'] ?? command.input['Key'] ?? {})['env_entityType_entityId'] === 'test-node-1#drafts'
      const isReplacing = !isDraft && command.input['ConditionExpression']?.startsWith('#version = :version')
      if (isReplacing && failures.length > 0) throw failures.shift()!()
      return store.send(command)
    }
  })
  await t.rejects(take(createLocks({ ...options, client })), { code: 'STORE_UNAVAILABLE' })
  await bobs.acquire(at, { fieldName: 'title', userData: bob, payload: 'more' })
  return { texts: (await bobs.drafts.list(at)).Items.map(({ payload }) => payload), records: store.items.size }
}

t.test('a takeover or a release that the store refuses leaves no draft that says it happened', async (t) => {
  const refusal = () => Object.assign(new Error('slow down'), { name: 'ThrottlingException', $metadata: { httpStatusCode: 400 } })
  const takes = {
    overwrite: (locks: Locks) => locks.overwrite(at, { fieldName: 'title', userData: ada }),
    release: (locks: Locks) => locks.release(at, { fieldName: 'title' }),
    'release by an administrator': (locks: Locks) => locks.release(at, { fieldName: 'title', uid: '8' }, { by: { uid: '7' } })
  }
  for (const [name, take] of Object.entries(takes)) {
    t.strictSame(await failedTakeover(take, [refusal]), { texts: [], records: 1 }, name)
    t.strictSame((await failedTakeover(take, [noAnswer, noAnswer, noAnswer])).texts, ['text'], `${name}, which may still happen`)
    t.strictSame((await failedTakeover(take, [noAnswer, refusal])).texts, ['text'], `${name}, of which the first attempt may still happen`)
  }
})

t.test('a takeover whose attempts get no answer keeps one draft of the text, until that is displaced', async (t) => {
  for (const carriedOut of [false, true]) {
    const store = memoryStore()
    const options = { table: 'DataState', environment: 'test', time: fakeTime({ wait: async () => {}, now: () => NOW * 1000 }) }
    await createLocks({ ...options, time: fakeTime({ ...options.time, now: () => NOW * 1000 - 1 }), client: asClient(store) }).acquire(at, {
      fieldName: 'title',
      userData: bob,
      payload: 'text'
    })
    const puts: Command[] = []
    const client = asClient({
      async send(command) {
        if (command.constructor.name !== 'PutCommand' || command.input['Item']['userData']?.get('uid') !== '7') return store.send(command)
        puts.push(command)
        if (puts.length !== 2) return store.send(command)
        if (carriedOut) await store.send(command)
        throw noAnswer()
      }
    })
    const locks = createLocks({ ...options, client })
    t.match(await locks.overwrite(at, { fieldName: 'title', userData: ada }), {
      outcome: 'acquired',
      version: puts.at(-1)!.input['Item']['version']
    })
    t.equal(puts.length, carriedOut ? 2 : 3)
    t.match((await locks.drafts.list(at)).Items, [{ payload: 'text', userData: bob }])
    t.equal(store.items.size, 2, 'the lock and the draft')
    await t.rejects(store.send(puts[1]!), { name: 'ConditionalCheckFailedException' }, 'late it changes nothing')
  }
})

t.test('the text of a record of others is kept although the takeover has to be sent again', async (t) => {
  const store = memoryStore()
  await store.send({
    constructor: { name: 'PutCommand' },
    input: { Item: { ...title, timestamp: NOW - 5, userData: bob, payload: 'text' } }
  })
  let puts = 0
  const client = asClient({
    async send(command) {
      if (command.constructor.name === 'PutCommand' && command.input['Item']['userData']?.get('uid') === '7' && ++puts === 2) {
        throw noAnswer()
      }
      return store.send(command)
    }
  })
  const locks = createLocks({
    table: 'DataState',
    environment: 'test',
    time: fakeTime({ wait: async () => {}, now: () => NOW * 1000 }),
    client
  })
  t.match(await locks.overwrite(at, { fieldName: 'title', userData: ada }), { outcome: 'acquired' })
  t.equal(puts, 3)
  const { Items } = await locks.drafts.list(at)
  t.ok(Items.length > 0)
  t.ok(Items.every(({ payload }) => payload === 'text'))
})

/** Drafts over a table in memory, and what puts are made of on their way. */
function drafting(send?: (store: Send, command: Command) => Promise<Item>) {
  const store = memoryStore()
  const client = asClient({
    send: (command) => (send && command.constructor.name === 'PutCommand' ? send(store, command) : store.send(command))
  })
  const now = () => NOW * 1000
  const context = createLockContext({
    client,
    table: 'DataState',
    environment: 'test',
    time: fakeTime({ now, monotonic: () => 0, wait: async () => {}, random: () => 0 })
  })
  const drafts = {
    keep: (record: LockItem, by: Displacer) => keepDraft(context, record, by),
    drop: (draft: LockItem) => dropDraft(context, draft),
    list: (entity: typeof at) => listDrafts(context, entity)
  }
  return { drafts, store, items: () => [...store.items.values()] }
}

const lock = { ...title, userData: ada, payload: 'text', version: 'v' }

t.test('a draft whose write got no answer is kept once', async (t) => {
  let first: Command | undefined
  for (const carriedOut of [true, false]) {
    let puts = 0
    const { drafts, store, items } = drafting(async (store, command) => {
      if (++puts > 1) return store.send(command)
      first = command
      if (carriedOut) await store.send(command)
      throw noAnswer()
    })
    const draft = await drafts.keep(lock, bob)
    if (!carriedOut) await t.rejects(store.send(first!), { name: 'ConditionalCheckFailedException' }, 'late it meets a tombstone')
    t.strictSame(
      (await drafts.list(at)).Items.map(({ payload }) => payload),
      ['text']
    )
    await drafts.drop(draft)
    t.match(items(), carriedOut ? [] : [{ payload: undefined, expiresAt: 0, fencedUntil: NOW + 960 }])
  }
})

t.test('a draft whose writes get no answer fails after three', async (t) => {
  let puts = 0
  const { drafts } = drafting(async () => {
    puts++
    throw noAnswer()
  })
  await t.rejects(drafts.keep(lock, bob), { code: 'STORE_UNAVAILABLE' })
  t.ok(puts <= 12, `${puts} writes`)
})

t.test('a draft that was written without an answer and is discarded at once stays so', async (t) => {
  let puts = 0
  const { drafts, items } = drafting(async (store, command) => {
    if (++puts > 1) {
      await store.send({ constructor: { name: 'DeleteCommand' }, input: { Key: command.input['Item'] } })
      throw new ConditionalCheckFailedException({ message: 'The conditional request failed', $metadata: {} })
    }
    await store.send(command)
    throw noAnswer()
  })
  await drafts.keep(lock, bob)
  t.strictSame([puts, items()], [2, []])
})

t.test('a tombstone is put again until there is an answer, and a draft that is never answered fails', async (t) => {
  const { drafts, items } = drafting(async (store, command) => {
    if (command.input['Item']['expiresAt'] === 0) await store.send(command)
    throw noAnswer()
  })
  await t.rejects(drafts.keep(lock, bob), { code: 'STORE_UNAVAILABLE' })
  t.match(items(), [{ expiresAt: 0 }, { expiresAt: 0 }, { expiresAt: 0 }])
})

t.test('a lock that is written again and again while its first attempt is looked for ends the request', async (t) => {
  let puts = 0
  const client = asClient({
    async send({ constructor: { name } }) {
      if (name === 'GetCommand') return {}
      throw ++puts === 1 ? noAnswer() : new ConditionalCheckFailedException({ message: 'The conditional request failed', $metadata: {} })
    }
  })
  const locks = createLocks({
    table: 'DataState',
    environment: 'test',
    time: fakeTime({ wait: async () => {}, now: () => NOW * 1000 }),
    client
  })
  await t.rejects(locks.acquire(at, { fieldName: 'title', userData: ada }), {
    code: 'STORE_UNAVAILABLE',
    message: /changes hands too fast/
  })
})

t.test('a takeover whose caller has hung up is not tried again, and leaves no draft', async (t) => {
  const store = memoryStore()
  const options = { table: 'DataState', environment: 'test', time: fakeTime({ wait: async () => {}, now: () => NOW * 1000 }) }
  const owner = createLocks({ ...options, client: asClient(store) })
  await owner.acquire(at, { fieldName: 'title', userData: ada, payload: 'text' })
  let tries = 0
  const racing = createLocks({
    ...options,
    client: asClient({
      async send(command) {
        const isTry = command.input['Item']?.['fieldName'] === 'title'
        if (isTry && ++tries) await owner.acquire(at, { fieldName: 'title', userData: ada, payload: 'text' })
        return store.send(command)
      }
    })
  })
  await t.rejects(
    racing.overwrite(
      at,
      { fieldName: 'title', userData: bob },
      {
        answer: {
          get destroyed() {
            return tries === 3
          }
        }
      }
    ),
    { code: 'CALLER_GONE' }
  )
  t.equal(tries, 3)
  t.match(await owner.list(at), { Items: [{ userData: ada, payload: 'text' }] })
  t.strictSame((await owner.drafts.list(at)).Items, [])
})

t.test('the text of an expired lock whose writer may still be at it leaves a tombstone when it is discarded', async (t) => {
  const store = memoryStore()
  const clock = { now: NOW * 1000 }
  const locks = createLocks({
    table: 'DataState',
    environment: 'test',
    leaseSeconds: 1,
    time: fakeTime({ wait: async () => {}, now: () => clock.now }),
    client: asClient(store)
  })
  await locks.acquire(at, { fieldName: 'title', userData: ada, payload: 'text' })
  clock.now += 2000
  t.equal((await locks.drafts.list(at, {})).Items.length, 1)
  await locks.drafts.discard(at, { uid: '7' })
  t.match([...store.items.values()], [{ fencedUntil: NOW + 2 + 960, payload: undefined }])
})

t.test('a record without a version is older than any delete', async (t) => {
  t.equal(isOlder({ ...title }, { version: 'v', instance: 'x', settled: 'v' }), true)
})

t.test('a draft in two items is dropped whole', async (t) => {
  const { drafts, items } = drafting()
  const draft = await drafts.keep({ ...title, userData: ada, payload: 'x'.repeat(ITEM_LIMIT - 100), version: 'v' }, bob)
  t.equal(items().length, 2)
  await drafts.drop(draft)
  t.strictSame(items(), [])
})

t.test('a long draft is divided between two characters', async (t) => {
  for (const before of ['', 'x']) {
    for (const after of ['', 'x', 'xx']) {
      const payload = before + '🔑'.repeat(ITEM_LIMIT / 4) + after
      const [end, first] = itemsOf({ ...title, payload, removeAt: NOW }).map(({ payload, rest }) => String(payload ?? rest)) as [
        string,
        string
      ]
      t.equal(first + end, payload)
      t.ok(first.isWellFormed() && end.isWellFormed(), `${before}…${after}`)
    }
  }
})

t.test('of a user who leaves no room for a draft no more is kept than its item can hold, whatever others wrote as the user', async (t) => {
  const long = 'x'.repeat(ITEM_LIMIT - 50)
  for (const [userData, kept] of [
    [long, {}],
    [[long], {}],
    [
      new Map([
        ['uid', '7'],
        ['note', long]
      ]),
      { uid: '7' }
    ]
  ] as Array<[StoredValue, object]>) {
    const items = itemsOf({ ...title, userData, payload: 'text', removeAt: NOW })
    t.strictSame(Object.fromEntries(items[1]!['userData'] as Map<string, StoredValue>), kept)
    for (const item of items) t.ok(itemSize(item) <= ITEM_LIMIT)
  }
})
