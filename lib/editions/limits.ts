import { inCall, type CallLimits, type Caller } from '../http/calls.ts'
import type { Editions } from './editions.ts'

/**
 * How many requests to the CMS one call may take: 200 for pages whose rows are hidden or do not match the search, and 50 for
 * everything else. A list may take more for its offset, limit and collections (list/search.ts), a save for references that
 * have to be looked up one by one (lookup/references.ts).
 */
export const REQUESTS = 250

/** A call may take this many times the deadline of one request to the CMS. */
export const DEADLINES = 3

/**
 * Limits every call of editions: its requests to the CMS, and its time. When the caller hangs up, the reads end.
 * @param timeoutMs the deadline of one request to the CMS
 * @throws {Failure} besides what the verbs throw: LIST_TOO_DEEP, CMS_TIMEOUT, CALLER_GONE
 */
export function withLimits (editions: Editions, timeoutMs: number): Editions {
  const limits: CallLimits = { requests: REQUESTS, ms: DEADLINES * timeoutMs, lookUpMs: timeoutMs }
  const within = <T>(caller: Caller, work: () => Promise<T>) => inCall(caller, limits, work)
  return {
    create: (...args) => within(args[1], () => editions.create(...args)),
    arrange: (...args) => within(args[2], () => editions.arrange(...args)),
    update: (...args) => within(args[2], () => editions.update(...args)),
    read: (...args) => within(args[1], () => editions.read(...args)),
    readListed: (...args) => within(args[2], () => editions.readListed(...args)),
    inspect: (...args) => within(args[1], () => editions.inspect(...args)),
    close: (id, caller, options) => within(caller, () => editions.close(id, caller, options)),
    bare: (...args) => within(args[1], () => editions.bare(...args)),
    search: (...args) => within(args[2], () => editions.search(...args)),
    labels: (...args) => within(args[1], () => editions.labels(...args)),
    bundles: (...args) => within(args[0], () => editions.bundles(...args)),
    types: (...args) => within(args[0], () => editions.types(...args)),
    probe: (...args) => within(args[0], () => editions.probe(...args)),
    age: editions.age
  }
}
