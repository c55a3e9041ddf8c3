/** Lock requests, by their outcomes, and how many texts of others were kept as drafts. */
export type LockCounts = Record<'acquired' | 'held' | 'changed' | 'released' | 'draft_kept', number>

export function newCounts(): LockCounts {
  return { acquired: 0, held: 0, changed: 0, released: 0, draft_kept: 0 }
}

/** Counts the outcome of a request. A failure is not counted. */
export async function counted<R extends { outcome: keyof LockCounts }>(
  counts: LockCounts,
  request: Promise<R>
): Promise<R> {
  const result = await request
  counts[result.outcome]++
  return result
}
