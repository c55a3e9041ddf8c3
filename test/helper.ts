import Fastify, { type FastifyInstance } from 'fastify'
import type { Test } from 'tap'
import { standalone } from '../app.ts'
import { readConfig, type Config, type SettingsError } from '../config/env.ts'
import { fastifyOptions, loggerOptions } from '../config/fastify.ts'
import { serviceFields } from '../config/service.ts'
import { answer, refuse } from '../plugins/app/errors.ts'

/**
 * A configuration for tests: nothing listens on its addresses unless the test sees to it.
 * @param env settings, and by the names of `tunedConfig` what no setting says
 */
export function testConfig(env: Record<string, string> = {}): Config {
  return tunedConfig({
    ENVIRONMENT: 'test',
    CMS_URL: 'http://cms.example',
    DYNAMODB_ENDPOINT: 'http://127.0.0.1:9',
    // What tests call it by that write their requests themselves.
    HOSTS: 'x,quoin,quoin.example',
    ...env
  })
}

/** What no setting says, in a configuration: for tests that cannot wait as long, or need more or less of it. */
export function tunedConfig(env: Record<string, string | undefined>): Config {
  const { heartbeatSeconds, watchersMax, watchersPerCaller, staleSeconds, agentLeaseSeconds, writesPerMinute, writesPerDay } = env
  const { locks, cms, ...config } = readConfig(env)
  return {
    ...config,
    locks: {
      ...locks,
      ...(agentLeaseSeconds && { agentLeaseSeconds: Number(agentLeaseSeconds) }),
      feed: {
        ...locks.feed,
        ...(heartbeatSeconds && { heartbeatMs: Number(heartbeatSeconds) * 1000 }),
        ...(watchersMax && { watchersMax: Number(watchersMax) }),
        ...(watchersPerCaller && { watchersPerCaller: Number(watchersPerCaller) })
      }
    },
    cms: { ...cms, ...(staleSeconds && { staleSeconds: Number(staleSeconds) }) },
    agentWrites: {
      ...(writesPerMinute && { perMinute: Number(writesPerMinute) }),
      ...(writesPerDay && { perDay: Number(writesPerDay) })
    }
  }
}

/** What is said to be wrong with an environment. */
export function problemsOf(env: Record<string, string | undefined>): string[] {
  try {
    readConfig(env)
    return []
  } catch (error) {
    return (error as SettingsError).problems
  }
}

/** The application on a Fastify instance as server.ts makes it, without a logger; closed when the test ends. */
export async function build(t: Test, env: Record<string, string> = {}): Promise<FastifyInstance> {
  const config = testConfig(env)
  const fastify = Fastify({
    ...fastifyOptions,
    trustProxy: config.trustedProxies,
    logger: false,
    frameworkErrors: answer,
    clientErrorHandler: refuse
  })
  t.teardown(() => fastify.close())
  await fastify.register(standalone, { config })
  await fastify.ready()
  return fastify
}

export interface LoggedOptions {
  level?: string
  /** Adds to the application what the test needs, before it is ready. */
  prepare?: (fastify: FastifyInstance) => void
}

export interface Logged {
  app: FastifyInstance
  /** What it logs, one text of JSON each. */
  lines: string[]
  /** The same, read, since it was last asked for. */
  logged: () => Array<Record<string, any>>
}

/** The same with a logger. */
export async function buildLogged(
  t: Test,
  env: Record<string, string>,
  { level = 'info', prepare = () => {} }: LoggedOptions = {}
): Promise<Logged> {
  const lines: string[] = []
  const config = testConfig(env)
  const fastify = Fastify({
    ...fastifyOptions,
    trustProxy: config.trustedProxies,
    frameworkErrors: answer,
    clientErrorHandler: refuse,
    logger: {
      ...loggerOptions(level, false, serviceFields(config.service)),
      stream: {
        write: (line: string) => {
          lines.push(line)
        }
      }
    }
  })
  t.teardown(() => fastify.close())
  await fastify.register(standalone, { config })
  prepare(fastify)
  await fastify.ready()
  return { app: fastify, lines, logged: () => lines.splice(0).map((line) => JSON.parse(line)) }
}
