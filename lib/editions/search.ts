import { Failure } from '../errors.ts'
import type { Caller } from '../http/calls.ts'
import type { EditionContext } from './context.ts'
import type { ContentList } from './list/content-list.ts'
import type { RowPage } from './list/rows.ts'
import type { Search } from './list/search.ts'
import { findList, listNames, withoutSections } from './lists.ts'
import { rethrowRefusal } from './load.ts'
import type { Placement } from './schemas.ts'
import { PAGE_MAX } from './translate/query.ts'

export interface EditionPage extends RowPage {
  /** The entity type of the rows. */
  entityType: string
  /** By the uuid of each row, the editions that hold it; only where it was asked for. */
  placed?: Record<string, Placement[]>
  /** Of a list without what is placed: the offset of the next page; null at the end. */
  next?: number | null
}

/** What a list is asked for, as callers name it. */
export interface SearchRequest extends Omit<Search, 'section' | 'changedFrom' | 'changedBefore'> {
  /** The uuid of the section, or its text. */
  section?: string
  /** Times with an offset (RFC 3339). */
  changedFrom?: string
  changedBefore?: string
  /** Whether to say which editions hold each row. */
  placed?: boolean
  /** Whether to leave out what an edition holds. */
  unplaced?: boolean
}

/** How many pages of rows are read at most for one page of those that no edition holds. */
export const UNPLACED_PAGES = 4

/** Lists editions, or the entities of one of the content model's lists. */
export async function searchBundleOrList(
  context: EditionContext,
  bundle: string,
  request: SearchRequest,
  caller: Caller
): Promise<EditionPage> {
  const { changedFrom, changedBefore, ...rest } = request
  const query = {
    ...rest,
    ...timeIn('changedFrom', changedFrom),
    ...timeIn('changedBefore', changedBefore)
  }
  const list = await findList(context, bundle, caller)
  return list
    ? searchList(context, list, query, caller)
    : searchBundle(context, bundle, query, caller)
}

/** A parameter of a search as a time in milliseconds. @throws {Failure} BAD_REQUEST */
function timeIn<Name extends string>(
  name: Name,
  text: string | undefined
): { [name in Name]?: number } {
  if (text === undefined) return {}
  const time = Date.parse(text)
  if (!Number.isNaN(time)) return { [name]: time } as { [name in Name]: number }
  throw new Failure(
    'BAD_REQUEST',
    `querystring/${name} must be a time that there is, such as 2026-11-18T00:00:00Z`
  )
}

/** A search whose times are read. */
type ReadRequest = Omit<SearchRequest, 'changedFrom' | 'changedBefore'> &
  Pick<Search, 'changedFrom' | 'changedBefore'>

async function searchBundle(
  context: EditionContext,
  bundle: string,
  { placed, unplaced, section, ...query }: ReadRequest,
  caller: Caller
): Promise<EditionPage> {
  const [ofLists] = Object.entries({ placed, unplaced, section }).find(([, value]) => value) ?? []
  if (ofLists !== undefined) {
    throw new Failure(
      'BAD_REQUEST',
      `querystring/${ofLists} is for lists of what editions are made of: ${listNames(context)}`
    )
  }
  const page = await context
    .rows(bundle, query, caller)
    .catch((error) => rethrowRefusal(context, error, caller))
  return { ...page, entityType: context.model.entityType }
}

async function searchList(
  context: EditionContext,
  list: ContentList,
  { placed: wantPlaced, unplaced, section, ...narrowing }: ReadRequest,
  caller: Caller
): Promise<EditionPage> {
  const query = { ...narrowing, ...sectionIn(list, section) }
  const editionsOnly = (['type', 'key'] as const).find((name) => query[name] !== undefined)
  if (editionsOnly !== undefined) {
    throw new Failure('BAD_REQUEST', `querystring/${editionsOnly} is for lists of editions`)
  }
  if (unplaced) return searchUnplaced(context, list, query, caller)

  const { entityType } = list.model
  const page = await list
    .rows(entityType, query, caller)
    .catch((error) => rethrowRefusal(context, error, caller))
  if (!wantPlaced) return { ...page, entityType }
  return { ...page, entityType, placed: await placementsOf(context, list, page.rows, caller) }
}

/** A section as the field of the list tells it. @throws {Failure} BAD_REQUEST */
function sectionIn(
  { section: field }: ContentList,
  value: string | undefined
): Pick<Search, 'section'> {
  if (value === undefined) return {}
  if (field !== undefined) return { section: { field, value } }
  throw withoutSections()
}

function placementsOf(
  context: EditionContext,
  { model: { entityType } }: ContentList,
  rows: RowPage['rows'],
  caller: Caller
): Promise<Record<string, Placement[]>> {
  return context
    .placements(
      rows.map((row) => ({ ...row, entityType })),
      caller
    )
    .catch((error) => rethrowRefusal(context, error, caller))
}

/**
 * The rows that no edition holds which the caller may see. JSON:API does not filter by that, so
 * rows are read, and those left out that are placed. `offset` counts all rows, and a page may have
 * fewer than asked for where there are more.
 */
async function searchUnplaced(
  context: EditionContext,
  list: ContentList,
  { total, ...query }: Search,
  caller: Caller
): Promise<EditionPage> {
  if (total) {
    throw new Failure('BAD_REQUEST', 'querystring/total cannot be counted with unplaced=1')
  }
  const { offset, limit } = query
  const editions: EditionPage['editions'] = []
  const rows: EditionPage['rows'] = []
  const placed: Record<string, Placement[]> = {}
  let next = offset
  let hasMore = true
  for (let read = 0; read < UNPLACED_PAGES && hasMore && rows.length < limit; read++) {
    const page = await list
      .rows(list.model.entityType, { ...query, total, offset: next, limit: PAGE_MAX }, caller)
      .catch((error) => rethrowRefusal(context, error, caller))
    const placements = await placementsOf(context, list, page.rows, caller)
    const free = page.rows.map(({ uuid }) => placements[uuid]!.length === 0)
    const end = endOf(free, limit - rows.length)
    rows.push(...page.rows.slice(0, end).filter((_, index) => free[index]))
    editions.push(...page.editions.slice(0, end).filter((_, index) => free[index]))
    next += end
    hasMore = page.hasMore || end < page.rows.length
  }
  for (const { uuid } of rows) placed[uuid] = []
  return {
    editions,
    rows,
    hasMore,
    total: null,
    entityType: list.model.entityType,
    placed,
    next: hasMore ? next : null
  }
}

/** How many of the rows it takes until so many are free; all of them where there are fewer. */
function endOf(free: boolean[], most: number): number {
  let count = 0
  const last = free.findIndex((isFree) => isFree && ++count === most)
  return last === -1 ? free.length : last + 1
}
