import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createChannel } from '#lib/locks/channel.ts'
import type { Batch, State } from '#lib/locks/feed-events.ts'
import type { LockView } from '#lib/locks/schemas.ts'
import type { WatchedEntity } from '#lib/locks/watched.ts'

const entity = { type: 'node', id: '1' }

/** A channel of one entity, whose state a test sets. */
function open(t: Test) {
  const wakes = new Set<() => void>()
  let [state, isStale]: [State | undefined, boolean] = [undefined, false]
  const channel = createChannel([{ wakes, state: () => state, isStale: () => isStale } as unknown as WatchedEntity])
  t.teardown(channel.close)
  const lock = (version: string): LockView => ({
    entityType: 'node',
    entityId: '1',
    fieldName: 'title',
    timestamp: 1,
    userData: { uid: '7' },
    version
  })
  function become(version: string | undefined, stale = false): void {
    if (version !== undefined) state = { entity, locks: new Map([['title', lock(version)]]), signs: [] }
    isStale = stale
    for (const wake of wakes) wake()
  }
  return { ...channel, become }
}

function named(batch: Batch | undefined): string[] | undefined {
  return batch?.map((event) =>
    event.event === 'snapshot'
      ? `snapshot ${event.locks.map(({ version }) => version)}`
      : 'lock' in event
        ? `${event.event} ${event.lock.version}`
        : event.event
  )
}

t.test('all who watch the same are told the same object, one change after another', async (t) => {
  const { become, after } = open(t)
  t.equal(after(-1), undefined, 'nothing before the first read')
  become('1')
  const first = after(-1)!
  t.strictSame(named(first.batch), ['snapshot 1'])
  t.equal(after(-1)!.batch, first.batch)
  become('2')
  become('3')
  const second = after(first.position)!
  t.strictSame(named(second.batch), ['locked 2'])
  t.equal(after(first.position)!.batch, second.batch)
  const third = after(second.position)!
  t.strictSame(named(third.batch), ['locked 3'])
  t.equal(after(third.position), undefined)
  become('3')
  t.equal(after(third.position), undefined, 'the same again is no news')
})

t.test('one that is far behind is told the present state, and nothing is kept for it', async (t) => {
  const { become, after } = open(t)
  become('0')
  const { position } = after(-1)!
  for (let n = 1; n <= 100; n++) become(String(n))
  const snapshot = after(position)!
  t.strictSame(named(snapshot.batch), ['snapshot 100'])
  t.equal(after(snapshot.position), undefined)
})

t.test('one that missed both hears that the store was away and is back', async (t) => {
  const { become, after } = open(t)
  become(undefined, true)
  const stale = after(-1)!
  t.strictSame(named(stale.batch), ['stale'], 'nothing is known yet')
  become('0')
  for (let n = 1; n <= 20; n++) become(String(n))
  t.strictSame(named(after(stale.position)!.batch), ['live', 'snapshot 20'])
  t.equal(after(stale.position)!.batch, after(stale.position)!.batch)
  t.strictSame(named(after(-1)!.batch), ['snapshot 20'], 'a newcomer does not')
  const { position } = after(-1)!
  become('20', true)
  for (let n = 21; n <= 40; n++) become(String(n), true)
  t.strictSame(named(after(position)!.batch), ['stale', 'snapshot 40'])
})

t.test('changes are forgotten after a while', async (t) => {
  const timers: Array<() => void> = []
  const { become, after } = open(t)
  t.intercept(globalThis, 'setTimeout', {
    value: Object.assign((run: () => void) => {
      timers.push(run)
    })
  })
  become('0')
  const { position } = after(-1)!
  become('1')
  for (const run of timers) run()
  t.strictSame(named(after(position)!.batch), ['snapshot 1'])
})

t.test('many watchers are woken in several turns of the event loop', async (t) => {
  const { become, wakes } = open(t)
  let woken = 0
  for (let n = 0; n < 120; n++) {
    wakes.add(() => {
      woken++
    })
  }
  become('0')
  const counts = [woken]
  for (let turn = 0; turn < 4; turn++) {
    await setImmediate()
    counts.push(woken)
  }
  t.equal(counts[0], 0, 'not in the turn of the write')
  t.ok(
    counts.some((count) => count > 0 && count < 120),
    counts.join(' ')
  )
  for (let turn = 0; turn < 10; turn++) await setImmediate()
  t.equal(woken, 120)
})
