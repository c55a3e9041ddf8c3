import { createHash } from 'node:crypto'
import {
  all,
  any,
  condition,
  expressionOf,
  namesOf,
  rule,
  valuesIn,
  type Condition
} from '../table/expression.ts'
import {
  asStored,
  ITEM_LIMIT,
  itemSize,
  keyOf,
  type Item,
  type Key,
  type StoredItem,
  type StoredValue
} from '../table/item.ts'
import {
  isForeignOver,
  isOfUser,
  lockOf,
  MARGIN,
  ownerOf,
  uidValues,
  type Moment
} from './record.ts'
import type { Draft, DraftsQuery } from './schemas.ts'

/** Who displaces a text; nobody is known where a field is released without a uid. */
export type Displacer = { uid: string; name?: string | undefined } | undefined

/**
 * How much of a draft its displacer may always take, in bytes: what MARGIN in lib/locks/record.ts
 * leaves.
 */
const DISPLACER_LIMIT = 128

/** How many drafts of one field and user are kept; the oldest go first. */
export const DRAFTS_MAX = 50

/** The longest version that becomes part of a key. Other programs may write longer ones. */
const LONGEST_VERSION = 256

const hash = (text: string) => createHash('sha256').update(text).digest('base64url')

/**
 * The partition key of an entity's drafts. No entity has it: `#` is in no type, no id and no
 * environment.
 */
function draftsKey(recordKey: string): string {
  return `${recordKey}#drafts`
}

/**
 * The draft that keeps a record's text. Its sort key is made of the field's hash, since a field's
 * name may fill the 1024 bytes of a sort key alone, of the owner's, by which the drafts of one user
 * are found, of the version, and of the attempt's own id: each attempt at displacing a text has a
 * draft of its own, and can remove it when it fails, whatever others do.
 * @param attempt the attempt's id, made as a version is
 * @param at milliseconds since 1970 at which it is displaced: by whole seconds alone, two texts of
 *   one field could not be told apart
 * @param removeAt Unix time from which it is not shown any more
 */
export function draftOf(
  { env_entityType_entityId: key, fieldName, timestamp, userData, payload, version }: Item,
  by: Displacer,
  attempt: string,
  at: number,
  removeAt: number
): StoredItem {
  const draft = {
    env_entityType_entityId: draftsKey(key),
    fieldName: `${attemptsAt(fieldName, ownerOf({ userData }), textId({ version, payload }))}${attempt}`,
    field: fieldName,
    ...(timestamp !== undefined && { timestamp: asStored(timestamp) }),
    ...(userData !== undefined && { userData: asStored(userData) }),
    payload: asStored(payload),
    ...(version !== undefined && { version: asStored(version) }),
    displacedAt: at / 1000,
    removeAt
  }
  return by === undefined
    ? draft
    : { ...draft, displacedBy: displacedBy(by, ITEM_LIMIT - MARGIN - itemSize(draft)) }
}

/**
 * @param room how many bytes the draft has left for it; where it takes more, the name goes first,
 *   then the end of the uid
 */
function displacedBy({ uid, name }: NonNullable<Displacer>, room: number): StoredValue {
  const bytes = Buffer.byteLength(uid + (name ?? ''))
  if (name !== undefined && bytes <= Math.max(DISPLACER_LIMIT, room)) {
    return new Map([
      ['uid', uid],
      ['name', name]
    ])
  }
  return new Map([
    ['uid', Buffer.byteLength(uid) <= Math.max(DISPLACER_LIMIT, room) ? uid : cut(uid)]
  ])
}

/** The beginning of a uid, in whole characters, and an ellipsis. */
function cut(uid: string): string {
  const ellipsis = '…'
  let start = ''
  for (const character of uid) {
    if (Buffer.byteLength(start + character + ellipsis) > DISPLACER_LIMIT) break
    start += character
  }
  return start + ellipsis
}

/**
 * How the sort keys of all drafts of one text of a field begin. They have half of the hash of its
 * owner's uid.
 */
function attemptsAt(field: string, uid: unknown, id: string): string {
  return `${hash(field)}#${hash(JSON.stringify(uid ?? null)).slice(0, 22)}.${id}##`
}

/** What tells the text of a record from any other that the field has had. */
function textId({ version, payload }: { version?: unknown; payload?: unknown }): string {
  return typeof version === 'string' && Buffer.byteLength(version) <= LONGEST_VERSION
    ? version
    : hash(JSON.stringify([version, payload]))
}

/**
 * The items of a draft, in the order in which to write them. A draft of another program's record
 * may not fit into one item. Then half of the text is in a second item, and the user has only uid
 * and name.
 */
export function itemsOf(draft: StoredItem): StoredItem[] {
  if (itemSize(draft) <= ITEM_LIMIT) return [draft]
  const { userData, payload, ...members } = draft
  const text = typeof payload === 'string' ? payload : JSON.stringify(plain(payload))
  const middle = text.length >> 1
  // A pair of surrogates stays together, since neither half is a character.
  const half = /[\uDC00-\uDFFF]/.test(text.charAt(middle)) ? middle + 1 : middle
  const first = {
    ...members,
    ...(userData !== undefined && { userData }),
    payload: text.slice(0, half),
    inTwo: true
  }
  const fits = itemSize(first) <= ITEM_LIMIT
  return [
    { ...restOf(keyOf(draft)), rest: text.slice(half), removeAt: draft['removeAt']! },
    fits ? first : { ...first, userData: shortUser(userData) }
  ]
}

/** The keys of the item that has the second half of a draft's text. */
export function restOf({ fieldName, ...key }: Key): Key {
  return { ...key, fieldName: `${fieldName}#rest` }
}

/** The uid and the name from a user's data, if they are not longer than a displacer's may be. */
function shortUser(userData: StoredValue | undefined): StoredValue {
  const member = (name: string) => (userData instanceof Map ? userData.get(name) : undefined)
  return new Map(
    ['uid', 'name']
      .map((name) => [name, member(name)] as const)
      .filter(
        (entry): entry is [string, string] =>
          typeof entry[1] === 'string' && Buffer.byteLength(entry[1]) <= DISPLACER_LIMIT
      )
  )
}

/** A stored value as plain JSON. */
function plain(value: StoredValue | undefined): unknown {
  if (Array.isArray(value)) return value.map(plain)
  if (value instanceof Map) {
    return Object.fromEntries([...value].map(([name, member]) => [name, plain(member)]))
  }
  if ((value as unknown) instanceof Set) {
    return [...(value as unknown as Set<StoredValue>)].map(plain)
  }
  return ArrayBuffer.isView(value)
    ? Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64')
    : value
}

/** A draft as it is shown. */
export function shownDraft({
  env_entityType_entityId: key,
  fieldName: sortKey,
  removeAt,
  field,
  displacedAt,
  fencedUntil,
  inTwo,
  ...members
}: Item): Draft {
  return {
    id: sortKey.replace(/^.*?#[\w-]{22}\./, '').replace(/##[\w-]{16}$/, ''),
    fieldName: field,
    ...members,
    displacedAt: Math.floor(Number(displacedAt))
  } as unknown as Draft
}

/**
 * A consistent query for the drafts of an entity: all, those of one field, of one user, or both;
 * none whose time is over.
 */
export function draftsOf(recordKey: string, { fieldName, uid }: DraftsQuery, now: number) {
  const keys =
    fieldName === undefined ? '#key = :key' : '#key = :key AND begins_with(#fieldName, :field)'
  const isShown = all(rule('#removeAt > :now'), rule('attribute_exists(#payload)'))
  const filter = expressionOf(uid === undefined ? isShown : all(isShown, isOfUser))
  return {
    ConsistentRead: true,
    KeyConditionExpression: keys,
    FilterExpression: filter.text,
    ExpressionAttributeNames: namesOf(keys, filter.text),
    ExpressionAttributeValues: {
      ...valuesIn(filter, { ':now': now, ...uidValues(uid) }),
      ':key': draftsKey(recordKey),
      ...(fieldName !== undefined && { ':field': `${hash(fieldName)}#` })
    }
  }
}

/** A consistent query for all drafts of the field and user of a draft, without their texts. */
export function siblingsOf({ env_entityType_entityId: key, fieldName }: Key) {
  const keys = '#key = :key AND begins_with(#fieldName, :owner)'
  const projection = '#key, #fieldName, #displacedAt'
  return {
    ConsistentRead: true,
    KeyConditionExpression: keys,
    ProjectionExpression: projection,
    ExpressionAttributeNames: namesOf(keys, projection),
    ExpressionAttributeValues: {
      ':key': key,
      ':owner': fieldName.slice(0, fieldName.indexOf('.') + 1)
    }
  }
}

const isOfMoment = expressionOf(rule('#displacedAt = :displacedAt'))

/** Condition of a delete: nobody has kept the draft again since. */
export function isDisplacedAt(displacedAt: number): Condition {
  return condition(isOfMoment, { ':displacedAt': displacedAt })
}

/**
 * A consistent query for the attempts at displacing a user's record in a version: its text was kept
 * first.
 */
export function attemptsOf(
  { env_entityType_entityId: key, fieldName }: Key,
  uid: string,
  version: string
) {
  const keys = '#key = :key AND begins_with(#fieldName, :attempts)'
  return {
    ConsistentRead: true,
    KeyConditionExpression: keys,
    ProjectionExpression: '#key, #fieldName',
    ExpressionAttributeNames: namesOf(keys),
    ExpressionAttributeValues: {
      ':key': draftsKey(key),
      ':attempts': attemptsAt(fieldName, uid, version)
    }
  }
}

/** The text of an expired lock as it is shown: displaced, by nobody, when its lease was over. */
export function shownExpired(record: Item, moment: Moment): Draft {
  const { fieldName, timestamp, userData, payload = '', version } = lockOf(record)
  return {
    id: textId({ version, payload }),
    fieldName,
    timestamp,
    userData,
    payload,
    ...(version !== undefined && { version }),
    displacedAt: expiryOf(record, moment)
  }
}

/** Since when an expired lock is over, in Unix seconds. */
export function expiryOf({ expiresAt, timestamp }: Item, { now, foreign = now }: Moment): number {
  return Number(expiresAt ?? Number(timestamp) + now - foreign)
}

/**
 * A consistent query for the expired locks of an entity that hold a text. What has no `expiresAt`
 * has no `removeAt` either, and stays.
 */
export function expiredOf(
  recordKey: string,
  { fieldName, uid }: DraftsQuery,
  { now, foreign }: Moment
) {
  const keys = fieldName === undefined ? '#key = :key' : '#key = :key AND #fieldName = :fieldName'
  const own = all(rule('#expiresAt <= :now'), rule('#removeAt > :now'))
  const isTheirs = uid === undefined ? [] : [isOfUser]
  const filter = expressionOf(
    all(
      foreign === undefined ? own : any(own, isForeignOver),
      rule('attribute_exists(#payload)'),
      ...isTheirs
    )
  )
  return {
    ConsistentRead: true,
    KeyConditionExpression: keys,
    FilterExpression: filter.text,
    ExpressionAttributeNames: namesOf(keys, filter.text),
    ExpressionAttributeValues: {
      ...valuesIn(filter, { ':now': now, ':foreign': foreign, ...uidValues(uid) }),
      ':key': recordKey,
      ...(fieldName !== undefined && { ':fieldName': fieldName })
    }
  }
}
