import { hash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

/** Header fields of one caller's requests to the CMS; not to be changed. */
export type Caller = Readonly<Record<string, string>>

/**
 * What of a caller's header fields goes to the CMS: the request id, Accept-Language, and, unless a service account is
 * used, the caller's own credentials: Authorization, or else Cookie with X-CSRF-Token. Never both: with a session cookie
 * Drupal demands the token even of a Basic request.
 */
export function callerOf (given: IncomingHttpHeaders, requestId: string, passthrough: boolean): Caller {
  const headers = endToEnd(given)
  const language = headers['accept-language']
  return { 'x-request-id': requestId, ...(language && { 'accept-language': language }), ...(passthrough && ownCredentials(headers)) }
}

function ownCredentials ({ authorization, cookie, 'x-csrf-token': token }: IncomingHttpHeaders): Caller {
  if (authorization) return { authorization }
  return { ...(cookie && { cookie }), ...(cookie && typeof token === 'string' && { 'x-csrf-token': token }) }
}

/** Without the fields that are meant for the next hop only, because `Connection` names them (RFC 9110 section 7.6.1). */
function endToEnd (headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const hop = String(headers.connection).toLowerCase().split(/[\s,]+/)
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !hop.includes(name)))
}

/** A session cookie of Drupal with a value. Source: Drupal\Core\Session\SessionConfiguration::getName(). */
const SESSION_COOKIE = /^S?SESS[\w-]*=./

/** The session cookies of Drupal among all that `Cookie` holds. */
export function sessionsIn ({ cookie = '' }: IncomingHttpHeaders): string {
  return cookie.split(';').map((one) => one.trim()).filter((one) => SESSION_COOKIE.test(one)).join('; ')
}

/**
 * The session cookies of an answer's `Set-Cookie`, as they are. Their Domain stays: where Drupal sets one, that is what
 * had the browser send the cookie here too, and without it there would be two of one name; where it does not match, the
 * browser drops the cookie (RFC 6265 section 5.3).
 */
export function sessionCookies ({ 'set-cookie': cookies = [] }: IncomingHttpHeaders): string[] {
  return [cookies].flat().filter((cookie) => SESSION_COOKIE.test(cookie))
}

/**
 * Two reads with the same key have the same answer: for the same target, with the same credentials, in the same language.
 * No header field and no target holds a line feed.
 */
export function readKey (target: string, caller: Caller): string {
  return [fingerprint(caller), caller['accept-language'], target].join('\n')
}

/** A request asks for its own several times. */
const fingerprints = new WeakMap<Caller, string>()

/** Tells callers apart by a hash of their credentials; the credentials themselves need not be kept. */
export function fingerprint (caller: Caller): string {
  const known = fingerprints.get(caller)
  if (known !== undefined) return known
  const { authorization = '', cookie = '' } = caller
  const made = hash('sha256', `${authorization}\n${cookie}`, 'base64')
  fingerprints.set(caller, made)
  return made
}
