import type { Resource } from '../../drupal/document.ts'
import { Failure } from '../../errors.ts'
import { attributeOf, publicNames, type ContentModel } from '../model.ts'
import { instant } from './canonical.ts'

/**
 * What a list is sorted by. Rows with the same value are sorted by their ids, in the same
 * direction.
 */
export interface ListOrder {
  field: 'id' | 'changed'
  direction: 'ascending' | 'descending'
}

/** The orders of lists, by the values of the parameter `sort`. */
export const LIST_ORDERS = {
  '-id': { field: 'id', direction: 'descending' },
  id: { field: 'id', direction: 'ascending' },
  '-changed': { field: 'changed', direction: 'descending' },
  changed: { field: 'changed', direction: 'ascending' }
} as const satisfies Record<string, ListOrder>

export type Sort = keyof typeof LIST_ORDERS

/**
 * The order of a list that names none: ids have no ties, and are one sequence in all collections of
 * an entity type.
 */
export const NEWEST_FIRST: ListOrder = LIST_ORDERS['-id']

/** JSON:API's `sort` for an order. */
export function sortPaths({ field, direction }: ListOrder, model: ContentModel): string {
  const { id, changed } = model.keys
  const names = field === 'id' ? publicNames(model, id) : publicNames(model, changed, id)
  return names.map((name) => (direction === 'descending' ? `-${name}` : name)).join(',')
}

/**
 * Negative where the first value comes first, positive where the second one does, 0 where they are
 * the same.
 */
export function compareIn({ direction }: ListOrder, a: number, b: number): number {
  return direction === 'descending' ? b - a : a - b
}

/** What no id comes before. */
export function beforeAllIds({ direction }: ListOrder): number {
  return direction === 'descending' ? Infinity : -Infinity
}

/**
 * When a row was last changed, in milliseconds. A time that is not known is not taken for any.
 * @throws {Failure} BAD_REQUEST where the row does not show it
 */
export function changeTime({ type, id, attributes = {} }: Resource, model: ContentModel): number {
  const time = instant(attributeOf(attributes, model.keys.changed, model))
  if (!Number.isNaN(time)) return time
  throw new Failure(
    'BAD_REQUEST',
    `querystring/sort cannot be answered: Drupal does not show when ${type} ${id} was changed`
  )
}
