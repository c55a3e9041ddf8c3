import { Failure } from '../errors.ts'
import type { Caller } from '../jsonapi/credentials.ts'
import type { Catalog, Collection } from './catalog.ts'
import { list, type Listing, type Page } from './listing.ts'
import { publicName, type ContentModel } from './model.ts'
import { filterQuery, pageQuery, PAGE_MAX, type Selection } from './query.ts'
import type { Loaded, Resources } from './resources.ts'

/** What a list is asked for. */
export interface Search {
  /** Substring of the title. */
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

/**
 * Lists editions of one bundle, or of one edition type, or of all bundles when `bundle` is the entity type's own name.
 * @throws {Failure} NOT_FOUND for an unknown bundle, BAD_REQUEST for an unknown edition type.
 */
export function createSearch ({ catalog, resources, model }: { catalog: Catalog, resources: Resources, model: ContentModel }) {
  const idAttribute = publicName(model, model.keys.id)
  const keyAttribute = publicName(model, model.fields.key)

  return async function search (bundle: string, { type, limit, offset, total, ...selection }: Search, caller: Caller): Promise<Listing<Loaded>> {
    const { collections, types } = await scope(bundle, type, caller)
    return list({
      sources: collections.map((collection) => (from, size, purpose) => page(collection, { ...selection, types }, from, size, purpose, caller)),
      offset,
      limit,
      total,
      pageMax: PAGE_MAX,
      idOf: ({ resource }) => Number(resource.attributes?.[idAttribute])
    })
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

  async function page (collection: Collection, selection: Selection, offset: number, size: number, purpose: 'rows' | 'count', caller: Caller): Promise<Page<Loaded>> {
    const query = [...filterQuery(selection, model), ...pageQuery(offset, size, model)]
    const found = purpose === 'rows'
      ? await resources.page(collection, query, caller)
      : await resources.sparsePage(collection, query, selection.key === undefined ? [idAttribute] : [idAttribute, keyAttribute], caller)
    return { ...found, rows: found.rows.filter(wanted) }

    /** Databases compare text without regard to case; a key is exact. */
    function wanted ({ resource }: Loaded): boolean {
      return selection.key === undefined || resource.attributes?.[keyAttribute] === selection.key
    }
  }
}
