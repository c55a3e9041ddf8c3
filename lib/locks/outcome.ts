import type { Item } from '../table/item.ts'
import { holderOf, isExpired, type Moment } from './record.ts'
import type { Holder } from './schemas.ts'

/**
 * The lock is the user's: in which version, since when and, if it expires, until when (Unix
 * seconds).
 */
export interface AcquiredOutcome {
  outcome: 'acquired'
  version: string
  timestamp: number
  expiresAt?: number
}
/** The same, with the holder of the lock that it displaced, if that lock had not expired. */
export interface TakeoverOutcome extends AcquiredOutcome {
  displaced?: Holder
}
/** Another holds the field. */
export interface HeldOutcome {
  outcome: 'held'
  lock: Holder
}
/**
 * The lock is not in the state that was asked for. `lock` has its present holder, if there is one.
 */
export interface ChangedOutcome {
  outcome: 'changed'
  lock?: Holder
}
export interface ReleasedOutcome {
  outcome: 'released'
  /** Keeps the text of the lock, where another user has released it. */
  draft?: Item
}

export type LockRefusal = HeldOutcome | ChangedOutcome

/** The outcome of a request whose lock is in another state. An expired lock is nobody's. */
export function changedOutcome(record: Item | undefined, moment: Moment): ChangedOutcome {
  if (!record || isExpired(record, moment)) return { outcome: 'changed' }
  return { outcome: 'changed', lock: holderOf(record) }
}
