import { isAgent } from '../agents.ts'
import type { Failure } from '../errors.ts'
import { CALLER_GONE, type PendingAnswer } from '../http/calls.ts'
import { isNothing, type Condition } from '../table/expression.ts'
import { FENCE_SECONDS } from '../table/fence.ts'
import { keyName, keyOf, storedAgain, type Item, type Key } from '../table/item.ts'
import { UNANSWERED_MAX, wasRefused } from '../table/table.ts'
import { isSince } from '../table/version.ts'
import type { FieldChanges } from './announce.ts'
import { isSameRecord, outcomeOf, TRACED_MS, type WriteAttempt } from './attempt.ts'
import { ATTEMPTS, pause, tooFast, unknownOutcome } from './contention.ts'
import { describeWrite, isUnsettled, momentNow, secondsNow, type LockContext } from './context.ts'
import { dropDraft, hasDisplaced, keepDraft, keptUntil } from './drafts.ts'
import { viewOf } from './feed-events.ts'
import type { LockRefusal, TakeoverOutcome } from './outcome.ts'
import {
  fenceOf,
  holderOf,
  isExpired,
  isStill,
  isTombstone,
  ownerOf,
  recordKey,
  recordOf,
  SETTLED_SECONDS,
  tombstoneOf,
  versionOf,
  type NewRecord,
  type Versions,
  type Write
} from './record.ts'
import type { Entity, Holder, LockRequest } from './schemas.ts'

/** What a request to lock a field depends on. */
export interface WriteConditions {
  /** The versions of the lock that it may replace. */
  ifMatch?: Versions | undefined
  /** Tells whether its caller has hung up. Then it is not tried again. */
  answer?: Pick<PendingAnswer, 'destroyed'> | undefined
}

/**
 * What is to be done about the record in the way: refuse the request, try again, or displace the
 * record.
 */
export type Judgement = LockRefusal | 'again' | 'displace'

export interface WriteOptions extends WriteConditions {
  /** Gets the lock, once it is written. */
  changes: FieldChanges
  /** The condition of the first put, which is sent without a look at the present record. */
  quickCondition: (write: Write) => Condition
  /** Decides by the present record, where the first put did not succeed. */
  judge: (record: Item | undefined) => Judgement
}

/** A request to lock a field, and what its attempts have left so far. */
interface LockWrite extends WriteOptions {
  entity: Entity
  request: LockRequest
  key: Key
  uid: string
  /** The record to put, without a version: each attempt has its own. */
  record: NewRecord & { expiresAt?: number }
  /** The versions of all attempts. */
  versions: Set<string>
  /** The attempts that may still be carried out. */
  open: WriteAttempt[]
  /** The versions of the tombstones that keep such attempts off. */
  fences: Set<unknown>
  unansweredCount: number
  /** Until when an attempt may still create the lock, in Unix time. */
  fencedUntil: number
  /** Keeps the text of the record that is to be displaced. */
  draft: Item | undefined
  /** The lock of another user that the last attempt replaces. */
  displacedHolder: Holder | undefined
}

/** The lock, or the record in its way. */
type AttemptResult = TakeoverOutcome | { record: Item | undefined }

/**
 * Puts a record if the quick condition allows it. Otherwise `judge` decides by the present record:
 * refuse, try again, or displace it. The put under the quick condition is sent only once, since a
 * second put could bring back a lock that was released meanwhile.
 * @throws {Failure} BAD_REQUEST, TOO_LARGE: see recordOf; CALLER_GONE, STORE_UNAVAILABLE
 */
export async function writeLock(
  context: LockContext,
  entity: Entity,
  request: LockRequest,
  options: WriteOptions
): Promise<TakeoverOutcome | LockRefusal> {
  const record = newRecord(context, entity, request)
  const write: LockWrite = {
    ...options,
    entity,
    request,
    key: keyOf(record),
    uid: String(request.userData.uid),
    record,
    versions: new Set(),
    open: [],
    fences: new Set(),
    unansweredCount: 0,
    fencedUntil: 0,
    draft: undefined,
    displacedHolder: undefined
  }
  return context.unsettled.during(keyName(write.key), () =>
    writeQuickly(context, write).catch(async (error) => {
      // Nothing was displaced. Where the store does not take this either, the draft stays.
      await withdrawDraft(context, write).catch(() => {})
      throw error
    })
  )
}

/**
 * The record to be written. A lease is never shorter than its setting: its end is rounded up to a
 * whole second.
 */
function newRecord(
  context: LockContext,
  entity: Entity,
  request: LockRequest
): NewRecord & { expiresAt?: number } {
  const { environment, time } = context
  const leaseSeconds = isAgent(request.userData.uid)
    ? context.agentLeaseSeconds
    : context.leaseSeconds
  const record = recordOf(recordKey(environment, entity), request, secondsNow(context))
  if (leaseSeconds === 0) return record
  const expiresAt = Math.ceil(time.now() / 1000) + leaseSeconds
  return { ...record, expiresAt, removeAt: keptUntil(context, expiresAt) }
}

/** Tries the quick put. Where a record is in its way that may be replaced, waits for its turn. */
async function writeQuickly(
  context: LockContext,
  write: LockWrite
): Promise<TakeoverOutcome | LockRefusal> {
  const first = await attemptPut(context, write, undefined)
  if ('outcome' in first) return first
  const judgement = write.judge(first.record)
  if (typeof judgement === 'object') return refuse(context, write, judgement, first.record)
  return context.takeoverMutex.run(keyName(write.key), async (hasWaited) => {
    const present = hasWaited ? await lookAgain(context, write) : first
    return replacePresent(context, write, present)
  })
}

/**
 * Replaces the present record, if `judge` allows it. It may change each time before the put
 * arrives.
 */
async function replacePresent(
  context: LockContext,
  write: LockWrite,
  present: AttemptResult
): Promise<TakeoverOutcome | LockRefusal> {
  let result = present
  for (let count = 1; count <= ATTEMPTS && !('outcome' in result); count++) {
    const { record } = result
    const judgement = write.judge(record)
    if (typeof judgement === 'object') return refuse(context, write, judgement, record)
    if (judgement === 'displace') await keepText(context, write, record!)
    else await withdrawDraft(context, write)
    result = await attemptPut(context, write, record)
    if ('outcome' in result) return result
    await pause(context, count)
    // While an attempt may still create the lock, the request goes on for those who come after its
    // caller.
    if (write.open.length === 0 && write.answer?.destroyed) throw CALLER_GONE
    result = await lookAgain(context, write)
  }
  if ('outcome' in result) return result
  throw write.open.length > 0 ? unknownOutcome() : tooFast()
}

/**
 * Puts the record once, in a version of its own.
 * @param over the only record that it may replace; without it the quick condition decides
 */
async function attemptPut(
  context: LockContext,
  write: LockWrite,
  over: Item | undefined
): Promise<AttemptResult> {
  const { table } = context
  const version = context.nextVersion(over?.['version'])
  write.versions.add(version)
  write.displacedHolder = over && holderDisplacedBy(context, write, over)
  const replacedVersion = over ? over['version'] : onlyVersionOf(write.ifMatch)
  const fencedUntil = fenceOfPut(context, write, over, replacedVersion)
  const item = {
    ...write.record,
    version,
    ...(typeof replacedVersion === 'string' && { replaced: replacedVersion }),
    ...(fencedUntil > secondsNow(context) && { fencedUntil })
  }
  const condition = over
    ? isStill(over)
    : write.quickCondition(describeWrite(context, version, write.ifMatch, fencedUntil))

  const result = await table.putOnce(item, condition).catch((failure: Failure) => {
    if (!wasRefused(failure)) write.open.push({ version, over })
    throw failure
  })
  if (result.done) return lockedIn(context, write, version)
  if (!result.unanswered) return traceAttempts(context, write, await result.readItem())

  write.open.push({ version, over })
  write.unansweredCount++
  if (write.unansweredCount === UNANSWERED_MAX) throw result.unanswered
  if (!over) write.fencedUntil = secondsNow(context) + FENCE_SECONDS
  return lookAgain(context, write)
}

/** The holder of a record that is to be replaced, if it is another user's lock that holds. */
function holderDisplacedBy(
  context: LockContext,
  { uid }: LockWrite,
  record: Item
): Holder | undefined {
  if (isTombstone(record) || ownerOf(record) === uid) return undefined
  return isExpired(record, momentNow(context)) ? undefined : holderOf(record)
}

/** The version that an If-Match names, if it names only one. */
function onlyVersionOf(ifMatch: Versions | undefined): string | undefined {
  return Array.isArray(ifMatch) && ifMatch.length === 1 ? ifMatch[0] : undefined
}

/** Until when the record that is put has to keep late attempts off, in Unix time. */
function fenceOfPut(
  context: LockContext,
  { fencedUntil }: LockWrite,
  over: Item | undefined,
  replacedVersion: unknown
): number {
  const settledAt = isUnsettled(context, replacedVersion)
    ? secondsNow(context) + SETTLED_SECONDS
    : 0
  return Math.max(fencedUntil, fenceOf(over), settledAt)
}

/** Reads the present record, and what it says about the attempts without an answer. */
async function lookAgain(context: LockContext, write: LockWrite): Promise<AttemptResult> {
  return traceAttempts(context, write, await readPresent(context, write))
}

/**
 * The present record. Where an attempt may still create the lock and there is none, a tombstone
 * keeps it off first.
 */
async function readPresent(
  context: LockContext,
  { key, open, fences }: LockWrite
): Promise<Item | undefined> {
  const { table } = context
  if (open.every(({ over }) => over)) return table.get(key)
  const until = secondsNow(context) + FENCE_SECONDS
  const tombstone = tombstoneOf(key, until, context.nextVersion())
  fences.add(tombstone['version'])
  for (let count = 1; count <= ATTEMPTS; count++) {
    const result = await table.put(tombstone, isNothing())
    const present = result.done ? tombstone : await result.readItem()
    if (present) return present
    await pause(context, count)
  }
  throw tooFast()
}

/**
 * What the present record says about the attempts without an answer: the lock that one of them
 * was, or that none was carried out.
 */
async function traceAttempts(
  context: LockContext,
  write: LockWrite,
  record: Item | undefined
): Promise<AttemptResult> {
  const presentVersion = versionOf(record)
  if (presentVersion !== undefined && write.versions.has(presentVersion)) {
    return lockedIn(context, write, presentVersion)
  }
  const stillOpen: WriteAttempt[] = []
  for (const attempt of write.open) {
    const { version } = attempt
    const outcome = outcomeOf(attempt, record, write.fences)
    if (outcome === 'done') return acquisition(context, write, version)
    if (outcome === 'unclear') {
      const wasDisplaced = await hasDisplaced(context, write.key, write.uid, version)
      if (wasDisplaced) return acquisition(context, write, version)
      throw unknownOutcome()
    }
    if (!isSince(version, context.time.now() - TRACED_MS)) throw unknownOutcome()
    if (outcome === 'open') stillOpen.push(attempt)
  }
  write.open = stillOpen
  return { record }
}

/** The outcome of a lock that is there, in this version. */
function lockedIn(context: LockContext, write: LockWrite, version: string): TakeoverOutcome {
  const { entity, request, uid, record } = write
  const lock = { ...record, version, userData: { ...request.userData, uid } }
  write.changes.set(request.fieldName, viewOf(entity, lock))
  return acquisition(context, write, version)
}

/** The outcome of a lock that was written in this version; it may be gone since. */
function acquisition(
  { counts }: LockContext,
  { record, draft, displacedHolder }: LockWrite,
  version: string
): TakeoverOutcome {
  if (draft) counts.draft_kept++
  const { timestamp, expiresAt } = record
  return {
    outcome: 'acquired',
    version,
    timestamp,
    ...(expiresAt !== undefined && { expiresAt }),
    ...(displacedHolder && { displaced: displacedHolder })
  }
}

/** Keeps the text of the record that is to be displaced, if it has one and is not kept yet. */
async function keepText(context: LockContext, write: LockWrite, record: Item): Promise<void> {
  const { draft, request, uid } = write
  if (draft && typeof draft['version'] === 'string' && isSameRecord(record, draft)) return
  await withdrawDraft(context, write)
  if (record['payload'] === undefined) return
  write.draft = await keepDraft(context, record, { uid, name: request.userData.name })
}

/** Drops the draft of a record that was not displaced and will not be. */
async function withdrawDraft(context: LockContext, write: LockWrite): Promise<void> {
  const { draft } = write
  write.draft = undefined
  if (!draft) return
  const mayBeDisplaced = write.open.some(({ over }) => over && isSameRecord(over, draft))
  if (!mayBeDisplaced) await dropDraft(context, draft)
}

/**
 * Refuses the request. Where one of its attempts may still create the lock once the field is free,
 * the record in its way is marked first, so that its release leaves a tombstone. A record of others
 * cannot be written again as it was.
 */
async function refuse(
  context: LockContext,
  write: LockWrite,
  refusal: LockRefusal,
  inTheWay: Item | undefined
): Promise<TakeoverOutcome | LockRefusal> {
  await withdrawDraft(context, write)
  let record = inTheWay
  for (let count = 1; count <= ATTEMPTS; count++) {
    const mayCreate = write.open.some(({ over }) => !over)
    if (!mayCreate || !needsMark(write, record)) return refusal
    const mark = { ...storedAgain(record), ...write.key, fencedUntil: write.fencedUntil }
    const result = await context.table.put(mark, isStill(record))
    if (result.done) return refusal
    await pause(context, count)
    const present = await lookAgain(context, write)
    if ('outcome' in present) return present
    record = present.record
  }
  throw tooFast()
}

/** Whether the record is one of Quoin's whose release would leave no tombstone for long enough. */
function needsMark({ fencedUntil }: LockWrite, record: Item | undefined): record is Item {
  return versionOf(record) !== undefined && fenceOf(record) < fencedUntil
}
