import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { LARGE_ANSWER, type AnswerMemory } from '../lib/http/answer-memory.ts'

/** How long a caller may take nothing of a large answer, in milliseconds. */
const STALLED_MS = 60_000

/** Counts large answers until their callers have them, and ends the connections of callers who do not take them. */
async function answerMemory (fastify: FastifyInstance, { memory, stalledMs = STALLED_MS }: { memory: AnswerMemory, stalledMs?: number }) {
  fastify.addHook('onSend', (_request, { raw }, payload, done) => {
    if (typeof payload === 'string' && payload.length >= LARGE_ANSWER) {
      raw.once('close', memory.send(payload.length))
      raw.setTimeout(stalledMs, () => raw.destroy())
    }
    done(null, payload)
  })
}

export default fp(answerMemory, { name: 'answer-memory', fastify: '5.x' })
