import {
  eventsBetween,
  stateId,
  presentOf,
  type Batch,
  type FeedEvent,
  type State
} from './feed-events.ts'
import type { WatchedEntity } from './watched.ts'

/** How many watchers are woken in one turn of the event loop: requests are answered between two turns. */
const AT_ONCE = 50

/** How many changes the channel keeps for busy watchers, and for how long (in milliseconds). A watcher that is further behind gets a snapshot. */
const RECENT = 16
const RECENT_MS = 5000

const STALE: FeedEvent = { event: 'stale' }
const LIVE: FeedEvent = { event: 'live' }

export type Channel = ReturnType<typeof createChannel>

/**
 * The events of some entities, made once for all watchers of just these. A watcher has no queue, only the number of the last
 * revision that it got. One that keeps up gets every change. One that is behind gets the present state.
 */
export function createChannel(sources: WatchedEntity[]) {
  /** Called, a few in a turn, after every change. */
  const wakes = new Set<() => void>()
  const dueListeners = new Set<() => void>()
  /** The newest changes. The last one led to this revision. */
  const recent: Batch[] = []
  let revision = 0
  let states: State[] | undefined
  let isStale = false
  let id: string | undefined
  /** The present state for a new watcher, and for a watcher that was told `stale`. */
  let allEvents: Batch | undefined
  let back: Batch | undefined
  /** The revision at which the store answered again. */
  let liveAt = 0
  let turn: NodeJS.Immediate | undefined
  let oblivion: NodeJS.Timeout | undefined

  function update(): void {
    const [before, wasStale] = [states, isStale]
    const present = sources.map(({ state }) => state())
    isStale = sources.some((each) => each.isStale())
    states = present.every((state) => state !== undefined) ? present : undefined
    if (!states) return isStale && !wasStale ? push([STALE]) : undefined
    if (wasStale && !isStale) {
      liveAt = revision + 1
      return push([LIVE, ...readAll()])
    }
    if (!before) return push(readAll())
    const changes = eventsBetween(before, states)
    if (isStale && !wasStale) changes.unshift(STALE)
    if (changes.length > 0) push(changes)
  }

  /** All events for a watcher that has had none yet. */
  function readAll(): FeedEvent[] {
    return [...(isStale ? [STALE] : []), ...(states ? presentOf(states) : [])]
  }

  function push(batch: Batch): void {
    revision++
    id = undefined
    allEvents = back = undefined
    recent.push(batch)
    if (recent.length > RECENT) recent.shift()
    oblivion =
      oblivion?.refresh() ??
      setTimeout(() => {
        recent.length = 0
      }, RECENT_MS)
    for (const wake of wakes) dueListeners.add(wake)
    turn ??= setImmediate(wakeSome)
  }

  function wakeSome(): void {
    let count = AT_ONCE
    for (const wake of dueListeners) {
      dueListeners.delete(wake)
      wake()
      if (--count === 0) break
    }
    turn = dueListeners.size > 0 ? setImmediate(wakeSome) : undefined
  }

  /** The events for a watcher at `position`, and its position after them; nothing if there is no news. */
  function after(position: number): { batch: Batch; position: number } | undefined {
    if (position === revision || (!states && !isStale)) return undefined
    const next = recent[recent.length - (revision - position)]
    if (next) return { batch: next, position: position + 1 }
    const isBack = position >= 0 && position < liveAt && !isStale
    const batch = isBack ? (back ??= [LIVE, ...readAll()]) : (allEvents ??= readAll())
    return { batch, position: revision }
  }

  /** The events of saves since a position, as far as they are kept. */
  function savedAfter(position: number): Batch {
    return recent
      .slice(Math.max(0, recent.length - (revision - position)))
      .flat()
      .filter(({ event }) => event === 'saved')
  }

  for (const { wakes } of sources) wakes.add(update)
  update()

  return {
    watched: sources,
    wakes,
    /** Tells an event that is not part of the state. A watcher that is behind does not get it. */
    tell: (event: FeedEvent) => states && push([event]),
    after,
    savedAfter,
    isStale: () => isStale,
    /** The position of a watcher whose earlier stream ended with a state; before the beginning if that is not the present state. */
    positionOf: (lastEventId: string | undefined) =>
      !isStale && states && lastEventId === (id ??= stateId(states)) ? revision : -1,
    close() {
      for (const { wakes } of sources) wakes.delete(update)
      clearImmediate(turn)
      clearTimeout(oblivion)
    }
  }
}
