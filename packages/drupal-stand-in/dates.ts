import { CmsError } from './errors.ts'
import type { Field } from './model.ts'

const latest = 8_640_000_000_000
const ZONED_TIME = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(Z|[+-]\d\d:?\d\d)$/
const dateOnly = /^(\d{4})-(\d\d)-(\d\d)$/

const pad = (value: number) => String(value).padStart(2, '0')

function refuse(value: unknown, formats: string): never {
  throw new CmsError(
    422,
    `The specified date "${String(value)}" is not in an accepted format: ${formats}.`
  )
}

function instant(text: string): number | undefined {
  const match = ZONED_TIME.exec(text)
  if (!match) return undefined
  const [, year, month, day, hour, minute, second, zone] = match
  if (!isDate(Number(year), Number(month), Number(day))) return undefined
  const offset = zone === 'Z' ? 'Z' : `${zone!.slice(0, 3)}:${zone!.slice(-2)}`
  const time = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}${offset}`)
  return Number.isNaN(time) ? undefined : time / 1000
}

function isDate(year: number, month: number, day: number): boolean {
  const date = new Date(Date.UTC(year, month - 1, day))
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day
}

/**
 * Unix seconds from a sent timestamp; milliseconds, a missing zone and a bare date are refused with
 * 422.
 */
function readTimestamp(value: unknown): number {
  const isWhole =
    typeof value === 'string'
      ? /^-?\d+$/.test(value)
      : typeof value === 'number' && Number.isInteger(value)
  if (isWhole && Math.abs(Number(value)) <= latest) return Number(value)
  return (
    (typeof value === 'string' ? instant(value) : undefined) ??
    refuse(value, '"U" (UNIX timestamp), "Y-m-d\\TH:i:sO" (ISO 8601), "Y-m-d\\TH:i:sP" (RFC 3339)')
  )
}

/** A date and time as it is stored: UTC without a zone. */
function readDateTime(value: unknown): string {
  const seconds = typeof value === 'string' ? instant(value) : undefined
  if (seconds === undefined) {
    return refuse(value, '"Y-m-d\\TH:i:sP" (RFC 3339), "Y-m-d\\TH:i:sO" (ISO 8601)')
  }
  return new Date(seconds * 1000).toISOString().slice(0, 19)
}

/**
 * A date without a time; only `Y-m-d` is taken, and the empty string is refused like any other
 * text.
 */
function readDate(value: unknown): string {
  const match = typeof value === 'string' ? dateOnly.exec(value) : null
  if (!match || !isDate(Number(match[1]), Number(match[2]), Number(match[3]))) {
    return refuse(value, '"Y-m-d" (date-only)')
  }
  return match[0]
}

/** A value as a field of a type stores it. Null and values that are not dates stay as they are. */
export function readValue({ type }: Field, value: unknown): unknown {
  if (value === null || value === undefined) return value
  switch (type) {
    case 'created':
    case 'changed':
    case 'timestamp':
      return readTimestamp(value)
    case 'date':
      return readDate(value)
    case 'datetime':
      return readDateTime(value)
    default:
      return value
  }
}

/** A timestamp as every answer shows it: RFC 3339 in UTC with the offset written `+00:00`. */
export function showTimestamp(seconds: number): string {
  return `${new Date(seconds * 1000).toISOString().slice(0, 19)}+00:00`
}

const formatters = new Map<string, Intl.DateTimeFormat>()

function formatter(timeZone: string): Intl.DateTimeFormat {
  const format =
    formatters.get(timeZone) ??
    new Intl.DateTimeFormat('en-CA', {
      timeZone,
      hourCycle: 'h23',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit'
    })
  formatters.set(timeZone, format)
  return format
}

/** Milliseconds that the clocks of the zone are ahead of UTC at that instant. */
function zoneOffset(time: number, timeZone: string): number {
  const parts = formatter(timeZone).formatToParts(time)
  const part = (type: string) => Number(parts.find((one) => one.type === type)!.value)
  return (
    Date.UTC(
      part('year'),
      part('month') - 1,
      part('day'),
      part('hour'),
      part('minute'),
      part('second')
    ) -
    Math.floor(time / 1000) * 1000
  )
}

/** A stored date and time, shown in the zone of the site (never of the user). */
export function showDateTime(text: string, timeZone: string): string {
  const time = Date.parse(`${text}Z`)
  const offset = zoneOffset(time, timeZone)
  const minutes = Math.abs(offset) / 60_000
  return `${new Date(time + offset).toISOString().slice(0, 19)}${offset < 0 ? '-' : '+'}${pad(Math.floor(minutes / 60))}:${pad(minutes % 60)}`
}

/**
 * Unix seconds of a date in a format of PHP's own (of its letters only d, m, Y, H, i and s), in the
 * zone of the site; what the format leaves out is taken from the running clock, as
 * DateTime::createFromFormat does.
 */
export function readFormatted(
  value: unknown,
  format: string,
  now: number,
  timeZone: string
): number {
  const letters = [...format].filter((letter) => 'dmYHis'.includes(letter))
  const pattern = format
    .replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
    .replace(/[dmHis]/g, '(\\d\\d)')
    .replace('Y', '(\\d{4})')
  const match = new RegExp(`^${pattern}$`).exec(String(value))
  if (!match) return refuse(value, `"${format}"`)
  const local = new Date(now + zoneOffset(now, timeZone)).toISOString()
  const parts: Record<string, string> = {
    Y: local.slice(0, 4),
    m: local.slice(5, 7),
    d: local.slice(8, 10),
    H: local.slice(11, 13),
    i: local.slice(14, 16),
    s: local.slice(17, 19)
  }
  letters.forEach((letter, index) => {
    parts[letter] = match[index + 1]!
  })
  const time = Date.parse(`${parts.Y}-${parts.m}-${parts.d}T${parts.H}:${parts.i}:${parts.s}Z`)
  return (time - zoneOffset(time, timeZone)) / 1000
}
