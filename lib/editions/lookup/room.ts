import type { Parameters } from '../translate/query.ts'
import { systemTime } from '../../time.ts'

/**
 * The longest path and query that Quoin sends, in bytes. Apache takes a request line of 8190
 * (LimitRequestLine), nginx one of 8 KiB. The method, the path of the site and the version of HTTP
 * take some of it too.
 */
const LONGEST = 7500

/** What the sparse fields of other requests may take of it, in bytes. */
export const ROOM = 5000

/** Where less than this is taken, Quoin includes nothing. */
const SHORTEST = 1000

/** How long Quoin goes by what a server has refused, in milliseconds. */
const SHORTENED_MS = 600_000

/** What servers and proxies answer to a URL that is too long for them. */
const TOO_LONG: readonly unknown[] = [414, 431]

/** How long the URLs of a site's requests may be. */
export interface Room {
  /** What a request leaves for `include` and sparse fields, in bytes; 0 if there is none. */
  beside(path: string, query: Parameters): number
  /** Halves the room for ten minutes, after a URL was refused. @returns whether there was any */
  shorten(): boolean
}

export function createRoom(time = systemTime): Room {
  let longest = LONGEST
  let until = -Infinity

  const current = () => (time.monotonic() < until ? longest : LONGEST)

  return {
    beside(path, query) {
      const rest = current() - path.length - (query.length === 0 ? 0 : lengthOf(query))
      return Math.max(0, rest)
    },
    shorten() {
      const before = current()
      longest = before > SHORTEST ? before / 2 : 0
      until = time.monotonic() + SHORTENED_MS
      return before > 0
    }
  }
}

/**
 * Whether a URL was too long for the CMS, or for what is before it. Some proxies say 400 then, as a
 * page.
 * @param outcome an answer, or the failure that it became
 */
export function isTooLong(outcome: { status?: unknown; cause?: unknown }): boolean {
  const { status } = (outcome.cause as { status?: unknown } | undefined) ?? outcome
  return TOO_LONG.includes(status) || (status === 400 && outcome.cause !== undefined)
}

/** Those of the parameters that fit. */
export function fitting(parameters: Parameters, room: number): Parameters {
  let length = 0
  return parameters.filter((parameter) => {
    length += lengthOf([parameter]) + 1
    return length <= room
  })
}

/** The length of a value in the query of a URL. */
export function lengthInUrl(value: string): number {
  return lengthOf([['', value]]) - 1
}

function lengthOf(query: Parameters): number {
  return new URLSearchParams(query).toString().length
}
