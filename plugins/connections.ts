import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'

/** How many connections are held at once; one more is closed unread, before memory or file descriptors run out. */
const CONNECTIONS = 10_000

/** How long a connection waits for the next bytes of a body that is answered already, in milliseconds. */
const REST_MS = 5000

/**
 * What a connection may be used for.
 *
 * A request that is refused before its body has arrived, such as one that is too large, keeps its connection until the body
 * is over: a client that is still sending would get a reset instead of the answer (RFC 9112 section 9.6). What arrives is
 * dropped. The wait ends when nothing comes for REST_MS, or by requestTimeout.
 *
 * A request that asks for another protocol (RFC 9110 section 7.8) is answered as without, and as the last of its
 * connection: Node swallows what came right behind it, so that a proxy would take the answer to its next request but one
 * for that to its next.
 *
 * An expectation that is not known is ignored, as RFC 9110 section 10.1.1 allows; Node would refuse it without a body.
 */
async function connections (fastify: FastifyInstance) {
  fastify.server.maxConnections = CONNECTIONS
  fastify.server.on('checkExpectation', (request, response) => fastify.server.emit('request', request, response))
  fastify.server.prependListener('request', (request, response) => {
    const { headers } = request
    if (headers.upgrade) response.setHeader('connection', 'close')
    if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined) return
    response.once('finish', () => {
      if (!request.complete) request.socket.setTimeout(REST_MS)
    })
  })
}

export default fp(connections, { name: 'connections', fastify: '5.x' })
