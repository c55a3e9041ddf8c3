import type { IncomingHttpHeaders } from 'node:http'

/** What JSON:API is sent as. */
export const JSONAPI = 'application/vnd.api+json'

/** Whether an answer is JSON as Drupal sends it: JSON:API, or core's own. A gateway's (RFC 9457: application/problem+json) is not. */
export function isJson ({ 'content-type': contentType }: IncomingHttpHeaders): boolean {
  return [JSONAPI, 'application/json'].includes(String(contentType).split(';', 1)[0]!.trim().toLowerCase())
}
