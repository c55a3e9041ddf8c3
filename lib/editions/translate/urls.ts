import { identifiers, scalarText, type Resource } from '../../jsonapi/document.ts'
import { internalName, publicName, splitType, type ContentModel } from '../model.ts'
import type { Collection } from '../site/catalog.ts'
import { isContentEntity, type Shape } from '../site/shapes.ts'
import type { Targets } from '../site/targets.ts'
import type { UrlOf } from './read.ts'

/** Drupal's entity type of users. */
export const USER = 'user'

/**
 * JSON:API does not give a reference's `url`; it is put together from the target's path alias or file URI, which come
 * along by `include` with sparse fields.
 */
export interface Include {
  /** Public names of the relationships whose targets have urls. */
  relationships: ReadonlySet<string>
  /** Of these, the ones included. */
  included: string[]
  /** Public names of the relationships that Drupal does not include. */
  excluded: ReadonlySet<string>
  query: Array<[string, string]>
}

/** For so many resource types fields are named, those seen first: servers take URLs of 8 KiB (Apache's LimitRequestLine). */
const SPARSE_MAX = 100

/**
 * What to ask for so that the urls of an edition's references can be told; nothing while its fields are not known.
 * @param exposed the collections of the CMS: a field may refer to other bundles than have been seen in it
 * @param isWanted which relationships to include, by their public names and the entity types of their targets; all, if not given
 */
export function includeOf (shape: Shape | undefined, model: ContentModel, exposed: Collection[], isWanted: (name: string, entityType: string | undefined) => boolean = () => true): Include {
  const relationships = new Set<string>()
  const included: string[] = []
  const excluded = new Set<string>()
  const seen = new Set<string>()
  for (const [field, { kind, sample, isExcluded }] of shape ?? []) {
    if (kind !== 'relationship' || field === model.keys.bundle || (sample && !isContentEntity(sample))) continue
    const name = publicName(model, field)
    if (isExcluded) {
      excluded.add(name)
      continue
    }
    const entityType = sample && splitType(model, sample.type).entityType
    relationships.add(name)
    if (!isWanted(name, entityType)) continue
    included.push(name)
    if (sample && entityType !== model.entityType) seen.add(sample.type)
  }
  if (included.length === 0) return { relationships, included, excluded, query: [] }
  const entityTypes = new Set([...seen].map((type) => splitType(model, type).entityType))
  const types = new Set([...seen, ...exposed.filter(({ entityType }) => entityTypes.has(entityType)).map(({ resourceType }) => resourceType)])
  return { relationships, included, excluded, query: [['include', included.join(',')], ...[...types].slice(0, SPARSE_MAX).map((type): [string, string] => [`fields[${type}]`, 'path,uri'])] }
}

/** Whether everything that an edition refers to, that has a url and that Drupal includes, was included. */
export function covers ({ relationships, excluded }: Include, resource: Resource, model: ContentModel): boolean {
  return Object.keys(resource.relationships ?? {}).every((name) => relationships.has(name) || excluded.has(name) ||
    internalName(model, name) === model.keys.bundle || !identifiers(resource.relationships![name]).some(isContentEntity))
}

/** An absolute path that is as it is in a URL: a parser of URLs finds nothing in it to escape, to resolve or to cut off. */
const SAFE_PATH = /^(?:\/(?!\.|%2e)[\w.~!$&'()*+,;=:@%-]+)+$/i

/**
 * The urls of references as core REST gives them: a file's is absolute, other targets have a path alias or else their
 * canonical path, both from the root. Source: Drupal\serialization\Normalizer\EntityReferenceFieldItemNormalizer.
 * @param site the CMS's URL, with a path if Drupal lives under one
 * @param targets what the caller was told of them
 */
export function urlsOf (targets: Targets, model: ContentModel, site: URL): UrlOf {
  const { origin, pathname } = site
  const base = pathname.replace(/\/$/, '')

  return (identifier, entityType) => {
    const { alias, fileUrl } = targets.get(identifier.type)?.get(identifier.id) ?? {}
    if (fileUrl !== undefined) return SAFE_PATH.test(fileUrl) ? origin + fileUrl : URL.parse(fileUrl, origin)?.href
    if (alias !== undefined) return base + alias
    const canonical = model.canonicalPaths[entityType]
    const target = scalarText(identifier.meta?.drupal_internal__target_id)
    return canonical && target !== '' ? base + canonical.replace('{id}', () => target) : undefined
  }
}
