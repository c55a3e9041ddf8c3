import { inCall, type CallLimits, type Caller } from '../http/calls.ts'
import type { Editions } from './editions.ts'

/**
 * How many requests to the CMS one call may take: 200 for pages with rows that are hidden, or are not what is searched for,
 * and as many as all other things take together. A list may take more for its offset, limit and collections (search.ts), a
 * save for references that have to be looked for one by one (references.ts).
 */
export const REQUESTS = 250

/** How many times the deadline of one request to the CMS a call may take. */
export const DEADLINES = 3

/**
 * The same editions with limits for each call: to its requests to the CMS, and to the time that it takes. Who hangs up ends
 * his reads.
 * @param timeoutMs the deadline of one request to the CMS
 * @throws {Failure} besides what the verbs throw: LIST_TOO_DEEP, CMS_TIMEOUT, CALLER_GONE
 */
export function withLimits (editions: Editions, timeoutMs: number): Editions {
  const limits: CallLimits = { requests: REQUESTS, ms: DEADLINES * timeoutMs, lookUpMs: timeoutMs }
  const within = <T>(caller: Caller, work: () => Promise<T>) => inCall(caller, limits, work)
  return {
    create: (...args) => within(args[1], () => editions.create(...args)),
    update: (...args) => within(args[2], () => editions.update(...args)),
    read: (...args) => within(args[1], () => editions.read(...args)),
    bare: (...args) => within(args[1], () => editions.bare(...args)),
    search: (...args) => within(args[2], () => editions.search(...args)),
    labels: (...args) => within(args[1], () => editions.labels(...args)),
    bundles: (...args) => within(args[0], () => editions.bundles(...args)),
    types: (...args) => within(args[0], () => editions.types(...args)),
    probe: (...args) => within(args[0], () => editions.probe(...args)),
    age: editions.age
  }
}
