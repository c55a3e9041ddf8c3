/**
 * JSON:API 1.0 documents as Drupal core sends and takes them (https://jsonapi.org/format/1.0/,
 * shared names only).
 */

import { isUtf8 } from 'node:buffer'
import { Failure } from '../errors.ts'
import { textOf } from '../http/exchange.ts'
import { measureJson } from '../json-shape.ts'

export interface ResourceIdentifier {
  type: string
  id: string
  meta?: Record<string, unknown>
}

export interface Relationship {
  data?: ResourceIdentifier | ResourceIdentifier[] | null
}

export interface Resource {
  type: string
  id: string
  attributes?: Record<string, unknown>
  relationships?: Record<string, Relationship>
  links?: Record<string, unknown>
}

export interface ErrorObject {
  status?: string
  title?: string
  detail?: string
  code?: string
  source?: { pointer?: string }
}

export interface Document {
  data?: Resource | Resource[] | null
  included?: Resource[]
  errors?: ErrorObject[]
  links?: Record<string, unknown>
  meta?: Record<string, unknown>
}

/** A resource object to be written: no links, and no id when the server gives it. */
export type NewResource = Omit<Resource, 'id'> & { id?: string }

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * A string, number or boolean of the CMS as a string; empty for an object, which may have any
 * member, such as `toString`.
 */
export function scalarText(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : ''
}

/** Whether two texts are the same uuid; upper and lower case do not matter (RFC 9562 section 4). */
export function isSameUuid(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase()
}

/**
 * The value in a body of JSON, or undefined where there is none. Bytes that are not UTF-8 are none
 * (RFC 8259 section 8.1): read as U+FFFD they would be saved back so.
 * @param sender who answered with it, for a message
 * @throws {Failure} CMS_INVALID_RESPONSE where it passes a limit (json-shape.ts); nothing was made
 *   of it then
 */
export function valueIn(body: Uint8Array, sender = 'The CMS'): unknown {
  if (!isUtf8(body)) return undefined
  const { values, excess } = measureJson(body)
  if (excess !== undefined) {
    throw new Failure('CMS_INVALID_RESPONSE', `${sender} answered with ${excess}`)
  }
  try {
    const value: unknown = JSON.parse(textOf(body))
    if (isObject(value)) weigh(value, { bytes: body.length, values })
    return value
  } catch {
    return undefined
  }
}

/** The object in a body of JSON, or undefined where there is none. */
export function objectIn(body: Uint8Array, sender?: string): Record<string, unknown> | undefined {
  const value = valueIn(body, sender)
  return isObject(value) ? value : undefined
}

/**
 * What a value counts at least, in bytes of JSON: `[]` takes as much memory as text of this length.
 */
const VALUE_BYTES = 24

const weights = new WeakMap<object, number>()

/**
 * Says what an object counts.
 * @param size.of what of it counts already, apart from these values
 */
export function weigh(
  value: object,
  { bytes, values, of }: { bytes: number; values: number; of?: object }
): void {
  const before = of ? weightOf(of) : 0
  weights.set(value, Math.max(bytes, before + values * VALUE_BYTES))
}

/**
 * What an object from a body counts among large answers, in bytes: those of the body, or more where
 * it has many short values.
 */
export function weightOf(parsed: object): number {
  return weights.get(parsed)!
}

/** The document in a body of JSON, or undefined where there is none. */
export function documentIn(body: Uint8Array): Document | undefined {
  const value = objectIn(body)
  return isDocument(value) ? value : undefined
}

/**
 * The user that the CMS takes the sender for, in the answer of its entry point; undefined for
 * anonymous. Source: Drupal\jsonapi\Controller\EntryPoint (meta.links.me).
 */
export function userIn({ meta }: { meta?: unknown }): { id?: unknown } | undefined {
  const me = isObject(meta) && isObject(meta.links) ? meta.links.me : undefined
  if (me === undefined) return undefined
  return isObject(me) && isObject(me.meta) ? { id: me.meta.id } : {}
}

/** The resource of an individual's document, or undefined where there is none. */
export function oneResource(document: Document): Resource | undefined {
  return Array.isArray(document.data) ? undefined : (document.data ?? undefined)
}

/** The resources of a collection's document, in order. */
export function resources(document: Document): Resource[] {
  return Array.isArray(document.data) ? document.data : []
}

/**
 * The resources that a document is about, one or many: its primary data (JSON:API, "Top Level").
 */
export function primaryData({ data }: Document): Resource[] {
  return [data ?? []].flat()
}

/** The identifiers of a relationship, whatever its cardinality. */
export function identifiers(relationship: Relationship | undefined): ResourceIdentifier[] {
  const data = relationship?.data
  return Array.isArray(data) ? data : data === undefined || data === null ? [] : [data]
}

/**
 * Whether a value is a document: all of its resources and errors have the right form. Checks
 * nothing else.
 */
export function isDocument(value: unknown): value is Document {
  if (!isObject(value)) return false
  const { data, included = [], errors = [] } = value
  return (
    [data ?? []].flat().every(isResource) &&
    Array.isArray(included) &&
    included.every(isResource) &&
    Array.isArray(errors) &&
    errors.every(isObject)
  )
}

export function isResource(value: unknown): value is Resource {
  return (
    isObject(value) &&
    isName(value.type) &&
    isName(value.id) &&
    isMap(value.attributes) &&
    isMap(value.relationships) &&
    Object.values(value.relationships ?? {}).every(isRelationship)
  )
}

function isRelationship(value: unknown): value is Relationship {
  if (!isObject(value)) return false
  const { data } = value
  return Array.isArray(data)
    ? data.every(isIdentifier)
    : data === undefined || data === null || isIdentifier(data)
}

function isIdentifier(value: unknown): value is ResourceIdentifier {
  return isObject(value) && isName(value.type) && isName(value.id) && isMap(value.meta)
}

/** Whether a value may be a type or an id. Both are remembered in many places. */
function isName(value: unknown): boolean {
  return typeof value === 'string' && value.length <= LONGEST_NAME
}

/** In characters. Drupal's types have 66, and ids are uuids, `missing` or `virtual`. */
const LONGEST_NAME = 255

/** PHP writes an object without members as `[]`. */
function isMap(value: unknown): boolean {
  return value === undefined || isObject(value) || (Array.isArray(value) && value.length === 0)
}
