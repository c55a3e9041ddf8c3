import { Failure } from '../../errors.ts'
import { LARGE_ANSWER } from '../../http/answer-memory.ts'
import { callOf, type Caller } from '../../http/calls.ts'
import type { Resources } from '../lookup/resources.ts'
import { publicName, publicNames } from '../model.ts'
import type { Collection } from '../site/catalog.ts'
import type { Site } from '../site/site.ts'
import { isWithoutField } from '../translate/failures.ts'
import { filterQuery, pageQuery, PAGE_MAX, type Selection } from '../translate/query.ts'
import type { Page } from '../translate/query.ts'
import type { LoadedEdition } from '../translate/read.ts'
import { rowId } from '../translate/verify.ts'
import type { Source } from './deep.ts'
import { createUnpublished } from './unpublished.ts'
import { list, type Listing } from './listing.ts'
import { matchesSelection } from './selection.ts'
import { createCountCheck, createVisibilityCheck } from './visibility.ts'

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
  limit: number
  offset: number
  /** Whether to find the total, whatever it takes. */
  total: boolean
  /** Whether an empty answer has to be certain, whatever it takes. */
  isCertain?: boolean
}

/** How many more requests than its offset and limit take a list may make for each collection: to skip rows, and to check that none is hidden. */
const LOOKS = 10

/**
 * Lists editions of one bundle, or of one edition type, or of all bundles when `bundle` is the entity type's own name.
 * @throws {Failure} NOT_FOUND for an unknown bundle, BAD_REQUEST for an unknown edition type.
 */
export function createSearch({ cms, catalog, filters, model, warn }: Site, resources: Resources) {
  const idAttribute = publicName(model, model.keys.id)
  const isAllVisible = createVisibilityCheck({ cms, model })
  const isOwnCount = createCountCheck({ cms, model })
  const unpublishedOf = createUnpublished({ model, warn })
  const { keys, fields } = model
  const comparisonFields = [
    idAttribute,
    ...publicNames(model, keys.revision, keys.label, keys.published, fields.key, fields.editionType)
  ]

  return async function search(
    bundle: string,
    { type, limit, offset, total, isCertain, ...selection }: Search,
    caller: Caller
  ): Promise<Listing<LoadedEdition>> {
    refuseUnanswerable(selection)
    const { collections, types } = await scope(bundle, type, caller)
    const query = { ...selection, types }
    const isFiltered = filterQuery(query, model).length > 0
    const lacking = new Set<Collection>()
    const isWanted = ({ resource }: LoadedEdition) => matchesSelection(query, resource, model)
    callOf(caller)?.allow(Math.ceil((offset + limit) / PAGE_MAX) + LOOKS * collections.length)
    // Rows that Drupal has filtered are compared again: databases ignore case in keys and accents in titles, and a filter matches
    // every translation of an edition, also one that is not shown. So a caller who may filter gets the same rows as one who may not.
    const rowsFrom = (...pages: Array<typeof filteredSource>) =>
      list({
        sources: pages.flatMap((page) =>
          collections.map((collection) =>
            dropUnwanted(orNothing(collection, page(collection, query, caller)))
          )
        ),
        offset,
        limit,
        total,
        pageMax: PAGE_MAX,
        areWhole: pages.length > 1,
        nothingHidden:
          isFiltered || filters.recall(collections, caller) === 'none'
            ? undefined
            : (source, position, id) => isAllVisible(collections[source]!, position, id, caller),
        // The CMS also counts keys that differ only in case, and a part of the rows alone where there are several sources.
        isOwnCount:
          !selection.key && !selection.q && pages.length === 1
            ? (source, count) => isOwnCount(collections[source]!, isFiltered, count, caller)
            : undefined,
        idOf: ({ resource }) => rowId(resource, idAttribute),
        isWanted
      })
    const listing = await find()
    return { ...listing, rows: await resources.newest(listing.rows, caller) }

    /** Gives back the memory for rows that are not for the answer. */
    function dropUnwanted(source: Source<LoadedEdition>): Source<LoadedEdition> {
      return async (from, size, purpose) => {
        const page = await source(from, size, purpose)
        const { rows, bytes = 0 } = page
        if (bytes < LARGE_ANSWER) return page
        const kept = purpose === 'count' ? 0 : rows.filter(isWanted).length
        callOf(caller)?.free(bytes - Math.ceil((bytes * kept) / Math.max(1, rows.length)))
        return page
      }
    }

    /** A bundle without the field of a filter has no such row. That no bundle has it is a mistake in the content model. */
    function orNothing(
      collection: Collection,
      source: Source<LoadedEdition>
    ): Source<LoadedEdition> {
      return (...args) =>
        source(...args).catch((error) => {
          if (!isWithoutField(error)) throw error
          lacking.add(collection)
          if (lacking.size === collections.length) throw error
          return { rows: [], more: false, count: 0 }
        })
    }

    async function find(): Promise<Listing<LoadedEdition>> {
      if (!isFiltered) return rowsFrom(filteredSource)
      const known = filters.recall(collections, caller)
      if (known !== undefined && known !== 'all') return findAround(known)
      // A filter may also find a part of what the caller may see, such as the published alone.
      const [listing, reach] = await Promise.all([
        rowsFrom(filteredSource),
        filters.reach(collections, caller)
      ])
      return reach === 'all' ? listing : findAround(reach)
    }

    /** Finds also what Drupal does not let the caller filter. */
    async function findAround(reach: 'published' | 'none'): Promise<Listing<LoadedEdition>> {
      if (reach === 'none') return rowsFrom(scannedSource)
      if (selection.status === 1) return rowsFrom(filteredSource)
      const listing = await rowsFrom(filteredSource, unpublishedSource(false))
      return isCertain && listing.rows.length === 0
        ? rowsFrom(filteredSource, unpublishedSource(true))
        : listing
    }
  }

  /** Refuses a selection by what the entity type does not have. */
  function refuseUnanswerable({ q, status, key }: Selection): void {
    const refuse = (parameter: string, lacks: string) => {
      throw new Failure(
        'BAD_REQUEST',
        `querystring/${parameter} cannot be answered: ${model.entityType} has ${lacks}`
      )
    }
    if (status !== undefined && keys.published === null) {
      refuse('status', 'no key published in the content model')
    }
    if (key !== undefined && fields.key === null) refuse('key', 'no field key in the content model')
    if (q && keys.label === null && fields.key === null) {
      refuse('q', 'neither a key label nor a field key in the content model')
    }
  }

  /** The collections to read and the edition types to filter by. */
  async function scope(
    bundle: string,
    type: string | undefined,
    caller: Caller
  ): Promise<{ collections: Collection[]; types: string[] }> {
    const allCollections = await catalog.editions(caller)
    const ofBundle = allCollections.filter((collection) => collection.bundle === bundle)
    const isAll = bundle === model.entityType
    const isType = !isAll && ofBundle.length === 0
    const types = [...(isType ? [bundle] : []), ...(type === undefined ? [] : [type])]
    const allowedTypes =
      types.length === 0 ? [] : (await catalog.editionTypes(caller)).map(({ id }) => id)
    if (isType && !allowedTypes.includes(bundle)) {
      const names = [
        ...new Set([
          model.entityType,
          ...allCollections.map((collection) => collection.bundle),
          ...allowedTypes,
          ...Object.keys(model.lists)
        ])
      ]
      throw new Failure(
        'NOT_FOUND',
        `There is no bundle or list "${bundle}"; there are ${names.join(', ')}`
      )
    }
    if (type !== undefined && !allowedTypes.includes(type)) {
      throw new Failure(
        'BAD_REQUEST',
        `querystring/type must be ${allowedTypes.map((name) => `"${name}"`).join(' or ')}`
      )
    }
    const read = isAll || isType ? allCollections : ofBundle
    return model.fields.editionType === null
      ? {
          collections: read.filter((collection) =>
            types.every((name) => name === collection.bundle)
          ),
          types: []
        }
      : { collections: read, types }
  }

  /**
   * Pages that Drupal filters. A site that has no keys, or does not show them to the caller, refuses to filter by them. Then the
   * search for `q` is in titles only.
   */
  function filteredSource(
    collection: Collection,
    selection: Selection,
    caller: Caller
  ): Source<LoadedEdition> {
    let byKey = Boolean(selection.q) && keys.label !== null && fields.key !== null
    return (offset, size, purpose) => {
      return ask().catch((error) => {
        if (!byKey || !isFilterRefusal(error)) throw error
        byKey = false
        return ask()
      })

      function ask(): Promise<Page<LoadedEdition>> {
        const query = [
          ...filterQuery(selection, model, byKey || keys.label === null),
          ...pageQuery(offset, size, model)
        ]
        return purpose === 'rows'
          ? resources.page(collection, query, caller)
          : resources.sparsePage(collection, query, comparisonFields, caller)
      }
    }
  }

  /** Those that are not published, for callers that Drupal lets filter among the others. */
  function unpublishedSource(isCertain: boolean) {
    return (collection: Collection, _selection: Selection, caller: Caller): Source<LoadedEdition> =>
      unpublishedOf({
        collection,
        caller,
        read: (query) => resources.page(collection, query, caller),
        resourceOf: ({ resource }) => resource,
        isCertain
      })
  }

  /** All pages, for callers that Drupal does not let filter. */
  function scannedSource(
    collection: Collection,
    _selection: Selection,
    caller: Caller
  ): Source<LoadedEdition> {
    return async (offset, size) => {
      const { count: _, ...page } = await resources.page(
        collection,
        pageQuery(offset, size, model),
        caller
      )
      return page
    }
  }
}

/** Whether Drupal has refused a filter: the field does not exist, or the caller may not see it. */
function isFilterRefusal(error: unknown): boolean {
  return ['CMS_REFUSED', 'CMS_FORBIDDEN', 'CMS_UNAUTHORIZED'].includes((error as Failure).code)
}
