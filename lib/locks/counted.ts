import type { Locks } from './locks.ts'

/** Lock requests, counted by outcome, and how many texts of others were kept as drafts. */
export type LockCounts = Record<'acquired' | 'held' | 'changed' | 'released' | 'draft_kept', number>

/**
 * Field locks that count their outcomes. Failures are not counted.
 * @param create makes the locks, with a callback for each draft
 */
export function counted(create: (onKept: () => void) => Locks): {
  locks: Locks
  counts: Readonly<LockCounts>
} {
  const counts: LockCounts = { acquired: 0, held: 0, changed: 0, released: 0, draft_kept: 0 }
  const locks = create(() => {
    counts.draft_kept++
  })

  function counting<A extends unknown[], R extends { outcome: keyof LockCounts }>(
    work: (...args: A) => Promise<R>
  ): (...args: A) => Promise<R> {
    return async (...args) => {
      const result = await work(...args)
      counts[result.outcome]++
      return result
    }
  }

  return {
    locks: {
      ...locks,
      acquire: counting(locks.acquire),
      overwrite: counting(locks.overwrite),
      release: counting(locks.release)
    },
    counts
  }
}
