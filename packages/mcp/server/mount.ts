import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { createMcpHandler, type McpServer } from '@modelcontextprotocol/server'
import { Failure } from '../../../lib/errors.ts'
import { refuseOtherOrigins } from './origin.ts'
import { serveMetadata, type ProtectedResource } from './resource.ts'

/** The request that a message came in, and its reply. */
export interface Exchange {
  request: FastifyRequest
  reply: FastifyReply
}

export interface McpMount {
  /** Makes the server that answers one request. */
  factory(exchange: Exchange): McpServer
  /** The origins whose pages may call. */
  corsOrigins: readonly string[]
  /** Where it is a protected resource of OAuth. */
  resource?: ProtectedResource | undefined
  /** Whether RATE_LIMIT neither counts nor refuses a message. */
  isAlwaysTaken?: (body: unknown) => boolean
}

/**
 * Serves MCP at /mcp, by Streamable HTTP in both of its eras (2026-07-28, and 2025-11-25 with its
 * handshake). It keeps no sessions: each request says all. Calls that run when the instance closes
 * end like all other requests; streams of subscriptions are ended.
 */
export function mountMcp(
  fastify: FastifyInstance,
  { factory, corsOrigins, resource, isAlwaysTaken }: McpMount
): void {
  const handler = createMcpHandler(({ authInfo }) => factory(exchangeIn(authInfo!)), {
    onerror: (err) => fastify.log.info({ err }, 'a message of MCP was refused')
  })
  const closing = new AbortController()
  fastify.addHook('preClose', async () => closing.abort())

  const options = {
    // MCP describes itself: OpenAPI has no words for it.
    schema: { hide: true },
    config: {
      ...(resource && { resource }),
      // The body says which tool is called.
      ...(isAlwaysTaken && {
        rateLimit: {
          hook: 'preHandler' as const,
          allowList: ({ body }: FastifyRequest) => isAlwaysTaken(body)
        }
      })
    },
    onRequest: async (request: FastifyRequest) => refuseOtherOrigins(request, corsOrigins)
  }
  async function serve(request: FastifyRequest, reply: FastifyReply) {
    refuseBatches(request.body)
    const gone = hangUpOf(reply)
    const signal = isSubscription(request.body) ? AbortSignal.any([gone, closing.signal]) : gone
    const response = await handler.fetch(webRequestOf(request, signal), {
      authInfo: {
        token: '',
        clientId: request.uid ?? '',
        scopes: request.identity?.scopes ?? [],
        ...(resource && { resourceMetadataUrl: resource.metadataUrl }),
        extra: { request, reply } satisfies Exchange
      },
      ...(request.body !== undefined && { parsedBody: request.body })
    })
    return reply.send(response)
  }
  fastify.post('/mcp', options, serve)
  // There are no sessions: the SDK says so to who asks for the stream of one, or ends one.
  fastify.get('/mcp', { ...options, exposeHeadRoute: false }, serve)
  fastify.delete('/mcp', options, serve)
  if (resource) serveMetadata(fastify, resource)
}

/** The SDK hands `extra` through to whoever serves the message. */
export function exchangeIn({ extra }: { extra?: Record<string, unknown> }): Exchange {
  return extra as unknown as Exchange
}

/**
 * One call is one request: it counts once towards RATE_LIMIT, and has a line in the log.
 * @throws {Failure} BAD_REQUEST
 */
function refuseBatches(body: unknown): void {
  if (!Array.isArray(body)) return
  throw new Failure('BAD_REQUEST', 'body must be one JSON-RPC message: batches are not taken')
}

function isSubscription(body: unknown): boolean {
  return (body as { method?: unknown } | null | undefined)?.method === 'subscriptions/listen'
}

/** Aborted when the caller hangs up before the answer is whole. */
function hangUpOf({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController()
  raw.on('close', () => {
    if (!raw.writableFinished) gone.abort()
  })
  return gone.signal
}

/** The request as the SDK takes it. Nothing in it names a host: a strange one makes no URL. */
function webRequestOf({ method, headers, body }: FastifyRequest, signal: AbortSignal): Request {
  const fields = new Headers()
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !name.startsWith(':')) fields.set(name, String(value))
  }
  return new Request('http://quoin/mcp', {
    method,
    headers: fields,
    signal,
    ...(method === 'POST' && { body: JSON.stringify(body ?? null) })
  })
}
