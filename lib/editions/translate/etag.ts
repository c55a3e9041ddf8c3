import { hash } from 'node:crypto'
import { tagsIn } from '../../http/entity-tag.ts'
import { identifiers, type Resource } from '../../jsonapi/document.ts'
import { withinDepth } from './depth.ts'

/** How many characters of a digest a tag has: 96 bits. */
const LENGTH = 16

/**
 * A strong entity tag (RFC 9110 section 8.8.3) of an edition as one caller sees it. Its two parts, `"<fields>.<urls>"`, are
 * digests of the fields and of the urls of the references, which change without a save. Neither the revision nor `changed`
 * would do: core REST makes no revision, a bundle can be set to make none, and `changed` counts seconds.
 * @param urls of the references, in their order
 */
export function etagOf (resource: Resource, urls: Array<string | undefined> = []): string {
  return `"${fieldsDigest(resource)}.${digest(urls)}"`
}

/** Whether two resources show the same fields, of the same edition to the same caller. */
export function hasSameFields (a: Resource, b: Resource): boolean {
  return fieldsDigest(a) === fieldsDigest(b)
}

/** A digest of some relationships: what they refer to, and in which order. */
export function referencesOf ({ relationships = {} }: Pick<Resource, 'relationships'>, names = Object.keys(relationships)): string {
  return digest(names.map((name) => [name, identifiers(relationships[name]).map(({ type, id }) => [type, id])]))
}

/** A digest of an edition's fields as JSON:API shows them. Without links, which may name the revision that was asked for. */
export function fieldsDigest ({ id, attributes, relationships }: Resource): string {
  return digest([id, attributes, Object.entries(relationships ?? {}).map(([name, relationship]) => [name, identifiers(relationship)])])
}

/** A string in JSON that is a decimal number with trailing zeros. */
const PADDED = /(?<!\\)"(-?\d+)(?:\.0+|(\.\d*[1-9])0+)"/g

/**
 * Ignores trailing zeros of decimals: Drupal answers a save with a rounded decimal ("2.5"), and a read with the one that the
 * database pads (MySQL: "2.50"). Source: Drupal\Core\Field\Plugin\Field\FieldType\DecimalItem::preSave().
 */
function digest (value: object): string {
  return hash('sha256', withinDepth(() => JSON.stringify(value)).replace(PADDED, '"$1$2"'), 'base64url').slice(0, LENGTH)
}

/**
 * Whether an If-Match (RFC 9110 section 13.1.1) matches an entity tag: the fields have to be the same. The rest of the tag is
 * not compared, so a new path alias does not refuse a save, nor does a proxy that marks compressed answers (`-gzip`). A weak
 * tag matches nothing.
 */
export function matches (ifMatch: string, etag: string): boolean {
  const tags = tagsIn(ifMatch)
  return tags === '*' || tags.some((tag) => fieldsIn(tag) === fieldsIn(etag))
}

/** The first part of a tag; empty where it has none. Every tag of an edition has one. */
function fieldsIn (tag: string): string {
  return /^"([\w-]+)\./.exec(tag)?.[1] ?? ''
}
