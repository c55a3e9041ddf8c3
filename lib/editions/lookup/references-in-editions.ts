import { fingerprint } from '../../drupal/credentials.ts'
import { identifiers, resources, scalarText } from '../../drupal/document.ts'
import type { Caller } from '../../http/calls.ts'
import { publicName, splitType } from '../model.ts'
import type { Collection } from '../site/catalog.ts'
import { idQuery, pageQuery, PAGE_MAX, type Parameters } from '../translate/query.ts'
import { isLost } from '../translate/read.ts'
import { rowsOf } from '../translate/verify.ts'
import { referenceKey, type ReferenceContext } from './reference-context.ts'

/** How many pages of each collection of editions Quoin reads for references, the newest first. */
const SCANNED = 20

/**
 * Looks for references in other editions, whose identifiers have the uuid even of an entity that
 * the caller may not see. Whether this caller may refer to it is then Drupal's decision.
 */
export async function lookUpInEditions(
  context: ReferenceContext,
  field: string,
  ids: string[],
  caller: Caller
): Promise<void> {
  const { catalog, filters, model, scans } = context
  const name = publicName(model, field)
  const collections = await catalog.editions(caller)
  const query = idQuery(`${name}.meta.drupal_internal__target_id`, ids.slice(0, PAGE_MAX))
  const pages = await Promise.all(
    collections.map((collection) => referring(context, collection, name, query, caller))
  )
  const shownIds = new Set(pages.flatMap((page) => page.ids))
  if (ids.every((id) => shownIds.has(id))) return
  if ((await filters.reach(collections, caller)) === 'all') return
  const scan = `${field}:${fingerprint(caller)}`
  if (scans.has(scan)) return
  caller.budget?.allow(collections.length * SCANNED)
  await Promise.all(
    collections.map((collection) => scanEditions(context, collection, name, new Set(ids), caller))
  )
  scans.set(scan, true)
}

/**
 * Reads the newest editions, for a caller who may not filter them.
 * @param missingIds what to look for
 */
async function scanEditions(
  context: ReferenceContext,
  collection: Collection,
  name: string,
  missingIds: Set<string>,
  caller: Caller
): Promise<void> {
  for (let page = 0; page < SCANNED; page++) {
    const query = pageQuery(page * PAGE_MAX, PAGE_MAX, context.model)
    const { ids, more } = await referring(context, collection, name, query, caller)
    for (const id of ids) missingIds.delete(id)
    if (!more || missingIds.size === 0) return
  }
}

/** Remembers what editions refer to in a field. @returns the ids of it */
async function referring(
  { cms, model, identifierCache }: ReferenceContext,
  collection: Collection,
  name: string,
  query: Parameters,
  caller: Caller
): Promise<{ ids: string[]; more: boolean }> {
  const { path, resourceType } = collection
  const { document } = await cms.request({
    path,
    query: [...query, [`fields[${resourceType}]`, name]],
    caller
  })
  const references = rowsOf(resources(document), collection)
    .flatMap(({ relationships }) => identifiers(relationships?.[name]))
    .filter((identifier) => !isLost(identifier))
    .map(({ type, id: uuid, meta }) => ({
      type,
      uuid,
      id: scalarText(meta?.drupal_internal__target_id)
    }))
  for (const { type, uuid, id } of references) {
    const { entityType } = splitType(model, type)
    identifierCache.set(referenceKey(entityType, id), { type, id: uuid })
  }
  return { ids: references.map(({ id }) => id), more: document.links?.next !== undefined }
}
