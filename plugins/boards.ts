import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { Boards } from '../lib/boards/boards.ts'

declare module 'fastify' {
  interface FastifyInstance {
    boards: Boards
  }
}

/** Gives a scope the lock boards, which are over both halves. */
async function boards (fastify: FastifyInstance, { boards }: { boards: Boards }) {
  fastify.decorate('boards', boards)
}

export default fp(boards, { name: 'boards', dependencies: ['cms-caller'], fastify: '5.x' })
