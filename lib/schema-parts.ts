import { Type, type Static, type TSchema } from '@sinclair/typebox'

/**
 * Refers to a shared schema from another schema or an answer. The documentation shows its name,
 * types have its type.
 * @param options its description and other options at this place
 */
export function ref<T extends TSchema>(schema: T, options: object = {}) {
  return Type.Unsafe<Static<T>>({ ...options, $ref: `${schema.$id}#` })
}

/**
 * The schema of a failure. Its type is `never`: a failure is thrown, and no handler answers with
 * one.
 */
export function failureRef(schema: TSchema) {
  return Type.Unsafe<never>({ $ref: `${schema.$id}#` })
}

/**
 * An answer without a body. OpenAPI has no other word for it in a response schema than the type
 * null.
 */
export function noBody(description: string, headers: Record<string, object> = {}) {
  return Type.Unsafe<void>({ type: 'null', description, headers })
}

export const RETRY_AFTER = { type: 'integer', description: 'After how many seconds to try again' }

const OF_FAILURES: Record<number, Record<string, object>> = {
  401: { 'WWW-Authenticate': { type: 'string', description: 'How to say who calls' } },
  405: { Allow: { type: 'string', description: 'The methods that this path takes' } },
  415: {
    'Accept-Encoding': {
      type: 'string',
      enum: ['identity'],
      description: 'Only if the body came with another Content-Encoding'
    }
  },
  429: { 'Retry-After': RETRY_AFTER },
  503: { 'Retry-After': RETRY_AFTER }
}

/** The header fields of failures with a status. @param more those that only some operations have */
export function failureHeaders(
  status: number,
  more: Record<string, object> = {}
): Record<string, object> {
  return { ...OF_FAILURES[status], ...more }
}
