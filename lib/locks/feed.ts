import { Failure, texts } from '../errors.ts'
import { createChannel, type Channel } from './channel.ts'
import type { Batch, Changes, LocksAndSigns, EditionSave } from './feed-events.ts'
import { noticeOf, type LockNotice } from './notice.ts'
import { paceOf, readsPerSecond as readsOf } from './pace.ts'
import type { Entity, LockView } from './schemas.ts'
import { forEach } from './table.ts'
import { createWatched, isOutage, URGENCIES, type Urgency, type WatchedEntity } from './watched.ts'

const RETRY_AFTER_SECONDS = '30'
const WARN_MS = 60_000

const HEARTBEAT: Batch = [{ event: 'heartbeat' }]

export interface FeedOptions {
  /** Milliseconds between two reads of a watched entity, which find what other instances have written. */
  pollMs?: number
  /** The same while notices tell what others write. A write whose notice was lost is found this late. */
  noticedPollMs?: number
  /** Milliseconds between the beginnings of two reads of an entity, at least, however much is written to it. */
  restMs?: number
  /** Most reads in a second for all that is watched. */
  readsPerSecond?: number
  /** Milliseconds between two heartbeats of a watcher. */
  heartbeatMs?: number
  /** How many watchers there may be. */
  watchersMax?: number
  /** How many of them one caller may have. */
  watchersPerCaller?: number
  /** Told, once a minute at most, that watched entities cannot be read. */
  warn?: (failure: Error) => void
  /** What tells other instances of writes, where there is something. */
  notices?: Notices
}

/** Tells instances what the others have written. */
export interface Notices {
  /** Whether notices come in time. Where they come of all instances, the table is only read for those that have been lost. */
  isUp: () => boolean
  /** Whether notices come of all instances. */
  hearsAll: () => boolean
  tell: (notice: LockNotice) => void
}

export interface FeedDeps extends FeedOptions {
  /** The locks of an entity as they are now, and its signs: consistent, complete, without payloads. */
  read: (entity: Entity) => Promise<LocksAndSigns>
  /** Whether the lease of a lock is over. */
  isOver?: (lock: LockView) => boolean
  /** Milliseconds since 1970, as `Date.now`. */
  now?: () => number
}

export interface WatchOptions {
  /** The id of the last event that the caller has. */
  lastEventId?: string | undefined
  /** Whose watcher it is; those of a caller are counted. */
  caller?: string | undefined
}

export interface Watcher {
  /** Milliseconds between two heartbeats. */
  heartbeatMs: number
  /** The next events, when there are some; nothing once the watcher has left or the feed was closed. */
  next: () => Promise<Batch | undefined>
  leave: () => void
}

/** A watcher of entities that can be others later. */
export interface FeedWatcher extends Watcher {
  /**
   * Watches other entities from now on. The next events are saves since the last batch, and then the new snapshot.
   * @throws {Failure} TOO_LARGE for more locks than are read; the watcher has left then
   */
  turnTo: (entities: Entity[]) => Promise<void>
}

/**
 * Tells watchers of all changes to the locks of entities, through any instance. It reads the table at an interval, once for
 * all watchers of an entity. It tells the writes of its own instance at once, without a read.
 *
 * Nothing is queued for a watcher. One that asks in time gets every change; one that is behind gets a snapshot.
 */
export function createFeed({
  read,
  pollMs = 500,
  noticedPollMs = Math.max(pollMs, 10_000),
  restMs = pollMs,
  readsPerSecond = readsOf(pollMs),
  heartbeatMs = 15_000,
  watchersMax = 2000,
  watchersPerCaller = watchersMax,
  warn,
  notices,
  isOver = () => false,
  now = Date.now
}: FeedDeps) {
  const entities = new Map<string, WatchedEntity>()
  const channels = new Map<string, Channel>()
  /** What ends each watcher, with its caller. */
  const watchers = new Map<() => void, string | undefined>()
  const byCaller = new Map<string | undefined, number>()
  let warnedAt = -WARN_MS
  let isClosed = false
  let pace: Record<Urgency, number> | undefined
  let pacedAt = 0

  const nameOf = ({ type, id }: Entity) => `${type}-${id}`

  function failed(error: unknown): void {
    if (performance.now() - warnedAt < WARN_MS) return
    warnedAt = performance.now()
    warn?.(error as Error)
  }

  /** Milliseconds between two reads of an entity: those with locks come first. */
  function intervalMs(urgency: Urgency): number {
    if (!pace || performance.now() - pacedAt > pollMs) {
      const sizes = { busy: 0, occupied: 0, fresh: 0, idle: 0 }
      for (const watched of entities.values()) sizes[watched.urgency()]++
      const [busy, occupied, fresh, idle] = paceOf(
        URGENCIES.map((name) => sizes[name]),
        notices?.hearsAll() ? noticedPollMs : pollMs,
        readsPerSecond
      ) as [number, number, number, number]
      pace = { busy, occupied, fresh, idle }
      pacedAt = performance.now()
    }
    return pace[urgency]
  }

  /** @throws {Failure} TOO_MANY_WATCHERS, TOO_MANY_REQUESTS */
  function admit(caller: string | undefined): void {
    const headers = { 'retry-after': RETRY_AFTER_SECONDS }
    if (watchers.size >= watchersMax) {
      throw new Failure('TOO_MANY_WATCHERS', texts.tooManyWatchers(watchersMax), { headers })
    }
    if ((byCaller.get(caller) ?? 0) >= watchersPerCaller) {
      throw new Failure('TOO_MANY_REQUESTS', texts.tooManyStreams(watchersPerCaller), { headers })
    }
  }

  function count(caller: string | undefined, more: number): void {
    const total = (byCaller.get(caller) ?? 0) + more
    if (total > 0) byCaller.set(caller, total)
    else byCaller.delete(caller)
  }

  function enter(targets: Entity[]): Channel {
    const name = targets.map(nameOf).join(' ')
    const channel = channels.get(name) ?? createChannel(targets.map(watch))
    channels.set(name, channel)
    return channel

    function watch(entity: Entity): WatchedEntity {
      const name = nameOf(entity)
      const watched =
        entities.get(name) ??
        createWatched(entity, { read, intervalMs, onFailure: failed, isOver, now, pollMs: restMs })
      entities.set(name, watched)
      return watched
    }
  }

  function exit(targets: Entity[], channel: Channel): void {
    if (channel.wakes.size > 0) return
    channel.close()
    channels.delete(targets.map(nameOf).join(' '))
    for (const [index, watched] of channel.watched.entries()) {
      if (watched.wakes.size > 0) continue
      watched.close()
      entities.delete(nameOf(targets[index]!))
    }
  }

  /**
   * Watches entities, none of them twice: first a snapshot, or nothing but a heartbeat when `lastEventId` names the state
   * that they are in; then what changes. While the store does not answer, `stale` comes first. A feed that was closed tells
   * nothing.
   * @throws {Failure} TOO_MANY_WATCHERS, TOO_MANY_REQUESTS; TOO_LARGE for more locks than are read
   */
  async function open(
    targets: Entity[],
    { lastEventId, caller }: WatchOptions = {}
  ): Promise<FeedWatcher> {
    if (isClosed) {
      return { heartbeatMs, next: async () => undefined, turnTo: async () => {}, leave() {} }
    }
    admit(caller)
    let present = targets
    let channel = enter(present)
    let position = -1
    let backlog: Batch = []
    let beatAt = performance.now() + heartbeatMs
    let beat: NodeJS.Timeout | undefined
    let wake: (() => void) | undefined
    const wakeUp = () => wake?.()

    function leave(): void {
      if (!watchers.delete(leave)) return
      count(caller, -1)
      clearTimeout(beat)
      part(present, channel)
      wakeUp()
    }

    function part(watched: Entity[], channel: Channel): void {
      channel.wakes.delete(wakeUp)
      exit(watched, channel)
    }

    function planBeat(): void {
      clearTimeout(beat)
      beatAt = performance.now() + heartbeatMs
      beat = setTimeout(() => {
        // A timer may be early.
        beatAt = 0
        wakeUp()
      }, heartbeatMs)
    }

    watchers.set(leave, caller)
    count(caller, 1)
    await join(channel)
    position = channel.positionOf(lastEventId)
    // A watcher that left meanwhile must leave no timer behind.
    if (watchers.has(leave)) planBeat()
    if (position >= 0) beatAt = 0

    async function join(channel: Channel): Promise<void> {
      channel.wakes.add(wakeUp)
      for (const watched of channel.watched) watched.freshen()
      if (channel.isStale()) {
        // The store is away, so nobody waits for it; what nobody has watched before is read all the same.
        for (const watched of channel.watched) {
          if (!watched.state() && !watched.isStale()) watched.poke()
        }
        return
      }
      try {
        await forEach(channel.watched, ({ refresh }) => refresh())
      } catch (error) {
        if (!isOutage(error)) {
          leave()
          throw error
        }
        failed(error)
      }
    }

    async function turnTo(newEntities: Entity[]): Promise<void> {
      const other = enter(newEntities)
      await join(other).finally(() => {
        if (!watchers.has(leave)) part(newEntities, other)
      })
      if (!watchers.has(leave)) return
      // What was joined has been read, or is stale.
      const first = other.after(-1)!
      backlog = [...backlog, ...channel.savedAfter(position), ...first.batch]
      part(present, channel)
      present = newEntities
      channel = other
      position = first.position
    }

    async function next(): Promise<Batch | undefined> {
      while (watchers.has(leave)) {
        if (performance.now() >= beatAt) {
          planBeat()
          return HEARTBEAT
        }
        if (backlog.length > 0) {
          const batch = backlog
          backlog = []
          return batch
        }
        const news = channel.after(position)
        if (news) {
          position = news.position
          return news.batch
        }
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
      return undefined
    }

    return { heartbeatMs, next, turnTo, leave }
  }

  /**
   * Call this before every write to an entity, and the function that it returns afterwards, with the known state of the
   * fields and whether that is all. Watchers of the entity get these changes at once. The next read, within an interval,
   * finds the rest.
   */
  function writing(entity: Entity): (left: Changes, isSure?: boolean) => void {
    const name = nameOf(entity)
    const source = entities.get(name)
    const over = source?.writing()
    const began = now()
    return (changes, isSure = true) => {
      if (notices?.isUp()) {
        over?.()
        return written(entity, noticeOf(entity, { began, ended: now(), isSure }, changes))
      }
      over?.(changes)
      // Somebody has begun to watch it meanwhile: the first read may have missed the write.
      const present = entities.get(name)
      if (present !== source) present?.soon(0)
    }
  }

  /** To be called after a write that only a read shows: whoever watches the entity, here or at another instance, has it read again. */
  function stir(entity: Entity): void {
    const moment = now()
    entities.get(nameOf(entity))?.soon(0)
    notices?.tell(noticeOf(entity, { began: moment, ended: moment, isSure: false }, new Map()))
  }

  /** Tells the watchers of the entity that it was saved. */
  function saved(saved: EditionSave): void {
    const watched = entities.get(nameOf({ type: saved.entityType, id: saved.entityId }))
    for (const channel of channels.values()) {
      if (watched && channel.watched.includes(watched)) channel.tell({ event: 'saved', saved })
    }
  }

  /** Tells everybody of a write. A write that has changed nothing was refused, for a reason that only a read can show. */
  function written(entity: Entity, notice: LockNotice): void {
    const { isSure, fields } = notice
    const isRefused = isSure && fields.length === 0
    const watched = entities.get(nameOf(entity))
    if (isRefused) return watched?.soon(0)
    notices!.tell(notice)
    watched?.hear(notice)
  }

  /**
   * Call this when notices of any instance have begun to come, or have stopped. Every watched entity is then read once, as
   * soon as the limit on reads allows, since notices may have been lost.
   */
  function catchUp(): void {
    pace = undefined
    const [withinMs] = paceOf([entities.size], pollMs)
    for (const watched of entities.values()) watched.soon(Math.random() * withinMs!)
  }

  return {
    watch: open,
    writing,
    stir,
    saved,
    /** Takes in what another instance tells of a write. */
    hear: (notice: LockNotice): void => entities.get(nameOf(notice))?.hear(notice),
    catchUp,
    /** How much is watched, and by how many. */
    counts: () => ({ watchers: watchers.size, entities: entities.size }),
    /** Ends every watcher, and those that are still to come. */
    close: () => {
      isClosed = true
      for (const leave of [...watchers.keys()]) leave()
    }
  }
}
