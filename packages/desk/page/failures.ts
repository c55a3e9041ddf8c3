import { QuoinError } from '../../client/src/client.ts'
import { reasonOf } from './reasons.ts'
import { say } from './texts.ts'

/**
 * The failure of a call of the client. Throws any other error again, since it is a defect of the
 * page.
 */
export function failureOf(error: unknown): QuoinError {
  if (error instanceof QuoinError) return error
  throw error
}

/** How long to wait before the next try, in milliseconds. */
const AGAIN_MS = 10_000

/**
 * Calls `ask`, and calls it again every 10 s while it fails for the moment.
 * @param isOver whether nobody needs the answer any more
 * @throws any error that is a defect of the page
 */
export async function persist(ask: () => Promise<void>, isOver: () => boolean): Promise<void> {
  try {
    await ask()
  } catch (error) {
    if (failureOf(error).passes) {
      setTimeout(() => {
        if (!isOver()) persist(ask, isOver)
      }, AGAIN_MS)
    }
  }
}

/** How long a write may wait for its answer, in milliseconds. */
const PATIENCE_MS = 3000

/**
 * Says why the lock of a field could not be taken or written.
 * @param isKept whether the lock has everything that was typed
 * @param onChange called when there is something new to show
 */
export function createTrouble(isKept: () => boolean, onChange: () => void) {
  let isAway = false
  let words: string | undefined

  function is(now?: string): void {
    isAway = false
    words = now
  }

  return {
    get words() {
      return isAway ? say(isKept() ? 'lockServiceAway' : 'lockServiceAwayAlone') : words
    },
    failed(error: QuoinError): void {
      is(error.status === 413 ? say('lockTooLarge') : reasonOf(error))
      isAway = error.passes
    },
    /** Waits for a write, and says so when it takes long: it may never arrive. */
    async patient<Result>(write: Promise<Result>): Promise<Result> {
      const timer = setTimeout(() => {
        isAway = true
        onChange()
      }, PATIENCE_MS)
      return write.finally(() => clearTimeout(timer))
    },
    /** Sets what is said, or removes it. */
    is
  }
}
