import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { Config } from '../../config/env.ts'
import type { Store } from '../../lib/table/client.ts'
import type { Editions } from '../../lib/editions/editions.ts'
import { createUpserts, type Upserts } from '../../lib/saves/upserts.ts'

declare module 'fastify' {
  interface FastifyInstance {
    upserts: Upserts
  }
}

/** Creates the upserts of editions, which reserve keys in the configured table. */
export function openUpserts(
  { table, environment, contentModel: model }: Config,
  { client, clock }: Store,
  editions: Editions
): Upserts {
  return createUpserts({
    client,
    table,
    environment,
    editions,
    model,
    time: clock.time
  })
}

/** Gives a scope the upserts, which are over both halves. */
async function upserts(fastify: FastifyInstance, { upserts }: { upserts: Upserts }) {
  fastify.decorate('upserts', upserts)
}

export default fp(upserts, { name: 'upserts', fastify: '5.x' })
