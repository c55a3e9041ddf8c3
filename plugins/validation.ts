import type { FastifyInstance, FastifySchema, FastifySchemaCompiler } from 'fastify'
import fp from 'fastify-plugin'
import { createValidation, schemaErrorFormatter } from '../config/validation.ts'
import { Failure } from '../lib/errors.ts'

/** How long after the start what no request has needed yet is compiled: the first to ask are the probes of a supervisor. */
const COMPILE_MS = 1000

/** Requests are held to the schemas of their routes, as config/validation.ts has it, and query strings to UTF-8. */
async function validation (fastify: FastifyInstance) {
  const { schemaController, compileAll } = createValidation()
  // Not setValidatorCompiler alone: a scope that adds schemas of its own would fall back to Fastify's default validation.
  fastify.setSchemaController(schemaController)
  // What a host has set stays in force for routes without shared schemas, and for what they answer.
  fastify.setValidatorCompiler(schemaController.compilersFactory!.buildValidator!({}, {}) as FastifySchemaCompiler<FastifySchema>)
  fastify.setSerializerCompiler(() => JSON.stringify)
  fastify.setReplySerializer((payload) => JSON.stringify(payload))
  fastify.setSchemaErrorFormatter(schemaErrorFormatter)

  // Requests are answered before and meanwhile, each after what it needs itself. A test compiles them all, so none can fail here.
  fastify.addHook('onListen', (done) => {
    setTimeout(compileAll, COMPILE_MS).unref()
    done()
  })

  fastify.addHook('onRequest', ({ url }, _reply, done) => {
    if (!isDecodable(url.slice(url.indexOf('?') + 1))) throw new Failure('BAD_REQUEST', 'The query string is not percent-encoded UTF-8')
    done()
  })
}

function isDecodable (text: string): boolean {
  try {
    return decodeURIComponent(text) !== undefined
  } catch {
    return false
  }
}

export default fp(validation, { name: 'validation', fastify: '5.x' })
