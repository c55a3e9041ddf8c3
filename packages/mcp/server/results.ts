import type { CallToolResult } from '@modelcontextprotocol/server'
import { Failure } from '../../../lib/errors.ts'
import { ANSWER_MAX, sizeOf } from './answer-size.ts'
import { refusalOf } from './refusals.ts'

/**
 * An answer as the model is shown it: JSON, in which texts of people are values and nothing else.
 * @throws {Failure} TOO_LARGE: a tool cuts its answers before
 */
export function answered(answer: object): CallToolResult {
  if (sizeOf(answer) >= ANSWER_MAX) throw new Failure('TOO_LARGE', 'The answer is too large')
  return resultOf(answer)
}

/** A refusal as the model is shown it. */
export function refused(failure: Failure): CallToolResult {
  return { ...resultOf({ error: refusalOf(failure) }), isError: true }
}

function resultOf(answer: object): CallToolResult {
  return { content: [{ type: 'text', text: JSON.stringify(answer) }] }
}
