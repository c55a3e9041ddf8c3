import type { TSchema } from '@sinclair/typebox'
import { failures, type FailureCode } from '../errors.ts'
import { STATUS_CODES } from '../http/status-codes.ts'
import { failureRef } from '../schema-parts.ts'
import { EditionFailure } from './schemas.ts'

const descriptions: Record<number, string> = {
  400: 'The request is invalid. Nothing was changed',
  401: 'The CMS asks for credentials; see WWW-Authenticate',
  403: 'The CMS does not allow this user to do that',
  404: 'There is no such edition, or no such bundle',
  405: 'This path does not take this method; see Allow',
  409: 'The edition has changed meanwhile, has a draft that is not published, or its uuid is taken. Nothing was changed',
  412: 'The edition has changed since it had an ETag of If-Match. Nothing was changed',
  413: 'The request body is too large. The message has its size and the limit',
  415: 'The request body is not application/json',
  422: 'The CMS refuses the values; see violations',
  423: 'Another user has locked a field that would change; see locks. Nothing was changed',
  500: 'This service failed',
  502: 'The CMS cannot be reached, fails, or does not answer in JSON:API',
  503: 'The CMS is in maintenance or overloaded; it failed so often that Quoin does not ask it for now; the answer takes too many requests to it; too many saves of the edition wait; or the lock store is needed and does not answer. See Retry-After',
  504: 'The CMS is too slow'
}

const invalid = 'field_publisher_edition_type.0.value'
const notAChoice = 'The value you selected is not a valid choice.'

const samples: Array<[code: FailureCode, message: string, details?: object]> = [
  ['BAD_REQUEST', 'querystring/limit must be >= 1'],
  ['CMS_UNAUTHORIZED', 'No authentication credentials provided.'],
  ['CMS_FORBIDDEN', "The following permissions are required: 'administer publisher_container' OR 'create publisher_container'."],
  ['NOT_FOUND', 'There is no edition 999'],
  ['METHOD_NOT_ALLOWED', 'PATCH is not allowed here; allowed: POST, GET, HEAD'],
  ['STALE_EDIT', 'Somebody else has saved this edition, after you opened it. Nothing of yours was saved: load the edition again and repeat your change.'],
  ['CONFLICT', 'This edition has a draft that is not published yet; Drupal cannot change it through JSON:API until the draft is published or discarded'],
  ['PRECONDITION_FAILED', 'Somebody else has saved this edition since you read it (If-Match). Nothing of yours was saved: load the edition again and repeat your change.'],
  ['TOO_LARGE', 'The request body has 5000000 bytes; at most 4194304 bytes are taken'],
  ['UNSUPPORTED_MEDIA_TYPE', 'headers/content-type must be application/json'],
  ['UNPROCESSABLE', `Unprocessable Entity: validation failed.\n${invalid}: ${notAChoice}\n`, { violations: [{ path: invalid, message: notAChoice }] }],
  ['FIELD_LOCKED', 'Nothing was saved: title is locked by Ada', { locks: [{ entityType: 'publisher_container', entityId: '12', fieldName: 'title', timestamp: 1767225600, userData: { uid: '7', name: 'Ada' } }] }],
  ['INTERNAL', 'Internal Server Error'],
  ['CMS_UNREACHABLE', 'The CMS could not be reached'],
  ['CMS_FAILED', 'The CMS failed to answer'],
  ['CMS_READ_ONLY', "Drupal's JSON:API accepts only read operations: allow all operations at /admin/config/services/jsonapi (configuration jsonapi.settings, read_only: false)"],
  ['LIST_TOO_DEEP', 'This takes more than 261 requests to the CMS: too many editions before those that you ask for are hidden from you, or are not what you search for. Narrow it: search with q, status, type or key, ask for a smaller offset, leave out total=1; name an edition, or what it refers to, by its uuid.'],
  ['EDITION_BUSY', 'Too many saves of this edition wait for each other. Nothing of yours was sent: try again later.'],
  ['CMS_UNAVAILABLE', 'The CMS takes no requests at the moment (maintenance or overload); try again later'],
  ['STORE_UNAVAILABLE', 'The lock store cannot be reached or is too slow; try again'],
  ['CMS_TIMEOUT', 'The CMS did not answer within 10000 ms']
]

/** Response schemas for a route: its success, and failures of these statuses with an example of each kind. */
export function answers<const Success extends Record<number, TSchema | object>, const Status extends number> (success: Success, ...statuses: Status[]) {
  const failed = Object.fromEntries(statuses.map((status) => [status, failureOf(status)])) as Record<Status, ReturnType<typeof failureOf>>
  return { ...success, ...failed }
}

const MARKS = {
  Age: { type: 'integer', description: 'Only in an answer from the stale cache, while the CMS is down: how old its oldest part is, in seconds' },
  'Cache-Status': { type: 'string', description: 'Only in an answer from the stale cache: why it was given, in the form of RFC 9211', example: 'quoin; fwd=stale; fwd-status=500; ttl=-42; detail=CMS_FAILED' }
}

/** The success of a route whose answers are kept (plugins/stale.ts). */
export function orStale<T extends TSchema> (schema: T): T {
  return { ...schema, headers: MARKS }
}

function failureOf (status: number) {
  const examples = samples.filter(([code]) => failures[code].status === status).map(([code, message, details]) =>
    [code, { value: { message, statusCode: status, error: STATUS_CODES[status], code, ...details } }])
  return {
    description: descriptions[status],
    content: { 'application/json': { schema: failureRef(EditionFailure), examples: Object.fromEntries(examples) } }
  }
}
