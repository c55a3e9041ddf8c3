import { setTimeout as sleep } from 'node:timers/promises'

/** The clocks, the pauses and the random numbers of whatever goes by time. */
export interface Time {
  /**
   * Milliseconds since 1970. What concerns the table goes by the store's clock
   * (lib/table/clock.ts).
   */
  now: () => number
  /** Resolves when `now` is right; undefined where it is already. */
  ready: () => Promise<void> | undefined
  /** Milliseconds that no setting of a clock changes, from any start. */
  monotonic: () => number
  /** Resolves after so many milliseconds. */
  wait: (ms: number) => Promise<unknown>
  /** A number from 0 to 1, to spread what many would do at the same moment. */
  random: () => number
}

/** This machine's. */
export const systemTime: Time = {
  now: () => Date.now(),
  ready: () => undefined,
  monotonic: () => performance.now(),
  wait: sleep,
  random: () => Math.random()
}
