import type { TSchema } from '@sinclair/typebox'
import { failures, texts, type FailureCode } from '../errors.ts'
import { STATUS_CODES } from '../http/status-codes.ts'
import { failureHeaders, failureRef, RETRY_AFTER } from '../schema-parts.ts'
import { EditionFailure } from './schemas.ts'

const descriptions: Record<number, string> = {
  400: 'The request is invalid. Nothing was changed',
  401: 'The CMS asks for credentials; see WWW-Authenticate',
  403: 'The CMS does not allow this user to do that',
  404: 'There is no such edition, bundle or list, or nothing at all where Quoin looks for JSON:API',
  405: 'This path does not take this method; see Allow',
  409: 'The edition has changed meanwhile, has a draft that is not published, or its uuid is taken; or an article that an operation names is not in the running order; or the edition is not ready to close; or an earlier request with the same Idempotency-Key is still under way, or its outcome is not known. Nothing was changed',
  412: 'The edition has changed since it had an ETag of If-Match. Nothing was changed',
  413: 'The request body is too large, or the answer, its locks or its articles would be too many. The message has the limit',
  415: 'The request body is not application/json',
  422: 'The CMS refuses the values; see violations. Or the Idempotency-Key came with another body before',
  423: 'Another user has locked a field that would change; see locks. Nothing was changed',
  428: 'An agent changes an edition only in the state that it has read (If-Match)',
  429: 'The caller has as many event streams open as one caller may; see Retry-After',
  500: 'This service failed',
  502: 'The CMS cannot be reached, fails, or does not answer in JSON:API',
  503: 'The CMS is in maintenance or overloaded; it failed so often that Quoin does not ask it at the moment; the answer takes too many requests to it; too many saves of the edition wait; or the lock store is needed and does not answer. See Retry-After',
  504: 'The CMS is too slow'
}

const violations = [
  {
    path: 'field_publisher_edition_type.0.value',
    message: 'The value you selected is not a valid choice.'
  }
]

const samples: Array<[code: FailureCode, message: string, details?: object]> = [
  ['BAD_REQUEST', 'querystring/limit must be >= 1'],
  ['CMS_UNAUTHORIZED', 'No authentication credentials provided.'],
  [
    'CMS_FORBIDDEN',
    "The following permissions are required: 'administer publisher_container' OR 'create publisher_container'."
  ],
  ['NOT_FOUND', texts.noSuch('edition', '999')],
  ['METHOD_NOT_ALLOWED', texts.anotherMethod('PATCH', ['POST', 'GET', 'HEAD'])],
  ['STALE_EDIT', texts.stale()],
  [
    'ORDER_CONFLICT',
    texts.notInOrder(0, '9'),
    {
      order: [
        { target_id: 4, target_type: 'node', target_uuid: '5488028b-da9e-41aa-aa6a-f0b640c7436e' }
      ]
    }
  ],
  [
    'NOT_READY',
    texts.notReady(['Node 20 is not published']),
    {
      blockers: [
        {
          code: 'ARTICLE_UNPUBLISHED',
          message: 'Node 20 is not published',
          entityType: 'node',
          entityId: '20'
        }
      ],
      warnings: []
    }
  ],
  ['CONFLICT', texts.unpublishedDraft],
  ['IDEMPOTENCY_KEY_BUSY', texts.keyBusy],
  ['OUTCOME_UNKNOWN', texts.outcomeUnknown],
  ['PRECONDITION_FAILED', texts.editionChanged],
  ['PRECONDITION_REQUIRED', texts.stateRequired],
  ['TOO_LARGE', texts.bodyTooLarge('5000000 bytes', 4194304)],
  ['UNSUPPORTED_MEDIA_TYPE', texts.mediaType(['application/json'])],
  ['UNPROCESSABLE', texts.invalid(violations), { violations }],
  ['IDEMPOTENCY_KEY_REUSED', texts.keyReused],
  [
    'FIELD_LOCKED',
    'Nothing was saved: field_articles is locked by Ada',
    {
      locks: [
        {
          entityType: 'publisher_container',
          entityId: '12',
          fieldName: 'field_articles',
          timestamp: 1767225600,
          userData: { uid: '7', name: 'Ada' }
        }
      ]
    }
  ],
  ['TOO_MANY_REQUESTS', texts.tooManyStreams(20)],
  ['INTERNAL', texts.internal],
  ['CMS_UNREACHABLE', texts.cmsUnreachable],
  ['CMS_FAILED', texts.cmsFailed],
  ['CMS_READ_ONLY', texts.cmsReadOnly],
  ['LIST_TOO_DEEP', texts.listTooDeep(261)],
  [
    'EDITION_BUSY',
    'Too many saves of this edition wait for each other. Nothing of yours was sent: try again later.'
  ],
  ['CMS_UNAVAILABLE', texts.cmsUnavailable],
  ['STORE_UNAVAILABLE', texts.storeUnavailable],
  ['CMS_TIMEOUT', texts.cmsTimeout(10_000)]
]

/**
 * Response schemas for a route: its success, and failures of these statuses with an example of each
 * kind.
 */
export function answers<
  const Success extends Record<number, TSchema | object>,
  const Status extends number
>(success: Success, ...statuses: Status[]) {
  const failed = Object.fromEntries(
    statuses.map((status) => [
      status,
      failureOf(
        status,
        statuses.some((status) => status === 422)
      )
    ])
  ) as Record<Status, ReturnType<typeof failureOf>>
  return { ...success, ...failed }
}

const HEADERS = {
  ETag: { type: 'string', description: 'Names what is answered, for If-None-Match and If-Match' },
  Location: { type: 'string', description: 'The path of the edition' },
  'Edition-Turn': {
    type: 'string',
    enum: ['instance'],
    description:
      'Only if the save had its turn within its own instance alone, because the lock store was away'
  },
  'Idempotency-Replayed': {
    type: 'string',
    enum: ['true'],
    description:
      'Only if an earlier request with the same Idempotency-Key has saved this. Nothing was saved now, and the answer has the present edition'
  },
  Age: {
    type: 'integer',
    description:
      'Only in an answer from the stale cache, while the CMS is down: how old its oldest part is, in seconds'
  },
  'Cache-Status': {
    type: 'string',
    description:
      'Only in an answer from the stale cache: why it was given, in the form of RFC 9211',
    example: 'quoin; fwd=stale; fwd-status=500; ttl=-42; detail=CMS_FAILED'
  }
}

/** The success of a route whose answers have these header fields. */
export function withHeaders<T extends TSchema>(
  schema: T,
  ...names: Array<keyof typeof HEADERS>
): T {
  return {
    ...schema,
    headers: {
      ...schema['headers'],
      ...Object.fromEntries(names.map((name) => [name, HEADERS[name]]))
    }
  }
}

/** The success of a route whose answers are kept (plugins/app/stale.ts). */
export function orStale<T extends TSchema>(schema: T): T {
  return withHeaders(schema, 'Age', 'Cache-Status')
}

/** The success of a route that saves an edition, and takes an Idempotency-Key. */
export function orReplayed<T extends TSchema>(schema: T): T {
  return withHeaders(schema, 'ETag', 'Idempotency-Replayed')
}

const CHANGED = { ETag: { ...HEADERS.ETag, description: 'Names the edition as it is now' } }
const UNCERTAIN = {
  Location: {
    ...HEADERS.Location,
    description: 'The path of an edition whose write has an unknown outcome'
  }
}

/** The header fields of failures of reads and of saves, besides those of any route. */
const OF_READS: Record<number, Record<string, object>> = { 412: CHANGED }
const OF_SAVES: Record<number, Record<string, object>> = {
  409: {
    'Retry-After': RETRY_AFTER,
    Location: { ...HEADERS.Location, description: 'The path of the edition that is in the way' }
  },
  412: CHANGED,
  500: UNCERTAIN,
  502: UNCERTAIN,
  503: UNCERTAIN,
  504: UNCERTAIN
}

/** @param saves whether the operation saves an edition */
function failureOf(status: number, saves: boolean) {
  const examples = samples
    .filter(([code]) => failures[code].status === status)
    .map(([code, message, details]) => [
      code,
      { value: { message, statusCode: status, error: STATUS_CODES[status], code, ...details } }
    ])
  return {
    description: descriptions[status],
    headers: failureHeaders(status, saves ? OF_SAVES[status] : OF_READS[status]),
    content: {
      'application/json': {
        schema: failureRef(EditionFailure),
        examples: Object.fromEntries(examples)
      }
    }
  }
}
