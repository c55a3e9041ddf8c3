import type { IncomingHttpHeaders } from 'node:http'

/** Header fields that identify one caller towards the CMS. */
export type Caller = Record<string, string>

/** Makes, from the header fields of a request to this service, those that go to the CMS. */
export type Credentials = (headers: IncomingHttpHeaders, requestId: string) => Caller

/**
 * The caller's own credentials: Authorization, or else Cookie with X-CSRF-Token. Never both: with a session cookie
 * Drupal demands the token even of a Basic request. Of all other fields only Accept-Language goes upstream.
 */
export function passthrough (headers: IncomingHttpHeaders, requestId: string): Caller {
  const { authorization, cookie } = headers
  const token = headers['x-csrf-token']
  return {
    ...common(headers, requestId),
    ...(authorization && { authorization }),
    ...(!authorization && cookie && { cookie }),
    ...(!authorization && cookie && typeof token === 'string' && { 'x-csrf-token': token })
  }
}

/** A service account by HTTP Basic authentication (RFC 7617), the same for every caller. */
export function basic (user: string, password: string): Credentials {
  const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
  return (headers, requestId) => ({ ...common(headers, requestId), authorization })
}

function common (headers: IncomingHttpHeaders, requestId: string): Caller {
  const language = headers['accept-language']
  return { 'x-request-id': requestId, ...(language && { 'accept-language': language }) }
}
