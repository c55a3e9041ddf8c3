import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { errorAsLogged } from '../../config/fastify.ts'
import { withoutToken } from '../../lib/auth/bearer.ts'

/**
 * Keeps tokens in the query of an event stream out of a host's log. It logs failures by their texts
 * alone. On Quoin's own instance loggerOptions does this.
 */
async function logPrivacy(fastify: FastifyInstance) {
  fastify.setChildLoggerFactory((logger, bindings, options) =>
    logger.child(bindings, {
      ...options,
      serializers: { ...options.serializers, err: errorAsLogged, req: requestAsLogged }
    })
  )
}

function requestAsLogged({ method, url, host, ip }: FastifyRequest): object {
  return { method, url: withoutToken(url), host, remoteAddress: ip }
}

export default fp(logPrivacy, { name: 'log-privacy', fastify: '5.x' })
