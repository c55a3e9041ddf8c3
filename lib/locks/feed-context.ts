import { Failure, texts } from '../errors.ts'
import { createChannel, type Channel } from './channel.ts'
import type { LocksAndSigns } from './feed-events.ts'
import type { LockNotice } from './notice.ts'
import { paceOf } from './pace.ts'
import type { Entity, LockView } from './schemas.ts'
import { createWatched, URGENCIES, type Urgency, type WatchedEntity } from './watched.ts'
import type { Time } from '../time.ts'

const RETRY_AFTER_SECONDS = '30'

/** How many event streams one instance serves. Ten thousand connections are the most it takes. */
export const STREAMS = 2000

/** How many of them one caller may have who is known by name. */
export const STREAMS_PER_CALLER = 100

/** Milliseconds between two heartbeats of a stream: balancers end what is silent for 60 seconds. */
export const HEARTBEAT_MS = 15_000

/** Milliseconds between two warnings that entities cannot be read. */
const WARN_MS = 60_000

export interface FeedOptions {
  /** Milliseconds between two reads of a watched entity, which find what other instances write. */
  pollMs?: number
  /**
   * The same while notices tell what others write. A write whose notice was lost is found this
   * late.
   */
  noticedPollMs?: number
  /**
   * Milliseconds between the beginnings of two reads of an entity, at least, however much is
   * written to it.
   */
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
  /**
   * Whether notices come in time. Where they come of all instances, the table is only read for
   * those that have been lost.
   */
  isUp: () => boolean
  /** Whether notices come of all instances. */
  hearsAll: () => boolean
  tell: (notice: LockNotice) => void
}

export interface FeedDeps extends FeedOptions {
  /**
   * The locks of an entity as they are now, and its signs: consistent, complete, without payloads.
   */
  read: (entity: Entity) => Promise<LocksAndSigns>
  /** Whether the lease of a lock is over. */
  isOver?: (lock: LockView) => boolean
  time?: Time
}

/** All that is watched, and by whom. */
export interface FeedContext extends Required<Omit<FeedDeps, 'warn' | 'notices'>> {
  warn: FeedDeps['warn']
  notices: Notices | undefined
  /** The entities that somebody watches, by name. */
  entities: Map<string, WatchedEntity>
  /** Their channels, by the names of all their entities. */
  channels: Map<string, Channel>
  /** What ends each watcher. */
  watchers: Set<() => void>
  /** How many watchers each caller has. */
  byCaller: Map<string | undefined, number>
  /** When `warn` was last called. */
  warnedAt: number
  /** Milliseconds between two reads of an entity of each urgency, and when they were computed. */
  pace: Record<Urgency, number> | undefined
  pacedAt: number
  isClosed: boolean
}

export function entityName({ type, id }: Entity): string {
  return `${type}-${id}`
}

/** @throws {Failure} TOO_MANY_WATCHERS, TOO_MANY_REQUESTS */
export function admitWatcher(feed: FeedContext, caller: string | undefined): void {
  const { watchers, watchersMax, byCaller, watchersPerCaller } = feed
  const headers = { 'retry-after': RETRY_AFTER_SECONDS }
  if (watchers.size >= watchersMax) {
    throw new Failure('TOO_MANY_WATCHERS', texts.tooManyWatchers(watchersMax), { headers })
  }
  if ((byCaller.get(caller) ?? 0) >= watchersPerCaller) {
    throw new Failure('TOO_MANY_REQUESTS', texts.tooManyStreams(watchersPerCaller), { headers })
  }
}

/** Counts a watcher of a caller. @param more 1 for one that comes, -1 for one that leaves */
export function countWatcher(
  { byCaller }: FeedContext,
  caller: string | undefined,
  more: 1 | -1
): void {
  const total = (byCaller.get(caller) ?? 0) + more
  if (total > 0) byCaller.set(caller, total)
  else byCaller.delete(caller)
}

/** The channel of some entities; a new one if nobody watches just these. */
export function enterChannel(feed: FeedContext, targets: Entity[]): Channel {
  const name = channelName(targets)
  const channel =
    feed.channels.get(name) ?? createChannel(targets.map((entity) => watchEntity(feed, entity)))
  feed.channels.set(name, channel)
  return channel
}

function channelName(targets: Entity[]): string {
  return targets.map(entityName).join(' ')
}

function watchEntity(feed: FeedContext, entity: Entity): WatchedEntity {
  const name = entityName(entity)
  const watched =
    feed.entities.get(name) ??
    createWatched(entity, {
      read: feed.read,
      intervalMs: (urgency) => intervalMs(feed, urgency),
      onFailure: (error) => warnOfFailure(feed, error),
      isOver: feed.isOver,
      time: feed.time,
      pollMs: feed.restMs
    })
  feed.entities.set(name, watched)
  return watched
}

/** Closes a channel that nobody watches any more, and its entities that no other channel has. */
export function exitChannel(feed: FeedContext, targets: Entity[], channel: Channel): void {
  if (channel.wakes.size > 0) return
  channel.close()
  feed.channels.delete(channelName(targets))
  for (const [index, watched] of channel.watched.entries()) {
    if (watched.wakes.size > 0) continue
    watched.close()
    feed.entities.delete(entityName(targets[index]!))
  }
}

/** Milliseconds between two reads of an entity: those with locks come first. */
function intervalMs(feed: FeedContext, urgency: Urgency): number {
  const isDue = feed.time.monotonic() - feed.pacedAt > feed.pollMs
  if (!feed.pace || isDue) {
    feed.pace = computePace(feed)
    feed.pacedAt = feed.time.monotonic()
  }
  return feed.pace[urgency]
}

function computePace(feed: FeedContext): Record<Urgency, number> {
  const sizes = { busy: 0, occupied: 0, fresh: 0, idle: 0 }
  for (const watched of feed.entities.values()) sizes[watched.urgency()]++
  const [busy, occupied, fresh, idle] = paceOf(
    URGENCIES.map((urgency) => sizes[urgency]),
    feed.notices?.hearsAll() ? feed.noticedPollMs : feed.pollMs,
    feed.readsPerSecond
  ) as [number, number, number, number]
  return { busy, occupied, fresh, idle }
}

/** Warns that a watched entity cannot be read, once a minute at most. */
export function warnOfFailure(feed: FeedContext, error: unknown): void {
  if (feed.time.monotonic() - feed.warnedAt < WARN_MS) return
  feed.warnedAt = feed.time.monotonic()
  feed.warn?.(error as Error)
}
