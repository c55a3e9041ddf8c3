import { setImmediate as turn } from 'node:timers/promises'
import { Ajv, type AnySchema, type ErrorObject, type ValidateFunction } from 'ajv'
import type {
  FastifySchemaCompiler,
  FastifySchemaValidationError,
  FastifyServerOptions
} from 'fastify'

/**
 * An integer as one writes it: Ajv's own coercion takes " 5", "0x10" and "1e1" too, and "Infinity"
 * for an integer.
 */
const INTEGER = /^(?:0|-?[1-9]\d{0,14})$/

// The schemas are part of the code, and tests hold them to OpenAPI and to Ajv; here they are not
// checked again.
const options = {
  removeAdditional: false,
  useDefaults: true,
  verbose: true,
  keywords: ['example'],
  meta: false,
  validateSchema: false
}

/**
 * A part of a request that is an object, such as its query string, and what its schema says of it.
 */
type RequestPart = Record<string, unknown>
interface ObjectSchema {
  properties: Record<string, { type?: string }>
}

export interface Validation {
  /** Fastify's option of this name. */
  schemaController: NonNullable<FastifyServerOptions['schemaController']>
  /**
   * Compiles what no request has needed yet, one schema a turn of the event loop.
   * @throws {Error} Ajv's, of a schema that cannot be compiled
   */
  compileAll: () => Promise<void>
}

/**
 * Validation that changes nothing in a body: a JSON body says its own types, so there `"title": 5`
 * is an error and not `"5"`. A query string is text, so integers in it are read. Nothing is
 * removed. Nor from answers: their schemas document them, but must neither drop nor refuse what the
 * CMS or the store holds.
 *
 * Compiling every schema takes 105 ms of CPU, and all else of a start 350. So each is compiled when
 * a request comes that needs it, or by `compileAll`.
 */
export function createValidation(): Validation {
  const compilations: Array<() => unknown> = []

  function buildValidator(schemas: Record<string, AnySchema>) {
    const compileOnce = createCompiler(schemas)
    const compiler: FastifySchemaCompiler<AnySchema> = ({ schema, httpPart }) => {
      const integers = httpPart === 'querystring' ? integersIn(schema as ObjectSchema) : []
      let validator: ValidateFunction | undefined
      const compile = (): ValidateFunction => {
        validator ??= compileOnce(schema as object)
        return validator
      }
      function validate(value: unknown): boolean {
        if (integers.length > 0) readIntegers(integers, value as RequestPart)
        const check = validator ?? compile()
        const valid = check(value) as boolean
        validate.errors = check.errors as ErrorObject[] | null
        return valid
      }
      validate.errors = null as ErrorObject[] | null
      compilations.push(compile)
      return validate
    }
    // The declared type is that of a compiler for Ajv's JSON Type Definition too, which nothing
    // here uses.
    return compiler as never
  }

  return {
    schemaController: {
      compilersFactory: { buildValidator, buildSerializer: () => () => JSON.stringify }
    },
    async compileAll() {
      for (const compile of compilations.splice(0)) {
        await turn()
        compile()
      }
    }
  }
}

/**
 * The compiled validators, by the schema and the JSON of the schemas it may refer to. Scopes, and
 * applications in one process, mostly share them. A validator goes when no route has its schema any
 * more.
 */
const validators = new WeakMap<object, Map<string, ValidateFunction>>()

function createCompiler(schemas: Record<string, AnySchema>): (schema: object) => ValidateFunction {
  let ajv: Ajv | undefined
  let key: string | undefined
  return function compileOnce(schema) {
    key ??= JSON.stringify(schemas)
    const bySchemas = validators.get(schema) ?? new Map<string, ValidateFunction>()
    let validator = bySchemas.get(key)
    if (validator === undefined) {
      ajv ??= ajvWith(schemas)
      validator = ajv.compile(schema)
      bySchemas.set(key, validator)
      validators.set(schema, bySchemas)
    }
    return validator
  }
}

function ajvWith(shared: Record<string, AnySchema>): Ajv {
  return new Ajv(options).addSchema(Object.values(shared))
}

function integersIn({ properties }: ObjectSchema): string[] {
  return Object.keys(properties).filter((name) => properties[name]!.type === 'integer')
}

/** Puts integers in the place of texts that are ones; any other text stays one, an error. */
function readIntegers(names: string[], values: RequestPart): void {
  for (const name of names) {
    const value = values[name]
    if (typeof value === 'string' && INTEGER.test(value)) values[name] = Number(value)
  }
}

/** Says what is wrong with a request, from its schema and Ajv's errors. */
export function schemaErrorFormatter(
  errors: FastifySchemaValidationError[],
  dataVar: string
): Error {
  const [error] = errors
  const where = `${dataVar}${error!.instancePath}`
  const { allowedValues } = error!.params as { allowedValues?: unknown[] }
  if (allowedValues) {
    return new Error(
      `${where} must be ${allowedValues.map((value) => JSON.stringify(value)).join(' or ')}`
    )
  }
  // Of a union every branch has said what is wrong with the same place.
  const reasons = errors
    .filter(
      ({ instancePath, keyword }) => instancePath === error!.instancePath && keyword !== 'anyOf'
    )
    .map(reason)
  return new Error(`${where} ${reasons.join(' or ')}`)
}

/** Ajv's own words, and for a pattern what it stands for. */
function reason({
  keyword,
  message,
  parentSchema
}: FastifySchemaValidationError & { parentSchema?: { description?: string } }): string | undefined {
  return keyword === 'pattern' && parentSchema?.description
    ? `${message} (${parentSchema.description})`
    : message
}
