import { LRUCache } from 'lru-cache'
import { Failure, texts } from '../../errors.ts'
import { callOf, type Caller } from '../../http/calls.ts'
import { fingerprint } from '../../drupal/credentials.ts'
import {
  identifiers,
  resources,
  scalarText,
  type Resource,
  type ResourceIdentifier
} from '../../drupal/document.ts'
import { publicName, splitType, type ContentModel } from '../model.ts'
import type { Collection } from '../site/catalog.ts'
import type { Site } from '../site/site.ts'
import { invalid, refusal, type Violation } from '../translate/failures.ts'
import { idQuery, pageQuery, PAGE_MAX, type Page, type Parameters } from '../translate/query.ts'
import { isLost } from '../translate/read.ts'
import { mismatch, rowId, rowsOf } from '../translate/verify.ts'
import type { Resolve, UnresolvedReference } from '../translate/write.ts'
import { findById } from './find-by-id.ts'

export interface References {
  /**
   * Looks up all references of a body that have only an integer id, in batches.
   * @param current the edition as it is, for an update: its own references need no look-up
   * @returns what translate/write.ts resolves references with
   * @throws {Failure} UNPROCESSABLE with core's text for every reference that does not exist (ValidReferenceConstraint);
   *   BAD_REQUEST where there are too many to look up.
   */
  resolver(references: UnresolvedReference[], caller: Caller, current?: Resource): Promise<Resolve>
  /**
   * Looks references up as `resolver` does.
   * @returns the uuid of each, undefined for one that does not exist or is not shown to the caller
   */
  uuids(
    references: UnresolvedReference[],
    caller: Caller,
    current: Resource
  ): Promise<Array<string | undefined>>
  /** Forgets an entity that the CMS no longer finds. @returns whether it was remembered */
  forget(uuid: string): boolean
}

/** Gives what a reference by id names, where it is known. */
type Identify = (
  reference: Pick<UnresolvedReference, 'entityType' | 'id'>
) => ResourceIdentifier | undefined

const INTEGER = /^-?\d+$/

/** How many references Quoin remembers. They change only when their entity is deleted, or the site is set back. */
const REMEMBERED = 50_000

/** The longest id, or name of a config entity (Drupal\Core\Config\Entity\ConfigEntityStorage). Nothing longer goes into a URL. */
const ID_MAX = 166

/** How many references of one body Quoin looks up. More would hold up all other requests. */
const LOOKED_UP_MAX = 1000

/** How many pages it takes to find an id in an ordered collection of some ten thousand (find-by-id.ts). */
const LOOKS = 16

/** How many pages of each collection of editions Quoin reads for references, the newest first. */
const SCANNED = 20

/** For how many fields and callers Quoin remembers that it has read them, and how long, in milliseconds. */
const SCANS = 1000
const SCANNED_MS = 60_000

/** Finds the uuids of references, by which JSON:API names entities. */
export function createReferences({
  cms,
  catalog,
  filters,
  model
}: Pick<Site, 'cms' | 'catalog' | 'filters' | 'model'>): References {
  // As a size: with `max` the cache would reserve the memory for all of them at once.
  const identifierCache = new LRUCache<string, ResourceIdentifier>({
    maxSize: REMEMBERED,
    sizeCalculation: () => 1
  })
  const idAttributes = new Map<string, string>()
  /** The fields whose references were looked for in all editions, by caller. */
  const scans = new LRUCache<string, true>({ max: SCANS, ttl: SCANNED_MS })

  async function resolver(
    lookups: UnresolvedReference[],
    caller: Caller,
    current?: Resource
  ): Promise<Resolve> {
    const collections = await catalog.all(caller)
    const { byId, byUuid } = referencesIn(current, model)
    const identify = await lookUpAll(lookups, collections, byId, caller)
    const violations = lookups.filter((lookup) => !identify(lookup)).flatMap(violationsOf)
    if (violations.length > 0) throw invalid(violations)
    return ({ entityType, uuid, id }) => {
      if (uuid === undefined) return identify({ entityType, id: id! })!
      // Drupal wants some resource type of the right entity type; it does not compare the bundle.
      const type = collections.find(
        (collection) => collection.entityType === entityType
      )?.resourceType
      return (
        byUuid.get(referenceKey(entityType, uuid)) ?? {
          type: type ?? `${entityType}--${entityType}`,
          id: uuid
        }
      )
    }
  }

  async function uuids(
    lookups: UnresolvedReference[],
    caller: Caller,
    current: Resource
  ): Promise<Array<string | undefined>> {
    const { byId } = referencesIn(current, model)
    const identify = await lookUpAll(lookups, await catalog.all(caller), byId, caller)
    return lookups.map((lookup) => identify(lookup)?.id)
  }

  async function lookUpAll(
    lookups: UnresolvedReference[],
    collections: Collection[],
    byId: ReadonlyMap<string, ResourceIdentifier>,
    caller: Caller
  ): Promise<Identify> {
    const identify: Identify = ({ entityType, id }) =>
      byId.get(referenceKey(entityType, id)) ?? identifierCache.get(referenceKey(entityType, id))
    const possible = lookups.filter(({ id }) => id !== '' && id.length <= ID_MAX)
    const missingReferences = possible.filter((lookup) => !identify(lookup))
    if (missingReferences.length > LOOKED_UP_MAX) {
      throw new Failure(
        'BAD_REQUEST',
        `body names ${missingReferences.length} references by integer ids that have to be looked up; at most ${LOOKED_UP_MAX} are, name others by target_uuid`
      )
    }
    const byType = Map.groupBy(missingReferences, ({ entityType }) => entityType)
    await Promise.all(
      [...byType].map(([entityType, references]) =>
        lookUp(
          collections.filter((collection) => collection.entityType === entityType),
          entityType,
          [...new Set(references.map(({ id }) => id))],
          caller
        )
      )
    )

    const rest = possible.filter(
      (lookup) => !identify(lookup) && (lookup.isNamed || INTEGER.test(lookup.id))
    )
    await Promise.all(
      [...Map.groupBy(rest, ({ field }) => field)].map(([field, references]) =>
        lookUpInEditions(
          field,
          references.map(({ id }) => id),
          caller
        )
      )
    )
    return identify
  }

  async function lookUp(
    collections: Collection[],
    entityType: string,
    ids: string[],
    caller: Caller
  ): Promise<void> {
    const idAttribute = await idAttributeOf(entityType, collections, caller)
    await lookUpByFilter(collections, entityType, idAttribute, ids, caller)
    const missing = ids.filter(
      (id) => /^\d+$/.test(id) && !identifierCache.get(referenceKey(entityType, id))
    )
    if (missing.length === 0 || (await filters.reach(collections, caller)) === 'all') return
    callOf(caller)?.allow(missing.length * collections.length * LOOKS)
    await Promise.all(
      missing.flatMap((id) =>
        collections.map((collection) =>
          lookUpByScan(collection, entityType, idAttribute, id, caller)
        )
      )
    )
  }

  /**
   * Looks for the references in other editions, whose identifiers have the uuid even of an entity that the caller may not see.
   * Whether this caller may refer to it is then Drupal's decision.
   */
  async function lookUpInEditions(field: string, ids: string[], caller: Caller): Promise<void> {
    const name = publicName(model, field)
    const collections = await catalog.editions(caller)
    const query = idQuery(`${name}.meta.drupal_internal__target_id`, ids.slice(0, PAGE_MAX))
    const uuids = new Set(
      (
        await Promise.all(
          collections.map(
            async (collection) => (await referring(collection, name, query, caller)).ids
          )
        )
      ).flat()
    )
    if (ids.every((id) => uuids.has(id)) || (await filters.reach(collections, caller)) === 'all') {
      return
    }
    const scan = `${field}:${fingerprint(caller)}`
    if (scans.has(scan)) return
    callOf(caller)?.allow(collections.length * SCANNED)
    await Promise.all(
      collections.map((collection) => scanEditions(collection, name, new Set(ids), caller))
    )
    scans.set(scan, true)
  }

  /** Reads the newest editions, for a caller who may not filter them. */
  async function scanEditions(
    collection: Collection,
    name: string,
    missingIds: Set<string>,
    caller: Caller,
    page = 0
  ): Promise<void> {
    const { ids, more } = await referring(
      collection,
      name,
      pageQuery(page * PAGE_MAX, PAGE_MAX, model),
      caller
    )
    for (const id of ids) missingIds.delete(id)
    if (more && missingIds.size > 0 && page + 1 < SCANNED) {
      await scanEditions(collection, name, missingIds, caller, page + 1)
    }
  }

  /** Remembers what editions refer to in a field. @returns the ids of it */
  async function referring(
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
      identifierCache.set(referenceKey(splitType(model, type).entityType, id), { type, id: uuid })
    }
    return { ids: references.map(({ id }) => id), more: document.links?.next !== undefined }
  }

  async function lookUpByScan(
    collection: Collection,
    entityType: string,
    idAttribute: string,
    id: string,
    caller: Caller
  ): Promise<void> {
    const { path, resourceType } = collection
    const page = async (offset: number): Promise<Page<Resource>> => {
      const query: Array<[string, string]> = [
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
    const row = await findById(Number(id), page, (row) => rowId(row, idAttribute))
    if (row) identifierCache.set(referenceKey(entityType, id), { type: row.type, id: row.id })
  }

  /** The attribute with the integer id: as the content model names it, else the first internal attribute of any document. */
  async function idAttributeOf(
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
    const attribute = Object.keys(
      rowsOf(resources(document), collection)[0]?.attributes ?? {}
    ).find((name) => name.startsWith('drupal_internal__'))
    if (attribute !== undefined) idAttributes.set(entityType, attribute)
    return attribute ?? 'drupal_internal__id'
  }

  async function lookUpByFilter(
    collections: Collection[],
    entityType: string,
    idAttribute: string,
    ids: string[],
    caller: Caller
  ): Promise<void> {
    const batches = Array.from({ length: Math.ceil(ids.length / PAGE_MAX) }, (_, index) =>
      ids.slice(index * PAGE_MAX, (index + 1) * PAGE_MAX)
    )
    await Promise.all(
      collections.flatMap((collection) =>
        batches.map(async (batch) => {
          const { path, resourceType } = collection
          const query = [
            ...idQuery(idAttribute, batch),
            [`fields[${resourceType}]`, idAttribute],
            ['page[limit]', String(PAGE_MAX)]
          ] as Array<[string, string]>
          const answer = await cms.request({ path, query, caller })
          // Where no document has shown the attribute, it may have another name.
          if (
            answer.status === 400 &&
            !(entityType in model.idKeys) &&
            !idAttributes.has(entityType)
          ) {
            return
          }
          if (answer.status >= 400) throw refusal(answer)
          for (const row of rowsOf(resources(answer.document), collection)) {
            const id = scalarText(row.attributes?.[idAttribute])
            // For ids that are not integers a database may find similar ones.
            if (
              INTEGER.test(id) &&
              batch.every((wanted) => INTEGER.test(wanted) && Number(wanted) !== Number(id))
            ) {
              throw mismatch(`${entityType} ${batch.join(', ')}`, row)
            }
            identifierCache.set(referenceKey(entityType, id), { type: row.type, id: row.id })
          }
        })
      )
    )
  }

  function forget(uuid: string): boolean {
    const keys = [...identifierCache.entries()]
      .filter(([, { id }]) => id === uuid)
      .map(([key]) => key)
    for (const key of keys) identifierCache.delete(key)
    return keys.length > 0
  }

  return { resolver, uuids, forget }
}

/** The references that an edition has, by id and by uuid. */
function referencesIn(edition: Resource | undefined, model: ContentModel) {
  const byId = new Map<string, ResourceIdentifier>()
  const byUuid = new Map<string, ResourceIdentifier>()
  for (const identifier of Object.values(edition?.relationships ?? {}).flatMap(identifiers)) {
    const id = scalarText(identifier.meta?.drupal_internal__target_id)
    const { entityType } = splitType(model, identifier.type)
    if (id !== '') byId.set(referenceKey(entityType, id), identifier)
    byUuid.set(referenceKey(entityType, identifier.id), identifier)
  }
  return { byId, byUuid }
}

function referenceKey(entityType: string, id: string): string {
  return `${entityType}:${id}`
}

/**
 * Many users refer to config entities that they may not see. Only a lookup by uuid shows whether such an entity exists.
 * Source: Drupal\Core\Entity\Plugin\Validation\Constraint\ValidReferenceConstraint, PrimitiveTypeConstraint.
 */
function violationsOf({ field, delta, entityType, id, isNamed }: UnresolvedReference): Violation[] {
  const path = `${field}.${delta}.target_id`
  if (isNamed) {
    return [
      {
        path,
        message: `The referenced entity (${entityType}: ${id}) does not exist, or is not shown to you: then name it by target_uuid.`
      }
    ]
  }
  return [
    ...(id !== ''
      ? [{ path, message: `The referenced entity (${entityType}: ${id}) does not exist.` }]
      : []),
    ...(!INTEGER.test(id) ? [{ path, message: texts.notPrimitive }] : [])
  ]
}
