/** Fewest reads of the store in a second that an instance may make for all its polling. */
const READS_PER_SECOND = 400

/** This many entities are read at the configured interval, whatever it is. */
const ENTITIES = 200

/**
 * Most reads of the store in a second that all polling of an instance makes: beyond it entities are
 * read less often.
 */
export function readsPerSecond(pollMs: number): number {
  return Math.max(READS_PER_SECOND, (ENTITIES * 1000) / pollMs)
}

/** The share of the reads that the most urgent entities may take while others need reads too. */
const SHARE = 5 / 8

/** The share that each of four groups has at least: what the three before it leave. */
const LEAST = (1 - SHARE) ** 3

/**
 * Shares the reads among groups of entities, the most urgent group first. A group gets all it
 * needs, as long as the groups behind it keep what they need or three eighths of what is left.
 * @param sizes how many entities each group has
 * @param pollMs milliseconds between two reads of an entity, where the reads suffice
 * @param reads how many there are in a second
 * @returns for each group the milliseconds between two reads of one of its entities
 */
export function paceOf(
  sizes: readonly number[],
  pollMs: number,
  reads = readsPerSecond(pollMs)
): number[] {
  const needOf = (size: number) => (size * 1000) / pollMs
  let rest = reads
  return sizes.map((size, index) => {
    const behind = sizes.slice(index + 1).reduce((sum, other) => sum + needOf(other), 0)
    const share = Math.max(LEAST * reads, rest - behind, behind > 0 ? rest * SHARE : rest)
    rest -= Math.min(share, needOf(size))
    return Math.max(pollMs, (size * 1000) / share)
  })
}
