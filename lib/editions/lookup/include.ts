import { identifiers, type Resource } from '../../drupal/document.ts'
import { internalName, publicName, splitType, type ContentModel } from '../model.ts'
import type { Collection } from '../site/catalog.ts'
import { isContentEntity, type Shape } from '../translate/shape.ts'
import { LANGUAGE_KEYS } from '../translate/urls.ts'
import { fitting, lengthInUrl } from './room.ts'

/** Drupal's entity type of users. */
const USER = 'user'

/** How much of the room the names of relationships may take. */
const NAMES_SHARE = 2 / 3

/** The length of a comma in a URL. */
const COMMA = 3

/** The attributes that urls are made of, on a site with several languages. */
export const TARGET_ATTRIBUTES = `path,uri,${LANGUAGE_KEYS.langcode},${LANGUAGE_KEYS.defaultLangcode}`

/**
 * What a request includes. JSON:API does not give the `url` of a reference. Quoin puts it together
 * from the target's path alias or file URI, which come along by `include` with sparse fields.
 */
export interface Include {
  /** Public names of the relationships whose targets have urls. */
  relationships: ReadonlySet<string>
  /** Those of them that the request includes. */
  included: string[]
  /** Public names of the relationships that Drupal does not include. */
  excluded: ReadonlySet<string>
  query: Array<[string, string]>
}

/**
 * What to include for the urls of an edition's references; nothing as long as its fields are
 * unknown.
 * @param collections the collections of the CMS: a field may refer to other bundles than any
 *   document has shown
 * @param room for `include` and the sparse fields, in bytes of the URL. What does not fit is left
 *   out: a relationship is not included, a resource type is included with all its fields
 * @param isWanted picks relationships by their public names and the entity types of their targets;
 *   default all
 */
export function includeOf(
  shape: Shape | undefined,
  model: ContentModel,
  collections: Collection[],
  room: number,
  isWanted: (name: string, entityType: string | undefined) => boolean = () => true
): Include {
  const relationships = new Set<string>()
  const included: string[] = []
  const excluded = new Set<string>()
  const types = new Set<string>()
  const entityTypes = new Set<string>()
  const roomForNames = room * NAMES_SHARE
  let length = 'include=&'.length
  for (const [field, { kind, sample, isExcluded }] of shape ?? []) {
    if (
      kind !== 'relationship' ||
      field === model.keys.bundle ||
      (sample && !isContentEntity(sample))
    ) {
      continue
    }
    const name = publicName(model, field)
    if (isExcluded) {
      excluded.add(name)
      continue
    }
    const entityType = sample && splitType(model, sample.type).entityType
    relationships.add(name)
    if (!isWanted(name, entityType)) continue
    length += lengthInUrl(name) + COMMA
    if (length > roomForNames) continue
    included.push(name)
    if (entityType !== undefined && entityType !== model.entityType) {
      types.add(sample!.type)
      entityTypes.add(entityType)
    }
  }
  if (included.length === 0) return { relationships, included, excluded, query: [] }
  for (const { entityType, resourceType } of collections) {
    if (entityTypes.has(entityType)) types.add(resourceType)
  }
  const attributes = model.languages ? TARGET_ATTRIBUTES : 'path,uri'
  const fields = [...types].map((type): [string, string] => [`fields[${type}]`, attributes])
  return {
    relationships,
    included,
    excluded,
    query: [
      ['include', included.join(',')],
      ...fitting(fields, room - Math.min(length, roomForNames))
    ]
  }
}

/** The relationships whose targets a request includes. */
export type Scope = 'all' | 'all but users' | 'none'

const SCOPES: Record<Scope, (name: string, entityType: string | undefined) => boolean> = {
  all: () => true,
  'all but users': (_name, entityType) => entityType !== USER,
  none: () => false
}

/** What was included last for each scope of a shape, and what beside the shape it was made of. */
export type IncludeMemory = WeakMap<Shape, Map<Scope, LastInclude>>

interface LastInclude {
  collections: Collection[]
  room: number
  include: Include
}

/** What an include is made of. */
interface IncludeSource {
  shape: Shape | undefined
  collections: Collection[]
  scope: Scope
  room: number
}

/** What a request includes: the same as the last time until one of its sources changes. */
export function includeFor(
  { model, includes }: { model: ContentModel; includes: IncludeMemory },
  { shape, collections, scope, room }: IncludeSource
): Include {
  const ofShape = shape && (includes.get(shape) ?? includes.set(shape, new Map()).get(shape))
  const last = ofShape?.get(scope)
  if (last?.collections === collections && last.room === room) return last.include
  const include = includeOf(shape, model, collections, room, SCOPES[scope])
  ofShape?.set(scope, { collections, room, include })
  return include
}

/**
 * Whether a request has included all that an edition refers to, as far as it has a url and Drupal
 * includes it.
 */
export function covers(
  { relationships, excluded }: Include,
  resource: Resource,
  model: ContentModel
): boolean {
  return Object.keys(resource.relationships ?? {}).every(
    (name) =>
      relationships.has(name) ||
      excluded.has(name) ||
      internalName(model, name) === model.keys.bundle ||
      !identifiers(resource.relationships![name]).some(isContentEntity)
  )
}
