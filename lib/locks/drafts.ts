import { Failure, texts } from '../errors.ts'
import { forEach } from '../for-each.ts'
import { createDeadline, measured, type InTime, type Measure } from '../table/bounds.ts'
import { isNothing } from '../table/expression.ts'
import { FENCE_SECONDS } from '../table/fence.ts'
import { keyOf, type Item, type Key, type StoredItem } from '../table/item.ts'
import { UNANSWERED_MAX } from '../table/table.ts'
import { isSince } from '../table/version.ts'
import { momentNow, secondsNow, type LockContext } from './context.ts'
import {
  attemptsOf,
  draftOf,
  DRAFTS_MAX,
  draftsOf,
  expiredOf,
  expiryOf,
  isDisplacedAt,
  itemsOf,
  restOf,
  shownDraft,
  shownExpired,
  siblingsOf,
  type Displacer
} from './draft.ts'
import {
  fenceOf,
  isStill,
  isTombstone,
  recordKey,
  recordsOf,
  SETTLED_SECONDS,
  tombstoneOf
} from './record.ts'
import type { Draft, DraftList, DraftsQuery, Entity } from './schemas.ts'

const DAY = 86_400

/** The longest pause before the second attempt at keeping a text, in milliseconds. */
const PAUSE_MS = 50

/** A record that holds a draft, and when the draft was displaced (Unix time). */
interface DraftRecord {
  record: Item
  draft: Draft
  at: number
}

/** Until when an item is kept that loses its meaning at a time; both in Unix time. */
export function keptUntil({ draftDays }: LockContext, from: number): number {
  return from + draftDays * DAY
}

/**
 * Keeps a record's text. To be done before the record changes, so that at no moment the text is in
 * neither place. Beyond DRAFTS_MAX drafts of its field and user, the oldest go.
 * @returns the draft, to be dropped if the record changes otherwise
 * @throws {Failure} STORE_UNAVAILABLE
 */
export async function keepDraft(context: LockContext, record: Item, by: Displacer): Promise<Item> {
  const { time } = context
  let failure: Failure | undefined
  for (let count = 1; count <= UNANSWERED_MAX; count++) {
    if (failure) await time.wait(time.random() * PAUSE_MS * count)
    const attempt = context.nextVersion()
    const removeAt = keptUntil(context, secondsNow(context))
    const items = itemsOf(draftOf(record, by, attempt, time.now(), removeAt))
    failure = await writeItems(context, items)
    if (failure) continue
    const draft = items.at(-1)!
    // The text is kept; what cannot be removed now is removed with the next one.
    await removeOldest(context, draft).catch(() => {})
    return draft
  }
  throw failure
}

/**
 * Writes the items of a draft in their order.
 * @returns the failure of the first that is not written, if any
 */
async function writeItems(context: LockContext, items: StoredItem[]): Promise<Failure | undefined> {
  const { table } = context
  for (const item of items) {
    const result = await table.putOnce(item, isNothing())
    if (result.done || !result.unanswered) continue
    // Where the item is not there yet a tombstone keeps it off, so that nobody sees this draft
    // beside the next one.
    const until = secondsNow(context) + FENCE_SECONDS
    const tombstone = tombstoneOf(keyOf(item), until, context.nextVersion())
    const fence = await table.put(tombstone, isNothing())
    if (fence.done || isTombstone((await fence.readItem()) ?? item)) return result.unanswered
  }
  return undefined
}

/** Removes the drafts of the same field and user beyond the newest DRAFTS_MAX. */
async function removeOldest({ table }: LockContext, draft: Item): Promise<void> {
  const { Items } = await table.query(siblingsOf(draft))
  const others = Items.filter(
    (record) => record.fieldName !== draft.fieldName && record['displacedAt'] !== undefined
  )
  const older = others.sort((a, b) => displacedAt(b) - displacedAt(a))
  await forEach(older.slice(DRAFTS_MAX - 1), async (record) => {
    await table.remove(keyOf(record), isDisplacedAt(displacedAt(record)))
  })
}

/**
 * Removes a draft whose text was not displaced, or was displaced by another user, who has kept it
 * too.
 */
export async function dropDraft({ table }: LockContext, draft: Item): Promise<void> {
  await table.remove(keyOf(draft))
  if (draft['inTwo']) await table.remove(restOf(keyOf(draft)))
}

/** Whether this was the version of a user's record once: somebody has set about displacing it. */
export async function hasDisplaced(
  { table }: LockContext,
  key: Key,
  uid: string,
  version: string
): Promise<boolean> {
  return (await table.query(attemptsOf(key, uid, version))).Items.length > 0
}

/**
 * The drafts of an entity, or only those of one field or user, or a single one: the newest first.
 * The text of an expired lock counts as a draft, even before anybody takes the field.
 * @throws {Failure} TOO_LARGE, STORE_UNAVAILABLE: see lib/table/bounds.ts
 */
export async function listDrafts(
  context: LockContext,
  entity: Entity,
  query: DraftsQuery = {}
): Promise<DraftList> {
  await context.time.ready()
  const records = await measured(
    context.memory,
    'ask for the drafts of one field (fieldName), of one user (uid), or for one of them (draft)',
    (measure) => findDrafts(context, entity, query, measure)
  )
  const drafts = new Map<string, Draft>()
  for (const { draft } of records.sort((a, b) => b.at - a.at)) {
    // A takeover of an expired lock may have ended after it kept the text.
    const name = JSON.stringify([draft.fieldName, draft.id])
    if (!drafts.has(name)) drafts.set(name, draft)
  }
  return { Items: [...drafts.values()], Count: drafts.size }
}

/**
 * Discards the drafts of a field, of a user, or of both, or one of them alone.
 * @throws {Failure} BAD_REQUEST without a field and a user
 */
export async function discardDrafts(
  context: LockContext,
  entity: Entity,
  query: DraftsQuery
): Promise<void> {
  await context.time.ready()
  if (query.fieldName === undefined && query.uid === undefined) {
    throw new Failure('BAD_REQUEST', texts.fieldOrUser)
  }
  await forEach(await findDrafts(context, entity, query), async ({ record }) => {
    await removeRecord(context, record)
    if (record['inTwo']) await context.table.remove(restOf(keyOf(record)))
  })
}

/**
 * Removes an item as it was found; a tombstone stays where an attempt at writing it may still
 * come.
 */
async function removeRecord(context: LockContext, record: Item): Promise<void> {
  const { table } = context
  const now = secondsNow(context)
  const until = mayBeWritten(context, record) ? now + FENCE_SECONDS : fenceOf(record)
  if (until <= now) {
    await table.remove(keyOf(record), isStill(record))
    return
  }
  const version = context.nextVersion(record['version'])
  await table.put(tombstoneOf(keyOf(record), until, version), isStill(record))
}

/** Whether the writer of an expired lock may still send an attempt. A draft is written once. */
function mayBeWritten({ time }: LockContext, { displacedAt, version }: Item): boolean {
  return displacedAt === undefined && isSince(version, time.now() - SETTLED_SECONDS * 1000)
}

/**
 * The records that hold drafts, in their two places. A text that is still in its lock is not a
 * draft: the takeover got no further.
 */
async function findDrafts(
  context: LockContext,
  entity: Entity,
  query: DraftsQuery,
  measure?: Measure
): Promise<DraftRecord[]> {
  const key = recordKey(context.environment, entity)
  const moment = momentNow(context)
  const inTime = createDeadline(context.time)
  const isWanted = ({ id }: Draft) => query.draft === undefined || id === query.draft
  // In this order, because a text is kept before its lock goes. A text displaced meanwhile is
  // found twice, never missed.
  const expiredLocks = await context.table.query(expiredOf(key, query, moment), {
    inTime,
    measure,
    isWanted: (record) => isWanted(shownExpired(record, moment))
  })
  const drafts = await context.table.query(draftsOf(key, query, secondsNow(context)), {
    inTime,
    measure,
    isWanted: (record) => isWanted(shownDraft(record))
  })
  const lockedVersions = await lockedAmong(context, drafts.Items, key, query, inTime)
  const records = [
    ...(await Promise.all(drafts.Items.map((record) => withWholeText(context, record)))),
    ...expiredLocks.Items.map((record) => ({
      record,
      draft: shownExpired(record, moment),
      at: expiryOf(record, moment)
    }))
  ]
  return records.filter(
    ({ draft: { version } }) => version === undefined || !lockedVersions.has(version)
  )
}

/** A draft with its text. Half of the text may be in an item of its own. */
async function withWholeText({ table }: LockContext, record: Item): Promise<DraftRecord> {
  const rest = record['inTwo'] ? await table.get(restOf(keyOf(record))) : undefined
  const whole = rest ? { ...record, payload: `${record.payload}${rest['rest']}` } : record
  return { record, draft: shownDraft(whole), at: displacedAt(record) }
}

/** The versions of the locks that hold; none is asked for where there are no drafts. */
async function lockedAmong(
  context: LockContext,
  drafts: Item[],
  key: string,
  { fieldName }: DraftsQuery,
  inTime: InTime
): Promise<Set<unknown>> {
  if (drafts.length === 0) return new Set()
  const query = recordsOf(key, { fieldName, now: momentNow(context), payloads: false })
  const { Items } = await context.table.query(query, { inTime })
  return new Set(Items.map(({ version }) => version))
}

function displacedAt(record: Item): number {
  return Number(record['displacedAt'])
}
