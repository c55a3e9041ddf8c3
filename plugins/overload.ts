import underPressure from '@fastify/under-pressure'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { Failure } from '../lib/errors.ts'
import { ownPath } from './mount.ts'

/**
 * How late the event loop may be on the average of a sample, in milliseconds. A lock takes several turns of the loop and
 * an edition dozens, so beyond it the deadlines towards the store pass although the store has answered. 500 requests at
 * once make it 40 ms late, 200 for long lists 200 ms.
 */
const LATE_MS = 500
const SAMPLE_MS = 1000

/** How many samples in a row have to be late before Quoin refuses requests. A single pause, however long, does not count as overload. */
const LATE_SAMPLES = 5

/**
 * Sheds load: answers 503 while the event loop is late. It does so before the request does anything. /health is exempt, since
 * a failing check would restart an overloaded process, or move its load to the others.
 */
async function overload (fastify: FastifyInstance, { lateMs = LATE_MS, sampleMs = SAMPLE_MS }: { lateMs?: number, sampleMs?: number }) {
  const headers = { 'retry-after': String(Math.ceil(LATE_SAMPLES * sampleMs / 1000)) }
  let samples = 0
  let latest = 0

  await fastify.register(underPressure, {
    maxEventLoopDelay: lateMs,
    sampleInterval: sampleMs,
    async pressureHandler ({ server, routeOptions: { url = '' } }, _reply, _type, delay) {
      const now = performance.now()
      if (now - latest >= sampleMs) {
        // If a sample was in time meanwhile, or there were no requests, the count begins again.
        samples = now - latest < 3 * Math.max(sampleMs, delay!) ? samples + 1 : 1
        latest = now
      }
      if (samples < LATE_SAMPLES || ownPath(server, url).startsWith('/health/')) return
      throw new Failure('OVERLOADED', 'There are more requests than can be answered in time; try again', { headers })
    }
  })
}

export default fp(overload, { name: 'overload', fastify: '5.x' })
