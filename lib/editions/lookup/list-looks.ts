import type { Caller } from '../../http/calls.ts'
import type { JsonapiAnswer } from '../../drupal/client.ts'
import { isSameUuid, primaryData, type Document } from '../../drupal/document.ts'
import type { List } from '../model.ts'
import { individualPath, type Collection } from '../site/catalog.ts'
import type { Site } from '../site/site.ts'
import { notIncludable, refusal } from '../translate/failures.ts'
import { uuidQuery, type Parameters } from '../translate/query.ts'
import { mismatch, rowsOf } from '../translate/verify.ts'
import { createLookMemory, LABELS, looksIn, URI, type Looks } from './looks.ts'
import { fitting, ROOM } from './room.ts'

/** How many rows of a list are asked about at once. */
export const LOOKS_MAX = 20

/** What Drupal answers about a single row that is gone, or that the caller may not see. */
const NOT_SHOWN = [401, 403, 404]

/**
 * Reads the images and sections of rows of a list: one request for each bundle of the list, and one for each row that a filter
 * does not find. Drupal lets few callers filter for what is not published.
 */
export function createListLooks(
  { cms, catalog, noun, origin }: Pick<Site, 'cms' | 'catalog' | 'noun' | 'origin'>,
  { image, section }: List
) {
  const memory = createLookMemory()
  const wanted = [image, section].filter((path) => path !== undefined)

  /**
   * @param uuids of at most `LOOKS_MAX` rows
   * @throws {Failure} as the CMS refuses; CMS_INVALID_RESPONSE
   */
  return async function looks(uuids: string[], caller: Caller): Promise<Looks> {
    const collections = wanted.length === 0 ? [] : await catalog.editions(caller)
    const pages = await Promise.all(
      collections.map((collection) => page(collection, uuids, caller))
    )
    const seen = pages.flatMap(primaryData)
    const missing =
      collections.length === 0
        ? []
        : uuids.filter((uuid) => !seen.some(({ id }) => isSameUuid(id, uuid)))
    const singles = await Promise.all(missing.map((uuid) => single(collections, uuid, caller)))
    const all = [...pages, ...singles].map((document) =>
      looksIn(primaryData(document), document.included ?? [], {
        lookOf: () => ({ image, section }),
        origin
      })
    )
    return {
      images: Object.assign({}, ...all.map(({ images }) => images)),
      sections: Object.assign({}, ...all.map(({ sections }) => sections))
    }
  }

  async function page(collection: Collection, uuids: string[], caller: Caller): Promise<Document> {
    const { path, resourceType } = collection
    const open = wanted.filter((name) => memory.isOpen(resourceType, name))
    const query: Parameters = [...uuidQuery(uuids), ['page[limit]', String(LOOKS_MAX)]]
    const answer = await including(path, query, open, [resourceType], caller, (name) =>
      memory.refuse(resourceType, name)
    )
    if (answer.status >= 400) throw refusal(answer)
    const other = rowsOf(primaryData(answer.document), collection).find(
      ({ id }) => !uuids.some((uuid) => isSameUuid(uuid, id))
    )
    if (other) throw mismatch(`rows of ${noun}`, other)
    return answer.document
  }

  /** Drupal does not compare the bundle in the path with the row's own, so any collection serves. */
  async function single(
    collections: Collection[],
    uuid: string,
    caller: Caller
  ): Promise<Document> {
    const answer = await including(
      individualPath(collections[0]!, uuid),
      [],
      wanted,
      collections.map(({ resourceType }) => resourceType),
      caller
    )
    if (NOT_SHOWN.includes(answer.status)) return {}
    if (answer.status >= 400) throw refusal(answer)
    const other = primaryData(answer.document).find(({ id }) => !isSameUuid(uuid, id))
    if (other) throw mismatch(`${noun} ${uuid}`, other)
    return answer.document
  }

  /** Asks with as many of the paths as Drupal includes. */
  async function including(
    path: string,
    query: Parameters,
    names: string[],
    types: string[],
    caller: Caller,
    refuse?: (name: string) => void
  ): Promise<JsonapiAnswer> {
    const ends = names.flatMap((name) => name.split('.').slice(1))
    const fields = new Map([...memory.reached()].map((type) => [type, [...LABELS, URI, ...ends]]))
    for (const type of types) {
      fields.set(type, [
        ...(fields.get(type) ?? []),
        ...wanted.map((name) => name.split('.', 1)[0]!)
      ])
    }
    const sparse = [...fields].map(([type, names]): [string, string] => [
      `fields[${type}]`,
      [...new Set(names)].join(',')
    ])
    const include: Parameters = names.length === 0 ? [] : [['include', names.join(',')]]
    const answer = await cms.request({
      path,
      query: [...include, ...query, ...fitting(sparse, ROOM)],
      caller
    })
    const excluded = notIncludable(answer)
    if (excluded !== undefined && names.includes(excluded)) {
      refuse?.(excluded)
      return including(
        path,
        query,
        names.filter((name) => name !== excluded),
        types,
        caller,
        refuse
      )
    }
    if (answer.status < 400) memory.reach((answer.document.included ?? []).map(({ type }) => type))
    return answer
  }
}
