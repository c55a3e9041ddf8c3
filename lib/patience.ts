import { abortable, type Signal } from './http/aborter.ts'

/** How long a loop tries, and how long it pauses between two tries, all in milliseconds. */
export interface PatienceOptions {
  waitMs: number
  /** The first pause and the longest one. Each is twice the one before, less up to a half. */
  firstPauseMs: number
  lastPauseMs: number
  /** Milliseconds that no setting of a clock changes. */
  monotonic: () => number
  wait: (ms: number) => Promise<unknown>
  /** A number from 0 to 1. */
  random: () => number
}

/** The patience of one loop that tries again. */
export interface Patience {
  /**
   * Pauses before the next try.
   * @returns false, without a pause, where the time does not suffice for it
   * @throws the signal's reason, as soon as it is aborted
   */
  pause (signal?: Signal): Promise<boolean>
}

/** Gives a loop that tries again a bound, pauses that grow, and the signal of its caller. */
export function createPatience (options: PatienceOptions): Patience {
  const { waitMs, firstPauseMs, lastPauseMs, monotonic, wait, random } = options
  const deadline = monotonic() + waitMs
  let longest = firstPauseMs

  async function pause (signal?: Signal): Promise<boolean> {
    if (signal?.aborted) throw signal.reason
    if (monotonic() + longest > deadline) return false
    const ms = longest * (1 - random() / 2)
    longest = Math.min(2 * longest, lastPauseMs)
    await abortable(wait(ms), signal)
    return true
  }

  return { pause }
}
