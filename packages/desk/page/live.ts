import type { Listener, LockView } from '../../client/src/client.ts'
import { partsOf } from './board.ts'

/** How long to wait for more news before the rows are read again, in milliseconds. */
const SETTLE_MS = 1000

/**
 * How often they are read again without news, in milliseconds: of what is saved in Drupal's own
 * form there is none, unless Drupal has the module.
 */
const LOOK_MS = 60_000

export interface LiveDeps {
  /** Follows the rows that are shown. @returns what ends it */
  watch: (listener: Listener) => () => void
  /** Reads the rows again. */
  reload: () => void
  onNews: () => void
}

/**
 * Who is at work in the rows of a list, and when to read them again. A page that nobody sees
 * follows nothing.
 */
export function createLive({ watch, reload, onNews }: LiveDeps) {
  let locks: LockView[] = []
  let stop: (() => void) | undefined
  let isFollowed = false
  let isSeen = true
  let planned: ReturnType<typeof setTimeout> | undefined
  const looking = setInterval(() => {
    if (stop) reload()
  }, LOOK_MS)

  function plan(): void {
    planned ??= setTimeout(() => {
      planned = undefined
      reload()
    }, SETTLE_MS)
  }

  function end(): void {
    stop?.()
    stop = undefined
    clearTimeout(planned)
    planned = undefined
  }

  function begin(): void {
    let isFirst = true
    stop = watch({
      locks(views, _isStale, isWhole) {
        locks = views
        // Rows have come or gone, or news may have been missed.
        if (isWhole && !isFirst) plan()
        if (isWhole) isFirst = false
        onNews()
      },
      saved: plan
    })
  }

  return {
    /** Follows other rows from now on. */
    follow(): void {
      end()
      locks = []
      isFollowed = true
      if (isSeen) begin()
    },
    /** The page is seen, or not any more. */
    see(is: boolean): void {
      if (is === isSeen) return
      isSeen = is
      end()
      if (!isSeen || !isFollowed) return
      begin()
      reload()
    },
    /** Those at work in a row, each once. */
    of(id: string): LockView[] {
      return [
        ...new Map(
          locks.filter((lock) => partsOf(lock).id === id).map((lock) => [lock.userData.uid, lock])
        ).values()
      ]
    },
    close(): void {
      end()
      clearInterval(looking)
    }
  }
}
