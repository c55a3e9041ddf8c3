import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createBus } from '#lib/bus/bus.ts'
import type { FeedEvent } from '#lib/locks/feed-events.ts'
import type { Locks } from '#lib/locks/locks.ts'
import { LockNotice } from '#lib/locks/notice.ts'
import { PETITION_SECONDS } from '#lib/locks/petitions.ts'
import { createHub } from '../bus/fixtures/hostile-wire.ts'
import { bearer, jwtEnv } from '../auth/fixtures.ts'
import { openEvents } from '../fixtures/event-source.ts'
import { build } from '../helper.ts'
import { startEngine } from './fixtures/engines.ts'
import { memoryStore } from './fixtures/memory-store.ts'
import { contestedStore, instance, NEVER } from './fixtures/signs.ts'
import { take } from './fixtures/watching.ts'

const ada = { uid: '7', name: 'Ada' }
const bob = { uid: '8', name: 'Bob' }
const node = { type: 'node', id: '1' }

t.test('who watches hears who asks, newcomers too, and when that is over', async (t) => {
  const store = memoryStore()
  const locks = instance(t, store)
  await locks.acquire(node, { fieldName: 'title', userData: ada, payload: 'Harbour' })
  const watcher = await locks.feed.watch([node])
  const { id } = (await take(watcher)) as FeedEvent & { id: string }
  t.match(await locks.petitions.file(node, { fieldName: 'title', userData: bob }), { outcome: 'petitioned', until: Number })
  const asked = (await take(watcher)) as FeedEvent & { id: string }
  t.match(asked, { event: 'requested', petition: { entityType: 'node', entityId: '1', fieldName: 'title', userData: bob, until: Number } })
  t.not(asked.id, id)

  const late = await locks.feed.watch([node])
  t.match(await late.next(), [
    { event: 'snapshot', id: '', locks: [{ fieldName: 'title' }] },
    { event: 'requested', id: asked.id }
  ])
  t.match(
    await locks.list(node),
    { Items: [{ fieldName: 'title', userData: ada, payload: 'Harbour' }], Count: 1, ScannedCount: 1 },
    'no list of locks has it'
  )
  t.match(await locks.drafts.list(node), { Count: 0 })

  await locks.petitions.withdraw(node, { fieldName: 'title', uid: '9' })
  await locks.petitions.withdraw(node, { fieldName: 'body' })
  await t.rejects(locks.petitions.withdraw(node, {}), { code: 'BAD_REQUEST' })
  await locks.petitions.withdraw(node, { uid: '8' })
  t.match(
    await take(watcher),
    { event: 'requested', id, petition: { fieldName: 'title', userData: bob, until: 0 } },
    'the state is that of before'
  )
  t.match(await locks.list(node, { fieldName: 'title' }), { Count: 1 }, 'nothing was taken from the holder')
})

t.test('with the lock its requests are over, and nobody asks himself', async (t) => {
  const locks = instance(t, memoryStore())
  await locks.acquire(node, { fieldName: 'title', userData: ada })
  const watcher = await locks.feed.watch([node])
  await take(watcher)
  await locks.petitions.file(node, { fieldName: 'title', userData: { uid: 8 } })
  t.match(await take(watcher), { event: 'requested', petition: { userData: { uid: '8' } } })
  await locks.overwrite(node, { fieldName: 'title', userData: bob })
  t.match(await watcher.next(), [{ event: 'locked' }, { event: 'requested', petition: { until: 0 } }])
})

t.test('what nobody else holds cannot be asked for', async (t) => {
  let now = 1_767_225_600_000
  const locks = instance(t, memoryStore(), { time: { now: () => now }, leaseSeconds: 30 })
  const ask = () => locks.petitions.file(node, { fieldName: 'title', userData: bob })
  t.match(await ask(), { outcome: 'unheld' })
  await locks.acquire(node, { fieldName: 'title', userData: bob })
  t.match(await ask(), { outcome: 'unheld' }, 'nor the own lock')
  now += 31_000
  await locks.acquire(node, { fieldName: 'title', userData: ada })
  t.match(await ask(), { outcome: 'petitioned', until: 1_767_225_600 + 31 + PETITION_SECONDS })
  now += 31_000
  t.match(await ask(), { outcome: 'unheld' }, 'nor an expired one')
})

t.test('a request ends after a minute by the clock of the store, also while this does not answer', async (t) => {
  let now = 1_767_225_600_000
  let isAway = false
  const store = memoryStore()
  const locks = instance(
    t,
    {
      send: async (command) => {
        if (isAway) throw Object.assign(new Error('away'), { name: 'TimeoutError' })
        return store.send(command)
      }
    },
    { time: { now: () => now } }
  )
  await locks.acquire(node, { fieldName: 'title', userData: ada })
  await locks.petitions.file(node, { fieldName: 'title', userData: bob })
  now += 59_950
  const watcher = await locks.feed.watch([node])
  t.match(await watcher.next(), [{ event: 'snapshot' }, { event: 'requested', petition: { until: 1_767_225_660 } }])
  await locks.petitions.file(node, { fieldName: 'title', userData: bob })
  t.match(await take(watcher), { event: 'requested', petition: { until: 1_767_225_719 } }, 'asked again, it goes on')
  now += 59_950
  isAway = true
  locks.feed.hear({ ...node, began: now, ended: now, isSure: false, fields: [] })
  t.match(await take(watcher), { event: 'stale' })
  now += 60_000
  locks.feed.catchUp()
  t.match(await take(watcher), { event: 'requested', petition: { until: 0 } })
})

t.test('the lease of a request is looked at without a word of anybody', async (t) => {
  let now = 1_767_225_600_000
  const locks = instance(t, memoryStore(), { time: { now: () => now } })
  await locks.acquire(node, { fieldName: 'title', userData: ada })
  await locks.petitions.file(node, { fieldName: 'title', userData: bob })
  now += 59_900
  const watcher = await locks.feed.watch([node])
  await watcher.next()
  now += 200
  t.match(await take(watcher), { event: 'requested', petition: { until: 0 } })
})

t.test('so many may ask for a field, and for an entity, and all who ask at once are heard', async (t) => {
  const locks = instance(t, memoryStore())
  for (const fieldName of ['a', 'b', 'c', 'd', 'e']) await locks.acquire(node, { fieldName, userData: ada })
  const ask = (fieldName: string, uid: string) => locks.petitions.file(node, { fieldName, userData: { uid } })
  await Promise.all(['1', '2', '3', '4', '5'].map((uid) => ask('a', uid)))
  await ask('a', '5')
  await t.rejects(ask('a', '6'), {
    code: 'TOO_MANY_REQUESTS',
    message: /^5 users already ask for this field, the most allowed; try again in \d+ s$/,
    headers: { 'retry-after': /^\d+$/ }
  })
  for (const fieldName of ['b', 'c', 'd']) for (const uid of ['1', '2', '3', '4', '5']) await ask(fieldName, uid)
  await t.rejects(ask('e', '1'), { code: 'TOO_MANY_REQUESTS', message: /^20 users already ask for fields of this entity/ })
  await locks.petitions.withdraw(node, { fieldName: 'a' })
  t.match(await ask('e', '1'), { outcome: 'petitioned' })
})

t.test('a record that changes all the time is given up, not written over', async (t) => {
  const locks = instance(t, contestedStore('petitions'))
  await locks.acquire(node, { fieldName: 'title', userData: ada })
  await t.rejects(locks.petitions.file(node, { fieldName: 'title', userData: bob }), {
    code: 'STORE_UNAVAILABLE',
    headers: { 'retry-after': '1' }
  })
})

t.test('by a bus other instances are told at once', async (t) => {
  const store = memoryStore()
  const hub = createHub()
  const [here, there] = [0, 1].map(() => {
    const bus = createBus({ wire: hub.wire(), beatMs: NEVER })
    const tell = bus.topic('locks', LockNotice, (notice) => locks.feed.hear(notice))
    const locks = instance(t, store, {
      feed: {
        pollMs: NEVER,
        noticedPollMs: NEVER,
        heartbeatMs: NEVER,
        restMs: 0,
        notices: { isUp: bus.isUp, hearsAll: bus.hearsAll, tell }
      }
    })
    bus.start()
    t.teardown(bus.close)
    return locks
  }) as [Locks, Locks]
  await sleep(20)
  await here.acquire(node, { fieldName: 'title', userData: ada })
  const watcher = await there.feed.watch([node])
  await take(watcher)
  await here.petitions.file(node, { fieldName: 'title', userData: bob })
  t.match(await take(watcher), { event: 'requested', petition: { userData: bob } })
  await here.petitions.withdraw(node, { fieldName: 'title' })
  t.match(await take(watcher), { event: 'requested', petition: { until: 0 } })
})

t.test('without one they are told by their next read, over HTTP', async (t) => {
  const { endpoint } = await startEngine(t, 'dynalite')
  const [here, there] = [
    await build(t, { DYNAMODB_ENDPOINT: endpoint, EVENTS_POLL_MS: '100' }),
    await build(t, { DYNAMODB_ENDPOINT: endpoint, EVENTS_POLL_MS: '100' })
  ]
  const path = '/api/cloud/data-state/node/1'
  const ask = () => here.inject({ method: 'POST', url: `${path}/requests`, body: { fieldName: 'title', userData: { ...bob, more: 1 } } })
  const unheld = await ask()
  t.equal(unheld.statusCode, 409)
  t.match(unheld.json(), { success: false, error: { name: 'ConflictError', code: 'FIELD_NOT_LOCKED' } })
  await here.inject({ method: 'POST', url: path, body: { fieldName: 'title', userData: ada } })
  const { next } = await openEvents(t, `${await there.listen({ host: '127.0.0.1', port: 0 })}${path}/events`)
  t.match(await next(), { event: 'snapshot' })
  const asked = await ask()
  t.strictSame([asked.statusCode, asked.json()], [202, { success: true }])
  t.match(await next(), {
    event: 'requested',
    id: /./,
    data: { entityType: 'node', entityId: '1', fieldName: 'title', userData: bob, until: Number }
  })
  const withdrawn = await here.inject({ method: 'DELETE', url: `${path}/requests?fieldName=title&uid=8` })
  t.strictSame([withdrawn.statusCode, withdrawn.json()], [200, { success: true }])
  t.match(await next(), { event: 'requested', data: { until: 0 } })
})

t.test('who is known asks and withdraws for himself, an administrator withdraws for all', async (t) => {
  const { endpoint } = await startEngine(t, 'dynalite')
  const app = await build(t, { DYNAMODB_ENDPOINT: endpoint, AUTH_ADMINS: '1', ...jwtEnv(t) })
  const [anna, ben, root] = [bearer({ sub: '7', name: 'Anna' }), bearer({ sub: '8', name: 'Ben' }), bearer({ sub: '1', name: 'Root' })]
  const path = '/api/cloud/data-state/node/1'
  await app.inject({ method: 'POST', url: path, headers: anna, body: { fieldName: 'title' } })
  const ask = async (headers: Record<string, string>, body: object = {}) =>
    (await app.inject({ method: 'POST', url: `${path}/requests`, headers, body: { fieldName: 'title', ...body } })).statusCode
  const withdraw = async (headers: Record<string, string>, uid = '') =>
    (await app.inject({ method: 'DELETE', url: `${path}/requests?fieldName=title${uid && `&uid=${uid}`}`, headers })).statusCode
  t.strictSame([await ask(ben), await ask(ben, { userData: { uid: '9' } }), await ask(anna)], [202, 403, 409])
  t.strictSame([await withdraw(anna, '8'), await withdraw(ben), await withdraw(root, '8'), await withdraw(root)], [403, 200, 200, 200])
})
