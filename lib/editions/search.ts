import { Failure } from '../errors.ts'
import type { Caller } from '../http/calls.ts'
import type { EditionContext } from './context.ts'
import type { ContentList } from './list/content-list.ts'
import type { RowPage } from './list/rows.ts'
import type { Search } from './list/search.ts'
import { findList, listNames } from './lists.ts'
import { rethrowRefusal } from './load.ts'
import type { Placement } from './schemas.ts'

export interface EditionPage extends RowPage {
  /** The entity type of the rows. */
  entityType: string
  /** By the uuid of each row, the editions that hold it; only where it was asked for. */
  placed?: Record<string, Placement[]>
}

/** Lists editions, or the entities of one of the content model's lists. */
export async function searchBundleOrList(
  context: EditionContext,
  bundle: string,
  { placed: wantPlaced = false, ...query }: Search & { placed?: boolean },
  caller: Caller
): Promise<EditionPage> {
  const list = await findList(context, bundle, caller)
  return list
    ? searchList(context, list, query, wantPlaced, caller)
    : searchBundle(context, bundle, query, wantPlaced, caller)
}

async function searchBundle(
  context: EditionContext,
  bundle: string,
  query: Search,
  wantPlaced: boolean,
  caller: Caller
): Promise<EditionPage> {
  if (wantPlaced) {
    throw new Failure(
      'BAD_REQUEST',
      `querystring/placed is for lists of what editions are made of: ${listNames(context)}`
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
  query: Search,
  wantPlaced: boolean,
  caller: Caller
): Promise<EditionPage> {
  const editionsOnly = (['type', 'key'] as const).find((name) => query[name] !== undefined)
  if (editionsOnly !== undefined) {
    throw new Failure('BAD_REQUEST', `querystring/${editionsOnly} is for lists of editions`)
  }
  const { entityType } = list.model
  const page = await list
    .rows(entityType, query, caller)
    .catch((error) => rethrowRefusal(context, error, caller))
  if (!wantPlaced) return { ...page, entityType }

  const rows = page.rows.map((row) => ({ ...row, entityType }))
  const placed = await context
    .placements(rows, caller)
    .catch((error) => rethrowRefusal(context, error, caller))
  return { ...page, entityType, placed }
}
