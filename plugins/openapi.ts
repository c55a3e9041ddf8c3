import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import manifest from '../package.json' with { type: 'json' }

/** What the HTTP server answers before a request gets as far as an operation. */
const EVERYWHERE = 'Any request may also be answered 408 (it did not arrive in time), 414 (its path is too long), 429 (its caller sends too many; see Retry-After), 431 (its header fields are too large) or, except below /health, 503 (this service has more to do than it can; see Retry-After).'

/** What the pages of /docs may load: their own scripts, styles and pictures, and this service to try things out on. */
const DOCS_CSP = "default-src 'none'; base-uri 'none'; connect-src 'self'; form-action 'none'; frame-ancestors 'none'; img-src 'self' data:; script-src 'self'; style-src 'self' 'unsafe-inline'"

/** OpenAPI from the routes' own schemas: shown at /docs, as JSON at /docs/json. */
async function openapi (fastify: FastifyInstance) {
  await fastify.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Quoin', version: manifest.version, description: `${manifest.description}. ${EVERYWHERE}` },
      tags: [
        { name: 'locks', description: 'Who is editing which field of which entity' },
        { name: 'editions', description: "Collections of articles, in the JSON of Drupal core's REST endpoints" },
        { name: 'health', description: 'Whether the service and what it depends on are up' }
      ],
      ...(fastify.securitySchemes && { components: { securitySchemes: fastify.securitySchemes as never } })
    },
    // Shared schemas keep their names.
    refResolver: { buildLocalReference: (json) => String(json['$id']) }
  })
  await fastify.register(swaggerUi, { routePrefix: '/docs', staticCSP: DOCS_CSP, theme: { title: 'Quoin: its API' } })
}

export default fp(openapi, { name: 'openapi', fastify: '5.x' })
