import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { Config } from '../../config/env.ts'
import type { Caller } from '../../lib/http/calls.ts'
import { callerOf } from '../../lib/drupal/credentials.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Who asks, with the header fields of this request that go to the CMS. */
    caller: Caller
  }
}

/**
 * Decorates the request with `caller`: its own credentials, unless a service account is used.
 * Session cookies of the CMS go back to their owner.
 */
async function cmsCaller(fastify: FastifyInstance, { config }: { config: Config }) {
  const { auth, cookieNames } = config.cms
  const passthrough = auth.kind === 'passthrough'
  fastify.decorateRequest('caller')
  fastify.addHook('onRequest', (request, reply, done) => {
    request.caller = callerOf(request.headers, request.id, passthrough, cookieNames, {
      answer: reply.raw,
      // The last ones count: Fastify would add them to those before.
      onRenewal: (cookies) => reply.removeHeader('set-cookie').header('set-cookie', cookies)
    })
    done()
  })
}

export default fp(cmsCaller, { name: 'cms-caller', fastify: '5.x' })
