import { Failure } from '../errors.ts'
import { condition, namesOf, type Condition } from './expression.ts'
import { ITEM_LIMIT, itemSize, MARGIN, stored, type Stored } from './item.ts'
import type { Entity, Holder, LockRequest } from './schemas.ts'

/** A record as it was read: one of others may miss any member but its key. */
export type Found = Record<string, unknown>

/** The versions that an If-Match names; `*` is any. */
export type Versions = '*' | string[]

/** The table's partition key, `<environment>-<type>-<id>`. */
export function recordKey (environment: string, { type, id }: Entity): string {
  return `${environment}-${type}-${id}`
}

/**
 * The contract's part of the record that POST and PUT write: of the body only what the contract names, the uid as a
 * string.
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
  const size = itemSize(record) + MARGIN
  if (size > ITEM_LIMIT) throw new Failure('TOO_LARGE', `The lock would have ${size} bytes in the store; at most ${ITEM_LIMIT} bytes are taken`)
  return record
}

/** Who holds a field, taken from its record; the payload stays behind. */
export function holderOf ({ fieldName, timestamp, userData, expiresAt }: Found): Holder {
  return { fieldName, timestamp, userData, ...(expiresAt !== undefined && { expiresAt }) } as Holder
}

/** The uid of a record's owner. */
export function ownerOf (record: Found): string | undefined {
  return (record as Partial<Holder>).userData?.uid
}

/** Whether a record's lease is over at a Unix time. */
export function isExpired ({ expiresAt }: Found, seconds: number): boolean {
  return typeof expiresAt === 'number' && expiresAt <= seconds
}

/** Whether a record, or its absence, is in a state that an If-Match names. */
export function isAmong (versions: Versions, record: Found | undefined): boolean {
  return record !== undefined && (versions === '*' || versions.includes(record['version'] as string))
}

const OWNER = '#userData.#uid = :uid'
const EXPIRED = '#expiresAt <= :now'
const NO_TEXT = 'attribute_not_exists(#payload)'
/** An expired record with a text does not pass: that is kept as a draft before the record changes. */
const FREE = `attribute_not_exists(#key) OR (${EXPIRED} AND ${NO_TEXT})`

/** Condition of a put: there is no record, or an expired one without a text. */
export function isFree (seconds: number): Condition {
  return condition(FREE, { ':now': seconds })
}

/** Condition of a put: there is no record, or an expired one without a text, or it is the user's own. */
export function isFreeFor (uid: string, seconds: number): Condition {
  return condition(`${FREE} OR ${OWNER}`, { ':now': seconds, ':uid': uid })
}

/** Condition of a put or delete: no text of another user is in the way. */
export function isWithoutTextOfOthers (uid: string): Condition {
  return condition(`${NO_TEXT} OR ${OWNER}`, { ':uid': uid })
}

/** Condition of a delete: no text is in the way; with a uid, of that user's record. */
export function isWithoutText (uid?: string): Condition {
  return uid === undefined ? condition(NO_TEXT) : condition(`${OWNER} AND ${NO_TEXT}`, { ':uid': uid })
}

/** Condition of a delete: the record is the user's own, and no expired one with a text, which is a draft by now. */
export function isHeldBy (uid: string, seconds: number): Condition {
  return condition(`${OWNER} AND NOT (${EXPIRED} AND attribute_exists(#payload))`, { ':uid': uid, ':now': seconds })
}

/** Condition of a put or delete: the record is in a state that an If-Match names. */
export function isVersion (versions: Versions): Condition {
  if (versions === '*') return condition('attribute_exists(#key)')
  const values = Object.fromEntries(versions.map((version, index) => [`:version${index}`, version]))
  return condition(`#version IN (${Object.keys(values).join(', ')})`, values, namesOf('#version'))
}

/**
 * Condition of a put or delete: the record is no later one. A request that went unanswered and was repeated may still reach
 * the store after others that were answered: those it must leave alone.
 */
export function isNotAfter (version: string): Condition {
  return condition('attribute_not_exists(#version) OR #version <= :latest', { ':latest': version })
}

/** Condition of a put or delete: the record is as it was found. One without a version, of others, is known by its text. */
export function isStill ({ version, payload }: Found): Condition {
  if (version !== undefined) return condition('#version = :version', { ':version': version })
  if (payload === undefined) return condition('attribute_not_exists(#version) AND attribute_not_exists(#payload)')
  return condition('attribute_not_exists(#version) AND #payload = :payload', { ':payload': payload })
}

/** What is looked for of the locks that hold at `now`: `fieldName` for one field, `uid` for one user's, `excludeUid` for all others'. */
export interface Wanted { fieldName?: string | undefined, uid?: string | undefined, excludeUid?: string | undefined, now: number, payloads?: boolean }

const WITHOUT_PAYLOAD = '#key, #fieldName, #timestamp, #userData, #version, #expiresAt'

/** A consistent query for records of an entity. */
export function recordsOf (key: string, { fieldName, uid, excludeUid, now, payloads = true }: Wanted) {
  const user = uid ?? excludeUid
  const keys = fieldName === undefined ? '#key = :key' : '#key = :key AND #fieldName = :fieldName'
  const filters = [`NOT ${EXPIRED}`, ...(user === undefined ? [] : [uid === undefined ? `NOT ${OWNER}` : OWNER])]
  const projection = payloads ? '' : WITHOUT_PAYLOAD
  return {
    ConsistentRead: true,
    KeyConditionExpression: keys,
    FilterExpression: filters.join(' AND '),
    ...(projection && { ProjectionExpression: projection }),
    ExpressionAttributeNames: namesOf(keys, ...filters, projection),
    ExpressionAttributeValues: {
      ':key': key, ':now': now, ...(fieldName !== undefined && { ':fieldName': fieldName }), ...(user !== undefined && { ':uid': user })
    }
  }
}
