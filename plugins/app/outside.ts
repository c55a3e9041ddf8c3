import { createHash } from 'node:crypto'
import type { FastifyInstance, FastifyRequest, RequestPayload } from 'fastify'
import fp from 'fastify-plugin'
import type { Config } from '../../config/env.ts'
import { tokenRefused } from '../../lib/auth/bearer.ts'
import type { ModuleKey } from '../../lib/auth/module-key.ts'
import type { Outside } from '../../lib/boards/outside.ts'
import type { Store } from '../../lib/table/client.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Saves that Drupal makes without Quoin. */
    outside: Outside
  }
  interface FastifyRequest {
    /** The SHA-256 that the body of a signed request has to have, as base64url. */
    signedDigest: string
  }
}

/** What Quoin and its Drupal module sign by; undefined without CMS_MODULE_SECRET. */
export async function openModuleKey(
  { cms: { moduleSecret } }: Config,
  { clock }: Store
): Promise<ModuleKey | undefined> {
  if (moduleSecret === undefined) return undefined
  // It loads jose: 22 ms of CPU and 4 MiB.
  const { createModuleKey } = await import('../../lib/auth/module-key.ts')
  return createModuleKey(moduleSecret, clock.time)
}

/**
 * Gives a scope what Drupal tells of its own saves, and takes only requests there that its module
 * has signed: the token first, then the body that it names.
 */
async function outside(
  fastify: FastifyInstance,
  { outside, key }: { outside: Outside; key: ModuleKey }
) {
  fastify.decorate('outside', outside)
  fastify.decorateRequest('signedDigest', '')
  fastify.addHook('onRequest', async (request) => {
    request.signedDigest = await key.verify(request.headers.authorization)
  })
  fastify.removeContentTypeParser('application/json')
  fastify.addContentTypeParser('application/json', parseSigned)

  function parseSigned(
    request: FastifyRequest,
    payload: RequestPayload,
    done: (error: Error | null, body?: unknown) => void
  ): void {
    const digest = createHash('sha256')
    payload.on('data', (chunk: Buffer) => digest.update(chunk))
    fastify.parseJson(request, payload, (error, body) => {
      if (error) return done(error)
      if (digest.digest('base64url') === request.signedDigest) return done(null, body)
      return done(tokenRefused('The body is not the one that the token was made for'))
    })
  }
}

export default fp(outside, { name: 'outside', dependencies: ['json-body'], fastify: '5.x' })
