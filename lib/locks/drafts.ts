import { FENCE_SECONDS } from '../table/fence.ts'
import { Failure, texts } from '../errors.ts'
import type { AnswerMemory } from '../http/answer-memory.ts'
import { createDeadline, measured, type InTime, type Measure } from './bounds.ts'
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
  isNothing,
  isStill,
  isTombstone,
  keyOf,
  recordKey,
  recordsOf,
  SETTLED_SECONDS,
  tombstoneOf,
  type Item,
  type Key,
  type Moment,
  type StoredItem
} from './record.ts'
import type { Draft, DraftList, DraftsQuery, Entity } from './schemas.ts'
import { forEach, UNANSWERED_MAX, type LockTable } from './table.ts'
import { isSince, type NextVersion } from './version.ts'

const DAY = 86_400

/** The longest pause before the second attempt at keeping a text, in milliseconds. */
const PAUSE_MS = 50

export interface DraftsDeps {
  table: LockTable
  environment: string
  /** What there is for the large lists of all callers. */
  memory: AnswerMemory
  /** How long a draft is kept. */
  draftDays: number
  /** Milliseconds since 1970. */
  now: () => number
  /** The same time, to judge leases by. */
  moment: () => Moment
  /** Milliseconds that no setting of a clock changes. */
  monotonic: () => number
  nextVersion: NextVersion
  wait: (ms: number) => Promise<unknown>
  /** A number from 0 to 1. */
  random: () => number
}

/** The texts of displaced locks, kept beside the locks in one table, where they never show among them. */
export function createDrafts({
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
}: DraftsDeps) {
  const seconds = () => Math.floor(now() / 1000)
  /** Until when an item is kept that loses its meaning at a time; both in Unix time. */
  const keptUntil = (from: number) => from + draftDays * DAY

  /**
   * Keeps a record's text. To be done before the record changes, so that at no moment the text is in neither place. Beyond
   * DRAFTS_MAX drafts of its field and user, the oldest go.
   * @returns the draft, to be dropped if the record changes otherwise
   * @throws {Failure} STORE_UNAVAILABLE
   */
  async function keep(record: Item, by: Displacer): Promise<Item> {
    let failure: Failure | undefined
    for (let count = 1; count <= UNANSWERED_MAX; count++) {
      if (failure) await wait(random() * PAUSE_MS * count)
      const items = itemsOf(draftOf(record, by, nextVersion(), now(), keptUntil(seconds())))
      failure = await firstFailure(items)
      if (failure) continue
      const draft = items.at(-1)!
      // The text is kept; what cannot be removed now is removed with the next one.
      await trim(draft).catch(() => {})
      return draft
    }
    throw failure
  }

  /** Writes the items of a draft in their order, up to the first that is not written. */
  async function firstFailure(items: StoredItem[]): Promise<Failure | undefined> {
    for (const item of items) {
      const result = await table.putOnce(item, isNothing())
      if (result.done || !result.unanswered) continue
      // Where the item is not there yet a tombstone keeps it off, so that nobody sees this draft beside the next one.
      const fence = await table.put(
        tombstoneOf(keyOf(item), seconds() + FENCE_SECONDS, nextVersion()),
        isNothing()
      )
      if (fence.done || isTombstone((await fence.readItem()) ?? item)) return result.unanswered
    }
    return undefined
  }

  /** Removes a draft whose text was not displaced, or was displaced by another user, who has kept it too. */
  async function drop(draft: Item): Promise<void> {
    await table.remove(keyOf(draft))
    if (draft['inTwo']) await table.remove(restOf(keyOf(draft)))
  }

  /** Removes an item as it was found; a tombstone stays where an attempt at writing it may still come. */
  async function bury(record: Item, until: number): Promise<void> {
    if (until <= seconds()) await table.remove(keyOf(record), isStill(record))
    else if (!isTombstone(record)) {
      await table.put(
        tombstoneOf(keyOf(record), until, nextVersion(record['version'])),
        isStill(record)
      )
    }
  }

  /** Whether this was the version of a user's record once: somebody has set about displacing it. */
  async function hasDisplaced(key: Key, uid: string, version: string): Promise<boolean> {
    return (await table.query(attemptsOf(key, uid, version))).Items.length > 0
  }

  async function trim(draft: Item): Promise<void> {
    const { Items } = await table.query(siblingsOf(draft))
    const older = Items.filter(
      ({ fieldName, displacedAt }) => fieldName !== draft['fieldName'] && displacedAt !== undefined
    ).sort((a, b) => displacedAt(b) - displacedAt(a))
    await forEach(older.slice(DRAFTS_MAX - 1), async (record) => {
      await table.remove(keyOf(record), isDisplacedAt(displacedAt(record)))
    })
  }

  /**
   * The drafts of an entity, or only those of one field or user, or a single one: the newest first. The text of an expired lock counts as a draft, even before anybody takes the field.
   * @throws {Failure} TOO_LARGE, STORE_UNAVAILABLE: see lib/locks/bounds.ts
   */
  async function list(entity: Entity, query: DraftsQuery = {}): Promise<DraftList> {
    const drafts = new Map<string, Draft>()
    const records = await measured(
      memory,
      'ask for the drafts of one field (fieldName), of one user (uid), or for one of them (draft)',
      (measure) => find(entity, query, measure)
    )
    for (const { draft } of records.sort((a, b) => b.at - a.at)) {
      // A takeover of an expired lock may have ended after it kept the text.
      const name = JSON.stringify([draft.fieldName, draft.id])
      if (!drafts.has(name)) drafts.set(name, draft)
    }
    return { Items: [...drafts.values()], Count: drafts.size }
  }

  /**
   * The records that hold drafts, in their two places, and when each was displaced (Unix time). A text that is still in its
   * lock is not a draft: the takeover got no further.
   */
  async function find(
    entity: Entity,
    query: DraftsQuery,
    measure?: Measure
  ): Promise<Array<{ record: Item; draft: Draft; at: number }>> {
    const key = recordKey(environment, entity)
    // In this order, because a text is kept before its lock goes. A text displaced meanwhile is found twice, never missed.
    const start = moment()
    const inTime = createDeadline(monotonic)
    const isWanted = ({ id }: Draft) => query.draft === undefined || id === query.draft
    const expiredLocks = await table.query(expiredOf(key, query, start), {
      inTime,
      measure,
      isWanted: (record) => isWanted(shownExpired(record, start))
    })
    const drafts = await table.query(draftsOf(key, query, seconds()), {
      inTime,
      measure,
      isWanted: (record) => isWanted(shownDraft(record))
    })
    const lockedVersions = await heldAmong(drafts.Items, key, query, inTime)
    const all = [
      ...(await Promise.all(
        drafts.Items.map(async (record) => ({
          record,
          draft: shownDraft(await withText(record)),
          at: displacedAt(record)
        }))
      )),
      ...expiredLocks.Items.map((record) => ({
        record,
        draft: shownExpired(record, start),
        at: expiryOf(record, start)
      }))
    ]
    return all.filter(
      ({ draft: { version } }) => version === undefined || !lockedVersions.has(version)
    )
  }

  /** A draft with its text. Half of the text may be in an item of its own. */
  async function withText(record: Item): Promise<Item> {
    const rest = record['inTwo'] ? await table.get(restOf(keyOf(record))) : undefined
    return rest ? { ...record, payload: `${record.payload}${rest['rest']}` } : record
  }

  /** The versions of the locks that hold; none is asked for where there are no drafts. */
  async function heldAmong(
    drafts: Item[],
    key: string,
    { fieldName }: DraftsQuery,
    inTime: InTime
  ): Promise<Set<unknown>> {
    if (drafts.length === 0) return new Set()
    const { Items } = await table.query(
      recordsOf(key, { fieldName, now: moment(), payloads: false }),
      { inTime }
    )
    return new Set(Items.map(({ version }) => version))
  }

  /**
   * Discards the drafts of a field, of a user, or of both, or one of them alone.
   * @throws {Failure} BAD_REQUEST without a field and a user
   */
  async function discard(entity: Entity, query: DraftsQuery): Promise<void> {
    if (query.fieldName === undefined && query.uid === undefined) {
      throw new Failure('BAD_REQUEST', texts.fieldOrUser)
    }
    await forEach(await find(entity, query), async ({ record }) => {
      await bury(record, mayBeWritten(record) ? seconds() + FENCE_SECONDS : fenceOf(record))
      if (record['inTwo']) await table.remove(restOf(keyOf(record)))
    })
  }

  /** Whether the writer of an expired lock may still send an attempt. A draft is written once. */
  function mayBeWritten({ displacedAt, version }: Item): boolean {
    return displacedAt === undefined && isSince(version, now() - SETTLED_SECONDS * 1000)
  }

  return { keptUntil, keep, drop, hasDisplaced, list, discard }
}

function displacedAt(record: Item): number {
  return Number(record['displacedAt'])
}
