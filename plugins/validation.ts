import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { schemaController } from '../config/validation.ts'
import { Failure } from '../lib/errors.ts'

/** Requests are held to the schemas of their routes, as config/validation.ts has it, and query strings to UTF-8. */
async function validation (fastify: FastifyInstance) {
  // Not setValidatorCompiler: a scope that adds schemas of its own would fall back to Fastify's default validation.
  fastify.setSchemaController(schemaController)

  fastify.addHook('onRequest', async ({ url }) => {
    try {
      decodeURIComponent(url.slice(url.indexOf('?') + 1))
    } catch {
      throw new Failure('BAD_REQUEST', 'The query string is not percent-encoded UTF-8')
    }
  })
}

export default fp(validation, { name: 'validation', fastify: '5.x' })
