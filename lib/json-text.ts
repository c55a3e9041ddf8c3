import { Type, type Static, type TSchema } from '@sinclair/typebox'

declare const value: unique symbol

/** JSON that is text already, of a value of this type. Such an answer is sent as it is. */
export type JsonText<T> = string & { readonly [value]: T }

/** The media type of JSON as text, which Fastify would take for plain text. */
export const JSON_TYPE = 'application/json; charset=utf-8'

export function jsonText<T> (value: T): JsonText<T> {
  return JSON.stringify(value) as JsonText<T>
}

/** A schema whose values a handler answers with as text. */
export function asText<T extends TSchema> (schema: T) {
  return Type.Unsafe<JsonText<Static<T>>>(schema)
}
