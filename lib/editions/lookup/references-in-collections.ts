import { resources, scalarText, type Resource } from '../../drupal/document.ts'
import type { Caller } from '../../http/calls.ts'
import type { Collection } from '../site/catalog.ts'
import { refusal } from '../translate/failures.ts'
import { idQuery, PAGE_MAX, type Page, type Parameters } from '../translate/query.ts'
import { mismatch, rowId, rowsOf } from '../translate/verify.ts'
import { findById } from './find-by-id.ts'
import { referenceKey, type ReferenceContext } from './reference-context.ts'

/** Entities of one type that are looked up by their ids. */
interface EntityLookup {
  entityType: string
  /** The collections of this type. */
  collections: Collection[]
  /** The attribute with the integer id. */
  idAttribute: string
  caller: Caller
}

/**
 * How many pages it takes to find an id in an ordered collection of some ten thousand
 * (find-by-id.ts).
 */
const LOOKS = 16

/** What an integer id looks like. */
export const INTEGER = /^-?\d+$/

/**
 * Looks entities up in the collections of their type: with a filter, and, where the caller may not
 * filter all rows, one by one.
 */
export async function lookUpInCollections(
  context: ReferenceContext,
  collections: Collection[],
  entityType: string,
  ids: string[],
  caller: Caller
): Promise<void> {
  const { filters, identifierCache } = context
  const idAttribute = await idAttributeOf(context, entityType, collections, caller)
  const lookup = { entityType, collections, idAttribute, caller }
  await lookUpByFilter(context, lookup, ids)
  const missing = ids.filter(
    (id) => /^\d+$/.test(id) && !identifierCache.get(referenceKey(entityType, id))
  )
  if (missing.length === 0 || (await filters.reach(collections, caller)) === 'all') return
  caller.budget?.allow(missing.length * collections.length * LOOKS)
  await Promise.all(
    missing.flatMap((id) =>
      collections.map((collection) => lookUpByScan(context, lookup, collection, id))
    )
  )
}

/**
 * The attribute with the integer id: as the content model names it, else the first internal
 * attribute of any document.
 */
async function idAttributeOf(
  { cms, model, idAttributes }: ReferenceContext,
  entityType: string,
  [collection]: Collection[],
  caller: Caller
): Promise<string> {
  const key = model.idKeys[entityType]
  if (key !== undefined) return `drupal_internal__${key}`
  const last = idAttributes.get(entityType)
  if (last !== undefined || !collection) return last ?? 'drupal_internal__id'
  const { document } = await cms.request({
    path: collection.path,
    query: [['page[limit]', '1']],
    caller
  })
  const [row] = rowsOf(resources(document), collection)
  const attribute = Object.keys(row?.attributes ?? {}).find((name) =>
    name.startsWith('drupal_internal__')
  )
  if (attribute !== undefined) idAttributes.set(entityType, attribute)
  return attribute ?? 'drupal_internal__id'
}

async function lookUpByFilter(
  context: ReferenceContext,
  lookup: EntityLookup,
  ids: string[]
): Promise<void> {
  const batches = Array.from({ length: Math.ceil(ids.length / PAGE_MAX) }, (_, index) =>
    ids.slice(index * PAGE_MAX, (index + 1) * PAGE_MAX)
  )
  await Promise.all(
    lookup.collections.flatMap((collection) =>
      batches.map((batch) => lookUpBatch(context, lookup, collection, batch))
    )
  )
}

/** Looks up as many entities as one page has. */
async function lookUpBatch(
  { cms, model, idAttributes, identifierCache }: ReferenceContext,
  { entityType, idAttribute, caller }: EntityLookup,
  collection: Collection,
  ids: string[]
): Promise<void> {
  const { path, resourceType } = collection
  const query: Parameters = [
    ...idQuery(idAttribute, ids),
    [`fields[${resourceType}]`, idAttribute],
    ['page[limit]', String(PAGE_MAX)]
  ]
  const answer = await cms.request({ path, query, caller })
  // Where no document has shown the attribute, it may have another name.
  const isGuess = !(entityType in model.idKeys) && !idAttributes.has(entityType)
  if (answer.status === 400 && isGuess) return
  if (answer.status >= 400) throw refusal(answer)
  for (const row of rowsOf(resources(answer.document), collection)) {
    const id = scalarText(row.attributes?.[idAttribute])
    if (isOther(id, ids)) throw mismatch(`${entityType} ${ids.join(', ')}`, row)
    identifierCache.set(referenceKey(entityType, id), { type: row.type, id: row.id })
  }
}

/**
 * Whether nobody asked for an id. For ids that are not integers a database may find similar ones.
 */
function isOther(id: string, ids: string[]): boolean {
  return (
    INTEGER.test(id) && ids.every((wanted) => INTEGER.test(wanted) && Number(wanted) !== Number(id))
  )
}

/** Looks for one entity in a collection that is ordered by ids. */
async function lookUpByScan(
  context: ReferenceContext,
  lookup: EntityLookup,
  collection: Collection,
  id: string
): Promise<void> {
  const { entityType, idAttribute, caller } = lookup
  const idOf = (row: Resource) => rowId(row, idAttribute)
  const row = await findById(
    Number(id),
    async (offset) => {
      const page = await pageAt(context, lookup, collection, offset)
      context.rows.learnPage(collection, caller, offset, page.rows.map(idOf))
      return page
    },
    idOf,
    context.rows.guessPosition(collection, caller, Number(id))
  )
  if (!row) return
  context.identifierCache.set(referenceKey(entityType, id), { type: row.type, id: row.id })
}

/** The rows of a collection from an offset on, the newest first. */
async function pageAt(
  { cms }: ReferenceContext,
  { idAttribute, caller }: EntityLookup,
  collection: Collection,
  offset: number
): Promise<Page<Resource>> {
  const { path, resourceType } = collection
  const query: Parameters = [
    ['sort', `-${idAttribute}`],
    ['page[offset]', String(offset)],
    ['page[limit]', String(PAGE_MAX)],
    [`fields[${resourceType}]`, idAttribute]
  ]
  const answer = await cms.request({ path, query, caller })
  if (answer.status >= 400) throw refusal(answer)
  return {
    rows: rowsOf(resources(answer.document), collection),
    more: answer.document.links?.next !== undefined
  }
}
