import { beforeAllIds, compareIn, type ListOrder } from '../translate/order.ts'
import type { Page } from '../translate/query.ts'
import type { PagePurpose, Source, Start } from './deep.ts'

/** What all streams of a list are read with. */
export interface StreamContext<Row> {
  /** What the sources are sorted by. */
  order: ListOrder
  /**
   * Unique over all sources. NaN where a row has none since the caller may not see it; such a row
   * is left out.
   */
  idOf: (row: Row) => number
  /** When a row was changed. Only orders by `changed` ask. */
  changeTimeOf: (row: Row) => number
  /** Rows per request. */
  pageMax: number
  /** Whether a row is wanted; default all. */
  isWanted?: (row: Row) => boolean
}

/** A row that was read, and what it is compared by. */
export interface StreamRow<Row> {
  id: number
  /** Of the field that the list is sorted by. */
  value: number
  /** Undefined where it is not wanted. */
  row: Row | undefined
}

/** A source, and how far it was read. */
export interface Stream<Row> {
  source: Source<Row>
  rows: Array<StreamRow<Row>>
  /** Index of the next row to take. */
  head: number
  /**
   * How many rows after the next one are read before it is compared with those of other streams.
   */
  lookahead: number
  /** How many rows its first page has. */
  firstSize: number
  /** Where the next page starts in the collection. */
  position: number
  more: boolean
  /** Id of the last row seen. */
  last: number
  /** The ids of all rows seen. */
  seen: Set<number>
  /** The ids of the rows that the list has taken from any stream. */
  taken: ReadonlySet<number>
  /** How many rows of the last page were not visible. */
  hidden: number
  /**
   * Whether a page had rows that are not visible or not wanted. Then the CMS's count is not the
   * caller's.
   */
  hides: boolean
  count: number | undefined
}

/** Where the last row that was read has to come again in the next page. */
export type Overlap = 'first' | 'somewhere'

/**
 * Thrown where rows have moved between two pages, so that a row may have been skipped, or a page
 * has no new row.
 */
export class Moved extends Error {}

/** The last visible row of a page is not read again if the page has more hidden rows than this. */
const HIDDEN_MAX = 24

export interface StreamOptions extends Pick<Stream<unknown>, 'firstSize' | 'lookahead' | 'taken'> {
  start?: Start | undefined
}

export function startStream<Row>(
  { order }: StreamContext<Row>,
  source: Source<Row>,
  { start = { position: 0, last: beforeAllIds(order) }, ...options }: StreamOptions
): Stream<Row> {
  return {
    ...options,
    source,
    rows: [],
    head: 0,
    position: start.position,
    more: true,
    last: start.last,
    seen: new Set(),
    hidden: 0,
    hides: false,
    count: undefined
  }
}

/**
 * Reads pages until the stream is ready.
 * @throws {Moved} where the last row does not come again as `overlap` says
 */
export async function fillStream<Row>(
  context: StreamContext<Row>,
  stream: Stream<Row>,
  purpose: PagePurpose,
  overlap?: Overlap
): Promise<void> {
  let expected = overlap
  while (!isReady(stream)) {
    await readNextPage(context, stream, purpose, expected)
    expected &&= 'somewhere'
  }
}

/**
 * @returns whether the page follows the one before it for certain, since that one's last row has
 *   come again
 * @throws {Moved} as `fillStream`
 */
export async function readNextPage<Row>(
  context: StreamContext<Row>,
  stream: Stream<Row>,
  purpose: PagePurpose,
  overlap: Overlap | undefined
): Promise<boolean> {
  const { pageMax } = context
  const isOverlapping = overlap && Number.isFinite(stream.last) && stream.hidden <= HIDDEN_MAX
  const again = isOverlapping ? stream.hidden + 1 : 0
  const size = stream.position === 0 ? stream.firstSize : pageMax
  const page = await stream.source(stream.position - again, size, purpose)
  if (isOverlapping) requireLast(context, stream, page.rows, overlap)
  stream.position += size - again
  stream.hidden = size - page.rows.length
  stream.hides ||= page.more && stream.hidden > 0
  takePage(context, stream, page, again)
  return isOverlapping === true
}

/** @throws {Moved} where the last row that was read does not come again as `overlap` says */
function requireLast<Row>(
  { order, idOf }: StreamContext<Row>,
  { last, hidden }: Stream<Row>,
  rows: Row[],
  overlap: Overlap
): void {
  const index = rows.findIndex((row) => idOf(row) === last)
  // A row that is changed moves to one end. So one that comes in before the last may be one that
  // was still to come.
  const isExact = overlap === 'first' || order.field === 'changed'
  if (index === -1 || (isExact && index > hidden)) throw new Moved()
}

/** The ids of all rows of a stream that were not taken; reads it to its end. */
export async function idsOfRest<Row>(
  context: StreamContext<Row>,
  stream: Stream<Row>
): Promise<number[]> {
  const ids = bufferedIds(stream)
  while (stream.more) {
    stream.head = stream.rows.length
    const page = await stream.source(stream.position, context.pageMax, 'count')
    stream.position += context.pageMax
    takePage(context, stream, page)
    ids.push(...bufferedIds(stream))
  }
  return ids
}

/** @param again how many rows of the page were read before */
function takePage<Row>(
  { order, idOf, changeTimeOf, isWanted = () => true }: StreamContext<Row>,
  stream: Stream<Row>,
  page: Page<Row>,
  again = 0
): void {
  const rows = page.rows.map((row): StreamRow<Row> => ({
    id: idOf(row),
    value: order.field === 'id' ? idOf(row) : changeTimeOf(row),
    row: isWanted(row) ? row : undefined
  }))
  const news = rows.filter(({ id }) => isNew(order, stream, id))
  if (page.more && news.length === 0 && rows.length > again) throw new Moved()
  stream.rows = [...stream.rows.slice(stream.head), ...news]
  stream.head = 0
  moveOn(stream)
  stream.hides ||= page.more && news.some(({ row }) => row === undefined)
  stream.more = page.more
  stream.count ??= page.count
  stream.last = news.at(-1)?.id ?? stream.last
  for (const { id } of news) stream.seen.add(id)
}

/**
 * Whether a row was not seen before. Its id tells that where rows are sorted by it. What it shows
 * of another field does not: Drupal sorts by the greatest or the least value of all translations,
 * and shows that of one.
 * Source: Drupal\Core\Entity\Query\Sql\Query::addSort().
 */
function isNew<Row>(order: ListOrder, { last, seen }: Stream<Row>, id: number): boolean {
  return order.field === 'id' ? compareIn(order, last, id) < 0 : !seen.has(id)
}

/** Leaves out what is not wanted, or was taken from another stream, up to the next row to take. */
export function moveOn<Row>(stream: Stream<Row>): void {
  while (isBuffered(stream) && !isListed(stream, stream.rows[stream.head]!)) stream.head++
}

function isListed<Row>({ taken }: Stream<Row>, { id, row }: StreamRow<Row>): boolean {
  return row !== undefined && !taken.has(id)
}

export function bufferedIds<Row>(stream: Stream<Row>): number[] {
  const { rows, head } = stream
  return rows
    .slice(head)
    .filter((row) => isListed(stream, row))
    .map(({ id }) => id)
}

/** Whether the next row of a stream can be compared: with as many after it as it looks ahead. */
export function isReady<Row>(stream: Stream<Row>): boolean {
  const { rows, head, lookahead, more } = stream
  return !more || (isBuffered(stream) && rows.length - head > lookahead)
}

export function isBuffered<Row>({ rows, head }: Stream<Row>): boolean {
  return head < rows.length
}

/**
 * What the next row of a stream is compared by: the foremost of it and the rows after it, by what
 * they show. A row does not come later than those that Drupal sorts after it.
 */
export function foremostRow<Row>(
  order: ListOrder,
  { rows, head, lookahead }: Stream<Row>
): StreamRow<Row> {
  return rows
    .slice(head, head + 1 + lookahead)
    .reduce((first, row) => (compareRows(order, row, first) < 0 ? row : first))
}

/** Negative where the first row comes first, positive where the second one does. */
export function compareRows<Row>(order: ListOrder, a: StreamRow<Row>, b: StreamRow<Row>): number {
  return compareIn(order, a.value, b.value) || compareIn(order, a.id, b.id)
}
