import {
  identifiers,
  scalarText,
  type Resource,
  type ResourceIdentifier
} from '../../drupal/document.ts'
import { Failure, texts } from '../../errors.ts'
import type { Caller } from '../../http/calls.ts'
import { splitType, type ContentModel } from '../model.ts'
import type { Collection } from '../site/catalog.ts'
import type { Site } from '../site/site.ts'
import { invalid, type Violation } from '../translate/failures.ts'
import type { Resolve, UnresolvedReference } from '../translate/write.ts'
import { createReferenceContext, referenceKey, type ReferenceContext } from './reference-context.ts'
import { INTEGER, lookUpInCollections } from './references-in-collections.ts'
import { lookUpInEditions } from './references-in-editions.ts'

export interface References {
  /**
   * Looks up all references of a body that have only an integer id, in batches.
   * @param current the edition as it is, for an update: its own references need no look-up
   * @returns what translate/write.ts resolves references with
   * @throws {Failure} UNPROCESSABLE with core's text for every reference that does not exist
   *   (ValidReferenceConstraint); BAD_REQUEST where there are too many to look up.
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

/**
 * The longest id, or name of a config entity (Drupal\Core\Config\Entity\ConfigEntityStorage).
 * Nothing longer goes into a URL.
 */
const ID_MAX = 166

/** How many references of one body Quoin looks up. More would hold up all other requests. */
const LOOKED_UP_MAX = 1000

/** Finds the uuids of references, by which JSON:API names entities. */
export function createReferences(
  site: Pick<Site, 'cms' | 'catalog' | 'filters' | 'model' | 'rows'>
): References {
  const context = createReferenceContext(site)
  return {
    resolver: (references, caller, current) =>
      resolveReferences(context, references, caller, current),
    uuids: (references, caller, current) => uuidsOf(context, references, caller, current),
    forget: (uuid) => forgetReference(context, uuid)
  }
}

/** Looks references up, and refuses those that do not exist (`References`). */
export async function resolveReferences(
  context: ReferenceContext,
  lookups: UnresolvedReference[],
  caller: Caller,
  current?: Resource
): Promise<Resolve> {
  const collections = await context.catalog.all(caller)
  const { byId, byUuid } = ownReferences(current, context.model)
  const identify = await lookUpAll(context, lookups, collections, byId, caller)
  const violations = lookups.filter((lookup) => !identify(lookup)).flatMap(violationsOf)
  if (violations.length > 0) throw invalid(violations)
  return ({ entityType, uuid, id }) =>
    uuid === undefined
      ? identify({ entityType, id: id! })!
      : (byUuid.get(referenceKey(entityType, uuid)) ?? {
          type: typeOf(entityType, collections),
          id: uuid
        })
}

/** Drupal wants some resource type of the right entity type; it does not compare the bundle. */
function typeOf(entityType: string, collections: Collection[]): string {
  const collection = collections.find((collection) => collection.entityType === entityType)
  return collection?.resourceType ?? `${entityType}--${entityType}`
}

/**
 * Looks references up.
 * @returns the uuid of each, undefined for one that does not exist or is not shown to the caller
 */
export async function uuidsOf(
  context: ReferenceContext,
  lookups: UnresolvedReference[],
  caller: Caller,
  current: Resource
): Promise<Array<string | undefined>> {
  const { byId } = ownReferences(current, context.model)
  const collections = await context.catalog.all(caller)
  const identify = await lookUpAll(context, lookups, collections, byId, caller)
  return lookups.map((lookup) => identify(lookup)?.id)
}

/** Forgets an entity that the CMS no longer finds. @returns whether it was remembered */
export function forgetReference({ identifierCache }: ReferenceContext, uuid: string): boolean {
  const keys = [...identifierCache.entries()]
    .filter(([, { id }]) => id === uuid)
    .map(([key]) => key)
  for (const key of keys) identifierCache.delete(key)
  return keys.length > 0
}

/** The references that an edition has. */
interface OwnReferences {
  byId: ReadonlyMap<string, ResourceIdentifier>
  byUuid: ReadonlyMap<string, ResourceIdentifier>
}

function ownReferences(edition: Resource | undefined, model: ContentModel): OwnReferences {
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

/** Gives what a reference by id names, where it is known. */
type Identify = (
  reference: Pick<UnresolvedReference, 'entityType' | 'id'>
) => ResourceIdentifier | undefined

/**
 * Looks references up in the collections of their types, and then in other editions.
 * @param byId references that need no look-up
 */
async function lookUpAll(
  context: ReferenceContext,
  lookups: UnresolvedReference[],
  collections: Collection[],
  byId: OwnReferences['byId'],
  caller: Caller
): Promise<Identify> {
  const { identifierCache } = context
  const identify: Identify = ({ entityType, id }) => {
    const key = referenceKey(entityType, id)
    return byId.get(key) ?? identifierCache.get(key)
  }
  const possible = lookups.filter(({ id }) => id !== '' && id.length <= ID_MAX)
  const missing = possible.filter((lookup) => !identify(lookup))
  if (missing.length > LOOKED_UP_MAX) throw tooMany(missing.length)
  const byType = Map.groupBy(missing, ({ entityType }) => entityType)
  await Promise.all(
    [...byType].map(([entityType, references]) =>
      lookUpInCollections(
        context,
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
  const byField = Map.groupBy(rest, ({ field }) => field)
  await Promise.all(
    [...byField].map(([field, references]) => {
      const ids = references.map(({ id }) => id)
      return lookUpInEditions(context, field, ids, caller)
    })
  )
  return identify
}

function tooMany(count: number): Failure {
  return new Failure(
    'BAD_REQUEST',
    `body names ${count} references by integer ids that have to be looked up; at most ${LOOKED_UP_MAX} are, name others by target_uuid`
  )
}

/**
 * Many users refer to config entities that they may not see. Only a lookup by uuid shows whether
 * such an entity exists.
 * Source: Drupal\Core\Entity\Plugin\Validation\Constraint\ValidReferenceConstraint,
 * PrimitiveTypeConstraint.
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
