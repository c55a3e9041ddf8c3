import { PutCommand, ScanCommand } from '@aws-sdk/lib-dynamodb'
import { NumberValueImpl } from '@aws-sdk/util-dynamodb'
import t from 'tap'
import { createLocks, type Locks } from '#lib/locks/locks.ts'
import type { Condition } from '#lib/table/expression.ts'
import { startEngine, engineNames } from './fixtures/engines.ts'
import { asClient } from './fixtures/memory-store.ts'
import { fakeTime } from '../fixtures/time.ts'

const at = { type: 'node', id: '1' }
const ada = { uid: '7', name: 'Ada' }
const ben = { uid: '8', name: 'Ben' }
const SINCE = 1_700_000_000
const FOREIGN = 3600

for (const engine of engineNames) {
  t.test(`records without expiresAt over ${engine}`, async (t) => {
    const { client } = await startEngine(t, engine)
    let entity = 0

    /** A record of another program, of an entity of its own, and the locks as they are so many seconds after its timestamp. */
    async function foreign(record: object, { leaseSeconds = 600 } = {}) {
      const place = { ...at, id: String(++entity) }
      const Item = { env_entityType_entityId: `test-node-${entity}`, fieldName: 'title', timestamp: SINCE, userData: ada, ...record }
      await client.send(new PutCommand({ TableName: 'DataState', Item }))
      const locksAfter = (seconds: number) =>
        createLocks({
          client,
          table: 'DataState',
          environment: 'test',
          leaseSeconds,
          foreignSeconds: FOREIGN,
          time: fakeTime({ now: () => (SINCE + seconds) * 1000 })
        })
      return { place, locksAfter }
    }
    const request = { fieldName: 'title', userData: ben, payload: 'his' }

    t.test('with leases one is free some time after its timestamp, and its text is kept', async (t) => {
      for (const payload of [{}, { payload: 'hers' }, { payload: 'hers', version: 'of-before-leases' }]) {
        const { place, locksAfter } = await foreign(payload)
        const before = locksAfter(FOREIGN - 1)
        t.match(await before.acquire(place, request), { outcome: 'held', lock: { timestamp: SINCE, userData: ada } }, 'a second before')
        t.match([(await before.list(place)).Count, (await before.view([place])).length, (await before.drafts.list(place)).Count], [1, 1, 0])

        const after = locksAfter(FOREIGN)
        t.match(
          [(await after.list(place)).Count, (await after.list(place, { fieldName: 'title' })).Count, (await after.view([place])).length],
          [0, 0, 0],
          'it is no lock any more'
        )
        const draft = { fieldName: 'title', payload: 'hers', userData: ada, displacedAt: SINCE + FOREIGN, displacedBy: undefined }
        const drafts = 'payload' in payload ? [draft] : []
        t.match((await after.drafts.list(place, { uid: '7' })).Items, drafts, 'its text is a draft')
        t.match(await after.acquire(place, request), { outcome: 'acquired', timestamp: SINCE + FOREIGN })
        t.match((await after.list(place)).Items, [{ userData: ben, payload: 'his' }])
        t.match(
          (await after.drafts.list(place)).Items,
          drafts.map((draft) => ({ ...draft, displacedBy: { uid: '8' } })),
          'and stays one'
        )
      }
    })

    t.test('its owner goes on with it, and what is over is left to be found', async (t) => {
      const { place, locksAfter } = await foreign({ payload: 'hers' })
      t.match(await locksAfter(FOREIGN).release(place, { uid: '7' }), { outcome: 'released' })
      t.match(await locksAfter(FOREIGN).release(place, { fieldName: 'title', uid: '7' }), { outcome: 'released' })
      t.match((await locksAfter(FOREIGN).drafts.list(place)).Items, [{ payload: 'hers' }], 'a release leaves the text there')
      t.match(await locksAfter(FOREIGN).acquire(place, { fieldName: 'title', userData: ada, payload: 'more' }), { outcome: 'acquired' })
      t.match((await locksAfter(FOREIGN).list(place)).Items, [{ userData: ada, payload: 'more', expiresAt: SINCE + FOREIGN + 600 }])

      const other = await foreign({ payload: 'hers' })
      await other.locksAfter(FOREIGN).drafts.discard(other.place, { uid: '7' })
      t.match(await other.locksAfter(0).list(other.place), { Count: 0 }, 'discarded, it is gone')
      const held = await foreign({ payload: 'hers' })
      t.match(await held.locksAfter(0).release(held.place, { uid: '7' }), { outcome: 'released' })
      t.match(
        [(await held.locksAfter(0).list(held.place)).Count, (await held.locksAfter(0).drafts.list(held.place)).Count],
        [0, 0],
        'before, a release is a release'
      )
    })

    t.test('a uid that is a number is that of its user, in writes, lists, drafts and checks', async (t) => {
      for (const [stored, uid, other] of [
        [7, '7', '07'],
        [-7, '-7', '7'],
        [0, '0', '-0'],
        [new NumberValueImpl('90071992547409931'), '90071992547409931', '90071992547409930']
      ] as const) {
        const record = { userData: { uid: stored, name: 'Ada' }, payload: 'hers' }
        const own = { fieldName: 'title', userData: { uid, name: 'Ada' }, payload: 'more' }
        const renewed = await foreign(record)
        t.match(
          await renewed.locksAfter(1).acquire(renewed.place, { ...own, userData: { uid: other } }),
          { outcome: 'held', lock: { userData: { uid } } },
          `${uid} is not ${other}`
        )
        t.match(await renewed.locksAfter(1).acquire(renewed.place, own), { outcome: 'acquired' }, `${uid} goes on`)

        const { place, locksAfter } = await foreign(record)
        const locks = locksAfter(1)
        t.strictSame(
          [...(await locks.list(place)).Items, ...(await locks.view([place]))].map(({ userData }) => userData.uid),
          [uid, uid]
        )
        t.match([(await locks.list(place, { excludeUid: uid })).Count, (await locks.list(place, { excludeUid: other })).Count], [0, 1])
        const [check] = locks.checks(place, ['title'], { uid })
        const [otherCheck] = locks.checks(place, ['title'], { uid: other })
        const again = (condition: Condition) =>
          client.send(new PutCommand({ TableName: 'DataState', Item: { ...check!.key, timestamp: SINCE, ...record }, ...condition }))
        await again(check!.condition)
        await t.rejects(again(otherCheck!.condition), { name: 'ConditionalCheckFailedException' })
        t.match(
          (await locksAfter(FOREIGN).drafts.list(place, { uid })).Items,
          [{ payload: 'hers', userData: { uid } }],
          'once expired it is a draft of the user'
        )
        t.match(await locks.overwrite(place, request), { outcome: 'acquired' })
        t.match((await locks.drafts.list(place, { uid })).Items, [{ payload: 'hers', userData: { uid } }], 'taken over, too')
        t.match((await locks.drafts.list(place, { uid: other })).Items, [])

        for (const release of [{ uid }, { fieldName: 'title', uid }]) {
          const held = await foreign(record)
          await held.locksAfter(1).release(held.place, { uid: other })
          t.match(await held.locksAfter(1).list(held.place), { Count: 1 })
          t.match(await held.locksAfter(1).release(held.place, release), { outcome: 'released' })
          t.match(await held.locksAfter(1).list(held.place), { Count: 0 }, 'released, it is gone')
        }
      }
    })

    t.test('whatever the members of one are, a takeover takes it and a release frees it', async (t) => {
      const large = new NumberValueImpl('12345678901234567890')
      // dynalite takes no two lists, and no two maps, for the same.
      const nested =
        engine === 'dynalite'
          ? []
          : [{ payload: [large, new Map([['constructor', large]])] }, { payload: new Map([['constructor', 'text']]) }, { version: ['a'] }]
      const records = [
        ...nested,
        { payload: large },
        { payload: new NumberValueImpl('0.12345678901234567890123') },
        { payload: null },
        { payload: new Uint8Array([1]) },
        { payload: new Set([large, new NumberValueImpl('1')]) },
        { payload: new Set([1, 2]) },
        { payload: new Set(['a']) },
        { version: large, payload: 'text' },
        { fencedUntil: new NumberValueImpl('1e30') },
        { userData: 'Ada' },
        { userData: { uid: [7] } },
        { timestamp: new NumberValueImpl('1700000000.1234567890123') },
        { expiresAt: large }
      ]
      for (const record of records) {
        const name = JSON.stringify(Object.entries(record))
        for (const release of [{ fieldName: 'title' }, undefined]) {
          const { place, locksAfter } = await foreign(record)
          const locks = locksAfter(1)
          if (release) t.match(await locks.release(place, release), { outcome: 'released' }, name)
          else t.match(await locks.overwrite(place, request), { outcome: 'acquired' }, name)
          t.match((await locks.list(place)).Items, release ? [] : [{ userData: ben }], name)
          t.match(await locks.drafts.list(place), { Count: 'payload' in record ? 1 : 0 }, name)
        }
      }
    })

    t.test('numbers that JavaScript does not hold are read as its nearest, and kept in a draft as they were', async (t) => {
      const text = '12345678901234567890'
      const { place, locksAfter } = await foreign({
        payload: new NumberValueImpl(text),
        timestamp: new NumberValueImpl(`${SINCE}.1234567890123`)
      })
      t.match(JSON.parse(JSON.stringify((await locksAfter(1).list(place)).Items)), [
        { payload: Number(text), timestamp: SINCE + 0.1234567890123 }
      ])
      t.match(await locksAfter(FOREIGN).list(place), { Count: 1 })
      t.match(await locksAfter(FOREIGN + 1).acquire(place, request), { outcome: 'acquired' }, 'such a time ends too')
      t.equal(String((await locksAfter(FOREIGN + 1).drafts.list(place)).Items[0]!.payload), text)
    })

    t.test('one that has an expiresAt, or no time that can be read, is not; nor is any without leases', async (t) => {
      for (const [record, settings] of [
        [{ expiresAt: SINCE + 10 * FOREIGN }],
        [{ timestamp: 'yesterday' }],
        [{ timestamp: null }],
        [{}, { leaseSeconds: 0 }]
      ] as const) {
        const { place, locksAfter } = await foreign(record, settings)
        const after = locksAfter(2 * FOREIGN)
        t.match(await after.acquire(place, request), { outcome: 'held' }, JSON.stringify(record))
        t.match([(await after.list(place)).Count, (await after.drafts.list(place)).Count], [1, 0])
      }
    })
  })
}

for (const engine of engineNames) {
  t.test(`another program may read and write beside Quoin if it takes expiresAt 0 for no lock, over ${engine}`, async (t) => {
    const { client } = await startEngine(t, engine)
    const [locks, others] = [0, 1].map(() =>
      createLocks({ client, table: 'DataState', environment: 'test', time: fakeTime({ now: () => SINCE * 1000 }) })
    ) as [Locks, Locks]
    await locks.acquire(at, { fieldName: 'title', userData: ada, payload: 'hers' })
    await locks.acquire(at, { fieldName: 'body', userData: ada })
    await others.presence.enter(at, { userData: ben })
    await others.petitions.file(at, { fieldName: 'body', userData: ben })
    await others.release(at, { fieldName: 'title' })

    const { Items } = await client.send(new ScanCommand({ TableName: 'DataState' }))
    const ofEntity = Items!.filter(({ env_entityType_entityId: key }) => !key.includes('#'))
    t.strictSame([Items!.length, ofEntity.length], [5, 4], 'the draft has a key of its own')
    t.strictSame(
      ofEntity.filter(({ expiresAt }) => expiresAt !== 0).map(({ fieldName }) => fieldName),
      ['body'],
      'one lock is left'
    )

    const Item = { env_entityType_entityId: 'test-node-1', fieldName: 'title', timestamp: SINCE, userData: { uid: 8 }, payload: 'his' }
    const put = (ConditionExpression: string, more = {}) =>
      client.send(new PutCommand({ TableName: 'DataState', Item, ConditionExpression, ExpressionAttributeValues: { ':uid': 8, ...more } }))
    await t.rejects(
      put('attribute_not_exists(env_entityType_entityId) OR userData.uid = :uid'),
      { name: 'ConditionalCheckFailedException' },
      'else the tombstone refuses it'
    )
    await put('attribute_not_exists(env_entityType_entityId) OR expiresAt = :zero OR userData.uid = :uid', { ':zero': 0 })
    t.match(await locks.acquire(at, { fieldName: 'title', userData: ada }), { outcome: 'held', lock: { userData: { uid: '8' } } })
    t.match(await locks.release(at, { uid: '8' }), { outcome: 'released' })
    t.match(await locks.list(at), { Count: 1 })
  })
}

t.test('with leases a record without an end holds for a day', async (t) => {
  const { client } = await startEngine(t, 'dynalite')
  await client.send(
    new PutCommand({
      TableName: 'DataState',
      Item: { env_entityType_entityId: 'test-node-1', fieldName: 'title', timestamp: SINCE, userData: ada }
    })
  )
  const count = async (seconds: number) =>
    (
      await createLocks({
        client,
        table: 'DataState',
        environment: 'test',
        leaseSeconds: 60,
        time: fakeTime({ now: () => (SINCE + seconds) * 1000 })
      }).list(at)
    ).Count
  t.strictSame([await count(86_399), await count(86_400)], [1, 0])
})

t.test('an answer without the keys of an item is a failure of the store; any other member may be anything', async (t) => {
  const keys = { env_entityType_entityId: 'test-node-1', fieldName: 'title' }
  const answering = (item: object) =>
    createLocks({
      client: asClient({ send: async () => ({ Items: [item], Count: 1, ScannedCount: 1 }) }),
      table: 'DataState',
      environment: 'test'
    })
  const others = { timestamp: 'yesterday', userData: null, version: 7, payload: ['text'] }
  t.strictSame((await answering({ ...keys, ...others }).list(at)).Items, [{ ...keys, ...others }])
  for (const [name] of Object.entries(keys)) {
    await t.rejects(answering({ ...keys, ...others, [name]: 5 }).list(at), { code: 'STORE_FAILED' }, name)
  }
})
