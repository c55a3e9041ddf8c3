import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { Upserts } from '../lib/upserts/upserts.ts'

declare module 'fastify' {
  interface FastifyInstance {
    upserts: Upserts
  }
}

/** Gives a scope the upserts, which are over both halves. */
async function upserts (fastify: FastifyInstance, { upserts }: { upserts: Upserts }) {
  fastify.decorate('upserts', upserts)
}

export default fp(upserts, { name: 'upserts', fastify: '5.x' })
