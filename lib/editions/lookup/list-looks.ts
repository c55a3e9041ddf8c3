import type { Caller } from '../../http/calls.ts'
import type { JsonapiAnswer } from '../../drupal/client.ts'
import { isSameUuid, primaryData, type Document } from '../../drupal/document.ts'
import type { List } from '../model.ts'
import { individualPath, type Collection } from '../site/catalog.ts'
import type { Site } from '../site/site.ts'
import { notIncludable, refusal } from '../translate/failures.ts'
import { uuidQuery, type Parameters } from '../translate/query.ts'
import { mismatch, rowsOf } from '../translate/verify.ts'
import {
  createLookMemory,
  LABELS,
  looksIn,
  URI,
  type Look,
  type LookMemory,
  type Looks
} from './looks.ts'
import { fitting, ROOM } from './room.ts'

/** How many rows of a list are asked about at once. */
export const LOOKS_MAX = 20

/** What Drupal answers about a single row that is gone, or that the caller may not see. */
const NOT_SHOWN = [401, 403, 404]

/** What the look-up of a list's images and sections works with. */
interface ListLooksContext extends Pick<Site, 'cms' | 'catalog' | 'noun' | 'origin'> {
  look: Look
  /** The paths of the image and the section, as far as the list names them. */
  paths: string[]
  memory: LookMemory
}

/** A request for rows of a list with some of the paths. */
interface LooksRequest {
  path: string
  query: Parameters
  /** The paths to include. */
  names: string[]
  /** The resource types that the rows may have. */
  types: string[]
  caller: Caller
}

/**
 * @returns a function that reads the images and sections of at most `LOOKS_MAX` rows
 *   (`readListLooks`)
 */
export function createListLooks(
  { cms, catalog, noun, origin }: Pick<Site, 'cms' | 'catalog' | 'noun' | 'origin'>,
  { image, section }: List
): (uuids: string[], caller: Caller) => Promise<Looks> {
  const context: ListLooksContext = {
    cms,
    catalog,
    noun,
    origin,
    look: { image, section },
    paths: [image, section].filter((path) => path !== undefined),
    memory: createLookMemory()
  }
  return (uuids, caller) => readListLooks(context, uuids, caller)
}

/**
 * Reads the images and sections of rows of a list: one request for each bundle of the list, and one
 * for each row that a filter does not find. Drupal lets few callers filter for what is not
 * published.
 * @param uuids of at most `LOOKS_MAX` rows
 * @throws {Failure} as the CMS refuses; CMS_INVALID_RESPONSE
 */
export async function readListLooks(
  context: ListLooksContext,
  uuids: string[],
  caller: Caller
): Promise<Looks> {
  const { catalog, paths, look, origin } = context
  const collections = paths.length === 0 ? [] : await catalog.editions(caller)
  if (collections.length === 0) return { images: {}, sections: {} }
  const pages = await Promise.all(
    collections.map((collection) => readRows(context, collection, uuids, caller))
  )
  const rows = pages.flatMap(primaryData)
  const missing = uuids.filter((uuid) => !rows.some(({ id }) => isSameUuid(id, uuid)))
  const singles = await Promise.all(
    missing.map((uuid) => readRow(context, collections, uuid, caller))
  )
  const looks = [...pages, ...singles].map((document) =>
    looksIn(primaryData(document), document.included ?? [], { lookOf: () => look, origin })
  )
  return {
    images: Object.assign({}, ...looks.map(({ images }) => images)),
    sections: Object.assign({}, ...looks.map(({ sections }) => sections))
  }
}

/** Reads those of the rows that a filter finds in a collection. */
async function readRows(
  context: ListLooksContext,
  collection: Collection,
  uuids: string[],
  caller: Caller
): Promise<Document> {
  const { paths, memory, noun } = context
  const { path, resourceType } = collection
  const request: LooksRequest = {
    path,
    query: [...uuidQuery(uuids), ['page[limit]', String(LOOKS_MAX)]],
    names: paths.filter((name) => memory.isOpen(resourceType, name)),
    types: [resourceType],
    caller
  }
  const answer = await requestLooks(context, request, (name) => memory.refuse(resourceType, name))
  if (answer.status >= 400) throw refusal(answer)
  const other = rowsOf(primaryData(answer.document), collection).find(
    ({ id }) => !uuids.some((uuid) => isSameUuid(uuid, id))
  )
  if (other) throw mismatch(`rows of ${noun}`, other)
  return answer.document
}

/**
 * Reads one row. Drupal does not compare the bundle in the path with the row's own, so any
 * collection serves.
 */
async function readRow(
  context: ListLooksContext,
  collections: Collection[],
  uuid: string,
  caller: Caller
): Promise<Document> {
  const answer = await requestLooks(context, {
    path: individualPath(collections[0]!, uuid),
    query: [],
    names: context.paths,
    types: collections.map(({ resourceType }) => resourceType),
    caller
  })
  if (NOT_SHOWN.includes(answer.status)) return {}
  if (answer.status >= 400) throw refusal(answer)
  const other = primaryData(answer.document).find(({ id }) => !isSameUuid(uuid, id))
  if (other) throw mismatch(`${context.noun} ${uuid}`, other)
  return answer.document
}

/**
 * Asks with as many of the paths as Drupal includes.
 * @param onRefusal called with each path that Drupal does not include
 */
async function requestLooks(
  context: ListLooksContext,
  request: LooksRequest,
  onRefusal?: (name: string) => void
): Promise<JsonapiAnswer> {
  const { cms, memory } = context
  const { path, query, names, caller } = request
  const include: Parameters = names.length === 0 ? [] : [['include', names.join(',')]]
  const sparse = fitting(sparseFields(context, request), ROOM)
  const answer = await cms.request({ path, query: [...include, ...query, ...sparse], caller })
  const excluded = notIncludable(answer)
  if (excluded !== undefined && names.includes(excluded)) {
    onRefusal?.(excluded)
    const rest = names.filter((name) => name !== excluded)
    return requestLooks(context, { ...request, names: rest }, onRefusal)
  }
  if (answer.status < 400) memory.reach((answer.document.included ?? []).map(({ type }) => type))
  return answer
}

/** The fields of the rows, and of what the paths lead to, that a request names. */
function sparseFields(
  { memory, paths }: ListLooksContext,
  { names, types }: LooksRequest
): Parameters {
  const ends = names.flatMap((name) => name.split('.').slice(1))
  const fields = new Map([...memory.reached()].map((type) => [type, [...LABELS, URI, ...ends]]))
  const ofRows = paths.map((name) => name.split('.', 1)[0]!)
  for (const type of types) fields.set(type, [...(fields.get(type) ?? []), ...ofRows])
  return [...fields].map(([type, names]) => [`fields[${type}]`, [...new Set(names)].join(',')])
}
