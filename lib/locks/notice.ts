import { Type, type Static } from '@sinclair/typebox'
import { viewOf, type Changes } from './feed-events.ts'
import { Entity, Holder, LockView } from './schemas.ts'

const Milliseconds = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })

/**
 * How many fields one notice names at most, so that it stays short even with long names. A release
 * of more fields only tells that something changed.
 */
const FIELDS = 10

/** Most characters of a user's data in one notice, as JSON. */
const USER_DATA = 8192

/**
 * What an instance tells the others of a write to an entity: what it has left in fields, never a
 * text. Without `isSure` there may be more, so that only a read can tell.
 */
export const LockNotice = Type.Object({
  type: Entity.properties.type,
  id: Entity.properties.id,
  /** When the write began and ended, in milliseconds of the table's clock. */
  began: Milliseconds,
  ended: Milliseconds,
  isSure: Type.Boolean(),
  fields: Type.Array(
    Type.Object({
      fieldName: Holder.properties.fieldName,
      lock: Type.Optional(
        Type.Object({
          ...Type.Omit(Holder, ['fieldName']).properties,
          version: Type.Required(LockView.properties.version)
        })
      )
    }),
    { maxItems: FIELDS }
  )
})
export type LockNotice = Static<typeof LockNotice>

/** What a write has left, as a notice. */
export function noticeOf(
  { type, id }: Entity,
  { began, ended, isSure }: Pick<LockNotice, 'began' | 'ended' | 'isSure'>,
  changes: Changes
): LockNotice {
  const fields = [...changes].map(([fieldName, lock]) => {
    if (!lock) return { fieldName }
    const { entityType, entityId, fieldName: name, version, ...rest } = lock
    return { fieldName, lock: { ...rest, version: version! } }
  })
  const isWhole = fields.length <= FIELDS
  return {
    type,
    id,
    began: Math.floor(began),
    ended: Math.floor(ended),
    isSure: isSure && isWhole,
    fields: isWhole ? fields : []
  }
}

/**
 * What a notice says of fields.
 * @throws {RangeError} where it says too much of a user
 */
export function changesIn({ type, id, fields }: LockNotice): Changes {
  return new Map(
    fields.map(({ fieldName, lock }) => {
      if (lock && JSON.stringify(lock.userData).length > USER_DATA) {
        throw new RangeError('more user data than a lock may have')
      }
      return [
        fieldName,
        lock && viewOf({ type, id }, { ...lock, fieldName, env_entityType_entityId: '' })
      ]
    })
  )
}

/** What an instance tells the others of a save, for those who watch the edition there. */
export const UpdateNotice = Type.Object({
  entityType: Entity.properties.type,
  entityId: Entity.properties.id,
  etag: Type.Union([Type.String({ maxLength: 256 }), Type.Null()]),
  uid: Type.Optional(Type.String({ maxLength: 256 })),
  name: Type.Optional(Type.String({ maxLength: 256 })),
  from: Type.Optional(Type.String({ maxLength: 256 })),
  operations: Type.Optional(Type.Array(Type.Object({}), { maxItems: 100 })),
  fields: Type.Array(Holder.properties.fieldName, { maxItems: 500 })
})
