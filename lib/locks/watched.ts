import { Failure } from '../errors.ts'
import {
  changedFields,
  isSign,
  locksIn,
  nextState,
  withChanges,
  type Changes,
  type LocksAndSigns,
  type Sign,
  type State
} from './feed-events.ts'
import { changesIn, type LockNotice } from './notice.ts'
import type { Entity, LockView } from './schemas.ts'
import { isSince } from './version.ts'

/** After a read that failed the next one waits at least so long, in milliseconds. */
const RETRY_MS = 2000

/** Longest wait for a lease to end, in milliseconds: then the clock is looked at again. */
const LOOK_MS = 60_000

/** By how much the clocks of two instances may differ, in milliseconds: writes closer together may have come in either order. */
const SPREAD_MS = 250

/** Most fields that notices may change between two reads. */
const TOLD_MAX = 1000

/** So long after its last change an entity is busy, and so long after its last lock, or its newest watcher, an entity is still read as often as one that is just opened. */
const FRESH_MS = 30_000

/** How urgent the next read of an entity is: it has locks that change, or that do not, it had some or was opened a moment ago, or neither. */
export const URGENCIES = ['busy', 'occupied', 'fresh', 'idle'] as const
export type Urgency = (typeof URGENCIES)[number]

export interface WatchedDeps {
  /** The locks of an entity as they are now, and its signs. */
  read: (entity: Entity) => Promise<LocksAndSigns>
  /** Milliseconds from the end of one read of such an entity to the next. */
  intervalMs: (urgency: Urgency) => number
  /** Called when a read fails that nobody waits for. */
  onFailure: (error: unknown) => void
  /** Whether the lease of a lock is over. */
  isOver: (lock: LockView) => boolean
  /** Milliseconds since 1970. */
  now: () => number
  /** Least milliseconds between the beginnings of two reads that writes and notices ask for. */
  pollMs?: number
}

export type WatchedEntity = ReturnType<typeof createWatched>

/** One entity that is watched, by however many: read by one request at a time, again and again until it is closed. */
export function createWatched(
  entity: Entity,
  { read, intervalMs, onFailure, isOver, now, pollMs = 0 }: WatchedDeps
) {
  /** Called after every change. */
  const wakes = new Set<() => void>()
  /** The changes heard of since the present read began, which may have missed them. */
  const news = new Map<string, LockView | undefined>()
  /** When the newest write of each field ended, of those that notices have told. */
  const writtenAt = new Map<string, number>()
  /** Which change of the entity was the last of each field, as long as a write of this instance is under way. */
  const lastChanges = new Map<string, number>()
  let changes = 0
  let writes = 0
  let state: State | undefined
  /** The signs that the last read has found, and that have not ended since. */
  let signs: Sign[] = []
  let isStale = false
  let activeAt = performance.now()
  let changedAt = -Infinity
  let reading: Promise<void> | undefined
  let nextRead: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined
  let recheck: NodeJS.Timeout | undefined
  let recheckAt = 0
  let endTimer: NodeJS.Timeout | undefined
  /** When the newest read began, by the table's clock and by this machine's. */
  let readAt = -Infinity
  let begunAt = -Infinity
  let expiry: NodeJS.Timeout | undefined
  let isClosed = false

  /** Reads what is there from now on: a read that is under way may have missed what was just written. */
  function refresh(): Promise<void> {
    if (!reading) return begin()
    nextRead ??= reading.then(follow, follow)
    return nextRead
  }

  function follow(): Promise<void> {
    nextRead = undefined
    return reading ?? begin()
  }

  function begin(): Promise<void> {
    clearTimeout(timer)
    clearTimeout(recheck)
    recheck = undefined
    readAt = now()
    begunAt = performance.now()
    reading = load()
    return reading
  }

  async function load(): Promise<void> {
    const first = !state
    let pause = RETRY_MS
    news.clear()
    for (const [field, at] of writtenAt) if (at < readAt - SPREAD_MS) writtenAt.delete(field)
    try {
      const items = await read(entity)
      clearTimeout(expiry)
      signs = items.filter(isSign)
      setState(withChanges(locksIn(entity, items), news), false)
      planEnd()
      pause = 0
    } catch (error) {
      lose()
      throw error
    } finally {
      reading = undefined
      // The first time sooner, at random: else all that were opened at once would be read at once, again and again.
      if (!isClosed) {
        timer = setTimeout(
          poke,
          Math.max(pause, intervalMs(urgency()) * (first ? Math.random() : 1))
        )
      }
    }
  }

  function setState(locks: State['locks'] | undefined, stale: boolean): void {
    const next = locks && nextState(entity, locks, signs, state)
    if (next === state && stale === isStale) return
    if (state?.locks.size) activeAt = performance.now()
    if (state && next !== state) changedAt = performance.now()
    if (state && next && writes > 0) {
      for (const field of changedFields(state.locks, next.locks)) lastChanges.set(field, ++changes)
    }
    state = next
    isStale = stale
    for (const wake of wakes) wake()
  }

  /** The store does not answer: what was read last is shown as stale, and each lock only until its lease is over. */
  function lose(): void {
    if (isClosed) return
    const locks = state && new Map([...state.locks].filter(([, lock]) => !isOver(lock)))
    signs = signs.filter(({ until }) => until * 1000 > now())
    setState(locks, true)
    const end = nextEnd(locks, signs)
    clearTimeout(expiry)
    if (end !== undefined) expiry = setTimeout(lose, Math.min(LOOK_MS, end * 1000 - now()))
  }

  /**
   * Call this before a write, and the function that it returns after it, with the new state of the fields. It does not tell a
   * field that has changed since the write began: the order of the two is unknown, so the next read decides.
   */
  function writing(): (left?: Changes) => void {
    const [began, isKnown] = [changes, state !== undefined]
    writes++
    return (result) => {
      if (result && isKnown && state) {
        for (const [field, lock] of result) {
          if ((lastChanges.get(field) ?? 0) <= began) news.set(field, lock)
        }
        setState(withChanges(state.locks, news), isStale)
      }
      if (--writes === 0) lastChanges.clear()
      if (result && !isClosed) soon(0)
    }
  }

  /**
   * Shows the changes of a notice, unless a later read is there. If the notice is incomplete or out of order, a read decides
   * soon.
   */
  function hear(notice: LockNotice): void {
    const { began, ended, isSure } = notice
    if (ended < readAt - SPREAD_MS) return
    const changes = changesIn(notice)
    let isPlain = isSure && ended <= now() + SPREAD_MS && writtenAt.size + changes.size <= TOLD_MAX
    if (isPlain) {
      for (const [field, lock] of changes) {
        const last = writtenAt.get(field) ?? -Infinity
        if (began <= last + SPREAD_MS) isPlain = false
        if (ended < last || isSince(state?.locks.get(field)?.version, ended)) continue
        writtenAt.set(field, ended)
        news.set(field, lock)
      }
      if (state) setState(withChanges(state.locks, news), isStale)
      planEnd()
    }
    if (!isPlain) soon(0)
  }

  /** Reads within a time, but not more often than every `pollMs`, and not before what is under way has ended. */
  function soon(ms: number): void {
    const at = Math.max(performance.now() + ms, begunAt + pollMs)
    if (recheck && at >= recheckAt) return
    clearTimeout(recheck)
    if (at <= performance.now()) return poke()
    recheckAt = at
    recheck = setTimeout(poke, Math.max(0, at - performance.now()))
  }

  /** Reads once the next lease, or sign, is over, which nobody writes. */
  function planEnd(): void {
    clearTimeout(endTimer)
    const end = nextEnd(state?.locks, signs)
    if (end !== undefined && !isStale && !isClosed) {
      endTimer = setTimeout(soon, Math.max(0, Math.min(LOOK_MS, end * 1000 - now())), 0)
    }
  }

  /** Reads soon; nobody waits for it. */
  function poke(): void {
    refresh().catch(onFailure)
  }

  /** Somebody new watches: for a while this entity is read as one of which news is expected. */
  function freshen(): void {
    activeAt = performance.now()
  }

  function urgency(): Urgency {
    if (state?.locks.size) return performance.now() - changedAt < FRESH_MS ? 'busy' : 'occupied'
    return performance.now() - activeAt < FRESH_MS ? 'fresh' : 'idle'
  }

  function close(): void {
    isClosed = true
    clearTimeout(timer)
    clearTimeout(recheck)
    clearTimeout(endTimer)
    clearTimeout(expiry)
  }

  return {
    wakes,
    state: () => state,
    isStale: () => isStale,
    urgency,
    freshen,
    refresh,
    writing,
    hear,
    soon,
    poke,
    close
  }
}

/** When the first of some leases and signs is over, in seconds since 1970. */
function nextEnd(locks: State['locks'] | undefined, signs: Sign[]): number | undefined {
  const ends = [
    ...[...(locks?.values() ?? [])].flatMap(({ expiresAt }) => expiresAt ?? []),
    ...signs.map(({ until }) => until)
  ]
  return ends.length > 0 ? Math.min(...ends) : undefined
}

/** Whether a read failed because of the store, which may answer the next one. */
export function isOutage(error: unknown): boolean {
  return error instanceof Failure && error.code.startsWith('STORE_')
}
