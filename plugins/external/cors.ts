import cors, { type FastifyCorsOptions } from '@fastify/cors'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { Config } from '../../config/env.ts'
import { ownPath } from '../app/mount.ts'

/**
 * How long a browser may remember a preflight's answer, in seconds: the longest that Chromium
 * takes.
 */
const PREFLIGHT_SECONDS = 7200

/** The pattern of the route, at the root or below a prefix. */
const PREFLIGHTS = /^\/?\*$/

declare module 'fastify' {
  interface FastifyInstance {
    /**
     * What an answer to a page of this origin says, for those that no hook sees; absent without
     * CORS_ORIGINS.
     */
    corsHeaders?: (origin: string | undefined) => Record<string, string>
  }
}

const EXPOSED = [
  'Edition-Turn',
  'ETag',
  'Idempotency-Replayed',
  'Location',
  'Lock-Expires',
  'Lock-Since',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'X-Request-Id',
  'Cache-Status',
  'Age',
  'Date'
]

const options: FastifyCorsOptions = {
  credentials: true,
  methods: ['GET', 'HEAD', 'POST', 'PUT', 'DELETE'],
  allowedHeaders: [
    'Authorization',
    'Content-Type',
    'Idempotency-Key',
    'If-Match',
    'If-None-Match',
    'Lock-Match',
    'MCP-Protocol-Version',
    'Mcp-Method',
    'Mcp-Name',
    'Quoin-Agent',
    'X-CSRF-Token',
    'X-User-Uid',
    'X-Request-Id',
    'Accept-Language',
    'Last-Event-ID',
    'traceparent',
    'tracestate'
  ],
  exposedHeaders: EXPOSED,
  maxAge: PREFLIGHT_SECONDS,
  strictPreflight: false
}

/**
 * Lets pages of the origins in CORS_ORIGINS call from a browser, with credentials. A preflight is
 * answered before anything else looks at the request, since a browser sends it without credentials;
 * failures carry the header fields too, so that a page can read them. To every other origin the
 * service answers as if there were none of this.
 *
 * A preflight is an OPTIONS that has Origin and Access-Control-Request-Method. Source: Fetch,
 * section 3.3.2.
 */
async function corsByList(
  fastify: FastifyInstance,
  { config: { corsOrigins } }: { config: Config }
) {
  if (corsOrigins.length === 0) return
  const allowedOrigins = new Set(corsOrigins)

  fastify.decorate('corsHeaders', (origin) => ({
    vary: 'Origin',
    ...(origin !== undefined &&
      allowedOrigins.has(origin) && {
        'access-control-allow-origin': origin,
        'access-control-allow-credentials': 'true',
        'access-control-expose-headers': EXPOSED.join(', ')
      })
  }))

  await fastify.register(cors, {
    delegator({ headers }, done) {
      const origin =
        headers.origin !== undefined && allowedOrigins.has(headers.origin) && headers.origin
      done(null, {
        ...options,
        origin,
        preflight: headers['access-control-request-method'] !== undefined
      })
    }
  })

  // @fastify/cors brings a route OPTIONS * to hang the preflights on. What else arrives there is
  // answered as without it.
  fastify.addHook('onRequest', async ({ server, routeOptions: { url = '' } }, reply) => {
    if (PREFLIGHTS.test(ownPath(server, url))) return reply.callNotFound()
  })
}

export default fp(corsByList, { name: 'cors', fastify: '5.x' })
