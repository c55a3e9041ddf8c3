import { locksOf, stateOf, withChanges, type Changes, type State } from './feed-events.ts'
import type { Entity, LockRecord, LockView } from './schemas.ts'

/** After a read that failed the next one waits at least so long, in milliseconds. */
const RETRY_MS = 2000

export interface WatchedDeps {
  /** The locks of an entity as they are now. */
  read: (entity: Entity) => Promise<LockRecord[]>
  /** Milliseconds from the end of one read to the next. */
  intervalMs: () => number
  /** Told of a read that failed where nobody waits for it. */
  failed: (error: unknown) => void
}

export type Watched = ReturnType<typeof createWatched>

/** One entity that is watched, by however many: read by one request at a time, again and again until it is closed. */
export function createWatched (entity: Entity, { read, intervalMs, failed }: WatchedDeps) {
  /** Called after every change. */
  const wakes = new Set<() => void>()
  /** What has been told since the read under way began, which may have missed it. */
  const told = new Map<string, LockView | undefined>()
  let state: State | undefined
  let reading: Promise<void> | undefined
  let following: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined
  let closed = false

  /** Reads what is there from now on: a read that is under way may have missed what was just written. */
  function refresh (): Promise<void> {
    if (!reading) return begin()
    following ??= reading.then(follow, follow)
    return following
  }

  function follow (): Promise<void> {
    following = undefined
    return reading ?? begin()
  }

  function begin (): Promise<void> {
    clearTimeout(timer)
    reading = load()
    return reading
  }

  async function load (): Promise<void> {
    const first = !state
    let pause = RETRY_MS
    told.clear()
    try {
      const found = locksOf(entity, await read(entity))
      become(withChanges(found, told))
      pause = 0
    } finally {
      reading = undefined
      // The first time sooner, at random: else all that were opened at once would be read at once, again and again.
      if (!closed) timer = setTimeout(poke, Math.max(pause, intervalMs() * (first ? Math.random() : 1)))
    }
  }

  function become (locks: State['locks']): void {
    const next = stateOf(entity, locks, state)
    if (next === state) return
    state = next
    for (const wake of wakes) wake()
  }

  /**
   * Takes in what a write has left in fields, if nothing has changed since it began: else nobody knows which came last,
   * and the next read decides.
   * @param before the state when the write began
   */
  function tell (before: State, left: Changes): void {
    if (state !== before) return
    for (const [field, lock] of left) told.set(field, lock)
    become(withChanges(state.locks, told))
  }

  /** Reads soon, for nobody in particular. */
  function poke (): void {
    refresh().catch(failed)
  }

  function close (): void {
    closed = true
    clearTimeout(timer)
  }

  return { wakes, state: () => state, refresh, tell, poke, close }
}
