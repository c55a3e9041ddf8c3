import { Type, type Static, type TSchema } from '@sinclair/typebox'

declare const value: unique symbol

/** JSON that is text already, of a value of this type. Such an answer is sent as it is. */
export type JsonText<T> = string & { readonly [value]: T }

/** The media type of JSON as text, which Fastify would take for plain text. */
export const JSON_TYPE = 'application/json; charset=utf-8'

export function jsonText<T>(value: T): JsonText<T> {
  return JSON.stringify(value) as JsonText<T>
}

/** JSON of an object whose members are text already. */
export function jsonObject<T extends object>(members: {
  [Name in keyof T]: JsonText<T[Name]>
}): JsonText<T> {
  return `{${Object.entries(members)
    .map(([name, text]) => `${JSON.stringify(name)}:${text as string}`)
    .join(',')}}` as JsonText<T>
}

/** JSON of a list whose items are text already. */
export function jsonArray<T>(items: Array<JsonText<T>>): JsonText<T[]> {
  return `[${items.join(',')}]` as JsonText<T[]>
}

/** A schema whose values a handler answers with as text. */
export function asText<T extends TSchema>(schema: T) {
  return Type.Unsafe<JsonText<Static<T>>>(schema)
}

/**
 * JSON with the members of each object in one order. The engines of the lock store keep none, so
 * the same item may be read with another.
 */
export function sortedJson(value: unknown): string {
  return JSON.stringify(value, (_name, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member
  )
}
