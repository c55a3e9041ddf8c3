import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { Config } from '../config/env.ts'
import { withoutPort } from '../lib/auth/address.ts'
import { Failure } from '../lib/errors.ts'
import { callerOf, fingerprint } from '../lib/jsonapi/credentials.ts'
import { ownPath } from './mount.ts'

/** Of how many callers the requests are counted; beyond that the counts of those longest silent are dropped. */
const CALLERS = 50_000

/**
 * With RATE_LIMIT so many requests a minute and caller, counted by this process; one more is answered 429. It keeps one
 * caller's runaway script from the others. It is no wall against an attack: who changes the credentials of every
 * request, right or wrong, is another caller each time.
 */
async function rateLimits (fastify: FastifyInstance, { config: { rateLimit: max, cms: { cookieNames } } }: { config: Config }) {
  if (max === 0) return
  const { default: rateLimit, normalizeIP } = await import('@fastify/rate-limit')
  await fastify.register(rateLimit, {
    max,
    timeWindow: 60_000,
    cache: CALLERS,
    keyGenerator: (request) => callerKey(request, normalizeIP, cookieNames),
    allowList: ({ server, routeOptions }) => ownPath(server, routeOptions.url!).startsWith('/health/'),
    addHeaders: { 'x-ratelimit-limit': false, 'x-ratelimit-remaining': false, 'x-ratelimit-reset': false, 'retry-after': true },
    addHeadersOnExceeding: { 'x-ratelimit-limit': false, 'x-ratelimit-remaining': false, 'x-ratelimit-reset': false },
    errorResponseBuilder: (_request, { ttl }) => new Failure('TOO_MANY_REQUESTS', `More than ${max} requests within a minute; try again in ${Math.ceil(ttl / 1000)} s`)
  })
}

/**
 * For whom a request counts: the user that it was authenticated as, else whoever has its credentials, else its address
 * as `networkOf` gives it (of IPv6 the /64 network, all of which one caller has).
 */
export function callerKey (request: FastifyRequest, networkOf: (ip: string) => string, cookieNames: readonly string[]): string {
  if (request.identity) return `user ${request.identity.uid}`
  const caller = callerOf(request.headers, request.id, true, cookieNames)
  if (caller['authorization'] ?? caller['cookie']) return `credentials ${fingerprint(caller)}`
  // A caller that has hung up already has no address.
  return `address ${networkOf(withoutPort(String(request.ip)))}`
}

export default fp(rateLimits, { name: 'rate-limit', dependencies: ['auth'], fastify: '5.x' })
