import type { FastifyInstance } from 'fastify'
import type { Redis } from 'ioredis'
import type { Config } from '../config/env.ts'
import { createBus, type Bus } from '../lib/bus/bus.ts'
import { openRedis } from '../lib/bus/redis.ts'

/** The bus, and the connection by which instances can count together. */
export interface SharedBus extends Bus {
  commands: Redis
}

/** Milliseconds between two lines of the log about failures of the connections. */
const WARN_MS = 60_000

/** How long an instance that fell silent on the bus is waited for, at least, in milliseconds; else as long as its leases last. */
const FORGET_MS = 60 * 60_000

/** Where the instances of an environment publish and listen. */
export const channelOf = ({ table, environment }: Config): string => `quoin:${table}:${environment}`

/** How the keys begin by which they count requests. */
export const countsOf = ({ environment }: Config): string => `quoin:${environment}:requests:`

/**
 * Opens the configured bus, if there is one, and tells the instance of it: the probe `bus`, readings, the closing. The bus
 * being away makes no instance unready: what it would tell comes later.
 */
export async function openBus(
  fastify: FastifyInstance,
  config: Config
): Promise<SharedBus | undefined> {
  if (!config.bus) return undefined
  let warnedAt = -WARN_MS
  const { wire, commands } = await openRedis(config.bus.url, channelOf(config), (error) => {
    if (performance.now() - warnedAt < WARN_MS) return
    warnedAt = performance.now()
    fastify.log.warn({ err: error }, 'a connection to the bus fails')
  })
  const bus = createBus({
    wire,
    onChange(isUp, reason) {
      fastify.log[isUp ? 'info' : 'warn'](
        { reason },
        isUp ? 'the bus is up' : 'the bus is down: event streams go by the table alone'
      )
    },
    onSilence(silent) {
      if (silent > 0) {
        fastify.log.warn(
          { silent },
          'instances have fallen silent on the bus without a goodbye: they may have ended, or be cut off and still write. Event streams read the table every EVENTS_POLL_MS'
        )
      } else fastify.log.info('no instance is silent on the bus any more')
    },
    forgetMs: Math.max(FORGET_MS, config.locks.leaseSeconds * 1000)
  })
  fastify.probes.set('bus', async () => {
    return bus.isUp()
      ? undefined
      : 'The bus is down: each instance finds by EVENTS_POLL_MS what the others write'
  })
  fastify.readings.set('quoin_bus_up', {
    type: 'gauge',
    help: 'Whether the bus between instances is up: 1 or 0',
    read: () => Number(bus.isUp())
  })
  fastify.readings.set('quoin_bus_silent_instances', {
    type: 'gauge',
    help: 'Other instances that have fallen silent on the bus without a goodbye',
    read: bus.silent
  })
  fastify.readings.set('quoin_bus_round_trip_seconds', {
    type: 'gauge',
    help: 'How long the last beat took to the bus and back; 0 while it is down',
    read: () => (bus.roundTripMs() ?? 0) / 1000
  })
  fastify.readings.set('quoin_bus_messages_total', {
    type: 'counter',
    help: 'Messages of the bus, beats included, by what became of them',
    label: 'outcome',
    read: bus.counts
  })
  // Connects only now: what does not listen, such as a test or a print of the OpenAPI document, needs no bus.
  fastify.addHook('onListen', async () => bus.start())
  fastify.addHook('onClose', bus.close)
  return { ...bus, commands }
}
