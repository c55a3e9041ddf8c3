import { Ajv, type AnySchema, type ErrorObject, type ValidateFunction } from 'ajv'
import type { FastifySchemaCompiler, FastifyServerOptions } from 'fastify'

/** An integer as one writes it: Ajv's own coercion takes " 5", "0x10" and "1e1" too, and "Infinity" for an integer. */
const INTEGER = /^(?:0|-?[1-9]\d{0,14})$/

// The schemas are part of the code, and tests hold them to OpenAPI and to Ajv; here they are not checked again.
const options = { removeAdditional: false, useDefaults: true, verbose: true, keywords: ['example'], meta: false, validateSchema: false }

/** An object of a request, be it its query string, and what its schema says of it. */
type Values = Record<string, unknown>
interface ObjectSchema { properties: Record<string, { type?: string }> }

/**
 * Validation that changes nothing in a body: a JSON body says its own types, so there `"title": 5` is an error and not
 * `"5"`. A query string is text, so integers in it are read. Nothing is removed. Nor from answers: their schemas
 * document them, but must neither drop nor refuse what the CMS or the store holds.
 *
 * A schema is compiled when the first request comes that needs it: all of them are a good part of a start.
 */
export const schemaController: NonNullable<FastifyServerOptions['schemaController']> = {
  compilersFactory: {
    buildValidator (shared: Record<string, AnySchema>) {
      let ajv: Ajv | undefined
      const compiler: FastifySchemaCompiler<AnySchema> = ({ schema, httpPart }) => {
        const integers = httpPart === 'querystring' ? integersIn(schema as ObjectSchema) : []
        let compiled: ValidateFunction | undefined
        function validate (value: unknown): boolean {
          ajv ??= new Ajv(options).addSchema(Object.values(shared))
          compiled ??= ajv.compile(schema)
          readIntegers(integers, value as Values)
          const valid = compiled(value) as boolean
          validate.errors = compiled.errors as ErrorObject[] | null
          return valid
        }
        validate.errors = null as ErrorObject[] | null
        return validate
      }
      // The declared type is that of a compiler for Ajv's JSON Type Definition too, which nothing here uses.
      return compiler as never
    },
    buildSerializer: () => () => JSON.stringify
  }
}

function integersIn ({ properties }: ObjectSchema): string[] {
  return Object.keys(properties).filter((name) => properties[name]!.type === 'integer')
}

/** Puts integers in the place of texts that are ones; any other text stays one, an error. */
function readIntegers (names: string[], values: Values): void {
  for (const name of names) {
    const value = values[name]
    if (typeof value === 'string' && INTEGER.test(value)) values[name] = Number(value)
  }
}
