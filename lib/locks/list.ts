import { texts } from '../errors.ts'
import { forEach } from '../for-each.ts'
import { createDeadline, measured } from '../table/bounds.ts'
import type { Item } from '../table/item.ts'
import { momentNow, type LockContext } from './context.ts'
import { viewOf, type LocksAndSigns } from './feed-events.ts'
import { petitionsIn } from './petitions.ts'
import { lookersIn } from './presence.ts'
import { proposalsIn } from './proposals.ts'
import { recordKey, recordsOf, toShow } from './record.ts'
import type { Entity, ListQuery, LockList, LockView } from './schemas.ts'
import { hasSigns } from './signs.ts'

/**
 * The locks of an entity: that of one field, or all but those of one user. Consistent, complete,
 * ordered by field.
 * @throws {Failure} TOO_LARGE, STORE_UNAVAILABLE: see lib/table/bounds.ts
 */
export async function listLocks(
  context: LockContext,
  entity: Entity,
  query: ListQuery = {}
): Promise<LockList> {
  await context.time.ready()
  const { Items, Count, ScannedCount } = await readLocks(context, entity, query)
  return { Items, Count, ScannedCount }
}

/** The locks of an entity with their texts, and how many proposals for it are open. */
export async function surveyLocks(
  context: LockContext,
  entity: Entity
): Promise<Pick<LockList, 'Items'> & { proposals: number }> {
  await context.time.ready()
  const { Items, signs } = await readLocks(context, entity, {})
  return { Items, proposals: proposalsIn(entity, signs, momentNow(context)).length }
}

/** The locks of several entities, in their order; without payloads. */
export async function viewLocks(context: LockContext, entities: Entity[]): Promise<LockView[]> {
  const views = new Map<Entity, LockView[]>()
  await forEach(entities, async (entity) => {
    const { Items } = await listLocks(context, entity, { payload: 0 })
    views.set(
      entity,
      Items.map((record) => viewOf(entity, record))
    )
  })
  return entities.flatMap((entity) => views.get(entity)!)
}

/** The locks and the signs of an entity, as event streams show them. */
export async function readForFeed(context: LockContext, entity: Entity): Promise<LocksAndSigns> {
  await context.time.ready()
  const { Items, signs } = await readLocks(context, entity, { payload: 0 })
  const moment = momentNow(context)
  return [
    ...Items,
    ...petitionsIn(entity, signs, moment),
    ...lookersIn(entity, signs, moment),
    ...proposalsIn(entity, signs, moment)
  ]
}

/** The locks of an entity, with the records of its signs, which are not among the locks. */
async function readLocks(
  context: LockContext,
  entity: Entity,
  { fieldName, excludeUid, payload }: ListQuery
): Promise<LockList & { signs: Item[] }> {
  const { table, memory, environment } = context
  const selection = fieldName === undefined ? { excludeUid, signs: true } : { fieldName }
  const query = recordsOf(recordKey(environment, entity), {
    ...selection,
    now: momentNow(context),
    payloads: payload !== 0
  })
  const inTime = createDeadline(context.time)
  const { Items, Count, ScannedCount } = await measured(memory, texts.narrowerLocks, (measure) =>
    table.query(query, { inTime, measure })
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
