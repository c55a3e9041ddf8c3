import { Failure } from '../errors.ts'
import type { Time } from '../time.ts'

/** Header fields that identify an account. */
export type AccountHeaders = Record<string, string>

/** What one try says about the credentials; every other outcome is thrown. */
export type LoginResult =
  | { accepted: AccountHeaders }
  /** @property pauseMs for how long they are not tried again */
  | { refused: string; status?: number; pauseMs: number }
  | { isLockedOut: true }

/**
 * The pause after a lockout, or a refusal that may be one, in milliseconds. Drupal allows fifty
 * failures of one address in an hour.
 */
export const LOCKED_OUT_MS = 3_600_000

/**
 * The pause after the first try that says nothing about the credentials, in milliseconds. It
 * doubles up to the longest.
 */
const PAUSE_MS = 1000
export const LONGEST_PAUSE_MS = 60_000

/**
 * One try.
 * @param mayTry to be called right before credentials are tried. It throws a Failure,
 *   CMS_UNAVAILABLE, while another instance's refusal is heeded
 */
export type LoginAttempt = (mayTry: () => void) => Promise<LoginResult>

export interface LoginOptions {
  time: Time
  /**
   * Joins the instances that have the same account.
   * @param hear to be called when one of them says that Drupal has refused it
   * @returns tells them so
   */
  joinPeers?: ((hear: () => void) => () => void) | undefined
}

/** What the tries of an account have led to so far. */
export interface LoginContext extends Pick<LoginOptions, 'time'> {
  currentTry: Promise<AccountHeaders> | undefined
  /** The pause after a failed try. */
  currentPause: { until: number; failure: () => Failure } | undefined
  /** How many tries have failed one after the other. */
  failures: number
  wasAccepted: boolean
  /** The end of the pause after another instance's refusal. */
  heededUntil: number
  /** The end of the time in which no further refusal of another instance is heeded. */
  deafUntil: number
  tellPeers: (() => void) | undefined
}

export function createLoginContext({ time, joinPeers }: LoginOptions): LoginContext {
  const context: LoginContext = {
    time,
    currentTry: undefined,
    currentPause: undefined,
    failures: 0,
    wasAccepted: false,
    heededUntil: -Infinity,
    deafUntil: -Infinity,
    tellPeers: undefined
  }
  context.tellPeers = joinPeers?.(() => heedPeer(context))
  return context
}

/**
 * Makes one try at a time, and shares it among all who ask in the meantime. A failed try is
 * followed by a pause: for ever where Drupal refused the credentials, an hour where it locked them
 * out, else one second, doubling to 60. Each of these seconds is shortened at random by up to a
 * half, so that several instances do not return at the same moment.
 *
 * After another instance's refusal this one pauses too: for up to an hour, or a minute where Drupal
 * has accepted the credentials before. The notice of a refusal may be wrong. So Quoin heeds one,
 * and the next one not before an hour after the next try here.
 */
export async function tryLogin(
  context: LoginContext,
  attempt: LoginAttempt
): Promise<AccountHeaders> {
  const { currentTry, currentPause, time } = context
  if (currentTry) return currentTry
  if (currentPause && time.monotonic() < currentPause.until) throw currentPause.failure()
  context.currentTry = runAttempt(context, attempt).finally(() => {
    context.currentTry = undefined
  })
  return context.currentTry
}

async function runAttempt(context: LoginContext, attempt: LoginAttempt): Promise<AccountHeaders> {
  const result = await attempt(() => mayTry(context)).catch((error: Failure) => {
    throw failureOf(context, error)
  })
  context.failures = 0
  context.currentPause = undefined
  if ('accepted' in result) {
    context.wasAccepted = true
    return result.accepted
  }
  if ('isLockedOut' in result) throw pauseAfterLockout(context)
  // A token locks nobody out.
  if (result.pauseMs > LONGEST_PAUSE_MS) context.tellPeers?.()
  const refusal = loginRefused(result)
  context.currentPause = {
    until: context.time.monotonic() + result.pauseMs,
    failure: () => refusal
  }
  throw refusal
}

/** Pauses after another instance's refusal. */
function heedPeer(context: LoginContext): void {
  const { time, deafUntil, wasAccepted } = context
  if (time.monotonic() < deafUntil) return
  const pauseMs = wasAccepted ? LONGEST_PAUSE_MS : LOCKED_OUT_MS
  context.heededUntil = time.monotonic() + pauseMs * (1 - time.random() / 2)
  context.deafUntil = Infinity
}

/** @throws {Failure} CMS_UNAVAILABLE while another instance's refusal is heeded */
function mayTry(context: LoginContext): void {
  const { time, heededUntil, deafUntil } = context
  if (time.monotonic() < heededUntil) {
    const message = "The CMS has refused this service's account to another instance"
    throw pausing(context, heededUntil, message)
  }
  if (deafUntil === Infinity) context.deafUntil = time.monotonic() + LOCKED_OUT_MS
}

/**
 * The failure of a try that says nothing about the credentials. Begins a pause, unless nothing was
 * sent.
 */
function failureOf(context: LoginContext, error: Failure): Failure {
  // Nothing was sent: the circuit breaker is open, or another instance's refusal is heeded.
  if (error.code === 'CMS_UNAVAILABLE') return error
  const { time } = context
  const doubled = PAUSE_MS * 2 ** context.failures++
  const until = time.monotonic() + Math.min(LONGEST_PAUSE_MS, doubled) * (1 - time.random() / 2)
  const failure = notLoggedIn(error)
  const message = "The CMS could not log in this service's account"
  context.currentPause = {
    until,
    failure: () => pausing(context, until, message, failure.cause as Error)
  }
  return failure
}

/** Begins the pause after a lockout. @returns the failure of all requests in it */
function pauseAfterLockout(context: LoginContext): Failure {
  const until = context.time.monotonic() + LOCKED_OUT_MS
  const message = "The CMS has locked out this service's account after wrong tries to log in"
  const failure = (): Failure => pausing(context, until, message)
  context.currentPause = { until, failure }
  return failure()
}

/** The failure of a request in a pause. */
function pausing(
  { time }: LoginContext,
  until: number,
  message: string,
  cause = new Error('flood control of the CMS')
): Failure {
  const seconds = String(Math.max(1, Math.ceil((until - time.monotonic()) / 1000)))
  return new Failure(
    'CMS_UNAVAILABLE',
    `${message}: nothing is sent to it, and so nothing saved, until it is tried again in ${seconds} s`,
    {
      headers: { 'retry-after': seconds },
      cause
    }
  )
}

/** The failure of a try. The request that needs the account was not sent. */
function notLoggedIn({ code, message, cause }: Failure): Failure {
  return new Failure(code, message, {
    cause: Object.assign(new Error((cause as Error).message, { cause }), { code: 'NOT_SENT' })
  })
}

function loginRefused({
  refused,
  status,
  pauseMs
}: {
  refused: string
  status?: number
  pauseMs: number
}): Failure {
  const isPassing = pauseMs <= LONGEST_PAUSE_MS
  const next = isPassing
    ? `tried again in ${pauseMs / 1000} s`
    : 'not tried again, since Drupal locks an address out after five wrong tries'
  return new Failure(
    'CMS_LOGIN_REFUSED',
    `The CMS does not accept this service's account; its operator has to ${isPassing ? 'see to it' : 'correct the settings and restart it'}`,
    {
      cause: Object.assign(
        new Error(
          `the CMS refused the service account's ${refused}${status ? ` with status ${status}` : ''}; ${next}`
        ),
        { isPassing }
      )
    }
  )
}
