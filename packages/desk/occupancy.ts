import type { LockView } from '../client/src/client.ts'

/** How many boards are asked for at once, and how old one may be before it is asked for again, in milliseconds. */
const AT_ONCE = 3
const FRESH_MS = 20_000

export interface OccupancyDeps {
  /** The locks of an edition and of its articles. */
  read: (id: string) => Promise<LockView[]>
  /** Whether anybody looks: a page in the background asks for nothing. */
  isSeen: () => boolean
  changed: () => void
  now?: () => number
}

export type Occupancy = ReturnType<typeof createOccupancy>

/** Who is at work in the editions that are on the screen: a few boards at a time, each again after a while. */
export function createOccupancy ({ read, isSeen, changed, now = Date.now }: OccupancyDeps) {
  const known = new Map<string, LockView[]>()
  const requestTimes = new Map<string, number>()
  let wanted: string[] = []
  let running = 0

  function next (): void {
    if (running === AT_ONCE || !isSeen()) return
    const id = wanted.find((id) => now() - (requestTimes.get(id) ?? -Infinity) >= FRESH_MS)
    if (id === undefined) return
    running++
    requestTimes.set(id, now())
    // A board that cannot be had now is shown as it was.
    read(id).then((locks) => { known.set(id, locks) }, () => {}).finally(() => {
      running--
      changed()
      next()
    })
    next()
  }

  return {
    /** What is on the screen now, from top to bottom. */
    show (ids: string[]): void {
      wanted = ids
      next()
    },
    /** To be called now and then. */
    next,
    /** Those at work in an edition, each once. */
    of (id: string): LockView[] {
      return [...new Map((known.get(id) ?? []).map((lock) => [lock.userData.uid, lock])).values()]
    }
  }
}
