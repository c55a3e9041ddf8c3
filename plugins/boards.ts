import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { Config } from '../config/env.ts'
import { createBoards, type Boards } from '../lib/boards/boards.ts'
import type { Editions } from '../lib/editions/editions.ts'
import type { Locks } from '../lib/locks/locks.ts'

declare module 'fastify' {
  interface FastifyInstance {
    boards: Boards
  }
}

/** The lock boards, over both halves. */
async function boards (fastify: FastifyInstance, { config, locks, editions }: { config: Config, locks: Locks, editions: Editions }) {
  fastify.decorate('boards', createBoards({ locks, editions, model: config.contentModel }))
}

export default fp(boards, { name: 'boards', dependencies: ['cms-caller'], fastify: '5.x' })
