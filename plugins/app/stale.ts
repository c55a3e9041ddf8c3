import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { matches } from '../../lib/editions/translate/etag.ts'
import type { Failure } from '../../lib/errors.ts'
import { isDown } from '../../lib/http/client.ts'
import { JSON_TYPE } from '../../lib/json-text.ts'
import { readKey } from '../../lib/drupal/credentials.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * Keeps the answers of this route for when the CMS is down. Says whether an answer is one
     * edition, may have several, has parts of entities by their uuids, or without any id.
     */
    staleCache?: 'edition' | 'list' | 'parts' | 'samples'
  }
  interface FastifyRequest {
    /**
     * A read whose answer is kept: its key, when the request came, and when its oldest data was
     * read. By the clock of the stale cache.
     */
    cacheable?: { key: string; receivedAt: number; at: number }
  }
}

/** Failures of a read that say nothing of the CMS. */
const NOT_THE_CMS = ['CALLER_GONE', 'OVERLOADED']

/**
 * Answers a read with a copy of the last answer to the same caller while the CMS is down. `Age`
 * (RFC 9111 section 5.1) and `Cache-Status` (RFC 9211) mark a copy. When the CMS refuses a read,
 * its copies are dropped.
 */
async function stale(fastify: FastifyInstance) {
  const { staleCache, age } = fastify.editions
  let staleAnswers = 0
  fastify.readings.set('quoin_stale_answers_total', {
    type: 'counter',
    help: 'Reads answered with a copy, since the CMS is down',
    read: () => staleAnswers
  })
  fastify.decorateRequest('cacheable')

  fastify.addHook('preHandler', (request, _reply, done) => {
    const {
      caller,
      url,
      routeOptions: { config }
    } = request
    const receivedAt = staleCache.now()
    if (config.staleCache) {
      request.cacheable = { key: readKey(url, caller), receivedAt, at: receivedAt - age(caller) }
    }
    done()
  })

  fastify.addHook('onSend', async (request, reply, payload) => {
    const { cacheable } = request
    // A host's own hook may have compressed it already.
    if (
      !cacheable ||
      request.method !== 'GET' ||
      reply.statusCode !== 200 ||
      reply.hasHeader('age') ||
      typeof payload !== 'string'
    ) {
      return
    }
    const { key, receivedAt, at } = cacheable
    const kind = request.routeOptions.config.staleCache
    const etag = reply.getHeader('etag') as string | undefined
    const { id: about = '' } = request.params as { id?: string }
    const isParts = kind === 'parts'
    const copy = {
      payload,
      etag,
      at,
      isEdition: kind === 'edition',
      ...(isParts && { about }),
      isAnonymous: kind === 'samples'
    }
    staleCache.keep(key, copy, receivedAt, request.caller)
  })

  fastify.setErrorHandler((error: FastifyError, request: FastifyRequest, reply: FastifyReply) => {
    const { cacheable } = request
    if (!cacheable || NOT_THE_CMS.includes(error.code)) throw error
    const stale = isDown(error) ? staleCache.find(cacheable.key) : staleCache.forget(cacheable.key)
    if (!stale || !isDown(error)) throw error
    const {
      copy: { payload, etag },
      age
    } = stale
    const { 'if-match': ifMatch } = request.headers
    if (ifMatch !== undefined && etag !== undefined && !matches(ifMatch, etag)) throw error
    staleAnswers++
    if (!error.isLogged) {
      request.log.warn({ err: error, age }, `${error.message}; answered with a copy`)
    }
    reply.code(200).headers({
      age,
      'cache-status': `quoin; ${outcome(error)}; ttl=${-age}; detail=${error.code}`,
      ...(etag !== undefined && { etag })
    })
    reply.type(JSON_TYPE).send(payload)
  })
}

/** Whether the CMS was asked, and the status of its answer, as parameters of RFC 9211 section 2. */
function outcome({ code, cause }: Failure): string {
  const { status } = cause as { status?: number }
  if (status !== undefined) return `fwd=stale; fwd-status=${status}`
  return code === 'CMS_UNAVAILABLE' ? 'hit' : 'fwd=stale'
}

export default fp(stale, { name: 'stale', dependencies: ['metrics', 'editions'], fastify: '5.x' })
