import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { Config } from '../../config/env.ts'
import { MAX_PARAM_LENGTH } from '../../config/fastify.ts'
import { createBacklog, type Backlog } from '../../lib/http/backlog.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /**
     * The path that Quoin is served below, such as `/quoin`; empty where it is served at the root.
     */
    basePath: string
    /** Whether a path with a slash at its end and the path without are one. */
    ignoresTrailingSlash: boolean
    /** What event streams have yet to send to slow readers. */
    backlog: Backlog
  }
}

/** The longest that a timer of Node takes, in milliseconds. */
const LONGEST_MS = 2 ** 31 - 1

export interface MountOptions {
  config: Config
  /** Whether every path below `basePath` is Quoin's. */
  ownsPaths: boolean
}

/**
 * Where Quoin is mounted in a Fastify instance, and what all its streams share.
 * @throws {Error} where Quoin could not be right on this instance, with what to change
 */
async function mount(fastify: FastifyInstance, { config, ownsPaths }: MountOptions) {
  const { prefix, initialConfig } = fastify
  const { routerOptions, maxParamLength, ignoreTrailingSlash, handlerTimeout } =
    initialConfig as typeof initialConfig & { handlerTimeout?: number }
  if (!config?.contentModel) {
    throw new Error(
      'Quoin takes its settings as the option config: register it with { config: readConfig(process.env) }'
    )
  }
  if (/[:*]/.test(prefix)) {
    throw new Error(
      `Quoin cannot be served below ${prefix}: a prefix with parameters leaves open what path its links begin with`
    )
  }
  if (Number(routerOptions?.maxParamLength ?? maxParamLength) < MAX_PARAM_LENGTH) {
    throw new Error(
      `Quoin's paths have longer parameters than this instance takes: make the instance with Fastify({ routerOptions: { maxParamLength: ${MAX_PARAM_LENGTH} } }), which Fastify takes from 5.5 on`
    )
  }
  if (config.corsOrigins.length > 0) {
    if (!ownsPaths) {
      throw new Error(
        'CORS_ORIGINS needs a prefix: without one Quoin would answer the preflights of every route. Register it with { prefix }, or leave CORS to the host'
      )
    }
    refuseCorsOf(fastify)
    // Fastify gives hooks that the host registers later to Quoin's routes too.
    if (prefix) fastify.addHook('onReady', async () => refuseCorsOf(Object.getPrototypeOf(fastify)))
  }
  // Quoin has deadlines of its own, and event streams have none.
  if (Number(handlerTimeout) > 0) {
    fastify.addHook('onRoute', (route) => {
      route.handlerTimeout = LONGEST_MS
    })
  }
  fastify.decorate('basePath', prefix.replace(/\/+$/, ''))
  fastify.decorate(
    'ignoresTrailingSlash',
    Boolean(routerOptions?.ignoreTrailingSlash || ignoreTrailingSlash)
  )
  fastify.decorate('backlog', createBacklog())
}

/** @throws {Error} where an instance has @fastify/cors */
function refuseCorsOf(instance: FastifyInstance): void {
  if (instance.hasRequestDecorator('corsPreflightEnabled')) {
    throw new Error(
      'The host answers for CORS already, below the prefix too: leave CORS_ORIGINS unset, or register @fastify/cors in a scope of the routes that are its own'
    )
  }
}

/**
 * The part of a path, or of a route's pattern, that is Quoin's own: from where Quoin is mounted on.
 */
export function ownPath(
  { basePath }: Partial<Pick<FastifyInstance, 'basePath'>>,
  path: string
): string {
  return basePath && path.startsWith(basePath) ? path.slice(basePath.length) : path
}

/**
 * The pattern of the route, which stands for every spelling of its path; without a route the path
 * that was sent. Both from where Quoin is mounted on.
 */
export function pathOf({ server, routeOptions, url }: FastifyRequest): string {
  const path = url.replace(/^https?:\/\/[^/]*/, '').split('?', 1)[0]!
  try {
    return ownPath(server, routeOptions?.url ?? decodeURI(path))
  } catch {
    return path
  }
}

export default fp(mount, { name: 'mount', fastify: '5.x' })
