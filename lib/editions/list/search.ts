import { Failure } from '../../errors.ts'
import type { Caller } from '../../http/calls.ts'
import { isUuid } from '../../patterns.ts'
import type { Resources } from '../lookup/resources.ts'
import { publicName } from '../model.ts'
import type { Collection } from '../site/catalog.ts'
import type { Site } from '../site/site.ts'
import { changeTime, LIST_ORDERS, NEWEST_FIRST, type Sort } from '../translate/order.ts'
import {
  filterQuery,
  pageQuery,
  PAGE_MAX,
  type SectionSelection,
  type Selection
} from '../translate/query.ts'
import type { LoadedEdition } from '../translate/read.ts'
import type { Shape } from '../translate/shape.ts'
import { rowId } from '../translate/verify.ts'
import { DEEP, list, type ListOptions, type Listing } from './listing.ts'
import { refuseUnanswerable, listScope, unanswerable } from './scope.ts'
import { matchesSelection } from './selection.ts'
import { sourceOf, type Query, type SourceContext, type SourceKind } from './sources.ts'
import { listUnfiltered } from './unfiltered.ts'
import { unpublishedContext } from './unpublished.ts'
import {
  countContext,
  isAllVisible,
  isOwnCount,
  type CountContext,
  type VisibilityContext
} from './visibility.ts'

/** What a list is asked for. */
export interface Search {
  /** Substring of the title, or the exact key. */
  q?: string
  /** 1 published, 0 not. */
  status?: 0 | 1
  /** Edition type. */
  type?: string
  /** Exact key. */
  key?: string
  /** A section of the list, and the field that tells it. */
  section?: Pick<SectionSelection, 'field' | 'value'>
  /** Changed at this time or later, and before this one, in milliseconds since the epoch. */
  changedFrom?: number
  changedBefore?: number
  /** Default: the newest first. */
  sort?: Sort
  limit: number
  offset: number
  /** Whether to find the total, whatever it takes. */
  total: boolean
  /** Whether an empty answer has to be certain, whatever it takes. */
  isCertain?: boolean
}

/**
 * How many more requests than its offset and limit take a list may make for each collection: to
 * skip rows, and to check that none is hidden.
 */
const LOOKS = 10

/** What searches work with. */
export interface SearchContext extends SourceContext {
  site: Site
  resources: Pick<Resources, 'page' | 'sparsePage' | 'individual' | 'newest'>
  visibility: VisibilityContext
  counts: CountContext
}

/** Lists editions as `searchEditions` does. */
export function createSearch(site: Site, resources: Resources) {
  const { cms, model, warn } = site
  const context: SearchContext = {
    site,
    model,
    resources,
    unpublished: unpublishedContext({ model, warn }),
    visibility: { cms, model },
    counts: countContext({ cms, model })
  }
  return (bundle: string, search: Search, caller: Caller) =>
    searchEditions(context, bundle, search, caller)
}

/** A search, and what was made of it. */
interface SearchQuery extends Query {
  search: Search
  isFiltered: boolean
}

/**
 * Lists editions of one bundle, or of one edition type, or of all bundles when `bundle` is the
 * entity type's own name.
 * @throws {Failure} NOT_FOUND for an unknown bundle, BAD_REQUEST for an unknown edition type.
 */
export async function searchEditions(
  context: SearchContext,
  bundle: string,
  search: Search,
  caller: Caller
): Promise<Listing<LoadedEdition>> {
  const { site, model, resources } = context
  const {
    type,
    sort = '-id',
    limit,
    offset,
    total: _,
    isCertain: _isCertain,
    section,
    ...narrowing
  } = search
  const order = LIST_ORDERS[sort]
  refuseUnanswerable(narrowing, order, model)
  const { collections, types } = await listScope(site, bundle, type, caller)
  caller.budget?.allow(Math.ceil((offset + limit) / PAGE_MAX) + LOOKS * collections.length)
  const selection: Selection = {
    ...narrowing,
    types,
    ...(section && { section: await sectionIn(context, collections, section, caller) })
  }
  const listing = await findRows(context, {
    search,
    selection,
    order,
    collections,
    caller,
    isFiltered: filterQuery(selection, model).length > 0,
    isWanted: ({ resource }) => matchesSelection(selection, resource, model),
    lacking: new Set()
  })
  return { ...listing, rows: await resources.newest(listing.rows, caller) }
}

/**
 * A section with what documents show of its field, which is the same in all bundles.
 * @throws {Failure} BAD_REQUEST where rows of all bundles are shown, and none has the field; where
 *   it is a reference, and the section no uuid
 */
async function sectionIn(
  context: SearchContext,
  collections: Collection[],
  section: NonNullable<Search['section']>,
  caller: Caller
): Promise<SectionSelection> {
  const { entityType } = context.model
  const shapes = await Promise.all(
    collections.map((collection) => shapeOf(context, collection, caller))
  )
  const field = shapes.map((shape) => shape?.get(section.field)).find((one) => one !== undefined)
  if (field) {
    const isReference = field.kind === 'relationship'
    if (!isReference || isUuid(section.value)) return { ...section, isReference }
    throw new Failure('BAD_REQUEST', 'querystring/section must be the uuid of a section')
  }
  if (shapes.every((shape) => shape !== undefined)) {
    throw unanswerable('section', `no field "${section.field}", or you may not see it`, entityType)
  }
  return section
}

/** The fields of a collection's rows; undefined where none of the newest 50 is shown. */
async function shapeOf(
  { site: { shapes }, resources, model }: SearchContext,
  collection: Collection,
  caller: Caller
): Promise<Shape | undefined> {
  const { resourceType } = collection
  if (!shapes.of(resourceType)) {
    await resources.page(collection, pageQuery(0, PAGE_MAX, model), caller)
  }
  return shapes.of(resourceType)
}

async function findRows(
  context: SearchContext,
  query: SearchQuery
): Promise<Listing<LoadedEdition>> {
  const { filters } = context.site
  const { collections, caller, isFiltered, order, search, selection } = query
  // A path that nobody knows cannot be filtered by.
  if (selection.section && selection.section.isReference === undefined) {
    return listFrom(context, query, ['unfiltered'])
  }
  if (!isFiltered) {
    const isDeep = order === NEWEST_FIRST && search.offset > DEEP * collections.length
    return isDeep && (await filters.reach(collections, caller)) === 'none'
      ? listUnfiltered(context, query)
      : listFrom(context, query, ['filtered'])
  }
  const reach = filters.recall(collections, caller)
  if (reach !== undefined && reach !== 'all') return findAround(context, query, reach)
  // A filter may also find a part of what the caller may see, such as the published alone.
  const [listing, presentReach] = await Promise.all([
    listFrom(context, query, ['filtered']),
    filters.reach(collections, caller)
  ])
  return presentReach === 'all' ? listing : findAround(context, query, presentReach)
}

/** Finds also what Drupal does not let the caller filter. */
async function findAround(
  context: SearchContext,
  query: SearchQuery,
  reach: 'published' | 'none'
): Promise<Listing<LoadedEdition>> {
  const { search, selection, order } = query
  if (reach === 'none') {
    // Scans remember no relationships.
    return order === NEWEST_FIRST && !selection.section
      ? listUnfiltered(context, query)
      : listFrom(context, query, ['unfiltered'])
  }
  if (selection.status === 1) return listFrom(context, query, ['filtered'])
  const listing = await listFrom(context, query, ['filtered', 'unpublished'])
  return search.isCertain && listing.rows.length === 0
    ? listFrom(context, query, ['filtered', 'all unpublished'])
    : listing
}

/**
 * The rows of all collections, as one list. Rows that Drupal has filtered are compared again:
 * databases ignore case in keys and accents in titles, and a filter matches every translation of an
 * edition, also one that is not shown. So a caller who may filter gets the same rows as one who may
 * not.
 */
function listFrom(
  context: SearchContext,
  query: SearchQuery,
  kinds: SourceKind[]
): Promise<Listing<LoadedEdition>> {
  const { model } = context
  const { offset, limit, total } = query.search
  const idAttribute = publicName(model, model.keys.id)
  return list({
    sources: kinds.flatMap((kind) =>
      query.collections.map((collection) => sourceOf(context, kind, collection, query))
    ),
    order: query.order,
    offset,
    limit,
    total,
    pageMax: PAGE_MAX,
    areWhole: kinds.length > 1,
    nothingHidden: visibilityCheck(context, query),
    isOwnCount: countCheck(context, query, kinds),
    idOf: ({ resource }) => rowId(resource, idAttribute),
    changeTimeOf: ({ resource }) => changeTime(resource, model),
    isWanted: query.isWanted
  })
}

/** Undefined where nobody can tell whether rows are hidden, or the order does not skip rows. */
function visibilityCheck(
  { site, visibility }: SearchContext,
  { order, collections, caller, isFiltered }: SearchQuery
): ListOptions<LoadedEdition>['nothingHidden'] {
  const isRead = order !== NEWEST_FIRST || isFiltered
  if (isRead || site.filters.recall(collections, caller) === 'none') return undefined
  return (source, position, id) =>
    isAllVisible(visibility, collections[source]!, position, id, caller)
}

/**
 * The CMS also counts keys that differ only in case, and a part of the rows alone where there are
 * several sources.
 */
function countCheck(
  { counts }: SearchContext,
  { collections, caller, selection, isFiltered }: SearchQuery,
  kinds: SourceKind[]
): ListOptions<LoadedEdition>['isOwnCount'] {
  if (selection.key || selection.q || selection.section || kinds.length > 1) return undefined
  return (source, count) => isOwnCount(counts, collections[source]!, isFiltered, count, caller)
}
