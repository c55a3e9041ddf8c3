import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import health from './app/health.ts'
import mount, { type MountOptions } from './app/mount.ts'
import observers from './app/observers.ts'
import metrics from './external/metrics.ts'

/** Where Quoin is mounted, and what services report to: observers, readings, probes. */
async function instruments(fastify: FastifyInstance, { config, ownsPaths }: MountOptions) {
  await fastify.register(mount, { config, ownsPaths })
  await fastify.register(observers)
  await fastify.register(metrics, { config })
  await fastify.register(health)
}

export default fp(instruments, { name: 'instruments', fastify: '5.x' })
