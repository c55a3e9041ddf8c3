import type { Held, QuoinError } from '../../client/src/client.ts'
import { failureOf } from './failures.ts'

/** What this page knows of the text in a lock. */
export function createCopy() {
  let lastSent: string | undefined
  let arrived: string | undefined
  /** The texts that were sent since the last one that arrived. */
  let ownTexts = new Set<string>()
  /**
   * How many locks there were: an answer to a write of an earlier one says nothing of the present
   * one.
   */
  let lockCount = 0

  /** Begins anew with the text of a lock that was granted. */
  function begin(text?: string): void {
    lockCount++
    lastSent = arrived = text
  }

  return {
    /** The text that was sent last, or found in the lock. */
    get sent() {
      return lastSent
    },
    /** The text that the lock is known to have. */
    get arrived() {
      return arrived
    },
    begin,
    /** Whether a text in the lock was sent from here, with or without an answer. */
    isOwn: (text: string): boolean => ownTexts.has(text),
    /** Notes a text that goes with the request for the lock. */
    give: (text: string): void => {
      ownTexts.add(text)
    },
    /**
     * Sends a text to the lock.
     * @param age how long ago it was typed, in milliseconds
     * @returns the failure, if there was one
     */
    async send(lock: Held, text: string, age: number): Promise<QuoinError | undefined> {
      lastSent = text
      ownTexts.add(text)
      const then = lockCount
      try {
        await lock.save(text, { age })
        if (then !== lockCount) return
        arrived = text
        ownTexts = new Set([text])
      } catch (error) {
        if (then === lockCount) lastSent = arrived = undefined
        return failureOf(error)
      }
    }
  }
}
