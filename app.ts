import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { Config } from './config/env.ts'
import connections from './plugins/app/connections.ts'
import { loadDesk } from './plugins/app/desk.ts'
import lockStore from './plugins/app/locks.ts'
import { loadMcp } from './plugins/app/mcp.ts'
import outsideStore from './plugins/app/outside.ts'
import logPrivacy from './plugins/app/log-privacy.ts'
import editionStores from './plugins/edition-stores.ts'
import everyRequest from './plugins/every-request.ts'
import { docsStart } from './plugins/external/openapi.ts'
import instruments from './plugins/instruments.ts'
import { openServices } from './plugins/services.ts'
import boardRoutes from './routes/boards.ts'
import closingRoutes from './routes/closing.ts'
import editionRoutes from './routes/editions.ts'
import healthRoutes from './routes/health.ts'
import home from './routes/home.ts'
import journalRoutes from './routes/journal.ts'
import listRoutes from './routes/lists.ts'
import lockRoutes from './routes/locks.ts'
import outsideRoutes from './routes/outside.ts'
import upsertRoutes from './routes/upserts.ts'

export type { AuthConfig } from './config/auth.ts'
export type { CmsAuth } from './config/cms-auth.ts'
export { readConfig, SettingsError, type AgentPermission, type Config } from './config/env.ts'
export type { EventsConfig } from './config/events.ts'
export type { ServiceConfig } from './config/service.ts'
export type { JwtOptions } from './lib/auth/jwt.ts'
export type { PublicKey } from './lib/auth/public-key.ts'
export type { BudgetLimits } from './lib/saves/budgets.ts'

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
export async function app(fastify: FastifyInstance, { config, prefix = '' }: AppOptions) {
  await fastify.register(logPrivacy)
  await registerAll(fastify, config, /[^/]/.test(prefix))
}

/** The application alone on an instance: its unknown paths and its connections are Quoin's too. */
export const standalone = fp(
  async function standalone(fastify: FastifyInstance, { config }: AppOptions): Promise<void> {
    await fastify.register(connections)
    await registerAll(fastify, config, true)
  },
  { name: 'standalone', fastify: '5.x' }
)

/** What all share, then the two halves: scopes that do not see each other's decorators. */
async function registerAll(fastify: FastifyInstance, config: Config, ownsPaths: boolean) {
  await fastify.register(instruments, { config, ownsPaths })
  const services = await openServices(fastify, config)
  await fastify.register(everyRequest, { config, ownsPaths, services })
  await fastify.register(healthRoutes)
  const desk = config.desk ? await loadDesk(fastify) : undefined
  if (ownsPaths) await fastify.register(home, { page: desk ? 'desk' : docsStart() })

  // DynamoDB, no CMS.
  await fastify.register(async function lockScope(scope) {
    await scope.register(lockStore, { config, locks: services.locks })
    await scope.register(lockRoutes)
  })
  // The CMS, no DynamoDB, and what joins both.
  await fastify.register(async function editionScope(scope) {
    await scope.register(editionStores, { config, services })
    await scope.register(editionRoutes)
    await scope.register(listRoutes)
    await scope.register(upsertRoutes)
    await scope.register(boardRoutes)
    await scope.register(closingRoutes)
    await scope.register(journalRoutes)
    if (desk) await scope.register(desk, { config, ownsPaths })
    if (config.mcp) await scope.register(await loadMcp(), { config, services })
  })
  const { signed } = services
  if (!signed) return
  await fastify.register(async function outsideScope(scope) {
    await scope.register(outsideStore, signed)
    await scope.register(outsideRoutes)
  })
}
