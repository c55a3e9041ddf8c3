import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'

/** How many connections are held at once; one more is closed unread, before memory or file descriptors run out. */
const CONNECTIONS = 10_000

/**
 * What a connection may be used for.
 *
 * A request that asks for another protocol (RFC 9110 section 7.8) is answered as without, and as the last of its
 * connection: Node swallows what came right behind it, so that a proxy would take the answer to its next request but one
 * for that to its next.
 */
async function connections (fastify: FastifyInstance) {
  fastify.server.maxConnections = CONNECTIONS
  fastify.server.prependListener('request', ({ headers }, response) => {
    if (headers.upgrade) response.setHeader('connection', 'close')
  })
}

export default fp(connections, { name: 'connections', fastify: '5.x' })
