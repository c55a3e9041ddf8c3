import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { Config } from '../../config/env.ts'
import type { Store } from '../../lib/table/client.ts'
import { createIdempotency, type Idempotency } from '../../lib/saves/idempotency.ts'

declare module 'fastify' {
  interface FastifyInstance {
    idempotency: Idempotency
  }
}

/** Creates the memory of requests with an Idempotency-Key, in the configured table. */
export function openIdempotency(
  { table, environment, cms: { timeoutMs } }: Config,
  { client, clock }: Store
): Idempotency {
  return createIdempotency({
    client,
    table,
    environment,
    timeoutMs,
    time: clock.time
  })
}

/** Gives a scope the memory of requests. */
async function idempotency(
  fastify: FastifyInstance,
  { idempotency }: { idempotency: Idempotency }
) {
  fastify.decorate('idempotency', idempotency)
}

export default fp(idempotency, { name: 'idempotency', fastify: '5.x' })
