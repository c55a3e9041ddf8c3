import sensible from '@fastify/sensible'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { Config } from './config/env.ts'
import { createBoards } from './lib/boards/boards.ts'
import { createClosing } from './lib/boards/closing.ts'
import { createAnswerMemory } from './lib/http/answer-memory.ts'
import { createHistory } from './lib/saves/history.ts'
import { createRefusals } from './lib/drupal/refusals.ts'
import access from './plugins/app/access.ts'
import answerMemory from './plugins/app/answer-memory.ts'
import authDocs from './plugins/app/auth-docs.ts'
import auth from './plugins/app/auth.ts'
import boardStore from './plugins/app/boards.ts'
import { openBus } from './plugins/app/bus.ts'
import cmsCaller from './plugins/app/cms-caller.ts'
import connections from './plugins/app/connections.ts'
import cors from './plugins/external/cors.ts'
import { loadDesk } from './plugins/app/desk.ts'
import editionStore, { openEditions } from './plugins/app/editions.ts'
import errors from './plugins/app/errors.ts'
import health from './plugins/app/health.ts'
import idempotency, { openIdempotency } from './plugins/app/idempotency.ts'
import journalStore, { openJournal } from './plugins/app/journal.ts'
import jsonBody from './plugins/app/json-body.ts'
import lockStore, { openLocks } from './plugins/app/locks.ts'
import logPrivacy from './plugins/app/log-privacy.ts'
import metrics from './plugins/external/metrics.ts'
import mount from './plugins/app/mount.ts'
import observers from './plugins/app/observers.ts'
import openapi, { docsStart } from './plugins/external/openapi.ts'
import overload from './plugins/app/overload.ts'
import rateLimits from './plugins/external/rate-limit.ts'
import requests from './plugins/app/requests.ts'
import stale from './plugins/app/stale.ts'
import { openStore } from './plugins/app/store.ts'
import traces from './plugins/external/traces.ts'
import trustedNetwork from './plugins/app/trusted-network.ts'
import upsertStore, { openUpserts } from './plugins/app/upserts.ts'
import validation from './plugins/app/validation.ts'
import boardRoutes from './routes/boards.ts'
import closingRoutes from './routes/closing.ts'
import editionRoutes from './routes/editions.ts'
import healthRoutes from './routes/health.ts'
import home from './routes/home.ts'
import journalRoutes from './routes/journal.ts'
import listRoutes from './routes/lists.ts'
import lockRoutes from './routes/locks.ts'
import upsertRoutes from './routes/upserts.ts'

export type { AuthConfig } from './config/auth.ts'
export type { CmsAuth } from './config/cms-auth.ts'
export { readConfig, SettingsError, type Config } from './config/env.ts'
export type { EventsConfig } from './config/events.ts'
export type { JwtOptions } from './lib/auth/jwt.ts'
export type { PublicKey } from './lib/auth/public-key.ts'

export interface AppOptions {
  config: Config
  /** The path to serve it below, such as `/quoin`. Fastify's own option of this name. */
  prefix?: string | undefined
}

/**
 * The application in a scope of its own, for a host's Fastify instance. Below a prefix every path
 * is Quoin's, also those that it does not know; without one unknown paths stay the host's.
 * @throws {Error} where it could not be right on this instance, with what to change
 */
export async function app(
  fastify: FastifyInstance,
  { config, prefix = '' }: AppOptions
): Promise<void> {
  await fastify.register(logPrivacy)
  await registerAll(fastify, config, /[^/]/.test(prefix))
}

/**
 * The application as all there is on an instance: its unknown paths and its connections are Quoin's
 * too.
 */
export const standalone = fp(
  async function standalone(fastify: FastifyInstance, { config }: AppOptions): Promise<void> {
    await fastify.register(connections)
    await registerAll(fastify, config, true)
  },
  { name: 'standalone', fastify: '5.x' }
)

/**
 * What all share, then the locks (DynamoDB, no CMS) and the editions (CMS, no DynamoDB), with the
 * lock boards, which join both. Each is a scope of its own and sees no other's decorators.
 */
async function registerAll(
  fastify: FastifyInstance,
  config: Config,
  ownsPaths: boolean
): Promise<void> {
  await fastify.register(mount, { config, ownsPaths })
  await fastify.register(observers)
  await fastify.register(metrics, { config })
  await fastify.register(health)
  const store = openStore(fastify, config)
  const bus = await openBus(fastify, config)
  const memory = createAnswerMemory()
  const refusals = createRefusals()
  await fastify.register(traces, { config })
  await fastify.register(cors, { config })
  await fastify.register(trustedNetwork, { config })
  await fastify.register(overload)
  await fastify.register(answerMemory, { memory })
  await fastify.register(sensible)
  await fastify.register(errors)
  await fastify.register(requests, { ownsPaths })
  await fastify.register(jsonBody)
  await fastify.register(validation)
  await fastify.register(auth, { config, refusals, time: store.clock.time })
  await fastify.register(access, { config })
  await fastify.register(authDocs, { config })
  await fastify.register(rateLimits, { config, bus })
  await fastify.register(openapi, { config })
  await fastify.register(healthRoutes)
  const desk = config.desk ? await loadDesk(fastify) : undefined
  if (ownsPaths) await fastify.register(home, { page: desk ? 'desk' : docsStart() })

  const journal = openJournal(fastify, config, store, memory)
  const locks = openLocks(fastify, config, store, { memory, bus, journal })
  const editions = openEditions(fastify, config, { store, locks, refusals, memory, bus, journal })
  const boards = createBoards({ locks, editions, model: config.contentModel })
  const closing = createClosing({ locks, editions, model: config.contentModel })
  const history =
    journal &&
    createHistory({
      journal,
      editions,
      isBeingSaved: editions.isBeingSaved,
      model: config.contentModel
    })

  await fastify.register(async function lockScope(scope) {
    await scope.register(lockStore, { config, locks })
    await scope.register(lockRoutes)
  })

  await fastify.register(async function editionScope(scope) {
    await scope.register(cmsCaller, { config })
    await scope.register(editionStore, { editions })
    await scope.register(idempotency, { idempotency: openIdempotency(config, store) })
    await scope.register(upsertStore, { upserts: openUpserts(config, store, editions) })
    await scope.register(stale)
    await scope.register(boardStore, { boards, closing })
    await scope.register(journalStore, { config, history, refusals })
    await scope.register(editionRoutes)
    await scope.register(listRoutes)
    await scope.register(upsertRoutes)
    await scope.register(boardRoutes)
    await scope.register(closingRoutes)
    await scope.register(journalRoutes)
    if (desk) await scope.register(desk, { config, ownsPaths })
  })
}
