import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { Config } from '../../config/env.ts'
import type { RequestSpan } from '../../lib/tracing.ts'
import { ownPath } from '../app/mount.ts'
import manifest from 'quoin/package.json' with { type: 'json' }

/**
 * OpenTelemetry traces of requests and of the calls made for them; nothing of it is loaded where no
 * collector is set.
 */
async function traces(fastify: FastifyInstance, { config: { traces } }: { config: Config }) {
  if (!traces) return
  // It takes 51 ms of CPU and 12 MiB to load.
  const { createTracing } = await import('../../lib/tracing.ts')
  const tracing = createTracing({
    ...traces,
    serviceVersion: manifest.version,
    warn: (error) =>
      fastify.log.warn(
        { cause: error.message },
        'The traces could not be sent; this is logged once until they can be sent again'
      )
  })
  const spans = new WeakMap<FastifyRequest, RequestSpan>()

  fastify.observers.push({
    requested(request) {
      const {
        id,
        method,
        headers,
        server,
        routeOptions: { url: route }
      } = request
      if (route !== undefined && ownPath(server, route).startsWith('/health/')) return
      spans.set(
        request,
        tracing.request(headers, route === undefined ? method : `${method} ${route}`, {
          'http.request.method': method,
          'http.request.header.x-request-id': [id],
          ...(route !== undefined && { 'http.route': route })
        })
      )
    },
    called: (call, request) => spans.get(request!)?.call(call) ?? { end() {} },
    answered(request, { status, code }) {
      spans.get(request)?.end(status, status !== undefined && status >= 500 ? code : undefined)
    }
  })
  fastify.addHook('onClose', () => tracing.close())
}

export default fp(traces, { name: 'traces', dependencies: ['observers'], fastify: '5.x' })
