import { AsyncLocalStorage } from 'node:async_hooks'
import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { SECURITY_HEADERS } from '../../lib/http/security-headers.ts'
import type { ObservedCall, Observe, CallObserver } from '../../lib/observe.ts'

/** How many characters of a path observers get. */
const PATH_MAX = 256

/** What observers get when a request is over, without its query, header fields and body. */
export interface Answered {
  method: string
  /** The pattern of the route, if there is one. */
  route: string | undefined
  path: string
  /** Undefined when the caller has gone before anything was sent. */
  status: number | undefined
  /** The caller has gone before the answer was sent whole. */
  aborted: true | undefined
  /** The code of the failure that it was answered with. */
  code: string | undefined
  /** The tool that an agent has called by it. */
  tool: string | undefined
  /** The caller, where the service knows. */
  uid: string | undefined
  /** Milliseconds from the request's header to the end of the answer. */
  ms: number
  /**
   * Milliseconds spent waiting for the CMS and the store; calls that run beside each other count
   * each.
   */
  upstreamMs: number
  upstreamCalls: number
}

/** Somebody who watches the service at work. */
export interface Observer {
  requested?: (request: FastifyRequest, reply: FastifyReply) => void
  answered?: (request: FastifyRequest, answered: Answered) => void
  /** A call begins, for a request or for none. */
  called?: (call: ObservedCall, request: FastifyRequest | undefined) => CallObserver
}

declare module 'fastify' {
  interface FastifyInstance {
    observers: Observer[]
    /** Tells the observers of a call to the CMS or the store. */
    observe: Observe
    /** Called with every request, also with one that gets no further than the router. */
    watch: (request: FastifyRequest, reply: FastifyReply) => void
    /**
     * The reply to the newest request of each connection, which is the one that still arrives if
     * any does.
     */
    newestReplies: WeakMap<Socket, FastifyReply>
  }
  interface FastifyRequest {
    /**
     * Its calls to the CMS and the store so far, how many of them are still open, and the
     * milliseconds of all: each adds its end less its beginning.
     */
    upstream: { calls: number; open: number; ms: number }
    /** The tool that an agent calls by it; packages/mcp sets it. */
    tool: string | undefined
  }
}

/**
 * Tells `fastify.observers` of every request and of every call made for it; the first of them is
 * the log. Gives each answer its X-Request-Id and the security headers.
 */
async function observers(fastify: FastifyInstance) {
  const current = new AsyncLocalStorage<FastifyReply>()
  const observers: Observer[] = logging(fastify)
  const newestReplies = new WeakMap<Socket, FastifyReply>()
  fastify.decorate('observers', observers)
  fastify.decorate('newestReplies', newestReplies)
  fastify.decorateRequest('upstream')
  fastify.decorateRequest('tool')

  fastify.decorate('watch', function (request, reply) {
    const startedAt = performance.now()
    let over = false
    function end(isAborted: boolean): void {
      if (over) return
      over = true
      const entry = answerOf(request, reply, performance.now() - startedAt, isAborted)
      for (const observer of observers) observer.answered?.(request, entry)
    }
    request.upstream = { calls: 0, open: 0, ms: 0 }
    newestReplies.set(request.raw.socket, reply)
    reply.header('x-request-id', request.id)
    for (const observer of observers) observer.requested?.(request, reply)
    // Node 22 also says `finish` of an answer whose connection broke off.
    reply.raw
      .once('finish', () => end(Boolean(request.raw.socket.errored)))
      .once('close', () => end(true))
  })

  fastify.addHook('onRequest', (request, reply, done) => {
    // Already watched where config/fastify.ts made the instance.
    if (!request.upstream) fastify.watch(request, reply)
    reply.headers(SECURITY_HEADERS)
    current.run(reply, done)
  })

  fastify.decorate('observe', function (call) {
    const reply = current.getStore()
    // Calls after the answer has begun, such as the polling of an event stream, belong to no
    // request.
    const request = reply?.raw.headersSent ? undefined : reply?.request
    if (request) {
      request.upstream.calls++
      request.upstream.open++
      request.upstream.ms -= performance.now()
    }
    const events: CallObserver[] = []
    for (const { called } of observers) if (called) events.push(called(call, request))
    return {
      headers: Object.assign({}, ...events.map(({ headers }) => headers)),
      end(outcome, result) {
        if (request) {
          request.upstream.open--
          request.upstream.ms += performance.now()
        }
        for (const one of events) one.end(outcome, result)
      }
    }
  })
}

/** One line a request, when it is over; while debugging also one when it has come. */
function logging({ log: { level } }: FastifyInstance): Observer[] {
  return [
    {
      answered: (request, answered) => request.log.info(answered, 'answered'),
      ...(['debug', 'trace'].includes(level) && {
        requested: ({ log, method, routeOptions: { url: route } }) =>
          log.debug({ method, route }, 'incoming request')
      })
    }
  ]
}

function answerOf(
  request: FastifyRequest,
  { raw, statusCode }: FastifyReply,
  ms: number,
  isAborted: boolean
): Answered {
  const {
    method,
    routeOptions: { url: route },
    url,
    upstream,
    failed,
    tool,
    identity
  } = request
  return {
    method,
    route,
    path: observedPath(url),
    status: raw.headersSent ? statusCode : undefined,
    aborted: isAborted || undefined,
    code: failed,
    tool,
    uid: identity?.uid,
    ms: rounded(ms),
    upstreamMs: rounded(upstream.ms + upstream.open * performance.now()),
    upstreamCalls: upstream.calls
  }
}

/** The path of a request's target as observers get it, without the query. */
export function observedPath(url: string): string {
  return (url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/]*/, ''))
    .split('?', 1)[0]!
    .slice(0, PATH_MAX)
}

function rounded(ms: number): number {
  return Math.round(ms * 100) / 100
}

export default fp(observers, { name: 'observers', fastify: '5.x' })
