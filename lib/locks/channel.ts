import {
  eventsBetween,
  stateId,
  presentOf,
  type Batch,
  type FeedEvent,
  type State
} from './feed-events.ts'
import type { WatchedEntity } from './watched.ts'

/**
 * How many watchers are woken in one turn of the event loop: requests are answered between two
 * turns.
 */
const AT_ONCE = 50

/**
 * How many batches the channel keeps for busy watchers, and for how long (in milliseconds). A
 * watcher that is further behind gets a snapshot.
 */
const RECENT = 16
const RECENT_MS = 5000

const STALE: FeedEvent = { event: 'stale' }
const LIVE: FeedEvent = { event: 'live' }

/** Some entities, and the events that all watchers of just these share. */
interface ChannelContext {
  sources: WatchedEntity[]
  /** What wakes each watcher. Called, a few in a turn of the event loop, after every change. */
  wakes: Set<() => void>
  /** The watchers that have not been woken since the last change. */
  dueWakes: Set<() => void>
  /** The number of the last change. */
  revision: number
  /** The newest changes; the last one led to this revision. */
  recent: Batch[]
  /** The states of all entities; undefined until each has been read. */
  states: State[] | undefined
  isStale: boolean
  /** The name of the present state, once somebody has asked for it. */
  id: string | undefined
  /** The present state for a new watcher, once one has come. */
  allEvents: Batch | undefined
  /** The same for a watcher that was told `stale`. */
  liveEvents: Batch | undefined
  /** The revision at which the store answered again. */
  liveAt: number
  wakeTurn: NodeJS.Immediate | undefined
  /** Empties `recent`. */
  recentTimer: NodeJS.Timeout | undefined
}

export type Channel = ReturnType<typeof createChannel>

/**
 * The events of some entities, made once for all watchers of just these. A watcher has no queue,
 * only the number of the last revision that it got. One that keeps up gets every change. One that
 * is behind gets the present state.
 */
export function createChannel(sources: WatchedEntity[]) {
  const channel: ChannelContext = {
    sources,
    wakes: new Set(),
    dueWakes: new Set(),
    revision: 0,
    recent: [],
    states: undefined,
    isStale: false,
    id: undefined,
    allEvents: undefined,
    liveEvents: undefined,
    liveAt: 0,
    wakeTurn: undefined,
    recentTimer: undefined
  }
  const onChange = () => update(channel)
  for (const { wakes } of sources) wakes.add(onChange)
  update(channel)

  return {
    watched: sources,
    wakes: channel.wakes,
    isStale: () => channel.isStale,
    tell: (event: FeedEvent) => tellWatchers(channel, event),
    after: (position: number) => eventsAfter(channel, position),
    savedAfter: (position: number) => savesAfter(channel, position),
    positionOf: (lastEventId: string | undefined) => positionOf(channel, lastEventId),
    close: () => closeChannel(channel, onChange)
  }
}

/** Makes the events that lead from the last state of the entities to the present one. */
function update(channel: ChannelContext): void {
  const { states: before, isStale: wasStale, sources } = channel
  const present = sources.map(({ state }) => state())
  const isStale = sources.some((source) => source.isStale())
  const states = present.every((state) => state !== undefined) ? present : undefined
  channel.isStale = isStale
  channel.states = states
  const isLost = isStale && !wasStale
  if (!states) {
    if (isLost) push(channel, [STALE])
    return
  }
  if (wasStale && !isStale) {
    channel.liveAt = channel.revision + 1
    return push(channel, [LIVE, ...presentEvents(channel)])
  }
  if (!before) return push(channel, presentEvents(channel))
  const changes = eventsBetween(before, states)
  if (isLost) changes.unshift(STALE)
  if (changes.length > 0) push(channel, changes)
}

/** All events for a watcher that has had none yet. */
function presentEvents({ isStale, states }: ChannelContext): FeedEvent[] {
  return [...(isStale ? [STALE] : []), ...(states ? presentOf(states) : [])]
}

function push(channel: ChannelContext, batch: Batch): void {
  const { recent, wakes, dueWakes } = channel
  channel.revision++
  channel.id = undefined
  channel.allEvents = undefined
  channel.liveEvents = undefined
  recent.push(batch)
  if (recent.length > RECENT) recent.shift()
  channel.recentTimer =
    channel.recentTimer?.refresh() ?? setTimeout(() => forgetRecent(channel), RECENT_MS)
  for (const wake of wakes) dueWakes.add(wake)
  channel.wakeTurn ??= setImmediate(wakeSome, channel)
}

function forgetRecent({ recent }: ChannelContext): void {
  recent.length = 0
}

function wakeSome(channel: ChannelContext): void {
  const { dueWakes } = channel
  let count = AT_ONCE
  for (const wake of dueWakes) {
    dueWakes.delete(wake)
    wake()
    if (--count === 0) break
  }
  channel.wakeTurn = dueWakes.size > 0 ? setImmediate(wakeSome, channel) : undefined
}

/** Tells an event that is not part of the state. A watcher that is behind does not get it. */
function tellWatchers(channel: ChannelContext, event: FeedEvent): void {
  if (channel.states) push(channel, [event])
}

/**
 * The events for a watcher at `position`, and its position after them; undefined if there is no
 * news.
 */
function eventsAfter(
  channel: ChannelContext,
  position: number
): { batch: Batch; position: number } | undefined {
  const { revision, recent, states, isStale, liveAt } = channel
  if (position === revision || (!states && !isStale)) return undefined
  const next = recent[recent.length - (revision - position)]
  if (next) return { batch: next, position: position + 1 }
  const wasToldStale = position >= 0 && position < liveAt && !isStale
  const batch = wasToldStale
    ? (channel.liveEvents ??= [LIVE, ...presentEvents(channel)])
    : (channel.allEvents ??= presentEvents(channel))
  return { batch, position: revision }
}

/** The events of saves since a position, as far as they are kept. */
function savesAfter({ recent, revision }: ChannelContext, position: number): Batch {
  return recent
    .slice(Math.max(0, recent.length - (revision - position)))
    .flat()
    .filter(({ event }) => event === 'saved')
}

/**
 * The position of a watcher whose earlier stream ended with a state; before the beginning if that
 * is not the present state.
 */
function positionOf(channel: ChannelContext, lastEventId: string | undefined): number {
  const { isStale, states, revision } = channel
  if (isStale || !states) return -1
  channel.id ??= stateId(states)
  return lastEventId === channel.id ? revision : -1
}

function closeChannel({ sources, wakeTurn, recentTimer }: ChannelContext, onChange: () => void) {
  for (const { wakes } of sources) wakes.delete(onChange)
  clearImmediate(wakeTurn)
  clearTimeout(recentTimer)
}
