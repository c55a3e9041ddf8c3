import { QuoinError } from '../../client/src/client.ts'
import type { Place } from './draft-storage.ts'
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

/** What the page says of the browser's disk where it does not take a text. */
const DISK_WORDS = {
  full: 'diskFull',
  refused: 'diskRefused',
  silent: 'diskSilent'
} as const

/** Says that a text is in the browser or in the window alone; in the window, why if that is known. */
export function wordsOfPlace(place: Place): string {
  if (place === 'disk') return say('inBrowserAlone')
  if (place === 'coming') return say('inWindowAlone')
  return `${say('inWindowAlone')} ${say(DISK_WORDS[place])}`
}

/**
 * Says why the lock of a field could not be taken or written.
 * @param place where what is typed is
 * @param onChange called when there is something new to show
 */
export function createTrouble(place: () => Place | 'lock', onChange: () => void) {
  let isAway = false
  let isTooLarge = false
  let words: string | undefined

  function is(now?: string): void {
    isAway = isTooLarge = false
    words = now
  }

  function sentence(): string | undefined {
    if (isAway) return say('lockServiceAway')
    return isTooLarge ? say('lockTooLarge') : words
  }

  return {
    get words() {
      const said = sentence()
      const where = place()
      const isTold = isAway || isTooLarge || (where !== 'disk' && where !== 'coming')
      return said === undefined || where === 'lock' || !isTold
        ? said
        : `${said} ${wordsOfPlace(where)}`
    },
    failed(error: QuoinError): void {
      is(reasonOf(error))
      isAway = error.passes
      isTooLarge = error.status === 413
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
