import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { matches } from '../lib/editions/translate/etag.ts'
import type { Failure } from '../lib/errors.ts'
import { isDown } from '../lib/http/client.ts'
import { readKey } from '../lib/jsonapi/credentials.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** That answers of this route are kept for when the CMS is down: one edition, or what several may show in. */
    staleCache?: 'edition' | 'list'
  }
  interface FastifyRequest {
    /** Of a read whose answer is kept: its key, when it came, and from when the oldest is that it is made of, by the clock of the staleCache. */
    cacheable?: { key: string, asked: number, at: number }
  }
}

/**
 * Answers a read that fails because the CMS is down with a copy of its last answer to the same caller, marked as such by
 * `Age` (RFC 9111 section 5.1) and `Cache-Status` (RFC 9211). What the CMS refuses is not answered so, and ends all copies of it.
 */
async function stale (fastify: FastifyInstance) {
  const { staleCache, age } = fastify.editions
  let answered = 0
  fastify.readings.set('quoin_stale_answers_total', { type: 'counter', help: 'Reads answered with a copy, since the CMS is down', read: () => answered })
  fastify.decorateRequest('reading')

  fastify.addHook('preHandler', (request, _reply, done) => {
    const { caller, url, routeOptions: { config } } = request
    const asked = staleCache.now()
    if (config.staleCache) request.cacheable = { key: readKey(url, caller), asked, at: asked - age(caller) }
    done()
  })

  fastify.addHook('onSend', async (request, reply, payload) => {
    const { cacheable: reading } = request
    if (!reading || request.method !== 'GET' || reply.statusCode !== 200 || reply.hasHeader('age')) return
    const { key, asked, at } = reading
    const etag = reply.getHeader('etag') as string | undefined
    staleCache.keep(key, { payload: payload as string, etag, at, isEdition: request.routeOptions.config.staleCache === 'edition' }, asked, request.caller)
  })

  fastify.setErrorHandler((error: FastifyError, request: FastifyRequest, reply: FastifyReply) => {
    const { cacheable: reading } = request
    if (!reading || error.code === 'CALLER_GONE') throw error
    const found = isDown(error) ? staleCache.find(reading.key) : staleCache.forget(reading.key)
    if (!found || !isDown(error)) throw error
    const { copy: { payload, etag }, age } = found
    const { 'if-match': ifMatch } = request.headers
    if (ifMatch !== undefined && etag !== undefined && !matches(ifMatch, etag)) throw error
    answered++
    if (!error.isLogged) request.log.warn({ err: error, age }, `${error.message}; answered with a copy`)
    reply.code(200).headers({ age, 'cache-status': `quoin; ${fate(error)}; ttl=${-age}; detail=${error.code}`, ...(etag !== undefined && { etag }) })
    reply.type('application/json; charset=utf-8').send(payload)
  })
}

/** Whether the CMS was asked, and the status that it answered with, in the parameters of RFC 9211 section 2. */
function fate ({ code, cause }: Failure): string {
  const { status } = cause as { status?: number }
  if (status !== undefined) return `fwd=stale; fwd-status=${status}`
  return code === 'CMS_UNAVAILABLE' ? 'hit' : 'fwd=stale'
}

export default fp(stale, { name: 'stale', dependencies: ['metrics', 'editions'], fastify: '5.x' })
