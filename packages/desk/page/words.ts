import type { Holder } from '../../client/src/client.ts'
import { localeOfReader, say } from './texts.ts'

/** How many colours there are for people. */
const TONES = 6

/**
 * From how many letters on a box of text gets its direction from the page. Chromium looks for it in
 * the whole text at each keystroke: 420,000 letters take it two seconds.
 */
const LONG_LETTERS = 100_000

/** The scripts that are written from right to left. */
const RIGHT_TO_LEFT =
  /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u

/** The `dir` of a box with a text; that of a long one is the direction of its first letter. */
export function directionOf(text: string): 'auto' | 'ltr' | 'rtl' {
  if (text.length <= LONG_LETTERS) return 'auto'
  const [letter = ''] = /\p{L}/u.exec(text.slice(0, LONG_LETTERS)) ?? []
  return RIGHT_TO_LEFT.test(letter) ? 'rtl' : 'ltr'
}

let zone: string | undefined

/**
 * Times are told in this time zone from now on. Without one they are those of the reader's clock.
 */
export function useZone(timeZone: string | undefined): void {
  zone = timeZone
}

/** To make a format takes a hundred times as long as to use one. */
const formats = new Map<string, Intl.DateTimeFormat>()

function formatted(date: Date, options: Intl.DateTimeFormatOptions): string {
  const locale = localeOfReader()
  const key = JSON.stringify([locale, options])
  let format = formats.get(key)
  if (!format) formats.set(key, (format = new Intl.DateTimeFormat(locale, options)))
  return format.format(date)
}

/** "14:02", or with the day when that is another. */
export function at(seconds: number, now: number): string {
  const then = new Date(seconds * 1000)
  const time = formatted(then, { hour: '2-digit', minute: '2-digit', timeZone: zone })
  const dayOf = (date: Date) => formatted(date, { day: 'numeric', month: 'short', timeZone: zone })
  return dayOf(then) === dayOf(new Date(now)) ? time : `${dayOf(then)}, ${time}`
}

/**
 * "since 14:02, last typed 14:05", of a lock. Any program may have written when its holder typed,
 * by a clock of its own: it is told as a time between the beginning of the lock and now.
 */
export function since(
  { timestamp, userData }: Pick<Holder, 'timestamp' | 'userData'>,
  now: number
): string {
  const typedAt = userData['typedAt']
  const time = at(timestamp, now)
  if (typeof typedAt !== 'number') return say('since', { time })
  return say('sinceTyped', {
    time,
    typed: at(Math.max(timestamp, Math.min(typedAt, now / 1000)), now)
  })
}

/** How long ago, or how old: "40 s", "3 min", "2 h", "5 days". */
export function duration(seconds: number): string {
  if (seconds < 60) return say('seconds', { count: Math.max(0, Math.round(seconds)) })
  if (seconds < 3600) return say('minutes', { count: Math.round(seconds / 60) })
  const hours = Math.round(seconds / 3600)
  return hours < 48
    ? say('hours', { count: hours })
    : say('days', { count: Math.round(hours / 24) })
}

/** "6 Oct 2026" of an ISO 8601 date, or of a time; as it is where it is neither. */
export function day(text: string): string {
  const date = new Date(text)
  return Number.isNaN(date.getTime())
    ? text
    : formatted(date, {
        day: 'numeric',
        month: 'short',
        year: 'numeric',
        timeZone: text.includes('T') ? zone : 'UTC'
      })
}

/** The beginning of a text, in which no character is cut in two. */
export function beginning(text: string, length: number): string {
  return text.slice(0, length).replace(/\p{Surrogate}$/u, '')
}

export interface Somebody {
  uid: string | number
  name?: string | undefined
}

/** The uid of an agent, with its name in it (docs/who-calls.md). */
const AGENT = /^agent:([^:]+):[^:]+$/

/** The name of an agent; undefined of a person. */
export function agentIn({ uid }: Somebody): string | undefined {
  const [, name] = AGENT.exec(String(uid)) ?? []
  return name && decoded(name)
}

/** What the others call somebody. The service names an agent with its user: `planner (Anna)`. */
export function nameOf(somebody: Somebody): string {
  const { uid, name } = somebody
  const agent = agentIn(somebody)
  if (agent === undefined) return name || say('userNumber', { uid })
  return say('anAgent', { name: name || agent })
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** "AL" of Ada Lovelace, "A" of Ada. */
export function initials(somebody: Somebody): string {
  const words = (agentIn(somebody) ?? nameOf(somebody)).split(/\s+/).filter(Boolean)
  return [words[0], words.length > 1 ? words.at(-1) : undefined]
    .map((word) => [...(word ?? '')][0] ?? '')
    .join('')
    .toUpperCase()
}

/** The number of somebody's colour, the same everywhere. */
export function toneOf({ uid }: Somebody): number {
  return (
    [...String(uid)].reduce((sum, letter) => (sum * 31 + letter.codePointAt(0)!) % 9973, 7) % TONES
  )
}
