import type { Client, LockView, Presence as Looker } from '../../client/src/client.ts'
import { failureOf } from './failures.ts'
import { nameOf } from './words.ts'

/**
 * After how long the page says again that its user looks on, in milliseconds: by itself that ends
 * after 90 seconds.
 */
const AGAIN_MS = 40_000

export interface PresenceDeps {
  locks: Pick<Client['locks'], 'attend' | 'leave'>
  entity: () => { type: string; id: string }
  /** The uid of who sits here. */
  uid: string
  onChange: () => void
}

/**
 * Says that this user looks on at an edition, as long as the page is seen, and knows who else does.
 */
export function createPresence({ locks, entity, uid, onChange }: PresenceDeps) {
  const others = new Map<string, Looker['userData']>()
  let [isOpen, isSeen, isTold] = [false, false, false]
  let retry: ReturnType<typeof setTimeout> | undefined

  /** A failure is not shown: the page says it again in time. */
  function say(): void {
    clearTimeout(retry)
    if (!isOpen || !isSeen) return
    retry = setTimeout(say, AGAIN_MS)
    isTold = true
    // This answer may come after the user has left.
    locks.attend(entity()).then(() => {
      if (!isTold) sayGone()
    }, failureOf)
  }

  function sayGone(): void {
    locks.leave(entity()).catch(failureOf)
  }

  return {
    /** The edition is there to be seen. */
    open(): void {
      isOpen = true
      say()
    },

    /**
     * The page is seen, or not any more. One in the background says nothing, so that its user is
     * soon gone.
     */
    see(is: boolean): void {
      if (is === isSeen) return
      isSeen = is
      say()
    },

    /** What a feed says of somebody who looks on. */
    hear({ entityType, entityId, userData, until }: Looker): void {
      const { type, id } = entity()
      if (entityType !== type || entityId !== id) return
      if (userData.uid === uid) {
        // Another window of this user was closed.
        if (until === 0) say()
        return
      }
      if (until === 0) others.delete(userData.uid)
      else others.set(userData.uid, userData)
      onChange()
    },

    /** A feed is about to tell anew who looks on. */
    begin(): void {
      others.clear()
    },

    /** The others who look on and are not at work, by their names. */
    besides(board: LockView[]): Array<Looker['userData']> {
      const atWork = new Set(board.map((lock) => lock.userData.uid))
      return [...others.values()]
        .filter((other) => !atWork.has(other.uid))
        .sort((one, other) => nameOf(one).localeCompare(nameOf(other)))
    },

    /** The page goes, or shows something else. */
    end(): void {
      isSeen = false
      clearTimeout(retry)
      if (isTold) sayGone()
      isTold = false
    }
  }
}
