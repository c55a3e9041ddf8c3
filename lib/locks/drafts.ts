import { Failure } from '../errors.ts'
import { draftOf, draftsOf, expiredOf, shown, shownExpired, type Displacer } from './draft.ts'
import { isStill, recordKey, type Found } from './record.ts'
import type { DraftList, DraftsQuery, Entity } from './schemas.ts'
import { forEach, type Key, type LockTable } from './table.ts'

const DAY = 86_400

export interface DraftsDeps {
  table: LockTable
  environment: string
  /** How long a draft is kept. */
  draftDays: number
  /** Unix time in seconds. */
  seconds: () => number
}

export type Drafts = ReturnType<typeof createDrafts>

/** The texts of displaced locks, kept beside the locks in one table, where they never show among them. */
export function createDrafts ({ table, environment, draftDays, seconds }: DraftsDeps) {
  /** Unix time until which what loses its meaning at another is kept. */
  const keptUntil = (from: number) => from + draftDays * DAY

  /** Keeps a record's text. To be done before the record changes, so that at no moment the text is in neither place. */
  async function keep (record: Found, by: Displacer): Promise<void> {
    const now = seconds()
    await table.put(draftOf(record, by, now, keptUntil(now)))
  }

  /** The drafts of an entity, be it of one field or one user: the newest first. The text of an expired lock is one before anybody takes the field. */
  async function list (entity: Entity, query: DraftsQuery = {}): Promise<DraftList> {
    const { expired, kept } = await find(entity, query)
    const drafts = kept.map(shown)
    // Whoever was about to displace it may have got no further than to keep it.
    const left = expired.map(shownExpired).filter(({ fieldName, version }) => !drafts.some((draft) => draft.fieldName === fieldName && draft.version === version))
    const Items = [...drafts, ...left].sort((a, b) => b.displacedAt - a.displacedAt)
    return { Items, Count: Items.length }
  }

  /** What is kept of texts, in its two places. */
  async function find (entity: Entity, query: DraftsQuery): Promise<{ expired: Found[], kept: Found[] }> {
    const key = recordKey(environment, entity)
    // In this order, since a text is kept before its lock goes: what is displaced meanwhile is found twice, not missed.
    const expired = await table.query(expiredOf(key, query, seconds()))
    const kept = await table.query(draftsOf(key, query, seconds()))
    return { expired: expired.Items, kept: kept.Items }
  }

  /**
   * Discards the drafts of a field, of a user, or of both.
   * @throws {Failure} BAD_REQUEST without a field and a user
   */
  async function discard (entity: Entity, query: DraftsQuery): Promise<void> {
    if (query.fieldName === undefined && query.uid === undefined) throw new Failure('BAD_REQUEST', 'querystring must have fieldName or uid')
    const { expired, kept } = await find(entity, query)
    await forEach(expired, async (record) => { await table.remove(keyOf(record), isStill(record)) })
    await forEach(kept, async (draft) => { await table.remove(keyOf(draft)) })
  }

  return { keptUntil, keep, list, discard }
}

function keyOf ({ env_entityType_entityId: key, fieldName }: Found): Key {
  return { env_entityType_entityId: key, fieldName } as Key
}
