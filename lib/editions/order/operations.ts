import { Failure, texts } from '../../errors.ts'
import type { ArticleRef, OrderOperation } from '../schemas.ts'
import type { FieldItem } from '../translate/edition-json.ts'

export interface Rearrangement {
  /** The references in their new order. */
  order: FieldItem[]
  /** Of each operation: `already` where the order was as it asks for. */
  outcomes: Array<'done' | 'already'>
}

const PLACES = ['before', 'after', 'at'] as const

/**
 * Checks what a schema cannot say of operations.
 * @throws {Failure} BAD_REQUEST for an article without a handle, for a place too many or too few, and for inserts of which
 *   some have a uuid and some have not, since nobody could tell whether two of them are the same article
 */
export function checkOperations (operations: OrderOperation[]): void {
  operations.forEach((operation, index) => {
    for (const name of ['article', 'before', 'after'] as const) {
      const article = operation[name]
      if (article && article.target_id === undefined && article.target_uuid === undefined) throw badOperation(index, `/${name} needs target_id or target_uuid`)
    }
    const places = PLACES.filter((place) => operation[place] !== undefined)
    if (operation.op === 'remove' && places.length > 0) throw badOperation(index, ` has ${places.join(' and ')}; a remove takes no place`)
    if (operation.op !== 'remove' && places.length !== 1) throw badOperation(index, ' needs one of before, after and at')
  })
  const byUuid = operations.filter(({ op }) => op === 'insert').map(({ article }) => article.target_uuid !== undefined)
  if (new Set(byUuid).size > 1) throw new Failure('BAD_REQUEST', 'body/operations inserts some articles by target_id and some by target_uuid; name all of them in one way')
}

/**
 * Applies operations to a running order, one after the other: all of them, or none.
 * @throws {Failure} ORDER_CONFLICT, with the present `order`, where a neighbour or an article to move is not in it
 */
export function rearrange (order: FieldItem[], operations: OrderOperation[]): Rearrangement {
  let currentOrder = order
  const outcomes = operations.map((operation, index) => {
    const next = apply(currentOrder, operation, (article) => conflict(order, index, article))
    currentOrder = next ?? currentOrder
    return next ? 'done' : 'already'
  })
  return { order: currentOrder, outcomes }
}

/** @returns undefined where nothing changes */
function apply (order: FieldItem[], { op, article, occurrence = 1, ...place }: OrderOperation, failureOf: (article: ArticleRef) => Failure): FieldItem[] | undefined {
  const index = indexOf(order, article, occurrence)
  if (op === 'insert') return index >= 0 ? undefined : order.toSpliced(placeIn(order, place, failureOf), 0, { ...article })
  if (op === 'remove') return index >= 0 ? order.toSpliced(index, 1) : undefined
  if (index < 0) throw failureOf(article)
  const otherItems = order.toSpliced(index, 1)
  const target = placeIn(otherItems, place, failureOf)
  return target === index ? undefined : otherItems.toSpliced(target, 0, order[index]!)
}

/** The index at which an article is to stand. */
function placeIn (order: FieldItem[], { before, after, at }: Pick<OrderOperation, 'before' | 'after' | 'at'>, failureOf: (article: ArticleRef) => Failure): number {
  const neighbour = before ?? after
  if (!neighbour) return at === 'start' ? 0 : order.length
  const index = indexOf(order, neighbour, 1)
  if (index < 0) throw failureOf(neighbour)
  return before ? index : index + 1
}

/** Where an article stands for the nth time, or -1. Its uuid goes first, as in every reference. One that was just inserted may have no type. */
function indexOf (order: FieldItem[], { target_id: id, target_uuid: uuid, target_type: type }: ArticleRef, occurrence: number): number {
  const isArticle = (item: FieldItem) => (type === undefined || (item['target_type'] ?? type) === type) &&
    (uuid === undefined ? String(item['target_id']) === String(id) : String(item['target_uuid']).toLowerCase() === uuid.toLowerCase())
  const indexes = order.flatMap((item, index) => isArticle(item) ? [index] : [])
  return indexes[occurrence - 1] ?? -1
}

function conflict (order: FieldItem[], index: number, { target_id: id, target_uuid: uuid }: ArticleRef): Failure {
  return new Failure('ORDER_CONFLICT', texts.notInOrder(index, String(uuid ?? id)), { details: { order } })
}

function badOperation (index: number, what: string): Failure {
  return new Failure('BAD_REQUEST', `body/operations/${index}${what}`)
}
