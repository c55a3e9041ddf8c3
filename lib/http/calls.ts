import { Failure, texts } from '../errors.ts'
import { createAborter, type Signal } from './aborter.ts'

/** Header fields of one caller's requests to the CMS; not to be changed. */
export type Caller = Readonly<Record<string, string>>

/** What one call may cost the CMS, and its caller. */
export interface CallLimits {
  /** How many requests may go to the CMS; `allow` adds to them. */
  requests: number
  /** Milliseconds after which nothing more is read and no write is begun. */
  ms: number
  /** Milliseconds that reads have after a write, to find out what became of it. */
  lookUpMs: number
}

/** One call of a caller: all requests to the CMS that it takes to answer them once. */
export interface Call {
  /** Aborted, with a Failure, when the caller hangs up or the time is over. */
  readonly waiting: Signal
  /** Of reads: the same; after a write another, which is aborted when the time to look it up is over. */
  readonly signal: Signal
  /** Counts a request before it is sent. @throws {Failure} LIST_TOO_DEEP when there have been too many */
  spend (): void
  /** Counts one that is sent again. */
  retry (): void
  /** Grants requests that the call is known to need. */
  allow (requests: number): void
  /** Says that a write is over: reads go on now, caller or not, to find out what became of it. */
  endWrite (): void
}

/** Subscribes a listener to a caller's hanging up, and gives what ends the subscription. */
export type HangUps = (listener: () => void) => () => void

const CALL = Symbol('call')
const HANG_UPS = Symbol('hang-ups')

/**
 * What a caller carries besides header fields. Under symbols, which are not sent; two WeakMaps instead would take 8 us of
 * CPU for a read of 170, most of it in the garbage collector.
 */
interface CallState {
  [CALL]?: { call: Call, running: number }
  [HANG_UPS]?: HangUps
}

/** Has a caller's calls end when he hangs up. Whoever takes requests says so of each caller; others never hang up. */
export function endOnHangUp (caller: Caller, hangUps: HangUps): void {
  (caller as CallState)[HANG_UPS] = hangUps
}

/** Nobody receives this: whoever would has gone. */
export const GONE = new Failure('CALLER_GONE', 'The caller has hung up')

/** The call that is under way for a caller, if any. */
export function callOf (caller: Caller): Call | undefined {
  return (caller as CallState)[CALL]?.call
}

/**
 * Does work for a caller within limits: all requests to the CMS that are made for this caller meanwhile count. What runs at
 * the same time for the same caller shares the limits of the first. Work that fails leaves no request behind.
 */
export async function inCall<T> (caller: Caller, limits: CallLimits, work: () => Promise<T>): Promise<T> {
  const state = caller as CallState
  const shared = state[CALL]
  if (shared && shared.running > 0) return join(shared, work)

  const waiting = createAborter()
  const timer = setTimeout(() => waiting.abort(tooSlow(limits.ms)), limits.ms)
  const unsubscribe = state[HANG_UPS]?.(() => waiting.abort(GONE))
  const own = { call: createCall(waiting, limits), running: 1 }
  state[CALL] = own
  try {
    return await work()
  } catch (error) {
    waiting.abort(GONE)
    throw error
  } finally {
    own.running--
    clearTimeout(timer)
    unsubscribe?.()
  }
}

async function join<T> (shared: { running: number }, work: () => Promise<T>): Promise<T> {
  shared.running++
  try {
    return await work()
  } finally {
    shared.running--
  }
}

function createCall (waiting: Signal, { requests, lookUpMs }: CallLimits): Call {
  let granted = requests
  let sent = 0
  let isWritten = false
  let lookUp: Signal | undefined

  return {
    waiting,
    get signal () {
      if (!isWritten) return waiting
      lookUp ??= expiring(lookUpMs)
      return lookUp
    },
    spend () {
      if (sent >= granted) throw tooDeep(granted)
      sent++
    },
    retry () { sent++ },
    allow (more) { granted += more },
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

/** Of a write it says that it was not sent: its cause has the code that tells so. */
function tooSlow (ms: number): Failure {
  return new Failure('CMS_TIMEOUT', `The CMS is too slow to answer this within ${ms} ms`, { cause: Object.assign(new Error('the deadline of the call'), { code: 'NOT_SENT' }) })
}

function tooDeep (requests: number): Failure {
  return new Failure('LIST_TOO_DEEP', texts.listTooDeep(requests))
}
