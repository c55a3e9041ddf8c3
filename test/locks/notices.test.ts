import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createBus } from '#lib/bus/bus.ts'
import type { FeedOptions } from '#lib/locks/feed-context.ts'
import type { Watcher } from '#lib/locks/watcher.ts'
import { createLocks, type Locks } from '#lib/locks/locks.ts'
import { changesIn, LockNotice, noticeOf } from '#lib/locks/notice.ts'
import type { Entity, LockView } from '#lib/locks/schemas.ts'
import { createHub, cuttable, FOREIGN } from '../bus/fixtures/hostile-wire.ts'
import fc from '../fixtures/property.ts'
import { runs } from '../scope.ts'
import { asClient, memoryStore, type Send } from './fixtures/memory-store.ts'
import { randomOf } from './fixtures/schedule.ts'
import { take } from './fixtures/watching.ts'
import { fakeTime } from '../fixtures/time.ts'
import type { Time } from '#lib/time.ts'

const ada = { uid: '7', name: 'Ada' }
const bob = { uid: '8', name: 'Bob' }
const at = (id: string): Entity => ({ type: 'node', id })
const NEVER = 1_000_000_000

type Hub = ReturnType<typeof createHub>

/** An instance over a table and a bus, and what ends it. */
function open(
  store: Send,
  hub: Pick<Hub, 'wire'>,
  feed: FeedOptions = {},
  { beatMs = NEVER, ...more }: { leaseSeconds?: number; time?: Time; beatMs?: number } = {}
) {
  const bus = createBus({ wire: hub.wire(), beatMs })
  const tell = bus.topic('locks', LockNotice, (notice) => locks.feed.hear(notice))
  const locks = createLocks({
    client: asClient(store),
    table: 'DataState',
    environment: 'test',
    feed: { pollMs: NEVER, noticedPollMs: NEVER, heartbeatMs: NEVER, notices: { isUp: bus.isUp, hearsAll: bus.hearsAll, tell }, ...feed },
    ...more
  })
  bus.onChange(locks.feed.catchUp)
  bus.start()
  function close() {
    locks.feed.close()
    bus.close()
  }
  return { locks, bus, close }
}

function instance(t: Test, ...how: Parameters<typeof open>): Locks {
  const { locks, close } = open(...how)
  t.teardown(close)
  return locks
}

/** A table whose reads are counted. */
function countedStore() {
  const store = memoryStore()
  const counts = { reads: 0 }
  const send: Send['send'] = (command) => {
    if (command.constructor.name === 'QueryCommand') counts.reads++
    return store.send(command)
  }
  return { send, items: store.items, counts }
}

/** A notice of another instance, as its text. */
function told(body: Partial<LockNotice>): string {
  return JSON.stringify({
    v: 1,
    from: 'another',
    topic: 'locks',
    body: { type: 'node', id: '1', began: Date.now(), ended: Date.now(), isSure: true, fields: [], ...body }
  })
}
const lie = { timestamp: 1, userData: { uid: '666', name: 'Nobody' }, version: 'x' }

t.test('what another instance writes is told at once, without a read, and without its text', async (t) => {
  const [store, hub] = [countedStore(), createHub()]
  const [here, there] = [instance(t, store, hub), instance(t, store, hub)]
  const watcher = await here.feed.watch([at('1')])
  await take(watcher)
  store.counts.reads = 0
  await there.acquire(at('1'), { fieldName: 'title', userData: Object.assign({ desk: 'news' }, ada), payload: 'SECRET', timestamp: 5 })
  const locked = (await take(watcher)) as { lock: LockView }
  t.match(locked, {
    event: 'locked',
    lock: {
      entityType: 'node',
      entityId: '1',
      fieldName: 'title',
      timestamp: 5,
      userData: { uid: '7', name: 'Ada', desk: 'news' },
      version: String
    }
  })
  await here.overwrite(at('1'), { fieldName: 'body', userData: bob, payload: 'SECRET' })
  t.match(await take(watcher), { event: 'locked', lock: { fieldName: 'body', userData: bob } }, 'and so is what this one writes')
  t.equal(store.counts.reads, 0)
  t.strictSame((await there.list(at('1'), { fieldName: 'title' })).Items[0]!.version, locked.lock.version)
  await sleep(300)
  await there.release(at('1'), { fieldName: 'title', uid: '7' })
  t.match(await take(watcher), { event: 'released', lock: { fieldName: 'title', userData: ada } })
  t.equal(hub.sent.filter((text) => text.includes('"locks"')).length, 3, 'each goes out once')
  t.notMatch(hub.sent.join('\n'), 'SECRET')
  hub.deliver(told({ id: '2', fields: [{ fieldName: 'title', lock: lie }] }))
  t.strictSame(here.feed.counts(), { watchers: 1, entities: 1 }, 'what nobody watches is nothing')
})

t.test('the state that a notice leads to has the id that the table gives it', async (t) => {
  const [store, hub] = [memoryStore(), createHub()]
  const [here, there] = [instance(t, store, hub, {}, { leaseSeconds: 60 }), instance(t, store, hub, {}, { leaseSeconds: 60 })]
  const watcher = await here.feed.watch([at('1')])
  await take(watcher)
  await there.acquire(at('1'), { fieldName: 'title', userData: { name: 'Ada', uid: 7 }, timestamp: 5 })
  const { id } = (await take(watcher)) as { id: string }
  t.strictSame(await take(await there.feed.watch([at('1')], { lastEventId: id })), { event: 'heartbeat' })
})

t.test('a refused write is told to nobody, and read here', async (t) => {
  const [store, hub] = [countedStore(), createHub()]
  const [here, other] = [
    instance(t, store, hub, { pollMs: 5 }),
    createLocks({ client: asClient(store), table: 'DataState', environment: 'test' })
  ]
  const watcher = await here.feed.watch([at('1')])
  await take(watcher)
  await other.acquire(at('1'), { fieldName: 'title', userData: ada })
  t.match(await here.acquire(at('1'), { fieldName: 'title', userData: bob }), { outcome: 'held' })
  t.match(await take(watcher), { event: 'locked', lock: { userData: ada } }, 'an instance without the bus has written it')
  t.notOk(hub.sent.some((text) => text.includes('"locks"')))
})

t.test('a write without an answer, and a release of many fields, have the others read', async (t) => {
  const [store, hub] = [memoryStore(), createHub()]
  let isLost = false
  const lossy: Send = {
    async send(command) {
      const answer = await store.send(command)
      if (isLost && /Put|Delete/.test(command.constructor.name)) throw Object.assign(new Error('socket hang up'), { name: 'TimeoutError' })
      return answer
    }
  }
  const [here, there] = [instance(t, store, hub, { pollMs: 5 }), instance(t, lossy, hub)]
  const watcher = await here.feed.watch([at('1')])
  await take(watcher)
  isLost = true
  await t.rejects(there.acquire(at('1'), { fieldName: 'title', userData: ada }), { code: 'STORE_UNAVAILABLE' })
  t.match(await take(watcher), { event: 'locked', lock: { fieldName: 'title', userData: ada } })
  isLost = false
  for (let n = 0; n < 11; n++) await there.acquire(at('2'), { fieldName: `f${n}`, userData: ada })
  const other = await here.feed.watch([at('2')])
  t.match(await take(other), { event: 'snapshot', locks: { length: 11 } })
  await there.release(at('2'), { uid: '7' })
  for (let n = 0; n < 11; n++) t.match(await take(other), { event: 'released' })
})

t.test('the end of a lease is told although nobody writes it', async (t) => {
  let time = 1_700_000_000_000
  const [store, hub] = [memoryStore(), createHub()]
  const now = () => time
  const [here, there] = [
    instance(t, store, hub, { pollMs: 5 }, { leaseSeconds: 1, time: fakeTime({ now }) }),
    instance(t, store, hub, {}, { leaseSeconds: 1, time: fakeTime({ now }) })
  ]
  const watcher = await here.feed.watch([at('1')])
  await take(watcher)
  await there.acquire(at('1'), { fieldName: 'title', userData: ada })
  t.match(await take(watcher), { event: 'locked', lock: { expiresAt: 1_700_000_001 } })
  time += 1000
  t.match(await take(watcher), { event: 'released', lock: { fieldName: 'title' } })
})

t.test('a lie is shown until the next read, and decides nothing', async (t) => {
  const [store, hub] = [memoryStore(), createHub()]
  const here = instance(t, store, hub, { noticedPollMs: 200 })
  await here.acquire(at('1'), { fieldName: 'body', userData: bob })
  const watcher = await here.feed.watch([at('1')])
  await take(watcher)
  hub.deliver(told({ fields: [{ fieldName: 'title', lock: lie }] }))
  t.match(await take(watcher), { event: 'locked', lock: { fieldName: 'title', userData: { uid: '666' } } })
  t.match(await here.view([at('1')]), [{ fieldName: 'body' }], 'whoever asks is told what the table says')
  t.match(await take(watcher), { event: 'released', lock: { fieldName: 'title', userData: { uid: '666' } } })
  hub.deliver(told({ fields: [{ fieldName: 'body' }, { fieldName: 'title', lock: lie }] }))
  t.match([await take(watcher), await take(watcher)], [{ event: 'released', lock: { fieldName: 'body' } }, { event: 'locked' }])
  t.match(await here.acquire(at('1'), { fieldName: 'title', userData: ada }), { outcome: 'acquired' }, 'nothing is refused')
  t.match(await here.acquire(at('1'), { fieldName: 'body', userData: ada }), { outcome: 'held' }, 'nor released')
})

t.test('what is old, or comes out of its order, is left to a read', async (t) => {
  const [store, hub] = [countedStore(), createHub()]
  let time = 1_700_000_000_000
  const here = instance(t, store, hub, { pollMs: 5 }, { time: fakeTime({ now: () => time }) })
  const watcher = await here.feed.watch([at('1')])
  await take(watcher)
  const readAt = time
  time += 60_000
  const reads = async () => {
    await sleep(60)
    return store.counts.reads
  }
  store.counts.reads = 0
  hub.deliver(told({ began: readAt - 1000, ended: readAt - 500, fields: [{ fieldName: 'title', lock: lie }] }))
  t.equal(await reads(), 0, 'older than what was read')
  hub.deliver(told({ began: time - 20_000, ended: time - 19_000, fields: [{ fieldName: 'title', lock: lie }] }))
  t.match(await take(watcher), { event: 'locked' })
  t.equal(await reads(), 0, 'in its order')
  for (const [why, began, ended] of [
    ['met another write', time - 19_100, time - 18_000],
    ['in the future', time + 1000, time + 2000]
  ] as const) {
    hub.deliver(told({ began, ended, fields: [{ fieldName: 'title', lock: lie }] }))
    t.match(await take(watcher), { event: 'released' }, `${why}: read`)
    time += 1000
    hub.deliver(told({ began: time, ended: time, fields: [{ fieldName: 'title', lock: lie }] }))
    t.match(await take(watcher), { event: 'locked' })
  }
  hub.deliver(told({ began: time - 30_000, ended: time - 100, fields: [{ fieldName: 'title' }, { fieldName: 'body', lock: lie }] }))
  t.match(await take(watcher), { event: 'locked', lock: { fieldName: 'body' } }, 'the older one of two states is not shown')
  t.match(
    [await take(watcher), await take(watcher)],
    [
      { event: 'released', lock: { fieldName: 'body' } },
      { event: 'released', lock: { fieldName: 'title' } }
    ]
  )
})

t.test('however many notices come, an entity is read no more often than without a bus, and holds no more than so many', async (t) => {
  const [store, hub] = [countedStore(), createHub()]
  const here = instance(t, store, hub, { pollMs: 200 })
  const watcher = await here.feed.watch([at('1')])
  await take(watcher)
  store.counts.reads = 0
  const started = performance.now()
  for (let n = 0; n < 150; n++) {
    hub.deliver(told({ isSure: false }))
    hub.deliver(told({ fields: Array.from({ length: 10 }, (_, index) => ({ fieldName: `f${n}-${index}`, lock: lie })) }))
    await sleep(5)
  }
  const most = (performance.now() - started) / 200 + 1
  t.ok(store.counts.reads <= most, `${store.counts.reads} reads, at most ${most}`)
  for (const text of FOREIGN) hub.deliver(text)
})

t.test('a notice while the first read is under way is not lost', async (t) => {
  const [store, hub] = [memoryStore(), createHub()]
  const read = Promise.withResolvers<void>()
  const slow: Send = {
    async send(command) {
      const answer = await store.send(command)
      if (command.constructor.name === 'QueryCommand') await read.promise
      return answer
    }
  }
  const [here, there] = [instance(t, slow, hub), instance(t, store, hub)]
  const watching = here.feed.watch([at('1')])
  await sleep(5)
  await there.acquire(at('1'), { fieldName: 'title', userData: ada })
  read.resolve()
  t.match(await take(await watching), { event: 'snapshot', locks: [{ fieldName: 'title', userData: ada }] })
})

t.test('when the bus goes, and when it comes back, everything is read once', async (t) => {
  const [store, hub] = [countedStore(), createHub()]
  const [here, there] = [instance(t, store, hub, { pollMs: 40 }), instance(t, store, hub)]
  const watcher = await here.feed.watch([at('1'), at('2'), at('3')])
  await take(watcher)
  t.equal(store.counts.reads, 3)
  hub.cut(true)
  await there.acquire(at('1'), { fieldName: 'title', userData: ada })
  t.match(await take(watcher), { event: 'locked' }, 'without a bus the table is read as often as ever')
  await there.acquire(at('2'), { fieldName: 'title', userData: ada })
  hub.cut(false)
  t.match(await take(watcher), { event: 'locked', lock: { entityId: '2' } }, 'what was lost is found')
  for (let before = -1; before < store.counts.reads;) {
    before = store.counts.reads
    await sleep(200)
  }
  await there.acquire(at('3'), { fieldName: 'title', userData: ada })
  t.match(await take(watcher), { event: 'locked', lock: { entityId: '3' } }, 'and then notices tell')
})

t.test('a notice says what a write has left, without what it need not', async (t) => {
  const view = (fieldName: string) => ({ entityType: 'node', entityId: '1', fieldName, ...lie })
  const when = { began: 1.5, ended: 2.5, isSure: true }
  const notice = noticeOf(
    { ...at('1'), left: 1 } as Entity,
    when,
    new Map([
      ['a', view('a')],
      ['b', undefined]
    ])
  )
  t.strictSame(notice, {
    type: 'node',
    id: '1',
    began: 1,
    ended: 2,
    isSure: true,
    fields: [{ fieldName: 'a', lock: lie }, { fieldName: 'b' }]
  })
  t.strictSame(
    changesIn(notice),
    new Map<string, unknown>([
      ['a', view('a')],
      ['b', undefined]
    ])
  )
  t.throws(() => changesIn({ ...notice, fields: [{ fieldName: 'a', lock: { ...lie, userData: { uid: 'x'.repeat(9000) } } }] }), RangeError)
  t.notOk('payload' in changesIn({ ...notice, fields: [{ fieldName: 'a', lock: { ...lie, payload: 'SECRET' } as never }] }).get('a')!)
})

t.test('a notice fits into a message, whatever the names and however much a user says of himself', async (t) => {
  const hub = createHub()
  const bus = createBus({ wire: hub.wire(), beatMs: NEVER })
  t.teardown(bus.close)
  const tell = bus.topic('locks', LockNotice, () => {})
  bus.start()
  const entity = { type: 'x'.repeat(64), id: ':'.repeat(128) }
  const name = (n: number) => '\u0000'.repeat(254) + n
  const when = { began: 8e15, ended: 8e15, isSure: true }
  const large = { entityType: 'x', entityId: 'x', ...lie, fieldName: name(0), userData: { uid: '\u0001'.repeat(1363) } }
  t.equal(tell(noticeOf(entity, when, new Map([[name(0), large]]))), true)
  t.equal(tell(noticeOf(entity, when, new Map(Array.from({ length: 10 }, (_, n) => [name(n), undefined])))), true)
  t.match(noticeOf(entity, when, new Map(Array.from({ length: 11 }, (_, n) => [name(n), undefined]))), { isSure: false, fields: [] })
})

t.test('whoever takes in all events knows the locks at last, whatever the bus loses, repeats, delays or invents', async () => {
  const step = fc.record({
    what: fc.constantFrom(
      'acquire',
      'acquire',
      'overwrite',
      'overwrite',
      'release',
      'release',
      'listen',
      'reconnect',
      'restart',
      'cut',
      'lie'
    ),
    fieldName: fc.constantFrom('a', 'b', 'c'),
    id: fc.constantFrom('1', '2'),
    uid: fc.constantFrom('7', '8'),
    index: fc.nat(1)
  })
  const share = fc.constantFrom(0, 0.3, 0.9)
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 30 }),
      fc.record({ lost: share, twice: share, late: share, foreign: share }),
      fc.integer(),
      async (steps, faults, seed) => {
        const store = memoryStore()
        const hub = createHub({ ...faults, random: randomOf(seed) })
        const create = () => open(store, hub, { pollMs: 1, noticedPollMs: 20 })
        const instances = [create(), create()]
        const closed: Array<() => void> = []
        const entities = [at('1'), at('2')]
        let known = new Map<string, LockView>()
        let lastEventId: string | undefined
        const nameOf = (lock: LockView) => `${lock.entityId} ${lock.fieldName}`
        let watcher = await instances[0]!.locks.feed.watch(entities)
        /** Takes events in until the watcher leaves. */
        async function listen(from: Watcher): Promise<void> {
          const batch = await from.next()
          if (from !== watcher || !batch) return
          for (const event of batch) {
            if (event.event === 'snapshot') known = new Map(event.locks.map((lock) => [nameOf(lock), lock]))
            else if (event.event === 'locked') known.set(nameOf(event.lock), event.lock)
            else if (event.event === 'released') known.delete(nameOf(event.lock))
            if ('id' in event) lastEventId = event.id
          }
          return listen(from)
        }
        let listening = listen(watcher)
        const present = async () => JSON.stringify((await instances[0]!.locks.view(entities)).map((lock) => [nameOf(lock), lock]).sort())
        const isKnown = async () => JSON.stringify([...known].sort()) === (await present())
        try {
          for (const { what, fieldName, id, uid, index } of steps) {
            const { locks } = instances[index]!
            if (what === 'listen') await sleep(1)
            else if (what === 'release') await locks.release(at(id), { uid })
            else if (what === 'acquire' || what === 'overwrite') await locks[what](at(id), { fieldName, userData: { uid } })
            else if (what === 'cut') hub.cut(index === 0)
            else if (what === 'lie') hub.deliver(told({ id, fields: [{ fieldName, ...(index === 0 && { lock: lie }) }] }))
            else {
              watcher.leave()
              await listening
              if (what === 'restart') {
                closed.push(instances[index]!.close)
                instances[index] = create()
              }
              watcher = await instances[index]!.locks.feed.watch(entities, { lastEventId })
              listening = listen(watcher)
            }
          }
          // What came late on the bus may be shown once more, until the next read.
          let held = 0
          for (const end = performance.now() + 9000; performance.now() < end && held < 3;) {
            held = (await isKnown()) ? held + 1 : 0
            await sleep(10)
          }
          return held === 3
        } finally {
          hub.close()
          for (const close of [...closed, ...instances.map(({ close }) => close)]) close()
          await listening
        }
      }
    ),
    { numRuns: runs(100), timeout: 12_000 }
  )
})

t.test('while another instance is cut off from the bus, its writes are found as without one', async (t) => {
  const [store, hub] = [memoryStore(), createHub()]
  const { wire, cut } = cuttable(hub.wire())
  const beats = { beatMs: 30 }
  const { locks: here, bus, close } = open(store, hub, { pollMs: 20, noticedPollMs: NEVER, readsPerSecond: 1000 }, beats)
  t.teardown(close)
  const there = instance(t, store, { wire: () => wire }, {}, beats)
  const watcher = await here.feed.watch([at('1')])
  await take(watcher)
  await sleep(300)
  cut(true)
  await until(() => bus.silent() === 1)
  t.ok(bus.isUp())
  for (const fieldName of ['title', 'body', 'lead']) {
    await sleep(50)
    await there.acquire(at('1'), { fieldName, userData: ada })
    t.match(await take(watcher), { event: 'locked', lock: { fieldName } })
  }
})

async function until(isTrue: () => boolean): Promise<void> {
  for (const end = performance.now() + 10_000; !isTrue() && performance.now() < end;) await sleep(2)
}
