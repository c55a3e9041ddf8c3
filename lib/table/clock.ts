import { Failure, texts } from '../errors.ts'

/** `Date` has whole seconds (RFC 9110 section 5.6.7), so the store's time lies within a second from it, in milliseconds. */
const RESOLUTION_MS = 1000

/** How fast two clocks may drift apart: 100 parts in a million, twice what the crystals of servers do. */
const DRIFT = 1e-4

/** How many answers have to contradict the offset, and agree among each other, before they are believed. A single one may come from an odd server. */
const CONTRADICTIONS = 3

/**
 * An answer that is off by less, in milliseconds, counts as a contradiction but lets the work go on: a busy server may send
 * the `Date` that it made a moment before, as Node does.
 */
const LATE_MS = 1000

/** How long a measurement may take, in milliseconds. */
const MEASURE_MS = 5000

/** From this difference on, in milliseconds, the machine's clock was set, or the machine was suspended. */
const STEP_MS = 250

/** The offset at which Quoin warns the operator, and the one below which it says that all is well, in milliseconds. */
export const SKEWED_MS = 2000
const RIGHT_MS = 1000

export interface ClockOptions {
  /** This machine's clock, in milliseconds since 1970, as `Date.now`. */
  now?: (() => number) | undefined
  /** Milliseconds that no setting of a clock changes, as `performance.now`. On some systems it stands still while the machine is suspended. */
  monotonic?: (() => number) | undefined
  /** Hears when the offset passes two seconds, and when it is small again. @param offset in milliseconds */
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

export type Clock = ReturnType<typeof createClock>

/**
 * The store's clock, as far as its answers tell it. All instances share the store, so leases, versions and signatures that
 * go by its clock agree, whatever the clocks of the machines say.
 *
 * Time runs on the monotonic clock. Each answer limits its offset to an interval: the store wrote its `Date` between our
 * sending and our receiving. The intervals of successive answers are intersected, which narrows a whole second to about the
 * duration of a request. As long as this machine's clock is within the interval, it gives the offset.
 *
 * The two clocks of the machine are compared at every look. Where they have moved apart, this machine's clock was set, or
 * the machine was suspended, during which the monotonic clock may stand still. Then, and where an answer contradicts the
 * interval, `ready()` measures before anything is decided. Before the first answer with a time the machine's clock counts.
 */
export function createClock({
  now: wall = Date.now,
  monotonic = () => performance.now(),
  onSkew = () => {}
}: ClockOptions) {
  let known: Interval | undefined
  /** What answers tell that contradict the interval, and how many have told it. */
  let rival: (Interval & { count: number }) | undefined
  let observedAt = monotonic()
  /** The machine's clock less the monotonic one: when it was last right, and now. */
  let base = wall() - monotonic()
  let difference = base
  let steps = 0
  let isDoubtful = false
  /** Whether a measurement was answered without a time that counts. An engine may send none: to ask again would cost every operation a request. */
  let isTimeless = false
  let isSkewed = false
  let measure: ((signal: AbortSignal) => Promise<unknown>) | undefined
  let measurement: Promise<void> | undefined

  /** Compares the two clocks of this machine. @returns the monotonic one */
  function look(): number {
    const before = monotonic()
    const present = wall()
    const after = monotonic()
    const moved = Math.abs(present - after - difference)
    difference = present - after
    // What passed between the two readings is no step.
    if (moved < STEP_MS + after - before) return after
    steps++
    rival = undefined
    isDoubtful = true
    isTimeless = false
    return after
  }

  /** What is to be added to the monotonic clock. */
  function shift(): number {
    if (!known) return difference
    return isWithin(known, base) ? base : (known.earliest + known.latest) / 2
  }

  /** The store's clock less this machine's, in milliseconds; 0 while that is possible. */
  function skew(): number {
    return known && !isWithin(known, difference) ? Math.round(shift() - difference) : 0
  }

  function needsMeasurement(): boolean {
    return known ? isDoubtful : !isTimeless
  }

  function believe(interval: Interval): void {
    known = { earliest: interval.earliest, latest: interval.latest }
    if (isWithin(known, difference)) base = difference
    settle()
  }

  function settle(): void {
    rival = undefined
    isDoubtful = false
    const offset = skew()
    const size = Math.abs(offset)
    if (isSkewed ? size >= RIGHT_MS : size < SKEWED_MS) return
    isSkewed = !isSkewed
    onSkew(offset)
  }

  /** Takes in an interval that has nothing in common with what is known. */
  function contradict(interval: Interval, { earliest, latest }: Interval): void {
    const both = rival && common(rival, interval)
    rival = both ? { ...both, count: rival!.count + 1 } : { ...interval, count: 1 }
    isDoubtful ||= Math.max(interval.earliest - latest, earliest - interval.latest) >= LATE_MS
    if (rival.count === CONTRADICTIONS) believe(rival)
  }

  /** Asks the store until there is no doubt. */
  async function findOut(): Promise<void> {
    const signal = AbortSignal.timeout(MEASURE_MS)
    for (let asked = 0; asked <= CONTRADICTIONS && needsMeasurement(); asked++) {
      // An answer may tell the time and be a refusal, as to a signature of another time.
      const failure = await measure!(signal).then(
        () => undefined,
        (error: unknown) => error
      )
      if (failure && needsMeasurement()) throw failure
      if (!known) isTimeless = true
    }
    if (needsMeasurement()) {
      throw new Failure('STORE_UNAVAILABLE', texts.storeUnavailable, {
        cause: new Error('the times of the store contradict each other'),
        headers: { 'retry-after': '1' }
      })
    }
  }

  return {
    /** The store's clock less this machine's, in milliseconds; 0 while that is possible. */
    offset(): number {
      look()
      return skew()
    },

    /** Whole milliseconds since 1970 by the store's clock. */
    now: (): number => Math.floor(look() + shift()),

    /** The present moment, for `observe`. */
    mark: (): ClockMark => ({ at: look(), steps }),

    /**
     * Learns from an answer of the store.
     * @param date its header field `Date`; without one, or with a wrong one, nothing is learnt
     * @param sent when the request was sent. Where a step was seen since, nothing tells when that was
     */
    observe(date: unknown, sent: ClockMark): void {
      const time = Date.parse(String(date))
      const receivedAt = look()
      if (Number.isNaN(time) || sent.steps !== steps) return
      const interval = { earliest: time - receivedAt, latest: time + RESOLUTION_MS - sent.at }
      const drift = (receivedAt - observedAt) * DRIFT
      observedAt = receivedAt
      if (!known) return believe(interval)
      known = { earliest: known.earliest - drift, latest: known.latest + drift }
      const both = common(known, interval)
      if (!both) return contradict(interval, known)
      known = both
      settle()
    },

    /** From now on `ready()` measures before anything is written. @param request sends one request to the store */
    start(request: (signal: AbortSignal) => Promise<unknown>): void {
      measure = request
    },

    /**
     * Resolves when the clock is right. Undefined where it is already, so that nobody waits.
     * @throws what the request throws, where the store does not tell its time; {Failure} STORE_UNAVAILABLE
     */
    ready(): Promise<void> | undefined {
      look()
      if (!measure || !needsMeasurement()) return undefined
      measurement ??= findOut().finally(() => {
        measurement = undefined
      })
      return measurement
    }
  }
}

function isWithin({ earliest, latest }: Interval, value: number): boolean {
  return earliest <= value && value <= latest
}

function common(one: Interval, other: Interval): Interval | undefined {
  const earliest = Math.max(one.earliest, other.earliest)
  const latest = Math.min(one.latest, other.latest)
  return earliest <= latest ? { earliest, latest } : undefined
}
