import { QuoinError, type Client, type Held } from '../lib/client/client.ts'

/** How long to wait for the board's next word, in milliseconds. */
const WAIT_MS = 5000

/** What the lock board says of a field. */
export interface Board {
  /** The version of its lock that was shown last. */
  version: () => string | undefined
  /** Resolves when the board says something new. */
  news: () => Promise<void>
}

export interface TakeoverDeps {
  locks: Client['locks']
  what: { type: string, id: string, fieldName: string }
  onLost: (error: QuoinError) => void
  board: Board
}

/**
 * Takes a lock from this user, in the version that the board showed last, so that no later news can be of an earlier one.
 * Whoever types writes a new one several times a second: then the board's next word is waited for.
 * @throws {QuoinError} LOCK_CHANGED when it is a third one's by now, or the board has nothing new to say
 */
export async function takeFrom (from: string | undefined, deps: TakeoverDeps): Promise<Held> {
  const { locks, what, onLost, board } = deps
  const version = board.version()
  try {
    return await locks.overwrite(what, { version, onLost })
  } catch (error) {
    if (!(error instanceof QuoinError) || error.code !== 'LOCK_CHANGED') throw error
    if (!error.lock) return locks.acquire(what, { onLost })
    if (error.lock.userData.uid !== from) throw error
    if (board.version() === version) await Promise.race([board.news(), new Promise((resolve) => setTimeout(resolve, WAIT_MS))])
    if (board.version() === version) throw error
    return takeFrom(from, deps)
  }
}
