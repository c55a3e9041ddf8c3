import { QuoinError, type Client, type Held, type LockView } from '../../client/src/client.ts'

/**
 * Compares two states of a lock board.
 * @param uid the uid of who sits here
 * @returns the locks that this user has taken, and those that others have taken or released
 */
export function changesOf(
  before: LockView[],
  now: LockView[],
  uid: string
): Record<'takeovers' | 'starts' | 'ends', LockView[]> {
  const keyOf = ({ fieldName, userData }: LockView) => `${fieldName} ${userData.uid}`
  const missing = (some: LockView[], others: LockView[]) => {
    const keys = new Set(others.map(keyOf))
    return some.filter((lock) => !keys.has(keyOf(lock)))
  }
  const isMine = ({ userData }: LockView) => userData.uid === uid
  const came = missing(now, before)
  return {
    takeovers: came.filter(isMine),
    starts: came.filter((lock) => !isMine(lock)),
    ends: missing(before, now).filter((lock) => !isMine(lock))
  }
}

/**
 * What a lock is on: the id of the entity, and the language where it is on one translation alone.
 */
export function partsOf({ entityId }: Pick<LockView, 'entityId'>): {
  id: string
  language: string | undefined
} {
  const [id, language] = entityId.split(':') as [string, string | undefined]
  return { id, language }
}

/** How long to wait for the board's next word, in milliseconds. */
const WAIT_MS = 5000
/** How often a lock is taken that changes at once. */
const TRIES = 10

export type FieldBoard = ReturnType<typeof createBoard>

/** What the lock board says of one field. */
export function createBoard() {
  let current: LockView | undefined
  /** The version of a lock that is over. */
  let endedVersion: string | undefined
  let news = Promise.withResolvers<void>()
  return {
    /** The lock that was shown last. */
    get current() {
      return current
    },
    /** Resolves when the board says something new. */
    get news() {
      return news.promise
    },
    end(version: string | undefined): void {
      endedVersion = version
    },
    /** Whether a late event tells of a lock that is over. */
    isOver: (lock: LockView | undefined): boolean =>
      lock?.version !== undefined && lock.version === endedVersion,
    show(lock: LockView | undefined): void {
      current = lock
      news.resolve()
      news = Promise.withResolvers()
    }
  }
}

export interface TakeoverDeps {
  locks: Client['locks']
  what: { type: string; id: string; fieldName: string }
  onLost: (error: QuoinError) => void
  board: FieldBoard
}

/**
 * Takes a lock from this user, in the version that the board showed last. A user who types writes
 * new versions all the time: then this waits for the board to show the next one, and tries again,
 * ten times at most.
 * @throws {QuoinError} LOCK_CHANGED when a third user has the field by now, the board shows nothing
 *   new in time, or the lock has changed at every try
 */
export async function takeFrom(
  from: string | undefined,
  deps: TakeoverDeps,
  tries = 1
): Promise<Held> {
  const { locks, what, onLost, board } = deps
  const version = board.current?.version
  try {
    return await locks.overwrite(what, { version, onLost })
  } catch (error) {
    if (!(error instanceof QuoinError) || error.code !== 'LOCK_CHANGED') throw error
    if (!error.lock) return locks.acquire(what, { onLost })
    if (error.lock.userData.uid !== from) throw error
    if (board.current?.version === version) {
      await Promise.race([board.news, new Promise((resolve) => setTimeout(resolve, WAIT_MS))])
    }
    if (board.current?.version === version || tries === TRIES) throw error
    return takeFrom(from, deps, tries + 1)
  }
}
