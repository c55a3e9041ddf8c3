import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { Failure } from '../../lib/errors.ts'
import { ownPath } from './mount.ts'

/**
 * How late the event loop may be for a request that comes at any moment of a sample, in
 * milliseconds. A lock takes several turns of the loop and an edition dozens, so beyond it the
 * deadlines towards the store pass although the store has answered. 500 requests at once make it 40
 * ms late, 200 for long lists 200 ms.
 */
const LATE_MS = 500
const SAMPLE_MS = 1000
const RESOLUTION_MS = 10

/**
 * How many samples in a row have to be late before Quoin refuses requests. A single pause, however
 * long, does not count as overload.
 */
const LATE_SAMPLES = 5

/**
 * Sheds load: answers 503 while the event loop is late. It does so before the request does
 * anything. /health is exempt, since a failing check would restart an overloaded process, or move
 * its load to the others. @fastify/under-pressure also reads the memory at each sample, from a file
 * of /proc: without a free file descriptor that ends the process.
 */
async function overload(
  fastify: FastifyInstance,
  { lateMs = LATE_MS, sampleMs = SAMPLE_MS }: { lateMs?: number; sampleMs?: number }
) {
  const headers = { 'retry-after': String(Math.ceil((LATE_SAMPLES * sampleMs) / 1000)) }
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  let lateSamples = 0

  delay.enable()
  const timer = setInterval(() => {
    // Without a measurement it is not a number: the loop stood still.
    const isInTime = latenessOf(delay) <= lateMs
    lateSamples = isInTime ? 0 : lateSamples + 1
    delay.reset()
  }, sampleMs).unref()
  fastify.addHook('onClose', () => {
    clearInterval(timer)
    delay.disable()
  })

  fastify.addHook('onRequest', ({ server, routeOptions: { url = '' } }, _reply, done) => {
    if (lateSamples < LATE_SAMPLES || ownPath(server, url).startsWith('/health/')) return done()
    done(
      new Failure('OVERLOADED', 'There are more requests than can be answered in time; try again', {
        headers
      })
    )
  })
}

/**
 * How late the loop is, in milliseconds: the mean of its turns, each weighed by the time that it
 * took. So many short turns do not hide a few long ones. That is the mean of the squares, divided
 * by the mean.
 */
export function latenessOf({ mean, stddev }: { mean: number; stddev: number }): number {
  return (mean + stddev ** 2 / mean) / 1e6 - RESOLUTION_MS
}

export default fp(overload, { name: 'overload', fastify: '5.x' })
