import { setTimeout as sleep } from 'node:timers/promises'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

const Live = Type.Object({ status: Type.Literal('ok') }, { description: 'The process runs', examples: [{ status: 'ok' }] })

const State = Type.Unsafe<'ok' | 'unavailable'>({ type: 'string', enum: ['ok', 'unavailable'] })

const Ready = Type.Object({
  status: State,
  dependencies: Type.Record(Type.String(), Type.Object({ status: State, message: Type.Optional(Type.String()) }))
})

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

/** GET /health/live and GET /health/ready. */
export default async function health (fastify: FastifyInstance) {
  fastify.get('/health/live', {
    logLevel: 'warn',
    schema: { tags: ['health'], summary: 'Whether the process runs', response: { 200: Live } }
  }, async () => ({ status: 'ok' }))

  fastify.get('/health/ready', {
    logLevel: 'warn',
    schema: { tags: ['health'], summary: 'Whether each dependency answers', response: { 200: { ...Ready, ...ready }, 503: { ...Ready, ...unavailable } } }
  }, readiness)
}

async function readiness (this: FastifyInstance, _request: FastifyRequest, reply: FastifyReply) {
  const states = await Promise.all([...this.probes].map(async ([name, probe]) => {
    try {
      const message = await Promise.race([probe(), late()])
      return [name, { status: 'ok', ...(message && { message }) }]
    } catch (error) {
      return [name, { status: 'unavailable', message: (error as Error).message }]
    }
  }))
  const dependencies = Object.fromEntries(states) as Record<string, { status: string }>
  const ok = Object.values(dependencies).every(({ status }) => status === 'ok')
  return reply.code(ok ? 200 : 503).send({ status: ok ? 'ok' : 'unavailable', dependencies })
}

async function late (): Promise<never> {
  await sleep(PATIENCE_MS, undefined, { ref: false })
  throw new Error(`There was no answer within ${PATIENCE_MS} ms`)
}
