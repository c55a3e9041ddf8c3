import { Type } from '@sinclair/typebox'

/** A field as locks name it. */
export const FieldName = Type.String({ minLength: 1, maxLength: 255 })

/**
 * What a field is of: its type is looked up by `entityOf`. The patterns are those of `Entity`, in
 * fewer letters.
 */
export const EntityType = Type.String({
  pattern: String.raw`^\w{1,64}$`,
  description: "'edition', 'article', or as a lock names it"
})
export const EntityId = Type.String({ pattern: String.raw`^[\w.:-]{1,128}$` })

/** A field of an edition or of anything else that has locks. */
export const PLACE = { type: EntityType, id: EntityId, field: FieldName }

/** The version of a lock, by which a tool has answered. */
export const Version = Type.String({
  minLength: 1,
  maxLength: 100,
  description: 'As answered last for this lock'
})

/** One strong entity tag: `*` and lists would match what nobody has read. */
export const Tag = Type.String({
  pattern: '^"[!#-~]{1,200}"$',
  description: 'From read_edition'
})
