import { setTimeout as sleep } from 'node:timers/promises'
import { Type, type Static } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'

const Live = Type.Object({ status: Type.Literal('ok') }, { description: 'The process runs', examples: [{ status: 'ok' }] })

const State = Type.Unsafe<'ok' | 'unavailable'>({ type: 'string', enum: ['ok', 'unavailable'] })

const Ready = Type.Object({
  status: State,
  dependencies: Type.Record(Type.String(), Type.Object({ status: State, message: Type.Optional(Type.String()) }))
})

type Dependencies = Static<typeof Ready>['dependencies']

const ready = {
  description: 'Every dependency answers',
  examples: [{ status: 'ok', dependencies: { store: { status: 'ok' }, cms: { status: 'ok' } } }]
}
const unavailable = {
  description: 'A dependency does not answer',
  examples: [{ status: 'unavailable', dependencies: { store: { status: 'ok' }, cms: { status: 'unavailable', message: 'The CMS could not be reached' } } }]
}

/** How long a dependency may take to answer, in milliseconds. */
const PATIENCE_MS = 5000

/** How long an answer is shared by all who ask, in milliseconds: a dependency is not asked more often, whatever asks here. */
const SHARED_MS = 1000

/** GET /health/live and GET /health/ready. */
export default async function health (fastify: FastifyInstance) {
  const states = sharedStates(fastify)

  fastify.get('/health/live', {
    logLevel: 'warn',
    schema: { tags: ['health'], summary: 'Whether the process runs', response: { 200: Live } }
  }, async () => ({ status: 'ok' }))

  fastify.get('/health/ready', {
    logLevel: 'warn',
    schema: { tags: ['health'], summary: 'Whether each dependency answers', response: { 200: { ...Ready, ...ready }, 503: { ...Ready, ...unavailable } } }
  }, async (_request, reply) => {
    const dependencies = await states()
    const ok = Object.values(dependencies).every(({ status }) => status === 'ok')
    return reply.code(ok ? 200 : 503).send({ status: ok ? 'ok' : 'unavailable', dependencies })
  })
}

/** Asks every dependency, for all who ask at once and for a moment after; a change of state is logged. */
function sharedStates ({ probes, log }: FastifyInstance): () => Promise<Dependencies> {
  const unavailable = new Set<string>()
  let asked: Promise<Dependencies> | undefined

  async function ask (): Promise<Dependencies> {
    const dependencies = await statesOf(probes)
    for (const [dependency, { status, message }] of Object.entries(dependencies)) {
      if (status === 'ok' && unavailable.delete(dependency)) log.info({ dependency }, 'ready again')
      if (status === 'ok' || unavailable.has(dependency)) continue
      unavailable.add(dependency)
      log.warn({ dependency, cause: message }, 'not ready')
    }
    return dependencies
  }

  return () => {
    asked ??= ask().finally(() => setTimeout(() => { asked = undefined }, SHARED_MS).unref())
    return asked
  }
}

async function statesOf (probes: FastifyInstance['probes']): Promise<Dependencies> {
  const states = await Promise.all([...probes].map(async ([name, probe]): Promise<[string, Dependencies[string]]> => {
    try {
      const message = await Promise.race([probe(), late()])
      return [name, { status: 'ok', ...(message && { message }) }]
    } catch (error) {
      return [name, { status: 'unavailable', message: (error as Error).message }]
    }
  }))
  return Object.fromEntries(states)
}

async function late (): Promise<never> {
  await sleep(PATIENCE_MS, undefined, { ref: false })
  throw new Error(`There was no answer within ${PATIENCE_MS} ms`)
}
