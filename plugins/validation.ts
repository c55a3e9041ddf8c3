import { Ajv, type AnySchema } from 'ajv'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'

/**
 * Validation that changes nothing in a body. Query strings and path parameters are text, so numbers in them are
 * coerced; a JSON body says its own types, so there `"title": 5` is an error and not `"5"`. Nothing is removed.
 */
async function validation (fastify: FastifyInstance) {
  const options = { removeAdditional: false, useDefaults: true, keywords: ['example'] }
  const strict = new Ajv(options)
  const coercing = new Ajv({ ...options, coerceTypes: true })
  fastify.setValidatorCompiler<AnySchema>(({ schema, httpPart }) => (httpPart === 'body' ? strict : coercing).compile(schema))
}

export default fp(validation, { name: 'validation', fastify: '5.x' })
