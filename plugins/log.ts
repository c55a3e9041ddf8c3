import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'

/** One line a request, when it is over; while debugging also one when it has come. */
async function log (fastify: FastifyInstance) {
  fastify.observers.push({ answered: (request, answered) => request.log.info(answered, 'answered') })
  if (['debug', 'trace'].includes(fastify.log.level)) {
    fastify.observers.push({ requested: ({ log, method, routeOptions: { url: route } }) => log.debug({ method, route }, 'incoming request') })
  }
}

export default fp(log, { name: 'log', dependencies: ['observers'], fastify: '5.x' })
