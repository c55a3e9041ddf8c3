import type { FastifyInstance } from 'fastify'
import type { Config } from '../../config/env.ts'
import { createBus, type Bus } from '../../lib/bus/bus.ts'
import type { SharedCounter } from '../../lib/bus/wire.ts'

/** The bus, by which instances can also count together. */
export interface SharedBus extends Bus {
  counter: SharedCounter
}

/** Milliseconds between two lines of the log about failures of the connections. */
const WARN_MS = 60_000

/**
 * How long an instance that fell silent on the bus is waited for, at least, in milliseconds; else
 * as long as its leases last.
 */
const FORGET_MS = 60 * 60_000

/** Where the instances of an environment publish and listen. */
export const channelOf = ({ table, environment }: Config): string => `quoin:${table}:${environment}`

/** How the keys begin by which they count requests. */
export const countsOf = ({ environment }: Config): string => `quoin:${environment}:requests:`

/**
 * Opens the configured bus, if there is one, and tells the instance of it: the probe `bus`,
 * readings, the closing. The bus being away makes no instance unready: what it would tell comes
 * later.
 */
export async function openBus(
  fastify: FastifyInstance,
  config: Config
): Promise<SharedBus | undefined> {
  if (!config.bus) return undefined
  // Loaded only here, since it loads ioredis: that takes 20 ms of CPU and 9 MiB.
  const { openRedis } = await import('../../lib/bus/redis.ts')
  const { wire, counter } = await openRedis(config.bus.url, channelOf(config), warner(fastify))
  const bus = createBus({
    wire,
    onChange: (isUp, reason) => logState(fastify, isUp, reason),
    onSilence: (silent) => logSilence(fastify, silent),
    forgetMs: Math.max(FORGET_MS, config.locks.leaseSeconds * 1000)
  })
  addReadings(fastify, bus)
  // Connects only now: what does not listen, such as a test or a print of the OpenAPI document,
  // needs no bus.
  fastify.addHook('onListen', async () => bus.start())
  fastify.addHook('onClose', bus.close)
  return { ...bus, counter }
}

/** Logs failures of the connections, once a minute at most. */
function warner({ log }: FastifyInstance): (error: Error) => void {
  let warnedAt = -WARN_MS
  return (error) => {
    if (performance.now() - warnedAt < WARN_MS) return
    warnedAt = performance.now()
    log.warn({ err: error }, 'a connection to the bus fails')
  }
}

function logState({ log }: FastifyInstance, isUp: boolean, reason: string): void {
  if (isUp) log.info({ reason }, 'the bus is up')
  else log.warn({ reason }, 'the bus is down: event streams go by the table alone')
}

function logSilence({ log }: FastifyInstance, silent: number): void {
  if (silent === 0) {
    log.info('no instance is silent on the bus any more')
    return
  }
  log.warn(
    { silent },
    'instances have fallen silent on the bus without a goodbye: they may have ended, or be cut off and still write. Event streams read the table every EVENTS_POLL_MS'
  )
}

/** Adds the probe and the metrics of the bus. */
function addReadings(fastify: FastifyInstance, bus: Bus): void {
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
}
