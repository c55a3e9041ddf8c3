import { randomBytes } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { FENCE_SECONDS } from '../table/fence.ts'
import { Failure, texts } from '../errors.ts'
import { CALLER_GONE, type PendingAnswer } from '../http/calls.ts'
import { createAnswerMemory, type AnswerMemory } from '../http/answer-memory.ts'
import { createKeyedMutex } from '../keyed-mutex.ts'
import { createDeadline, measured, type InTime } from './bounds.ts'
import {
  hasReplaced,
  isOlder,
  isSameRecord,
  outcomeOf,
  TRACED_MS,
  type WriteAttempt
} from './attempt.ts'
import type { Displacer } from './draft.ts'
import { createDrafts } from './drafts.ts'
import type { Condition } from './expression.ts'
import { viewOf, type LocksAndSigns } from './feed-events.ts'
import type { FeedOptions } from './feed-context.ts'
import { createFeed } from './feed.ts'
import { storedAgain } from './item.ts'
import type {
  AcquiredOutcome,
  ChangedOutcome,
  HeldOutcome,
  LockRefusal,
  ReleasedOutcome,
  TakeoverOutcome
} from './outcome.ts'
import { createPetitions, petitionsIn } from './petitions.ts'
import { createPresence, lookersIn } from './presence.ts'
import {
  fenceOf,
  holderOf,
  isAmong,
  isExpired,
  isFree,
  isHeldBy,
  isHeldByNoOther,
  isNothing,
  isStill,
  isTombstone,
  isWithoutText,
  isWithoutTextOfOthers,
  ownerOf,
  recordKey,
  recordOf,
  recordsOf,
  SETTLED_SECONDS,
  tombstoneOf,
  toShow,
  versionOf,
  type Item,
  type Key,
  type Moment,
  type NewRecord,
  type Versions,
  type Write
} from './record.ts'
import type {
  Entity,
  Holder,
  ListQuery,
  LockList,
  LockRequest,
  LockView,
  PresenceRequest,
  ReleaseQuery
} from './schemas.ts'
import { hasSigns } from './signs.ts'
import { createLockTable, forEach, wasRefused, UNANSWERED_MAX, type LockCheck } from './table.ts'
import { createUnsettled } from './unsettled.ts'
import {
  createVersions,
  instanceOf,
  isSince,
  newInstance,
  versionAt,
  type Bytes
} from './version.ts'

/** How often a write is tried. After the first try each one needs the lock unchanged since it was read, so of many writers one succeeds a round. */
const ATTEMPTS = 20

/** The longest pauses between two attempts, in milliseconds: the first, each next one twice as long, and the last. */
const FIRST_PAUSE_MS = 10
const LAST_PAUSE_MS = 500

/** How long a request may wait for others of this instance that take over the same field, in milliseconds. */
const TURN_MS = 5000

export interface LocksDeps {
  client: DynamoDBDocumentClient
  table: string
  /** First part of every record's key. */
  environment: string
  /** What there is for the large lists of all callers. */
  memory?: AnswerMemory
  /** How long a lock holds that is not renewed; 0: until it is released. */
  leaseSeconds?: number
  /** With leases: how long after its `timestamp` a record without `expiresAt` is free. */
  foreignSeconds?: number
  /** How long the text of a displaced lock is kept. */
  draftDays?: number
  /** How watchers are served. */
  feed?: FeedOptions
  /** The store's clock, in milliseconds since 1970. */
  now?: () => number
  /** Milliseconds that no setting of a clock changes, as `performance.now`. */
  monotonic?: () => number
  /** Resolves when `now` is right; undefined where it is already. */
  ready?: () => Promise<void> | undefined
  /** Called for every text of another user that was kept as a draft. */
  onKept?: () => void
  /** Notes takeovers, before they are answered. */
  takeovers?: TakeoverNotes | undefined
  /** Resolves after so many milliseconds. */
  wait?: (ms: number) => Promise<unknown>
  /** A number from 0 to 1. */
  random?: () => number
  /** Random bytes for versions. */
  bytes?: Bytes
}

/** What notes takeovers of locks that hold. */
export interface TakeoverNotes {
  /** Whether those on entities of a type are noted. One of a lock without a text then costs a write more. */
  concerns(type: string): boolean
  /** Notes one; it does not throw. */
  note(
    entity: Entity,
    takeover: { fieldName: string; from: LockRequest['userData']; by: LockRequest['userData'] }
  ): Promise<void>
}

/** An entity that is written to, and what the write has left in its fields. */
interface WriteTarget extends Entity {
  changes: Map<string, LockView | undefined>
}

export type Locks = ReturnType<typeof createLocks>

/** What a request to lock a field depends on. */
export interface WriteConditions {
  /** The versions of the lock that it may replace. */
  ifMatch?: Versions | undefined
  /** Tells whether its caller has hung up. Then it is not tried again. */
  answer?: Pick<PendingAnswer, 'destroyed'> | undefined
}

/**
 * The field locks of one environment, kept in a DynamoDB table. Every operation throws a Failure (STORE_UNAVAILABLE,
 * STORE_FAILED) when the store does not do its part.
 *
 * No text is lost to another user: before a record with a payload is taken from its owner, the payload is kept as a
 * draft, and the record then changes only if it is still the one that was kept.
 */
export function createLocks({
  client,
  table: name,
  environment,
  memory = createAnswerMemory(),
  leaseSeconds = 0,
  foreignSeconds = 86_400,
  draftDays = 30,
  feed: feedOptions = {},
  now = Date.now,
  monotonic = () => performance.now(),
  ready = () => undefined,
  onKept,
  takeovers: notes,
  wait = setTimeout,
  random = Math.random,
  bytes = randomBytes
}: LocksDeps) {
  const seconds = () => Math.floor(now() / 1000)
  const moment = (): Moment => ({
    now: seconds(),
    ...(leaseSeconds > 0 && { foreign: seconds() - foreignSeconds })
  })
  const table = createLockTable({ client, table: name, wait, random })
  const instance = newInstance(bytes)
  const nextVersion = createVersions(now, instance, bytes)
  const drafts = createDrafts({
    table,
    environment,
    memory,
    draftDays,
    now,
    moment,
    monotonic,
    nextVersion,
    wait,
    random
  })
  const signsDeps = { table, environment, moment, nextVersion, wait, random }
  const petitions = createPetitions(signsDeps)
  const presence = createPresence(signsDeps)
  const takeovers = createKeyedMutex({ waitMs: TURN_MS, refusal: tooFast })
  const openWrites = createUnsettled(seconds, FENCE_SECONDS)
  const feed = createFeed({
    ...feedOptions,
    now,
    isOver: (lock) => isExpired(lock, moment()),
    read: timely(readForFeed)
  })

  /** The record to be written. A lease is never shorter than its setting: its end is rounded up to a whole second. */
  function newRecord(
    entity: Entity,
    request: LockRequest
  ): NewRecord & { version: string; expiresAt?: number } {
    const record = {
      ...recordOf(recordKey(environment, entity), request, seconds()),
      version: nextVersion()
    }
    if (leaseSeconds === 0) return record
    const expiresAt = Math.ceil(now() / 1000) + leaseSeconds
    return { ...record, expiresAt, removeAt: drafts.keptUntil(expiresAt) }
  }

  /**
   * Locks a field for a user, or renews the user's own lock: one conditional put, so that of many who try at once exactly one
   * succeeds. It takes more requests to replace another user's expired lock with a text, or a lock that a clock ahead of this
   * one has written.
   * @param alone refuse the user's own lock too: it is another tab's
   * @param conditions `ifMatch`: only if the lock is in one of these versions
   * @throws {Failure} BAD_REQUEST, TOO_LARGE: see recordOf; CALLER_GONE
   */
  async function acquire(
    place: WriteTarget,
    request: LockRequest,
    { alone = false, ...conditions }: WriteConditions & { alone?: boolean } = {}
  ): Promise<AcquiredOutcome | HeldOutcome | ChangedOutcome> {
    const uid = String(request.userData.uid)
    const { ifMatch } = conditions
    const quick = (write: Write) => isFree(write, alone ? undefined : uid)
    return write(place, request, conditions, quick, (record) => {
      const hasExpired = record && isExpired(record, moment())
      if (record && !hasExpired && ownerOf(record) !== uid) {
        return { outcome: 'held', lock: holderOf(record) }
      }
      if (ifMatch && !isAmong(ifMatch, record)) return changedOutcome(record)
      if (hasExpired && (alone || ownerOf(record) !== uid)) return 'displace'
      return record && alone ? changedOutcome(record) : 'again'
    })
  }

  /**
   * Locks a field for a user, whoever holds it.
   * @param conditions `ifMatch`: only if the lock is in one of these versions, expired or not
   * @throws {Failure} BAD_REQUEST, TOO_LARGE: see recordOf; CALLER_GONE
   */
  async function overwrite(
    place: WriteTarget,
    request: LockRequest,
    conditions: WriteConditions = {}
  ): Promise<AcquiredOutcome | ChangedOutcome> {
    const uid = String(request.userData.uid)
    const { ifMatch } = conditions
    // Only a record that fails the condition shows whose lock it was.
    const isNoted = notes?.concerns(place.type) === true
    const isQuick = isNoted ? isFree : isWithoutTextOfOthers
    const result = (await write(
      place,
      request,
      conditions,
      (write) => isQuick(write, uid),
      (record) => {
        if (ifMatch && !isAmong(ifMatch, record)) return changedOutcome(record)
        return record && ownerOf(record) !== uid ? 'displace' : 'again'
      }
    )) as TakeoverOutcome | ChangedOutcome
    if (result.outcome === 'changed') return result
    const { displaced, ...acquired } = result
    if (displaced && isNoted) {
      await notes!.note(place, {
        fieldName: request.fieldName,
        from: displaced.userData,
        by: request.userData
      })
    }
    return acquired
  }

  /**
   * Puts a record if `quick` allows it. Otherwise `judge` decides by the present record: refuse, try again, or displace it.
   * The put under `quick` is sent only once, since a second put could bring back a lock that was released meanwhile.
   */
  async function write(
    place: WriteTarget,
    request: LockRequest,
    { ifMatch, answer }: WriteConditions,
    quick: (write: Write) => Condition,
    judge: (record: Item | undefined) => LockRefusal | 'again' | 'displace'
  ): Promise<TakeoverOutcome | LockRefusal> {
    const {
      userData: { uid, name },
      fieldName
    } = request
    let { version, ...record } = newRecord(place, request)
    const key = { env_entityType_entityId: recordKey(environment, place), fieldName }
    const versions = new Set<string>()
    const namedVersion = Array.isArray(ifMatch) && ifMatch.length === 1 ? ifMatch[0] : undefined
    /** The attempts that may still be carried out, and the tombstones that keep them off. */
    let open: WriteAttempt[] = []
    const fences = new Set<unknown>()
    let failureCount = 0
    /** Until when an attempt of this request may still create the lock. */
    let fencedUntil = 0
    let draft: Item | undefined
    /** The lock of another user that the last attempt replaces. */
    let displacedHolder: Holder | undefined

    function acquisition(version: string): TakeoverOutcome {
      if (draft) onKept?.()
      const { timestamp, expiresAt } = record
      return {
        outcome: 'acquired',
        version,
        timestamp,
        ...(expiresAt !== undefined && { expiresAt }),
        ...(displacedHolder && { displaced: displacedHolder })
      }
    }

    /** The lock is there, in this version. */
    function lockedIn(version: string): AcquiredOutcome {
      place.changes.set(
        fieldName,
        viewOf(place, { ...record, version, userData: { ...request.userData, uid: String(uid) } })
      )
      return acquisition(version)
    }

    /** @returns the lock, or the record in its way */
    async function attempt(
      over: Item | undefined
    ): Promise<AcquiredOutcome | { record: Item | undefined }> {
      versions.add(version)
      displacedHolder =
        over && !isTombstone(over) && ownerOf(over) !== String(uid) && !isExpired(over, moment())
          ? holderOf(over)
          : undefined
      const replacedVersion = over ? over['version'] : namedVersion
      const until = Math.max(
        fencedUntil,
        fenceOf(over),
        isUnsettled(replacedVersion) ? seconds() + SETTLED_SECONDS : 0
      )
      const item = {
        ...record,
        version,
        ...(typeof replacedVersion === 'string' && { replaced: replacedVersion }),
        ...(until > seconds() && { fencedUntil: until })
      }
      const result = await table
        .putOnce(item, over ? isStill(over) : quick(describe(version, ifMatch, until)))
        .catch((failure: Failure) => {
          if (!wasRefused(failure)) open.push({ version, over })
          throw failure
        })
      if (result.done) return lockedIn(version)
      if (!result.unanswered) return look(await result.readItem())
      open.push({ version, over })
      if (++failureCount === UNANSWERED_MAX) throw result.unanswered
      if (!over) fencedUntil = seconds() + FENCE_SECONDS
      return look(await readPresent())
    }

    /** The present record. Where an attempt may still create the lock and there is none, a tombstone keeps it off first. */
    async function readPresent(): Promise<Item | undefined> {
      if (open.every(({ over }) => over)) return table.get(key)
      const tombstone = tombstoneOf(key, seconds() + FENCE_SECONDS, nextVersion())
      fences.add(tombstone['version'])
      for (let count = 1; count <= ATTEMPTS; count++) {
        const written = await table.put(tombstone, isNothing())
        const found = written.done ? tombstone : await written.readItem()
        if (found) return found
        await pause(count)
      }
      throw tooFast()
    }

    /** What the present record says about the attempts without an answer: the lock that one of them was, or that none was carried out. */
    async function look(
      record: Item | undefined
    ): Promise<AcquiredOutcome | { record: Item | undefined }> {
      const own = versionOf(record)
      if (own !== undefined && versions.has(own)) return lockedIn(own)
      const stillOpen: WriteAttempt[] = []
      for (const openAttempt of open) {
        const outcome = outcomeOf(openAttempt, record, fences)
        if (
          outcome === 'done' ||
          (outcome === 'unclear' &&
            (await drafts.hasDisplaced(key, String(uid), openAttempt.version)))
        ) {
          return acquisition(openAttempt.version)
        }
        if (outcome === 'unclear' || !isSince(openAttempt.version, now() - TRACED_MS)) {
          throw unknownOutcome()
        }
        if (outcome === 'open') stillOpen.push(openAttempt)
      }
      open = stillOpen
      return { record }
    }

    /** Keeps the text of the record that is to be displaced, if it has one and is not kept yet. */
    async function prepare(record: Item): Promise<void> {
      if (draft && typeof draft['version'] === 'string' && isSameRecord(record, draft)) return
      await withdraw()
      if (record['payload'] !== undefined) {
        draft = await drafts.keep(record, { uid: String(uid), name })
      }
    }

    /** Drops the draft of a record that was not displaced and will not be. */
    async function withdraw(): Promise<void> {
      const last = draft
      draft = undefined
      if (last && !open.some(({ over }) => over && isSameRecord(over, last))) {
        await drafts.drop(last)
      }
    }

    /**
     * Refuses the request. Where one of its attempts may still create the lock once the field is free, the record in its
     * way is marked first, so that its release leaves a tombstone. A record of others cannot be written again as it was.
     */
    async function refuse(
      refusal: LockRefusal,
      record: Item | undefined
    ): Promise<AcquiredOutcome | LockRefusal> {
      await withdraw()
      for (let count = 1; count <= ATTEMPTS; count++) {
        if (
          open.every(({ over }) => over) ||
          typeof record?.['version'] !== 'string' ||
          fenceOf(record) >= fencedUntil
        ) {
          return refusal
        }
        const mark = await table.put(
          { ...storedAgain(record), ...key, fencedUntil },
          isStill(record)
        )
        if (mark.done) return refusal
        await pause(count)
        const result = await look(await readPresent())
        if ('outcome' in result) return result
        record = result.record
      }
      throw tooFast()
    }

    async function work(): Promise<TakeoverOutcome | LockRefusal> {
      const first = await attempt(undefined)
      if ('outcome' in first) return first
      const verdict = judge(first.record)
      if (typeof verdict === 'object') return refuse(verdict, first.record)
      return takeovers.run(nameOf(key), async (hasWaited) => {
        let result = hasWaited ? await look(await readPresent()) : first
        for (let count = 1; count <= ATTEMPTS && !('outcome' in result); count++) {
          const { record: item } = result
          const verdict = judge(item)
          if (typeof verdict === 'object') return refuse(verdict, item)
          if (verdict === 'displace') await prepare(item!)
          else await withdraw()
          version = nextVersion(item?.['version'])
          result = await attempt(item)
          if ('outcome' in result) return result
          await pause(count)
          // While an attempt may still create the lock, the request goes on for those who come after its caller.
          if (open.length === 0 && answer?.destroyed) throw CALLER_GONE
          result = await look(await readPresent())
        }
        if ('outcome' in result) return result
        throw open.length > 0 ? unknownOutcome() : tooFast()
      })
    }

    return openWrites.during(nameOf(key), () =>
      work().catch(async (error) => {
        // Nothing was displaced. Where the store does not take this either, the draft stays.
        await withdraw().catch(() => {})
        throw error
      })
    )
  }

  /** Waits before a further attempt, so that of many who try at once few meet again. */
  async function pause(count: number): Promise<void> {
    await wait(random() * Math.min(LAST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (count - 1)))
  }

  /** A put or a delete as conditions see it. */
  function describe(version: string, ifMatch: Versions | undefined, until = 0): Write {
    return {
      version,
      ifMatch,
      moment: moment(),
      instance,
      settled: versionAt(now() - SETTLED_SECONDS * 1000),
      fence: Math.max(until, seconds())
    }
  }

  /** Whether a version is another instance's, which may still be waiting for an answer. */
  function isUnsettled(version: unknown): boolean {
    return isSince(version, now() - SETTLED_SECONDS * 1000) && instanceOf(version) !== instance
  }

  /**
   * The locks of an entity: that of one field, or all but those of one user. Consistent, complete, ordered by field.
   * @throws {Failure} TOO_LARGE, STORE_UNAVAILABLE: see lib/locks/bounds.ts
   */
  async function list(entity: Entity, query: ListQuery = {}): Promise<LockList> {
    const { Items, Count, ScannedCount } = await find(entity, query)
    return { Items, Count, ScannedCount }
  }

  /** The same, with the records of signs, which are not among the locks. */
  async function find(
    entity: Entity,
    { fieldName, excludeUid, payload }: ListQuery
  ): Promise<LockList & { signs: Item[] }> {
    const selection = fieldName === undefined ? { excludeUid, signs: true } : { fieldName }
    const query = recordsOf(recordKey(environment, entity), {
      ...selection,
      now: moment(),
      payloads: payload !== 0
    })
    const { Items, Count, ScannedCount } = await measured(memory, texts.narrowerLocks, (measure) =>
      table.query(query, { inTime: createDeadline(monotonic), measure })
    )
    const records = Items.filter((item) => !hasSigns(item))
    const signs = Items.filter(hasSigns)
    return {
      Items: records.map(toShow),
      Count: Count - signs.length,
      ScannedCount: ScannedCount - signs.length,
      signs
    }
  }

  async function readForFeed(entity: Entity): Promise<LocksAndSigns> {
    const { Items, signs } = await find(entity, { payload: 0 })
    return [
      ...Items,
      ...petitionsIn(entity, signs, moment()),
      ...lookersIn(entity, signs, moment())
    ]
  }

  /** The locks of several entities, in their order; without payloads. */
  async function view(entities: Entity[]): Promise<LockView[]> {
    const views = new Map<Entity, LockView[]>()
    await forEach(entities, async (entity) => {
      const { Items } = await list(entity, { payload: 0 })
      views.set(
        entity,
        Items.map((record) => viewOf(entity, record))
      )
    })
    return entities.flatMap((entity) => views.get(entity)!)
  }

  /** Checks, for a transaction, that nobody but a user holds fields; without a uid, that nobody holds them. */
  function checks(entity: Entity, fieldNames: string[], uid: string | undefined): LockCheck[] {
    const key = recordKey(environment, entity)
    const condition = isHeldByNoOther(moment(), uid)
    return fieldNames.map((fieldName) => ({
      key: { env_entityType_entityId: key, fieldName },
      condition
    }))
  }

  /**
   * Lets go of a field, whoever holds it; of a field if the user holds it; or of all the user's fields of the entity.
   * What is not there, or has become another's, is left alone, and so is an expired lock with a text unless its version is named.
   * @param ifMatch with a field: only if the lock is in one of these versions; what is gone is released
   * @param by who asks, if that is known: where it is not `uid`, the text is kept
   * @throws {Failure} BAD_REQUEST without a field and a user; with `details.failed`, the fields that are still locked,
   * when only some could be deleted in time
   */
  async function release(
    place: WriteTarget,
    { fieldName, uid }: ReleaseQuery,
    { ifMatch, by }: { ifMatch?: Versions | undefined; by?: Displacer } = {}
  ): Promise<ReleasedOutcome | ChangedOutcome | HeldOutcome> {
    const key = recordKey(environment, place)
    const keyOf = (fieldName: string) => ({ env_entityType_entityId: key, fieldName })
    const inTime = createDeadline(monotonic)
    if (fieldName !== undefined) {
      return releaseField(place, keyOf(fieldName), { uid, ifMatch, by, inTime })
    }
    if (uid === undefined) throw new Failure('BAD_REQUEST', texts.fieldOrUser)
    if (ifMatch) {
      throw new Failure('BAD_REQUEST', 'If-Match needs fieldName: it is the version of one lock')
    }

    const query = {
      ...recordsOf(key, { uid, now: moment() }),
      ProjectionExpression: 'env_entityType_entityId, fieldName'
    }
    const fieldNames = (await table.query(query, { inTime })).Items.map(
      ({ fieldName }) => fieldName
    )
    const failures = new Map<string, Failure>()
    let unavailable: Failure | undefined
    await forEach(fieldNames, async (fieldName) => {
      // Once the store has stopped answering, the rest is not tried: each try would cost seconds.
      const failure =
        unavailable ??
        (await releaseField(place, keyOf(fieldName), { uid, by, inTime }).then(
          () => undefined,
          (error: Failure) => error
        ))
      if (!failure) return
      failures.set(fieldName, failure)
      if (failure.code === 'STORE_UNAVAILABLE') unavailable = failure
    })
    const failure = unavailable ?? failures.values().next().value
    if (failure) {
      const { code, message, cause, headers } = failure
      throw new Failure(code, message, {
        cause,
        headers,
        details: { failed: fieldNames.filter((name) => failures.has(name)) }
      })
    }
    return { outcome: 'released' }
  }

  async function releaseField(
    { changes }: WriteTarget,
    key: Key,
    {
      uid,
      ifMatch,
      by,
      inTime
    }: { uid: string | undefined; ifMatch?: Versions | undefined; by: Displacer; inTime: InTime }
  ): Promise<ReleasedOutcome | ChangedOutcome | HeldOutcome> {
    const isOwn = uid !== undefined && (by === undefined || by.uid === uid)
    const write = describe(nextVersion(), ifMatch)
    const isOthers = (record: Item) => uid !== undefined && ownerOf(record) !== uid

    function succeed(): ReleasedOutcome {
      changes.set(key.fieldName, undefined)
      return { outcome: 'released' }
    }

    let item: Item | undefined
    if (openWrites.until(nameOf(key)) > 0) item = await table.get(key)
    else {
      const removal = await table.removeOnce(
        key,
        isOwn ? isHeldBy(write, uid) : isWithoutText(write, uid)
      )
      if (removal.done) return succeed()
      item = await removal.readItem()
      if (removal.unanswered && item && !isTombstone(item) && !isOlder(item, write)) {
        // The lock may have been released and taken again since.
        if (!ifMatch && isOthers(item)) return { outcome: 'released' }
        throw unknownOutcome()
      }
    }
    for (let count = 1; count <= ATTEMPTS; count++) {
      inTime()
      const record = item && !isTombstone(item) ? item : undefined
      if (record) {
        if (ifMatch && !isAmong(ifMatch, record)) return changedOutcome(record)
        if (isOthers(record)) {
          return isExpired(record, moment())
            ? { outcome: 'released' }
            : { outcome: 'held', lock: holderOf(record) }
        }
        if (isOwn && !ifMatch && record['payload'] !== undefined && isExpired(record, moment())) {
          return { outcome: 'released' }
        }
      }
      const until = fenceFor(key, item)
      if (!record && until <= Math.max(fenceOf(item), seconds())) return { outcome: 'released' }
      const tombstone = tombstoneOf(key, until, nextVersion(item?.['version']), item?.['version'])
      const draft =
        record && !isOwn && record['payload'] !== undefined
          ? await drafts.keep(record, by)
          : undefined
      const removal =
        until > seconds()
          ? table.put(tombstone, item ? isStill(item) : isNothing())
          : table.remove(key, isStill(item!))
      const result = await removal.catch(async (failure: Failure) => {
        if (draft && wasRefused(failure)) await drafts.drop(draft).catch(() => {})
        throw failure
      })
      const next = result.done ? tombstone : await result.readItem()
      if (
        result.done ||
        (result.repeated && (next === undefined || isSameRecord(next, tombstone)))
      ) {
        if (draft) onKept?.()
        return succeed()
      }
      if (result.repeated && item && !isSameRecord(next, item) && !hasReplaced(next, item)) {
        // The first attempt may have released the lock, and another has been taken since.
        if (hasReplaced(next, tombstone) || (!ifMatch && isOthers(next!))) {
          return { outcome: 'released' }
        }
        throw unknownOutcome()
      }
      if (draft) await drafts.drop(draft)
      await pause(count)
      item = await table.get(key)
    }
    throw tooFast()
  }

  /** Until when a late write may bring back the released lock. It may be one that the record names, one of this instance, or one of another instance that still waits for an answer. */
  function fenceFor(key: Key, record: Item | undefined): number {
    return Math.max(
      fenceOf(record),
      openWrites.until(nameOf(key)),
      isUnsettled(record?.['version']) ? seconds() + FENCE_SECONDS : 0
    )
  }

  /** An expired lock is nobody's. */
  function changedOutcome(record: Item | undefined): ChangedOutcome {
    return {
      outcome: 'changed',
      ...(record && !isExpired(record, moment()) && { lock: holderOf(record) })
    }
  }

  /** Resolves when the table answers a read of one (absent) record. */
  async function probe(abortSignal: AbortSignal): Promise<void> {
    await table.probe({ env_entityType_entityId: `${environment}-`, fieldName: '-' }, abortSignal)
  }

  /** Tells the feed what a write has left in fields, and that it is over, even when nobody knows whether it took place. */
  function announcing<Rest extends unknown[], Result>(
    write: (at: WriteTarget, ...rest: Rest) => Promise<Result>
  ) {
    return (entity: Entity, ...rest: Rest) => {
      const changes = new Map<string, LockView | undefined>()
      const endWrite = feed.writing(entity)
      return write({ ...entity, changes }, ...rest).then(
        (result) => {
          endWrite(changes)
          return result
        },
        (error) => {
          endWrite(changes, false)
          throw error
        }
      )
    }
  }

  /** Notes that a user looks on. Who watches the entity sees news at once, and that it goes on by a read that takes place anyway. */
  async function enter(entity: Entity, request: PresenceRequest): Promise<void> {
    if (await presence.enter(entity, request)) feed.stir(entity)
  }

  /** Has whoever watches the entity see what a change of its signs has left. */
  function stirring<Rest extends unknown[], Result>(
    change: (entity: Entity, ...rest: Rest) => Promise<Result>
  ) {
    return (entity: Entity, ...rest: Rest) =>
      change(entity, ...rest).finally(() => feed.stir(entity))
  }

  /** Has an operation wait until the clock is right. */
  function timely<Args extends unknown[], Result>(work: (...args: Args) => Promise<Result>) {
    return (...args: Args) => {
      const pending = ready()
      return pending ? pending.then(() => work(...args)) : work(...args)
    }
  }

  return {
    acquire: announcing(timely(acquire)),
    overwrite: announcing(timely(overwrite)),
    release: announcing(timely(release)),
    list: timely(list),
    view: timely(view),
    checks,
    probe,
    drafts: { list: timely(drafts.list), discard: timely(drafts.discard) },
    petitions: {
      file: stirring(timely(petitions.file)),
      withdraw: stirring(timely(petitions.withdraw))
    },
    presence: { enter: timely(enter), leave: stirring(timely(presence.leave)) },
    feed: {
      watch: feed.watch,
      saved: feed.saved,
      hear: feed.hear,
      catchUp: feed.catchUp,
      counts: feed.counts,
      close: feed.close
    }
  }
}

function nameOf({ env_entityType_entityId: key, fieldName }: Key): string {
  return JSON.stringify([key, fieldName])
}

function unknownOutcome(): Failure {
  return new Failure(
    'STORE_UNAVAILABLE',
    'Quoin does not know whether the lock was written; try again',
    { headers: { 'retry-after': '1' } }
  )
}

function tooFast(): Failure {
  return new Failure('STORE_UNAVAILABLE', 'The lock changes hands too fast; try again', {
    headers: { 'retry-after': '1' }
  })
}
