import type { Editions } from '../editions/editions.ts'
import type { EditionPage } from '../editions/search.ts'
import type { ContentModel } from '../editions/model.ts'
import { Failure } from '../errors.ts'
import type { Caller } from '../http/calls.ts'
import type { Locks } from '../locks/locks.ts'
import type { Entity, LockView } from '../locks/schemas.ts'
import type { Watcher } from '../locks/watcher.ts'
import { entitiesOf, lockType } from './entities.ts'
import { lockNames, watchEntities, type LiveOptions, type BoardScope } from './live-board.ts'
import { lockNameOf } from './names.ts'
import { createSharedReads, type JoinRead } from './shared-reads.ts'
import { visibleLocks, type MayView } from './visible-locks.ts'

export interface BoardsDeps {
  locks: Pick<Locks, 'view' | 'feed'>
  editions: Pick<Editions, 'bare'>
  model: ContentModel
}

export interface BoardContext extends BoardsDeps {
  /** Joins a read of what a board has, which all callers with the same credentials share. */
  share: JoinRead<BoardScope>
}

export interface Board {
  /** The edition's own locks first, then those of its articles in their order. */
  locks: LockView[]
  /** How many entities the board looks at: the edition and its articles. */
  entities: number
}

/** The part of a list that says whose locks to look at. */
type Rows = Pick<EditionPage, 'rows' | 'entityType'>

export type Boards = ReturnType<typeof createBoards>

/**
 * Lock boards: who is at work in an edition, on the edition itself and on the articles that it
 * holds.
 */
export function createBoards({ locks, editions, model }: BoardsDeps) {
  const context: BoardContext = { locks, editions, model, share: createSharedReads<BoardScope>() }
  return {
    /** The edition with an integer id or uuid, as its locks name it. */
    edition: (id: string): Entity => ({ type: lockType(model.entityType, model), id }),
    read: (id: string, caller: Caller, mayView?: MayView) =>
      readBoard(context, id, caller, mayView),
    ofRows: (rows: Rows, mayView?: MayView) => readRowLocks(context, rows, mayView),
    watch: (id: string, caller: Caller, options?: LiveOptions) =>
      watchBoard(context, id, caller, options),
    watchRows: (
      name: string,
      caller: Caller,
      list: (caller: Caller) => Promise<Rows>,
      options?: LiveOptions
    ) => watchRows(context, name, caller, list, options)
  }
}

/**
 * @param id integer id or uuid of the edition
 * @param mayView asked about each entity that has locks; whatever it may not see is left out
 * @throws {Failure} as `editions.bare` and `mayView`; STORE_UNAVAILABLE, STORE_FAILED
 */
export async function readBoard(
  context: BoardContext,
  id: string,
  caller: Caller,
  mayView?: MayView
): Promise<Board> {
  const { locks, model } = context
  const { entities } = await scopeOfBoard(context, id, caller)
  const views = await locks.view(lockNames(entities, model))
  return {
    locks: mayView ? await visibleLocks(views, mayView, model) : views,
    entities: entities.length
  }
}

/**
 * The locks on the rows of a list, by their uuids, from one Query for each row.
 * @param mayView asked about each row that has locks; those of a row that it may not see are left
 *   out
 * @returns null while the lock store does not answer
 * @throws {Failure} as `mayView`; STORE_FAILED
 */
export async function readRowLocks(
  { locks, model }: BoardContext,
  { rows, entityType }: Rows,
  mayView?: MayView
): Promise<Record<string, LockView[]> | null> {
  const entities = entitiesOfRows({ rows, entityType }, model)
  const views = await locks.view(lockNames(entities, model)).catch(unlessUnavailable)
  if (!views) return null
  const visibleViews = mayView ? await visibleLocks(views, mayView, model) : views
  const byId = Map.groupBy(visibleViews, ({ entityId }) => lockNameOf(entityId, model).id)
  return Object.fromEntries(
    rows.map(({ uuid }, index) => [uuid, byId.get(entities[index]!.id) ?? []])
  )
}

/**
 * The live form of a board. Quoin reads the edition again at every heartbeat, and when its articles
 * are saved through Quoin, once for all callers with the same credentials. If its articles have
 * changed, a new snapshot comes. If the caller may not see it any more, the events end.
 * @throws {Failure} as `editions.bare`; as `feed.watch`
 */
export async function watchBoard(
  context: BoardContext,
  id: string,
  caller: Caller,
  options?: LiveOptions
): Promise<Watcher> {
  const readScope = (caller: Caller) => scopeOfBoard(context, id, caller)
  const fields = context.model.fields.articles
  return watchEntities(context, id, caller, readScope, { ...options, fields })
}

/**
 * The same of the rows of a list: their own locks, and a new snapshot when rows have come or gone.
 * @param name of the list, the same for all who watch it
 * @throws {Failure} as `list` and `feed.watch`
 */
export async function watchRows(
  context: BoardContext,
  name: string,
  caller: Caller,
  list: (caller: Caller) => Promise<Rows>,
  options?: LiveOptions
): Promise<Watcher> {
  const readScope = async (caller: Caller) => ({
    entities: entitiesOfRows(await list(caller), context.model),
    shownFields: []
  })
  return watchEntities(context, name, caller, readScope, options)
}

async function scopeOfBoard(
  { editions, model }: BoardContext,
  id: string,
  caller: Caller
): Promise<BoardScope> {
  const edition = await editions.bare(id, caller)
  return {
    entities: entitiesOf(edition, model),
    shownFields: model.fields.articles.filter((field) => Object.hasOwn(edition, field))
  }
}

function entitiesOfRows({ rows, entityType }: Rows, model: ContentModel): Entity[] {
  return rows.map(({ id, uuid }) => ({
    type: lockType(entityType, model),
    id: model.lockIds === 'id' ? id : uuid
  }))
}

function unlessUnavailable(error: unknown): undefined {
  if (!(error instanceof Failure && error.code === 'STORE_UNAVAILABLE')) throw error
}
