import { hash } from 'node:crypto'
import type { FastifyRateLimitStoreCtor } from '@fastify/rate-limit'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { Config } from '../config/env.ts'
import { withoutPort } from '../lib/auth/address.ts'
import { Failure } from '../lib/errors.ts'
import { callerOf, fingerprint } from '../lib/drupal/credentials.ts'
import { countsOf, type SharedBus } from './bus.ts'
import { ownPath } from './mount.ts'

/** For how many callers requests are counted. Beyond that the counts of those longest silent are dropped. */
const CALLERS = 50_000

const WINDOW_MS = 60_000

/** How long a request waits for the count of all instances, in milliseconds. After that the count of this one decides. */
const PATIENCE_MS = 100

/**
 * Limits each caller to RATE_LIMIT requests a minute, and answers 429 beyond that. Instances that share a bus count together;
 * otherwise each process counts for itself. The limit stops a caller's runaway script. It does not stop an attacker, who
 * counts as another caller with each new set of credentials, right or wrong.
 */
async function rateLimits(
  fastify: FastifyInstance,
  { config, bus }: { config: Config; bus?: SharedBus | undefined }
) {
  const {
    rateLimit: max,
    cms: { cookieNames }
  } = config
  if (max === 0) return
  // It takes 7 ms of CPU and 1.4 MiB to load.
  const { default: rateLimit, normalizeIP } = await import('@fastify/rate-limit')
  await fastify.register(rateLimit, {
    max,
    timeWindow: WINDOW_MS,
    ...(bus && { store: await sharedCounts(bus, countsOf(config)) }),
    cache: CALLERS,
    keyGenerator: (request) => callerKey(request, normalizeIP, cookieNames),
    allowList: ({ server, routeOptions }) =>
      ownPath(server, routeOptions.url!).startsWith('/health/'),
    addHeaders: {
      'x-ratelimit-limit': false,
      'x-ratelimit-remaining': false,
      'x-ratelimit-reset': false,
      'retry-after': true
    },
    addHeadersOnExceeding: {
      'x-ratelimit-limit': false,
      'x-ratelimit-remaining': false,
      'x-ratelimit-reset': false
    },
    errorResponseBuilder: (_request, { ttl }) =>
      new Failure(
        'TOO_MANY_REQUESTS',
        `More than ${max} requests within a minute; try again in ${Math.ceil(ttl / 1000)} s`
      )
  })
}

/** What a store tells of a caller: how many requests, and how many milliseconds are left of their minute. */
interface Count {
  current: number
  ttl: number
}

/** Counts requests at the bus and in this instance. The greater number counts; while the bus is away or slow, the instance's own. */
async function sharedCounts(bus: SharedBus, nameSpace: string): Promise<FastifyRateLimitStoreCtor> {
  const { default: LocalStore } = await import('@fastify/rate-limit/store/LocalStore.js')
  const { default: RedisStore } = await import('@fastify/rate-limit/store/RedisStore.js')
  const ownStore = new LocalStore(false, false, CALLERS)
  const busStore = new RedisStore(false, false, bus.commands, nameSpace)

  function countAll(key: string): Promise<Count | null> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, PATIENCE_MS, null)
      busStore.incr(
        hash('sha256', key, 'base64url'),
        (_error, count) => {
          clearTimeout(timer)
          resolve(count)
        },
        WINDOW_MS,
        0
      )
    })
  }

  const store = {
    incr(key: string, done: (error: Error | null, count: Count) => void) {
      ownStore.incr(
        key,
        (_error, count) => {
          const here = count!
          if (!bus.isUp()) return done(null, here)
          countAll(key).then((all) =>
            done(null, isPlausible(all) && all.current > here.current ? all : here)
          )
        },
        WINDOW_MS,
        0
      )
    }
  }
  return function Store() {
    return store
  } as unknown as FastifyRateLimitStoreCtor
}

function isPlausible(count: Count | null): count is Count {
  return Number.isSafeInteger(count?.current) && count!.ttl > 0 && count!.ttl <= WINDOW_MS
}

/**
 * Whose limit a request counts towards: the authenticated user's, else that of its credentials, else that of its address
 * as `networkOf` gives it (of IPv6 the /64 network, all of which one caller has).
 */
export function callerKey(
  request: FastifyRequest,
  networkOf: (ip: string) => string,
  cookieNames: readonly string[]
): string {
  if (request.identity) return `user ${request.identity.uid}`
  const caller = callerOf(request.headers, request.id, true, cookieNames)
  if (caller['authorization'] ?? caller['cookie']) return `credentials ${fingerprint(caller)}`
  // A caller that has hung up already has no address.
  return `address ${networkOf(withoutPort(String(request.ip)))}`
}

export default fp(rateLimits, { name: 'rate-limit', dependencies: ['auth'], fastify: '5.x' })
