import { FENCED_UNTIL } from '../dynamodb/fence.ts'
import { REMOVE_AT } from '../dynamodb/table.ts'
import { Failure, texts } from '../errors.ts'
import { all, any, condition, namesOf, rule, type Condition, type Rule } from './expression.ts'
import { ITEM_LIMIT, itemSize, MARGIN, stored, type Stored } from './item.ts'
import type { Entity, Holder, LockRequest } from './schemas.ts'

/** Largest `userData`, in bytes of JSON: event streams and boards show it with every lock. */
export const USER_DATA_LIMIT = 8192

/** An item of the table as it was read: a record of others may miss any member but its keys. */
export type Item = Record<string, unknown>

/** The two keys of an item. */
export interface Key { env_entityType_entityId: string, fieldName: string }

/** The keys of a record that was read. */
export function keyOf ({ env_entityType_entityId: key, fieldName }: Item): Key {
  return { env_entityType_entityId: key as string, fieldName: fieldName as string }
}

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
 * @throws {Failure} BAD_REQUEST for a value that cannot be stored, TOO_LARGE for `userData` beyond USER_DATA_LIMIT, and for a record beyond DynamoDB's limit
 */
export function recordOf (key: string, { fieldName, userData, payload, timestamp }: LockRequest, seconds: number): Record<string, Stored> {
  const record: Record<string, Stored> = {
    env_entityType_entityId: key,
    fieldName,
    timestamp: timestamp ?? seconds,
    userData: stored({ ...userData, uid: String(userData.uid) }, 'body/userData'),
    ...(payload !== undefined && { payload })
  }
  const bytes = Buffer.byteLength(JSON.stringify(userData))
  if (bytes > USER_DATA_LIMIT) throw new Failure('TOO_LARGE', `body/userData has ${bytes} bytes of JSON; at most ${USER_DATA_LIMIT} bytes are taken`)
  const size = itemSize(record) + MARGIN
  if (size > ITEM_LIMIT) throw new Failure('TOO_LARGE', texts.lockTooLarge(size, ITEM_LIMIT))
  return record
}

/** A record as lists show it: without what writes leave for one another. */
export function toShow (record: Item): Item {
  if (record['replaced'] === undefined && record[FENCED_UNTIL] === undefined) return record
  const { replaced, [FENCED_UNTIL]: fence, ...shown } = record
  return shown
}

/** Who holds a field, taken from its record; the payload stays behind. */
export function holderOf ({ fieldName, timestamp, userData, expiresAt }: Item): Holder {
  return { fieldName, timestamp, userData, ...(expiresAt !== undefined && { expiresAt }) } as Holder
}

/** The uid of a record's owner. */
export function ownerOf (record: Item): string | undefined {
  return (record as Partial<Holder>).userData?.uid
}

/** When locks are looked at, in Unix seconds. With leases a record without `expiresAt` is over if its timestamp is no later than `foreign`. */
export interface Moment { now: number, foreign?: number }

/** Whether a record's lease is over. */
export function isExpired ({ expiresAt, timestamp }: Item, { now, foreign }: Moment): boolean {
  if (expiresAt !== undefined || foreign === undefined) return typeof expiresAt === 'number' && expiresAt <= now
  return typeof timestamp === 'number' && timestamp <= foreign
}

/** Whether a record was written after a version was made, as far as clocks agree. */
export function isLater (record: Item | undefined, version: string): boolean {
  return typeof record?.['version'] === 'string' && record['version'] > version
}

/** Whether a record, or its absence, is in a state that an If-Match names. */
export function isAmong (versions: Versions, record: Item | undefined): boolean {
  return record !== undefined && !isTombstone(record) && (versions === '*' || versions.includes(record['version'] as string))
}

const OWNER = '#userData.#uid = :uid'
const EXPIRED = '#expiresAt <= :now'

const isAbsent = rule('attribute_not_exists(#key)')
const isTextless = rule('attribute_not_exists(#payload)')
const isOwn = (uid: string) => rule(OWNER, { ':uid': uid })
const isExpiredNow = (now: number) => rule(EXPIRED, { ':now': now })
const isNotExpiredNow = (now: number) => rule(`NOT ${EXPIRED}`, { ':now': now })

/** Without `expiresAt`, and from so long ago that it is over. */
export const isForeignOver = (foreign: number) => all(rule('attribute_not_exists(#expiresAt)'), rule('#timestamp <= :foreign', { ':foreign': foreign }))

/** As `isExpired` has it. */
const isOver = ({ now, foreign }: Moment): Rule => foreign === undefined ? isExpiredNow(now) : any(isExpiredNow(now), isForeignOver(foreign))

const isNotOver = ({ now, foreign }: Moment): Rule => foreign === undefined
  ? isNotExpiredNow(now)
  : all(isNotExpiredNow(now), any(rule('attribute_exists(#expiresAt)'), rule('NOT #timestamp <= :foreign', { ':foreign': foreign })))

/**
 * After so many seconds whoever wrote a record has had an answer, or has given up: three attempts of 1.3 s and the pauses
 * between them (lib/dynamodb/client.ts), and three seconds for clocks that differ.
 */
export const SETTLED_SECONDS = 8

/** A put or a delete that a condition is for. */
export interface Write {
  version: string
  /** Replace only a record in one of these versions. */
  ifMatch?: Versions | undefined
  moment: Moment
  /** The instance that writes, as versions name it. */
  instance: string
  /** Versions up to this one are so old that whoever wrote them has had an answer, or has given up. */
  settled: string
  /** Unix time until which the write keeps late attempts off: a record with a later one is left alone. */
  fence: number
}

/**
 * The record is no later one than the write; there may be none. A request that went unanswered and was repeated may still
 * reach the store after others that were answered: those it must leave alone.
 */
const isNotAfter = (version: string) => rule('NOT #version > :latest', { ':latest': version })

/** No attempt may still come that the write would not keep off, so the record may go. */
const isUnfenced = (fence: number) => rule('NOT #fencedUntil > :fence', { ':fence': fence })

const isReplaceable = ({ version, ifMatch, fence }: Write): Rule => all(...ifMatch ? [isVersion(ifMatch)] : [], isNotAfter(version), isUnfenced(fence))

/** Whoever wrote the record has had an answer: he may not write it again. */
const isSettled = ({ settled }: Write): Rule => rule('NOT #version > :settled', { ':settled': settled })

/** As `isSettled`; of its own writes an instance knows that anyway. */
const isKnown = (write: Write): Rule => any(rule('contains(#version, :instance)', { ':instance': write.instance }), isSettled(write))

/** The user's own, and of a writer who is known to be done, be it because its version is named. */
const isOwnKnown = (write: Write, uid: string): Rule => Array.isArray(write.ifMatch) && write.ifMatch.length === 1 ? isOwn(uid) : all(isOwn(uid), isKnown(write))

const isRemovable = (write: Write): Rule => all(isReplaceable(write), isKnown(write))

/** Condition of a put: there is no record. */
export function isNothing (): Condition {
  return condition(isAbsent)
}

/** Condition of a put: there is no record, or an expired one without a text, which would be kept as a draft first; with a uid also the user's own. */
export function isFree (write: Write, uid?: string): Condition {
  const expired = all(isOver(write.moment), isTextless)
  const replaced = all(uid === undefined ? expired : any(isOwnKnown(write, uid), expired), isReplaceable(write))
  return condition(write.ifMatch ? replaced : any(isAbsent, replaced))
}

/**
 * Condition of a put: there is no record, or the user's own, or one without a text that was not written just now. What was
 * is replaced by a record that names it, so that a write whose answer was lost knows that it has been there.
 */
export function isWithoutTextOfOthers (write: Write, uid: string): Condition {
  return condition(all(any(isOwnKnown(write, uid), all(isTextless, isSettled(write))), isReplaceable(write)))
}

/** Condition of a delete: no text is in the way; with a uid, of that user's record. */
export function isWithoutText (write: Write, uid?: string): Condition {
  return condition(all(uid === undefined ? isTextless : all(isOwn(uid), isTextless), isRemovable(write)))
}

/** Condition of a delete: the record is the user's own, and has not expired. */
export function isHeldBy (write: Write, uid: string): Condition {
  return condition(all(isOwn(uid), isNotOver(write.moment), isRemovable(write)))
}

/** Condition of a check: nobody but the user holds the field; without a uid, nobody at all. */
export function isHeldByNoOther (moment: Moment, uid: string | undefined): Condition {
  return condition(any(isAbsent, isOver(moment), ...uid === undefined ? [] : [isOwn(uid)]))
}

/** In a state that an If-Match names. */
function isVersion (versions: Versions): Rule {
  if (versions === '*') return all(rule('attribute_exists(#key)'), rule('NOT #expiresAt = :never', { ':never': NEVER }))
  const values = Object.fromEntries(versions.map((version, index) => [`:v${index}`, version]))
  return rule(`#version IN (${Object.keys(values).join(', ')})`, values)
}

/** Condition of a put or delete: the record is as it was found. One without a version, of others, is known by its text. */
export function isStill ({ version, payload, fencedUntil }: Item): Condition {
  if (version !== undefined) return condition(all(rule('#version = :version', { ':version': version }), rule('NOT #fencedUntil > :fence', { ':fence': fencedUntil ?? 0 })))
  const unversioned = rule('attribute_not_exists(#version)')
  return condition(all(unversioned, payload === undefined ? isTextless : rule('#payload = :payload', { ':payload': payload })))
}

/** The expiry of a tombstone: so no reader sees it. */
const NEVER = 0

/**
 * What is left of a record, or of a draft, that an earlier attempt at writing it might bring back: no reader sees it, and
 * it refuses whatever is older. It goes by time to live.
 * @param until Unix time until which such an attempt may come
 * @param replaced the version of what was released
 */
export function tombstoneOf (key: Key, until: number, version: string, replaced?: unknown): Record<string, Stored> {
  return { ...key, version, expiresAt: NEVER, [FENCED_UNTIL]: until, [REMOVE_AT]: until, ...(typeof replaced === 'string' && { replaced }) }
}

export function isTombstone ({ expiresAt, userData, payload }: Item): boolean {
  return expiresAt === NEVER && userData === undefined && payload === undefined
}

/** Until when an earlier attempt at a record may still come, as the record says; 0 where it says nothing. */
export function fenceOf (record: Item | undefined): number {
  return Number(record?.[FENCED_UNTIL] ?? 0)
}

/** What is looked for of the locks that hold at `now`: `fieldName` for one field, `uid` for one user's, `excludeUid` for all others'. */
export interface Wanted { fieldName?: string | undefined, uid?: string | undefined, excludeUid?: string | undefined, now: Moment, payloads?: boolean }

const WITHOUT_PAYLOAD = '#key, #fieldName, #timestamp, #userData, #version, #expiresAt'

/** A consistent query for records of an entity. */
export function recordsOf (key: string, { fieldName, uid, excludeUid, now, payloads = true }: Wanted) {
  const user = uid ?? excludeUid
  const keys = fieldName === undefined ? '#key = :key' : '#key = :key AND #fieldName = :fieldName'
  const isTheirs = user === undefined ? [] : [rule(uid === undefined ? `NOT ${OWNER}` : OWNER, { ':uid': user })]
  const filter = condition(all(isNotOver(now), ...isTheirs))
  const projection = payloads ? '' : WITHOUT_PAYLOAD
  return {
    ConsistentRead: true,
    KeyConditionExpression: keys,
    FilterExpression: filter.ConditionExpression,
    ...(projection && { ProjectionExpression: projection }),
    ExpressionAttributeNames: namesOf(keys, filter.ConditionExpression, projection),
    ExpressionAttributeValues: {
      ...filter.ExpressionAttributeValues, ':key': key, ...(fieldName !== undefined && { ':fieldName': fieldName })
    }
  }
}
