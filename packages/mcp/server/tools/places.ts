import { Type } from '@sinclair/typebox'
import { Entity } from '../../../../lib/locks/schemas.ts'

/** A field as locks name it. */
export const FieldName = Type.String({ minLength: 1, maxLength: 255 })

/** What a field is of: its type is looked up by `entityOf`. */
export const EntityType = Type.String({
  pattern: Entity.properties.type.pattern!,
  description: "'edition', 'article', or the type that a lock names"
})
export const EntityId = Type.String({ pattern: Entity.properties.id.pattern! })

/** A field of an edition or of anything else that has locks. */
export const PLACE = { type: EntityType, id: EntityId, field: FieldName }

/** The version of a lock, by which a tool has answered. */
export const Version = Type.String({
  minLength: 1,
  maxLength: 100,
  description: 'The version that you were answered last for this lock'
})

/** One strong entity tag: `*` and lists would match what nobody has read. */
export const Tag = Type.String({
  pattern: '^"[!#-~]{1,200}"$',
  description: 'The tag that read_edition answered'
})
