import Fastify, { type FastifyInstance } from 'fastify'
import type { Test } from 'tap'
import { app } from '../app.ts'
import { readConfig, type Config } from '../config/env.ts'
import { fastifyOptions, loggerOptions } from '../config/fastify.ts'
import { answer, refuse } from '../plugins/errors.ts'

/** A configuration for tests: nothing listens on its addresses unless the test sees to it. */
export function testConfig (env: Record<string, string> = {}): Config {
  return readConfig({
    ENVIRONMENT: 'test',
    CMS_URL: 'http://cms.example',
    DYNAMODB_ENDPOINT: 'http://127.0.0.1:9',
    ...env
  })
}

/** The application on a Fastify instance as server.ts makes it, without a logger; closed when the test ends. */
export async function build (t: Test, env: Record<string, string> = {}): Promise<FastifyInstance> {
  const config = testConfig(env)
  const fastify = Fastify({ ...fastifyOptions, trustProxy: config.trustedProxies, logger: false, frameworkErrors: answer, clientErrorHandler: refuse })
  t.teardown(() => fastify.close())
  await fastify.register(app, { config })
  await fastify.ready()
  return fastify
}

/** The same with a logger, and what it logged since it was last asked. */
export async function buildLogged (t: Test, env: Record<string, string>): Promise<{ app: FastifyInstance, logged: () => Array<Record<string, any>> }> {
  const lines: string[] = []
  const fastify = Fastify({
    ...fastifyOptions,
    frameworkErrors: answer,
    clientErrorHandler: refuse,
    logger: { ...loggerOptions('info', false) as object, stream: { write: (line: string) => { lines.push(line) } } }
  })
  t.teardown(() => fastify.close())
  await fastify.register(app, { config: testConfig(env) })
  await fastify.ready()
  return { app: fastify, logged: () => lines.splice(0).map((line) => JSON.parse(line)) }
}
