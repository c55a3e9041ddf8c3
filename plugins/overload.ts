import underPressure from '@fastify/under-pressure'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { Failure } from '../lib/errors.ts'

/**
 * How late the event loop may be on the average of SAMPLE_MS, in milliseconds, before requests are turned away. A lock
 * takes several turns of the loop and an edition dozens, so beyond it the deadlines towards the store pass although the
 * store has answered. 500 requests at once make it 40 ms late (200 of long lists: 200 ms); one halt of less than
 * SAMPLE_MS counts for little.
 */
const LATE_MS = 500
const SAMPLE_MS = 5000

/**
 * Sheds load before the service drowns: 503 while the event loop is late, except for /health, which would have an
 * overloaded process restarted or its share given to the others. What is turned away has done nothing.
 */
async function overload (fastify: FastifyInstance, { sampleMs = SAMPLE_MS }: { sampleMs?: number }) {
  const retryAfter = String(Math.ceil(sampleMs / 1000))
  await fastify.register(underPressure, {
    maxEventLoopDelay: LATE_MS,
    sampleInterval: sampleMs,
    async pressureHandler ({ routeOptions }) {
      if (routeOptions.url?.startsWith('/health/')) return
      throw new Failure('OVERLOADED', 'There are more requests than can be answered in time; try again', { headers: { 'retry-after': retryAfter } })
    }
  })
}

export default fp(overload, { name: 'overload', fastify: '5.x' })
