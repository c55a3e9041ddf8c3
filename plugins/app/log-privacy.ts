import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { errorAsLogged } from '../../config/fastify.ts'
import { withoutToken } from '../../lib/auth/bearer.ts'

const SERIALIZERS = { err: errorAsLogged, req: requestAsLogged }

/**
 * Keeps tokens in the query of an event stream out of a host's log. It logs failures by their texts
 * alone. The host's own child logger stays, with what it writes besides. On Quoin's own instance
 * loggerOptions does this.
 */
async function logPrivacy(fastify: FastifyInstance) {
  const ofHost = fastify.childLoggerFactory
  fastify.setChildLoggerFactory(function (this: FastifyInstance, ...given) {
    return ofHost.apply(this, given).child({}, { serializers: SERIALIZERS })
  })
}

function requestAsLogged({ method, url, host, ip }: FastifyRequest): object {
  return { method, url: withoutToken(url), host, remoteAddress: ip }
}

export default fp(logPrivacy, { name: 'log-privacy', fastify: '5.x' })
