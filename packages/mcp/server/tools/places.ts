import { Entity } from '../../../../lib/locks/schemas.ts'
import { textLike } from './arguments.ts'

/** A field as locks name it. */
export const FieldName = textLike(String.raw`^[\s\S]{1,255}$`)

/** What a field is of: its type is looked up by `entityOf`. */
export const EntityType = textLike(
  Entity.properties.type.pattern!,
  "'edition', 'article', or as a lock names it"
)
export const EntityId = textLike(Entity.properties.id.pattern!)

/** A field of an edition or of anything else that has locks. */
export const PLACE = { type: EntityType, id: EntityId, field: FieldName }

/** The version of a lock, by which a tool has answered. */
export const Version = textLike(String.raw`^[\s\S]{1,100}$`, 'As answered last for this lock')

/** One strong entity tag: `*` and lists would match what nobody has read. */
export const Tag = textLike('^"[!#-~]{1,200}"$', 'From read_edition')
