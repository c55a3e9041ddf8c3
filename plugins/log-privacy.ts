import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { errorAsLogged } from '../config/fastify.ts'
import { withoutToken } from '../lib/auth/bearer.ts'

/**
 * What a host's logger writes of Quoin's requests and failures: nothing of what the query of an event stream may carry as
 * a token, and of a failure its texts. On an instance of Quoin's own loggerOptions sees to that.
 */
async function logPrivacy (fastify: FastifyInstance) {
  fastify.setChildLoggerFactory((logger, bindings, options) => logger.child(bindings, {
    ...options,
    serializers: { ...options.serializers, err: errorAsLogged, req: requestAsLogged }
  }))
}

function requestAsLogged ({ method, url, host, ip }: FastifyRequest): object {
  return { method, url: withoutToken(url), host, remoteAddress: ip }
}

export default fp(logPrivacy, { name: 'log-privacy', fastify: '5.x' })
