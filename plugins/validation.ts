import { Ajv, type AnySchema } from 'ajv'
import type { FastifyInstance, FastifySchemaCompiler } from 'fastify'
import fp from 'fastify-plugin'

/**
 * Validation that changes nothing in a body. Query strings and path parameters are text, so numbers in them are
 * coerced; a JSON body says its own types, so there `"title": 5` is an error and not `"5"`. Nothing is removed.
 */
async function validation (fastify: FastifyInstance) {
  const options = { removeAdditional: false, useDefaults: true, keywords: ['example'] }
  // Not setValidatorCompiler: a scope that adds schemas of its own would fall back to Fastify's default validation.
  fastify.setSchemaController({
    compilersFactory: {
      buildValidator (shared: Record<string, AnySchema>) {
        const strict = new Ajv(options)
        const coercing = new Ajv({ ...options, coerceTypes: true })
        for (const ajv of [strict, coercing]) ajv.addSchema(Object.values(shared))
        const compiler: FastifySchemaCompiler<AnySchema> = ({ schema, httpPart }) => (httpPart === 'body' ? strict : coercing).compile(schema)
        // The declared type is that of a compiler for Ajv's JSON Type Definition too, which nothing here uses.
        return compiler as never
      }
    }
  })
}

export default fp(validation, { name: 'validation', fastify: '5.x' })
