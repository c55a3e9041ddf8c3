import helmet from '@fastify/helmet'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'

/**
 * What every answer tells a browser: to load nothing for it, show it in no frame, take its media type as it is and name
 * no referrer; and what tells every cache to keep nothing, since answers hold users' texts. A route that wants to be
 * asked again with If-None-Match says so itself. Source: OWASP, REST Security Cheat Sheet.
 *
 * No Strict-Transport-Security: Quoin speaks plain HTTP, where browsers ignore it (RFC 6797 section 8.1), and whether
 * the whole host is to be HTTPS is for whoever ends TLS in front of it to say.
 */
async function securityHeaders (fastify: FastifyInstance) {
  await fastify.register(helmet, {
    contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } },
    xFrameOptions: { action: 'deny' },
    strictTransportSecurity: false,
    // Fastify sends none to be taken away.
    xPoweredBy: false,
    // These are for documents, or for browsers long gone.
    crossOriginOpenerPolicy: false,
    originAgentCluster: false,
    xDnsPrefetchControl: false,
    xDownloadOptions: false,
    xPermittedCrossDomainPolicies: false,
    xXssProtection: false
  })
  fastify.addHook('onRequest', async (_request, reply) => {
    reply.header('cache-control', 'private, no-store')
  })
}

export default fp(securityHeaders, { name: 'security-headers', fastify: '5.x' })
