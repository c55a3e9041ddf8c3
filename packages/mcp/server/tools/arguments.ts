import { Kind, Type, TypeRegistry } from '@sinclair/typebox'
import { EditionParams, OFFSET_MAX } from '../../../../lib/editions/schemas.ts'

/** The kind of `oneOf`: TypeBox has none that is an `enum` of JSON Schema. */
const ONE_OF = 'OneOf'
TypeRegistry.Set<{ enum: string[] }>(ONE_OF, (schema, value) =>
  schema.enum.includes(value as string)
)

/** One of these texts. */
export function oneOf<const Text extends string>(texts: readonly Text[]) {
  return Type.Unsafe<Text>({ [Kind]: ONE_OF, type: 'string', enum: texts })
}

/** The kind of `textLike`. */
const TEXT_LIKE = 'TextLike'
const PATTERN = Symbol('pattern')
TypeRegistry.Set<{ [PATTERN]: RegExp }>(
  TEXT_LIKE,
  (schema, value) => typeof value === 'string' && schema[PATTERN].test(value)
)

/** The pattern of a `textLike`. */
export function patternOf(schema: object): string | undefined {
  return (schema as { [PATTERN]?: RegExp })[PATTERN]?.source
}

/**
 * A text that matches a pattern, which the list of tools does not show: that has to stay short, and
 * a description says more to a model.
 */
export function textLike(pattern: string, description?: string) {
  return Type.Unsafe<string>({
    [Kind]: TEXT_LIKE,
    [PATTERN]: new RegExp(pattern),
    type: 'string',
    ...(description !== undefined && { description })
  })
}

export const EditionId = textLike(EditionParams.properties.id.pattern!, 'Integer id or uuid')

export const ListName = Type.Optional(
  Type.String({
    maxLength: 64,
    description: 'Where there are several'
  })
)

/** What finds rows of a list. */
export const Search = {
  q: Type.Optional(Type.String({ maxLength: 255, description: 'A part of the title' })),
  published: Type.Optional(Type.Boolean()),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 50, description: '20 without it' })),
  offset: Type.Optional(Type.Integer({ minimum: 0, maximum: OFFSET_MAX }))
}

/** What reads on where an answer ended: `more` of the answer has it. */
export const Reading = {
  field: Type.Optional(
    Type.String({
      minLength: 1,
      description: 'One field, or a place in it that `more` names'
    })
  ),
  from: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: 'As `more` says'
    })
  )
}
