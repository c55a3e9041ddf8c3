import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'

/**
 * Resolves when a dependency answers, with a remark if there is one; rejects with an error whose
 * message may be shown to anyone.
 */
export type Probe = () => Promise<string | undefined | void>

declare module 'fastify' {
  interface FastifyInstance {
    /** What /health/ready asks, by name; each half adds its own. */
    probes: Map<string, Probe>
  }
}

async function health(fastify: FastifyInstance) {
  fastify.decorate('probes', new Map<string, Probe>())
}

export default fp(health, { name: 'health', fastify: '5.x' })
