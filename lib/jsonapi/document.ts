/** JSON:API 1.0 documents as Drupal core sends and takes them (https://jsonapi.org/format/1.0/, shared names only). */

import { isUtf8 } from 'node:buffer'
import { textOf } from '../http/exchange.ts'

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

export function isObject (value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A string, number or boolean of the CMS as a string; empty for an object, which may have any member, such as `toString`. */
export function scalarText (value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : ''
}

/** Whether two texts are the same uuid; upper and lower case do not matter (RFC 9562 section 4). */
export function isSameUuid (one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase()
}

/**
 * The value in a body of JSON, or undefined where there is none. Bytes that are not UTF-8 are none (RFC 8259 section 8.1): read
 * as U+FFFD they would be saved back so.
 */
export function valueIn (body: Uint8Array): unknown {
  if (!isUtf8(body)) return undefined
  try {
    return JSON.parse(textOf(body))
  } catch {
    return undefined
  }
}

/** The object in a body of JSON, or undefined where there is none. */
export function objectIn (body: Uint8Array): Record<string, unknown> | undefined {
  const value = valueIn(body)
  return isObject(value) ? value : undefined
}

/** The document in a body of JSON, or undefined where there is none. */
export function documentIn (body: Uint8Array): Document | undefined {
  const value = objectIn(body)
  return isDocument(value) ? value : undefined
}

/**
 * The user that the CMS takes the sender for, in the answer of its entry point; undefined for anonymous. Source: Drupal\jsonapi\Controller\EntryPoint (meta.links.me).
 */
export function userIn ({ meta }: { meta?: unknown }): { id?: unknown } | undefined {
  const me = isObject(meta) && isObject(meta.links) ? meta.links.me : undefined
  if (me === undefined) return undefined
  return isObject(me) && isObject(me.meta) ? { id: me.meta.id } : {}
}

/** The resource of an individual's document, or undefined where there is none. */
export function oneResource (document: Document): Resource | undefined {
  return Array.isArray(document.data) ? undefined : document.data ?? undefined
}

/** The resources of a collection's document, in order. */
export function resources (document: Document): Resource[] {
  return Array.isArray(document.data) ? document.data : []
}

/** The resources that a document is about, one or many: its primary data (JSON:API, "Top Level"). */
export function primaryData ({ data }: Document): Resource[] {
  return [data ?? []].flat()
}

/** The identifiers of a relationship, whatever its cardinality. */
export function identifiers (relationship: Relationship | undefined): ResourceIdentifier[] {
  const data = relationship?.data
  return Array.isArray(data) ? data : data === undefined || data === null ? [] : [data]
}

/** Whether a value is a document: all of its resources and errors have the right form. Checks nothing else. */
export function isDocument (value: unknown): value is Document {
  if (!isObject(value)) return false
  const { data, included = [], errors = [] } = value
  return [data ?? []].flat().every(isResource) &&
    Array.isArray(included) && included.every(isResource) &&
    Array.isArray(errors) && errors.every(isObject)
}

function isResource (value: unknown): value is Resource {
  return isObject(value) && typeof value.type === 'string' && typeof value.id === 'string' &&
    isMap(value.attributes) && isMap(value.relationships) && Object.values(value.relationships ?? {}).every(isRelationship)
}

function isRelationship (value: unknown): value is Relationship {
  if (!isObject(value)) return false
  const { data } = value
  return Array.isArray(data) ? data.every(isIdentifier) : data === undefined || data === null || isIdentifier(data)
}

function isIdentifier (value: unknown): value is ResourceIdentifier {
  return isObject(value) && typeof value.type === 'string' && typeof value.id === 'string' && isMap(value.meta)
}

/** PHP writes an object without members as `[]`. */
function isMap (value: unknown): boolean {
  return value === undefined || isObject(value) || (Array.isArray(value) && value.length === 0)
}
