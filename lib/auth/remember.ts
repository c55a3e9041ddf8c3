import { LRUCache } from 'lru-cache'
import { createSingleFlight } from '../http/single-flight.ts'
import type { Time } from '../time.ts'

export interface RememberOptions<Question, Answer> {
  /** The answer; undefined is a refusal. Throws where it cannot be found out. */
  ask: (question: Question) => Promise<Answer | undefined>
  /** Tells questions apart; without credentials in it. */
  keyOf: (question: Question) => string
  /** How long a refusal is remembered, in milliseconds. */
  refusedMs: (question: Question) => number
  /**
   * Whether what an answer says was refused since it was asked for, in milliseconds of the clock.
   * Then it counts no more.
   */
  isRefused: (question: Question, answer: Answer, askedAt: number) => boolean
  /** How many of each kind are remembered; beyond it the least recently used are forgotten. */
  most?: number
  time: Time
}

/**
 * How long an answer is reused. A user who has logged out, or has lost a right, is let in for so
 * long.
 */
const ACCEPTED_MS = 60_000

/** How long an answer stays good while nobody can be asked. */
const STALE_MS = 15 * 60_000

/** How long Quoin then waits with the next try, so that not every request waits in vain. */
const RETRY_MS = 10_000

const MOST = 10_000

/**
 * Remembers answers about callers. Refusals have a memory of their own, so that made-up credentials
 * push nobody out. Of many who ask the same at once, only one sends the question.
 */
export function remembering<Question, Answer extends object>({
  ask,
  keyOf,
  refusedMs,
  isRefused,
  most = MOST,
  time
}: RememberOptions<Question, Answer>) {
  const answers = new LRUCache<string, { answer: Answer; askedAt: number; until: number }>({
    maxSize: most,
    sizeCalculation: () => 1
  })
  const refusals = new LRUCache<string, number>({ maxSize: most, sizeCalculation: () => 1 })
  const { share } = createSingleFlight<Answer | undefined>()

  /** What is remembered, unless it was refused since. */
  function recall(key: string, question: Question) {
    const memory = answers.get(key)
    return memory && isRefused(question, memory.answer, memory.askedAt) ? undefined : memory
  }

  async function find(key: string, question: Question): Promise<Answer | undefined> {
    try {
      const askedAt = time.monotonic()
      const answer = await ask(question)
      answers.delete(key)
      if (answer) answers.set(key, { answer, askedAt, until: time.monotonic() + ACCEPTED_MS })
      else refusals.set(key, time.monotonic() + refusedMs(question))
      return answer
    } catch (error) {
      // Looked up now: a refusal may have come meanwhile.
      const memory = recall(key, question)
      if (!memory || time.monotonic() - memory.askedAt >= STALE_MS) throw error
      memory.until = time.monotonic() + RETRY_MS
      return memory.answer
    }
  }

  /**
   * @param isAnew whether an answer that was asked for before does not do, while there is one to be
   *   had
   */
  return async function remembered(
    question: Question,
    isAnew = false
  ): Promise<Answer | undefined> {
    const key = keyOf(question)
    const memory = recall(key, question)
    if (memory && time.monotonic() < memory.until && !isAnew) return memory.answer
    if (time.monotonic() < (refusals.get(key) ?? 0)) return undefined
    return share(key, () => find(key, question))
  }
}
