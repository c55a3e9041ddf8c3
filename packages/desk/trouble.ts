import type { QuoinError } from '../client/src/client.ts'

const AWAY = 'The lock service does not answer.'

/** How long a write may wait for its answer, in milliseconds. */
const PATIENCE_MS = 3000

/**
 * Why the lock of a field could not be taken or written.
 * @param isKept whether nothing is typed that is not in the lock
 * @param changed told that there is something new to see
 */
export function createTrouble (isKept: () => boolean, changed: () => void) {
  let words: string | undefined
  return {
    get words () { return words === AWAY && !isKept() ? `${AWAY} Your text is in this window alone.` : words },
    failed ({ passes, message }: QuoinError): void {
      words = passes ? AWAY : message
    },
    /** Waits for a write; one that hangs may never arrive. */
    async patient<Result> (write: Promise<Result>): Promise<Result> {
      const timer = setTimeout(() => {
        words = AWAY
        changed()
      }, PATIENCE_MS)
      return write.finally(() => clearTimeout(timer))
    },
    /** There is none any more, or this. */
    is (now?: string): void {
      words = now
    }
  }
}
