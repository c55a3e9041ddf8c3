import { Failure } from '../../errors.ts'
import { callOf, type Caller } from '../../http/calls.ts'
import type { Resources } from '../lookup/resources.ts'
import { publicName } from '../model.ts'
import type { Collection } from '../site/catalog.ts'
import type { Site } from '../site/site.ts'
import { filterQuery, pageQuery, PAGE_MAX, type Selection } from '../translate/query.ts'
import type { Page } from '../translate/query.ts'
import type { LoadedEdition } from '../translate/read.ts'
import { rowId } from '../translate/verify.ts'
import { list, type Listing } from './listing.ts'
import { matchesText, matchesSelection } from './selection.ts'
import type { Source } from './source.ts'
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
  /** Whether the total is to be found whatever it takes. */
  total: boolean
}

/** How many requests a list may take for each collection, besides those that its offset and limit take: to skip rows, and to see that none is hidden. */
const LOOKS = 10

/**
 * Lists editions of one bundle, or of one edition type, or of all bundles when `bundle` is the entity type's own name.
 * @throws {Failure} NOT_FOUND for an unknown bundle, BAD_REQUEST for an unknown edition type.
 */
export function createSearch ({ cms, catalog, filters, model }: Site, resources: Resources) {
  const idAttribute = publicName(model, model.keys.id)
  const nothingHidden = createVisibilityCheck({ cms, model })
  const isOwnCount = createCountCheck({ cms, model })
  const compared = [idAttribute, ...[model.keys.label, model.keys.published, model.fields.key, model.fields.editionType ?? model.keys.published].map((field) => publicName(model, field))]

  return async function search (bundle: string, { type, limit, offset, total, ...selection }: Search, caller: Caller): Promise<Listing<LoadedEdition>> {
    const { collections, types } = await scope(bundle, type, caller)
    const wanted = { ...selection, types }
    const isFiltered = filterQuery(wanted, model).length > 0
    callOf(caller)?.allow(Math.ceil((offset + limit) / PAGE_MAX) + LOOKS * collections.length)
    // What can be compared exactly is compared again where Drupal filters: databases do not tell upper from lower case, and a
    // filter matches any translation of an edition, be it shown or not.
    const { q, ...exact } = wanted
    const isFilterMatch = ({ resource }: LoadedEdition) => matchesSelection(exact, resource, model) && (!q || matchesText(q, resource, model))
    const isScanMatch = ({ resource }: LoadedEdition) => matchesSelection(wanted, resource, model)
    const listed = (page: typeof filtered, isWanted: typeof isScanMatch) => list({
      sources: collections.map((collection) => page(collection, wanted, caller)),
      offset,
      limit,
      total,
      pageMax: PAGE_MAX,
      nothingHidden: isFiltered || filters.known(collections, caller) === false
        ? undefined
        : (source, position, id) => nothingHidden(collections[source]!, position, id, caller),
      // A key that is the same but for upper and lower case is counted too.
      isOwnCount: !selection.key && !selection.q ? (source, count) => isOwnCount(collections[source]!, isFiltered, count, caller) : undefined,
      idOf: ({ resource }) => rowId(resource, idAttribute),
      isWanted
    })
    if (isFiltered && filters.known(collections, caller) === false) return listed(scanned, isScanMatch)
    const found = await listed(filtered, isFilterMatch)
    const isEmpty = isFiltered && found.rows.length === 0 && !found.hasMore && found.total === 0
    return isEmpty && !await filters.usable(collections, caller) ? listed(scanned, isScanMatch) : found
  }

  /** The collections to read and the edition types to filter by. */
  async function scope (bundle: string, type: string | undefined, caller: Caller): Promise<{ collections: Collection[], types: string[] }> {
    const all = await catalog.editions(caller)
    const ofBundle = all.filter((collection) => collection.bundle === bundle)
    const whole = bundle === model.entityType
    const isType = !whole && ofBundle.length === 0
    const types = [...isType ? [bundle] : [], ...type === undefined ? [] : [type]]
    const allowed = types.length === 0 ? [] : (await catalog.editionTypes(caller)).map(({ id }) => id)
    if (isType && !allowed.includes(bundle)) {
      const names = [...new Set([model.entityType, ...all.map((collection) => collection.bundle), ...allowed])]
      throw new Failure('NOT_FOUND', `There is no bundle "${bundle}"; there are ${names.join(', ')}`)
    }
    if (type !== undefined && !allowed.includes(type)) throw new Failure('BAD_REQUEST', `querystring/type must be ${allowed.map((name) => `"${name}"`).join(' or ')}`)
    const read = whole || isType ? all : ofBundle
    return model.fields.editionType === null ? { collections: read.filter((collection) => types.every((name) => name === collection.bundle)), types: [] } : { collections: read, types }
  }

  /**
   * Pages that Drupal filters. A site without keys, and one that does not show them to the caller, refuses to filter by them:
   * then `q` is looked for in titles alone.
   */
  function filtered (collection: Collection, selection: Selection, caller: Caller): Source<LoadedEdition> {
    let byKey = Boolean(selection.q)
    return (offset, size, purpose) => {
      return ask().catch((error) => {
        if (!byKey || !isRefusal(error)) throw error
        byKey = false
        return ask()
      })

      function ask (): Promise<Page<LoadedEdition>> {
        const query = [...filterQuery(selection, model, byKey), ...pageQuery(offset, size, model)]
        return purpose === 'rows' ? resources.page(collection, query, caller) : resources.sparsePage(collection, query, compared, caller)
      }
    }
  }

  /** All pages, for callers whom Drupal does not let filter. */
  function scanned (collection: Collection, _selection: Selection, caller: Caller): Source<LoadedEdition> {
    return async (offset, size) => {
      const { rows, more } = await resources.page(collection, pageQuery(offset, size, model), caller)
      return { rows, more }
    }
  }
}

/** Whether Drupal has refused a filter: there is no such field, or it is not shown to the caller. */
function isRefusal (error: unknown): boolean {
  return ['CMS_REFUSED', 'CMS_FORBIDDEN', 'CMS_UNAUTHORIZED'].includes((error as Failure).code)
}
