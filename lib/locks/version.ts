import { randomBytes } from 'node:crypto'

/** In the order of their bytes, in which DynamoDB compares strings. */
const DIGITS = '-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz'
const TIME_LENGTH = 8
const TICKS_PER_MS = 32
/** A version that is further ahead than clocks differ tells no time: earlier releases made them of random bits alone. */
const AHEAD = 3_600_000 * TICKS_PER_MS

const RANDOM_BYTES = 6

/** The next version; greater than `last` too, where that is given and tells a time. */
export type NextVersion = (last?: unknown) => string

/**
 * Names that no other state of any record has: 48 bits of time, then 48 random ones. A later one of this process is
 * greater, and of another one as far as their clocks agree.
 * @param now milliseconds since 1970
 */
export function createVersions (now: () => number): NextVersion {
  let tick = 0
  /** For the versions to come: to ask for the bytes of each apart takes ten times as long. */
  let random = Buffer.alloc(0)

  return function next (last) {
    const present = Math.floor(now()) * TICKS_PER_MS
    const seen = tickOf(last)
    tick = Math.max(tick + 1, present, seen < present + AHEAD ? seen + 1 : 0)
    if (random.length === 0) random = randomBytes(256 * RANDOM_BYTES)
    const version = timeOf(tick) + random.toString('base64url', 0, RANDOM_BYTES)
    random = random.subarray(RANDOM_BYTES)
    return version
  }
}

function timeOf (tick: number): string {
  let digits = ''
  for (let rest = tick; digits.length < TIME_LENGTH; rest = Math.floor(rest / DIGITS.length)) digits = DIGITS[rest % DIGITS.length] + digits
  return digits
}

function tickOf (version: unknown): number {
  return [...String(version ?? '').slice(0, TIME_LENGTH)].reduce((tick, digit) => tick * DIGITS.length + DIGITS.indexOf(digit), 0)
}
