import type { CallToolResult } from '@modelcontextprotocol/server'
import type { Failure } from '../../../lib/errors.ts'

/** An answer as the model is shown it: JSON, in which texts of people are values and nothing else. */
export function answered(answer: object): CallToolResult {
  return { content: [{ type: 'text', text: JSON.stringify(answer) }] }
}

/** A refusal as the model is shown it. */
export function refused({ code, message, details }: Failure): CallToolResult {
  return { ...answered({ error: { code, message, ...details } }), isError: true }
}
