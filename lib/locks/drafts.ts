import { Failure } from '../errors.ts'
import { draftOf, draftsKey, draftsOf, shown, type Displacer } from './draft.ts'
import { recordKey, type Found } from './record.ts'
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

  /** The drafts of an entity, be it of one field or one user: the newest first. */
  async function list (entity: Entity, query: DraftsQuery = {}): Promise<DraftList> {
    const { Items, Count } = await table.query(draftsOf(recordKey(environment, entity), query, seconds()))
    return { Items: Items.map(shown).sort((a, b) => b.displacedAt - a.displacedAt), Count }
  }

  /**
   * Discards the drafts of a field, of a user, or of both.
   * @throws {Failure} BAD_REQUEST without a field and a user
   */
  async function discard (entity: Entity, query: DraftsQuery): Promise<void> {
    if (query.fieldName === undefined && query.uid === undefined) throw new Failure('BAD_REQUEST', 'querystring must have fieldName or uid')
    const key = recordKey(environment, entity)
    const { Items } = await table.query(draftsOf(key, query, seconds()))
    await forEach(Items as unknown as Key[], async ({ fieldName }) => {
      await table.remove({ env_entityType_entityId: draftsKey(key), fieldName })
    })
  }

  return { keptUntil, keep, list, discard }
}
