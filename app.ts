import sensible from '@fastify/sensible'
import type { FastifyInstance } from 'fastify'
import type { Config } from './config/env.ts'
import editionStore from './plugins/editions.ts'
import errors from './plugins/errors.ts'
import health from './plugins/health.ts'
import jsonBody from './plugins/json-body.ts'
import lockStore from './plugins/locks.ts'
import openapi from './plugins/openapi.ts'
import validation from './plugins/validation.ts'
import editionRoutes from './routes/editions.ts'
import healthRoutes from './routes/health.ts'
import lockRoutes from './routes/locks.ts'

export interface AppOptions {
  config: Config
}

/** The application: what both halves share, then the locks (DynamoDB, no CMS) and the editions (CMS, no DynamoDB). */
export async function app (fastify: FastifyInstance, { config }: AppOptions): Promise<void> {
  await fastify.register(sensible)
  await fastify.register(errors)
  await fastify.register(jsonBody)
  await fastify.register(validation)
  await fastify.register(openapi)
  await fastify.register(health)
  await fastify.register(healthRoutes)

  await fastify.register(async function locks (scope) {
    await scope.register(lockStore, { config })
    await scope.register(lockRoutes)
  })

  await fastify.register(async function editions (scope) {
    await scope.register(editionStore, { config })
    await scope.register(editionRoutes)
  })
}
