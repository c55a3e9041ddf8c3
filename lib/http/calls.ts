import { Failure, texts } from '../errors.ts'
import { createAborter, type Signal } from './aborter.ts'
import type { AnswerMemory, Holding } from './answer-memory.ts'

/** The header fields of requests to the CMS that are a caller's own. */
export type CallerHeaders = Readonly<Record<string, string>>

/** Who asks for something, in one request to Quoin. */
export interface Caller {
  readonly headers: CallerHeaders
  /** The answer that the caller waits for. A caller without one never hangs up. */
  readonly answer?: PendingAnswer
  /** Hears of the session cookies that the CMS renews for this caller. */
  readonly onRenewal?: (cookies: string[]) => void
  /** What the verb that is under way may cost, if it is limited. `inCall` sets it. */
  budget: Budget | undefined
  /** The hash of the credentials, once it was needed (lib/drupal/credentials.ts). */
  fingerprint: string | undefined
}

/** A caller who asks for the first time. */
export function newCaller(
  headers: CallerHeaders = {},
  reactions: Pick<Caller, 'answer' | 'onRenewal'> = {}
): Caller {
  return { headers, ...reactions, budget: undefined, fingerprint: undefined }
}

/** What one call may cost the CMS and its caller. */
export interface CallLimits {
  /** How many requests may go to the CMS. `allow` adds to them. */
  requests: number
  /** Milliseconds after which the call reads nothing more and begins no write. */
  ms: number
  /** Milliseconds for reads after a write, which find out what became of it. */
  lookUpMs: number
  /** What there is for the large answers of all calls. */
  memory: AnswerMemory
}

/** What one verb may cost, with all its requests to the CMS. */
export interface Budget {
  /** How much work shares it. */
  sharers: number
  /** Aborted with a Failure when the caller hangs up, or the time is up. */
  readonly waiting: Signal
  /** For reads: the same signal; after a write another one, which is aborted after `lookUpMs`. */
  readonly signal: Signal
  /**
   * Counts a request before it is sent.
   * @throws {Failure} LIST_TOO_DEEP when there have been too many
   */
  spend(): void
  /** Counts a request that is sent again. */
  retry(): void
  /** Allows more requests, where the call is known to need them. */
  allow(requests: number): void
  /**
   * Takes memory for a large answer, or a part, until the call is over.
   * @throws {Failure} OVERLOADED, unless a write was sent
   */
  take(bytes: number): void
  /** Takes it for the answer to a write, which cannot be refused any more. */
  takeOutcome(bytes: number): void
  /** Gives some back. */
  free(bytes: number): void
  /**
   * Ends a write. From now on reads go on even if the caller hangs up, to find out what became of
   * the write.
   */
  endWrite(): void
  /** Gives back what was taken. */
  end(): void
}

/**
 * The part of node:http's ServerResponse that tells when a caller stops waiting: it is destroyed,
 * or emits `close`.
 */
export interface PendingAnswer {
  readonly destroyed: boolean
  once(event: 'close', listener: () => void): unknown
  off(event: 'close', listener: () => void): unknown
}

/** Whether a caller has hung up. */
export function hasHungUp({ answer }: Caller): boolean {
  return answer?.destroyed === true
}

/** Nobody receives this answer. */
export const CALLER_GONE = new Failure('CALLER_GONE', 'The caller has hung up')

/**
 * Does work for a caller within limits. All requests to the CMS for this caller count in the
 * meantime. Work for the same caller at the same time shares the limits of the first. Where the
 * work fails, its requests end.
 */
export async function inCall<T>(
  caller: Caller,
  limits: CallLimits,
  work: () => Promise<T>
): Promise<T> {
  const { budget: current, answer } = caller
  if (current && current.sharers > 0) return join(current, work)

  const interest = createAborter()
  const timer = setTimeout(() => interest.abort(tooSlow(limits.ms)), limits.ms)
  const hangUp = () => interest.abort(CALLER_GONE)
  if (answer?.destroyed) hangUp()
  answer?.once('close', hangUp)
  const own = createBudget(interest, limits)
  caller.budget = own
  return work()
    .finally(() => {
      if (--own.sharers === 0) own.end()
      clearTimeout(timer)
      answer?.off('close', hangUp)
    })
    .catch((error) => {
      hangUp()
      throw error
    })
}

async function join<T>(current: Budget, work: () => Promise<T>): Promise<T> {
  current.sharers++
  try {
    return await work()
  } finally {
    if (--current.sharers === 0) current.end()
  }
}

function createBudget(interest: Signal, { requests, lookUpMs, memory }: CallLimits): Budget {
  let holding: Holding | undefined
  let isOver = false
  let most = requests
  let count = 0
  let isWritten = false
  let lookUp: Signal | undefined

  return {
    sharers: 1,
    waiting: interest,
    get signal() {
      if (!isWritten) return interest
      lookUp ??= expiring(lookUpMs)
      return lookUp
    },
    spend() {
      if (count >= most) throw tooDeep(most)
      count++
    },
    retry() {
      count++
    },
    allow(more) {
      most += more
    },
    take: (bytes) => (isWritten ? held()?.add(bytes) : held()?.take(bytes)),
    takeOutcome: (bytes) => held()?.add(bytes),
    free: (bytes) => held()?.free(bytes),
    end() {
      isOver = true
      holding?.end()
    },
    endWrite() {
      isWritten = true
      lookUp = undefined
    }
  }

  /** What the call takes. A request that outlives its call takes nothing. */
  function held(): Holding | undefined {
    if (isOver) return undefined
    holding ??= memory.open()
    return holding
  }
}

function expiring(ms: number): Signal {
  const aborter = createAborter()
  setTimeout(() => aborter.abort(tooSlow(ms)), ms).unref()
  return aborter
}

/** The failure at the deadline. The code of its cause says that a write was not sent. */
function tooSlow(ms: number): Failure {
  return new Failure('CMS_TIMEOUT', `The CMS is too slow to answer this within ${ms} ms`, {
    cause: Object.assign(new Error('the deadline of the call'), { code: 'NOT_SENT' })
  })
}

function tooDeep(requests: number): Failure {
  return new Failure('LIST_TOO_DEEP', texts.listTooDeep(requests))
}
