import type { FastifyInstance } from 'fastify'
import type { Config } from '../../config/env.ts'
import { createStore, type Store } from '../../lib/table/client.ts'
import { SKEWED_MS } from '../../lib/table/clock.ts'

/**
 * Creates the client of the configured table, and tells the instance of it: a reading of its clock,
 * the closing. Answers have the table's time as their `Date`.
 */
export function openStore(fastify: FastifyInstance, config: Config): Store {
  const store = createStore({
    ...config.dynamodb,
    observe: fastify.observe,
    onSkew: (offset) =>
      fastify.log.warn(
        { offsetMs: Math.round(offset) },
        skewOf(offset) ?? "this machine's clock agrees with the store's again"
      )
  })
  fastify.readings.set('quoin_store_clock_offset_seconds', {
    type: 'gauge',
    help: "How far this machine's clock is behind the store's; negative: ahead",
    read: () => store.clock.offset() / 1000
  })
  fastify.addHook('onClose', store.destroy)
  const dateOf = httpDates()
  fastify.addHook('onSend', (_request, reply, _payload, done) => {
    // Clients tell by it when a lease ends. Node would say the machine's own time.
    reply.header('date', dateOf(store.clock.time.now()))
    done()
  })
  return store
}

/** Times as header fields have them (RFC 9110 section 5.6.7), each second made once. */
function httpDates(): (ms: number) => string {
  let last = NaN
  let text = ''
  return (ms) => {
    const second = Math.floor(ms / 1000)
    if (second !== last) text = new Date(second * 1000).toUTCString()
    last = second
    return text
  }
}

/** @param offset the store's clock less this machine's, in milliseconds */
export function skewOf(offset: number): string | undefined {
  if (Math.abs(offset) < SKEWED_MS) return undefined
  return `this machine's clock is ${Math.abs(offset / 1000).toFixed(1)} s ${offset < 0 ? 'ahead of' : 'behind'} the store's; Quoin corrects for it, NTP would set it`
}
