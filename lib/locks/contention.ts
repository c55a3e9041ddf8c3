import { Failure } from '../errors.ts'
import type { LockContext } from './context.ts'

/**
 * How often a write is tried. After the first try each one needs the lock unchanged since it was
 * read, so of many writers one succeeds a round.
 */
export const ATTEMPTS = 20

/**
 * The longest pauses between two attempts, in milliseconds: the first, each next one twice as
 * long, and the last.
 */
const FIRST_PAUSE_MS = 10
const LAST_PAUSE_MS = 500

/** Waits before a further attempt, so that of many who try at once few meet again. */
export async function pause({ time }: LockContext, count: number): Promise<void> {
  await time.wait(time.random() * Math.min(LAST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (count - 1)))
}

/** The failure of a write that met other writes of its field each time. */
export function tooFast(): Failure {
  return new Failure('STORE_UNAVAILABLE', 'The lock changes hands too fast; try again', {
    headers: { 'retry-after': '1' }
  })
}

/** The failure of a write that got no answer, and that the table does not tell of either. */
export function unknownOutcome(): Failure {
  return new Failure(
    'STORE_UNAVAILABLE',
    'Quoin does not know whether the lock was written; try again',
    { headers: { 'retry-after': '1' } }
  )
}
