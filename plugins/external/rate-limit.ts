import { hash } from 'node:crypto'
import type { FastifyRateLimitStoreCtor } from '@fastify/rate-limit'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { LRUCache } from 'lru-cache'
import type { Config } from '../../config/env.ts'
import { withoutPort } from '../../lib/auth/address.ts'
import type { Count } from '../../lib/bus/wire.ts'
import { Failure } from '../../lib/errors.ts'
import { callerOf, fingerprint } from '../../lib/drupal/credentials.ts'
import { countsOf, type SharedBus } from '../app/bus.ts'
import { ownPath } from '../app/mount.ts'

/**
 * For how many callers requests are counted. Beyond that the counts of those longest silent are
 * dropped.
 */
const CALLERS = 50_000

const WINDOW_MS = 60_000

/** The name of the limit in `RateLimit` and `RateLimit-Policy`. */
const POLICY = 'minute'

/** What the plugin calls how many requests are left, and in how many seconds the window ends. */
const REMAINING = 'x-ratelimit-remaining'
const RESET = 'x-ratelimit-reset'

/** Drupal's module asks and tells for all users of Drupal. */
const NOT_COUNTED = /^\/(?:health|drupal)\//

/**
 * How long a request waits for the count of all instances, in milliseconds. After that the count of
 * this one decides.
 */
const PATIENCE_MS = 100

/**
 * Limits each caller to RATE_LIMIT requests a minute, tells in each answer how many are left, and
 * answers 429 beyond that. Instances that
 * share a bus count together; otherwise each process counts for itself. The limit stops a caller's
 * runaway script. It does not stop an attacker, who counts as another caller with each new set of
 * credentials, right or wrong.
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
  fastify.addHook('onSend', (_request, reply, _payload, done) => {
    tellLimit(reply, max)
    done()
  })
  await fastify.register(rateLimit, {
    max,
    timeWindow: WINDOW_MS,
    store: openCounts(bus, countsOf(config)),
    keyGenerator: (request) => callerKey(request, normalizeIP, cookieNames),
    allowList: ({ server, routeOptions }) => NOT_COUNTED.test(ownPath(server, routeOptions.url!)),
    addHeaders: {
      'x-ratelimit-limit': false,
      [REMAINING]: true,
      [RESET]: true,
      'retry-after': true
    },
    addHeadersOnExceeding: { 'x-ratelimit-limit': false, [REMAINING]: true, [RESET]: true },
    errorResponseBuilder: (_request, { ttl }) =>
      new Failure(
        'TOO_MANY_REQUESTS',
        `More than ${max} requests within a minute; try again in ${Math.ceil(ttl / 1000)} s`
      )
  })
}

/**
 * Puts what the plugin says of a counted request into `RateLimit` and `RateLimit-Policy`. Source:
 * draft-ietf-httpapi-ratelimit-headers-11, sections 3 and 4. The plugin knows fields of an earlier
 * draft alone.
 */
function tellLimit(reply: FastifyReply, max: number): void {
  const remaining = reply.getHeader(REMAINING)
  if (remaining === undefined) return
  const reset = reply.getHeader(RESET)
  reply.removeHeader(REMAINING).removeHeader(RESET)
  reply.headers({
    'ratelimit-policy': `"${POLICY}";q=${max};w=${WINDOW_MS / 1000}`,
    ratelimit: `"${POLICY}";r=${remaining};t=${reset}`
  })
}

/**
 * Counts requests in this instance, and at the bus if there is one. The greater number counts; while
 * the bus is away or slow, the instance's own. A store of the plugin, which has one for Redis too,
 * but exports neither that nor its own, which counts routes with options of their own apart.
 */
function openCounts(bus: SharedBus | undefined, namespace: string): FastifyRateLimitStoreCtor {
  const ownCounts = createOwnCounts()

  async function count(key: string): Promise<Count> {
    const here = countHere(ownCounts, key)
    if (!bus?.isUp()) return here
    const all = await countEverywhere(bus, `${namespace}${hash('sha256', key, 'base64url')}`)
    return isPlausible(all) && all.current > here.current ? all : here
  }

  const store = {
    child: () => store,
    incr(key: string, done: (error: Error | null, count: Count) => void) {
      count(key).then((result) => done(null, result))
    }
  }
  return function Store() {
    return store
  } as unknown as FastifyRateLimitStoreCtor
}

/** How many requests of each caller this instance has had within its minute. */
function createOwnCounts(): LRUCache<string, number> {
  return new LRUCache({
    // As a size: with `max` the cache would reserve the memory for all of them at once.
    maxSize: CALLERS,
    sizeCalculation: () => 1,
    ttl: WINDOW_MS,
    // The minute begins with the first request.
    noUpdateTTL: true
  })
}

function countHere(counts: LRUCache<string, number>, key: string): Count {
  const current = (counts.get(key) ?? 0) + 1
  counts.set(key, current)
  return { current, ttl: counts.getRemainingTTL(key) }
}

/** What the bus counts; undefined where it does not say so in time. */
async function countEverywhere({ counter }: SharedBus, key: string): Promise<Count | undefined> {
  const late = Promise.withResolvers<undefined>()
  const timer = setTimeout(() => late.resolve(undefined), PATIENCE_MS)
  const counting = counter.count(key, WINDOW_MS).catch(() => undefined)
  try {
    return await Promise.race([counting, late.promise])
  } finally {
    clearTimeout(timer)
  }
}

function isPlausible(count: Count | undefined): count is Count {
  return Number.isSafeInteger(count?.current) && count!.ttl > 0 && count!.ttl <= WINDOW_MS
}

/**
 * Whose limit a request counts towards: the authenticated user's, else that of its credentials,
 * else that of its address as `networkOf` gives it (of IPv6 the /64 network, all of which one
 * caller has).
 */
export function callerKey(
  request: FastifyRequest,
  networkOf: (ip: string) => string,
  cookieNames: readonly string[]
): string {
  if (request.identity) return `user ${request.identity.uid}`
  const caller = callerOf(request.headers, request.id, true, cookieNames)
  if (caller.headers['authorization'] ?? caller.headers['cookie']) {
    return `credentials ${fingerprint(caller)}`
  }
  // A caller that has hung up already has no address.
  return `address ${networkOf(withoutPort(String(request.ip)))}`
}

export default fp(rateLimits, { name: 'rate-limit', dependencies: ['auth'], fastify: '5.x' })
