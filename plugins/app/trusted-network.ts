import { isIP } from 'node:net'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { Config } from '../../config/env.ts'
import { isCrossSite, isSimple } from '../../lib/auth/cross-site.ts'
import { Failure, texts } from '../../lib/errors.ts'
import { ownPath } from './mount.ts'

/** A host and its port. Source: RFC 9110 section 7.2. */
const HOST = /^(?:\[(?<ip6>[^\]]*)\]|(?<host>[^:]*))(?::\d*)?$/

/** The authority of a target in the absolute form. */
const AUTHORITY = /^[a-z][a-z\d+.-]*:\/\/([^/?#]*)/i

/** Names that no name server may point elsewhere. Source: RFC 6761 section 6.3. */
const LOOPBACK = /^(?:.+\.)?localhost$/

/** Addresses that only this machine reaches. */
const OWN_MACHINE = /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/

/** What answers under every name. */
const UNDER_ANY_NAME = /^\/(?:health|drupal)\//

/** How much of a wrong name the answer repeats. */
const SHOWN_LENGTH = 255

/**
 * With AUTH=none everybody in the network may do everything. This keeps pages of other sites from
 * doing it through the browsers in that network, in two ways.
 *
 * Quoin answers to its own names only. A page can point its name at Quoin's address (DNS
 * rebinding): to the browser both then have the same origin, and the page may read and write
 * everything. It cannot change the name in Host. A request without Host (HTTP/1.0) comes from no
 * browser. Health answers under every name: it tells nothing of anybody, and balancers ask it under
 * names of their own. So does what Drupal's module signs, which no page can.
 *
 * Quoin refuses a POST that a page of another site may send without a preflight. Routes that take
 * JSON alone refuse it anyway.
 */
async function trustedNetwork(
  fastify: FastifyInstance,
  { config: { auth, host, hosts, corsOrigins } }: { config: Config }
) {
  if (auth) return
  if (!OWN_MACHINE.test(host)) {
    fastify.log.warn(
      `AUTH=none: whoever reaches ${host} may do everything, under any name; for trusted networks only`
    )
  }
  const names = new Set([host, ...hosts].map(comparable))

  fastify.addHook('onRequest', (request, _reply, done) => {
    const {
      server,
      method,
      headers,
      routeOptions: { url = '' }
    } = request
    // HTTP/2 has it in `:authority`, a request to a proxy in its target. Both come before Host (RFC
    // 9113 section 8.3.1, RFC 9112 section 3.2.2).
    const name = (headers[':authority'] ??
      AUTHORITY.exec(request.raw.url!)?.[1] ??
      headers.host) as string | undefined
    const isOpen = UNDER_ANY_NAME.test(ownPath(server, url))
    if (name !== undefined && !isOwn(name, names) && !isOpen) {
      throw new Failure(
        'MISDIRECTED',
        `This service does not go by the name ${JSON.stringify(name.slice(0, SHOWN_LENGTH))}: call it by its address, or add the name to HOSTS`
      )
    }
    if (
      method === 'POST' &&
      server.hasContentTypeParser('text/plain') &&
      isSimple(request) &&
      isCrossSite(request, corsOrigins)
    ) {
      throw new Failure('FORBIDDEN', texts.anotherSite)
    }
    done()
  })
}

function isOwn(header: string, names: Set<string>): boolean {
  const { ip6, host } = HOST.exec(header)?.groups ?? {}
  if (ip6 !== undefined) return isIP(ip6) === 6
  if (host === undefined) return false
  const name = comparable(host)
  return isIP(name) === 4 || LOOPBACK.test(name) || names.has(name)
}

/**
 * Names are the same in either case, and with the dot of the root behind them. Source: RFC 1034
 * section 3.1.
 */
function comparable(name: string): string {
  return name.toLowerCase().replace(/\.$/, '')
}

export default fp(trustedNetwork, { name: 'trusted-network', fastify: '5.x' })
