/**
 * The closed vocabulary of failures: every `code` that an answer of this service can carry, with
 * its HTTP status (RFC 9110, RFC 4918 for 423) and the `name` shown in the lock endpoints' `error`
 * object.
 */
export const failures = {
  BAD_REQUEST: { status: 400, name: 'BadRequestError' },
  UNAUTHENTICATED: { status: 401, name: 'UnauthorizedError' },
  CMS_UNAUTHORIZED: { status: 401, name: 'UnauthorizedError' },
  FORBIDDEN: { status: 403, name: 'ForbiddenError' },
  USER_CHANGED: { status: 403, name: 'ForbiddenError' },
  CMS_FORBIDDEN: { status: 403, name: 'ForbiddenError' },
  NOT_FOUND: { status: 404, name: 'NotFoundError' },
  METHOD_NOT_ALLOWED: { status: 405, name: 'MethodNotAllowedError' },
  REQUEST_TIMEOUT: { status: 408, name: 'RequestTimeoutError' },
  /** For the log: nobody is there to read it. */
  CALLER_GONE: { status: 408, name: 'RequestTimeoutError' },
  CONFLICT: { status: 409, name: 'ConflictError' },
  STALE_EDIT: { status: 409, name: 'ConflictError' },
  ORDER_CONFLICT: { status: 409, name: 'ConflictError' },
  NOT_READY: { status: 409, name: 'ConflictError' },
  FIELD_NOT_LOCKED: { status: 409, name: 'ConflictError' },
  IDEMPOTENCY_KEY_BUSY: { status: 409, name: 'ConflictError' },
  OUTCOME_UNKNOWN: { status: 409, name: 'ConflictError' },
  LOCK_CHANGED: { status: 412, name: 'ConditionalCheckFailedException' },
  PRECONDITION_FAILED: { status: 412, name: 'PreconditionFailedError' },
  TOO_LARGE: { status: 413, name: 'PayloadTooLargeError' },
  URI_TOO_LONG: { status: 414, name: 'URITooLongError' },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, name: 'UnsupportedMediaTypeError' },
  MISDIRECTED: { status: 421, name: 'MisdirectedRequestError' },
  UNPROCESSABLE: { status: 422, name: 'UnprocessableEntityError' },
  IDEMPOTENCY_KEY_REUSED: { status: 422, name: 'UnprocessableEntityError' },
  FIELD_LOCKED: { status: 423, name: 'ConditionalCheckFailedException' },
  PRECONDITION_REQUIRED: { status: 428, name: 'PreconditionRequiredError' },
  TOO_MANY_REQUESTS: { status: 429, name: 'TooManyRequestsError' },
  HEADERS_TOO_LARGE: { status: 431, name: 'RequestHeaderFieldsTooLargeError' },
  INTERNAL: { status: 500, name: 'InternalServerError' },
  OVERLOADED: { status: 503, name: 'ServiceUnavailableError' },
  STORE_FAILED: { status: 500, name: 'InternalServerError' },
  STORE_UNAVAILABLE: { status: 503, name: 'ServiceUnavailableError' },
  TOO_MANY_WATCHERS: { status: 503, name: 'ServiceUnavailableError' },
  AUTH_UNAVAILABLE: { status: 503, name: 'ServiceUnavailableError' },
  CMS_UNREACHABLE: { status: 502, name: 'BadGatewayError' },
  CMS_INVALID_RESPONSE: { status: 502, name: 'BadGatewayError' },
  CMS_FAILED: { status: 502, name: 'BadGatewayError' },
  CMS_LOGIN_REFUSED: { status: 502, name: 'BadGatewayError' },
  CMS_READ_ONLY: { status: 502, name: 'BadGatewayError' },
  CMS_REFUSED: { status: 502, name: 'BadGatewayError' },
  PLACED_UNKNOWN: { status: 503, name: 'ServiceUnavailableError' },
  LIST_TOO_DEEP: { status: 503, name: 'ServiceUnavailableError' },
  EDITION_BUSY: { status: 503, name: 'ServiceUnavailableError' },
  CMS_UNAVAILABLE: { status: 503, name: 'ServiceUnavailableError' },
  CMS_TIMEOUT: { status: 504, name: 'GatewayTimeoutError' }
} as const

export type FailureCode = keyof typeof failures

/**
 * The texts of failures that are thrown in one place and shown in the documentation, or thrown in
 * several. A text that only one place needs stands there.
 */
export const texts = {
  anotherMethod: (method: string, allowed: string[]) =>
    `${method} is not allowed here; allowed: ${allowed.join(', ')}`,
  anotherSite: 'The browser says that a page of another site sent this request',
  answerTooLarge: (limit: number, advice: string) =>
    `The answer would have more than ${limit} bytes; ${advice}`,
  bodyTooLarge: (size: string, limit: number) =>
    `The request body has ${size}; at most ${limit} bytes are taken`,
  baseRequired:
    'An agent says which state it has read: base is needed, the ETag of the edition or the version of the lock',
  cmsFailed: 'The CMS failed to answer',
  cmsReadOnly:
    "Drupal's JSON:API accepts only read operations: allow all operations at /admin/config/services/jsonapi (configuration jsonapi.settings, read_only: false)",
  cmsTimeout: (ms: number) => `The CMS did not answer within ${ms} ms`,
  cmsUnavailable:
    'The CMS takes no requests at the moment (maintenance or overload); try again later',
  cmsUnreachable: 'The CMS could not be reached',
  countedTooOften: 'Too many writes of this agent are counted at once. Nothing was done: try again',
  editionChanged:
    'Somebody else has saved this edition since you read it (If-Match). Nothing of yours was saved: load the edition again and repeat your change.',
  editorsUnknown: (reason: string) => `Quoin cannot ask Drupal who may edit: ${reason}`,
  fieldNotLocked: 'Nobody else holds this field: lock it',
  fieldOrUser: 'querystring must have fieldName or uid',
  held: 'Field is locked by another user',
  headersTooLarge: 'The request has too long a path or too many header fields',
  hidden: ({ type, id }: { type: string; id: string }) =>
    `There is no ${type} ${id}, or you may not see it`,
  internal: 'Internal Server Error',
  invalid: (violations: Array<{ path: string; message: string }>) =>
    `Unprocessable Entity: validation failed.\n${violations.map(({ path, message }) => `${path}: ${message}\n`).join('')}`,
  keyBusy:
    'An earlier request with this Idempotency-Key is still under way. Nothing was done now: send it again later.',
  keyReused:
    'This Idempotency-Key came with another body before. Nothing was done: another request needs another key.',
  keysUnavailable: "The issuer's keys cannot be fetched, so the token cannot be checked; try again",
  listTooDeep: (requests: number) =>
    `This takes more than ${requests} requests to the CMS: too many editions before those that you ask for are hidden from you, or are not what you search for. ` +
    'Narrow it: search with q, status, type or key, ask for a smaller offset, leave out total=1; name an edition, or what it refers to, by its uuid. ' +
    'Where Drupal does not let you filter, an administrator can grant JSON:API filter access',
  lockChanged: 'The lock is not the one that was asked for',
  lockStateRequired:
    'An agent locks a field that nobody has locked (If-None-Match: *), or renews its lock by the version of that lock (If-Match)',
  lockTooLarge: (bytes: number, limit: number) =>
    `The lock would have ${bytes} bytes in the store; at most ${limit} bytes are taken`,
  manyFields: (names: string[]) =>
    `An agent locks ${names.length} fields at once at most, and has locked ${names.join(', ')}: release one of them first`,
  manyWrites: (budget: string, seconds: number) =>
    `An agent has ${budget}, and this one has used them. Nothing was done: try again in ${seconds} s`,
  mediaType: (allowed: string[]) => `headers/content-type must be ${allowed.join(' or ')}`,
  narrowerLocks: 'ask for one field (fieldName), or leave the texts out (payload=0)',
  noSuch: (noun: string, id: string) => `There is no ${noun} ${id}`,
  noTakeover:
    'An agent takes over no lock: ask its holder for the field, or wait until it is unlocked',
  notInOrder: (operation: number, article: string) =>
    `operations/${operation} names ${article}, which is not in the running order. Nothing was changed.`,
  notReady: (reasons: string[]) =>
    `The edition is not ready and was not closed: ${reasons.slice(0, 3).join('; ')}${reasons.length > 3 ? `; and ${reasons.length - 3} more` : ''}`,
  notYourUid: (where: string, uid: string) =>
    `${where} must be your own, which is ${JSON.stringify(uid)}`,
  numberTooLarge: (where: string) =>
    `${where} is a number beyond ±${Number.MAX_SAFE_INTEGER}; send it as a string`,
  notPrimitive: 'This value should be of the correct primitive type.',
  outcomeUnknown:
    'An earlier attempt at this request broke off, and the edition has changed since, so Quoin cannot tell whether that attempt was saved. Nothing was saved now: load the edition, and send what is still missing with another Idempotency-Key.',
  placedUnknown: (most: number, isFilterable: boolean) =>
    `To say which editions hold these, Quoin would have to look at more than ${most} editions of one bundle; ${isFilterable ? 'ask for a smaller limit' : 'an administrator can grant JSON:API filter access'}, or leave out placed=1`,
  notYourProposal: 'An agent withdraws its own proposals, and settles no others',
  proposalSettled: (outcome: string) => `This proposal was ${outcome} already`,
  proposalTooLarge: (bytes: number, limit: number) =>
    `The proposal would have ${bytes} bytes in the store; at most ${limit} bytes are taken`,
  proposalsFull: (most: number, what: string) =>
    `${most} proposals for ${what} are open, the most allowed: take or discard one of them, or withdraw yours`,
  referenceGone:
    'The referenced entity is gone. Drupal saves no changed list that still refers to it: leave it out of the list.',
  stale: (changed?: string) =>
    `Somebody else has saved this edition${changed === undefined ? '' : ` at ${changed}`}, after you opened it. Nothing of yours was saved: load the edition again and repeat your change.`,
  storeFailed: 'The lock store could not do what was asked',
  storeUnavailable: 'The lock store cannot be reached or is too slow; try again',
  stateRequired:
    'An agent changes an edition in the state that it has read: If-Match with its ETag is needed. Nothing was saved.',
  tokenExpired: 'The token has expired',
  tooManyStreams: (most: number) =>
    `You have ${most} event streams open here, the most allowed for one caller; close one, or poll`,
  tooManyWatchers: (most: number) =>
    `This instance serves ${most} event streams, the most it allows; try again later, or poll`,
  unpublishedDraft:
    "This edition has a newer draft that is not published, or was changed in a workspace. Drupal's JSON:API saves neither, so nothing was saved: publish or delete the draft in Drupal (the edition's tab Latest version), or publish the workspace, and save again. Or go on in Drupal's own form."
}

export interface FailureOptions {
  /** What went wrong underneath; logged, never sent. */
  cause?: unknown
  /** Members added to the answer: `violations`, `lock`, `failed`, ... */
  details?: Record<string, unknown>
  /**
   * Response header fields: `allow`, `retry-after`, `www-authenticate`; `location` from where Quoin
   * is mounted on.
   */
  headers?: Record<string, string>
  /** The status in place of the vocabulary's (LOCK_REFUSED_STATUS). */
  status?: number
  /** Whether one log line already covers all requests refused for this reason. */
  isLogged?: boolean
}

/** V8's limit: how many frames of the stack an error records when it is made. */
const recording = Error as { stackTraceLimit?: number | undefined }

/**
 * An error that is not a defect. It has no stack, which would be a tenth of the cost of a refused
 * lock.
 */
export class Stackless extends Error {
  constructor(message: string, options?: ErrorOptions) {
    const { stackTraceLimit } = recording
    recording.stackTraceLimit = 0
    super(message, options)
    recording.stackTraceLimit = stackTraceLimit
  }
}

/**
 * A failure of the vocabulary. Its message is for the caller and shows no internals; the underlying
 * error is its cause.
 */
export class Failure extends Stackless {
  readonly code: FailureCode
  readonly statusCode: number
  readonly details: Record<string, unknown>
  readonly headers: Record<string, string>
  readonly isLogged: boolean

  constructor(
    code: FailureCode,
    message: string,
    {
      cause,
      details = {},
      headers = {},
      status = failures[code].status,
      isLogged = false
    }: FailureOptions = {}
  ) {
    super(message, { cause })
    this.name = failures[code].name
    this.code = code
    this.statusCode = status
    this.details = details
    this.headers = headers
    this.isLogged = isLogged
  }
}
