import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

/** Header fields of one caller's requests to the CMS. */
export type Caller = Record<string, string>

/**
 * What of a caller's header fields goes to the CMS: the request id, Accept-Language, and, unless a service account is
 * used, the caller's own credentials: Authorization, or else Cookie with X-CSRF-Token. Never both: with a session cookie
 * Drupal demands the token even of a Basic request.
 */
export function callerOf (headers: IncomingHttpHeaders, requestId: string, passthrough: boolean): Caller {
  const language = headers['accept-language']
  return { 'x-request-id': requestId, ...(language && { 'accept-language': language }), ...(passthrough && ownCredentials(headers)) }
}

function ownCredentials ({ authorization, cookie, 'x-csrf-token': token }: IncomingHttpHeaders): Caller {
  if (authorization) return { authorization }
  return { ...(cookie && { cookie }), ...(cookie && typeof token === 'string' && { 'x-csrf-token': token }) }
}

/** Tells callers apart by a hash of their credentials; the credentials themselves need not be kept. */
export function fingerprint ({ authorization = '', cookie = '' }: Caller): string {
  return createHash('sha256').update(`${authorization}\n${cookie}`).digest('base64')
}
