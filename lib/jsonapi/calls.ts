import { Failure } from '../errors.ts'
import type { Caller } from './credentials.ts'

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
  readonly waiting: AbortSignal
  /** Of reads: the same; after a write another, which is aborted when the time to look it up is over. */
  readonly signal: AbortSignal
  /** Counts a request before it is sent. @throws {Failure} LIST_TOO_DEEP when there have been too many */
  spend (): void
  /** Counts one that is sent again. */
  retry (): void
  /** Grants requests that the call is known to need. */
  allow (requests: number): void
  /** Says that a write is over: reads go on now, caller or not, to find out what became of it. */
  written (): void
}

/**
 * Tells of callers who hang up: subscribes a listener, and gives what ends the subscription. Whoever takes requests sets it
 * for each caller; who has none never hangs up.
 */
export const hangUps = new WeakMap<Caller, (listener: () => void) => () => void>()

/** Nobody receives this: whoever would has gone. */
export const GONE = new Failure('CALLER_GONE', 'The caller has hung up')

const calls = new WeakMap<Caller, { call: Call, running: number }>()

/** The call that is under way for a caller, if any. */
export function callOf (caller: Caller): Call | undefined {
  return calls.get(caller)?.call
}

/**
 * Does work for a caller within limits: all requests to the CMS that are made for this caller meanwhile count. What runs at
 * the same time for the same caller shares the limits of the first. Work that fails leaves no request behind.
 */
export async function inCall<T> (caller: Caller, limits: CallLimits, work: () => Promise<T>): Promise<T> {
  const shared = calls.get(caller)
  if (shared && shared.running > 0) return joined(shared)

  const { ms } = limits
  const controller = new AbortController()
  const stop = (reason: Failure) => controller.abort(reason)
  const timer = setTimeout(() => stop(tooSlow(ms)), ms)
  const unsubscribe = hangUps.get(caller)?.(() => stop(GONE))
  const own = { call: createCall(controller.signal, limits), running: 0 }
  calls.set(caller, own)
  return joined(own).catch((error: unknown) => {
    stop(GONE)
    throw error
  }).finally(() => {
    clearTimeout(timer)
    unsubscribe?.()
  })

  async function joined (state: { running: number }): Promise<T> {
    state.running++
    try {
      return await work()
    } finally {
      state.running--
    }
  }
}

function createCall (waiting: AbortSignal, { requests, lookUpMs }: CallLimits): Call {
  let granted = requests
  let sent = 0
  let isWritten = false
  let lookUp: AbortSignal | undefined

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
    written () {
      isWritten = true
      lookUp = undefined
    }
  }
}

function expiring (ms: number): AbortSignal {
  const controller = new AbortController()
  setTimeout(() => controller.abort(tooSlow(ms)), ms).unref()
  return controller.signal
}

/** Of a write it says that it was not sent: its cause has the code that tells so. */
function tooSlow (ms: number): Failure {
  return new Failure('CMS_TIMEOUT', `The CMS is too slow to answer this within ${ms} ms`, { cause: Object.assign(new Error('the deadline of the call'), { code: 'NOT_SENT' }) })
}

function tooDeep (requests: number): Failure {
  return new Failure('LIST_TOO_DEEP', `This takes more than ${requests} requests to the CMS: too many editions before those that you ask for are hidden from you, or are not what you search for. ` +
    'Narrow it: search with q, status, type or key, ask for a smaller offset, leave out total=1; name an edition, or what it refers to, by its uuid. ' +
    'Where Drupal does not let you filter, an administrator can grant JSON:API filter access')
}
