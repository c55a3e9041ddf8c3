import { Failure } from '../../errors.ts'
import type { Caller } from '../../http/calls.ts'
import { publicNames, type ContentModel } from '../model.ts'
import type { Catalog, Collection } from '../site/catalog.ts'
import { refusedPath } from '../translate/failures.ts'
import type { ListOrder } from '../translate/order.ts'
import type { Selection } from '../translate/query.ts'

/** The collections that a list reads, and the edition types that it filters by. */
export interface ListScope {
  collections: Collection[]
  types: string[]
}

export interface ScopeContext {
  catalog: Pick<Catalog, 'editions' | 'editionTypes'>
  model: ContentModel
}

/**
 * What a list has to read.
 * @param bundle a bundle of editions, an edition type, or the entity type of editions for all of
 *   them
 * @param type an edition type
 * @throws {Failure} NOT_FOUND for an unknown bundle, BAD_REQUEST for an unknown edition type
 */
export async function listScope(
  { catalog, model }: ScopeContext,
  bundle: string,
  type: string | undefined,
  caller: Caller
): Promise<ListScope> {
  const all = await catalog.editions(caller)
  const ofBundle = all.filter((collection) => collection.bundle === bundle)
  const isAll = bundle === model.entityType
  const isType = !isAll && ofBundle.length === 0
  const types = [...(isType ? [bundle] : []), ...(type === undefined ? [] : [type])]
  const allowedTypes =
    types.length === 0 ? [] : (await catalog.editionTypes(caller)).map(({ id }) => id)
  if (isType && !allowedTypes.includes(bundle)) {
    throw unknownBundle(bundle, all, allowedTypes, model)
  }
  if (type !== undefined && !allowedTypes.includes(type)) throw unknownType(allowedTypes)
  const collections = isAll || isType ? all : ofBundle
  if (model.fields.editionType !== null) return { collections, types }
  // The bundle alone tells the edition type.
  return {
    collections: collections.filter(({ bundle }) => types.every((name) => name === bundle)),
    types: []
  }
}

function unknownBundle(
  bundle: string,
  collections: Collection[],
  types: string[],
  model: ContentModel
): Failure {
  const names = new Set([
    model.entityType,
    ...collections.map((collection) => collection.bundle),
    ...types,
    ...Object.keys(model.lists)
  ])
  return new Failure(
    'NOT_FOUND',
    `There is no bundle or list "${bundle}"; there are ${[...names].join(', ')}`
  )
}

function unknownType(types: string[]): Failure {
  return new Failure(
    'BAD_REQUEST',
    `querystring/type must be ${types.map((name) => `"${name}"`).join(' or ')}`
  )
}

/**
 * Refuses a selection and an order by what the entity type does not have.
 * @throws {Failure} BAD_REQUEST
 */
export function refuseUnanswerable(
  { q, status, key, changedFrom, changedBefore }: Selection,
  order: ListOrder,
  { entityType, keys, fields }: ContentModel
): void {
  if (status !== undefined && keys.published === null) {
    throw unanswerable('status', 'no key published in the content model', entityType)
  }
  if (key !== undefined && fields.key === null) {
    throw unanswerable('key', 'no field key in the content model', entityType)
  }
  if (q && keys.label === null && fields.key === null) {
    throw unanswerable('q', 'neither a key label nor a field key in the content model', entityType)
  }
  if (keys.changed === null) {
    const byChange = { sort: order.field === 'changed' || undefined, changedFrom, changedBefore }
    const [parameter] = Object.entries(byChange).find(([, value]) => value !== undefined) ?? []
    if (parameter) throw unanswerable(parameter, 'no key changed in the content model', entityType)
  }
}

/** What a list is asked for that its entity type does not have. */
export function unanswerable(parameter: string, lack: string, entityType: string): Failure {
  return new Failure(
    'BAD_REQUEST',
    `querystring/${parameter} cannot be answered: ${entityType} has ${lack}`
  )
}

/**
 * Whether Drupal has refused to sort by the time of change: there is no such field, or the caller
 * may not see it.
 */
export function isSortRefusal(failure: Failure, order: ListOrder, model: ContentModel): boolean {
  const path = refusedPath(failure)
  return (
    order.field === 'changed' &&
    publicNames(model, model.keys.changed).some((name) => name === path)
  )
}

export function unsortable(
  { resourceType }: Collection,
  { keys }: ContentModel,
  cause: unknown
): Failure {
  return new Failure(
    'BAD_REQUEST',
    `querystring/sort cannot be answered: Drupal does not sort ${resourceType} by "${keys.changed}", the key changed in the content model. There is no such field, or you may not see it`,
    { cause }
  )
}
