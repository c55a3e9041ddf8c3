import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { Boards } from '../../lib/boards/boards.ts'
import type { Closing } from '../../lib/boards/closing.ts'

declare module 'fastify' {
  interface FastifyInstance {
    boards: Boards
    closing: Closing
  }
}

/** Gives a scope the lock boards and the closing of editions, which are over both halves. */
async function boards(
  fastify: FastifyInstance,
  { boards, closing }: { boards: Boards; closing: Closing }
) {
  fastify.decorate('boards', boards)
  fastify.decorate('closing', closing)
}

export default fp(boards, { name: 'boards', dependencies: ['cms-caller'], fastify: '5.x' })
