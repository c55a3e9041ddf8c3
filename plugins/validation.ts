import type { FastifyInstance, FastifySchema, FastifySchemaCompiler } from 'fastify'
import fp from 'fastify-plugin'
import { createValidation, schemaErrorFormatter } from '../config/validation.ts'

/** How long after the start Quoin compiles the schemas that no request has needed yet. The first requests are the probes of a supervisor. */
const COMPILE_MS = 1000

/** Validates requests by the schemas of their routes, with config/validation.ts. */
async function validation (fastify: FastifyInstance) {
  const { schemaController, compileAll } = createValidation()
  // Not setValidatorCompiler alone: a scope that adds schemas of its own would fall back to Fastify's default validation.
  fastify.setSchemaController(schemaController)
  // What a host has set stays in force for routes without shared schemas, and for what they answer.
  fastify.setValidatorCompiler(schemaController.compilersFactory!.buildValidator!({}, {}) as FastifySchemaCompiler<FastifySchema>)
  fastify.setSerializerCompiler(() => JSON.stringify)
  fastify.setReplySerializer((payload) => JSON.stringify(payload))
  fastify.setSchemaErrorFormatter(schemaErrorFormatter)

  // Requests are answered meanwhile: each compiles what it needs itself. A test compiles all schemas, so none can fail here.
  fastify.addHook('onListen', (done) => {
    setTimeout(compileAll, COMPILE_MS).unref()
    done()
  })
}

export default fp(validation, { name: 'validation', fastify: '5.x' })
