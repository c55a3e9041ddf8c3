import { Failure } from '../errors.ts'
import { ITEM_LIMIT, itemSize, stored, type Stored } from './item.ts'
import type { Entity, Holder, LockRequest } from './schemas.ts'

/** The table's partition key, `<environment>-<type>-<id>`. */
export function recordKey (environment: string, { type, id }: Entity): string {
  return `${environment}-${type}-${id}`
}

/**
 * The record that POST and PUT write: of the body only what the contract names, the uid as a string.
 * @param seconds Unix time for a body without a timestamp
 * @throws {Failure} BAD_REQUEST for a value that cannot be stored, TOO_LARGE for a record beyond DynamoDB's limit
 */
export function recordOf (key: string, { fieldName, userData, payload, timestamp }: LockRequest, seconds: number): Record<string, Stored> {
  const record: Record<string, Stored> = {
    env_entityType_entityId: key,
    fieldName,
    timestamp: timestamp ?? seconds,
    userData: stored({ ...userData, uid: String(userData.uid) }, 'body/userData'),
    ...(payload !== undefined && { payload })
  }
  const size = itemSize(record)
  if (size > ITEM_LIMIT) throw new Failure('TOO_LARGE', `The lock would have ${size} bytes in the store; at most ${ITEM_LIMIT} bytes are taken`)
  return record
}

/** Who holds a field, taken from its record; the payload stays behind. */
export function holderOf ({ fieldName, timestamp, userData }: Record<string, unknown>): Holder {
  return { fieldName, timestamp, userData } as Holder
}

const OWNER = '#userData.#uid = :uid'
const ownerNames = { '#userData': 'userData', '#uid': 'uid' }

/** Condition of a put: there is no record, or it is the user's own. */
export function isFreeFor (uid: string) {
  return {
    ConditionExpression: `attribute_not_exists(#key) OR ${OWNER}`,
    ExpressionAttributeNames: { '#key': 'env_entityType_entityId', ...ownerNames },
    ExpressionAttributeValues: { ':uid': uid }
  }
}

/** Condition of a delete: the record is the user's own. */
export function isOwnedBy (uid: string) {
  return { ConditionExpression: OWNER, ExpressionAttributeNames: ownerNames, ExpressionAttributeValues: { ':uid': uid } }
}

/** A consistent query for the records of an entity: all, that of one field, those of one user or those of all others. */
export function recordsOf (key: string, { fieldName, uid, excludeUid }: { fieldName?: string, uid?: string, excludeUid?: string } = {}) {
  const user = uid ?? excludeUid
  return {
    ConsistentRead: true,
    KeyConditionExpression: fieldName === undefined ? '#key = :key' : '#key = :key AND #field = :field',
    ...(user !== undefined && { FilterExpression: uid === undefined ? `NOT ${OWNER}` : OWNER }),
    ExpressionAttributeNames: { '#key': 'env_entityType_entityId', ...(fieldName !== undefined && { '#field': 'fieldName' }), ...(user !== undefined && ownerNames) },
    ExpressionAttributeValues: { ':key': key, ...(fieldName !== undefined && { ':field': fieldName }), ...(user !== undefined && { ':uid': user }) }
  }
}
