import { Failure, texts } from '../errors.ts'
import { LARGE_ANSWER, type AnswerMemory } from '../http/answer-memory.ts'
import type { Time } from '../time.ts'

/**
 * Milliseconds after which a request about a whole entity begins nothing more; what is under way
 * then ends within 5 s.
 */
export const WHOLE_MS = 10_000

/** Most that one list holds, in bytes of JSON. */
export const LIST_LIMIT = 16 * 1024 * 1024

/**
 * The deadline of a request about a whole entity, to be called before each operation on the store.
 * @throws {Failure} STORE_UNAVAILABLE once it has passed
 */
export type InTime = () => void

/** A deadline that begins now. */
export function createDeadline(time: Time): InTime {
  const until = time.monotonic() + WHOLE_MS
  return () => {
    if (time.monotonic() < until) return
    throw new Failure(
      'STORE_UNAVAILABLE',
      `The lock store needs more than ${WHOLE_MS / 1000} s for all of this; ask for one field, or try again`,
      { headers: { 'retry-after': '1' } }
    )
  }
}

/** To be called with each page of a list, and whether it is the only one. */
export type Measure = (page: unknown[], isOnly: boolean) => void

/**
 * Reads a list and adds up its pages. A single page, of 1 MB at most, is not measured.
 * @param memory what there is for the large lists of all callers
 * @param narrower how the caller can ask for less
 * @throws {Failure} TOO_LARGE beyond LIST_LIMIT, OVERLOADED beyond the memory; what `read` throws
 */
export async function measured<T>(
  memory: AnswerMemory,
  narrower: string,
  read: (measure: Measure) => Promise<T>
): Promise<T> {
  const { take, end } = memory.open()
  let sum = 0
  try {
    return await read((page, isOnly) => {
      if (isOnly) return
      const bytes = Buffer.byteLength(JSON.stringify(page))
      sum += bytes
      if (sum > LIST_LIMIT) {
        throw new Failure('TOO_LARGE', texts.answerTooLarge(LIST_LIMIT, narrower))
      }
      if (bytes >= LARGE_ANSWER) take(bytes)
    })
  } finally {
    end()
  }
}
