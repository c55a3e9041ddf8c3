import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { Config } from '../config/env.ts'
import { createEditions, type Editions } from '../lib/editions/editions.ts'
import { createJsonapi } from '../lib/jsonapi/client.ts'
import { basic, passthrough, type Caller, type Credentials } from '../lib/jsonapi/credentials.ts'

declare module 'fastify' {
  interface FastifyInstance {
    editions: Editions
  }
  interface FastifyRequest {
    /** Who this request is towards the CMS. */
    caller (): Caller
  }
}

/** Editions in the CMS: settings in, `fastify.editions` and `request.caller()` out. */
async function editions (fastify: FastifyInstance, { config }: { config: Config }) {
  const { cms: settings, contentModel: model } = config
  const cms = createJsonapi(settings)
  const credentials: Credentials = settings.basic ? basic(settings.basic.user, settings.basic.password) : passthrough

  fastify.decorate('editions', createEditions({ cms, model, cmsUrl: settings.url }))
  fastify.decorateRequest('caller', function () {
    return credentials(this.headers, this.id)
  })
  fastify.probes.set('cms', async () => { await cms.request({ path: '', caller: credentials({}, 'readiness') }) })
  fastify.addHook('onClose', () => cms.close())
}

export default fp(editions, { name: 'editions', dependencies: ['health'], fastify: '5.x' })
