import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { Config } from '../../config/env.ts'
import type { RequestSpan, TracedRequest } from '../../lib/tracing.ts'
import { ownPath } from '../app/mount.ts'
import { observedPath } from '../app/observers.ts'

/**
 * OpenTelemetry traces of requests and of the calls made for them; nothing of it is loaded where no
 * collector is set.
 */
async function traces(
  fastify: FastifyInstance,
  { config: { traces, service } }: { config: Config }
) {
  if (!traces) return
  // It takes 51 ms of CPU and 12 MiB to load.
  const { createTracing } = await import('../../lib/tracing.ts')
  const tracing = createTracing({
    ...traces,
    service,
    warn: (error) =>
      fastify.log.warn(
        { cause: error.message },
        'The traces could not be sent; this is logged once until they can be sent again'
      )
  })
  const spans = new WeakMap<FastifyRequest, RequestSpan>()

  // Before the log, whose lines are to have the ids of the trace.
  fastify.observers.unshift({
    requested(request, reply) {
      const traced = tracedRequest(request)
      const { server } = request
      if (traced.route !== undefined && ownPath(server, traced.route).startsWith('/health/')) return
      const span = tracing.request(request.headers, traced)
      spans.set(request, span)
      request.log = reply.log = request.log.child({ ...span.fields })
    },
    called: (call, request) => spans.get(request!)?.call(call) ?? { end() {} },
    answered(request, { status, code, aborted }) {
      const isFailed = status !== undefined && status >= 500
      spans
        .get(request)
        ?.end(status, aborted ? 'aborted' : isFailed ? (code ?? String(status)) : undefined)
    }
  })
  fastify.addHook('onClose', () => tracing.close())
}

/** The origin of a target in the absolute form, which comes before Host (RFC 9112 section 3.2.2). */
const ORIGIN = /^https?:\/\/[^/?#]*/

function tracedRequest({
  id,
  method,
  url,
  protocol,
  host,
  raw: { httpVersion },
  routeOptions: { url: route }
}: FastifyRequest): TracedRequest {
  return {
    id,
    method,
    route,
    path: observedPath(url),
    scheme: protocol,
    origin: ORIGIN.exec(url)?.[0] ?? `${protocol}://${host}`,
    version: httpVersion
  }
}

export default fp(traces, { name: 'traces', dependencies: ['observers'], fastify: '5.x' })
