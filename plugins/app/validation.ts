import type { FastifyInstance, FastifyRequest, FastifySchema, FastifySchemaCompiler } from 'fastify'
import fp from 'fastify-plugin'
import { createValidation, schemaErrorFormatter } from '../../config/validation.ts'
import { Failure } from '../../lib/errors.ts'

/**
 * How long after the start Quoin compiles the schemas that no request has needed yet. The first
 * requests are the probes of a supervisor.
 */
const COMPILE_MS = 1000

/** Validates requests by the schemas of their routes, with config/validation.ts. */
async function validation(fastify: FastifyInstance) {
  const { schemaController, compileAll } = createValidation()
  // Not setValidatorCompiler alone: a scope that adds schemas of its own would fall back to
  // Fastify's default validation.
  fastify.setSchemaController(schemaController)
  // What a host has set stays in force for routes without shared schemas, and for what they answer.
  fastify.setValidatorCompiler(
    schemaController.compilersFactory!.buildValidator!(
      {},
      {}
    ) as FastifySchemaCompiler<FastifySchema>
  )
  fastify.setSerializerCompiler(() => JSON.stringify)
  fastify.setReplySerializer((payload) => JSON.stringify(payload))
  fastify.setSchemaErrorFormatter(schemaErrorFormatter)

  fastify.addHook('onRoute', (route) => {
    const { properties = {} } = (route.schema?.headers ?? {}) as { properties?: object }
    if ('if-match' in properties && !('if-none-match' in properties)) {
      route.preValidation = [refuseIfNoneMatch, route.preValidation ?? []].flat()
    }
  })

  // Requests are answered meanwhile: each compiles what it needs itself. A test compiles all
  // schemas, so none can fail here.
  fastify.addHook('onListen', (done) => {
    setTimeout(compileAll, COMPILE_MS).unref()
    done()
  })
}

/**
 * Refuses a condition of a change that takes only the other one. To ignore it would be to do what
 * its sender has ruled out (RFC 9110 section 13.1.2).
 */
async function refuseIfNoneMatch({ headers }: FastifyRequest): Promise<void> {
  if (headers['if-none-match'] !== undefined) {
    throw new Failure(
      'BAD_REQUEST',
      'headers/if-none-match is taken only by reads and by the POST that locks a field'
    )
  }
}

export default fp(validation, { name: 'validation', fastify: '5.x' })
