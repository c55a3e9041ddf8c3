import type { QuoinError } from '../lib/client/client.ts'

const AWAY = 'The lock service does not answer.'

/**
 * Why the lock of a field could not be taken or written.
 * @param isKept whether nothing is typed that is not in the lock
 */
export function createTrouble (isKept: () => boolean) {
  let words: string | undefined
  return {
    get words () { return words === AWAY && !isKept() ? `${AWAY} Your text is in this window alone.` : words },
    failed ({ passes, message }: QuoinError): void {
      words = passes ? AWAY : message
    },
    /** There is none any more, or this. */
    is (now?: string): void {
      words = now
    }
  }
}
