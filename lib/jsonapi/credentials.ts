import { hash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Caller } from '../http/calls.ts'

/**
 * What of a caller's header fields goes to the CMS: the request id, Accept-Language, and, unless a service account is
 * used, the caller's own credentials: Authorization, or else Drupal's session cookies with X-CSRF-Token. Never both: with
 * a session cookie Drupal demands the token even of a Basic request.
 * @param cookieNames names of further cookies that are credentials, such as those of a single sign-on
 */
export function callerOf (given: IncomingHttpHeaders, requestId: string, passthrough: boolean, cookieNames: readonly string[] = []): Caller {
  const headers = endToEnd(given)
  const language = headers['accept-language']
  return { 'x-request-id': requestId, ...(language && { 'accept-language': language }), ...(passthrough && ownCredentials(headers, cookieNames)) }
}

function ownCredentials (headers: IncomingHttpHeaders, cookieNames: readonly string[]): Caller {
  const { authorization, 'x-csrf-token': token } = headers
  if (authorization) return { authorization }
  const cookie = credentialCookies(headers, cookieNames)
  return { ...(cookie && { cookie }), ...(cookie && typeof token === 'string' && { 'x-csrf-token': token }) }
}

/** Without the fields that are meant for the next hop only, because `Connection` names them (RFC 9110 section 7.6.1). */
function endToEnd (headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const hop = String(headers.connection).toLowerCase().split(/[\s,]+/)
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !hop.includes(name)))
}

/**
 * A session cookie of Drupal with a value: SESS, over https SSESS, and a hash. A hash has no capital letters, so SESSION,
 * which other software uses, is none. Source: Drupal\Core\Session\SessionConfiguration::getName().
 */
const SESSION_COOKIE = /^S?SESS[\da-z_-]+=./

/**
 * The cookies that are credentials, among all that `Cookie` holds and in their order: Drupal's session cookies, and those
 * with one of the names. Empty if there are none.
 */
export function credentialCookies ({ cookie = '' }: IncomingHttpHeaders, names: readonly string[]): string {
  return cookie.split(';').map((pair) => pair.trim()).filter((pair) => SESSION_COOKIE.test(pair) || names.includes(pair.split('=', 1)[0]!)).join('; ')
}

/** Whether `Cookie` holds a session cookie of Drupal. */
export function hasSession (headers: IncomingHttpHeaders): boolean {
  return credentialCookies(headers, []) !== ''
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

const RENEWED = Symbol('renewed')

/** What a caller carries besides header fields: under a symbol, which is not sent. */
interface Carried {
  [RENEWED]?: string[]
}

/** Keeps the session cookies that the CMS has renewed or ended for a caller. */
export function renewSession (caller: Caller, cookies: string[]): void {
  (caller as Carried)[RENEWED] = cookies
}

/**
 * The session cookies that the CMS has renewed or ended for a caller, if any.
 * @param caller undefined for a request that was refused before anybody looked at its credentials
 */
export function renewedSession (caller: Caller | undefined): string[] | undefined {
  return (caller as Carried | undefined)?.[RENEWED]
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
