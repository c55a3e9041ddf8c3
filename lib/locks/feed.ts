import { Failure } from '../errors.ts'
import { differences, idOf, snapshotOf, type Changes, type FeedEvent, type State } from './feed-events.ts'
import type { Entity, LockRecord } from './schemas.ts'
import { forEach } from './table.ts'
import { createWatched, type Watched } from './watched.ts'

/** Most reads of the store in a second that all polling of an instance makes: beyond it each entity is read less often. */
const READS_PER_SECOND = 400
const RETRY_AFTER_SECONDS = '30'
const WARN_MS = 60_000

export interface FeedOptions {
  /** Milliseconds between two reads of a watched entity, which find what other instances have written. */
  pollMs?: number
  /** Milliseconds between two heartbeats of a watcher. */
  heartbeatMs?: number
  /** How many watchers there may be. */
  watchersMax?: number
  /** Told, once a minute at most, that watched entities cannot be read. */
  warn?: (failure: Error) => void
}

export interface FeedDeps extends FeedOptions {
  /** The locks of an entity as they are now: consistent, complete, without payloads. */
  read: (entity: Entity) => Promise<LockRecord[]>
}

export interface Watcher {
  /** The next event, when there is one; nothing once the watcher has left or the feed was closed. */
  next: () => Promise<FeedEvent | undefined>
  leave: () => void
}

/**
 * Tells watchers what happens to the locks of entities, whichever instance does it: the table is read at an interval,
 * once for all who watch an entity; a write of this instance's own is told at once, and followed by a read.
 *
 * A watcher gets every state that it has time for: one that is slow skips states in between, never the last one.
 */
export function createFeed ({ read, pollMs = 500, heartbeatMs = 15_000, watchersMax = 2000, warn }: FeedDeps) {
  const entities = new Map<string, Watched>()
  const watchers = new Set<() => void>()
  let warnedAt = -WARN_MS
  let isClosed = false

  const nameOf = ({ type, id }: Entity) => `${type}-${id}`
  const intervalMs = () => Math.max(pollMs, entities.size * 1000 / READS_PER_SECOND)

  function failed (error: unknown): void {
    if (performance.now() - warnedAt < WARN_MS) return
    warnedAt = performance.now()
    warn?.(error as Error)
  }

  function enter (entity: Entity, wake: () => void): Watched {
    const name = nameOf(entity)
    const watched = entities.get(name) ?? createWatched(entity, { read, intervalMs, failed })
    entities.set(name, watched)
    watched.wakes.add(wake)
    return watched
  }

  function exit (entity: Entity, wake: () => void): void {
    const name = nameOf(entity)
    const watched = entities.get(name)!
    watched.wakes.delete(wake)
    if (watched.wakes.size > 0) return
    watched.close()
    entities.delete(name)
  }

  /**
   * Watches entities, none of them twice: first a snapshot, or nothing but a heartbeat when `lastEventId` names the
   * state that they are in; then what changes. Of a feed that was closed there is nothing to be told.
   * @throws {Failure} TOO_MANY_WATCHERS; STORE_UNAVAILABLE, STORE_FAILED when the first read fails
   */
  async function watch (wanted: Entity[], { lastEventId }: { lastEventId?: string | undefined } = {}): Promise<Watcher> {
    if (isClosed) return { next: async () => undefined, leave () {} }
    if (watchers.size >= watchersMax) {
      throw new Failure('TOO_MANY_WATCHERS', `This instance serves ${watchersMax} event streams, as many as it may; try again later, or poll`, { headers: { 'retry-after': RETRY_AFTER_SECONDS } })
    }
    const waiting = createWaiting()
    const watched = wanted.map((entity) => enter(entity, waiting.wake))
    const states = () => watched.map(({ state }) => state()!)

    function leave (): void {
      if (!watchers.delete(leave)) return
      for (const entity of wanted) exit(entity, waiting.wake)
      waiting.wake()
    }

    watchers.add(leave)
    try {
      await forEach(watched, ({ refresh }) => refresh())
    } catch (error) {
      leave()
      throw error
    }

    let seen = states()
    const resumed = lastEventId === idOf(seen)
    let pending: FeedEvent[] = resumed ? [] : [snapshotOf(seen)]
    let beatAt = performance.now() + (resumed ? 0 : heartbeatMs)

    async function next (): Promise<FeedEvent | undefined> {
      while (watchers.has(leave)) {
        if (pending.length > 0) return pending.shift()
        const idleMs = beatAt - performance.now()
        if (idleMs <= 0) {
          beatAt = performance.now() + heartbeatMs
          return { event: 'heartbeat' }
        }
        pending = changes()
        if (pending.length > 0) return pending.shift()
        await waiting.wait(idleMs)
      }
      return undefined
    }

    function changes (): FeedEvent[] {
      const before: State[] = seen
      seen = states()
      return seen.every((state, index) => state === before[index]) ? [] : differences(before, seen)
    }

    return { next, leave }
  }

  /**
   * To be called before every write to an entity. What it returns is to be called afterwards, with what is known of the
   * fields: whoever watches the entity is told that at once, and a read finds the rest.
   */
  function writing (entity: Entity): (left: Changes) => void {
    const name = nameOf(entity)
    const watched = entities.get(name)
    const before = watched?.state()
    return (left) => {
      const present = entities.get(name)
      if (present === watched && before) watched!.tell(before, left)
      present?.poke()
    }
  }

  return {
    watch,
    writing,
    /** How much is watched, and by how many. */
    counts: () => ({ watchers: watchers.size, entities: entities.size }),
    /** Ends every watcher, and those that are still to come. */
    close: () => {
      isClosed = true
      for (const leave of [...watchers]) leave()
    }
  }
}

/** Waiting that ends after a while, or as soon as it is woken. */
function createWaiting () {
  let end: (() => void) | undefined
  return {
    wait: (ms: number) => new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms)
      end = () => {
        clearTimeout(timer)
        resolve()
      }
    }),
    wake: () => end?.()
  }
}
