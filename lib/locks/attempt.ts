import type { Item } from '../table/item.ts'
import { instanceOf } from '../table/version.ts'
import { isLater } from './record.ts'

/**
 * For so long after its version was made, in milliseconds, an unanswered put can tell from the
 * table whether it was carried out: other instances that release its record in this time leave a
 * tombstone (SETTLED_SECONDS in lib/locks/record.ts).
 */
export const TRACED_MS = 6000

/** A put of a lock that got no answer. */
export interface WriteAttempt {
  version: string
  /**
   * The only record that it may replace. Without it the condition alone decides, and there may be
   * no record.
   */
  over: Item | undefined
}

/**
 * What the table says about an attempt: it was carried out; it was not, but still may be; it never
 * will be; or it does not say.
 */
export type Outcome = 'done' | 'open' | 'void' | 'unclear'

/**
 * What the present record says about an unanswered attempt, up to TRACED_MS after its version was
 * made.
 * @param fences the versions of tombstones that keep such an attempt off
 */
export function outcomeOf(
  { version, over }: WriteAttempt,
  present: Item | undefined,
  fences: ReadonlySet<unknown>
): Outcome {
  if (present?.['version'] === version || present?.['replaced'] === version) return 'done'
  if (fences.has(present?.['version'])) return 'void'
  if (!over) return isLater(present, version) ? 'unclear' : 'open'
  if (isSameRecord(present, over)) return 'open'
  return isLater(present, version) && !hasReplaced(present, over) ? 'unclear' : 'void'
}

/**
 * Whether this is still the record that was read. A record of another program has no version, so it
 * may have changed nevertheless.
 */
export function isSameRecord(present: Item | undefined, record: Item): boolean {
  return present !== undefined && present['version'] === record['version']
}

/** Whether a record came directly after another. */
export function hasReplaced(present: Item | undefined, record: Item): boolean {
  return typeof record['version'] === 'string' && present?.['replaced'] === record['version']
}

/**
 * Whether a record was there before a delete of this instance was sent, so that the delete cannot
 * have been carried out.
 * @param settled versions up to this one are of others that have had an answer
 */
export function isOlder(
  record: Item,
  { version, instance, settled }: { version: string; instance: string; settled: string }
): boolean {
  const own = record['version']
  if (typeof own !== 'string') return true
  return own <= version && (instanceOf(own) === instance || own <= settled)
}
