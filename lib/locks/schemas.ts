import { Type, type Static } from '@sinclair/typebox'

/** Which entity: the path of every endpoint. No hyphen in the type, since the record's key joins both with one. */
export const Entity = Type.Object({
  type: Type.String({ pattern: '^[A-Za-z0-9_]{1,64}$', description: 'Entity type: 1 to 64 of A-Z a-z 0-9 _', examples: ['node'] }),
  id: Type.String({ pattern: '^[A-Za-z0-9_.:-]{1,128}$', description: 'Entity id: 1 to 128 of A-Z a-z 0-9 _ . : -', examples: ['4711'] })
})
export type Entity = Static<typeof Entity>

const FieldName = Type.String({ minLength: 1, maxLength: 255, description: 'The field that is locked', examples: ['field_headline'] })
const Uid = Type.String({ minLength: 1, description: "A user's id", examples: ['7'] })
const Seconds = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: 'Unix time in seconds', examples: [1767225600] })

/** What POST and PUT take. Other top-level members are ignored; all members of `userData` are kept. */
export const LockRequest = Type.Object({
  fieldName: FieldName,
  userData: Type.Object({
    uid: Type.Union([
      Type.String({ minLength: 1 }),
      Type.Integer({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER })
    ], { description: "The user's id; kept as a string" }),
    name: Type.Optional(Type.String({ description: 'Who the others are shown' }))
  }, { additionalProperties: true }),
  payload: Type.Optional(Type.String({ description: "The field's content, held with the lock" })),
  timestamp: Type.Optional({ ...Seconds, description: "Unix time in seconds; by default the server's clock" })
}, {
  additionalProperties: true,
  examples: [{ fieldName: 'field_headline', userData: { uid: '7', name: 'Ada' }, payload: 'Water found on Mars' }]
})
export type LockRequest = Static<typeof LockRequest>

export const ListQuery = Type.Object({
  fieldName: Type.Optional({ ...FieldName, description: 'Only the record of this field; excludeUid is then ignored' }),
  excludeUid: Type.Optional(Type.String({ description: 'Leave out the records of this user', examples: ['7'] }))
})
export type ListQuery = Static<typeof ListQuery>

export const ReleaseQuery = Type.Object({
  fieldName: Type.Optional({ ...FieldName, description: 'Only the record of this field' }),
  uid: Type.Optional({ ...Uid, description: 'Only records of this user; at least one of the two is needed' })
})
export type ReleaseQuery = Static<typeof ReleaseQuery>

/** Who holds a field and since when; never the payload. */
export const Holder = Type.Object({
  fieldName: FieldName,
  timestamp: Seconds,
  userData: Type.Object({ uid: Uid, name: Type.Optional(Type.String()) }, { additionalProperties: true })
}, { $id: 'Holder', examples: [{ fieldName: 'field_headline', timestamp: 1767225600, userData: { uid: '7', name: 'Ada' } }] })
export type Holder = Static<typeof Holder>

/** A lock as the table keeps it. */
export const LockRecord = Type.Object({
  env_entityType_entityId: Type.String({ description: '<environment>-<type>-<id>' }),
  ...Holder.properties,
  payload: Type.Optional(Type.String())
}, {
  $id: 'LockRecord',
  additionalProperties: true,
  examples: [{ env_entityType_entityId: 'production-node-4711', fieldName: 'field_headline', timestamp: 1767225600, userData: { uid: '7', name: 'Ada' }, payload: 'Water found on Mars' }]
})
export type LockRecord = Static<typeof LockRecord>

/** Every record found, in the form of the document client's query result. */
export const LockList = Type.Object({
  Items: Type.Array(Type.Ref('LockRecord'), { description: 'Ordered by fieldName' }),
  Count: Type.Integer({ description: 'How many are in Items' }),
  ScannedCount: Type.Integer({ description: 'How many there were before excludeUid left some out' })
}, { $id: 'LockList' })
export interface LockList { Items: LockRecord[], Count: number, ScannedCount: number }

export const Done = Type.Object({ success: Type.Literal(true) }, { $id: 'Done', examples: [{ success: true }] })

export const Listed = Type.Object({ success: Type.Literal(true), data: Type.Ref('LockList') }, {
  $id: 'Listed',
  examples: [{ success: true, data: { Items: LockRecord.examples, Count: 1, ScannedCount: 1 } }]
})

/** Every failure of the lock endpoints. */
export const LockFailure = Type.Object({
  success: Type.Literal(false),
  message: Type.String(),
  error: Type.Object({
    name: Type.String(),
    code: Type.String(),
    message: Type.String(),
    lock: Type.Optional(Type.Ref('Holder')),
    failed: Type.Optional(Type.Array(Type.String(), { description: 'Fields still locked after an incomplete DELETE' }))
  })
}, {
  $id: 'LockFailure',
  examples: [{ success: false, message: 'Error: Server error', error: { name: 'ServiceUnavailableError', code: 'STORE_UNAVAILABLE', message: 'The lock store cannot be reached or is too slow; try again' } }]
})
