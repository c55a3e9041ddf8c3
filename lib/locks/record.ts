import { Failure, texts } from '../errors.ts'
import { REMOVE_AT } from '../table/definition.ts'
import { isNumber, numberOf } from '../table/exact-number.ts'
import {
  all,
  any,
  condition,
  expressionOf,
  expressionsByShape,
  isAbsent,
  namesOf,
  rule,
  valuesIn,
  type Condition,
  type ExpressionValues,
  type Rule
} from '../table/expression.ts'
import { FENCED_UNTIL } from '../table/fence.ts'
import {
  asStored,
  ITEM_LIMIT,
  itemOf,
  itemSize,
  toStored,
  type Item,
  type Key,
  type StoredItem
} from '../table/item.ts'
import type { Entity, Holder, LockRecord, LockRequest } from './schemas.ts'

/** Largest `userData`, in bytes of JSON: event streams and boards show it with every lock. */
export const USER_DATA_LIMIT = 8192

/**
 * What the table answers, as the record of a lock: its uid is text, which another program may have
 * stored as a number.
 * @throws {Failure} STORE_FAILED for what has no keys
 */
export function recordItem(attributes: Record<string, unknown>): Item {
  const item = itemOf(attributes)
  const { userData } = item as { userData?: Partial<Holder['userData']> | null }
  return isNumber(userData?.uid)
    ? { ...item, userData: { ...userData, uid: String(userData.uid) } }
    : item
}

/** The version of a record, where it has one as Quoin makes it. */
export function versionOf(record: Item | undefined): string | undefined {
  const version = record?.['version']
  return typeof version === 'string' ? version : undefined
}

/**
 * A record in the contract's words. A record of another program is shown as it is, whatever it
 * lacks.
 */
export function lockOf(record: Item): LockRecord {
  return record as LockRecord
}

/**
 * How many bytes of the largest item a lock's own members leave free: for the version, the expiry,
 * the fence and, larger than those, for what a draft of the lock adds (lib/locks/draft.ts). So a
 * draft fits whenever its lock did.
 */
export const MARGIN = 400

/** A lock as it is written, without what a lease adds. */
export interface NewRecord extends StoredItem {
  timestamp: number
}

/** The versions that an If-Match names; `*` is any. */
export type Versions = '*' | string[]

/** The table's partition key, `<environment>-<type>-<id>`. */
export function recordKey(environment: string, { type, id }: Entity): string {
  return `${environment}-${type}-${id}`
}

/**
 * The contract's part of the record that POST and PUT write: of the body only what the contract
 * names, the uid as a string.
 * @param seconds Unix time for a body without a timestamp
 * @throws {Failure} BAD_REQUEST for a value that cannot be stored, TOO_LARGE for `userData` beyond
 *   USER_DATA_LIMIT, and for a record beyond DynamoDB's limit
 */
export function recordOf(
  key: string,
  { fieldName, userData, payload, timestamp }: LockRequest,
  seconds: number
): NewRecord {
  const record: NewRecord = {
    env_entityType_entityId: key,
    fieldName,
    timestamp: timestamp ?? seconds,
    userData: toStored({ ...userData, uid: String(userData.uid) }, 'body/userData'),
    ...(payload !== undefined && { payload })
  }
  const bytes = Buffer.byteLength(JSON.stringify(userData))
  if (bytes > USER_DATA_LIMIT) {
    throw new Failure(
      'TOO_LARGE',
      `body/userData has ${bytes} bytes of JSON; at most ${USER_DATA_LIMIT} bytes are taken`
    )
  }
  const size = itemSize(record) + MARGIN
  if (size > ITEM_LIMIT) throw new Failure('TOO_LARGE', texts.lockTooLarge(size, ITEM_LIMIT))
  return record
}

/** A record as lists show it: without what writes leave for one another. */
export function toShow(record: Item): LockRecord {
  if (record['replaced'] === undefined && record[FENCED_UNTIL] === undefined) return lockOf(record)
  const { replaced, [FENCED_UNTIL]: fence, ...shown } = record
  return lockOf(shown)
}

/** Who holds a field, taken from its record; the payload stays behind. */
export function holderOf(record: Item): Holder {
  const { fieldName, timestamp, userData, expiresAt } = lockOf(record)
  return { fieldName, timestamp, userData, ...(expiresAt !== undefined && { expiresAt }) }
}

/** The uid of a record's owner. */
export function ownerOf({ userData }: Item | { userData?: unknown }): unknown {
  return (userData as Partial<Holder['userData']> | undefined)?.uid
}

/**
 * When locks are looked at, in Unix seconds. With leases a record without `expiresAt` is over if
 * its timestamp is no later than `foreign`.
 */
export interface Moment {
  now: number
  foreign?: number
}

/** Whether a record's lease is over. */
export function isExpired(
  { expiresAt, timestamp }: Item | { expiresAt?: unknown; timestamp?: unknown },
  { now, foreign }: Moment
): boolean {
  if (expiresAt !== undefined || foreign === undefined) return isUpTo(now, expiresAt)
  return isUpTo(foreign, timestamp)
}

function isUpTo(limit: number, time: unknown): boolean {
  return isNumber(time) && Number(time) <= limit
}

/** Whether a record was written after a version was made, as far as clocks agree. */
export function isLater(record: Item | undefined, version: string): boolean {
  const own = versionOf(record)
  return own !== undefined && own > version
}

/** Whether a record, or its absence, is in a state that an If-Match names. */
export function isAmong(versions: Versions, record: Item | undefined): boolean {
  return (
    record !== undefined &&
    !isTombstone(record) &&
    (versions === '*' || versions.some((version) => version === record['version']))
  )
}

const isTextless = rule('attribute_not_exists(#payload)')
const isOwn = rule('#userData.#uid = :uid')

/**
 * The same of a record that another program may have written, with the uid as a number. Writes go
 * without: they then look at the record.
 */
export const isOfUser = any(isOwn, rule('#userData.#uid = :uidNumber'))
const isOfOthers = all(rule('NOT #userData.#uid = :uid'), rule('NOT #userData.#uid = :uidNumber'))

/** The values of `isOfUser`. A uid that is no number is compared as text twice. */
export function uidValues(uid: string | undefined): ExpressionValues {
  return {
    ':uid': uid,
    ':uidNumber': uid !== undefined && WHOLE_NUMBER.test(uid) ? numberOf(uid) : uid
  }
}

/** A whole number as DynamoDB writes it, of 38 digits at most. */
const WHOLE_NUMBER = /^(?:0|-?[1-9]\d{0,37})$/
const isExpiredNow = rule('#expiresAt <= :now')
const isNotExpiredNow = rule('NOT #expiresAt <= :now')

/** A lock without `expiresAt` that is so old that it has expired. */
export const isForeignOver = all(
  rule('attribute_not_exists(#expiresAt)'),
  rule('#timestamp <= :foreign')
)

/**
 * What of a moment decides the text of a rule: whether a record without `expiresAt` is ever over.
 */
interface Leasing {
  hasForeign: boolean
}

/** The same rule as `isExpired`. */
const isOver = ({ hasForeign }: Leasing): Rule =>
  hasForeign ? any(isExpiredNow, isForeignOver) : isExpiredNow

const isNotOver = ({ hasForeign }: Leasing): Rule =>
  hasForeign
    ? all(
        isNotExpiredNow,
        any(rule('attribute_exists(#expiresAt)'), rule('NOT #timestamp <= :foreign'))
      )
    : isNotExpiredNow

/**
 * After so many seconds whoever wrote a record has had an answer, or has given up: three attempts
 * of 1.3 s and the pauses between them (lib/table/client.ts), and three seconds for clocks that
 * differ.
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
  /**
   * Versions up to this one are so old that whoever wrote them has had an answer, or has given up.
   */
  settled: string
  /**
   * Unix time until which the write keeps late attempts off: a record with a later one is left
   * alone.
   */
  fence: number
}

/** What of a write decides the text of its condition. Everything else is in the values. */
interface WriteShape extends Leasing {
  /** How many versions the record may be in; undefined for any, and for none. */
  versions: '*' | number | undefined
  /** Whether a user asks, whose own record counts as theirs. */
  hasUser: boolean
}

/**
 * The record is no later one than the write; there may be none. A request that went unanswered and
 * was repeated may still reach the store after others that were answered: those it must leave
 * alone.
 */
const isNotAfter = rule('NOT #version > :latest')

/** The write keeps off every attempt that may still come, so the record may go. */
const isUnfenced = rule('NOT #fencedUntil > :fence')

/** In a state that an If-Match names. */
function isVersion(versions: '*' | number): Rule {
  if (versions === '*') return all(rule('attribute_exists(#key)'), rule('NOT #expiresAt = :never'))
  return rule(
    `#version IN (${Array.from({ length: versions }, (_, index) => `:v${index}`).join(', ')})`
  )
}

const isReplaceable = ({ versions }: WriteShape): Rule =>
  all(...(versions ? [isVersion(versions)] : []), isNotAfter, isUnfenced)

/** The writer of the record has had an answer, so no retry of that write will arrive. */
const isSettled = rule('NOT #version > :settled')

/** As `isSettled`. An instance always knows that of its own writes. */
const isKnown = any(rule('contains(#version, :instance)'), isSettled)

/**
 * The user's own lock, of a writer who has finished for sure: for example because the request names
 * the lock's version.
 */
const isOwnKnown = ({ versions }: WriteShape): Rule =>
  versions === 1 ? isOwn : all(isOwn, isKnown)

const isRemovable = (shape: WriteShape): Rule => all(isReplaceable(shape), isKnown)

/**
 * The condition of a write, and of the user who asks, by a rule that depends on their shape alone.
 */
function conditionOf<Uid extends string | undefined = string>(
  ruleOf: (shape: WriteShape) => Rule
): (write: Write, uid: Uid) => Condition {
  const expression = expressionsByShape(ruleOf)
  return ({ version, ifMatch, moment: { now, foreign }, instance, settled, fence }, uid) => {
    const versions = Array.isArray(ifMatch) ? ifMatch : []
    const shape = {
      versions: ifMatch === '*' ? ifMatch : ifMatch?.length,
      hasForeign: foreign !== undefined,
      hasUser: uid !== undefined
    }
    return condition(expression(shape), {
      ':uid': uid,
      ':now': now,
      ':foreign': foreign,
      ':latest': version,
      ':instance': instance,
      ':settled': settled,
      ':fence': fence,
      ':never': NEVER,
      ...versionValues(versions)
    })
  }
}

/** The values of `isVersion`. */
function versionValues(versions: string[]): ExpressionValues {
  return Object.fromEntries(versions.map((version, index) => [`:v${index}`, version]))
}

/**
 * Condition of a put: there is no record, or an expired one without a text, which would be kept as
 * a draft first; with a uid also the user's own.
 */
export const isFree = conditionOf<string | undefined>((shape) => {
  const expired = all(isOver(shape), isTextless)
  const replaced = all(
    shape.hasUser ? any(isOwnKnown(shape), expired) : expired,
    isReplaceable(shape)
  )
  return shape.versions ? replaced : any(isAbsent, replaced)
})

/**
 * Condition of a put: there is no record, or the user's own, or one without a text that was not
 * written just now. The new record names the one that it replaces. By this a write whose answer was
 * lost learns that it was carried out.
 */
export const isWithoutTextOfOthers = conditionOf((shape) =>
  all(any(isOwnKnown(shape), all(isTextless, isSettled)), isReplaceable(shape))
)

/** Condition of a delete: no text is in the way; with a uid, of that user's record. */
export const isWithoutText = conditionOf<string | undefined>((shape) =>
  all(shape.hasUser ? all(isOwn, isTextless) : isTextless, isRemovable(shape))
)

/** Condition of a delete: the record is the user's own, and has not expired. */
export const isHeldBy = conditionOf((shape) => all(isOwn, isNotOver(shape), isRemovable(shape)))

/** Whose locks are no hindrance to a save. */
export interface LockOwner {
  /** Undefined: nobody's. */
  uid: string | undefined
  /** Only the locks of these versions; undefined: all locks of the user. */
  versions?: string[] | undefined
}

interface OwnerShape extends Leasing {
  hasUser: boolean
  versions: number | undefined
}

const isNoOthers = expressionsByShape(({ hasForeign, hasUser, versions }: OwnerShape) => {
  const isOwners = versions === undefined ? isOfUser : all(isOfUser, isVersion(versions))
  return any(isAbsent, isOver({ hasForeign }), ...(hasUser ? [isOwners] : []))
})

/** Condition of a check: nobody holds the field but its owner. */
export function isHeldByNoOther({ now, foreign }: Moment, { uid, versions }: LockOwner): Condition {
  const expression = isNoOthers({
    hasForeign: foreign !== undefined,
    hasUser: uid !== undefined,
    versions: uid === undefined ? undefined : versions?.length
  })
  return condition(expression, {
    ...uidValues(uid),
    ...versionValues(versions ?? []),
    ':now': now,
    ':foreign': foreign
  })
}

const isInVersion = expressionOf(all(rule('#version = :version'), isUnfenced))
const isOfText = expressionOf(
  all(rule('attribute_not_exists(#version)'), rule('#payload = :payload'))
)
const isWithoutEither = expressionOf(all(rule('attribute_not_exists(#version)'), isTextless))

/**
 * Condition of a put or delete: the record is as it was found. A record of another program has no
 * version, so its text is compared.
 */
export function isStill({ version, payload, fencedUntil }: Item): Condition {
  if (version !== undefined) {
    return condition(isInVersion, { ':version': asStored(version), ':fence': fencedUntil ?? 0 })
  }
  return payload === undefined
    ? condition(isWithoutEither)
    : condition(isOfText, { ':payload': asStored(payload) })
}

/** The expiry of a tombstone: so no reader sees it. */
const NEVER = 0

/**
 * The tombstone of a record, or of a draft, that an earlier attempt at writing might bring back. No
 * reader sees it, and it stops older writes. Time to live removes it.
 * @param until Unix time until which such an attempt may come
 * @param replaced the version of the released record
 */
export function tombstoneOf(
  key: Key,
  until: number,
  version: string,
  replaced?: unknown
): StoredItem {
  return {
    ...key,
    version,
    expiresAt: NEVER,
    [FENCED_UNTIL]: until,
    [REMOVE_AT]: until,
    ...(typeof replaced === 'string' && { replaced })
  }
}

export function isTombstone({ expiresAt, userData, payload }: Item): boolean {
  return expiresAt === NEVER && userData === undefined && payload === undefined
}

/**
 * Until when an earlier attempt at a record may still come, as the record says; 0 where it names no
 * time.
 */
export function fenceOf(record: Item | undefined): number {
  const until = record?.[FENCED_UNTIL]
  return typeof until === 'number' ? until : 0
}

/**
 * What is looked for of the locks that hold at `now`: `fieldName` for one field, `uid` for one
 * user's, `excludeUid` for all others'. With `signs` also the records of petitions, of who looks
 * on, and of open proposals.
 */
export interface RecordSelection {
  fieldName?: string | undefined
  uid?: string | undefined
  excludeUid?: string | undefined
  now: Moment
  payloads?: boolean
  signs?: boolean
}

const WITHOUT_PAYLOAD =
  '#key, #fieldName, #timestamp, #userData, #version, #expiresAt, #petitions, #lookers, #proposals'

/** What of a query decides the text of its filter. */
interface FilterShape extends Leasing {
  user: 'own' | 'others' | undefined
  signs: boolean
}

const filterOf = expressionsByShape(({ user, signs, ...leasing }: FilterShape) => {
  const locks = all(isNotOver(leasing), ...(user ? [user === 'own' ? isOfUser : isOfOthers] : []))
  return signs
    ? any(
        locks,
        rule('attribute_exists(#petitions)'),
        rule('attribute_exists(#lookers)'),
        rule('attribute_exists(#proposals)')
      )
    : locks
})

/** A consistent query for records of an entity. */
export function recordsOf(
  key: string,
  {
    fieldName,
    uid,
    excludeUid,
    now: { now, foreign },
    payloads = true,
    signs = false
  }: RecordSelection
) {
  const keys = fieldName === undefined ? '#key = :key' : '#key = :key AND #fieldName = :fieldName'
  const user = uid !== undefined ? 'own' : excludeUid !== undefined ? 'others' : undefined
  const filter = filterOf({ user, signs, hasForeign: foreign !== undefined })
  const projection = payloads ? '' : WITHOUT_PAYLOAD
  return {
    ConsistentRead: true,
    KeyConditionExpression: keys,
    FilterExpression: filter.text,
    ...(projection && { ProjectionExpression: projection }),
    ExpressionAttributeNames: namesOf(keys, filter.text, projection),
    ExpressionAttributeValues: {
      ...valuesIn(filter, { ':now': now, ':foreign': foreign, ...uidValues(uid ?? excludeUid) }),
      ':key': key,
      ...(fieldName !== undefined && { ':fieldName': fieldName })
    }
  }
}
