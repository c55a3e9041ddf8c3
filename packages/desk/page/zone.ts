const DAY_MS = 86_400_000

/**
 * A local time as an instant: with the clocks going forward there is none, with them going back
 * there are two.
 */
export interface Reading {
  /**
   * The instant in ISO 8601, with the offset of the time zone; of two the earlier, of none that of
   * an hour later.
   */
  instant: string
  times: 0 | 1 | 2
}

/**
 * The time that clocks of a time zone show.
 * @param zone an IANA time zone, such as `Europe/Berlin`
 * @param instant in ISO 8601, with an offset
 * @returns such as `2026-07-01T05:00:00`
 */
export function localIn(zone: string, instant: string): string {
  const then = Date.parse(instant)
  return isoOf(then + offsetAt(zone, then))
}

/**
 * The instants at which clocks of a time zone show a time.
 * @param local such as `2026-07-01T05:00` or `2026-07-01T05:00:00`
 */
export function readIn(zone: string, local: string): Reading {
  const clock = Date.parse(`${local}Z`)
  const offsets = new Set([offsetAt(zone, clock - DAY_MS), offsetAt(zone, clock + DAY_MS)])
  const instants = [...offsets].map((offset) => clock - offset)
  const right = instants.filter((instant) => instant + offsetAt(zone, instant) === clock)
  const instant = Math.min(...(right.length > 0 ? right : [Math.max(...instants)]))
  return {
    instant: isoOf(instant + offsetAt(zone, instant)) + offsetText(offsetAt(zone, instant)),
    times: right.length as Reading['times']
  }
}

/** By how much clocks of a time zone are ahead of UTC, in milliseconds. */
function offsetAt(zone: string, instant: number): number {
  const parts = new Intl.DateTimeFormat('en', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit'
  }).formatToParts(instant)
  const part = (type: string) => parts.find((part) => part.type === type)!.value
  const clock = Date.parse(
    `${part('year')}-${part('month')}-${part('day')}T${part('hour')}:${part('minute')}:${part('second')}Z`
  )
  return clock - Math.floor(instant / 1000) * 1000
}

function isoOf(clock: number): string {
  return new Date(clock).toISOString().slice(0, 19)
}

/** "+01:00" */
function offsetText(offset: number): string {
  const time = new Date(Math.abs(offset)).toISOString().slice(11, 16)
  return `${offset < 0 ? '-' : '+'}${time}`
}
