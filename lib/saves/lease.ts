import { LRUCache } from 'lru-cache'
import { keyOf, type Item } from '../locks/record.ts'

/** How much the clocks of two instances may differ after correction by the store's, in milliseconds. */
export const CLOCKS_MS = 2000

/** How many leases that tell nothing are watched; beyond it the least recently used are forgotten. */
const WATCHED_MAX = 1000

/** Whether the lease of a record is over. @param longestMs how long a lease of its kind holds at most */
export type IsLeaseOver = (record: Item, longestMs: number) => boolean

/**
 * Judges the leases of records, by their `leaseUntil`. A record without one is nobody's. A lease that ends later than any
 * can is of a wrong clock: it is over when the record has stayed the same for as long as such a lease holds.
 * @param now the store's clock, in milliseconds since 1970
 * @param monotonic milliseconds that no setting of a clock changes
 */
export function createLeases(now: () => number, monotonic: () => number): IsLeaseOver {
  const watched = new LRUCache<string, { state: string; since: number }>({ max: WATCHED_MAX })

  return function isLeaseOver(record, longestMs) {
    const { leaseUntil, version } = record
    if (typeof leaseUntil !== 'number') return true
    const leftMs = leaseUntil - now()
    if (leftMs <= longestMs + CLOCKS_MS) return leftMs <= 0
    const name = JSON.stringify(keyOf(record))
    const state = JSON.stringify([version, leaseUntil])
    const before = watched.get(name)
    if (before?.state === state) return monotonic() - before.since >= longestMs
    watched.set(name, { state, since: monotonic() })
    return false
  }
}
