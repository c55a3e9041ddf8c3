import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createBus } from '#lib/bus/bus.ts'
import type { FeedEvent } from '#lib/locks/feed-events.ts'
import type { Locks } from '#lib/locks/locks.ts'
import { LockNotice } from '#lib/locks/notice.ts'
import { LOOKERS_MAX, PRESENCE_SECONDS } from '#lib/locks/presence.ts'
import { createHub } from '../bus/fixtures/hostile-wire.ts'
import { bearer, jwtEnv } from '../auth/fixtures.ts'
import { openEvents } from '../fixtures/event-source.ts'
import { build } from '../helper.ts'
import { startEngine } from './fixtures/engines.ts'
import { memoryStore, type Send } from './fixtures/memory-store.ts'
import { contestedStore, instance, NEVER } from './fixtures/signs.ts'
import { take } from './fixtures/watching.ts'

const ada = { uid: '7', name: 'Ada' }
const bob = { uid: '8', name: 'Bob' }
const node = { type: 'node', id: '1' }
const path = '/api/cloud/data-state/node/1'
const START = 1_767_225_600

/** A store that counts its requests by name. */
function counted(store: Send) {
  const counts: Record<string, number> = {}
  const send: Send['send'] = async (command) => {
    const { name } = command.constructor
    counts[name] = (counts[name] ?? 0) + 1
    return store.send(command)
  }
  return { counts, send }
}

t.test('who watches hears who looks on, newcomers too, and when they leave; whatever reads locks leaves it alone', async (t) => {
  const locks = instance(t, memoryStore(), { leaseSeconds: 30 })
  await locks.acquire(node, { fieldName: 'title', userData: ada, payload: 'Harbour' })
  const watcher = await locks.feed.watch([node])
  const { id } = (await take(watcher)) as FeedEvent & { id: string }
  await locks.presence.enter(node, { userData: bob })
  const came = (await take(watcher)) as FeedEvent & { id: string }
  t.match(came, { event: 'present', presence: { entityType: 'node', entityId: '1', userData: bob, until: Number } })
  t.not(came.id, id)

  await locks.presence.enter(node, { userData: { uid: 9 } })
  const second = (await take(watcher)) as FeedEvent & { id: string }
  t.match(second, { presence: { userData: { uid: '9' } } })
  const late = await locks.feed.watch([node])
  t.match(await late.next(), [
    { event: 'snapshot', locks: [{ fieldName: 'title' }] },
    { event: 'present', id: '', presence: { userData: bob } },
    { event: 'present', id: second.id, presence: { userData: { uid: '9' } } }
  ])

  t.match(await locks.list(node), { Items: [{ fieldName: 'title', userData: ada, payload: 'Harbour' }], Count: 1, ScannedCount: 1 })
  t.match(await locks.view([node]), [{ fieldName: 'title' }])
  t.match(await locks.drafts.list(node), { Count: 0 })
  await locks.release(node, { uid: '8' })
  await locks.presence.leave(node, '10')
  await locks.presence.leave(node, '8')
  t.match(await take(watcher), { event: 'present', presence: { userData: bob, until: 0 } })
  await locks.presence.leave(node, '9')
  t.match(await take(watcher), { event: 'present', id, presence: { until: 0 } }, 'the state is that of before')
  t.match(await locks.list(node, { fieldName: 'title' }), { Count: 1 }, 'nothing was taken from the holder')
})

t.test('petitions and those who look on do not disturb each other', async (t) => {
  const locks = instance(t, memoryStore())
  await locks.acquire(node, { fieldName: 'title', userData: ada })
  await locks.presence.enter(node, { userData: bob })
  await locks.petitions.file(node, { fieldName: 'title', userData: bob })
  const watcher = await locks.feed.watch([node])
  t.match(await watcher.next(), [
    { event: 'snapshot' },
    { event: 'requested', petition: { userData: bob } },
    { event: 'present', presence: { userData: bob } }
  ])
  await locks.petitions.withdraw(node, { uid: '8' })
  t.match(await take(watcher), { event: 'requested', petition: { until: 0 } })
  t.match(await locks.list(node), { Count: 1, ScannedCount: 1 })
})

t.test('signs of another form are left out, and end with the next change', async (t) => {
  const store = memoryStore()
  const locks = instance(t, store)
  await locks.presence.enter(node, { userData: bob })
  const [[key, item]] = [...store.items] as [[string, Record<string, unknown>]]
  const [sign] = item['lookers'] as object[]
  for (const [lookers, count] of [
    ['somebody', 0],
    [[1, { uid: 7, until: NEVER }, { uid: '9' }, sign], 1]
  ] as const) {
    store.items.set(key, { ...item, lookers } as never)
    const watcher = await locks.feed.watch([node])
    const events = await watcher.next()
    t.equal(events!.filter(({ event }) => event === 'present').length, count)
    watcher.leave()
    await locks.presence.enter(node, { userData: ada })
    t.equal((store.items.get(key) as unknown as { lookers: unknown[] }).lookers.length, count + 1)
  }
})

t.test('said again, it goes on: one window of a user writes for all, and a read that comes anyway tells it', async (t) => {
  let now = START * 1000
  const { send, counts } = counted(memoryStore())
  const locks = instance(t, { send }, { time: { now: () => now } })
  const enter = (name = 'Bob') => locks.presence.enter(node, { userData: { uid: '8', name } })
  await enter()
  await locks.presence.enter(node, { userData: ada })
  counts['PutCommand'] = 1
  const watcher = await locks.feed.watch([node])
  const [, came, { id }] = (await watcher.next()) as unknown as [FeedEvent, FeedEvent, FeedEvent & { id: string }]
  t.match(came, { presence: { userData: bob, until: START + PRESENCE_SECONDS } })
  now += 19_000
  await enter()
  t.equal(counts['PutCommand'], 1, 'the other window has just said so')
  now += 2000
  const queries = counts['QueryCommand']
  await enter()
  t.equal(counts['PutCommand'], 2)
  t.equal(counts['QueryCommand'], queries, 'nobody reads because of it')
  locks.feed.hear({ ...node, began: now, ended: now, isSure: false, fields: [] })
  t.match(
    await take(watcher),
    { event: 'present', id, presence: { userData: bob, until: START + 21 + PRESENCE_SECONDS } },
    'the state has the same name'
  )
  await enter('Bobby')
  t.match(await take(watcher), { event: 'present', presence: { userData: { uid: '8', name: 'Bobby' } } }, 'another name is news')
})

t.test('who says nothing more is gone after 90 seconds by the clock of the store, also while this does not answer', async (t) => {
  let now = START * 1000
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
  await locks.presence.enter(node, { userData: bob })
  now += 89_900
  const watcher = await locks.feed.watch([node])
  t.match(await watcher.next(), [{ event: 'snapshot' }, { event: 'present' }])
  now += 200
  t.match(await take(watcher), { event: 'present', presence: { until: 0 } }, 'without a word of anybody')
  await locks.presence.enter(node, { userData: bob })
  await take(watcher)
  now += 89_950
  isAway = true
  await t.rejects(locks.presence.enter(node, { userData: ada }), { code: 'STORE_UNAVAILABLE' })
  locks.feed.hear({ ...node, began: now, ended: now, isSure: false, fields: [] })
  t.match(await take(watcher), { event: 'stale' })
  now += 60_000
  t.match(await take(watcher), { event: 'present', presence: { userData: bob, until: 0 } })
})

t.test('so many may look on at once, and all who come at once are heard', async (t) => {
  const locks = instance(t, memoryStore())
  const enter = (uid: number) => locks.presence.enter(node, { userData: { uid } })
  for (let uid = 0; uid < LOOKERS_MAX; uid += 10) await Promise.all(Array.from({ length: 10 }, (_, index) => enter(uid + index)))
  await t.rejects(enter(LOOKERS_MAX), {
    code: 'TOO_MANY_REQUESTS',
    message: /^50 users already look on at this entity, the most allowed; try again in \d+ s$/,
    headers: { 'retry-after': /^\d+$/ }
  })
  await enter(3)
  await locks.presence.leave(node, '3')
  await enter(LOOKERS_MAX)
  const watcher = await locks.feed.watch([node])
  t.equal((await watcher.next())?.length, 1 + LOOKERS_MAX)
})

t.test('fifty who come at once cost a few writes, and each of them has an answer of its own', async (t) => {
  const store = memoryStore()
  let isAway = false
  const { send, counts } = counted({
    async send(command) {
      if (isAway) throw Object.assign(new Error('away'), { name: 'TimeoutError' })
      await setImmediate()
      return store.send(command)
    }
  })
  const [here, there] = [instance(t, { send }), instance(t, { send })]
  const enter = (uid: number, locks = here) => locks.presence.enter(node, { userData: { uid } })
  await Promise.all([
    enter(0),
    ...Array.from({ length: 49 }, async (_, index) => {
      await setImmediate()
      return enter(index + 1)
    })
  ])
  t.strictSame([counts['GetCommand'], counts['PutCommand']], [2, 2], 'the first, and all who have come meanwhile')
  const late = await Promise.allSettled([enter(50), here.presence.leave(node, '7'), enter(51), enter(52)])
  t.match(
    late.map(({ status }) => status),
    ['rejected', 'fulfilled', 'fulfilled', 'rejected'],
    'in the order in which they came'
  )
  t.match(late[3], { reason: { code: 'TOO_MANY_REQUESTS' } })
  t.strictSame([counts['GetCommand'], counts['PutCommand']], [3, 3])

  isAway = true
  for (const { status } of await Promise.allSettled([here.presence.leave(node, '1'), here.presence.leave(node, '2')])) {
    t.equal(status, 'rejected')
  }
  isAway = false
  await Promise.all(Array.from({ length: 48 }, (_, uid) => (uid % 2 ? here : there).presence.leave(node, String(uid + 1))))
  const watcher = await here.feed.watch([node])
  t.match(await watcher.next(), [
    { event: 'snapshot' },
    ...['0', '49', '51'].map((uid) => ({ event: 'present', presence: { userData: { uid } } }))
  ])
  t.ok(counts['PutCommand']! < 10, 'also through two instances')
})

t.test('a record that changes all the time is given up, not written over', async (t) => {
  const locks = instance(t, contestedStore('lookers'))
  await t.rejects(locks.presence.enter(node, { userData: bob }), {
    code: 'STORE_UNAVAILABLE',
    message: /open this entity/,
    headers: { 'retry-after': '1' }
  })
})

t.test('by a bus other instances are told at once', async (t) => {
  const store = memoryStore()
  const hub = createHub()
  const [here, there] = [0, 1].map(() => {
    const bus = createBus({ wire: hub.wire(), beatMs: NEVER })
    const tell = bus.topic('locks', LockNotice, (notice) => locks.feed.hear(notice))
    const locks = instance(t, store, { feed: { noticedPollMs: NEVER, notices: { isUp: bus.isUp, hearsAll: bus.hearsAll, tell } } })
    bus.start()
    t.teardown(bus.close)
    return locks
  }) as [Locks, Locks]
  await sleep(20)
  const watcher = await there.feed.watch([node])
  await take(watcher)
  await here.presence.enter(node, { userData: bob })
  t.match(await take(watcher), { event: 'present', presence: { userData: bob } })
  await here.presence.leave(node, '8')
  t.match(await take(watcher), { event: 'present', presence: { until: 0 } })
})

t.test('without one they are told by their next read, over HTTP', async (t) => {
  const { endpoint } = await startEngine(t, 'dynalite')
  const [here, there] = [
    await build(t, { DYNAMODB_ENDPOINT: endpoint, EVENTS_POLL_MS: '100' }),
    await build(t, { DYNAMODB_ENDPOINT: endpoint, EVENTS_POLL_MS: '100' })
  ]
  const { next } = await openEvents(t, `${await there.listen({ host: '127.0.0.1', port: 0 })}${path}/events`)
  t.match(await next(), { event: 'snapshot' })
  const entered = await here.inject({ method: 'POST', url: `${path}/presence`, body: { userData: { ...bob, more: 1 }, more: 2 } })
  t.strictSame([entered.statusCode, entered.json()], [202, { success: true }])
  const { data, ...event } = (await next()) as { event: string; data: { until: number } }
  t.match(event, { event: 'present', id: /./ })
  t.strictSame({ ...data, until: 0 }, { entityType: 'node', entityId: '1', userData: bob, until: 0 })
  const tag = (await here.inject(path)).headers.etag
  const left = await here.inject({ method: 'DELETE', url: `${path}/presence?uid=8` })
  t.strictSame([left.statusCode, left.json()], [200, { success: true }])
  t.match(await next(), { event: 'present', data: { userData: bob, until: 0 } })
  t.equal((await here.inject(path)).headers.etag, tag, 'the entity tag of the locks is the same')
})

t.test('what is wrong is said, and changes nothing', async (t) => {
  const app = await build(t)
  const long = 'x'.repeat(256)
  const refuse = async (body: object | string | undefined, headers = { 'content-type': 'application/json' }) =>
    (await app.inject({ method: 'POST', url: `${path}/presence`, headers, ...(body !== undefined && { body }) })).statusCode
  for (const body of [
    {},
    undefined,
    '{',
    [],
    { userData: {} },
    { userData: { uid: '' } },
    { userData: { uid: long } },
    { userData: { uid: '8', name: long } },
    { userData: { uid: 1.5 } }
  ]) {
    t.equal(await refuse(body), 400, JSON.stringify(body))
  }
  t.equal(await refuse('userData', { 'content-type': 'text/plain' }), 415)
  t.equal(await refuse({ userData: bob, more: 'x'.repeat(5_000_000) }), 413)
  t.equal((await app.inject({ method: 'POST', url: '/api/cloud/data-state/no-de/1/presence', body: { userData: bob } })).statusCode, 400)
  t.equal((await app.inject({ method: 'GET', url: `${path}/presence` })).statusCode, 405)
  t.match((await app.inject({ method: 'DELETE', url: `${path}/presence` })).json(), {
    success: false,
    message: 'Error: querystring must have uid',
    error: { code: 'BAD_REQUEST' }
  })
  const away = await app.inject({ method: 'POST', url: `${path}/presence`, body: { userData: bob } })
  t.strictSame([away.statusCode, away.json().message], [503, 'Error: Server error'])
})

t.test('who is known looks on under his own name, and an administrator ends it for all', async (t) => {
  const { endpoint } = await startEngine(t, 'dynalite')
  const app = await build(t, { DYNAMODB_ENDPOINT: endpoint, AUTH_ADMINS: '1', ...jwtEnv(t) })
  const [ben, root] = [bearer({ sub: '8', name: 'Ben' }), bearer({ sub: '1', name: 'Root' })]
  const { next } = await openEvents(t, `${await app.listen({ host: '127.0.0.1', port: 0 })}${path}/events`, ben)
  t.match(await next(), { event: 'snapshot' })
  const enter = async (headers: Record<string, string>, body: object = {}) =>
    (await app.inject({ method: 'POST', url: `${path}/presence`, headers, body })).statusCode
  const leave = async (headers: Record<string, string>, query = '') =>
    (await app.inject({ method: 'DELETE', url: `${path}/presence${query}`, headers })).statusCode
  t.strictSame(
    [await enter(ben, { userData: { uid: '9' } }), await enter({}), await enter(ben, { userData: { uid: '8', name: 'Benjamin' } })],
    [403, 401, 202]
  )
  t.match(await next(), { event: 'present', data: { userData: { uid: '8', name: 'Ben' }, until: Number } })
  t.strictSame([await leave(ben, '?uid=1'), await leave(root), await leave(root, '?uid=8')], [403, 200, 200])
  t.match(await next(), { data: { userData: { uid: '8' }, until: 0 } })
  t.strictSame([await enter(ben), await leave(ben)], [202, 200])
})
