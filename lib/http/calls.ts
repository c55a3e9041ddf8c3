import { Failure, texts } from '../errors.ts'
import { createAborter, type Signal } from './aborter.ts'
import type { AnswerMemory, Holding } from './answer-memory.ts'

/** The header fields of one caller's requests to the CMS. */
export type Caller = Readonly<Record<string, string>>

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

/** One call of a caller: all requests to the CMS for one answer. */
export interface Call {
  /** Aborted with a Failure when the caller hangs up, or the time is up. */
  readonly waiting: Signal
  /** For reads: the same signal; after a write another one, which is aborted after `lookUpMs`. */
  readonly signal: Signal
  /** Counts a request before it is sent. @throws {Failure} LIST_TOO_DEEP when there have been too many */
  spend(): void
  /** Counts a request that is sent again. */
  retry(): void
  /** Allows more requests, where the call is known to need them. */
  allow(requests: number): void
  /** Takes memory for a large answer, or a part, until the call is over. @throws {Failure} OVERLOADED, unless a write was sent */
  take(bytes: number): void
  /** Takes it for the answer to a write, which cannot be refused any more. */
  takeOutcome(bytes: number): void
  /** Gives some back. */
  free(bytes: number): void
  /** Ends a write. From now on reads go on even if the caller hangs up, to find out what became of the write. */
  endWrite(): void
}

/** The part of node:http's ServerResponse that tells when a caller stops waiting: it is destroyed, or emits `close`. */
export interface PendingAnswer {
  readonly destroyed: boolean
  once(event: 'close', listener: () => void): unknown
  off(event: 'close', listener: () => void): unknown
}

const CALL = Symbol('call')
const ANSWER = Symbol('answer')

/**
 * The state that a caller carries beside the header fields. The keys are symbols, which are not sent. Two WeakMaps would
 * cost 8 us of CPU for a read of 170, most of it in the garbage collector.
 */
interface CallState {
  [CALL]?: Running
  [ANSWER]?: PendingAnswer
}

interface Running {
  call: Call & { end(): void }
  /** How much work shares it. */
  running: number
}

/** Ends a caller's calls when the caller hangs up. A caller without this never hangs up. */
export function endOnHangUp(caller: Caller, answer: PendingAnswer): void {
  ;(caller as CallState)[ANSWER] = answer
}

/** Whether a caller has hung up. */
export function hasHungUp(caller: Caller): boolean {
  return (caller as CallState)[ANSWER]?.destroyed === true
}

/** Nobody receives this answer. */
export const CALLER_GONE = new Failure('CALLER_GONE', 'The caller has hung up')

/** The caller's call that is under way, if there is one. */
export function callOf(caller: Caller): Call | undefined {
  return (caller as CallState)[CALL]?.call
}

/**
 * Does work for a caller within limits. All requests to the CMS for this caller count in the meantime. Work for the same
 * caller at the same time shares the limits of the first. Where the work fails, its requests end.
 */
export async function inCall<T>(
  caller: Caller,
  limits: CallLimits,
  work: () => Promise<T>
): Promise<T> {
  const state = caller as CallState
  const current = state[CALL]
  if (current && current.running > 0) return join(current, work)

  const interest = createAborter()
  const timer = setTimeout(() => interest.abort(tooSlow(limits.ms)), limits.ms)
  const hangUp = () => interest.abort(CALLER_GONE)
  const answer = state[ANSWER]
  if (answer?.destroyed) hangUp()
  answer?.once('close', hangUp)
  const own = { call: createCall(interest, limits), running: 1 }
  state[CALL] = own
  return work()
    .finally(() => {
      if (--own.running === 0) own.call.end()
      clearTimeout(timer)
      answer?.off('close', hangUp)
    })
    .catch((error) => {
      hangUp()
      throw error
    })
}

async function join<T>(current: Running, work: () => Promise<T>): Promise<T> {
  current.running++
  try {
    return await work()
  } finally {
    if (--current.running === 0) current.call.end()
  }
}

function createCall(interest: Signal, { requests, lookUpMs, memory }: CallLimits): Running['call'] {
  let holding: Holding | undefined
  let isOver = false
  let most = requests
  let count = 0
  let isWritten = false
  let lookUp: Signal | undefined

  return {
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
