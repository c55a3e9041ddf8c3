import { hash } from 'node:crypto'
import { tagsIn } from '../../http/entity-tag.ts'
import { identifiers, type Resource } from '../../jsonapi/document.ts'
import { withinDepth } from './depth.ts'

/** How many characters of a digest a tag has: 96 bits. */
const LENGTH = 16

/**
 * A strong entity tag (RFC 9110 section 8.8.3) of an edition as one caller is shown it, in two parts, `"<fields>.<urls>"`:
 * a digest of the fields, and one of the urls of the references, which change without a save. Neither revision nor
 * `changed` would do: core REST makes no revision, nor does a bundle that is set so, and `changed` counts seconds.
 * @param urls of its references, in their order
 */
export function etagOf (resource: Resource, urls: Array<string | undefined> = []): string {
  return `"${fieldsOf(resource)}.${digest(urls)}"`
}

/** Whether two resources show the same fields, of the same edition to the same caller. */
export function isSame (one: Resource, other: Resource): boolean {
  return fieldsOf(one) === fieldsOf(other)
}

/** A digest of what JSON:API shows of an edition's fields: without links, which may name the revision that was asked for. */
function fieldsOf ({ id, attributes, relationships }: Resource): string {
  return digest([id, attributes, Object.entries(relationships ?? {}).map(([name, relationship]) => [name, identifiers(relationship)])])
}

/** A text that is a decimal number with zeros at its end, in JSON. */
const PADDED = /(?<!\\)"(-?\d+)(?:\.0+|(\.\d*[1-9])0+)"/g

/**
 * Decimals count without the zeros at their end: a save is answered with them as Drupal rounds them ("2.5"), a read as the
 * database pads them (MySQL: "2.50"). Source: Drupal\Core\Field\Plugin\Field\FieldType\DecimalItem::preSave().
 */
function digest (value: object): string {
  return hash('sha256', withinDepth(() => JSON.stringify(value)).replace(PADDED, '"$1$2"'), 'base64url').slice(0, LENGTH)
}

/**
 * Whether an If-Match (RFC 9110 section 13.1.1) lets a request through to what has this entity tag: where the fields are
 * the same. What comes after them is not compared, so that neither a new path alias refuses a save nor a proxy that marks
 * what it compresses (`-gzip`). A weak tag matches nothing.
 */
export function matches (ifMatch: string, etag: string): boolean {
  const tags = tagsIn(ifMatch)
  return tags === '*' || tags.some((tag) => fieldsIn(tag) === fieldsIn(etag))
}

/** The first part of a tag; an empty text where it has none, which no tag of an edition is without. */
function fieldsIn (tag: string): string {
  return /^"([\w-]+)\./.exec(tag)?.[1] ?? ''
}
