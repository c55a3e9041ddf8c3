import { Kind, Type, TypeRegistry } from '@sinclair/typebox'
import { OFFSET_MAX } from '../../../../lib/editions/schemas.ts'

/** The kind of `oneOf`: TypeBox has none that is an `enum` of JSON Schema. */
const ONE_OF = 'OneOf'
TypeRegistry.Set<{ enum: string[] }>(ONE_OF, (schema, value) =>
  schema.enum.includes(value as string)
)

/** One of these texts. */
export function oneOf<const Text extends string>(texts: readonly Text[]) {
  return Type.Unsafe<Text>({ [Kind]: ONE_OF, type: 'string', enum: texts })
}

/** That of `EditionParams`, in fewer letters: the list of tools has to stay short. */
const pattern = String.raw`^([1-9]\d{0,18}|[\da-fA-F]{8}(-[\da-fA-F]{4}){3}-[\da-fA-F]{12})$`

export const EditionId = Type.String({
  pattern,
  description: 'Integer id or uuid'
})

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
