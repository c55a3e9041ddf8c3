import type { Failure } from '../../errors.ts'
import { LARGE_ANSWER } from '../../http/answer-memory.ts'
import type { Caller } from '../../http/calls.ts'
import type { Resources } from '../lookup/resources.ts'
import { publicName, publicNames, type ContentModel } from '../model.ts'
import type { Collection } from '../site/catalog.ts'
import { isWithoutField } from '../translate/failures.ts'
import type { ListOrder } from '../translate/order.ts'
import {
  filterQuery,
  pageQuery,
  type Page,
  type Parameters,
  type Selection
} from '../translate/query.ts'
import type { LoadedEdition } from '../translate/read.ts'
import type { PagePurpose, Source } from './deep.ts'
import { isSortRefusal, unsortable } from './scope.ts'
import { pagesOfUnpublished, type UnpublishedContext } from './unpublished.ts'

/** Pages with more wanted rows than this are read whole, since the list will need them. */
export const DENSE = 2

export interface SourceContext {
  model: ContentModel
  resources: Pick<Resources, 'page' | 'sparsePage'>
  unpublished: UnpublishedContext
}

/** What a list is made of. */
export interface Query {
  selection: Selection
  order: ListOrder
  collections: Collection[]
  caller: Caller
  isWanted: (edition: LoadedEdition) => boolean
  /** The collections without the field of a filter, as far as Drupal has said so. */
  lacking: Set<Collection>
}

/**
 * Which pages of a collection a list reads. `filtered`: those that Drupal filters. `unpublished`:
 * what is not published, without a filter, `all unpublished` however much of it is hidden.
 * `unfiltered`: all.
 */
export type SourceKind = 'filtered' | 'unpublished' | 'all unpublished' | 'unfiltered'

/** The pages of a collection. Rows that are not wanted may be among them. */
export function sourceOf(
  context: SourceContext,
  kind: SourceKind,
  collection: Collection,
  query: Query
): Source<LoadedEdition> {
  const source = rawSource(context, kind, collection, query)
  return async (offset, size, purpose) => {
    const page = await orNothing(context, source(offset, size, purpose), collection, query)
    freeUnwanted(page, purpose, query)
    return page
  }
}

function rawSource(
  context: SourceContext,
  kind: SourceKind,
  collection: Collection,
  query: Query
): Source<LoadedEdition> {
  switch (kind) {
    case 'filtered':
      return filteredSource(context, collection, query)
    case 'unfiltered':
      return unfilteredSource(context, collection, query)
    default:
      return unpublishedSource(context, collection, query, kind === 'all unpublished')
  }
}

/**
 * A bundle without the field of a filter has no such row. That no bundle has it is a mistake in the
 * content model. Without the field that the list is sorted by a bundle still has its rows.
 * @throws {Failure} BAD_REQUEST where Drupal does not sort by that field
 */
async function orNothing(
  { model }: SourceContext,
  page: Promise<Page<LoadedEdition>>,
  collection: Collection,
  { order, lacking, collections }: Query
): Promise<Page<LoadedEdition>> {
  try {
    return await page
  } catch (error) {
    if (isSortRefusal(error as Failure, order, model)) throw unsortable(collection, model, error)
    if (!isWithoutField(error as Failure)) throw error
    lacking.add(collection)
    if (lacking.size === collections.length) throw error
    return { rows: [], more: false, count: 0 }
  }
}

/** Gives back the memory for rows that are not for the answer. */
function freeUnwanted(
  { rows, bytes = 0 }: Page<LoadedEdition>,
  purpose: PagePurpose,
  { isWanted, caller }: Query
): void {
  if (bytes < LARGE_ANSWER) return
  const wanted = purpose === 'count' ? 0 : rows.filter(isWanted).length
  caller.budget?.free(bytes - Math.ceil((bytes * wanted) / Math.max(1, rows.length)))
}

/**
 * Pages that Drupal filters. A site that has no keys, or does not show them to the caller, refuses
 * to filter by them. Then the search for `q` is in titles only.
 */
function filteredSource(
  context: SourceContext,
  collection: Collection,
  query: Query
): Source<LoadedEdition> {
  const { keys, fields } = context.model
  let byKey = Boolean(query.selection.q) && keys.label !== null && fields.key !== null
  return async (offset, size, purpose) => {
    const read = () => filteredPage(context, collection, query, byKey, offset, size, purpose)
    try {
      return await read()
    } catch (error) {
      if (!byKey || !isFilterRefusal(error)) throw error
      byKey = false
      return read()
    }
  }
}

/** @param byKey whether `q` also searches the keys of editions that have titles */
function filteredPage(
  { model, resources }: SourceContext,
  collection: Collection,
  { selection, order, caller }: Query,
  byKey: boolean,
  offset: number,
  size: number,
  purpose: PagePurpose
): Promise<Page<LoadedEdition>> {
  const parameters = [
    ...filterQuery(selection, model, byKey || model.keys.label === null),
    ...pageQuery(offset, size, model, order)
  ]
  return purpose === 'rows'
    ? resources.page(collection, parameters, caller)
    : resources.sparsePage(collection, parameters, comparedFields(model, order, selection), caller)
}

/** The public names of the fields by which rows are selected and ordered. */
export function comparedFields(
  model: ContentModel,
  order: ListOrder,
  { section, changedFrom, changedBefore }: Selection = {}
): string[] {
  const { keys, fields } = model
  const selected = [keys.revision, keys.label, keys.published, fields.key, fields.editionType]
  const isByChange = [changedFrom, changedBefore].some((time) => time !== undefined)
  const changed = order.field === 'changed' || isByChange ? keys.changed : null
  return [
    publicName(model, keys.id),
    ...publicNames(model, ...selected, changed, section?.field ?? null)
  ]
}

/** What is not published, for callers that Drupal lets filter among the published rows. */
function unpublishedSource(
  context: SourceContext,
  collection: Collection,
  query: Query,
  isCertain: boolean
): Source<LoadedEdition> {
  const { selection, order, caller } = query
  const isByText =
    Boolean(selection.q) || selection.key !== undefined || selection.section !== undefined
  const reading: UnpublishedReading = { isByText, areNeeded: !isByText }
  return pagesOfUnpublished(context.unpublished, {
    collection,
    caller,
    read: (parameters, purpose) =>
      readUnpublished(context, reading, collection, query, parameters, purpose),
    resourceOf: ({ resource }) => resource,
    order,
    isCertain
  })
}

/** How pages of what is not published are read. */
interface UnpublishedReading {
  /** Whether titles or keys select rows, which few of them match. */
  isByText: boolean
  /** Whether the list will need rows of the next page, as far as the last one tells. */
  areNeeded: boolean
}

/** Reads a page whole if the list needs rows of it, else no more than what it compares. */
async function readUnpublished(
  { model, resources }: SourceContext,
  reading: UnpublishedReading,
  collection: Collection,
  { selection, order, caller, isWanted }: Query,
  parameters: Parameters,
  purpose: PagePurpose
): Promise<Page<LoadedEdition>> {
  const isWhole = purpose === 'rows' && reading.areNeeded
  const readWhole = () => resources.page(collection, parameters, caller)
  const page = isWhole
    ? await readWhole()
    : await resources.sparsePage(
        collection,
        parameters,
        comparedFields(model, order, selection),
        caller
      )
  const wanted = page.rows.filter(isWanted).length
  reading.areNeeded = !reading.isByText || wanted > DENSE
  return purpose === 'rows' && !isWhole && wanted > 0 ? readWhole() : page
}

/** All pages, for callers that Drupal does not let filter. */
function unfilteredSource(
  { model, resources }: SourceContext,
  collection: Collection,
  { order, caller }: Query
): Source<LoadedEdition> {
  return async (offset, size) => {
    const { count: _, ...page } = await resources.page(
      collection,
      pageQuery(offset, size, model, order),
      caller
    )
    return page
  }
}

/** Whether Drupal has refused a filter: the field does not exist, or the caller may not see it. */
function isFilterRefusal(error: unknown): boolean {
  return ['CMS_REFUSED', 'CMS_FORBIDDEN', 'CMS_UNAUTHORIZED'].includes((error as Failure).code)
}
