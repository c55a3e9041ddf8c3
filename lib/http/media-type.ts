import type { IncomingHttpHeaders } from 'node:http'

/** The media type of JSON:API. */
export const JSONAPI = 'application/vnd.api+json'

/** Whether an answer is JSON of Drupal: JSON:API, or core's own. A gateway's JSON (application/problem+json, RFC 9457) is not. */
export function isJson ({ 'content-type': contentType }: IncomingHttpHeaders): boolean {
  return [JSONAPI, 'application/json'].includes(String(contentType).split(';', 1)[0]!.trim().toLowerCase())
}
