import type { FastifyInstance } from 'fastify'
import type { Config } from '../config/env.ts'
import { createBoards } from '../lib/boards/boards.ts'
import { createClosing } from '../lib/boards/closing.ts'
import { createOutside } from '../lib/boards/outside.ts'
import { createRefusals } from '../lib/drupal/refusals.ts'
import { createAnswerMemory } from '../lib/http/answer-memory.ts'
import { createBudgets } from '../lib/saves/budgets.ts'
import { createHistory } from '../lib/saves/history.ts'
import { openBus } from './app/bus.ts'
import { openEditions } from './app/editions.ts'
import { openIdempotency } from './app/idempotency.ts'
import { openJournal } from './app/journal.ts'
import { openLocks } from './app/locks.ts'
import { openModuleKey } from './app/outside.ts'
import { openStore } from './app/store.ts'
import { openUpserts } from './app/upserts.ts'

export type Services = Awaited<ReturnType<typeof openServices>>

/**
 * Creates what serves requests, each with what it is joined to, and tells the instance of it.
 * Scopes get their share of it as decorators.
 */
export async function openServices(fastify: FastifyInstance, config: Config) {
  const { contentModel: model } = config
  const store = openStore(fastify, config)
  const bus = await openBus(fastify, config)
  const memory = createAnswerMemory()
  const refusals = createRefusals()
  const journal = openJournal(fastify, config, store, memory)
  const locks = openLocks(fastify, config, store, { memory, bus, journal })
  const key = await openModuleKey(config, store)
  const editions = openEditions(fastify, config, {
    store,
    locks,
    refusals,
    memory,
    bus,
    journal,
    signSave: key?.signSave
  })
  const { isBeingSaved, outdateAll: outdate, tellSave: tell } = editions
  const outside = createOutside({ locks, journal, model, outdate, tell })
  return {
    store,
    bus,
    memory,
    refusals,
    locks,
    editions,
    idempotency: openIdempotency(config, store),
    budgets: createBudgets({
      client: store.client,
      time: store.clock.time,
      table: config.table,
      environment: config.environment,
      ...config.agentWrites
    }),
    upserts: openUpserts(config, store, editions),
    boards: createBoards({ locks, editions, model }),
    closing: createClosing({ locks, editions, model }),
    /** What Drupal's module asks and tells, signed; undefined without its secret. */
    signed: key && { outside, key },
    history: journal && createHistory({ journal, editions, isBeingSaved, model })
  }
}
