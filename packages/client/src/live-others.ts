import { follow, type Followed, type Follower } from './live-board.ts'
import { later } from './later.ts'
import { createLive, type Live } from './live-state.ts'
import type { Locks, User } from './locks.ts'
import type { LockedEntity, Presence } from './wire.ts'

export interface OthersState {
  /** The other users who have the entity open. */
  others: Presence[]
}

/** What of a client says who looks on. */
export interface OthersClient extends Follower {
  user: User | undefined
  locks: Pick<Locks, 'subscribe' | 'attend' | 'leave'>
}

export interface OthersOptions {
  /** What the page follows anyway, such as the id of the edition with its board: one stream for both. */
  stream?: Followed | undefined
}

/** The part of a document that is used here. */
interface PageVisibility {
  hidden: boolean
  addEventListener(type: string, listener: () => void, options: { signal: AbortSignal }): void
}

/** A user is shown for 90 seconds: as often the client says it again, in milliseconds. */
const AGAIN_MS = 40_000

/** After so long whoever was not told again since a snapshot has left, in milliseconds. */
const TOLD_MS = 1000

/** Says that the user has an entity open, while the page is seen, and who else does. */
export function liveOthers(
  client: OthersClient,
  entity: LockedEntity,
  { stream = entity }: OthersOptions = {}
): Live<OthersState> {
  const attend = createAttendance(client, entity)
  return createLive<OthersState>({ others: [] }, (signal, { put }) => {
    const say = attend(signal)
    const present = new Map<string, Presence>()
    let cancel = () => {}
    signal.addEventListener('abort', () => cancel())

    function tell(): void {
      put({ others: [...present.values()] })
    }

    follow(client, stream, signal, {
      locks(_locks, _isStale, isWhole) {
        if (!isWhole) return
        const before = [...present]
        cancel()
        cancel = later(TOLD_MS, () => {
          for (const [uid, presence] of before) {
            if (present.get(uid) === presence) present.delete(uid)
          }
          tell()
        })
      },
      present(presence) {
        const { entityType, entityId, userData, until } = presence
        if (entityType !== entity.type || entityId !== entity.id) return
        if (userData.uid === String(client.user?.uid)) {
          // Another window of the user was closed.
          if (until === 0) say()
          return
        }
        if (until === 0) present.delete(userData.uid)
        else present.set(userData.uid, presence)
        tell()
      }
    })
  })
}

/**
 * Says again and again that the user has an entity open. A failure only keeps them from being
 * shown. One request follows the other: a component that goes and comes back at once, as in
 * React's strict mode, must not be told as gone at last.
 * @returns begins it, until the signal is aborted, and returns what says it now
 */
function createAttendance({ locks }: OthersClient, entity: LockedEntity) {
  const page = (globalThis as { document?: PageVisibility }).document
  let [isHere, isTold] = [false, false]
  let sent = Promise.resolve()

  function send(isComing: boolean): void {
    sent = sent
      .then(() => {
        if (isHere !== isComing || (!isComing && !isTold)) return undefined
        isTold = isComing
        return isComing ? locks.attend(entity) : locks.leave(entity)
      })
      .catch(() => {})
  }

  return (signal: AbortSignal): (() => void) => {
    let cancel = () => {}

    function say(): void {
      cancel()
      if (signal.aborted || page?.hidden) return
      cancel = later(AGAIN_MS, say)
      send(true)
    }

    isHere = true
    signal.addEventListener('abort', () => {
      cancel()
      isHere = false
      send(false)
    })
    page?.addEventListener('visibilitychange', say, { signal })
    say()
    return say
  }
}
