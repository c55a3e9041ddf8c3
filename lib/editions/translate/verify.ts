import { Failure } from '../../errors.ts'
import type { Resource } from '../../drupal/document.ts'

/**
 * Names that a message may repeat: resource types, uuids and integer ids have no other characters.
 */
const NAME = /^[\w.:-]{1,128}$/

/**
 * The failure for an answer to another question. A cache gives such answers when it ignores the
 * query of a URL, or mixes up its entries.
 * @param wanted what the CMS was asked for
 */
export function mismatch(wanted: string, { type, id }: Pick<Resource, 'type' | 'id'>): Failure {
  const name = NAME.test(type) && NAME.test(id) ? `${type} ${id}` : 'something else'
  return new Failure(
    'CMS_INVALID_RESPONSE',
    `The CMS was asked for ${wanted} and answered with ${name}: a cache before it may ignore the query, or mix up its entries`
  )
}

/**
 * The failure for a page that is not possible, or does not continue the one before.
 * @param what the CMS answered with
 */
export function disorder(what: string): Failure {
  return new Failure(
    'CMS_INVALID_RESPONSE',
    `The CMS answered with ${what}: a cache before it may ignore the query`
  )
}

/**
 * The rows of a page, after a check that all of them are of the collection asked for.
 * @throws {Failure} CMS_INVALID_RESPONSE for a row of another resource type
 */
export function rowsOf(rows: Resource[], { resourceType }: { resourceType: string }): Resource[] {
  for (const row of rows) {
    if (row.type !== resourceType) throw mismatch(`rows of ${resourceType}`, row)
  }
  return rows
}

/** The integer id in an attribute, given as a number or as digits; NaN where there is none. */
export function integerId({ attributes }: Resource, attribute: string): number {
  const value = attributes?.[attribute]
  const id = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value
  return Number.isSafeInteger(id) ? (id as number) : NaN
}

/**
 * The integer id of a row; NaN where it has none, since the caller may see no more than its label.
 * @throws {Failure} CMS_INVALID_RESPONSE unless it is an integer
 */
export function rowId(row: Resource, attribute: string): number {
  const id = integerId(row, attribute)
  if (Number.isNaN(id) && row.attributes?.[attribute] !== undefined) {
    throw disorder('an id that is no integer')
  }
  return id
}
