import { setTimeout as sleep } from 'node:timers/promises'
import { Type, type Static } from '@sinclair/typebox'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { texts } from '../lib/errors.ts'
import type { Handler } from './handler.ts'

const Live = Type.Object(
  { status: Type.Literal('ok') },
  { description: 'The process runs', examples: [{ status: 'ok' }] }
)

const Status = Type.Unsafe<'ok' | 'unavailable'>({ type: 'string', enum: ['ok', 'unavailable'] })

const Ready = Type.Object({
  status: Status,
  dependencies: Type.Record(
    Type.String(),
    Type.Object({ status: Status, message: Type.Optional(Type.String()) })
  )
})

type Dependencies = Static<typeof Ready>['dependencies']

/** How long a dependency may take to answer, in milliseconds. */
const PATIENCE_MS = 5000

/**
 * How long an answer is shared by all who ask, in milliseconds: a dependency is not asked more
 * often, whatever asks here.
 */
const SHARED_MS = 1000

/** GET /health/live and GET /health/ready. */
export default async function health(fastify: FastifyInstance) {
  const states = sharedStates(fastify)

  fastify
    .withTypeProvider<TypeBoxTypeProvider>()
    .get('/health/live', { schema: liveSchema, logLevel: 'warn' }, live)
    .get('/health/ready', { schema: readySchema, logLevel: 'warn' }, async (_request, reply) => {
      const dependencies = await states()
      const ok = Object.values(dependencies).every(({ status }) => status === 'ok')
      return ok
        ? reply.code(200).send({ status: 'ok', dependencies })
        : reply.code(503).send({ status: 'unavailable', dependencies })
    })
}

const liveSchema = {
  operationId: 'checkLiveness',
  tags: ['health'],
  summary: 'Tell whether the process runs',
  response: { 200: Live }
}

const live: Handler<typeof liveSchema> = async () => ({ status: 'ok' })

const readySchema = {
  operationId: 'checkReadiness',
  tags: ['health'],
  summary: 'Tell whether each dependency answers',
  response: {
    200: {
      ...Ready,
      description: 'Every dependency answers',
      examples: [{ status: 'ok', dependencies: { store: { status: 'ok' }, cms: { status: 'ok' } } }]
    },
    503: {
      ...Ready,
      description: 'A dependency does not answer',
      examples: [
        {
          status: 'unavailable',
          dependencies: {
            store: { status: 'ok' },
            cms: { status: 'unavailable', message: texts.cmsUnreachable }
          }
        }
      ]
    }
  }
}

/**
 * Asks every dependency, for all who ask at once and for a moment after; a change of state is
 * logged.
 */
function sharedStates(fastify: FastifyInstance): () => Promise<Dependencies> {
  const { log } = fastify
  const unavailable = new Set<string>()
  let lastStates: Promise<Dependencies> | undefined

  async function ask(): Promise<Dependencies> {
    const dependencies = await statesOf(fastify)
    for (const [dependency, { status, message }] of Object.entries(dependencies)) {
      if (status === 'ok' && unavailable.delete(dependency)) log.info({ dependency }, 'ready again')
      if (status === 'ok' || unavailable.has(dependency)) continue
      unavailable.add(dependency)
      log.warn({ dependency, cause: message }, 'not ready')
    }
    return dependencies
  }

  return () => {
    lastStates ??= ask().finally(() =>
      setTimeout(() => {
        lastStates = undefined
      }, SHARED_MS).unref()
    )
    return lastStates
  }
}

async function statesOf({ probes, to }: FastifyInstance): Promise<Dependencies> {
  const states = await Promise.all(
    [...probes].map(async ([name, probe]): Promise<[string, Dependencies[string]]> => {
      const [error, message] = await to(Promise.race([probe(), late()]))
      if (error) return [name, { status: 'unavailable', message: error.message }]
      return [name, message ? { status: 'ok', message } : { status: 'ok' }]
    })
  )
  return Object.fromEntries(states)
}

async function late(): Promise<never> {
  await sleep(PATIENCE_MS, undefined, { ref: false })
  throw new Error(`There was no answer within ${PATIENCE_MS} ms`)
}
