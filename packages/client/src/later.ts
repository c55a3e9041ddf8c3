/** Runs something after so many milliseconds, unless what it returns is called before. */
export type Later = (ms: number, run: () => void) => () => void

/** The longest delay of a timer. With a longer one it would run at once. */
const LONGEST_MS = 2 ** 31 - 1

export const later: Later = (ms, run) => {
  const timer = setTimeout(run, Math.min(ms, LONGEST_MS))
  return () => clearTimeout(timer)
}

const FIRST_MS = 1000
const MOST_MS = 30_000

/**
 * How long to wait after so many failures in a row, in milliseconds: twice as long each time, and
 * not all at the same moment.
 * @param retryAfter the least, in seconds
 */
export function backoff(failures: number, retryAfter = 0): number {
  return Math.max(
    retryAfter * 1000,
    Math.min(MOST_MS, FIRST_MS * 2 ** (failures - 1)) * (0.5 + Math.random() / 2)
  )
}
