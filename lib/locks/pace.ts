/** Most reads of the store in a second that all polling of an instance makes: beyond it entities are read less often. */
export const READS_PER_SECOND = 400

/** What those entities that come first may take of the reads while others need them too. */
const SHARE = 3 / 4

/** What any group has: the last quarter of a quarter. */
const LEAST = READS_PER_SECOND / 16

/**
 * Shares the reads among groups of entities, the most urgent group first. A group gets all it needs, as long as the
 * groups behind it keep what they need or a quarter of what is left.
 * @param sizes how many entities each group has
 * @param pollMs milliseconds between two reads of an entity, where the reads suffice
 * @returns for each group the milliseconds between two reads of one of its entities
 */
export function paceOf (sizes: readonly number[], pollMs: number): number[] {
  const needOf = (size: number) => size * 1000 / pollMs
  let left = READS_PER_SECOND
  return sizes.map((size, index) => {
    const behind = sizes.slice(index + 1).reduce((sum, other) => sum + needOf(other), 0)
    const share = Math.max(LEAST, left - behind, behind > 0 ? left * SHARE : left)
    left -= Math.min(share, needOf(size))
    return Math.max(pollMs, size * 1000 / share)
  })
}
