import type { Server } from 'node:http'
import Fastify, { type FastifyHttpOptions, type FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { Config } from '../../config/env.ts'
import { listening } from '../../config/listening.ts'

/** Seconds: from what the store needs to what the CMS may need. */
const BUCKETS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** A metric that a part of the service keeps itself; it is read when somebody asks. */
export interface Metric {
  type: 'gauge' | 'counter'
  help: string
  /**
   * The name of the label, where `read` gives one value for each of its values; or of several,
   * where it gives samples. Their values have to be few, and known beforehand.
   */
  label?: string | string[]
  read: () => number | Readonly<Record<string, number>> | MetricSample[]
}

/** One value of a metric with several labels. */
export interface MetricSample {
  labels: Record<string, string>
  value: number
}

/**
 * The port is for one or a few programs that ask every few seconds: whoever is slow, or more than
 * that, is no such program.
 */
const SERVER = {
  requestTimeout: 10_000,
  connectionTimeout: 60_000,
  http: { headersTimeout: 10_000, connectionsCheckingInterval: 5000 }
} satisfies FastifyHttpOptions<Server>

/** How many connections the port takes. */
const CONNECTIONS = 100

declare module 'fastify' {
  interface FastifyInstance {
    /**
     * What else is shown as metrics, by name; each part adds its own, whether somebody looks or
     * not.
     */
    readings: Map<string, Metric>
  }
}

/**
 * Prometheus metrics at GET /metrics, on a port of their own; nothing is measured where none is
 * set.
 */
async function metrics(
  fastify: FastifyInstance,
  { config: { host, metrics } }: { config: Config }
) {
  fastify.decorate('readings', new Map<string, Metric>())
  if (!metrics) return

  // It takes 14 ms of CPU and 3 MiB to load.
  const { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } =
    await import('@prometheus-io/client')
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const durations = (name: string, help: string, ...labelNames: string[]) =>
    new Histogram({ name, help, labelNames, buckets: BUCKETS, registers: [registry] })
  const requests = durations(
    'quoin_http_request_duration_seconds',
    'Requests, from their header to the end of the answer',
    'method',
    'route',
    'status'
  )
  const calls = durations(
    'quoin_upstream_call_duration_seconds',
    'Calls to the CMS and to the store',
    'upstream',
    'operation',
    'outcome'
  )

  fastify.observers.push({
    answered(_request, { method, route, status, aborted, ms }) {
      // Without a route a caller may send any method there is.
      const labels = route === undefined ? { method: 'any', route: 'none' } : { method, route }
      requests.observe({ ...labels, status: aborted ? 'aborted' : String(status) }, ms / 1000)
    },
    called({ to: upstream, operation }) {
      const started = performance.now()
      return {
        end: (outcome) =>
          calls.observe({ upstream, operation, outcome }, (performance.now() - started) / 1000)
      }
    }
  })

  const server = Fastify(SERVER)
  server.server.maxConnections = CONNECTIONS
  server.get('/metrics', async (_request, reply) => {
    reply.type(registry.contentType)
    return registry.metrics()
  })
  fastify.addHook('onReady', async () => {
    for (const [name, { type, help, label, read }] of fastify.readings) {
      const Metric = type === 'gauge' ? Gauge : Counter
      registry.registerMetric(
        new Metric({
          name,
          help,
          labelNames: label === undefined ? [] : [label].flat(),
          registers: [],
          collect() {
            const samples = samplesOf(read(), label as string)
            this.reset()
            for (const { labels, value } of samples) this.inc(labels, value)
          }
        })
      )
    }
    const address = await listening({ HOST: host, METRICS_PORT: metrics.port }, () =>
      server.listen({ host, port: metrics.port })
    )
    fastify.log.info(`Metrics at ${address}/metrics`)
  })
  fastify.addHook('onClose', async () => {
    const closed = server.close()
    server.server.closeAllConnections()
    await closed
  })
}

/** @param label the name of the label, where each value has one */
function samplesOf(values: ReturnType<Metric['read']>, label: string): MetricSample[] {
  if (typeof values === 'number') return [{ labels: {}, value: values }]
  if (Array.isArray(values)) return values
  return Object.entries(values).map(([name, value]) => ({ labels: { [label]: name }, value }))
}

export default fp(metrics, { name: 'metrics', dependencies: ['observers'], fastify: '5.x' })
