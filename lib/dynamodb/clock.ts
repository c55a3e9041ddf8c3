/** `Date` has whole seconds (RFC 9110 section 5.6.7), so the store's time lies within a second from it, in milliseconds. */
const RESOLUTION_MS = 1000

/** How fast two clocks may drift apart: 100 parts in a million, twice what the crystals of servers do. */
const DRIFT = 1e-4

/** How many answers in a row have to contradict the offset before it is measured again. A single one may come from an odd server. */
const CONTRADICTIONS = 3

/** How long the first measurement may take, and the next one when the store did not answer, in milliseconds. */
const FIRST_MS = 5000
const NEXT_MS = 1000

/** The offset at which Quoin warns the operator, and the one below which it says that all is well, in milliseconds. */
export const SKEWED_MS = 2000
const RIGHT_MS = 1000

export interface ClockOptions {
  /** This machine's clock, in milliseconds since 1970, as `Date.now`. */
  now?: (() => number) | undefined
  /** Hears when the offset passes two seconds, and when it is small again. @param offset in milliseconds */
  onSkew?: ((offset: number) => void) | undefined
}

export type Clock = ReturnType<typeof createClock>

/**
 * The store's clock, as far as its answers tell it. All instances share the store, so leases, versions and signatures that
 * go by its clock agree, whatever the clocks of the machines say.
 *
 * Each answer limits the offset to an interval: the store wrote its `Date` between our sending and our receiving. The
 * intervals of successive answers are intersected, which narrows a whole second to about the duration of a request. While
 * an offset of 0 is possible nothing is corrected.
 */
export function createClock ({ now = Date.now, onSkew = () => {} }: ClockOptions) {
  let earliest = -Infinity
  let latest = Infinity
  let observedAt = 0
  let contradictions = 0
  let measure: ((signal: AbortSignal) => Promise<unknown>) | undefined
  let measurement: Promise<void> | undefined
  let patienceMs = FIRST_MS
  let isSkewed = false
  /** Whether a measurement was answered. An engine may send no `Date`: to ask it again would cost every operation a request. */
  let isAnswered = false

  const isMeasured = () => latest !== Infinity

  /** Milliseconds to add to this machine's clock. */
  function offset (): number {
    return earliest <= 0 && latest >= 0 ? 0 : (earliest + latest) / 2
  }

  return {
    offset,

    /** Milliseconds since 1970 by the store's clock. */
    now: () => now() + offset(),

    /** This machine's clock, uncorrected. */
    local: now,

    /**
     * Learns from an answer of the store.
     * @param date its header field `Date`; without one, or with a wrong one, nothing is learnt
     * @param sentAt @param receivedAt in milliseconds, by `local`
     */
    observe (date: unknown, sentAt: number, receivedAt: number): void {
      const time = Date.parse(String(date))
      if (Number.isNaN(time)) return
      const low = time - receivedAt
      const high = time + RESOLUTION_MS - sentAt
      const drift = Math.abs(receivedAt - observedAt) * DRIFT
      observedAt = receivedAt
      earliest -= drift
      latest += drift
      if (low <= latest && high >= earliest) {
        earliest = Math.max(earliest, low)
        latest = Math.min(latest, high)
        contradictions = 0
      } else if (++contradictions === CONTRADICTIONS) {
        earliest = low
        latest = high
        contradictions = 0
      }
      const size = Math.abs(offset())
      if (isSkewed ? size < RIGHT_MS : size >= SKEWED_MS) {
        isSkewed = !isSkewed
        onSkew(offset())
      }
    },

    /** From now on `ready()` measures before anything is written. @param request sends one request to the store */
    start (request: (signal: AbortSignal) => Promise<unknown>): void {
      measure = request
    },

    /** Resolves when the offset is known or could not be had in time. Undefined where the store has answered already, so that nobody waits. */
    ready (): Promise<void> | undefined {
      if (!measure || isMeasured() || isAnswered) return undefined
      measurement ??= measure(AbortSignal.timeout(patienceMs)).then(() => { isAnswered = true }, () => {}).then(() => {
        patienceMs = NEXT_MS
        measurement = undefined
      })
      return measurement
    }
  }
}
