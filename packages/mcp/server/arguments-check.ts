import type { JsonSchemaType, jsonSchemaValidator } from '@modelcontextprotocol/server'
import type { TObject } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'

/** Checks the arguments of a tool, and says of each that is wrong what it is and what is taken. */
export const argumentsCheck: jsonSchemaValidator = {
  getValidator<T>(schema: JsonSchemaType) {
    const input = schema as unknown as TObject
    return (args: unknown) => {
      if (Value.Check(input, args)) {
        return { valid: true as const, data: args as T, errorMessage: undefined }
      }
      return { valid: false as const, data: undefined, errorMessage: problemsOf(input, args) }
    }
  }
}

/** At most this many are told. */
const PROBLEMS_MAX = 5

function problemsOf(input: TObject, args: unknown): string {
  const members = Object.keys(input.properties).join(', ')
  return [...Value.Errors(input, args)]
    .slice(0, PROBLEMS_MAX)
    .map(({ path, message }) =>
      message === 'Unexpected property'
        ? `${nameOf(path)} is unknown: there are ${members}`
        : `${nameOf(path)}: ${message}`
    )
    .join('; ')
}

/** The name of an argument, as JSON since it is the caller's. */
function nameOf(path: string): string {
  return path === '' ? 'arguments' : JSON.stringify(path.slice(1))
}
