import { randomBytes } from 'node:crypto'
import type { Time } from '../time.ts'

/** In the order of their bytes, in which DynamoDB compares strings. */
const DIGITS = '-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz'
const TIME_LENGTH = 8
const TICKS_PER_MS = 32
/** A version that is further ahead than clocks differ tells no time: another program made it. */
const AHEAD = 3_600_000 * TICKS_PER_MS

const RANDOM_BYTES = 3

/** Random bytes, so many. */
export type Bytes = (size: number) => Buffer<ArrayBuffer>

/** A name of an instance for its versions: 4 of their characters. */
export const newInstance = (bytes: Bytes = randomBytes): string => bytes(3).toString('base64url')

/** The instance that made a version. */
export const instanceOf = (version: unknown): string => String(version).slice(-4)

/** The next version; greater than `last` too, where that is given and tells a time. */
export type NextVersion = (last?: unknown) => string

/**
 * Names that no other state of any record has: 48 bits of time, 24 random ones, and 24 that name
 * the instance. A later one of this instance is greater, and of another one as far as their clocks
 * agree.
 */
export function createVersions(
  time: Time,
  instance = newInstance(),
  bytes: Bytes = randomBytes
): NextVersion {
  let tick = 0
  /** For the versions to come: to ask for the bytes of each apart takes ten times as long. */
  let random = Buffer.alloc(0)

  return function next(last) {
    const present = Math.floor(time.now()) * TICKS_PER_MS
    const lastTick = tickOf(last)
    tick = Math.max(tick + 1, present, lastTick < present + AHEAD ? lastTick + 1 : 0)
    if (random.length === 0) random = bytes(256 * RANDOM_BYTES)
    const version = timeOf(tick) + random.toString('base64url', 0, RANDOM_BYTES) + instance
    random = random.subarray(RANDOM_BYTES)
    return version
  }
}

/**
 * Greater than the versions of before a time, in milliseconds since 1970, and smaller than those
 * from then on.
 */
export function versionAt(ms: number): string {
  return timeOf(Math.floor(ms) * TICKS_PER_MS)
}

/**
 * Whether a version is of a time later than this, as far as clocks differ; one that tells no time
 * is not.
 */
export function isSince(version: unknown, ms: number): boolean {
  const tick = tickOf(version)
  return (
    typeof version === 'string' && tick >= ms * TICKS_PER_MS && tick < ms * TICKS_PER_MS + AHEAD
  )
}

function timeOf(tick: number): string {
  let digits = ''
  for (let rest = tick; digits.length < TIME_LENGTH; rest = Math.floor(rest / DIGITS.length)) {
    digits = DIGITS[rest % DIGITS.length] + digits
  }
  return digits
}

function tickOf(version: unknown): number {
  return [...String(version ?? '').slice(0, TIME_LENGTH)].reduce(
    (tick, digit) => tick * DIGITS.length + DIGITS.indexOf(digit),
    0
  )
}
