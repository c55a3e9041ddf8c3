import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { createMcpHandler } from '@modelcontextprotocol/server'
import type { Config } from '../../../config/env.ts'
import { Failure } from '../../../lib/errors.ts'
import { refuseOtherOrigins } from './origin.ts'
import { serverFor } from './server.ts'
import type { ToolServices } from './tool.ts'

export interface McpOptions {
  config: Config
  services: ToolServices
}

/** The request that a message came in, and its reply. */
interface Exchange {
  request: FastifyRequest
  reply: FastifyReply
}

/**
 * The endpoint /mcp: tools for agents, by the Model Context Protocol's Streamable HTTP in both of
 * its eras (2026-07-28, and 2025-11-25 with its handshake). It keeps no sessions: each request says
 * all.
 */
export default async function mcp(fastify: FastifyInstance, { config, services }: McpOptions) {
  const handler = createMcpHandler(
    ({ authInfo }) => serverFor(exchangeIn(authInfo!), config, services),
    { onerror: (err) => fastify.log.info({ err }, 'a message of MCP was refused') }
  )
  // The server's close waits for streams that are still open.
  fastify.addHook('preClose', () => handler.close())

  const options = {
    // MCP describes itself: OpenAPI has no words for it.
    schema: { hide: true },
    onRequest: async (request: FastifyRequest) => refuseOtherOrigins(request, config.corsOrigins)
  }
  async function serve(request: FastifyRequest, reply: FastifyReply) {
    refuseBatches(request.body)
    const response = await handler.fetch(webRequestOf(request, reply), {
      authInfo: {
        token: '',
        clientId: request.uid ?? '',
        scopes: [],
        extra: { request, reply } satisfies Exchange
      },
      ...(request.body !== undefined && { parsedBody: request.body })
    })
    return reply.send(response)
  }
  fastify.post('/mcp', options, serve)
  // There are no sessions: the SDK says so to who asks for the stream of one, or ends one.
  fastify.get('/mcp', options, serve)
  fastify.delete('/mcp', options, serve)
}

/** The SDK hands `extra` through to whoever serves the message. */
function exchangeIn({ extra }: { extra?: Record<string, unknown> }): Exchange {
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

/** The request as the SDK takes it. Nothing in it names a host: a strange one makes no URL. */
function webRequestOf({ method, headers, body }: FastifyRequest, reply: FastifyReply): Request {
  const gone = new AbortController()
  reply.raw.on('close', () => {
    if (!reply.raw.writableFinished) gone.abort()
  })
  const fields = new Headers()
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !name.startsWith(':')) fields.set(name, String(value))
  }
  return new Request('http://quoin/mcp', {
    method,
    headers: fields,
    signal: gone.signal,
    ...(method === 'POST' && { body: JSON.stringify(body ?? null) })
  })
}
