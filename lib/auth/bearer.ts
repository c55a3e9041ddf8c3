import { Failure } from '../errors.ts'
import { unauthenticatedFailure } from './identity.ts'

const REALM = 'Bearer realm="Quoin"'

/**
 * The token of an Authorization header field of the scheme Bearer, whatever it looks like. Source:
 * RFC 6750 section 2.1.
 */
export function bearerToken(authorization: string | undefined): string | undefined {
  const found = /^Bearer(?:$| +(.*)$)/i.exec(authorization ?? '')
  return found ? (found[1] ?? '') : undefined
}

/** Without credentials a challenge carries no error. Source: RFC 6750 section 3.1. */
export function tokenMissing(): Failure {
  return unauthenticatedFailure('A bearer token is needed: Authorization: Bearer <token>', REALM)
}

/** @param reason of printable ASCII without `"` and `\` (RFC 6750 section 3) */
export function tokenRefused(reason: string, cause?: unknown): Failure {
  return unauthenticatedFailure(
    reason,
    `${REALM}, error="invalid_token", error_description="${reason}"`,
    cause
  )
}

/**
 * The token that a request carries as `access_token` in its query. Source: RFC 6750 section 2.3.
 * @throws {Failure} BAD_REQUEST where there is more than one, or another way too (section 2)
 */
export function queryToken(
  query: Record<string, unknown>,
  authorization: string | undefined
): string | undefined {
  const token = query['access_token']
  if (token === undefined) return undefined
  if (typeof token !== 'string' || authorization !== undefined) {
    throw new Failure(
      'BAD_REQUEST',
      'A token is sent once: in Authorization, or as access_token in the query',
      {
        headers: { 'www-authenticate': `${REALM}, error="invalid_request"` }
      }
    )
  }
  return token
}

/**
 * A parameter by the name of access_token, or by one that escapes might make of it. Every part of a
 * name ends where the next could begin, so that a URL made for it takes no longer than any other.
 */
const TOKEN_PARAMETER = /([?&;](?=[^?=&;]*(?:access_token|%))[^?=&;]*=)[^&;#\s]*/gi

/** A URL, or a text with one in it, as it may be logged. */
export function withoutToken(url: string): string {
  return url.replace(TOKEN_PARAMETER, '$1[Redacted]')
}
