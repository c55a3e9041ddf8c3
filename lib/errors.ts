/**
 * The closed vocabulary of failures: every `code` that an answer of this service can carry, with its HTTP status
 * (RFC 9110, RFC 4918 for 423) and the `name` shown in the lock endpoints' `error` object.
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
  LOCK_CHANGED: { status: 412, name: 'ConditionalCheckFailedException' },
  PRECONDITION_FAILED: { status: 412, name: 'PreconditionFailedError' },
  TOO_LARGE: { status: 413, name: 'PayloadTooLargeError' },
  URI_TOO_LONG: { status: 414, name: 'URITooLongError' },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, name: 'UnsupportedMediaTypeError' },
  MISDIRECTED: { status: 421, name: 'MisdirectedRequestError' },
  UNPROCESSABLE: { status: 422, name: 'UnprocessableEntityError' },
  FIELD_LOCKED: { status: 423, name: 'ConditionalCheckFailedException' },
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
  LIST_TOO_DEEP: { status: 503, name: 'ServiceUnavailableError' },
  EDITION_BUSY: { status: 503, name: 'ServiceUnavailableError' },
  CMS_UNAVAILABLE: { status: 503, name: 'ServiceUnavailableError' },
  CMS_TIMEOUT: { status: 504, name: 'GatewayTimeoutError' }
} as const

export type FailureCode = keyof typeof failures

export interface FailureOptions {
  /** What went wrong underneath; logged, never sent. */
  cause?: unknown
  /** Members added to the answer: `violations`, `lock`, `failed`, ... */
  details?: Record<string, unknown>
  /** Response header fields: `allow`, `retry-after`, `www-authenticate`; `location` from where Quoin is mounted on. */
  headers?: Record<string, string>
  /** Instead of the vocabulary's: LOCK_REFUSED_STATUS. */
  status?: number
  /** Whether the log has it already, in one line for all that are refused for this reason. */
  isLogged?: boolean
}

/** Of V8: how many frames of the stack an error records when it is made. */
const recording = Error as { stackTraceLimit?: number | undefined }

/**
 * A failure with a place in the vocabulary. Its message is meant for the caller, so it holds no internals. It has no stack
 * of its own, which would be a tenth of the cost of a refused lock: what broke underneath is its cause.
 */
export class Failure extends Error {
  readonly code: FailureCode
  readonly statusCode: number
  readonly details: Record<string, unknown>
  readonly headers: Record<string, string>
  readonly isLogged: boolean

  constructor (code: FailureCode, message: string, { cause, details = {}, headers = {}, status = failures[code].status, isLogged = false }: FailureOptions = {}) {
    const { stackTraceLimit } = recording
    recording.stackTraceLimit = 0
    super(message, { cause })
    recording.stackTraceLimit = stackTraceLimit
    this.name = failures[code].name
    this.code = code
    this.statusCode = status
    this.details = details
    this.headers = headers
    this.isLogged = isLogged
  }
}
