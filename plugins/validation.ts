import { Ajv, type AnySchema, type ValidateFunction } from 'ajv'
import type { FastifyInstance, FastifySchemaCompiler } from 'fastify'
import fp from 'fastify-plugin'
import { Failure } from '../lib/errors.ts'

/** An integer as one writes it: Ajv's own coercion takes " 5", "0x10" and "1e1" too, and "Infinity" for an integer. */
const INTEGER = /^(?:0|-?[1-9]\d{0,14})$/

/**
 * Validation that changes nothing in a body: a JSON body says its own types, so there `"title": 5` is an error and not
 * `"5"`. A query string is text, so integers in it are read. Nothing is removed. Nor from answers: their schemas
 * document them, but must neither drop nor refuse what the CMS or the store holds.
 */
async function validation (fastify: FastifyInstance) {
  // The schemas are part of the code, and a test holds them to OpenAPI; to check them at every start would take half of it.
  const options = { removeAdditional: false, useDefaults: true, verbose: true, keywords: ['example'], meta: false, validateSchema: false }
  // Not setValidatorCompiler: a scope that adds schemas of its own would fall back to Fastify's default validation.
  fastify.setSchemaController({
    compilersFactory: {
      buildValidator (shared: Record<string, AnySchema>) {
        const ajv = new Ajv(options).addSchema(Object.values(shared))
        const compiler: FastifySchemaCompiler<AnySchema> = ({ schema, httpPart }) => httpPart === 'querystring' ? readingIntegers(ajv.compile(schema)) : ajv.compile(schema)
        // The declared type is that of a compiler for Ajv's JSON Type Definition too, which nothing here uses.
        return compiler as never
      }
    }
  })

  fastify.setSerializerCompiler(() => JSON.stringify)

  fastify.addHook('onRequest', async ({ url }) => {
    try {
      decodeURIComponent(url.slice(url.indexOf('?') + 1))
    } catch {
      throw new Failure('BAD_REQUEST', 'The query string is not percent-encoded UTF-8')
    }
  })
}

/** Validates a query string after the values of its integer parameters were read; another value stays text, an error. */
function readingIntegers (validate: ValidateFunction): ValidateFunction {
  const { properties } = validate.schema as { properties: Record<string, { type?: string }> }
  const names = Object.keys(properties).filter((name) => properties[name]!.type === 'integer')
  function reading (query: Record<string, unknown>): boolean {
    for (const name of names) {
      const value = query[name]
      if (typeof value === 'string' && INTEGER.test(value)) query[name] = Number(value)
    }
    const valid = validate(query) as boolean
    reading.errors = validate.errors
    return valid
  }
  reading.errors = undefined as ValidateFunction['errors']
  return reading as ValidateFunction
}

export default fp(validation, { name: 'validation', fastify: '5.x' })
