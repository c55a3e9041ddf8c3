import type { jsonSchemaValidator } from '@modelcontextprotocol/server'
import type { TObject } from '@sinclair/typebox'
import { Value, type ValueError } from '@sinclair/typebox/value'
import { shortened } from './answer-size.ts'
import { ToolRefusal } from './refusals.ts'
import { patternOf } from './tools/arguments.ts'

/** Lets all arguments pass: `checkArguments` refuses those that are wrong, in Quoin's form. */
export const uncheckedArguments: jsonSchemaValidator = {
  getValidator: () => (args: any) => ({ valid: true, data: args, errorMessage: undefined })
}

/** What is wrong with one argument. All of it are values: a name that is not known is the caller's. */
interface Problem {
  /** Where: `operations/0/op`. */
  argument: string
  problem: string
  /** What is allowed: the members that there are, or the values. */
  allowed?: unknown[]
}

/** At most so many problems are told. */
const PROBLEMS_MAX = 5

const WRONG = {
  message:
    'The arguments are not as they should be: problems says which, and what is allowed. Nothing was done.',
  next: 'Correct them and call again.'
}

/**
 * Checks the arguments of a tool.
 * @throws {ToolRefusal} BAD_REQUEST with `problems`: of each what it is, and what is allowed
 */
export function checkArguments(input: TObject, args: unknown): void {
  if (Value.Check(input, args)) return
  const problems = new Map<string, Problem>()
  for (const error of Value.Errors(input, args)) {
    if (problems.size >= PROBLEMS_MAX) break
    // The first error of an argument says most: the others follow from it.
    if (!problems.has(error.path)) problems.set(error.path, problemOf(error))
  }
  throw wrongArguments([...problems.values()])
}

/** A refusal of arguments that are wrong in a way that their schema cannot say. */
export function wrongArguments(problems: Problem[]): ToolRefusal {
  return new ToolRefusal('BAD_REQUEST', WRONG, { details: { problems } })
}

function problemOf({ path, message, schema, value }: ValueError): Problem {
  const argument = shortened(path.slice(1)) || 'arguments'
  if (message === 'Unexpected property') {
    return { argument, problem: 'unknown', allowed: Object.keys(schema['properties'] as object) }
  }
  if (value === undefined) return { argument, problem: 'missing' }
  const { enum: allowed } = schema as { enum?: unknown[] }
  if (allowed) return { argument, problem: 'Expected another value', allowed }
  const pattern = patternOf(schema)
  return { argument, problem: pattern ? `Expected a text like ${pattern}` : message }
}
