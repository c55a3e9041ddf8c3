import { Failure, texts } from '../../errors.ts'
import type { Caller } from '../../http/calls.ts'
import { isUuid } from '../../patterns.ts'
import { publicName } from '../model.ts'
import type { Collection } from '../site/catalog.ts'
import type { Site } from '../site/site.ts'
import { pageQuery, PAGE_MAX } from '../translate/query.ts'
import type { LoadedEdition } from '../translate/read.ts'
import { mismatch, rowId } from '../translate/verify.ts'
import { findById } from './find-by-id.ts'
import type { Purpose } from './resource-context.ts'
import type { Resources } from './resources.ts'

/**
 * Finds an edition of any bundle by its integer id or uuid.
 * @throws {Failure} NOT_FOUND, CMS_UNAUTHORIZED, CMS_FORBIDDEN, and all other failures of the CMS
 */
export type Load = (idOrUuid: string, caller: Caller, purpose?: Purpose) => Promise<LoadedEdition>

export function createFinder(
  { catalog, filters, model, noun, ids }: Site,
  { individual, sparsePage }: Resources
): Load {
  const idAttribute = publicName(model, model.keys.id)

  async function load(
    idOrUuid: string,
    caller: Caller,
    purpose: Purpose = 'edition'
  ): Promise<LoadedEdition> {
    const id = idOrUuid.toLowerCase()
    const collections = await catalog.editions(caller)
    const place = ids.get(id)
    const byItsUuid = place ? place.uuid.toLowerCase() === id : isUuid(id)
    const collection = place && collections.find(({ resourceType }) => resourceType === place.type)
    if (collection) {
      const edition = await individual(collection, { uuid: place.uuid }, caller, purpose)
      // A site that was set back to an earlier state may have given an id to another edition since.
      if (
        edition &&
        (byItsUuid || String(edition.resource.attributes?.[idAttribute]) === String(Number(id)))
      ) {
        return edition
      }
      if (byItsUuid) throw notFound(id)
    }
    return byItsUuid
      ? byUuid(collections, id, caller, purpose)
      : byInteger(collections, id, caller, purpose)
  }

  /** Drupal does not compare the bundle in the path with the edition's own, so one collection serves for all. */
  async function byUuid(
    collections: Collection[],
    uuid: string,
    caller: Caller,
    purpose: Purpose
  ): Promise<LoadedEdition> {
    const edition = await individual(collections[0]!, { uuid }, caller, purpose)
    // The content model may leave out the edition's bundle.
    if (edition && collections.some(({ resourceType }) => resourceType === edition.resource.type)) {
      return edition
    }
    throw notFound(uuid)
  }

  async function byInteger(
    collections: Collection[],
    id: string,
    caller: Caller,
    purpose: Purpose
  ): Promise<LoadedEdition> {
    if (filters.recall(collections, caller) === 'none') {
      return byScan(collections, id, caller, purpose)
    }
    const answers = await Promise.all(
      collections.map((collection) => individual(collection, { id }, caller, purpose))
    )
    const edition = answers.find((answer) => answer !== undefined)
    if (edition) return edition
    if ((await filters.reach(collections, caller)) === 'all') throw notFound(id)
    return byScan(collections, id, caller, purpose)
  }

  async function byScan(
    collections: Collection[],
    id: string,
    caller: Caller,
    purpose: Purpose
  ): Promise<LoadedEdition> {
    const idOf = ({ resource }: LoadedEdition) => rowId(resource, idAttribute)
    const rows = await Promise.all(
      collections.map(async (collection) => {
        const row = await findById(
          Number(id),
          (offset) =>
            sparsePage(collection, pageQuery(offset, PAGE_MAX, model), [idAttribute], caller),
          idOf
        )
        return row && { collection, uuid: row.resource.id }
      })
    )
    const row = rows.find((row) => row !== undefined)
    const edition = row && (await individual(row.collection, { uuid: row.uuid }, caller, purpose))
    if (!edition) throw notFound(id)
    if (idOf(edition) !== Number(id)) throw mismatch(`${noun} ${id}`, edition.resource)
    return edition
  }

  function notFound(id: string): Failure {
    return new Failure('NOT_FOUND', texts.noSuch(noun, id))
  }

  return load
}
