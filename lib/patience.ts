import { abortable, type Signal } from './http/aborter.ts'
import type { Time } from './time.ts'

/** How long a loop tries, in milliseconds. */
export const WAIT_MS = 10_000

/**
 * The first pause between two tries and the longest one, in milliseconds. Each is twice the one
 * before, less up to a half.
 */
const FIRST_PAUSE_MS = 25
const LAST_PAUSE_MS = 500

/** The patience of one loop that tries again. */
export interface Patience {
  /**
   * Pauses before the next try.
   * @returns false, without a pause, where the time does not suffice for it
   * @throws the signal's reason, as soon as it is aborted
   */
  pause(signal?: Signal): Promise<boolean>
}

/** Gives a loop that tries again a bound, pauses that grow, and the signal of its caller. */
export function createPatience(time: Time): Patience {
  const deadline = time.monotonic() + WAIT_MS
  let longest = FIRST_PAUSE_MS

  async function pause(signal?: Signal): Promise<boolean> {
    if (signal?.aborted) throw signal.reason
    if (time.monotonic() + longest > deadline) return false
    const ms = longest * (1 - time.random() / 2)
    longest = Math.min(2 * longest, LAST_PAUSE_MS)
    await abortable(time.wait(ms), signal)
    return true
  }

  return { pause }
}
