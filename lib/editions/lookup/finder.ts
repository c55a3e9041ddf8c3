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

/** What the look-up of an edition works with. */
interface FinderContext extends Pick<
  Site,
  'catalog' | 'filters' | 'model' | 'noun' | 'ids' | 'rows'
> {
  resources: Pick<Resources, 'individual' | 'sparsePage'>
  /** The attribute with the integer id of an edition. */
  idAttribute: string
}

/** What an edition is looked up by, in which collections, by whom and what for. */
interface FinderQuestion {
  collections: Collection[]
  /** Integer id or uuid, in lower case. */
  id: string
  caller: Caller
  purpose: Purpose
}

export function createFinder(
  { catalog, filters, model, noun, ids, rows }: Site,
  resources: Resources
): Load {
  const idAttribute = publicName(model, model.keys.id)
  const context = { catalog, filters, model, noun, ids, rows, resources, idAttribute }
  return (idOrUuid, caller, purpose) => findEdition(context, idOrUuid, caller, purpose)
}

/** Finds an edition where Quoin has met it before, or else in all collections (`Load`). */
export async function findEdition(
  context: FinderContext,
  idOrUuid: string,
  caller: Caller,
  purpose: Purpose = 'edition'
): Promise<LoadedEdition> {
  const { catalog, ids, resources, idAttribute, noun } = context
  const id = idOrUuid.toLowerCase()
  const collections = await catalog.editions(caller)
  const place = ids.get(id)
  const isByUuid = place ? place.uuid.toLowerCase() === id : isUuid(id)
  const collection = place && collections.find(({ resourceType }) => resourceType === place.type)
  if (collection) {
    const edition = await resources.individual(collection, { uuid: place.uuid }, caller, purpose)
    // A site that was set back to an earlier state may have given an id to another edition since.
    const hasId =
      isByUuid || String(edition?.resource.attributes?.[idAttribute]) === String(Number(id))
    if (edition && hasId) return edition
    if (isByUuid) throw notFound(noun, id)
  }
  const question = { collections, id, caller, purpose }
  return isByUuid ? findByUuid(context, question) : findByInteger(context, question)
}

/**
 * Drupal does not compare the bundle in the path with the edition's own, so one collection serves
 * for all.
 */
async function findByUuid(
  { resources, noun }: FinderContext,
  { collections, id: uuid, caller, purpose }: FinderQuestion
): Promise<LoadedEdition> {
  const edition = await resources.individual(collections[0]!, { uuid }, caller, purpose)
  // The content model may leave out the edition's bundle.
  if (edition && collections.some(({ resourceType }) => resourceType === edition.resource.type)) {
    return edition
  }
  throw notFound(noun, uuid)
}

/** Finds an edition with a filter, or by a scan where the caller may not filter all editions. */
async function findByInteger(
  context: FinderContext,
  question: FinderQuestion
): Promise<LoadedEdition> {
  const { filters, resources, noun } = context
  const { collections, id, caller, purpose } = question
  if (filters.recall(collections, caller) === 'none') return findByScan(context, question)
  const editions = await Promise.all(
    collections.map((collection) => resources.individual(collection, { id }, caller, purpose))
  )
  const edition = editions.find((edition) => edition !== undefined)
  if (edition) return edition
  if ((await filters.reach(collections, caller)) === 'all') throw notFound(noun, id)
  return findByScan(context, question)
}

/** Finds an edition in collections that are ordered by ids. */
async function findByScan(
  context: FinderContext,
  question: FinderQuestion
): Promise<LoadedEdition> {
  const { noun, resources, idAttribute } = context
  const { collections, id, caller, purpose } = question
  const rows = await Promise.all(
    collections.map(async (collection) => {
      const row = await scan(context, collection, Number(id), caller)
      return row && { collection, uuid: row.resource.id }
    })
  )
  const row = rows.find((row) => row !== undefined)
  const edition =
    row && (await resources.individual(row.collection, { uuid: row.uuid }, caller, purpose))
  if (!edition) throw notFound(noun, id)
  if (rowId(edition.resource, idAttribute) !== Number(id)) {
    throw mismatch(`${noun} ${id}`, edition.resource)
  }
  return edition
}

/** The row of a collection with an integer id. */
function scan(
  { model, resources, rows, idAttribute }: FinderContext,
  collection: Collection,
  id: number,
  caller: Caller
): Promise<LoadedEdition | undefined> {
  const idOf = ({ resource }: LoadedEdition) => rowId(resource, idAttribute)
  return findById(
    id,
    async (offset) => {
      const query = pageQuery(offset, PAGE_MAX, model)
      const page = await resources.sparsePage(collection, query, [idAttribute], caller)
      rows.learnPage(collection, caller, offset, page.rows.map(idOf))
      return page
    },
    idOf,
    rows.guessPosition(collection, caller, id)
  )
}

function notFound(noun: string, id: string): Failure {
  return new Failure('NOT_FOUND', texts.noSuch(noun, id))
}
