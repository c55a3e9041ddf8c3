import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { Config } from '../config/env.ts'
import { callerOf, type Caller } from '../lib/jsonapi/credentials.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Who this request is towards the CMS. */
    caller (): Caller
  }
}

/** `request.caller()`: the caller's own credentials, unless a service account is used. */
async function cmsCaller (fastify: FastifyInstance, { config }: { config: Config }) {
  const passthrough = config.cms.auth.kind === 'passthrough'
  fastify.decorateRequest('caller', function () {
    return callerOf(this.headers, this.id, passthrough)
  })
}

export default fp(cmsCaller, { name: 'cms-caller', fastify: '5.x' })
