import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import type {
  ConnectionError,
  FastifyError,
  FastifyInstance,
  FastifyReply,
  FastifyRequest
} from 'fastify'
import fp from 'fastify-plugin'
import { withoutToken } from '../../lib/auth/bearer.ts'
import { Failure, failures, texts, type FailureCode } from '../../lib/errors.ts'
import { STATUS_CODES } from '../../lib/http/status-codes.ts'
import { JSON_TYPE } from '../../lib/json-text.ts'
import { SECURITY_HEADERS } from '../../lib/http/security-headers.ts'
import { pathOf } from './mount.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The code of the failure that it was answered with, if it failed. */
    failed?: FailureCode
  }
}

const LOCKS = /^\/api\/cloud\/data-state(?:[/?]|$)/

/** The codes of Fastify's own failures, and of those of a host's hooks. */
const codeOfStatus: Record<number, FailureCode> = {
  400: 'BAD_REQUEST',
  401: 'UNAUTHENTICATED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  405: 'METHOD_NOT_ALLOWED',
  413: 'TOO_LARGE',
  414: 'URI_TOO_LONG',
  415: 'UNSUPPORTED_MEDIA_TYPE',
  429: 'TOO_MANY_REQUESTS',
  503: 'OVERLOADED'
}

/** The media types that routes take, each some of them. */
const MEDIA_TYPES = ['application/json', 'text/plain']

/**
 * Answers every failure of the service, whatever its source, in the shape its path has by the
 * contract: `{ success: false, message, error }` below /api/cloud/data-state, core REST's
 * `{ message }` and more elsewhere.
 *
 * It logs failures of 500 and above with their cause, except those that one log line covers for all
 * requests. The caller never sees the cause. It does not log the messages of other failures,
 * because they may repeat what the caller sent.
 */
async function errors(fastify: FastifyInstance) {
  fastify.decorateRequest('failed')
  fastify.setErrorHandler(answer)
}

/** A failure has this in place of the caching that a route has set for its answers. */
const UNKEPT = { 'cache-control': 'private, no-store' }

/** Sends a failure. Also Fastify's `frameworkErrors`, for requests that never reach a route. */
export function answer(
  error: FastifyError | Failure,
  request: FastifyRequest,
  reply: FastifyReply
): void {
  const failure = toFailure(error, request)
  request.failed = failure.code
  if (failure.statusCode >= 500 && !failure.isLogged) {
    const {
      method,
      routeOptions: { url: route }
    } = request
    request.log.error({ method, route, err: failure }, failure.message)
  }
  // Fastify closes the connection when a body is not read to its end. A client that is still
  // sending would get a reset instead of the answer. Without this field Node reads the rest and
  // drops it, within the limits of plugins/app/connections.ts.
  if (failure.code === 'TOO_LARGE' || failure.code === 'OVERLOADED') {
    reply.removeHeader('connection')
  }
  // No hook has seen a request whose URL cannot be read.
  if (!reply.hasHeader('content-security-policy')) {
    reply.headers({ ...SECURITY_HEADERS, ...request.server.corsHeaders?.(request.headers.origin) })
  }
  const { location } = failure.headers
  reply
    .code(failure.statusCode)
    .headers({
      ...UNKEPT,
      ...failure.headers,
      ...(location !== undefined && { location: `${request.server.basePath}${location}` })
    })
    .type(JSON_TYPE)
  reply.send(JSON.stringify(failureBody(failure, pathOf(request))))
}

/**
 * Fastify's `clientErrorHandler`: refuses bytes that are not an HTTP request, and requests that do
 * not arrive whole. Once its header has arrived a request is answered like any other. Before, the
 * body has the shape of the path, where that can be read, else that of the lock endpoints, which
 * promise theirs in every answer.
 */
export function refuse(this: FastifyInstance | void, error: ConnectionError, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const failure = connectionFailure(error)
  const reply = this?.newestReplies?.get(socket)
  if (reply && !reply.request.raw.complete) {
    // The hooks of a request whose header and wrong body came together have yet to add what every
    // answer has.
    setImmediate(() =>
      reply.sent
        ? socket.destroySoon()
        : answer(failure, reply.request, reply.header('connection', 'close'))
    )
    return
  }
  const path = /^\S+ (\/[^ ]*) /.exec(textOf(error))?.[1]
  const text = JSON.stringify(
    path === undefined || LOCKS.test(path) ? lockBody(failure) : body(failure)
  )
  const { statusCode, code } = failure
  const reqId = randomUUID()
  this?.log.info({ reqId, status: statusCode, code }, 'answered')
  const head = [
    `HTTP/1.1 ${statusCode} ${STATUS_CODES[statusCode]}`,
    'Connection: close',
    `X-Request-Id: ${reqId}`,
    `Content-Type: ${JSON_TYPE}`,
    `Content-Length: ${text.length}`
  ]
  const fields = Object.entries(SECURITY_HEADERS).map(([name, value]) => `${name}: ${value}`)
  socket.end(`${[...head, ...fields].join('\r\n')}\r\n\r\n${text}`, () => socket.destroy())
}

function connectionFailure(error: ConnectionError): Failure {
  if (error.code === 'HPE_HEADER_OVERFLOW') {
    return new Failure('HEADERS_TOO_LARGE', texts.headersTooLarge)
  }
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return new Failure('REQUEST_TIMEOUT', 'The request did not arrive in time')
  }
  const isOtherVersion = error.code === 'HPE_INVALID_VERSION' && OTHER_VERSION.test(textOf(error))
  if (isOtherVersion) {
    return new Failure('BAD_REQUEST', 'Only HTTP/1.1 and HTTP/1.0 are spoken here', { status: 505 })
  }
  return new Failure('BAD_REQUEST', 'The request is not valid HTTP (RFC 9112)')
}

/** A request line of another version than those of Quoin. */
const OTHER_VERSION = /^\S+ \S+ HTTP\/(?!1\.[01]\b)\d/

function textOf({ rawPacket }: ConnectionError): string {
  return (rawPacket as unknown as Buffer | undefined)?.toString('latin1') ?? ''
}

function toFailure(error: FastifyError | Failure, request: FastifyRequest): Failure {
  if (error instanceof Failure) return error
  const code = codeOfStatus[error.statusCode ?? 500]
  if (!code) return new Failure('INTERNAL', texts.internal, { cause: error })
  if (code === 'TOO_LARGE') {
    const length = request.headers['content-length']
    const limit = request.routeOptions.bodyLimit
    return new Failure(
      code,
      texts.bodyTooLarge(length ? `${length} bytes` : `more than ${limit} bytes`, limit)
    )
  }
  if (code === 'UNSUPPORTED_MEDIA_TYPE') {
    const taken = MEDIA_TYPES.filter((type) => request.server.hasContentTypeParser(type))
    return new Failure(code, texts.mediaType(taken))
  }
  // Fastify's message about a URL that it cannot read repeats the URL.
  return new Failure(code, withoutToken(error.message), { cause: error })
}

/** A failure in the shape that answers below this path have. */
export function failureBody(failure: Failure, path: string): object {
  return LOCKS.test(path) ? lockBody(failure) : body(failure)
}

function body(failure: Failure): object {
  return {
    message: failure.message,
    statusCode: failure.statusCode,
    error: STATUS_CODES[failure.statusCode],
    code: failure.code,
    ...failure.details
  }
}

function lockBody(failure: Failure): object {
  const ofTheStore = failure.code === 'STORE_FAILED' || failure.code === 'STORE_UNAVAILABLE'
  return {
    success: false,
    message: `Error: ${ofTheStore ? 'Server error' : failure.message}`,
    error: {
      name: failures[failure.code].name,
      code: failure.code,
      message: failure.message,
      ...failure.details
    }
  }
}

export default fp(errors, { name: 'errors', fastify: '5.x' })
