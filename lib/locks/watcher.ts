import { forEach } from '../for-each.ts'
import type { Channel } from './channel.ts'
import type { Batch } from './feed-events.ts'
import {
  admitWatcher,
  countWatcher,
  enterChannel,
  exitChannel,
  warnOfFailure,
  type FeedContext
} from './feed-context.ts'
import type { Entity } from './schemas.ts'
import { isOutage } from './watched.ts'

const HEARTBEAT: Batch = [{ event: 'heartbeat' }]

export interface WatchOptions {
  /** The id of the last event that the caller has. */
  lastEventId?: string | undefined
  /** Whose watcher it is; those of a caller are counted. */
  caller?: string | undefined
}

export interface Watcher {
  /** Milliseconds between two heartbeats. */
  heartbeatMs: number
  /**
   * The next events, when there are some; nothing once the watcher has left or the feed was closed.
   */
  next: () => Promise<Batch | undefined>
  leave: () => void
}

/** A watcher of entities that can be others later. */
export interface FeedWatcher extends Watcher {
  /**
   * Watches other entities from now on. The next events are saves since the last batch, and then
   * the new snapshot.
   * @throws {Failure} TOO_LARGE for more locks than are read; the watcher has left then
   */
  turnTo: (entities: Entity[]) => Promise<void>
}

/** One watcher: the channel that it reads, and how far it has read. */
interface WatcherContext {
  feed: FeedContext
  caller: string | undefined
  targets: Entity[]
  channel: Channel
  /** The revision of the channel that the watcher has; -1 before the first. */
  position: number
  /** Events of the channels that it has left. */
  backlog: Batch
  /** When the next heartbeat is due. */
  beatAt: number
  beatTimer: NodeJS.Timeout | undefined
  /** Ends the wait of `next`. */
  resume: (() => void) | undefined
  /** What the channel calls after each change. */
  wake: () => void
  leave: () => void
}

/**
 * Watches entities, none of them twice: first a snapshot, or nothing but a heartbeat when
 * `lastEventId` names the state that they are in; then what changes. While the store does not
 * answer, `stale` comes first. A feed that was closed tells nothing.
 * @throws {Failure} TOO_MANY_WATCHERS, TOO_MANY_REQUESTS; TOO_LARGE for more locks than are read
 */
export async function watchLocks(
  feed: FeedContext,
  targets: Entity[],
  { lastEventId, caller }: WatchOptions = {}
): Promise<FeedWatcher> {
  const { heartbeatMs } = feed
  if (feed.isClosed) {
    return { heartbeatMs, next: async () => undefined, turnTo: async () => {}, leave() {} }
  }
  admitWatcher(feed, caller)
  const watcher = createWatcher(feed, targets, caller)
  feed.watchers.add(watcher.leave)
  countWatcher(feed, caller, 1)
  await joinChannel(watcher, watcher.channel)
  watcher.position = watcher.channel.positionOf(lastEventId)
  // A watcher that left meanwhile must leave no timer behind.
  if (isWatching(watcher)) planBeat(watcher)
  // A watcher that has the present state gets a heartbeat at once.
  if (watcher.position >= 0) watcher.beatAt = 0
  return {
    heartbeatMs,
    next: () => nextBatch(watcher),
    turnTo: (newTargets) => turnTo(watcher, newTargets),
    leave: watcher.leave
  }
}

function createWatcher(
  feed: FeedContext,
  targets: Entity[],
  caller: string | undefined
): WatcherContext {
  const watcher: WatcherContext = {
    feed,
    caller,
    targets,
    channel: enterChannel(feed, targets),
    position: -1,
    backlog: [],
    beatAt: feed.time.monotonic() + feed.heartbeatMs,
    beatTimer: undefined,
    resume: undefined,
    wake: () => watcher.resume?.(),
    leave: () => leaveFeed(watcher)
  }
  return watcher
}

function isWatching({ feed, leave }: WatcherContext): boolean {
  return feed.watchers.has(leave)
}

function leaveFeed(watcher: WatcherContext): void {
  const { feed, caller, targets, channel, wake } = watcher
  if (!feed.watchers.delete(watcher.leave)) return
  countWatcher(feed, caller, -1)
  clearTimeout(watcher.beatTimer)
  leaveChannel(watcher, targets, channel)
  wake()
}

/**
 * Has a channel wake the watcher, and its entities read.
 * @throws {Failure} TOO_LARGE for more locks than are read; the watcher has left then
 */
async function joinChannel(watcher: WatcherContext, channel: Channel): Promise<void> {
  channel.wakes.add(watcher.wake)
  for (const watched of channel.watched) watched.freshen()
  if (channel.isStale()) return readUnread(channel)
  try {
    await forEach(channel.watched, ({ refresh }) => refresh())
  } catch (error) {
    if (!isOutage(error)) {
      watcher.leave()
      throw error
    }
    warnOfFailure(watcher.feed, error)
  }
}

/**
 * The store is away, so nobody waits for it. Entities that nobody has watched before are read all
 * the same.
 */
function readUnread(channel: Channel): void {
  for (const watched of channel.watched) {
    if (!watched.state() && !watched.isStale()) watched.readInBackground()
  }
}

function leaveChannel({ feed, wake }: WatcherContext, targets: Entity[], channel: Channel): void {
  channel.wakes.delete(wake)
  exitChannel(feed, targets, channel)
}

function planBeat(watcher: WatcherContext): void {
  const { heartbeatMs, time } = watcher.feed
  clearTimeout(watcher.beatTimer)
  watcher.beatAt = time.monotonic() + heartbeatMs
  watcher.beatTimer = setTimeout(() => {
    // A timer may be early.
    watcher.beatAt = 0
    watcher.wake()
  }, heartbeatMs)
}

async function turnTo(watcher: WatcherContext, newTargets: Entity[]): Promise<void> {
  const newChannel = enterChannel(watcher.feed, newTargets)
  try {
    await joinChannel(watcher, newChannel)
  } finally {
    if (!isWatching(watcher)) leaveChannel(watcher, newTargets, newChannel)
  }
  if (!isWatching(watcher)) return
  const { backlog, targets, channel, position } = watcher
  // The new channel has been read, or is stale.
  const first = newChannel.after(-1)!
  watcher.backlog = [...backlog, ...channel.savedAfter(position), ...first.batch]
  leaveChannel(watcher, targets, channel)
  watcher.targets = newTargets
  watcher.channel = newChannel
  watcher.position = first.position
}

async function nextBatch(watcher: WatcherContext): Promise<Batch | undefined> {
  while (isWatching(watcher)) {
    if (watcher.feed.time.monotonic() >= watcher.beatAt) {
      planBeat(watcher)
      return HEARTBEAT
    }
    if (watcher.backlog.length > 0) {
      const batch = watcher.backlog
      watcher.backlog = []
      return batch
    }
    const news = watcher.channel.after(watcher.position)
    if (news) {
      watcher.position = news.position
      return news.batch
    }
    await new Promise<void>((resolve) => {
      watcher.resume = resolve
    })
  }
  return undefined
}
