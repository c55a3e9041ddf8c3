import { PutCommand } from '@aws-sdk/lib-dynamodb'
import t from 'tap'
import { Failure } from '#lib/errors.ts'
import { createLocks } from '#lib/locks/locks.ts'
import type { LockRequest } from '#lib/locks/schemas.ts'
import { MARGIN, recordKey, recordOf } from '#lib/locks/record.ts'
import { ITEM_LIMIT, itemSize, toStored } from '#lib/table/item.ts'
import fc from '../fixtures/property.ts'
import { runs } from '../scope.ts'
import { engineNames, startEngine } from './fixtures/engines.ts'
import { asClient, memoryStore, type Command } from './fixtures/memory-store.ts'
import { fakeTime } from '../fixtures/time.ts'

const environment = fc.stringMatching(/^[A-Za-z0-9_.-]{1,64}$/)
const entity = fc.record({ type: fc.stringMatching(/^[A-Za-z0-9_]{1,64}$/), id: fc.stringMatching(/^[A-Za-z0-9_.:-]{1,128}$/) })

/** JSON that DynamoDB can hold; ASCII only where an engine counts characters for bytes. */
function userData(text: fc.Arbitrary<string>) {
  const number = fc.oneof(
    fc.maxSafeInteger(),
    fc.double({ min: -1e6, max: 1e6, noNaN: true }).filter((value) => value === 0 || Math.abs(value) > 1e-130)
  )
  const { member } = fc.letrec((tie) => ({
    member: fc.oneof(
      { maxDepth: 4 },
      text,
      number,
      fc.boolean(),
      fc.constant(null),
      fc.array(tie('member'), { maxLength: 4 }),
      fc.dictionary(name, tie('member'), { maxKeys: 4 })
    )
  }))
  return fc.dictionary(name, member as fc.Arbitrary<unknown>, { maxKeys: 6 })
}
const name = fc.oneof(
  fc.stringMatching(/^[a-z]{1,12}$/),
  fc.constantFrom('constructor', 'toString', 'length', 'M', '$a', '#b', ':c', 'a.b')
)
const ascii = fc.string({ unit: 'grapheme-ascii', maxLength: 60 })
const unicode = fc.string({ unit: 'grapheme', maxLength: 60 })

t.test('in one environment no two entities share a key', async (t) => {
  fc.assert(
    fc.property(environment, entity, entity, (environment, a, b) => {
      return (recordKey(environment, a) === recordKey(environment, b)) === (a.type === b.type && a.id === b.id)
    })
  )
  fc.assert(
    fc.property(environment, entity, (environment, { type, id }) => recordKey(environment, { type, id }) === `${environment}-${type}-${id}`)
  )
  t.equal(recordKey('production', { type: 'node', id: '12-3' }), 'production-node-12-3')
})

t.test('the size of an item is that of its names and values by the rules of DynamoDB', async (t) => {
  const sizes: Array<[value: unknown, bytes: number]> = [
    ['', 0],
    ['abc', 3],
    ['é', 2],
    ['€', 3],
    ['🔑', 4],
    [true, 1],
    [false, 1],
    [null, 1],
    [0, 1],
    [-0, 1],
    [7, 2],
    [42, 2],
    [100, 2],
    [123, 3],
    [1234, 3],
    [-1234, 4],
    [12300, 3],
    [0.5, 2],
    [0.05, 2],
    [123.4, 4],
    [1e-100, 2],
    [9007199254740991, 9],
    [[], 3],
    [['a', 'b'], 7],
    [[[]], 7],
    [{}, 3],
    [{ a: 'b' }, 6],
    [{ a: { b: [1] } }, 16],
    [{ é: 1 }, 8]
  ]
  for (const [value, bytes] of sizes) t.equal(itemSize({ n: toStored(value, 'body') }), 1 + bytes, JSON.stringify(value))
  fc.assert(
    fc.property(userData(unicode), unicode, (value, text) => {
      const item = { a: toStored(value, 'body') }
      return itemSize({ ...item, payload: text }) === itemSize(item) + 7 + Buffer.byteLength(text)
    })
  )
})

t.test('a record has the members of the contract, the uid as a string, and passes on what userData holds', async (t) => {
  fc.assert(
    fc.property(
      userData(unicode),
      fc.oneof(fc.maxSafeInteger(), fc.string({ minLength: 1 })),
      fc.option(unicode),
      fc.option(fc.nat()),
      (extra, uid, payload, timestamp) => {
        const record = recordOf(
          'key',
          {
            fieldName: 'title',
            userData: { ...extra, uid },
            ...(payload !== null && { payload }),
            ...(timestamp !== null && { timestamp }),
            ignored: 1
          } as Parameters<typeof recordOf>[1],
          1234
        )
        t.strictSame(Object.keys(record).sort(), [
          'env_entityType_entityId',
          'fieldName',
          ...(payload === null ? [] : ['payload']),
          'timestamp',
          'userData'
        ])
        t.equal(record['timestamp'], timestamp ?? 1234)
        t.equal((record['userData'] as Map<string, unknown>).get('uid'), String(uid))
      }
    ),
    { numRuns: runs(30) }
  )
})

t.test('every read is consistent but that of the health check', async (t) => {
  const store = memoryStore({ tells: false })
  let reads: Command[] = []
  let now = 1_700_000_000_000
  const client = asClient({
    async send(command) {
      if (command.constructor.name === 'GetCommand' || command.constructor.name === 'QueryCommand') reads.push(command)
      return store.send(command)
    }
  })
  const locks = createLocks({
    client,
    table: 'DataState',
    environment: 'test',
    leaseSeconds: 60,
    time: fakeTime({ now: () => now }),
    feed: { pollMs: 1_000_000_000 }
  })
  t.teardown(locks.feed.close)
  const at = { type: 'node', id: '1' }
  const [ada, bob] = ['7', '8'].map((uid) => ({ fieldName: 'title', userData: { uid }, payload: 'text' })) as [LockRequest, LockRequest]
  const release = { fieldName: 'title', uid: '8' }
  const steps: Array<[reads: string[], work: () => Promise<unknown>]> = [
    [[], () => locks.acquire(at, ada)],
    [['GetCommand'], () => locks.acquire(at, bob)],
    [['GetCommand', 'QueryCommand'], () => locks.overwrite(at, bob)],
    [['GetCommand'], () => locks.release(at, release, { ifMatch: ['other'] })],
    [['QueryCommand'], () => locks.list(at)],
    [['QueryCommand'], () => locks.list(at, release)],
    [['QueryCommand'], () => locks.view([at])],
    [['QueryCommand'], async () => (await locks.feed.watch([at])).leave()],
    [
      [],
      async () => {
        now += 60_000
      }
    ],
    [['QueryCommand'], () => locks.drafts.list(at)],
    [['QueryCommand'], () => locks.drafts.discard(at, release)],
    [['QueryCommand'], () => locks.release(at, { uid: '7' })]
  ]
  for (const [index, [kinds, work]] of steps.entries()) {
    reads = []
    await work()
    t.strictSame([...new Set(reads.map(({ constructor: { name } }) => name))], kinds, `step ${index}`)
    t.ok(
      reads.every(({ input }) => input['ConsistentRead'] === true),
      `step ${index}`
    )
  }
  reads = []
  await locks.probe(AbortSignal.timeout(1000))
  t.strictSame(
    reads.map(({ input }) => input['ConsistentRead']),
    [undefined],
    'which looks for nothing'
  )
})

for (const engine of engineNames) {
  t.test(`over ${engine} what is accepted comes back as it was sent, and is accepted up to the last byte`, async (t) => {
    const { client } = await startEngine(t, engine)
    const locks = createLocks({ client, table: 'DataState', environment: 'test' })
    const at = { type: 'node', id: '1' }

    await fc.assert(
      fc.asyncProperty(userData(unicode), async (extra) => {
        const request = { fieldName: 'round', userData: { ...extra, uid: '7', name: 'Ada' }, timestamp: 5, payload: 'p' }
        await locks.overwrite(at, request)
        const {
          Items: [record]
        } = await locks.list(at, { fieldName: 'round' })
        return JSON.stringify(sorted(record?.userData)) === JSON.stringify(sorted(request.userData))
      }),
      { numRuns: runs(40) }
    )

    await fc.assert(
      fc.asyncProperty(userData(ascii), fc.nat(), async (extra, timestamp) => {
        const request = { fieldName: 'edge', userData: { ...extra, uid: '7' }, timestamp, payload: '' }
        const room = ITEM_LIMIT - MARGIN - itemSize(recordOf('test-node-1', request, 0))
        await locks.overwrite(at, { ...request, payload: 'x'.repeat(room) })
        await locks.overwrite(at, { ...request, payload: 'x'.repeat(room + 1) }).then(
          () => {
            throw new Error('one byte too many was accepted')
          },
          (error: Failure) => {
            if (error.code !== 'TOO_LARGE') throw error
          }
        )
      }),
      { numRuns: runs(12) }
    )
    t.pass('round trips and edges hold')
  })

  t.test(`over ${engine} an item one byte above the limit is one that the engine itself refuses`, async (t) => {
    const { client } = await startEngine(t, engine)
    const item = (payload: string) => ({
      env_entityType_entityId: 'k',
      fieldName: 'f',
      timestamp: 1767225600,
      userData: toStored({ uid: '7', list: [1, -12.5, true, null, { a: 'b' }] }, 'body'),
      payload
    })
    const room = ITEM_LIMIT - itemSize(item(''))
    await client.send(new PutCommand({ TableName: 'DataState', Item: item('x'.repeat(room)) }))
    await t.rejects(client.send(new PutCommand({ TableName: 'DataState', Item: item('x'.repeat(room + 1)) })), {
      name: 'ValidationException',
      message: /Item size/
    })
  })
}

/** The same value with members in one order, since engines keep none; -0 is stored as 0. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (value === null || typeof value !== 'object') return value
  return Object.entries(value)
    .map(([name, member]) => [name, sorted(member)])
    .sort(([a], [b]) => (a! < b! ? -1 : 1))
}
