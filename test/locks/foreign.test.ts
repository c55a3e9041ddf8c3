import { PutCommand } from '@aws-sdk/lib-dynamodb'
import t from 'tap'
import { createLocks } from '../../lib/locks/locks.ts'
import { startEngine, engineNames } from './fixtures/engines.ts'
import { asClient } from './fixtures/memory-store.ts'

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
    async function foreign (record: object, { leaseSeconds = 600 } = {}) {
      const place = { ...at, id: String(++entity) }
      const Item = { env_entityType_entityId: `test-node-${entity}`, fieldName: 'title', timestamp: SINCE, userData: ada, ...record }
      await client.send(new PutCommand({ TableName: 'DataState', Item }))
      const locksAfter = (seconds: number) => createLocks({ client, table: 'DataState', environment: 'test', leaseSeconds, foreignSeconds: FOREIGN, now: () => (SINCE + seconds) * 1000 })
      return { place, locksAfter }
    }
    const request = { fieldName: 'title', userData: ben, payload: 'his' }

    t.test('with leases one is free LOCK_FOREIGN_SECONDS after its timestamp, and its text is kept', async (t) => {
      for (const payload of [{}, { payload: 'hers' }, { payload: 'hers', version: 'of-before-leases' }]) {
        const { place, locksAfter } = await foreign(payload)
        const before = locksAfter(FOREIGN - 1)
        t.match(await before.acquire(place, request), { outcome: 'held', lock: { timestamp: SINCE, userData: ada } }, 'a second before')
        t.match([(await before.list(place)).Count, (await before.view([place])).length, (await before.drafts.list(place)).Count], [1, 1, 0])

        const after = locksAfter(FOREIGN)
        t.match([(await after.list(place)).Count, (await after.list(place, { fieldName: 'title' })).Count, (await after.view([place])).length], [0, 0, 0], 'it is no lock any more')
        const draft = { fieldName: 'title', payload: 'hers', userData: ada, displacedAt: SINCE + FOREIGN, displacedBy: undefined }
        const drafts = 'payload' in payload ? [draft] : []
        t.match((await after.drafts.list(place, { uid: '7' })).Items, drafts, 'its text is a draft')
        t.match(await after.acquire(place, request), { outcome: 'acquired', timestamp: SINCE + FOREIGN })
        t.match((await after.list(place)).Items, [{ userData: ben, payload: 'his' }])
        t.match((await after.drafts.list(place)).Items, drafts.map((draft) => ({ ...draft, displacedBy: { uid: '8' } })), 'and stays one')
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
      t.match([(await held.locksAfter(0).list(held.place)).Count, (await held.locksAfter(0).drafts.list(held.place)).Count], [0, 0], 'before, a release is a release')
    })

    t.test('one that has an expiresAt, or no time that can be read, is not; nor is any without leases', async (t) => {
      for (const [record, settings] of [[{ expiresAt: SINCE + 10 * FOREIGN }], [{ timestamp: 'yesterday' }], [{ timestamp: null }], [{}, { leaseSeconds: 0 }]] as const) {
        const { place, locksAfter } = await foreign(record, settings)
        const after = locksAfter(2 * FOREIGN)
        t.match(await after.acquire(place, request), { outcome: 'held' }, JSON.stringify(record))
        t.match([(await after.list(place)).Count, (await after.drafts.list(place)).Count], [1, 0])
      }
    })
  })
}

t.test('LOCK_FOREIGN_SECONDS is a day unless it is set', async (t) => {
  const { client } = await startEngine(t, 'dynalite')
  await client.send(new PutCommand({ TableName: 'DataState', Item: { env_entityType_entityId: 'test-node-1', fieldName: 'title', timestamp: SINCE, userData: ada } }))
  const count = async (seconds: number) => (await createLocks({ client, table: 'DataState', environment: 'test', leaseSeconds: 60, now: () => (SINCE + seconds) * 1000 }).list(at)).Count
  t.strictSame([await count(86_399), await count(86_400)], [1, 0])
})

t.test('an answer without the keys of an item is a failure of the store; any other member may be anything', async (t) => {
  const keys = { env_entityType_entityId: 'test-node-1', fieldName: 'title' }
  const answering = (item: object) => createLocks({
    client: asClient({ send: async () => ({ Items: [item], Count: 1, ScannedCount: 1 }) }), table: 'DataState', environment: 'test'
  })
  const others = { timestamp: 'yesterday', userData: null, version: 7, payload: ['text'] }
  t.strictSame((await answering({ ...keys, ...others }).list(at)).Items, [{ ...keys, ...others }])
  for (const [name] of Object.entries(keys)) await t.rejects(answering({ ...keys, ...others, [name]: 5 }).list(at), { code: 'STORE_FAILED' }, name)
})
