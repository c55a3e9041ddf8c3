import { Failure, texts } from '../errors.ts'
import { createAborter, type Signal } from './aborter.ts'

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
}

/** One call of a caller: all requests to the CMS for one answer. */
export interface Call {
  /** Aborted with a Failure when the caller hangs up, or the time is up. */
  readonly waiting: Signal
  /** For reads: the same signal; after a write another one, which is aborted after `lookUpMs`. */
  readonly signal: Signal
  /** Counts a request before it is sent. @throws {Failure} LIST_TOO_DEEP when there have been too many */
  spend (): void
  /** Counts a request that is sent again. */
  retry (): void
  /** Allows more requests, where the call is known to need them. */
  allow (requests: number): void
  /** Ends a write. From now on reads go on even if the caller hangs up, to find out what became of the write. */
  endWrite (): void
}

/** The part of node:http's ServerResponse that tells when a caller stops waiting: it is destroyed, or emits `close`. */
export interface PendingAnswer {
  readonly destroyed: boolean
  once (event: 'close', listener: () => void): unknown
  off (event: 'close', listener: () => void): unknown
}

const CALL = Symbol('call')
const ANSWER = Symbol('answer')

/**
 * The state that a caller carries beside the header fields. The keys are symbols, which are not sent. Two WeakMaps would
 * cost 8 us of CPU for a read of 170, most of it in the garbage collector.
 */
interface CallState {
  [CALL]?: { call: Call, running: number }
  [ANSWER]?: PendingAnswer
}

/** Ends a caller's calls when the caller hangs up. A caller without this never hangs up. */
export function endOnHangUp (caller: Caller, answer: PendingAnswer): void {
  (caller as CallState)[ANSWER] = answer
}

/** Nobody receives this answer. */
export const CALLER_GONE = new Failure('CALLER_GONE', 'The caller has hung up')

/** The caller's call that is under way, if there is one. */
export function callOf (caller: Caller): Call | undefined {
  return (caller as CallState)[CALL]?.call
}

/**
 * Does work for a caller within limits. All requests to the CMS for this caller count in the meantime. Work for the same
 * caller at the same time shares the limits of the first. Where the work fails, its requests end.
 */
export async function inCall<T> (caller: Caller, limits: CallLimits, work: () => Promise<T>): Promise<T> {
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
  return work().finally(() => {
    own.running--
    clearTimeout(timer)
    answer?.off('close', hangUp)
  }).catch((error) => {
    hangUp()
    throw error
  })
}

async function join<T> (call: { running: number }, work: () => Promise<T>): Promise<T> {
  call.running++
  try {
    return await work()
  } finally {
    call.running--
  }
}

function createCall (interest: Signal, { requests, lookUpMs }: CallLimits): Call {
  let most = requests
  let count = 0
  let isWritten = false
  let lookUp: Signal | undefined

  return {
    waiting: interest,
    get signal () {
      if (!isWritten) return interest
      lookUp ??= expiring(lookUpMs)
      return lookUp
    },
    spend () {
      if (count >= most) throw tooDeep(most)
      count++
    },
    retry () { count++ },
    allow (more) { most += more },
    endWrite () {
      isWritten = true
      lookUp = undefined
    }
  }
}

function expiring (ms: number): Signal {
  const aborter = createAborter()
  setTimeout(() => aborter.abort(tooSlow(ms)), ms).unref()
  return aborter
}

/** The failure at the deadline. The code of its cause says that a write was not sent. */
function tooSlow (ms: number): Failure {
  return new Failure('CMS_TIMEOUT', `The CMS is too slow to answer this within ${ms} ms`, { cause: Object.assign(new Error('the deadline of the call'), { code: 'NOT_SENT' }) })
}

function tooDeep (requests: number): Failure {
  return new Failure('LIST_TOO_DEEP', texts.listTooDeep(requests))
}
