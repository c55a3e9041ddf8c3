import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { Config } from '../config/env.ts'
import boardStore from './app/boards.ts'
import cmsCaller from './app/cms-caller.ts'
import editionStore from './app/editions.ts'
import idempotency from './app/idempotency.ts'
import journalStore from './app/journal.ts'
import stale from './app/stale.ts'
import upsertStore from './app/upserts.ts'
import type { Services } from './services.ts'

/**
 * Gives a scope the editions and what joins them to the locks, with the credentials and the stale
 * cache of each request to them.
 */
async function editionStores(
  fastify: FastifyInstance,
  { config, services }: { config: Config; services: Services }
) {
  const { editions, idempotency: repeats, upserts, boards, closing, history, refusals } = services
  await fastify.register(cmsCaller, { config })
  await fastify.register(editionStore, { editions })
  await fastify.register(idempotency, { idempotency: repeats })
  await fastify.register(upsertStore, { upserts })
  await fastify.register(stale)
  await fastify.register(boardStore, { boards, closing })
  await fastify.register(journalStore, { config, history, refusals })
}

export default fp(editionStores, {
  name: 'edition-stores',
  dependencies: ['every-request'],
  fastify: '5.x'
})
