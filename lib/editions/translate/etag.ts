import { hash } from 'node:crypto'
import { tagsIn } from '../../http/entity-tag.ts'
import { identifiers, type Resource, type ResourceIdentifier } from '../../drupal/document.ts'
import { publicNames, type ContentModel } from '../model.ts'
import { withoutPadding } from './decimals.ts'

/** How many characters of a digest a tag has: 96 bits. */
const LENGTH = 16

/**
 * A strong entity tag (RFC 9110 section 8.8.3) of an edition as one caller sees it. Its two parts,
 * `"<fields>.<urls>"`, are digests of the fields and of the urls of the references, which change
 * without a save. Neither the revision nor `changed` would do: core REST makes no revision, a
 * bundle can be set to make none, and `changed` counts seconds.
 * @param urls of the references, in the order of `referencesByName`
 */
export function etagOf(
  resource: Resource,
  model: ContentModel,
  urls: Array<string | undefined> = []
): string {
  return `"${fieldsDigest(resource, model)}.${digest(urls)}"`
}

/** Whether two resources show the same fields, of the same edition to the same caller. */
export function hasSameFields(a: Resource, b: Resource, model: ContentModel): boolean {
  return fieldsDigest(a, model) === fieldsDigest(b, model)
}

/** A digest of some relationships: what they refer to, and in which order. */
export function referencesOf(
  { relationships = {} }: Pick<Resource, 'relationships'>,
  names = Object.keys(relationships)
): string {
  return digest(
    names
      .toSorted()
      .map((name) => [name, identifiers(relationships[name]).map(({ type, id }) => [type, id])])
  )
}

/** All references of a resource: its relationships by their names, each in its order. */
export function referencesByName({ relationships = {} }: Resource): ResourceIdentifier[] {
  return Object.keys(relationships)
    .sort()
    .flatMap((name) => identifiers(relationships[name]))
}

/**
 * A digest of an edition's fields as JSON:API shows them. Without links, which may name the
 * revision that was asked for. The order of members does not count: Drupal lists those first that
 * somebody has asked for since the last save.
 * Source: Drupal\jsonapi\EventSubscriber\ResourceObjectNormalizationCacher.
 */
export function fieldsDigest(
  { id, attributes = {}, relationships = {} }: Resource,
  model: ContentModel
): string {
  const decimals = publicNames(model, ...model.decimalFields)
  return digest(() => [
    id,
    Object.keys(attributes)
      .sort()
      .map((name) => {
        const value = decimals.includes(name) ? withoutPadding(attributes[name]) : attributes[name]
        return [name, sorted(value)]
      }),
    Object.keys(relationships)
      .sort()
      .map((name) => [name, sorted(identifiers(relationships[name]))])
  ])
}

/** A value with the members of its objects in the order of their names. */
function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(sorted)
  const members = value as Record<string, unknown>
  return {
    members: Object.keys(members)
      .sort()
      .map((name) => [name, sorted(members[name])])
  }
}

function digest(value: object | (() => object)): string {
  const text = JSON.stringify(typeof value === 'function' ? value() : value)
  return hash('sha256', text, 'base64url').slice(0, LENGTH)
}

/**
 * Whether an If-Match (RFC 9110 section 13.1.1) matches an entity tag: the fields have to be the
 * same. The rest of the tag is not compared, so a new path alias does not refuse a save, nor does a
 * proxy that marks compressed answers (`-gzip`). A weak tag matches nothing.
 */
export function matches(ifMatch: string, etag: string): boolean {
  const tags = tagsIn(ifMatch)
  return tags === '*' || tags.some((tag) => fieldsIn(tag) === fieldsIn(etag))
}

/** The first part of a tag; empty where it has none. Every tag of an edition has one. */
function fieldsIn(tag: string): string {
  return /^"([\w-]+)\./.exec(tag)?.[1] ?? ''
}
