import { identifiers, isObject, type Resource, type ResourceIdentifier } from '../jsonapi/document.ts'
import { internalName, publicName, splitType, type ContentModel } from './model.ts'
import type { UrlOf } from './read.ts'
import { USER, type Aliases } from './aliases.ts'
import { isContentEntity, type Shape } from './shapes.ts'

/**
 * JSON:API does not give a reference's `url`; it is put together from the target's path alias or file URI, which come
 * along by `include` with sparse fields.
 */
export interface Include {
  /** Public names of the relationships whose targets have urls. */
  relationships: ReadonlySet<string>
  /** Of these, the ones included. */
  included: string[]
  query: Array<[string, string]>
}

/**
 * What to ask for so that the urls of an edition's references can be told; nothing while its fields are not known.
 * @param which `users` alone, or all `others`, or `all`
 */
export function includeOf (shape: Shape | undefined, model: ContentModel, which: 'all' | 'users' | 'others' = 'all'): Include {
  const relationships = new Set<string>()
  const included: string[] = []
  const types = new Set<string>()
  for (const [field, { kind, sample }] of shape ?? []) {
    if (kind !== 'relationship' || field === model.keys.bundle || (sample && !isContentEntity(sample))) continue
    const name = publicName(model, field)
    const entityType = sample && splitType(model, sample.type).entityType
    relationships.add(name)
    if (which !== 'all' && (which === 'users') !== (entityType === USER)) continue
    included.push(name)
    if (sample && entityType !== model.entityType) types.add(sample.type)
  }
  if (included.length === 0) return { relationships, included, query: [] }
  return { relationships, included, query: [['include', included.join(',')], ...[...types].map((type): [string, string] => [`fields[${type}]`, 'path,uri'])] }
}

/** Whether everything that an edition refers to, and that has a url, was included. */
export function covers ({ relationships }: Include, resource: Resource, model: ContentModel): boolean {
  return Object.keys(resource.relationships ?? {}).every((name) => relationships.has(name) ||
    internalName(model, name) === model.keys.bundle || !identifiers(resource.relationships![name]).some(isContentEntity))
}

/** An absolute path that is as it is in a URL: a parser of URLs finds nothing in it to escape, to resolve or to cut off. */
const SAFE_PATH = /^(?:\/(?!\.|%2e)[\w.~!$&'()*+,;=:@%-]+)+$/i

/**
 * The urls of references as core REST gives them: a file's is absolute, other targets have a path alias or else their
 * canonical path, both from the root. Source: Drupal\serialization\Normalizer\EntityReferenceFieldItemNormalizer.
 * @param site the CMS's URL, with a path if Drupal lives under one
 * @param users what is remembered of users' aliases
 */
export function urlsOf (included: Resource[] | undefined = [], model: ContentModel, site: URL, users?: Aliases): UrlOf {
  const { origin, pathname } = site
  const base = pathname.replace(/\/$/, '')
  const targets = new Map(included.map((target) => [target.id, target]))

  function attributesOf ({ type, id }: ResourceIdentifier): NonNullable<Resource['attributes']> {
    const target = targets.get(id)
    // Uuids are unique, but nothing in JSON:API says so of two types.
    const found = target === undefined || target.type === type ? target : included.findLast((other) => other.id === id && other.type === type)
    return found?.attributes ?? {}
  }

  return (identifier, entityType) => {
    const { id, meta } = identifier
    const { path, uri } = attributesOf(identifier)
    if (isObject(uri) && typeof uri.url === 'string') return SAFE_PATH.test(uri.url) ? origin + uri.url : new URL(uri.url, origin).href
    const alias = isObject(path) ? path.alias : entityType === USER && users?.get(id)
    if (typeof alias === 'string') return base + alias
    const canonical = model.canonicalPaths[entityType]
    const target = meta?.drupal_internal__target_id
    return canonical && target !== undefined ? base + canonical.replace('{id}', String(target)) : undefined
  }
}
