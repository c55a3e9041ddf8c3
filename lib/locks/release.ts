import { isAgent } from '../agents.ts'
import { Failure, texts } from '../errors.ts'
import { forEach } from '../for-each.ts'
import { createDeadline, type InTime } from '../table/bounds.ts'
import { isNothing } from '../table/expression.ts'
import { FENCE_SECONDS } from '../table/fence.ts'
import { keyName, type Item, type Key } from '../table/item.ts'
import { wasRefused } from '../table/table.ts'
import { admitRelease } from './agents.ts'
import { announceChanges, type FieldChanges } from './announce.ts'
import { hasReplaced, isOlder, isSameRecord } from './attempt.ts'
import { ATTEMPTS, pause, tooFast, unknownOutcome } from './contention.ts'
import { describeWrite, isUnsettled, momentNow, secondsNow, type LockContext } from './context.ts'
import type { Displacer } from './draft.ts'
import { dropDraft, keepDraft } from './drafts.ts'
import {
  changedOutcome,
  type ChangedOutcome,
  type HeldOutcome,
  type ReleasedOutcome
} from './outcome.ts'
import {
  fenceOf,
  holderOf,
  isAmong,
  isExpired,
  isHeldBy,
  isStill,
  isTombstone,
  isWithoutText,
  ownerOf,
  recordKey,
  recordsOf,
  tombstoneOf,
  type Versions
} from './record.ts'
import type { Entity, ReleaseQuery } from './schemas.ts'

type ReleaseOutcome = ReleasedOutcome | ChangedOutcome | HeldOutcome

const RELEASED: ReleasedOutcome = { outcome: 'released' }

export interface ReleaseOptions {
  /** With a field: only if the lock is in one of these versions; what is gone is released. */
  ifMatch?: Versions | undefined
  /** Who asks, if that is known: where it is not the `uid` of the query, the text is kept. */
  by?: Displacer
}

/** One field to be released: for whom, and on which conditions. */
interface FieldRelease {
  key: Key
  /** Whose lock it has to be. */
  uid: string | undefined
  ifMatch?: Versions | undefined
  by: Displacer
  inTime: InTime
  changes: FieldChanges
}

/**
 * Lets go of a field, whoever holds it; of a field if the user holds it; or of all the user's
 * fields of the entity. What is not there, or has become another's, is left alone, and so is an
 * expired lock with a text unless its version is named.
 * @throws {Failure} BAD_REQUEST without a field and a user; PRECONDITION_REQUIRED of an agent's
 * request: see admitRelease; with `details.failed`, the fields that
 * are still locked, when only some could be deleted in time
 */
export async function release(
  context: LockContext,
  entity: Entity,
  { fieldName, uid }: ReleaseQuery,
  { ifMatch, by }: ReleaseOptions = {}
): Promise<ReleaseOutcome> {
  if (isAgent(by?.uid ?? uid)) admitRelease(fieldName, ifMatch)
  await context.time.ready()
  return announceChanges(context, entity, async (changes) => {
    const key = recordKey(context.environment, entity)
    const inTime = createDeadline(context.time)
    const releaseOne = (fieldName: string) =>
      releaseField(context, {
        key: { env_entityType_entityId: key, fieldName },
        uid,
        ifMatch,
        by,
        inTime,
        changes
      })
    if (fieldName !== undefined) return releaseOne(fieldName)
    if (uid === undefined) throw new Failure('BAD_REQUEST', texts.fieldOrUser)
    if (ifMatch) {
      throw new Failure('BAD_REQUEST', 'If-Match needs fieldName: it is the version of one lock')
    }
    const fieldNames = await fieldsHeldBy(context, key, uid, inTime)
    await releaseEach(fieldNames, releaseOne)
    return RELEASED
  })
}

/** The fields of an entity that a user has locked. */
async function fieldsHeldBy(
  context: LockContext,
  key: string,
  uid: string,
  inTime: InTime
): Promise<string[]> {
  const query = {
    ...recordsOf(key, { uid, now: momentNow(context) }),
    ProjectionExpression: 'env_entityType_entityId, fieldName'
  }
  const { Items } = await context.table.query(query, { inTime })
  return Items.map(({ fieldName }) => fieldName)
}

/**
 * @throws {Failure} the first one, or that the store is unavailable, with the fields that are
 * still locked
 */
async function releaseEach(
  fieldNames: string[],
  releaseOne: (fieldName: string) => Promise<ReleaseOutcome>
): Promise<void> {
  const failures = new Map<string, Failure>()
  let unavailable: Failure | undefined
  await forEach(fieldNames, async (fieldName) => {
    // Once the store has stopped answering, the rest is not tried: each try would cost seconds.
    if (unavailable) {
      failures.set(fieldName, unavailable)
      return
    }
    await releaseOne(fieldName).catch((failure: Failure) => {
      failures.set(fieldName, failure)
      if (failure.code === 'STORE_UNAVAILABLE') unavailable = failure
    })
  })
  const failure = unavailable ?? failures.values().next().value
  if (!failure) return
  const { code, message, cause, headers } = failure
  throw new Failure(code, message, {
    cause,
    headers,
    details: { failed: fieldNames.filter((name) => failures.has(name)) }
  })
}

async function releaseField(context: LockContext, release: FieldRelease): Promise<ReleaseOutcome> {
  const quick = await removeQuickly(context, release)
  if ('outcome' in quick) return quick
  let { item } = quick
  for (let count = 1; count <= ATTEMPTS; count++) {
    release.inTime()
    const lock = item && !isTombstone(item) ? item : undefined
    const until = fenceFor(context, release.key, item)
    if (!lock && until <= Math.max(fenceOf(item), secondsNow(context))) return RELEASED
    const refusal = lock && refusalFor(context, release, lock)
    if (refusal) return refusal
    const outcome = await removeItem(context, release, item, until)
    if (outcome) return outcome
    await pause(context, count)
    item = await context.table.get(release.key)
  }
  throw tooFast()
}

/**
 * Removes the lock without a look at it, once, unless a late write of this instance may bring it
 * back.
 * @returns the outcome, or what is there now
 */
async function removeQuickly(
  context: LockContext,
  release: FieldRelease
): Promise<ReleasedOutcome | { item: Item | undefined }> {
  const { key, uid, ifMatch } = release
  const { table } = context
  if (context.unsettled.until(keyName(key)) > 0) return { item: await table.get(key) }
  const write = describeWrite(context, context.nextVersion(), ifMatch)
  const ownUid = ownUidOf(release)
  const condition = ownUid === undefined ? isWithoutText(write, uid) : isHeldBy(write, ownUid)
  const removal = await table.removeOnce(key, condition)
  if (removal.done) return succeed(release)
  const item = await removal.readItem()
  if (removal.unanswered && item && !isTombstone(item) && !isOlder(item, write)) {
    // The lock may have been released and taken again since.
    if (!ifMatch && isOthers(release, item)) return RELEASED
    throw unknownOutcome()
  }
  return { item }
}

/** The outcome of a lock that is left alone; undefined where it has to go. */
function refusalFor(
  context: LockContext,
  release: FieldRelease,
  lock: Item
): ReleaseOutcome | undefined {
  const { ifMatch } = release
  const moment = momentNow(context)
  const hasExpired = isExpired(lock, moment)
  if (ifMatch && !isAmong(ifMatch, lock)) return changedOutcome(lock, moment)
  if (isOthers(release, lock)) {
    return hasExpired ? RELEASED : { outcome: 'held', lock: holderOf(lock) }
  }
  const isExpiredText = hasExpired && lock['payload'] !== undefined
  return isExpiredText && !ifMatch && ownUidOf(release) !== undefined ? RELEASED : undefined
}

/**
 * Removes what is there, if it is still the same. Another user's text is kept as a draft first.
 * @param until Unix time up to which a tombstone has to keep late writes off
 * @returns nothing where something else is there now
 */
async function removeItem(
  context: LockContext,
  release: FieldRelease,
  item: Item | undefined,
  until: number
): Promise<ReleasedOutcome | undefined> {
  const { key, ifMatch } = release
  const { table } = context
  const version = item?.['version']
  const tombstone = tombstoneOf(key, until, context.nextVersion(version), version)
  const draft = item && (await keepTextOfOthers(context, release, item))
  const removal =
    until > secondsNow(context)
      ? table.put(tombstone, item ? isStill(item) : isNothing())
      : table.remove(key, isStill(item!))
  const result = await removal.catch(async (failure: Failure) => {
    if (draft && wasRefused(failure)) await dropDraft(context, draft).catch(() => {})
    throw failure
  })

  const next = result.done ? tombstone : await result.readItem()
  const isRemovedBefore = next === undefined || isSameRecord(next, tombstone)
  if (result.done || (result.repeated && isRemovedBefore)) {
    if (draft) context.counts.draft_kept++
    return { ...succeed(release), ...(draft && { draft }) }
  }
  if (result.repeated && item && !isSameRecord(next, item) && !hasReplaced(next, item)) {
    // The first attempt may have released the lock, and another has been taken since.
    if (hasReplaced(next, tombstone) || (!ifMatch && isOthers(release, next!))) return RELEASED
    throw unknownOutcome()
  }
  if (draft) await dropDraft(context, draft)
  return undefined
}

/** Keeps the text of a lock, unless it is the user's own or there is none. */
async function keepTextOfOthers(
  context: LockContext,
  release: FieldRelease,
  item: Item
): Promise<Item | undefined> {
  const isOwn = ownUidOf(release) !== undefined
  if (isOwn || item['payload'] === undefined) return undefined
  return keepDraft(context, item, release.by)
}

/**
 * Until when a late write may bring back the released lock, in Unix time. It may be one that the
 * record names, one of this instance, or one of another instance that still waits for an answer.
 */
function fenceFor(context: LockContext, key: Key, record: Item | undefined): number {
  return Math.max(
    fenceOf(record),
    context.unsettled.until(keyName(key)),
    isUnsettled(context, record?.['version']) ? secondsNow(context) + FENCE_SECONDS : 0
  )
}

/** The uid, where the lock has to be that of the user who asks. */
function ownUidOf({ uid, by }: FieldRelease): string | undefined {
  return by === undefined || by.uid === uid ? uid : undefined
}

function isOthers({ uid }: FieldRelease, record: Item): boolean {
  return uid !== undefined && ownerOf(record) !== uid
}

function succeed({ changes, key }: FieldRelease): ReleasedOutcome {
  changes.set(key.fieldName, undefined)
  return RELEASED
}
