import { LRUCache } from 'lru-cache'
import { Failure } from '../../errors.ts'
import type { Caller } from '../../http/calls.ts'
import { scalarText, type Resource } from '../../jsonapi/document.ts'
import { findById } from '../list/scan.ts'
import { publicName, type ContentModel } from '../model.ts'
import type { Catalog, Collection } from '../site/catalog.ts'
import type { Filters } from '../site/filters.ts'
import { pageQuery, PAGE_MAX } from '../translate/query.ts'
import { integerId, mismatch, rowId } from '../translate/verify.ts'
import type { LoadedEdition, Resources } from './resources.ts'

export interface Finder {
  load: Resources['load']
  /** The edition with a uuid, of whatever bundle; undefined where there is none. */
  findByUuid (collection: Collection, uuid: string, caller: Caller, purpose: Purpose): Promise<LoadedEdition | undefined>
  /** That the ids of a resource are its own. */
  remember (resource: Resource): void
}

export interface FinderOptions {
  catalog: Catalog
  filters: Filters
  model: ContentModel
  /**
   * The edition of a collection with this uuid or integer id; undefined where there is none.
   * @throws {Failure} CMS_INVALID_RESPONSE where the CMS answers with another one
   */
  one (collection: Collection, wanted: Wanted, caller: Caller, purpose: Purpose): Promise<LoadedEdition | undefined>
  sparsePage: Resources['sparsePage']
}

/** What an edition is asked for by. */
export type Wanted = { uuid: string } | { id: string }

/** What an edition is wanted for: `bare` without the urls of its references. */
export type Purpose = 'edition' | 'bare'

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** How many ids of editions are remembered with their resource types. */
const REMEMBERED = 50_000

/** Finds editions by their integer ids or uuids, be they of any bundle. */
export function createFinder ({ catalog, filters, model, one, sparsePage }: FinderOptions): Finder {
  // As a size, since with `max` the room for all of them would be set aside at once.
  const remembered = new LRUCache<string, { type: string, uuid: string }>({ maxSize: REMEMBERED, sizeCalculation: () => 1 })
  const idAttribute = publicName(model, model.keys.id)

  function remember ({ type, id: uuid, attributes }: Resource): void {
    for (const id of [uuid.toLowerCase(), scalarText(attributes?.[idAttribute])]) remembered.set(id, { type, uuid })
  }

  async function load (given: string, caller: Caller, purpose: Purpose = 'edition'): Promise<LoadedEdition> {
    const id = given.toLowerCase()
    const collections = await catalog.editions(caller)
    const known = remembered.get(id)
    const isUuid = UUID.test(id)
    const collection = known && collections.find(({ resourceType }) => resourceType === known.type)
    if (collection) {
      const found = await findByUuid(collection, known.uuid, caller, purpose)
      // A site that was set back to an earlier state may have given an id to another edition since.
      if (found && (isUuid || integerId(found.resource, idAttribute) === Number(id))) return found
      if (isUuid) notFound(id)
    }
    if (!isUuid) return byInteger(collections, id, caller, purpose)
    const found = await findByUuid(collections[0]!, id, caller, purpose) ?? notFound(id)
    // It may be of a bundle that the content model leaves out.
    return collections.some(({ resourceType }) => resourceType === found.resource.type) ? found : notFound(id)
  }

  /** Drupal does not compare the bundle in the path with the edition's own, so any collection of the entity type serves. */
  function findByUuid (collection: Collection, uuid: string, caller: Caller, purpose: Purpose): Promise<LoadedEdition | undefined> {
    return one(collection, { uuid }, caller, purpose)
  }

  async function byInteger (collections: Collection[], id: string, caller: Caller, purpose: Purpose): Promise<LoadedEdition> {
    if (filters.known(collections, caller) === false) return byScan(collections, id, caller, purpose)
    const answers = await Promise.all(collections.map((collection) => one(collection, { id }, caller, purpose)))
    const found = answers.find((found) => found !== undefined)
    return found ?? (await filters.usable(collections, caller) ? notFound(id) : byScan(collections, id, caller, purpose))
  }

  async function byScan (collections: Collection[], id: string, caller: Caller, purpose: Purpose): Promise<LoadedEdition> {
    const idOf = ({ resource }: LoadedEdition) => rowId(resource, idAttribute)
    const rows = await Promise.all(collections.map(async (collection) => {
      const row = await findById(Number(id), (offset) => sparsePage(collection, pageQuery(offset, PAGE_MAX, model), [idAttribute], caller), idOf)
      return row && { collection, uuid: row.resource.id }
    }))
    const row = rows.find((row) => row !== undefined)
    const found = (row && await findByUuid(row.collection, row.uuid, caller, purpose)) ?? notFound(id)
    if (idOf(found) !== Number(id)) throw mismatch(`edition ${id}`, found.resource)
    return found
  }

  return { load, findByUuid, remember }
}

function notFound (id: string): never {
  throw new Failure('NOT_FOUND', `There is no edition ${id}`)
}
