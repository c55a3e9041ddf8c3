import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { CmsAuth, Config } from '../config/env.ts'
import { createEditions, type Editions } from '../lib/editions/editions.ts'
import { basicAccount, oauthAccount, sessionAccount, type Account, type AccountOptions } from '../lib/jsonapi/accounts.ts'
import { createHttp, createJsonapi } from '../lib/jsonapi/client.ts'
import { callerOf, type Caller } from '../lib/jsonapi/credentials.ts'

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
  const { cms: { url, jsonapiPath, timeoutMs, auth }, contentModel: model } = config
  const http = createHttp({ url, timeoutMs })
  const account = accountOf(auth, { http, jsonapiPath })
  const cms = createJsonapi({ http, jsonapiPath, ...(account && { account }) })

  fastify.decorate('editions', createEditions({ cms, model, cmsUrl: url, warn: (message) => fastify.log.warn(message) }))
  fastify.decorateRequest('caller', function () {
    return callerOf(this.headers, this.id, account === undefined)
  })
  fastify.probes.set('cms', () => fastify.editions.probe({}))
  fastify.addHook('onClose', () => http.close())
}

function accountOf (auth: CmsAuth, options: AccountOptions): Account | undefined {
  switch (auth.kind) {
    case 'passthrough': return undefined
    case 'basic': return basicAccount(options, auth.user, auth.password)
    case 'session': return sessionAccount(options, auth.user, auth.password)
    case 'oauth': return oauthAccount(options, auth.clientId, auth.clientSecret)
  }
}

export default fp(editions, { name: 'editions', dependencies: ['health'], fastify: '5.x' })
