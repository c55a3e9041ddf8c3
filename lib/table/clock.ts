import { Failure, texts } from '../errors.ts'
import { systemTime, type Time } from '../time.ts'

/**
 * `Date` has whole seconds (RFC 9110 section 5.6.7), so the store's time lies within a second from
 * it, in milliseconds.
 */
const RESOLUTION_MS = 1000

/**
 * How fast two clocks may drift apart: 100 parts in a million, twice what the crystals of servers
 * do.
 */
const DRIFT = 1e-4

/**
 * How many answers have to contradict the offset, and agree among each other, before they are
 * believed. A single one may come from an odd server.
 */
const CONTRADICTIONS = 3

/**
 * An answer that is off by less, in milliseconds, counts as a contradiction but lets the work go
 * on: a busy server may send the `Date` that it made a moment before, as Node does.
 */
const LATE_MS = 1000

/** How long a measurement may take, in milliseconds. */
const MEASURE_MS = 5000

/**
 * From this difference on, in milliseconds, the machine's clock was set, or the machine was
 * suspended.
 */
const STEP_MS = 250

/**
 * The offset at which Quoin warns the operator, and the one below which it says that all is well,
 * in milliseconds.
 */
export const SKEWED_MS = 2000
const RIGHT_MS = 1000

export interface ClockOptions {
  /**
   * This machine's. On some systems the monotonic clock stands still while the machine is
   * suspended.
   */
  time?: Time | undefined
  /**
   * Hears when the offset passes two seconds, and when it is small again.
   * @param offset in milliseconds
   */
  onSkew?: ((offset: number) => void) | undefined
}

/** A moment at which something was sent. */
export interface ClockMark {
  /** By the monotonic clock. */
  at: number
  /** How many steps had been seen. */
  steps: number
}

/** What the store's clock may show, less the monotonic one; in milliseconds. */
interface Interval {
  earliest: number
  latest: number
}

/** What is known of the store's clock, and of this machine's two. */
interface ClockContext {
  wall: () => number
  monotonic: () => number
  onSkew: (offset: number) => void
  /** What the answers so far leave of the offset; undefined before the first that told the time. */
  known: Interval | undefined
  /** What answers tell that contradict `known`, and how many have told it. */
  rival: (Interval & { count: number }) | undefined
  /** When an answer last told the time, by the monotonic clock. */
  observedAt: number
  /** The machine's clock less the monotonic one, when it was last right. */
  base: number
  /** The same at the last look. */
  difference: number
  /** How many steps of the machine's clock there were. */
  steps: number
  /** Whether the clock is measured before anything is decided. */
  isDoubtful: boolean
  /**
   * Whether a measurement was answered without a time that counts. An engine may send none: to ask
   * again would cost every operation a request.
   */
  isTimeless: boolean
  isSkewed: boolean
  /** Sends one request to the store. */
  measure: ((signal: AbortSignal) => Promise<unknown>) | undefined
  /** The measurement that is under way. */
  measurement: Promise<void> | undefined
}

export type Clock = ReturnType<typeof createClock>

/**
 * The store's clock, as far as its answers tell it. All instances share the store, so leases,
 * versions and signatures that go by its clock agree, whatever the clocks of the machines say.
 *
 * Time runs on the monotonic clock. Each answer limits its offset to an interval: the store wrote
 * its `Date` between our sending and our receiving. The intervals of successive answers are
 * intersected, which narrows a whole second to about the duration of a request. As long as this
 * machine's clock is within the interval, it gives the offset.
 *
 * The two clocks of the machine are compared at every look. Where they have moved apart, this
 * machine's clock was set, or the machine was suspended, during which the monotonic clock may stand
 * still. Then, and where an answer contradicts the interval, `ready()` measures before anything is
 * decided. Before the first answer with a time the machine's clock counts.
 */
export function createClock({ time = systemTime, onSkew = () => {} }: ClockOptions) {
  const { now: wall, monotonic } = time
  const observedAt = monotonic()
  const base = wall() - monotonic()
  const clock: ClockContext = {
    wall,
    monotonic,
    onSkew,
    known: undefined,
    rival: undefined,
    observedAt,
    base,
    difference: base,
    steps: 0,
    isDoubtful: false,
    isTimeless: false,
    isSkewed: false,
    measure: undefined,
    measurement: undefined
  }
  return {
    offset: () => offsetOf(clock),
    /** The store's time. */
    time: { ...time, now: () => storeTime(clock), ready: () => readyClock(clock) },
    mark: (): ClockMark => markMoment(clock),
    observe: (date: unknown, sent: ClockMark) => observeDate(clock, date, sent),
    /**
     * From now on `ready()` measures before anything is written.
     * @param request sends one request to the store
     */
    start(request: (signal: AbortSignal) => Promise<unknown>): void {
      clock.measure = request
    }
  }
}

/** The store's clock less this machine's, in milliseconds; 0 while that is possible. */
function offsetOf(clock: ClockContext): number {
  look(clock)
  return skewOf(clock)
}

/** Whole milliseconds since 1970 by the store's clock. */
function storeTime(clock: ClockContext): number {
  return Math.floor(look(clock) + shiftOf(clock))
}

/** The present moment, for `observeDate`. */
function markMoment(clock: ClockContext): ClockMark {
  const at = look(clock)
  return { at, steps: clock.steps }
}

/**
 * Learns from an answer of the store.
 * @param date its header field `Date`; without one, or with a wrong one, nothing is learnt
 * @param sent when the request was sent. Where a step was seen since, nothing tells when that was
 */
function observeDate(clock: ClockContext, date: unknown, sent: ClockMark): void {
  const time = Date.parse(String(date))
  const receivedAt = look(clock)
  if (Number.isNaN(time) || sent.steps !== clock.steps) return
  const interval = { earliest: time - receivedAt, latest: time + RESOLUTION_MS - sent.at }
  const drift = (receivedAt - clock.observedAt) * DRIFT
  clock.observedAt = receivedAt
  if (!clock.known) return believe(clock, interval)
  const known = { earliest: clock.known.earliest - drift, latest: clock.known.latest + drift }
  clock.known = known
  const both = common(known, interval)
  if (!both) return contradict(clock, interval, known)
  clock.known = both
  settleClock(clock)
}

/**
 * Resolves when the clock is right. Undefined where it is already, so that nobody waits.
 * @throws what the request throws, where the store does not tell its time; {Failure}
 *   STORE_UNAVAILABLE
 */
function readyClock(clock: ClockContext): Promise<void> | undefined {
  look(clock)
  if (!clock.measure || !needsMeasurement(clock)) return undefined
  clock.measurement ??= measureUntilSure(clock, clock.measure).finally(() => {
    clock.measurement = undefined
  })
  return clock.measurement
}

/** Compares the two clocks of this machine. @returns the monotonic one */
function look(clock: ClockContext): number {
  const before = clock.monotonic()
  const present = clock.wall()
  const after = clock.monotonic()
  const moved = Math.abs(present - after - clock.difference)
  clock.difference = present - after
  // What passed between the two readings is no step.
  if (moved < STEP_MS + after - before) return after
  clock.steps++
  clock.rival = undefined
  clock.isDoubtful = true
  clock.isTimeless = false
  return after
}

/** What is to be added to the monotonic clock. */
function shiftOf({ known, base, difference }: ClockContext): number {
  if (!known) return difference
  return isWithin(known, base) ? base : (known.earliest + known.latest) / 2
}

function skewOf(clock: ClockContext): number {
  const { known, difference } = clock
  return known && !isWithin(known, difference) ? Math.round(shiftOf(clock) - difference) : 0
}

function needsMeasurement({ known, isDoubtful, isTimeless }: ClockContext): boolean {
  return known ? isDoubtful : !isTimeless
}

function believe(clock: ClockContext, { earliest, latest }: Interval): void {
  clock.known = { earliest, latest }
  if (isWithin(clock.known, clock.difference)) clock.base = clock.difference
  settleClock(clock)
}

/** Ends the doubt, and tells where the offset has become large, or small again. */
function settleClock(clock: ClockContext): void {
  clock.rival = undefined
  clock.isDoubtful = false
  const offset = skewOf(clock)
  const size = Math.abs(offset)
  if (clock.isSkewed ? size >= RIGHT_MS : size < SKEWED_MS) return
  clock.isSkewed = !clock.isSkewed
  clock.onSkew(offset)
}

/** Takes in an interval that has nothing in common with what is known. */
function contradict(clock: ClockContext, interval: Interval, { earliest, latest }: Interval): void {
  const { rival } = clock
  const both = rival && common(rival, interval)
  const newRival = both ? { ...both, count: rival.count + 1 } : { ...interval, count: 1 }
  clock.rival = newRival
  clock.isDoubtful ||= Math.max(interval.earliest - latest, earliest - interval.latest) >= LATE_MS
  if (newRival.count === CONTRADICTIONS) believe(clock, newRival)
}

/** Asks the store until there is no doubt. */
async function measureUntilSure(
  clock: ClockContext,
  measure: (signal: AbortSignal) => Promise<unknown>
): Promise<void> {
  const signal = AbortSignal.timeout(MEASURE_MS)
  for (let asked = 0; asked <= CONTRADICTIONS && needsMeasurement(clock); asked++) {
    // An answer may tell the time and be a refusal, as to a signature of another time.
    const failure = await measure(signal).then(
      () => undefined,
      (error: unknown) => error
    )
    if (failure && needsMeasurement(clock)) throw failure
    if (!clock.known) clock.isTimeless = true
  }
  if (!needsMeasurement(clock)) return
  throw new Failure('STORE_UNAVAILABLE', texts.storeUnavailable, {
    cause: new Error('the times of the store contradict each other'),
    headers: { 'retry-after': '1' }
  })
}

function isWithin({ earliest, latest }: Interval, value: number): boolean {
  return earliest <= value && value <= latest
}

function common(one: Interval, other: Interval): Interval | undefined {
  const earliest = Math.max(one.earliest, other.earliest)
  const latest = Math.min(one.latest, other.latest)
  return earliest <= latest ? { earliest, latest } : undefined
}
