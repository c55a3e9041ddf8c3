import type { AnswerMemory } from '../http/answer-memory.ts'
import { inCall, type CallLimits } from '../http/calls.ts'
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
 * Limits every call of editions: its requests to the CMS, its time and its memory. When the caller hangs up, the reads end.
 * @param timeoutMs the deadline of one request to the CMS
 * @param memory what there is for the large answers of all calls
 * @throws {Failure} besides what the verbs throw: LIST_TOO_DEEP, TOO_LARGE, CMS_TIMEOUT, OVERLOADED, CALLER_GONE
 */
export function withLimits(editions: Editions, timeoutMs: number, memory: AnswerMemory): Editions {
  const limits: CallLimits = {
    requests: REQUESTS,
    ms: DEADLINES * timeoutMs,
    lookUpMs: timeoutMs,
    memory
  }
  return {
    create: (...args) => inCall(args[1], limits, () => editions.create(...args)),
    arrange: (...args) => inCall(args[2], limits, () => editions.arrange(...args)),
    update: (...args) => inCall(args[2], limits, () => editions.update(...args)),
    read: (...args) => inCall(args[1], limits, () => editions.read(...args)),
    readListed: (...args) => inCall(args[2], limits, () => editions.readListed(...args)),
    inspect: (...args) => inCall(args[1], limits, () => editions.inspect(...args)),
    close: (id, caller, options) =>
      inCall(caller, limits, () => editions.close(id, caller, options)),
    bare: (...args) => inCall(args[1], limits, () => editions.bare(...args)),
    search: (...args) => inCall(args[2], limits, () => editions.search(...args)),
    labels: (...args) => inCall(args[1], limits, () => editions.labels(...args)),
    looks: (...args) => inCall(args[2], limits, () => editions.looks(...args)),
    samples: (...args) => inCall(args[1], limits, () => editions.samples(...args)),
    bundles: (...args) => inCall(args[0], limits, () => editions.bundles(...args)),
    types: (...args) => inCall(args[0], limits, () => editions.types(...args)),
    probe: (...args) => inCall(args[0], limits, () => editions.probe(...args)),
    age: editions.age
  }
}
