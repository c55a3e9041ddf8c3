import { STATUS_CODES } from 'node:http'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { Failure, failures, type FailureCode } from '../lib/errors.ts'

const LOCKS = /^\/api\/cloud\/data-state(?:[/?]|$)/

const codeOfStatus: Record<number, FailureCode> = {
  400: 'BAD_REQUEST',
  404: 'NOT_FOUND',
  405: 'METHOD_NOT_ALLOWED',
  413: 'TOO_LARGE',
  414: 'URI_TOO_LONG',
  415: 'UNSUPPORTED_MEDIA_TYPE'
}

/**
 * Answers every failure of the service, whatever its source, in the shape its path has by the contract:
 * `{ success: false, message, error }` below /api/cloud/data-state, core REST's `{ message }` and more elsewhere.
 *
 * Failures of 500 and above are logged with their cause; the caller never sees what was underneath.
 */
async function errors (fastify: FastifyInstance) {
  const methodsOf = new Map<string, Set<string>>()

  fastify.addHook('onRoute', ({ url, method }) => {
    const methods = methodsOf.get(url) ?? methodsOf.set(url, new Set()).get(url)!
    for (const name of [method].flat()) methods.add(name)
  })

  fastify.setNotFoundHandler((request) => {
    const path = request.url.split('?', 1)[0]!
    const allowed = new Set([...methodsOf].filter(([pattern]) => matches(pattern, path)).flatMap(([, methods]) => [...methods]))
    if (allowed.size > 0) {
      const allow = [...allowed].join(', ')
      throw new Failure('METHOD_NOT_ALLOWED', `${request.method} is not allowed here; allowed: ${allow}`, { headers: { allow } })
    }
    throw new Failure('NOT_FOUND', `There is nothing at ${request.method} ${path}`)
  })

  fastify.setErrorHandler(answer)
}

/** Sends a failure. Also Fastify's `frameworkErrors`, for requests that never reach a route. */
export function answer (error: FastifyError | Failure, request: FastifyRequest, reply: FastifyReply): void {
  const failure = toFailure(error, request)
  if (failure.statusCode >= 500) request.log.error({ err: failure }, failure.message)
  else request.log.debug({ code: failure.code }, failure.message)
  reply.code(failure.statusCode).headers(failure.headers).type('application/json; charset=utf-8')
  reply.send(JSON.stringify(LOCKS.test(request.url) ? lockBody(failure) : body(failure)))
}

function toFailure (error: FastifyError | Failure, request: FastifyRequest): Failure {
  if (error instanceof Failure) return error
  const code = codeOfStatus[error.statusCode ?? 500]
  if (!code) return new Failure('INTERNAL', 'Internal Server Error', { cause: error })
  if (code === 'TOO_LARGE') {
    const length = request.headers['content-length']
    const limit = request.routeOptions.bodyLimit
    return new Failure(code, `The request body has ${length ? `${length} bytes` : `more than ${limit} bytes`}; at most ${limit} bytes are taken`)
  }
  return new Failure(code, error.message, { cause: error })
}

function body (failure: Failure): object {
  return {
    message: failure.message,
    statusCode: failure.statusCode,
    error: STATUS_CODES[failure.statusCode],
    code: failure.code,
    ...failure.details
  }
}

function lockBody (failure: Failure): object {
  const ofTheStore = failure.code === 'STORE_FAILED' || failure.code === 'STORE_UNAVAILABLE'
  return {
    success: false,
    message: `Error: ${ofTheStore ? 'Server error' : failure.message}`,
    error: { name: failures[failure.code].name, code: failure.code, message: failure.message, ...failure.details }
  }
}

function matches (pattern: string, path: string): boolean {
  const wanted = pattern.split('/')
  const given = path.split('/')
  return wanted.length === given.length &&
    wanted.every((segment, index) => segment.startsWith(':') ? given[index] !== '' : segment === given[index])
}

export default fp(errors, { name: 'errors', fastify: '5.x' })
