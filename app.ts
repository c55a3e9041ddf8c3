import sensible from '@fastify/sensible'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { Config } from './config/env.ts'
import type { Editions } from './lib/editions/editions.ts'
import type { Locks } from './lib/locks/locks.ts'
import access from './plugins/access.ts'
import authDocs from './plugins/auth-docs.ts'
import auth from './plugins/auth.ts'
import boardStore from './plugins/boards.ts'
import cmsCaller from './plugins/cms-caller.ts'
import connections from './plugins/connections.ts'
import cors from './plugins/cors.ts'
import drain from './plugins/drain.ts'
import editionStore from './plugins/editions.ts'
import errors from './plugins/errors.ts'
import health from './plugins/health.ts'
import hosts from './plugins/hosts.ts'
import jsonBody from './plugins/json-body.ts'
import lockStore from './plugins/locks.ts'
import log from './plugins/log.ts'
import metrics from './plugins/metrics.ts'
import observers from './plugins/observers.ts'
import openapi from './plugins/openapi.ts'
import overload from './plugins/overload.ts'
import rateLimits from './plugins/rate-limit.ts'
import securityHeaders from './plugins/security-headers.ts'
import stale from './plugins/stale.ts'
import traces from './plugins/traces.ts'
import validation from './plugins/validation.ts'
import boardRoutes from './routes/boards.ts'
import deskRoutes from './routes/desk.ts'
import editionRoutes from './routes/editions.ts'
import healthRoutes from './routes/health.ts'
import lockRoutes from './routes/locks.ts'

export interface AppOptions {
  config: Config
}

/**
 * The application: what all share, then the locks (DynamoDB, no CMS), the editions (CMS, no DynamoDB), and the lock boards,
 * which join both. Each is a scope of its own and sees no other's decorators.
 */
export const app = fp(async function app (fastify: FastifyInstance, { config }: AppOptions): Promise<void> {
  await fastify.register(connections)
  await fastify.register(drain)
  await fastify.register(observers)
  await fastify.register(log)
  await fastify.register(metrics, { config })
  await fastify.register(traces, { config })
  await fastify.register(securityHeaders)
  await fastify.register(cors, { config })
  await fastify.register(hosts, { config })
  await fastify.register(overload)
  await fastify.register(sensible)
  await fastify.register(errors)
  await fastify.register(jsonBody)
  await fastify.register(validation)
  await fastify.register(auth, { config })
  await fastify.register(access, { config })
  await fastify.register(authDocs, { config })
  await fastify.register(rateLimits, { config })
  await fastify.register(openapi)
  await fastify.register(health)
  await fastify.register(healthRoutes)

  let store!: Locks
  let cms!: Editions

  await fastify.register(async function locks (scope) {
    await scope.register(lockStore, { config })
    await scope.register(lockRoutes)
    store = scope.locks
  })

  await fastify.register(async function editions (scope) {
    await scope.register(cmsCaller, { config })
    await scope.register(editionStore, { config, locks: store })
    await scope.register(stale)
    await scope.register(editionRoutes)
    if (config.desk) await scope.register(deskRoutes, { config })
    cms = scope.editions
  })

  await fastify.register(async function boards (scope) {
    await scope.register(cmsCaller, { config })
    await scope.register(boardStore, { config, locks: store, editions: cms })
    await scope.register(boardRoutes)
  })
}, { name: 'app', fastify: '5.x' })
