import { setImmediate } from 'node:timers/promises'

/** How long a piece of work holds the event loop before other requests have it, in milliseconds. */
const SLICE_MS = 25

/**
 * From which weight on the steps of an answer are done in turns of their own, in bytes. A step
 * takes up to 10 ms for each MB.
 */
const HEAVY = 1024 * 1024

/** Lets other requests have the event loop between two steps with an answer, if it is heavy. */
export async function restAfter(bytes: number | undefined): Promise<void> {
  if (bytes !== undefined && bytes >= HEAVY) await setImmediate()
}

/** Maps a list, with rests for other requests. */
export async function mapInSlices<T, R>(items: T[], map: (item: T) => R): Promise<R[]> {
  const results: R[] = []
  let begin = performance.now()
  for (const item of items) {
    results.push(map(item))
    if (performance.now() - begin < SLICE_MS) continue
    await setImmediate()
    begin = performance.now()
  }
  return results
}
