import type { Listener } from './feed.ts'
import type { Editions } from './editions.ts'
import type { Locks } from './locks.ts'
import { createLive, type Live } from './live-state.ts'
import type { LockedEntity, LockView } from './wire.ts'

/** What of a client follows boards and entities. */
export interface Follower {
  locks: Pick<Locks, 'subscribe'>
  editions: Pick<Editions, 'subscribe'>
}

/** An edition by its id, for its board, or an entity, for its locks. */
export type Followed = string | number | LockedEntity

export interface BoardState {
  /** Who is at work: the last that the service knew. */
  locks: LockView[]
  /** Whether the stream is there, and the service can read the locks. */
  isLive: boolean
}

/** Who is at work in an edition and its articles, or in one entity. */
export function liveBoard(client: Follower, what: Followed): Live<BoardState> {
  return createLive<BoardState>({ locks: [], isLive: false }, (signal, { put }) => {
    follow(client, what, signal, {
      locks: (locks, isStale) => put({ locks, isLive: !isStale }),
      down: () => put({ isLive: false })
    })
  })
}

/** Follows the board of an edition, or the locks of an entity. */
export function follow(
  { locks, editions }: Follower,
  what: Followed,
  signal: AbortSignal,
  listener: Listener
): void {
  if (typeof what === 'object') locks.subscribe(what, listener, { signal })
  else editions.subscribe(what, listener, { signal })
}
