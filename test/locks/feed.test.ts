import { mock } from 'node:test'
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { Failure } from '#lib/errors.ts'
import type { FeedOptions } from '#lib/locks/feed-context.ts'
import { withoutOperations, type Batch } from '#lib/locks/feed-events.ts'
import { createFeed } from '#lib/locks/feed.ts'
import { createLocks, type Locks } from '#lib/locks/locks.ts'
import type { Entity, LockRecord, LockView } from '#lib/locks/schemas.ts'
import { createWatched } from '#lib/locks/watched.ts'
import type { Watcher } from '#lib/locks/watcher.ts'
import fc from '../fixtures/property.ts'
import { runs } from '../scope.ts'
import { asClient, memoryStore, type Send } from './fixtures/memory-store.ts'
import { randomOf, scheduled } from './fixtures/schedule.ts'
import { nextOf, take } from './fixtures/watching.ts'
import { fakeTime } from '../fixtures/time.ts'
import type { Time } from '#lib/time.ts'

const ada = { uid: '7', name: 'Ada' }
const bob = { uid: '8', name: 'Bob' }
const at = (id: string): Entity => ({ type: 'node', id })
const NEVER = 1_000_000_000

/** An instance of the service's locks over a table; its watchers end with the test. */
function instance(t: Test, store: Send, feed: FeedOptions = {}, more: { leaseSeconds?: number; time?: Time } = {}): Locks {
  const locks = createLocks({
    client: asClient(store),
    table: 'DataState',
    environment: 'test',
    feed: { pollMs: NEVER, restMs: 0, heartbeatMs: NEVER, ...feed },
    ...more
  })
  t.teardown(() => locks.feed.close())
  return locks
}

/** Whether there is nothing to be told within a while. It leaves a call of next() behind, so the watcher is not used afterwards. */
async function isSilent(watcher: Watcher, ms = 60): Promise<boolean> {
  const silence = sleep(ms, 'silence')
  return (await Promise.race([nextOf(watcher), silence])) === 'silence'
}

t.test('a watcher gets a snapshot, then who locks and who lets go, never a payload', async (t) => {
  const locks = instance(t, memoryStore())
  await locks.acquire(at('1'), { fieldName: 'title', userData: Object.assign({ desk: 'news' }, ada), payload: 'SECRET', timestamp: 5 })
  const watcher = await locks.feed.watch([at('1')])
  const events = [await take(watcher)]
  await locks.acquire(at('1'), { fieldName: 'body', userData: bob, payload: 'SECRET', timestamp: 6 })
  events.push(await take(watcher))
  await locks.overwrite(at('1'), { fieldName: 'title', userData: bob, payload: 'SECRET', timestamp: 7 })
  events.push(await take(watcher))
  await locks.release(at('1'), { fieldName: 'body', uid: '8' })
  events.push(await take(watcher))
  const title = { entityType: 'node', entityId: '1', fieldName: 'title', timestamp: 5, userData: { ...ada, desk: 'news' }, version: String }
  t.match(events, [
    { event: 'snapshot', id: String, entities: 1, locks: [title] },
    {
      event: 'locked',
      id: String,
      lock: { entityType: 'node', entityId: '1', fieldName: 'body', timestamp: 6, userData: bob, version: String }
    },
    { event: 'locked', id: String, lock: { fieldName: 'title', timestamp: 7, userData: bob } },
    { event: 'released', id: String, lock: { fieldName: 'body', timestamp: 6, userData: bob } }
  ])
  t.notMatch(JSON.stringify(events), 'SECRET')
  t.equal(new Set(events.map((event) => (event as { id: string }).id)).size, 4, 'every state has an id of its own')
  t.ok(await isSilent(watcher), 'and nothing else')
})

t.test('locks of other entities are not told', async (t) => {
  const locks = instance(t, memoryStore())
  const watcher = await locks.feed.watch([at('1')])
  await take(watcher)
  await locks.acquire(at('10'), { fieldName: 'title', userData: ada })
  await locks.acquire({ type: 'term', id: '1' }, { fieldName: 'title', userData: ada })
  t.ok(await isSilent(watcher))
})

t.test('a save is told to whoever watches the edition, on its board too, and changes no state', async (t) => {
  const store = memoryStore()
  const mayRead = Promise.withResolvers<void>()
  const locks = instance(t, {
    send: async (command) => {
      if (command.input['ExpressionAttributeValues']?.[':key'] === 'test-node-3') await mayRead.promise
      return store.send(command)
    }
  })
  const [alone, board, other] = await Promise.all([[at('1')], [at('1'), at('2')], [at('2')]].map((entities) => locks.feed.watch(entities)))
  for (const watcher of [alone!, board!, other!]) t.match(await take(watcher), { event: 'snapshot' })
  const saved = { entityType: 'node', entityId: '1', etag: '"a"', uid: '7', fields: ['title'] }
  locks.feed.saved(saved)
  for (const watcher of [alone!, board!]) t.strictSame(await take(watcher), { event: 'saved', saved })
  await locks.acquire(at('2'), { fieldName: 'title', userData: ada })
  for (const watcher of [board!, other!]) t.match(await take(watcher), { event: 'locked', id: /./ })

  const late = locks.feed.watch([at('3')])
  locks.feed.saved({ ...saved, entityId: '3' })
  locks.feed.saved({ ...saved, entityId: '4' })
  mayRead.resolve()
  t.match(await take(await late), { event: 'snapshot' }, 'whoever is told all that there is needs no word of what came before')
})

t.test('a watcher that turns to other entities is told of saves meanwhile, and then the new state', async (t) => {
  const store = memoryStore()
  const mayRead = Promise.withResolvers<void>()
  const locks = instance(t, {
    send: async (command) => {
      if (command.input['ExpressionAttributeValues']?.[':key'] === 'test-node-3') await mayRead.promise
      return store.send(command)
    }
  })
  const [watcher, other] = [await locks.feed.watch([at('1'), at('2')]), await locks.feed.watch([at('1')])]
  for (const each of [watcher, other]) t.match(await take(each), { event: 'snapshot' })
  const turned = watcher.turnTo([at('1'), at('3')])
  const saved = { entityType: 'node', entityId: '1', etag: '"a"', uid: '7', fields: ['articles'] }
  locks.feed.saved(saved)
  await locks.acquire(at('2'), { fieldName: 'title', userData: ada })
  mayRead.resolve()
  await turned
  t.strictSame(await take(watcher), { event: 'saved', saved })
  t.match(await take(watcher), { event: 'snapshot', entities: 2, locks: [] }, 'what it has turned from is told no more')
  await locks.acquire(at('2'), { fieldName: 'body', userData: ada })
  await locks.acquire(at('3'), { fieldName: 'title', userData: ada })
  t.match(await take(watcher), { event: 'locked', lock: { entityId: '3' } })
  t.strictSame(locks.feed.counts(), { watchers: 2, entities: 2 })
})

t.test('a watcher that leaves or fails while it turns to other entities leaves nothing behind', async (t) => {
  const large = new Failure('TOO_LARGE', 'too many')
  const mayRead = Promise.withResolvers<void>()
  const feed = createFeed({
    pollMs: NEVER,
    heartbeatMs: NEVER,
    read: async ({ id }) => {
      if (id === '2') throw large
      if (id === '3') await mayRead.promise
      return []
    }
  })
  t.teardown(() => feed.close())
  const [failing, leaving] = [await feed.watch([at('1')]), await feed.watch([at('1')])]
  await t.rejects(failing.turnTo([at('1'), at('2')]), { code: 'TOO_LARGE' })
  t.equal(await failing.next(), undefined)
  const turned = leaving.turnTo([at('1'), at('3')])
  leaving.leave()
  mayRead.resolve()
  await turned
  t.equal(await leaving.next(), undefined)
  t.strictSame(feed.counts(), { watchers: 0, entities: 0 })
  feed.close()
  await (await feed.watch([at('1')])).turnTo([at('2')])
  t.strictSame(feed.counts(), { watchers: 0, entities: 0 })
})

t.test('what another instance writes is found within the interval', async (t) => {
  const store = memoryStore()
  const [here, there] = [instance(t, store, { pollMs: 20 }), instance(t, store)]
  const watcher = await here.feed.watch([at('1')])
  await take(watcher)
  await there.acquire(at('1'), { fieldName: 'title', userData: ada })
  t.match(await take(watcher), { event: 'locked', lock: { userData: ada } })
  await there.release(at('1'), { uid: '7' })
  t.match(await take(watcher), { event: 'released', lock: { userData: ada } })
})

t.test('the end of a lease is told as a release', async (t) => {
  let time = 1_700_000_000_000
  const locks = instance(t, memoryStore(), { pollMs: 10 }, { leaseSeconds: 10, time: fakeTime({ now: () => time }) })
  await locks.acquire(at('1'), { fieldName: 'title', userData: ada })
  const watcher = await locks.feed.watch([at('1')])
  t.match(await take(watcher), { locks: [{ expiresAt: 1_700_000_010 }] })
  time += 10_000
  t.match(await take(watcher), { event: 'released', lock: { fieldName: 'title', expiresAt: 1_700_000_010 } })
})

t.test('a renewal is told with its new version and end', async (t) => {
  let time = 1_700_000_000_000
  const locks = instance(t, memoryStore(), {}, { leaseSeconds: 10, time: fakeTime({ now: () => time }) })
  await locks.acquire(at('1'), { fieldName: 'title', userData: ada })
  const watcher = await locks.feed.watch([at('1')])
  await take(watcher)
  time += 5000
  const { version } = (await locks.acquire(at('1'), { fieldName: 'title', userData: ada })) as { version: string }
  t.match(await take(watcher), { event: 'locked', lock: { userData: ada, version, expiresAt: 1_700_000_015 } })
})

t.test('several entities are one stream, in which only the last event of a change names the new state', async (t) => {
  const reads = new Map<string, LockRecord[]>()
  const feed = createFeed({ read: async ({ id }) => reads.get(id) ?? [], pollMs: 10, heartbeatMs: NEVER })
  t.teardown(feed.close)
  const record = (fieldName: string, version: string) => ({ fieldName, timestamp: 1, userData: ada, version }) as LockRecord
  reads.set('2', [record('a', '1'), record('b', '1')])
  const watcher = await feed.watch([at('1'), at('2')])
  t.match(await take(watcher), {
    event: 'snapshot',
    entities: 2,
    locks: [
      { entityId: '2', fieldName: 'a' },
      { entityId: '2', fieldName: 'b' }
    ]
  })
  reads.set('2', [record('b', '2'), record('c', '1')])
  const events = [await take(watcher), await take(watcher), await take(watcher)]
  t.match(events, [
    { event: 'released', lock: { entityId: '2', fieldName: 'a' } },
    { event: 'locked', lock: { entityId: '2', fieldName: 'b', version: '2' } },
    { event: 'locked', id: String, lock: { entityId: '2', fieldName: 'c' } }
  ])
  t.strictSame(
    events.map((event) => (event as { id: string }).id === ''),
    [true, true, false],
    'who leaves in the midst of a change has no state to come back to'
  )
})

t.test('records of others, without a version, are told apart by owner, time and end', async (t) => {
  const holder = { userData: { uid: '7' }, timestamp: 1 }
  let found = [{ fieldName: 'title', ...holder }] as LockRecord[]
  const feed = createFeed({ read: async () => found, pollMs: 5, heartbeatMs: NEVER })
  t.teardown(feed.close)
  const watcher = await feed.watch([at('1')])
  t.match(await take(watcher), { locks: [{ fieldName: 'title', userData: { uid: '7' } }] })
  for (const change of [
    { ...holder, timestamp: 2 },
    { ...holder, userData: { uid: '8' } },
    { ...holder, expiresAt: 9 },
    { timestamp: 3 }
  ]) {
    found = [{ fieldName: 'title', ...change }] as LockRecord[]
    t.match(await take(watcher), { event: 'locked', lock: change })
  }
  found = [{ timestamp: 3, fieldName: 'title' }] as LockRecord[]
  t.ok(await isSilent(watcher), 'the order of members says nothing')
})

t.test('Last-Event-ID', async (t) => {
  const store = memoryStore()
  const [here, there] = [instance(t, store), instance(t, store)]
  await here.acquire(at('1'), { fieldName: 'title', userData: ada })
  const watcher = await here.feed.watch([at('1')])
  const { id } = (await take(watcher)) as { id: string }

  t.test('with the present state there is no snapshot but a sign of life, at another instance too', async (t) => {
    const resumed = await there.feed.watch([at('1')], { lastEventId: id })
    t.strictSame(await take(resumed), { event: 'heartbeat' })
    await there.acquire(at('1'), { fieldName: 'body', userData: bob })
    t.match(await take(resumed), { event: 'locked', lock: { fieldName: 'body' } })
  })

  t.test('with a former state, or none at all, there is a snapshot', async (t) => {
    for (const lastEventId of [id, '', 'nonsense']) {
      t.match(await take(await there.feed.watch([at('1')], { lastEventId })), {
        event: 'snapshot',
        locks: [{ fieldName: 'body' }, { fieldName: 'title' }]
      })
    }
  })

  t.test('the state of other entities is not the same state', async (t) => {
    const empty = (await take(await here.feed.watch([at('8')]))) as { id: string }
    t.match(await take(await here.feed.watch([at('9')], { lastEventId: empty.id })), { event: 'snapshot', locks: [] })
    t.match(await take(await here.feed.watch([at('8'), at('9')], { lastEventId: empty.id })), { event: 'snapshot' })
  })
})

t.test('all who watch an entity share its reads, and the last one to leave ends them', async (t) => {
  let reads = 0
  const feed = createFeed({
    read: async () => {
      reads++
      await sleep(5)
      return []
    },
    pollMs: 20,
    heartbeatMs: NEVER
  })
  t.teardown(feed.close)
  const watchers = await Promise.all(Array.from({ length: 50 }, () => feed.watch([at('1')])))
  t.ok(reads <= 2, `${reads} reads for 50 who come at once`)
  t.strictSame(feed.counts(), { watchers: 50, entities: 1 })
  reads = 0
  const started = performance.now()
  await sleep(200)
  for (const count = () => reads; count() < 2;) await sleep(5)
  const most = (performance.now() - started) / 20 + 1
  t.ok(reads <= most, `${reads} reads, at most ${most}`)
  for (const watcher of watchers.slice(1)) watcher.leave()
  t.strictSame(feed.counts(), { watchers: 1, entities: 1 })
  watchers[0]!.leave()
  watchers[0]!.leave()
  t.strictSame(feed.counts(), { watchers: 0, entities: 0 })
  await sleep(30)
  reads = 0
  await sleep(60)
  t.equal(reads, 0)
})

t.test('a write while a read is under way is followed by another read', async (t) => {
  let found: LockRecord[] = []
  let reads = 0
  const feed = createFeed({
    read: async () => {
      reads++
      const seen = found
      await sleep(30)
      return seen
    },
    pollMs: NEVER,
    restMs: 0,
    heartbeatMs: NEVER
  })
  t.teardown(feed.close)
  const watcher = await feed.watch([at('1')])
  await take(watcher)
  feed.writing(at('1'))(new Map())
  await sleep(5)
  found = [{ fieldName: 'title', timestamp: 1, userData: ada, version: 'v' }] as LockRecord[]
  for (let n = 0; n < 10; n++) feed.writing(at('1'))(new Map())
  t.match(await take(watcher), { event: 'locked' })
  t.equal(reads, 3, 'the first, the one that was too early, and one for ten writes')
  feed.writing(at('2'))(new Map())
  t.equal(reads, 3, 'what nobody watches is not read')
})

t.test('however many writes an instance makes, an entity is read once an interval, and each is told at once', async (t) => {
  const store = memoryStore()
  const reads: number[] = []
  const locks = instance(
    t,
    {
      send: async (command) => {
        if (command.constructor.name === 'QueryCommand') reads.push(performance.now())
        return store.send(command)
      }
    },
    { restMs: 300, pollMs: 300 }
  )
  const watcher = await locks.feed.watch([at('1')])
  await take(watcher)
  const started = performance.now()
  for (let n = 0; n < 100; n++) {
    await locks.acquire(at('1'), { fieldName: 'title', userData: ada, timestamp: n })
    t.match(await take(watcher), { event: 'locked', lock: { timestamp: n } })
  }
  const most = (performance.now() - started) / 300 + 2
  t.ok(reads.length <= most, `${reads.length} reads, at most ${most}`)
})

t.test('writes of several fields at the same time are each told at once', async (t) => {
  const store = memoryStore()
  const answered = Promise.withResolvers<void>()
  let puts = 0
  const locks = instance(
    t,
    {
      async send(command) {
        const answer = await store.send(command)
        if (command.constructor.name === 'PutCommand') {
          if (++puts === 3) answered.resolve()
          await answered.promise
        }
        return answer
      }
    },
    { restMs: NEVER }
  )
  const watcher = await locks.feed.watch([at('1')])
  await take(watcher)
  await Promise.all(['a', 'b', 'c'].map((fieldName) => locks.acquire(at('1'), { fieldName, userData: ada })))
  const fields = []
  for (let n = 0; n < 3; n++) fields.push(((await take(watcher)) as { lock: LockView }).lock.fieldName)
  t.strictSame(fields.sort(), ['a', 'b', 'c'])
})

t.test('a write that ends after somebody has begun to watch is looked for', async (t) => {
  let found: LockRecord[] = []
  let reads = 0
  const feed = createFeed({
    read: async () => {
      reads++
      return found
    },
    pollMs: NEVER,
    restMs: 0,
    heartbeatMs: NEVER
  })
  t.teardown(feed.close)
  const written = feed.writing(at('1'))
  const unwatched = feed.writing(at('2'))
  const watcher = await feed.watch([at('1')])
  await take(watcher)
  found = [{ fieldName: 'title', timestamp: 1, userData: ada, version: 'v' }] as LockRecord[]
  written(new Map())
  unwatched(new Map())
  t.match(await take(watcher), { event: 'locked' })
  const late = feed.writing(at('1'))
  watcher.leave()
  late(new Map())
  t.equal(reads, 2)
})

t.test('what an instance writes is told at once, and no read that is older takes it back', async (t) => {
  const store = memoryStore()
  const slow: { until?: Promise<void> } = {}
  const locks = instance(t, {
    async send(command) {
      const answer = await store.send(command)
      if (command.constructor.name === 'QueryCommand') await slow.until
      return answer
    }
  })
  const watcher = await locks.feed.watch([at('1')])
  await take(watcher)
  const reading = Promise.withResolvers<void>()
  slow.until = reading.promise
  await locks.acquire(at('1'), { fieldName: 'title', userData: ada, timestamp: 5 })
  const told = await take(watcher)
  await locks.acquire(at('1'), { fieldName: 'body', userData: ada, timestamp: 6 })
  t.match(
    [told, await take(watcher)],
    [
      { event: 'locked', lock: { fieldName: 'title', timestamp: 5 } },
      { event: 'locked', lock: { fieldName: 'body' } }
    ]
  )
  await locks.overwrite(at('1'), { fieldName: 'body', userData: bob })
  t.match(await take(watcher), { event: 'locked', lock: { fieldName: 'body', userData: bob } })
  await locks.release(at('1'), { fieldName: 'title' })
  const { event, id } = (await take(watcher)) as { event: string; id: string }
  t.equal(event, 'released')
  reading.resolve()
  t.ok(await isSilent(watcher))
  t.match(await take(await locks.feed.watch([at('1')], { lastEventId: id })), { event: 'heartbeat' }, 'the same state as the table has')
})

t.test('whatever overtakes whatever on its way, all states of a field are told in their order, and the last one is told', async () => {
  const answer = { constructor: { name: 'answer' }, input: {} }
  const write = fc.record({
    what: fc.constantFrom('acquire', 'overwrite', 'release'),
    fieldName: fc.constantFrom('a', 'b'),
    uid: fc.constantFrom('7', '8'),
    index: fc.nat(1),
    turns: fc.nat(4)
  })
  await fc.assert(
    fc.asyncProperty(fc.array(write, { maxLength: 12 }), fc.integer(), async (writes, seed) => {
      const store = memoryStore()
      const states = new Map<string, unknown[]>([
        ['a', [undefined]],
        ['b', [undefined]]
      ])
      const schedule = scheduled(
        {
          async send(command) {
            if (command === answer) return {}
            try {
              return await store.send(command)
            } finally {
              for (const [fieldName, seen] of states) {
                // A tombstone, which has never held, is no state.
                const version = [...store.items.values()].find((item) => item['fieldName'] === fieldName && item['expiresAt'] !== 0)?.[
                  'version'
                ]
                if (seen.at(-1) !== version) seen.push(version)
              }
            }
          }
        },
        randomOf(seed)
      )
      const client = asClient({
        async send(command) {
          try {
            return await schedule.of('').send(command)
          } finally {
            await schedule.of('').send(answer)
          }
        }
      })
      const instances = [0, 1].map(() =>
        createLocks({
          client,
          table: 'DataState',
          environment: 'test',
          feed: { pollMs: NEVER, restMs: 0, heartbeatMs: NEVER },
          time: fakeTime({ wait: async () => {} })
        })
      )
      const told = new Map<string, unknown[]>([
        ['a', [undefined]],
        ['b', [undefined]]
      ])
      const watching = instances[0]!.feed.watch([at('1')])
      await schedule.run()
      const watcher = await watching
      const listening = (async () => {
        for (let event = await nextOf(watcher); event; event = await nextOf(watcher)) {
          if (event.event === 'snapshot') {
            for (const [field, versions] of told) versions.push(event.locks.find(({ fieldName }) => fieldName === field)?.version)
          } else if (event.event === 'locked') told.get(event.lock.fieldName)!.push(event.lock.version)
          else if (event.event === 'released') told.get(event.lock.fieldName)!.push(undefined)
        }
      })()
      const done = writes.map(async ({ what, fieldName, uid, index, turns }) => {
        for (let turn = 0; turn < 3 * turns; turn++) await setImmediate()
        if (what === 'release') await instances[index]!.release(at('1'), { fieldName, uid })
        else await instances[index]![what as 'acquire' | 'overwrite'](at('1'), { fieldName, userData: { uid } })
      })
      const all = Promise.all(done)
      while ((await Promise.race([all, schedule.run()])) === undefined);
      instances[0]!.acquire(at('1'), { fieldName: 'a', userData: { uid: '9' } }).catch(() => {})
      await schedule.run()
      // Watchers are woken in a turn of their own.
      await setImmediate()
      for (const locks of instances) locks.feed.close()
      await listening
      for (const [fieldName, seen] of states) {
        let at = 0
        for (const version of told.get(fieldName)!) {
          at = seen.indexOf(version, at)
          if (at < 0) return false
        }
        if (told.get(fieldName)!.at(-1) !== seen.at(-1)) return false
      }
      return true
    }),
    { numRuns: runs(300), timeout: 10_000 }
  )
})

t.test('a watcher that is slow skips states, but not the last one', async (t) => {
  const locks = instance(t, memoryStore())
  const watcher = await locks.feed.watch([at('1')])
  await take(watcher)
  for (let n = 0; n < 20; n++) await locks.overwrite(at('1'), { fieldName: 'title', userData: { uid: String(n) } })
  await sleep(20)
  t.match(await take(watcher), { event: 'snapshot', locks: [{ userData: { uid: '19' } }] }, 'as they are now')
  t.ok(await isSilent(watcher))
})

t.test('a heartbeat comes when it is time', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const locks = instance(t, memoryStore(), { heartbeatMs: 40_000 })
  const watcher = await locks.feed.watch([at('1')])
  await take(watcher)
  const beat = nextOf(watcher)
  mock.timers.tick(39_999)
  t.equal(await Promise.race([beat, setImmediate('silence')]), 'silence')
  mock.timers.tick(1)
  t.strictSame(await beat, { event: 'heartbeat' })
})

t.test('a heartbeat comes even if there are other events', async (t) => {
  const locks = instance(t, memoryStore(), { heartbeatMs: 40 })
  const watcher = await locks.feed.watch([at('1')])
  await take(watcher)
  const seen = new Set<string>()
  for (const until = performance.now() + 200; performance.now() < until || seen.size < 2;) {
    await locks.acquire(at('1'), { fieldName: 'title', userData: ada })
    seen.add((await take(watcher)).event)
  }
  t.strictSame(seen, new Set(['locked', 'heartbeat']))
})

t.test('beyond the limit a watcher is refused, until another has left', async (t) => {
  const locks = instance(t, memoryStore(), { watchersMax: 2 })
  const first = await locks.feed.watch([at('1')])
  await locks.feed.watch([at('2')])
  await t.rejects(locks.feed.watch([at('1')]), {
    code: 'TOO_MANY_WATCHERS',
    statusCode: 503,
    headers: { 'retry-after': '30' },
    message: 'This instance serves 2 event streams, the most it allows; try again later, or poll'
  })
  first.leave()
  t.match(await take(await locks.feed.watch([at('1')])), { event: 'snapshot' })
})

t.test('more locks than are read refuse a new watcher, and leave nothing behind', async (t) => {
  const large = new Failure('TOO_LARGE', 'too many')
  const feed = createFeed({
    read: async ({ id }) => {
      if (id === '2') throw large
      return []
    },
    pollMs: 5
  })
  await t.rejects(feed.watch([at('1'), at('2'), at('3')]), { code: 'TOO_LARGE' })
  t.strictSame(feed.counts(), { watchers: 0, entities: 0 })
})

t.test('what nobody has watched before is read for a watcher that comes while the store is away', async (t) => {
  let isAway = true
  const feed = createFeed({
    read: async () => {
      if (isAway) throw new Failure('STORE_UNAVAILABLE', 'away')
      return []
    },
    pollMs: 20,
    restMs: 0,
    heartbeatMs: NEVER
  })
  t.teardown(feed.close)
  t.strictSame(await take(await feed.watch([at('1')])), { event: 'stale' })
  const late = await feed.watch([at('1'), at('2')])
  t.strictSame(await take(late), { event: 'stale' })
  isAway = false
  t.strictSame(await take(late), { event: 'live' })
  t.match(await take(late), { event: 'snapshot', locks: [], entities: 2 })
})

t.test('a store that is away makes a new watcher stale, and live when it is back', async (t) => {
  let isAway = true
  const warnings: Error[] = []
  const feed = createFeed({
    read: async ({ id }) => {
      if (isAway && id === '2') throw new Failure('STORE_UNAVAILABLE', 'away')
      return []
    },
    pollMs: NEVER,
    restMs: 0,
    heartbeatMs: NEVER,
    warn: (failure) => warnings.push(failure)
  })
  t.teardown(feed.close)
  const watcher = await feed.watch([at('1'), at('2')], { lastEventId: 'any' })
  t.strictSame(await take(watcher), { event: 'stale' })
  t.strictSame(await take(await feed.watch([at('1'), at('2')])), { event: 'stale' }, 'whoever comes meanwhile too')
  t.match(warnings, [{ code: 'STORE_UNAVAILABLE' }])
  feed.writing(at('2'))(new Map())
  t.ok(
    await isSilent(
      await feed.watch([at('2')]).then(async (other) => {
        await take(other)
        return other
      })
    ),
    'it is told once'
  )
  isAway = false
  feed.writing(at('2'))(new Map())
  t.strictSame(await take(watcher), { event: 'live' })
  t.match(await take(watcher), { event: 'snapshot', id: String, locks: [], entities: 2 })
})

t.test('while the store is away expired locks are released, and no snapshot shows them', async (t) => {
  let time = 1_700_000_000_000
  let isAway = false
  const records = [
    ['a', 1_700_000_001],
    ['b', 1_700_000_002],
    ['c', undefined]
  ].map(([fieldName, expiresAt]) => ({
    fieldName,
    timestamp: 1,
    userData: ada,
    version: fieldName,
    ...(expiresAt && { expiresAt })
  })) as unknown as LockRecord[]
  const feed = createFeed({
    read: async () => {
      if (isAway) throw new Failure('STORE_UNAVAILABLE', 'away')
      return records
    },
    pollMs: NEVER,
    restMs: 0,
    heartbeatMs: NEVER,
    time: fakeTime({ now: () => time }),
    isOver: ({ expiresAt }) => expiresAt !== undefined && expiresAt * 1000 <= time
  })
  t.teardown(feed.close)
  const watcher = await feed.watch([at('1')])
  t.match(await take(watcher), { event: 'snapshot', locks: { length: 3 } })
  isAway = true
  time += 1000
  feed.writing(at('1'))(new Map())
  t.strictSame(await take(watcher), { event: 'stale' })
  t.match(await take(watcher), { event: 'released', lock: { fieldName: 'a' } }, 'what is over already')
  time += 990
  feed.writing(at('1'))(new Map())
  await sleep(5)
  time += 10
  t.match(await take(watcher), { event: 'released', lock: { fieldName: 'b' } }, 'without another read')
  const late = await feed.watch([at('1')])
  t.strictSame(await take(late), { event: 'stale' })
  t.match(await take(late), { event: 'snapshot', locks: [{ fieldName: 'c' }] }, 'who comes now is told what is left')
  isAway = false
  records.shift()
  feed.writing(at('1'))(new Map())
  for (const each of [watcher, late]) {
    t.strictSame(await take(each), { event: 'live' })
    t.match(await take(each), { event: 'snapshot', locks: [{ fieldName: 'b' }, { fieldName: 'c' }] })
  }
})

t.test('a store that goes away is told to the operator once, and found again when it is back', async (t) => {
  const warnings: Error[] = []
  const down = new Failure('STORE_UNAVAILABLE', 'away')
  let found: LockRecord[] | undefined = [{ fieldName: 'body', timestamp: 1, userData: ada, version: 'v' }] as LockRecord[]
  let reads = 0
  const feed = createFeed({
    read: async () => {
      reads++
      if (!found) throw down
      return found
    },
    pollMs: 10,
    heartbeatMs: NEVER,
    warn: (failure) => warnings.push(failure)
  })
  t.teardown(feed.close)
  const watcher = await feed.watch([at('1')])
  await take(watcher)
  found = undefined
  await sleep(50)
  for (let n = 0; n < 3; n++) {
    feed.writing(at('1'))(new Map())
    await sleep(5)
  }
  t.strictSame(warnings, [down])
  t.strictSame(await take(watcher), { event: 'stale' })
  const before = reads
  await sleep(100)
  t.ok(reads <= before + 1, 'nor is it asked every time: one read was due for the last write')
  found = [{ fieldName: 'title', timestamp: 1, userData: ada, version: 'v' }] as LockRecord[]
  feed.writing(at('1'))(new Map())
  t.strictSame(await take(watcher), { event: 'live' }, 'the watcher has stayed')
  t.match(await take(watcher), { event: 'snapshot', locks: [{ fieldName: 'title' }] })
})

t.test('while the store is away an instance tells the end of the leases that it has given', async (t) => {
  let time = 1_700_000_000_000
  let isAway = false
  const store = memoryStore()
  const locks = instance(
    t,
    {
      async send(command) {
        if (isAway) throw Object.assign(new Error('no answer from the store'), { name: 'TimeoutError' })
        return store.send(command)
      }
    },
    {},
    { leaseSeconds: 10, time: fakeTime({ now: () => time }) }
  )
  await locks.acquire(at('1'), { fieldName: 'title', userData: ada })
  time += 5000
  await locks.acquire(at('1'), { fieldName: 'body', userData: ada })
  const watcher = await locks.feed.watch([at('1')])
  t.match(await take(watcher), { event: 'snapshot', locks: { length: 2 } })
  isAway = true
  time += 5000
  await t.rejects(locks.acquire(at('1'), { fieldName: 'body', userData: ada }), { code: 'STORE_UNAVAILABLE' })
  t.strictSame(await take(watcher), { event: 'stale' })
  t.match(await take(watcher), { event: 'released', lock: { fieldName: 'title' } })
})

t.test('a read that fails after the last watcher has left tells nothing', async (t) => {
  const { promise, reject } = Promise.withResolvers<LockRecord[]>()
  const { wakes, refresh, isStale, close } = createWatched(at('1'), {
    read: () => promise,
    intervalMs: () => NEVER,
    onFailure() {},
    isOver: () => false,
    time: fakeTime({ now: Date.now })
  })
  wakes.add(() => t.fail('woken'))
  const reading = refresh()
  close()
  reject(new Error('away'))
  await t.rejects(reading, { message: 'away' })
  t.equal(isStale(), false)
})

t.test('an entity without locks is read less often 30 seconds after its newest watcher, or its last lock', async (t) => {
  let time = 0
  t.intercept(performance, 'now', { value: () => time })
  let records = [] as LockRecord[]
  const { urgency, freshen, refresh, close } = createWatched(at('1'), {
    read: async () => records,
    intervalMs: () => NEVER,
    onFailure() {},
    isOver: () => false,
    time: fakeTime({ now: Date.now })
  })
  t.teardown(close)
  const after = (ms: number) => {
    time += ms
    return urgency()
  }
  t.strictSame([after(29_999), after(1)], ['fresh', 'idle'])
  freshen()
  t.strictSame([after(29_999), after(1)], ['fresh', 'idle'])
  await refresh()
  records = [{ fieldName: 'title', timestamp: 1, userData: ada, version: 'v' } as LockRecord]
  await refresh()
  t.strictSame([after(29_999), after(1)], ['busy', 'occupied'])
  records = []
  await refresh()
  t.strictSame([after(29_999), after(1)], ['fresh', 'idle'])
})

t.test('a read that fails while another one is waited for holds up none that comes after', async (t) => {
  const reads: Array<PromiseWithResolvers<LockRecord[]>> = []
  const { refresh, state, close } = createWatched(at('1'), {
    read() {
      reads.push(Promise.withResolvers())
      return reads.at(-1)!.promise
    },
    intervalMs: () => NEVER,
    onFailure() {},
    isOver: () => false,
    time: fakeTime({ now: Date.now })
  })
  t.teardown(close)
  for (let time = 0; time < 2; time++) {
    const first = refresh()
    const second = refresh()
    reads.at(-1)!.reject(new Error('away'))
    await t.rejects(first, { message: 'away' })
    reads.at(-1)!.resolve([{ fieldName: 'title', timestamp: time, userData: ada } as LockRecord])
    await second
    t.equal(reads.length, 2 * (time + 1))
    t.match(state()!.locks.get('title'), { timestamp: time })
  }
})

t.test('what is watched from the same moment on is not read at the same moments', async (t) => {
  const shares = [0.25, 0.75]
  t.intercept(Math, 'random', { value: () => shares.shift() })
  const order: string[] = []
  const feed = createFeed({
    read: async ({ id }) => {
      order.push(id)
      return []
    },
    pollMs: 400,
    heartbeatMs: NEVER
  })
  t.teardown(feed.close)
  // However late timers are, they end in the order of their times.
  for (const ms of [90, 200]) setTimeout(() => order.push(`${ms} ms`), ms)
  await feed.watch([at('1'), at('2')])
  for (const count = () => order.length; count() < 8;) await sleep(5)
  t.strictSame(order, ['1', '2', '90 ms', '1', '200 ms', '2', '1', '2'], 'after a quarter and three quarters of the interval, and so on')
  t.strictSame(shares, [])
})

t.test('a write of which nobody knows whether it took place is looked for by a read', async (t) => {
  const store = memoryStore()
  let lost = false
  const locks = instance(t, {
    async send(command) {
      const answer = await store.send(command)
      if (lost && /Put|Delete/.test(command.constructor.name)) throw Object.assign(new Error('socket hang up'), { name: 'TimeoutError' })
      return answer
    }
  })
  const watcher = await locks.feed.watch([at('1')])
  await take(watcher)
  lost = true
  await t.rejects(locks.acquire(at('1'), { fieldName: 'title', userData: ada }), { code: 'STORE_UNAVAILABLE' })
  t.match(await take(watcher), { event: 'locked', lock: { fieldName: 'title', userData: ada } })
  await t.rejects(locks.overwrite(at('1'), { fieldName: 'title', userData: bob }), { code: 'STORE_UNAVAILABLE' })
  t.match(await take(watcher), { event: 'locked', lock: { fieldName: 'title', userData: bob } })
  await t.rejects(locks.release(at('1'), { fieldName: 'title', uid: '8' }), { code: 'STORE_UNAVAILABLE' })
  t.match(await take(watcher), { event: 'released', lock: { fieldName: 'title', userData: bob } })
})

t.test('the reads of an instance in a second are bounded, however much is watched', async (t) => {
  let reads = 0
  const feed = createFeed({
    read: async () => {
      reads++
      return []
    },
    pollMs: 1,
    readsPerSecond: 400,
    heartbeatMs: NEVER
  })
  t.teardown(feed.close)
  await feed.watch(Array.from({ length: 200 }, (_, id) => at(String(id))))
  reads = 0
  const started = performance.now()
  await sleep(500)
  for (const count = () => reads; count() <= 50;) await sleep(5)
  const most = 0.4 * (performance.now() - started) + 200
  t.ok(reads <= most, `${reads} reads, at most ${most}`)
})

t.test('close ends every watcher, one that waits and one that is on its way in too', async (t) => {
  const locks = instance(t, memoryStore())
  const [waiting, idle] = [await locks.feed.watch([at('1')]), await locks.feed.watch([at('1')])]
  await take(waiting)
  const pending = waiting.next()
  const reading = locks.feed.watch([at('2')])
  locks.feed.close()
  t.strictSame([await pending, await waiting.next(), await idle.next()], [undefined, undefined, undefined])
  for (const late of [await reading, await locks.feed.watch([at('1')])]) {
    t.equal(await late.next(), undefined)
    late.leave()
  }
  t.strictSame(locks.feed.counts(), { watchers: 0, entities: 0 })
})

t.test('whoever takes in all events knows the locks, across instances, reconnects and restarts', async () => {
  const step = fc.record({
    what: fc.constantFrom('acquire', 'acquire', 'overwrite', 'overwrite', 'release', 'release', 'listen', 'listen', 'reconnect', 'restart'),
    fieldName: fc.constantFrom('a', 'b', 'c'),
    id: fc.constantFrom('1', '2'),
    uid: fc.constantFrom('7', '8'),
    index: fc.nat(1),
    events: fc.nat(4)
  })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const store = memoryStore()
      const create = () =>
        createLocks({ client: asClient(store), table: 'DataState', environment: 'test', feed: { pollMs: 1, heartbeatMs: NEVER } })
      const instances = [create(), create()]
      const entities = [at('1'), at('2')]
      let known = new Map<string, LockView>()
      let lastEventId: string | undefined
      let watcher = await instances[0]!.feed.watch(entities)
      const nameOf = (lock: LockView) => `${lock.entityId} ${lock.fieldName}`
      async function listen() {
        const event = await nextOf(watcher)
        if (event?.event === 'snapshot') known = new Map(event.locks.map((lock) => [nameOf(lock), lock]))
        else if (event?.event === 'locked') known.set(nameOf(event.lock), event.lock)
        else if (event?.event === 'released') known.delete(nameOf(event.lock))
        if (event && 'id' in event) lastEventId = event.id
      }
      async function present() {
        return new Map((await instances[0]!.view(entities)).map((lock) => [nameOf(lock), lock]))
      }
      const isKnown = async () => JSON.stringify([...known].sort()) === JSON.stringify([...(await present())].sort())
      try {
        for (const { what, fieldName, id, uid, index, events } of steps) {
          if (what === 'listen') for (let n = 0; n < events && !(await isKnown()); n++) await listen()
          else if (what === 'release') await instances[index]!.release(at(id), { uid })
          else if (what === 'acquire' || what === 'overwrite') await instances[index]![what](at(id), { fieldName, userData: { uid } })
          else {
            watcher.leave()
            if (what === 'restart') instances[index] = create()
            watcher = await instances[index]!.feed.watch(entities, { lastEventId })
          }
        }
        for (let n = 0; n < 20 && !(await isKnown()); n++) await listen()
        return await isKnown()
      } finally {
        for (const locks of instances) locks.feed.close()
      }
    }),
    { numRuns: runs(150), timeout: 10_000 }
  )
})

t.test('a batch without operations is one object for all who are told it', (t) => {
  const saved = { entityType: 'node', entityId: '1', etag: '"a"', fields: ['field_articles'], from: '"b"', operations: [] }
  const batch: Batch = [{ event: 'saved', saved }, { event: 'live' }]
  const plain = withoutOperations(batch)
  t.match(plain, [{ event: 'saved', saved: { etag: '"a"', from: undefined, operations: undefined } }, { event: 'live' }])
  t.equal(withoutOperations(batch), plain)
  t.equal(withoutOperations(plain), plain)
  t.end()
})
