import type { ArticleRef, OrderOperation } from '../../client/src/client.ts'
import type { Item } from './settings.ts'

/** Where something stood in an order: between which articles, and at which index. */
export interface Spot {
  previous: Item | undefined
  next: Item | undefined
  index: number
}

/** Between which rows of an order a gap lies, by their tokens, and at which index. */
export interface Gap {
  after: string | undefined
  before: string | undefined
  index: number
}

/** How an operation names an article. */
export function refOf({ target_id: id, target_uuid: uuid, target_type: type }: Item): ArticleRef {
  return Object.fromEntries(
    Object.entries({ target_id: id, target_uuid: uuid, target_type: type }).filter(
      ([, value]) => value !== undefined
    )
  )
}

/** Whether both are the same article. Its uuid goes first, as in the service. */
export function isSameArticle(one: Item | ArticleRef, other: Item | ArticleRef): boolean {
  const [uuid, same] = [one.target_uuid, other.target_uuid]
  return uuid !== undefined && same !== undefined
    ? uuid === same
    : String(one.target_id) === String(other.target_id)
}

/** Which one of an article it is that stands at an index, from 1. */
function occurrenceAt(items: Item[], index: number): number {
  return items.slice(0, index + 1).filter((item) => isSameArticle(item, items[index]!)).length
}

/** An operation on what stands at an index. An article that is there once needs no number. */
function nameAt(items: Item[], index: number): Pick<OrderOperation, 'article' | 'occurrence'> {
  const occurrence = occurrenceAt(items, index)
  return { article: refOf(items[index]!), ...(occurrence > 1 && { occurrence }) }
}

/**
 * The place before what stands at an index, by a neighbour. An operation can name only the first
 * one of an article.
 */
export function placeAt(
  items: Item[],
  index: number
): Pick<OrderOperation, 'before' | 'after' | 'at'> {
  const isFirst = (at: number) => at >= 0 && at < items.length && occurrenceAt(items, at) === 1
  if (index <= 0) return { at: 'start' }
  if (index >= items.length) return { at: 'end' }
  if (isFirst(index - 1)) return { after: refOf(items[index - 1]!) }
  return isFirst(index) ? { before: refOf(items[index]!) } : { after: refOf(items[index - 1]!) }
}

/** Moves what stands at an index to another; undefined where it is there. */
export function moveTo(items: Item[], from: number, to: number): OrderOperation | undefined {
  const others = items.toSpliced(from, 1)
  const target = Math.max(0, Math.min(to, others.length))
  return target === from || !items[from]
    ? undefined
    : { op: 'move', ...nameAt(items, from), ...placeAt(others, target) }
}

/** Inserts an article at an index; undefined where it is in the order. */
export function insertAt(items: Item[], article: Item, index: number): OrderOperation | undefined {
  if (items.some((item) => isSameArticle(item, article))) return undefined
  return { op: 'insert', article: refOf(article), ...placeAt(items, index) }
}

/** Removes what stands at an index. */
export function removeAt(items: Item[], index: number): OrderOperation {
  return { op: 'remove', ...nameAt(items, index) }
}

/** Where the article at an index stands. */
export function spotOf(items: Item[], index: number): Spot {
  return { previous: items[index - 1], next: items[index + 1], index }
}

/**
 * The index of a place of before in an order without the article itself: beside a neighbour that is
 * still there.
 */
export function indexOf(items: Item[], { previous, next, index }: Spot): number {
  const find = (item: Item | undefined) =>
    item === undefined ? -1 : items.findIndex((one) => isSameArticle(one, item))
  const before = find(previous)
  if (before >= 0) return before + 1
  const after = find(next)
  return after >= 0 ? after : Math.min(index, items.length)
}

/** Where a gap between rows is now among the tokens of an order, without what is moved there. */
export function indexOfGap(others: string[], { after, before, index }: Gap): number {
  const [above, below] = [after, before].map((token) => others.indexOf(token ?? ''))
  if (above! >= 0) return above! + 1
  return below! >= 0 ? below! : Math.min(index, others.length)
}

/** One operation after another on what the former has left; those with nothing to do are left out. */
function inTurn<What>(
  items: Item[],
  all: What[],
  make: (order: Item[], what: What, nth: number) => OrderOperation | undefined
): OrderOperation[] {
  let order = items
  return all.flatMap((what, nth) => {
    const operation = make(order, what, nth)
    if (operation) order = apply(order, operation)
    return operation ?? []
  })
}

/** Moves what stands at some indexes, one behind the other, to an index among the others. */
export function moveAll(items: Item[], indexes: number[], to: number): OrderOperation[] {
  const moved = indexes.map((index) => items[index]!)
  const others = items.filter((item) => !moved.includes(item))
  return inTurn(items, moved, (order, item, nth) => {
    const from = order.indexOf(item)
    const previous = nth === 0 ? others[Math.min(to, others.length) - 1] : moved[nth - 1]
    return moveTo(order, from, order.toSpliced(from, 1).indexOf(previous!) + 1)
  })
}

/** Removes what stands at some indexes. */
export function removeAll(items: Item[], indexes: number[]): OrderOperation[] {
  const removed = indexes.map((index) => items[index]!)
  return inTurn(items, removed, (order, item) => removeAt(order, order.indexOf(item)))
}

/** Inserts articles one behind the other; those that are in the order stay where they are. */
export function insertAll(items: Item[], articles: Item[], index: number): OrderOperation[] {
  let at = Math.max(0, Math.min(index, items.length))
  return inTurn(items, articles, (order, article) => {
    const operation = insertAt(order, article, at)
    if (operation) at++
    return operation
  })
}

/** An article, and where it stood. */
export interface Stand {
  article: Item
  place: Spot
}

/** Where the articles at some indexes stand, from the first to the last. */
export function standsOf(items: Item[], indexes: number[]): Stand[] {
  return indexes
    .toSorted((one, other) => one - other)
    .map((index) => ({ article: items[index]!, place: spotOf(items, index) }))
}

/** Moves articles to where they stood, each beside a neighbour that is there. */
export function moveBack(items: Item[], stands: Stand[]): OrderOperation[] {
  return inTurn(items, stands, (order, { article, place }) => {
    const from = order.findIndex((item) => isSameArticle(item, article))
    return moveTo(order, from, indexOf(order.toSpliced(from, 1), place))
  })
}

/** Inserts articles where they stood. */
export function putBack(items: Item[], stands: Stand[]): OrderOperation[] {
  return inTurn(items, stands, (order, { article, place }) =>
    insertAt(order, article, indexOf(order, place))
  )
}

/**
 * Those articles that have kept their place among the others from one order to another: that are in
 * one of the longest sequences that both orders have.
 */
export function unmovedOf(articles: Item[], then: Item[], now: Item[]): Item[] {
  const indexIn = (items: Item[], item: Item) => items.findIndex((one) => isSameArticle(one, item))
  const indexes = now.map((item) => indexIn(then, item)).filter((index) => index >= 0)
  const [until, from] = [
    rising(indexes),
    rising(indexes.map((index) => -index).reverse()).reverse()
  ]
  const longest = Math.max(...until)
  return articles.filter((article) => {
    const place = indexes.indexOf(indexIn(then, article))
    return place >= 0 && until[place]! + from[place]! - 1 === longest
  })
}

/** How long the longest rising sequence is that ends at each of some numbers. */
function rising(numbers: number[]): number[] {
  const lengths: number[] = []
  numbers.forEach((number, index) => {
    lengths.push(
      1 +
        Math.max(
          0,
          ...numbers.slice(0, index).map((other, at) => (other < number ? lengths[at]! : 0))
        )
    )
  })
  return lengths
}

/**
 * An order as the service will make it with an operation; as it is where the operation cannot be
 * applied.
 */
export function apply(
  items: Item[],
  { op, article, occurrence = 1, before, after, at }: OrderOperation
): Item[] {
  const indexes = items.flatMap((item, index) => (isSameArticle(item, article) ? [index] : []))
  const index = indexes[occurrence - 1] ?? -1
  if (op === 'remove') return index < 0 ? items : items.toSpliced(index, 1)
  if (op === 'insert' ? index >= 0 : index < 0) return items
  const others = op === 'move' ? items.toSpliced(index, 1) : items
  const neighbour = before ?? after
  const place =
    neighbour === undefined ? -1 : others.findIndex((item) => isSameArticle(item, neighbour))
  if (neighbour !== undefined && place < 0) return items
  const target =
    neighbour === undefined ? (at === 'start' ? 0 : others.length) : before ? place : place + 1
  return others.toSpliced(target, 0, op === 'move' ? items[index]! : { ...article })
}

/**
 * An order with what somebody else has done to it; undefined where that cannot be done here. What
 * they have inserted has a title, and more, that only a read of the edition tells.
 */
export function applied(items: Item[], operations: OrderOperation[]): Item[] | undefined {
  let order = items
  for (const operation of operations) {
    const before = order
    order = apply(before, operation)
    if (operation.op === 'insert' || order === before) return undefined
  }
  return order
}

/**
 * Whether two entity tags name the same fields, whatever the urls of references: by the part before
 * the dot, as the service compares them.
 */
export function isSameState(one: string | undefined, other: string | undefined): boolean {
  return one !== undefined && one.split('.')[0] === other?.split('.')[0]
}

/** The items of a running order whose articles another one does not have. */
export function addedTo(before: Item[] = [], after: Item[] = []): Item[] {
  const known = new Set(before.map(({ target_id: id }) => id))
  return after.filter(({ target_id: id }) => !known.has(id))
}
