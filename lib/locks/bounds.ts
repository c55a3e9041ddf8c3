import { Failure, texts } from '../errors.ts'

/** Milliseconds after which a request about a whole entity begins nothing more; what is under way then ends within 5 s. */
export const WHOLE_MS = 10_000

/** Most that one list holds, in bytes of JSON. */
export const LIST_LIMIT = 16 * 1024 * 1024

/**
 * The deadline of a request about a whole entity, to be called before each operation on the store.
 * @throws {Failure} STORE_UNAVAILABLE once it has passed
 */
export type InTime = () => void

/** @param monotonic milliseconds, from any moment on */
export function createDeadline (monotonic: () => number): InTime {
  const until = monotonic() + WHOLE_MS
  return () => {
    if (monotonic() < until) return
    throw new Failure('STORE_UNAVAILABLE', `The lock store needs more than ${WHOLE_MS / 1000} s for all of this; ask for one field, or try again`, { headers: { 'retry-after': '1' } })
  }
}

/**
 * Adds up the pages of a list. A single page, of 1 MB at most, is not measured.
 * @param narrower how the caller can ask for less
 * @returns to be called with each page; throws a Failure, TOO_LARGE, beyond LIST_LIMIT
 */
export function createMeasure (narrower: string): (page: unknown[], isOnly: boolean) => void {
  let bytes = 0
  return (page, isOnly) => {
    if (isOnly) return
    bytes += Buffer.byteLength(JSON.stringify(page))
    if (bytes > LIST_LIMIT) throw new Failure('TOO_LARGE', texts.answerTooLarge(LIST_LIMIT, narrower))
  }
}
