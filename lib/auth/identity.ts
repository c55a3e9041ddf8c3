import type { IncomingHttpHeaders } from 'node:http'
import { Failure } from '../errors.ts'

/** Who calls, according to the issuer of the token or the CMS. */
export interface Identity {
  uid: string
  name?: string
  /** Whether a token lets its bearer lock; absent where the token does not say. */
  mayLock?: boolean
  /** What a token for a protected resource allows (`scope`); absent of any other credentials. */
  scopes?: string[]
}

/** The caller of a request. */
export interface User extends Identity {
  /** Whether the uid is in AUTH_ADMINS: may release the locks and see the drafts of others. */
  admin: boolean
}

/**
 * Finds out who sent a request, by its header fields alone.
 * @param audience of the resource that is asked for, where it has tokens of its own
 * @throws {Failure} UNAUTHENTICATED where they identify nobody; AUTH_UNAVAILABLE where that could
 *   not be found out
 */
export type Check = (
  headers: IncomingHttpHeaders,
  requestId: string,
  audience?: string
) => Promise<Identity>

const RETRY_AFTER_SECONDS = '5'

/** One line of text that every store keeps as it is: no control characters, no lone surrogates. */
const LINE = /^[^\p{Cc}\p{Cs}]{1,255}$/u

/**
 * The text of a claim or an attribute, where it is one of at most 255 characters; an integer counts
 * as its digits.
 */
export function lineOf(value: unknown): string | undefined {
  const text = Number.isSafeInteger(value) ? String(value) : value
  return typeof text === 'string' && LINE.test(text) ? text : undefined
}

/** An identity with its name, where there is a usable one. */
export function identityOf(uid: string, name: unknown): Identity {
  const line = lineOf(name)
  return { uid, ...(line !== undefined && { name: line }) }
}

/** @param challenge for WWW-Authenticate, which a 401 has to have (RFC 9110 section 15.5.2) */
export function unauthenticatedFailure(
  message: string,
  challenge: string,
  cause?: unknown
): Failure {
  return new Failure('UNAUTHENTICATED', message, {
    headers: { 'www-authenticate': challenge },
    cause
  })
}

/**
 * The failure of a check that Quoin cannot make. It is a 503, since Quoin lets nobody in on a
 * guess.
 */
export function unavailable(
  message: string,
  cause: unknown,
  retryAfter = RETRY_AFTER_SECONDS
): Failure {
  return new Failure('AUTH_UNAVAILABLE', message, {
    headers: { 'retry-after': retryAfter },
    cause,
    isLogged: cause instanceof Failure && cause.isLogged
  })
}
