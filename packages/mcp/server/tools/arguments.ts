import { Kind, Type, TypeRegistry } from '@sinclair/typebox'
import { EditionParams, OFFSET_MAX } from '../../../../lib/editions/schemas.ts'

/** The kind of `oneOf`: TypeBox has none that is an `enum` of JSON Schema. */
const ONE_OF = 'OneOf'
TypeRegistry.Set<{ enum: string[] }>(ONE_OF, (schema, value) =>
  schema.enum.includes(value as string)
)

/** One of these texts. */
export function oneOf<Text extends string>(texts: Text[], options: { description?: string } = {}) {
  return Type.Unsafe<Text>({ ...options, [Kind]: ONE_OF, type: 'string', enum: texts })
}

const pattern = EditionParams.properties.id.pattern!

export const EditionId = Type.String({
  pattern,
  description: "The edition's integer id or its uuid"
})

export const ArticleId = Type.String({
  pattern,
  description: "The article's integer id or its uuid"
})

export const ListName = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 64,
    description: 'A list of the content model, if there are several'
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
      maxLength: 1024,
      description: 'One field alone, or a place in it as `more` names it'
    })
  ),
  from: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'Where to read on, as `more` says'
    })
  )
}
