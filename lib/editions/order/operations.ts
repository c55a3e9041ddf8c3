import { Failure, texts } from '../../errors.ts'
import { scalarText } from '../../drupal/document.ts'
import type { ArticleRef, OrderOperation } from '../schemas.ts'
import type { FieldItem } from '../translate/edition-json.ts'
import { isGone } from '../translate/gone.ts'

export interface Rearrangement {
  /** The references in their new order. */
  order: FieldItem[]
  /** Of each operation: `already` where the order was as it asks for. */
  outcomes: Array<'done' | 'already'>
}

const PLACES = ['before', 'after', 'at'] as const

/**
 * Checks what a schema cannot say of operations.
 * @throws {Failure} BAD_REQUEST for an article without a handle, for a place too many or too few,
 *   and for inserts of which some have a uuid and some have not, since nobody could tell whether
 *   two of them are the same article
 */
export function checkOperations(operations: OrderOperation[]): void {
  operations.forEach((operation, index) => {
    for (const name of ['article', 'before', 'after'] as const) {
      const article = operation[name]
      if (article && article.target_id === undefined && article.target_uuid === undefined) {
        throw badOperation(index, `/${name} needs target_id or target_uuid`)
      }
    }
    if (operation.op === 'insert' && isGone(operation.article)) {
      throw badOperation(index, '/article has no id: what is gone cannot be inserted')
    }
    const places = PLACES.filter((place) => operation[place] !== undefined)
    if (operation.op === 'remove' && places.length > 0) {
      throw badOperation(index, ` has ${places.join(' and ')}; a remove takes no place`)
    }
    if (operation.op !== 'remove' && places.length !== 1) {
      throw badOperation(index, ' needs one of before, after and at')
    }
  })
  const byUuid = operations
    .filter(({ op }) => op === 'insert')
    .map(({ article }) => article.target_uuid !== undefined)
  if (new Set(byUuid).size > 1) {
    throw new Failure(
      'BAD_REQUEST',
      'body/operations inserts some articles by target_id and some by target_uuid; name all of them in one way'
    )
  }
}

/** The uuids of articles, by what `nameOf` calls them. */
export type Uuids = ReadonlyMap<string, string>

/**
 * The uuids of all articles that operations may mean. Where one names an article by its id that
 * another may insert by its uuid, or the other way round, only the CMS knows whether they are the
 * same.
 * @param lookUp finds uuids in the CMS, by the names of the articles
 */
export async function uuidsFor(
  order: FieldItem[],
  operations: OrderOperation[],
  lookUp: (articles: ArticleRef[]) => Promise<Uuids>
): Promise<Uuids> {
  const known = knownUuids(order, operations)
  const unknown = articlesToLookUp(known, operations)
  return unknown.length === 0 ? known : new Map([...known, ...(await lookUp(unknown))])
}

/** What an article is called that is named by its id. */
export function nameOf({ target_id: id, target_type: type }: ArticleRef | FieldItem): string {
  return `${scalarText(type)}:${scalarText(id)}`
}

/** The uuids that the order and the operations themselves tell. */
function knownUuids(order: FieldItem[], operations: OrderOperation[]): Uuids {
  const items: FieldItem[] = [...order, ...operations.map(({ article }) => article)]
  const known = new Map<string, string>()
  // The first one counts, so it is set last.
  for (const item of items.toReversed()) {
    const { target_id: id, target_uuid: uuid } = item
    if (scalarText(id) === '' || typeof uuid !== 'string') continue
    known.set(nameOf({ target_id: id }), uuid)
    known.set(nameOf(item), uuid)
  }
  return known
}

function articlesToLookUp(known: Uuids, operations: OrderOperation[]): ArticleRef[] {
  const uuids = new Set([...known.values()].map((uuid) => uuid.toLowerCase()))
  const isUnknown = (article: ArticleRef) =>
    article.target_uuid === undefined
      ? !known.has(nameOf(article))
      : !uuids.has(article.target_uuid.toLowerCase())
  const unknown = operations.flatMap(articlesOf).filter(isUnknown)
  const isInserted = operations.some(({ op, article }) => op === 'insert' && isUnknown(article))
  const byId = unknown.filter(({ target_uuid: uuid }) => uuid === undefined)
  return isInserted && byId.length < unknown.length ? byId : []
}

function articlesOf({ article, before, after }: OrderOperation): ArticleRef[] {
  return [article, before, after].filter((one) => one !== undefined)
}

/**
 * Applies operations to a running order, one after the other: all of them, or none.
 * @throws {Failure} ORDER_CONFLICT, with the present `order`, where a neighbour or an article to
 *   move is not in it
 */
export function rearrange(
  order: FieldItem[],
  operations: OrderOperation[],
  uuids: Uuids = knownUuids(order, operations)
): Rearrangement {
  let currentOrder = order
  const outcomes = operations.map((operation, index) => {
    const next = apply(
      { order: currentOrder, uuids, failureOf: (article) => conflict(order, index, article) },
      operation
    )
    currentOrder = next ?? currentOrder
    return next ? 'done' : 'already'
  })
  return { order: currentOrder, outcomes }
}

/** What one operation is applied to. */
interface Arranging {
  order: FieldItem[]
  uuids: Uuids
  failureOf: (article: ArticleRef) => Failure
}

/** @returns undefined where nothing changes */
function apply(
  arranging: Arranging,
  { op, article, occurrence = 1, ...place }: OrderOperation
): FieldItem[] | undefined {
  const { order, failureOf } = arranging
  const index = indexOf(arranging, article, occurrence)
  if (op === 'insert') {
    return index >= 0 ? undefined : order.toSpliced(placeIn(arranging, place), 0, { ...article })
  }
  if (op === 'remove') return index >= 0 ? order.toSpliced(index, 1) : undefined
  if (index < 0) throw failureOf(article)
  const otherItems = order.toSpliced(index, 1)
  const target = placeIn({ ...arranging, order: otherItems }, place)
  return target === index ? undefined : otherItems.toSpliced(target, 0, order[index]!)
}

/** The index at which an article is to stand. */
function placeIn(
  arranging: Arranging,
  { before, after, at }: Pick<OrderOperation, 'before' | 'after' | 'at'>
): number {
  const neighbour = before ?? after
  if (!neighbour) return at === 'start' ? 0 : arranging.order.length
  const index = indexOf(arranging, neighbour, 1)
  if (index < 0) throw arranging.failureOf(neighbour)
  return before ? index : index + 1
}

/** Where an article stands for the nth time, or -1. One that was just inserted may have no type. */
function indexOf({ order, uuids }: Arranging, article: ArticleRef, occurrence: number): number {
  const { target_type: type } = article
  const isSame = isGone(article)
    ? isGone
    : article.target_uuid === undefined
      ? sameById(article, uuids)
      : sameByUuid(article.target_uuid, uuids)
  const isArticle = (item: FieldItem) =>
    (type === undefined || (item['target_type'] ?? type) === type) && isSame(item)
  const indexes = order.flatMap((item, index) => (isArticle(item) ? [index] : []))
  return indexes[occurrence - 1] ?? -1
}

/** What was inserted by uuid has no id. */
function sameById(article: ArticleRef, uuids: Uuids): (item: FieldItem) => boolean {
  const id = String(article.target_id)
  const uuid = uuids.get(nameOf(article))?.toLowerCase()
  return ({ target_id: itemId, target_uuid: itemUuid }) =>
    itemId === undefined ? scalarText(itemUuid).toLowerCase() === uuid : scalarText(itemId) === id
}

/** What was inserted by id has no uuid. */
function sameByUuid(wanted: string, uuids: Uuids): (item: FieldItem) => boolean {
  const uuid = wanted.toLowerCase()
  return (item) => scalarText(item['target_uuid'] ?? uuids.get(nameOf(item))).toLowerCase() === uuid
}

function conflict(
  order: FieldItem[],
  index: number,
  { target_id: id, target_uuid: uuid }: ArticleRef
): Failure {
  return new Failure('ORDER_CONFLICT', texts.notInOrder(index, String(uuid ?? id)), {
    details: { order }
  })
}

function badOperation(index: number, what: string): Failure {
  return new Failure('BAD_REQUEST', `body/operations/${index}${what}`)
}
