import type { Held, QuoinError } from '../client/src/client.ts'
import { known } from './known.ts'

/** The copy of a text in its lock, as far as it is known. */
export function createCopy () {
  let sent: string | undefined
  let arrived: string | undefined
  /** What went to the lock from here, since what arrived last. */
  let own = new Set<string>()
  /** How often it has begun anew: what was sent before says nothing of what is in the lock since. */
  let begun = 0

  /** Begins anew, with what a lock that was granted has in it. */
  function begin (text?: string): void {
    begun++
    sent = arrived = text
  }

  return {
    /** What was sent to the lock last, or found in it. */
    get sent () { return sent },
    /** What is known to be in it. */
    get arrived () { return arrived },
    begin,
    /** Whether a text that is found in the lock was sent from here, be it that no answer came. */
    isOwn: (text: string): boolean => own.has(text),
    /** Goes to the lock with the request for it. */
    give: (text: string): void => { own.add(text) },
    /** Sends a text to the lock. @returns why it is not there */
    async send (lock: Held, text: string): Promise<QuoinError | undefined> {
      sent = text
      own.add(text)
      const then = begun
      try {
        await lock.save(text)
        if (then !== begun) return
        arrived = text
        own = new Set([text])
      } catch (error) {
        if (then === begun) sent = arrived = undefined
        return known(error)
      }
    }
  }
}
