import { isIP } from 'node:net'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { Config } from '../config/env.ts'
import { Failure } from '../lib/errors.ts'
import { ownPath } from './mount.ts'

/** A host and its port. Source: RFC 9110 section 7.2. */
const HOST = /^(?:\[(?<ip6>[^\]]*)\]|(?<host>[^:]*))(?::\d*)?$/

/** Names that no name server may point elsewhere. Source: RFC 6761 section 6.3. */
const LOOPBACK = /^(?:.+\.)?localhost$/

/** How much of a wrong name the answer repeats. */
const SHOWN_LENGTH = 255

/**
 * With AUTH=none, answers only to names that are Quoin's own: a page whose name was pointed at Quoin's address (DNS
 * rebinding) is of the same origin to its browser, which then lets it read and write everything. It cannot change the name
 * in Host. A request without Host (HTTP/1.0) comes from no browser.
 *
 * Health answers under every name, since it tells nothing of anybody and balancers ask it under names of their own.
 */
async function hosts (fastify: FastifyInstance, { config: { auth, host, hosts } }: { config: Config }) {
  if (auth) return
  const names = new Set([host, ...hosts].map(comparable))

  fastify.addHook('onRequest', ({ server, headers, routeOptions: { url = '' } }, _reply, done) => {
    if (headers.host === undefined || isOwn(headers.host, names) || ownPath(server, url).startsWith('/health/')) return done()
    throw new Failure('MISDIRECTED', `This service does not go by the name ${JSON.stringify(headers.host.slice(0, SHOWN_LENGTH))}: call it by its address, or add the name to HOSTS`)
  })
}

function isOwn (header: string, names: Set<string>): boolean {
  const { ip6, host } = HOST.exec(header)?.groups ?? {}
  if (ip6 !== undefined) return isIP(ip6) === 6
  if (host === undefined) return false
  const name = comparable(host)
  return isIP(name) === 4 || LOOPBACK.test(name) || names.has(name)
}

/** Names are the same in either case, and with the dot of the root behind them. Source: RFC 1034 section 3.1. */
function comparable (name: string): string {
  return name.toLowerCase().replace(/\.$/, '')
}

export default fp(hosts, { name: 'hosts', fastify: '5.x' })
