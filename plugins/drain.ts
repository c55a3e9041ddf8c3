import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'

/**
 * When the service closes, ends the connections without a running request at once and the others after their answer.
 * Node's own closeIdleConnections() leaves those that have not sent a request yet, as browsers open them in advance, and
 * those that become idle later; each would hold the end of the process until its timeout.
 */
async function drain (fastify: FastifyInstance) {
  const connections = new Set<Socket>()
  const answering = new WeakMap<Socket, Set<ServerResponse>>()
  let closing = false

  fastify.server.on('connection', (socket: Socket) => {
    connections.add(socket)
    answering.set(socket, new Set())
    socket.once('close', () => connections.delete(socket))
  })

  fastify.server.on('request', ({ socket }, response: ServerResponse) => {
    const running = answering.get(socket)!
    running.add(response)
    response.once('close', () => {
      running.delete(response)
      if (closing && running.size === 0) socket.end()
    })
  })

  fastify.addHook('preClose', async () => {
    closing = true
    for (const socket of connections) if (answering.get(socket)!.size === 0) socket.destroy()
  })

  // RFC 9112 section 9.6. Not while another request waits behind this one: its answer would be lost.
  fastify.addHook('onSend', (request, reply, payload, done) => {
    if (closing && answering.get(request.raw.socket)?.size === 1) reply.header('connection', 'close')
    done(null, payload)
  })
}

export default fp(drain, { name: 'drain', fastify: '5.x' })
