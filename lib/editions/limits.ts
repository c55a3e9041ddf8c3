import type { AnswerMemory } from '../http/answer-memory.ts'
import type { CallLimits } from '../http/calls.ts'

/**
 * How many requests to the CMS one call may take: 200 for pages whose rows are hidden or do not
 * match the search, and 50 for everything else. A list may take more for its offset, limit and
 * collections (list/search.ts), a save for references that have to be looked up one by one
 * (lookup/references.ts).
 */
export const REQUESTS = 250

/** A call may take this many times the deadline of one request to the CMS. */
export const DEADLINES = 3

/**
 * The limits of every call of editions. When the caller hangs up, the reads end too.
 * @param timeoutMs the deadline of one request to the CMS
 * @param memory what there is for the large answers of all calls
 */
export function editionLimits(timeoutMs: number, memory: AnswerMemory): CallLimits {
  return {
    requests: REQUESTS,
    ms: DEADLINES * timeoutMs,
    lookUpMs: timeoutMs,
    memory
  }
}
