import { hash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { newCaller, type Caller, type CallerHeaders } from '../http/calls.ts'

/**
 * A caller with the header fields of a request that go to the CMS: the request id, Accept-Language,
 * and, without a service account, the caller's own credentials. These are Authorization, or else
 * Drupal's session cookies with X-CSRF-Token. Never both: with a session cookie Drupal demands the
 * token even of a Basic request.
 * @param receivedHeaders all header fields of the request
 * @param cookieNames names of further cookies that are credentials, such as those of a single
 *   sign-on
 */
export function callerOf(
  receivedHeaders: IncomingHttpHeaders,
  requestId: string,
  passthrough: boolean,
  cookieNames: readonly string[] = [],
  reactions?: Pick<Caller, 'answer' | 'onRenewal'>
): Caller {
  const headers = endToEnd(receivedHeaders)
  const language = headers['accept-language']
  return newCaller(
    {
      'x-request-id': requestId,
      ...(language && { 'accept-language': language }),
      ...(passthrough && ownCredentials(headers, cookieNames))
    },
    reactions
  )
}

function ownCredentials(
  headers: IncomingHttpHeaders,
  cookieNames: readonly string[]
): CallerHeaders {
  const { authorization, 'x-csrf-token': token } = headers
  if (authorization) return { authorization }
  const cookie = credentialCookies(headers, cookieNames)
  return {
    ...(cookie && { cookie }),
    ...(cookie && typeof token === 'string' && { 'x-csrf-token': token })
  }
}

/**
 * Without the fields that are meant for the next hop only, because `Connection` names them (RFC
 * 9110 section 7.6.1).
 */
function endToEnd(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const fields = { ...headers }
  for (const name of String(headers.connection)
    .toLowerCase()
    .split(/[\s,]+/)) {
    delete fields[name]
  }
  return fields
}

/**
 * A session cookie of Drupal with a value: SESS, over https SSESS, and a hash. A hash has no
 * capital letters, so SESSION, which other software uses, does not match. Source:
 * Drupal\Core\Session\SessionConfiguration::getName().
 */
const SESSION_COOKIE = /^S?SESS[\da-z_-]+=./

/**
 * The cookies in `Cookie` that are credentials: Drupal's session cookies, and those with one of the
 * names. Empty if there are none.
 */
export function credentialCookies(
  { cookie = '' }: IncomingHttpHeaders,
  names: readonly string[]
): string {
  return cookie
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => SESSION_COOKIE.test(pair) || names.includes(pair.split('=', 1)[0]!))
    .join('; ')
}

/** Whether `Cookie` holds a session cookie of Drupal. */
export function hasSession(headers: IncomingHttpHeaders): boolean {
  return credentialCookies(headers, []) !== ''
}

/** An attribute by which a cookie is deleted, as PHP's setcookie() has it. */
const DELETES = /; *Max-Age=0 *(?:;|$)|; *Expires=[^;]*\b1970\b/i

/**
 * The session cookies that an answer's `Set-Cookie` sets, unchanged. Deletions are left out: Drupal
 * deletes the cookie of a session that has ended, and where its user has logged in again meanwhile,
 * a late answer would delete the new session's cookie, which has the same name. Their Domain stays.
 * With Drupal's Domain the browser sends the cookie to this service too, and without it the browser
 * would have two cookies of one name. Where the Domain does not match, the browser drops the cookie
 * (RFC 6265 section 5.3).
 */
export function sessionCookies({ 'set-cookie': cookies = [] }: IncomingHttpHeaders): string[] {
  return [cookies].flat().filter((cookie) => SESSION_COOKIE.test(cookie) && !DELETES.test(cookie))
}

/**
 * The key of a read: its target, credentials and language. Reads with the same key have the same
 * answer. Line feeds separate the parts: neither a header field nor a target has one.
 */
export function readKey(target: string, caller: Caller): string {
  return [fingerprint(caller), caller.headers['accept-language'], target].join('\n')
}

/** A hash of a caller's credentials, which tells callers apart without keeping the credentials. */
export function fingerprint(caller: Caller): string {
  const { authorization = '', cookie = '' } = caller.headers
  // One request needs it several times.
  caller.fingerprint ??= hash('sha256', `${authorization}\n${cookie}`, 'base64')
  return caller.fingerprint
}

/**
 * Six bits of a fingerprint, by which instances tell each other of credentials: enough to leave
 * most others alone, and too little to confirm a guess at them.
 */
export function markOf(fingerprint: string): string {
  return fingerprint.slice(0, 1)
}

/** What a mark looks like. */
export const MARK_PATTERN = '[A-Za-z0-9+/]'
