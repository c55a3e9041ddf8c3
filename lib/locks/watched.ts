import { Failure } from '../errors.ts'
import { isSince } from '../table/version.ts'
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
import type { Time } from '../time.ts'

/** After a read that failed the next one waits at least so long, in milliseconds. */
const RETRY_MS = 2000

/** Longest wait for a lease to end, in milliseconds: then the clock is looked at again. */
const LOOK_MS = 60_000

/**
 * By how much the clocks of two instances may differ, in milliseconds: writes closer together may
 * have come in either order.
 */
const SPREAD_MS = 250

/** Most fields that notices may change between two reads. */
const TOLD_MAX = 1000

/**
 * So long after its last change an entity is busy, and so long after its last lock, or its newest
 * watcher, an entity is still read as often as one that is just opened.
 */
const FRESH_MS = 30_000

/**
 * How urgent the next read of an entity is: it has locks that change, or that do not, it had some
 * or was opened a moment ago, or neither.
 */
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
  time: Time
  /** Least milliseconds between the beginnings of two reads that writes and notices ask for. */
  pollMs?: number
}

/**
 * One entity that is watched: what a feed shows of it, what it has heard, and when it reads again.
 */
interface WatchedContext extends Required<WatchedDeps> {
  entity: Entity
  /** Called after every change. */
  wakes: Set<() => void>
  /** The locks and signs that are shown; undefined before the first read. */
  state: State | undefined
  /** Whether the store does not answer, so that the state may be out of date. */
  isStale: boolean
  /** The signs that the last read has found, and that have not ended since. */
  signs: Sign[]
  /** The changes heard of since the present read began, which may have missed them. */
  news: Map<string, LockView | undefined>
  /** When the newest write of each field ended, of those that notices have told. */
  writtenAt: Map<string, number>
  /** How many writes of this instance are under way. */
  writes: number
  /** How many changes of fields there were while writes of this instance were under way. */
  changes: number
  /** Which of these changes was the last of each field. */
  lastChanges: Map<string, number>
  /** When the entity last had locks, or got a watcher. */
  activeAt: number
  /** When its locks, or signs, last changed. */
  changedAt: number
  /** When the newest read began, by the table's clock. */
  readAt: number
  /** The same by this machine's monotonic clock. */
  begunAt: number
  /** The read that is under way, and the one that follows it. */
  reading: Promise<void> | undefined
  nextRead: Promise<void> | undefined
  /** The next read of the polling. */
  pollTimer: NodeJS.Timeout | undefined
  /** The next read that a write or a notice asks for, and when it is due. */
  soonTimer: NodeJS.Timeout | undefined
  soonAt: number
  /** The read once the next lease, or sign, is over. */
  endTimer: NodeJS.Timeout | undefined
  /** While the store does not answer: hides what is over. */
  staleTimer: NodeJS.Timeout | undefined
  isClosed: boolean
}

export type WatchedEntity = ReturnType<typeof createWatched>

/**
 * An entity, whoever watches it: one request reads it at a time, again and again until it is
 * closed.
 */
export function createWatched(
  entity: Entity,
  { read, intervalMs, onFailure, isOver, time, pollMs = 0 }: WatchedDeps
) {
  const watched: WatchedContext = {
    entity,
    read,
    intervalMs,
    onFailure,
    isOver,
    time,
    pollMs,
    wakes: new Set(),
    state: undefined,
    isStale: false,
    signs: [],
    news: new Map(),
    writtenAt: new Map(),
    writes: 0,
    changes: 0,
    lastChanges: new Map(),
    activeAt: time.monotonic(),
    changedAt: -Infinity,
    readAt: -Infinity,
    begunAt: -Infinity,
    reading: undefined,
    nextRead: undefined,
    pollTimer: undefined,
    soonTimer: undefined,
    soonAt: 0,
    endTimer: undefined,
    staleTimer: undefined,
    isClosed: false
  }
  return {
    wakes: watched.wakes,
    state: () => watched.state,
    isStale: () => watched.isStale,
    urgency: () => urgencyOf(watched),
    freshen: () => freshen(watched),
    refresh: () => refresh(watched),
    writing: () => beginWrite(watched),
    hear: (notice: LockNotice) => hearWrite(watched, notice),
    soon: (ms: number) => readSoon(watched, ms),
    readInBackground: () => readInBackground(watched),
    close: () => closeWatched(watched)
  }
}

/**
 * Reads the entity as it is from now on: a read that is under way may have missed the last write.
 */
function refresh(watched: WatchedContext): Promise<void> {
  if (!watched.reading) return beginRead(watched)
  watched.nextRead ??= watched.reading.then(
    () => follow(watched),
    () => follow(watched)
  )
  return watched.nextRead
}

function follow(watched: WatchedContext): Promise<void> {
  watched.nextRead = undefined
  return watched.reading ?? beginRead(watched)
}

function beginRead(watched: WatchedContext): Promise<void> {
  clearTimeout(watched.pollTimer)
  clearTimeout(watched.soonTimer)
  watched.soonTimer = undefined
  watched.readAt = watched.time.now()
  watched.begunAt = watched.time.monotonic()
  watched.reading = load(watched)
  return watched.reading
}

async function load(watched: WatchedContext): Promise<void> {
  const isFirst = !watched.state
  let isRead = false
  watched.news.clear()
  forgetOldNotices(watched)
  try {
    const items = await watched.read(watched.entity)
    clearTimeout(watched.staleTimer)
    watched.signs = items.filter(isSign)
    setState(watched, withChanges(locksIn(watched.entity, items), watched.news), false)
    planEnd(watched)
    isRead = true
  } catch (error) {
    showStale(watched)
    throw error
  } finally {
    watched.reading = undefined
    if (!watched.isClosed) planPoll(watched, isRead ? 0 : RETRY_MS, isFirst)
  }
}

/** Forgets the notices of writes that the read which begins must find. */
function forgetOldNotices({ writtenAt, readAt }: WatchedContext): void {
  for (const [field, at] of writtenAt) if (at < readAt - SPREAD_MS) writtenAt.delete(field)
}

/**
 * Plans the next read of the polling. The one after the first read comes sooner, at random:
 * otherwise all entities that were opened at once would be read at once, again and again.
 */
function planPoll(watched: WatchedContext, leastMs: number, isFirst: boolean): void {
  const intervalMs = watched.intervalMs(urgencyOf(watched)) * (isFirst ? watched.time.random() : 1)
  watched.pollTimer = setTimeout(() => readInBackground(watched), Math.max(leastMs, intervalMs))
}

function setState(
  watched: WatchedContext,
  locks: State['locks'] | undefined,
  isStale: boolean
): void {
  const { state } = watched
  const next = locks && nextState(watched.entity, locks, watched.signs, state)
  if (next === state && isStale === watched.isStale) return
  if (state?.locks.size) watched.activeAt = watched.time.monotonic()
  if (state && next !== state) watched.changedAt = watched.time.monotonic()
  if (state && next && watched.writes > 0) {
    for (const field of changedFields(state.locks, next.locks)) {
      watched.lastChanges.set(field, ++watched.changes)
    }
  }
  watched.state = next
  watched.isStale = isStale
  for (const wake of watched.wakes) wake()
}

/**
 * The store does not answer: shows the last state as stale, and each lock only until its lease is
 * over.
 */
function showStale(watched: WatchedContext): void {
  if (watched.isClosed) return
  const { state, isOver, time } = watched
  const locks = state && new Map([...state.locks].filter(([, lock]) => !isOver(lock)))
  watched.signs = watched.signs.filter(({ until }) => until * 1000 > time.now())
  setState(watched, locks, true)
  const end = nextEnd(locks, watched.signs)
  clearTimeout(watched.staleTimer)
  if (end === undefined) return
  watched.staleTimer = setTimeout(
    () => showStale(watched),
    Math.min(LOOK_MS, end * 1000 - time.now())
  )
}

/**
 * Call this before a write, and the function that it returns after it, with the new state of the
 * fields. It does not tell a field that has changed since the write began: the order of the two is
 * unknown, so the next read decides.
 */
function beginWrite(watched: WatchedContext): (changes?: Changes) => void {
  const began = watched.changes
  const wasRead = watched.state !== undefined
  watched.writes++
  return (changes) => {
    if (changes && wasRead && watched.state) {
      for (const [field, lock] of changes) {
        const lastChange = watched.lastChanges.get(field) ?? 0
        if (lastChange <= began) watched.news.set(field, lock)
      }
      setState(watched, withChanges(watched.state.locks, watched.news), watched.isStale)
    }
    watched.writes--
    if (watched.writes === 0) watched.lastChanges.clear()
    if (changes && !watched.isClosed) readSoon(watched, 0)
  }
}

/**
 * Shows the changes of a notice, unless a later read is there. If the notice is incomplete or out
 * of order, a read decides soon.
 */
function hearWrite(watched: WatchedContext, notice: LockNotice): void {
  const { ended, isSure } = notice
  const { time, readAt, writtenAt } = watched
  if (ended < readAt - SPREAD_MS) return
  const changes = changesIn(notice)
  const isTaken =
    isSure && ended <= time.now() + SPREAD_MS && writtenAt.size + changes.size <= TOLD_MAX
  if (!isTaken) return readSoon(watched, 0)
  const isInOrder = takeChanges(watched, changes, notice)
  if (watched.state) {
    setState(watched, withChanges(watched.state.locks, watched.news), watched.isStale)
  }
  planEnd(watched)
  if (!isInOrder) readSoon(watched, 0)
}

/**
 * Takes in the changes of a notice.
 * @returns whether all are known to be later than what was told before
 */
function takeChanges(
  { state, news, writtenAt }: WatchedContext,
  changes: Changes,
  { began, ended }: LockNotice
): boolean {
  let isInOrder = true
  for (const [field, lock] of changes) {
    const last = writtenAt.get(field) ?? -Infinity
    if (began <= last + SPREAD_MS) isInOrder = false
    if (ended < last || isSince(state?.locks.get(field)?.version, ended)) continue
    writtenAt.set(field, ended)
    news.set(field, lock)
  }
  return isInOrder
}

/**
 * Reads within a time, but not more often than every `pollMs`, and not before the read that is
 * under way has ended.
 */
function readSoon(watched: WatchedContext, ms: number): void {
  const at = Math.max(watched.time.monotonic() + ms, watched.begunAt + watched.pollMs)
  if (watched.soonTimer && at >= watched.soonAt) return
  clearTimeout(watched.soonTimer)
  if (at <= watched.time.monotonic()) return readInBackground(watched)
  watched.soonAt = at
  watched.soonTimer = setTimeout(
    () => readInBackground(watched),
    Math.max(0, at - watched.time.monotonic())
  )
}

/** Reads once the next lease, or sign, is over: nobody writes that. */
function planEnd(watched: WatchedContext): void {
  clearTimeout(watched.endTimer)
  const end = nextEnd(watched.state?.locks, watched.signs)
  if (end === undefined || watched.isStale || watched.isClosed) return
  const ms = Math.max(0, Math.min(LOOK_MS, end * 1000 - watched.time.now()))
  watched.endTimer = setTimeout(() => readSoon(watched, 0), ms)
}

/** Reads; nobody waits for it. */
function readInBackground(watched: WatchedContext): void {
  refresh(watched).catch(watched.onFailure)
}

/** Somebody new watches: for a while this entity is read as one of which news is expected. */
function freshen(watched: WatchedContext): void {
  watched.activeAt = watched.time.monotonic()
}

function urgencyOf({ time, state, activeAt, changedAt }: WatchedContext): Urgency {
  const now = time.monotonic()
  if (state?.locks.size) return now - changedAt < FRESH_MS ? 'busy' : 'occupied'
  return now - activeAt < FRESH_MS ? 'fresh' : 'idle'
}

function closeWatched(watched: WatchedContext): void {
  watched.isClosed = true
  clearTimeout(watched.pollTimer)
  clearTimeout(watched.soonTimer)
  clearTimeout(watched.endTimer)
  clearTimeout(watched.staleTimer)
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
