import type { Page } from '../translate/query.ts'
import type { PagePurpose, Source, Start } from './deep.ts'

/** What all streams of a list are read with. */
export interface StreamContext<Row> {
  /** Unique over all sources. NaN where a row has none since the caller may not see it; such a row is left out. */
  idOf: (row: Row) => number
  /** Rows per request. */
  pageMax: number
  /** Whether a row is wanted; default all. */
  isWanted?: (row: Row) => boolean
}

/** A source, and how far it was read. */
export interface Stream<Row> {
  source: Source<Row>
  rows: Row[]
  /** Index of the next row to take. */
  head: number
  /** How many rows its first page has. */
  firstSize: number
  /** Where the next page starts in the collection. */
  position: number
  more: boolean
  /** Id of the last row seen. */
  last: number
  /** How many rows of the last page were not visible. */
  hidden: number
  /** Whether a page had rows that are not visible or not wanted. Then the CMS's count is not the caller's. */
  hides: boolean
  count: number | undefined
}

/** Where the last row that was read has to come again in the next page. */
export type Overlap = 'first' | 'somewhere'

/** Thrown where rows have moved between two pages, so that a row may have been skipped, or a page has no new row. */
export class Moved extends Error {}

/** The last visible row of a page is not read again if the page has more hidden rows than this. */
const HIDDEN_MAX = 24

export function openStream<Row>(
  source: Source<Row>,
  firstSize: number,
  { position, last }: Start = { position: 0, last: Infinity }
): Stream<Row> {
  return {
    source,
    rows: [],
    head: 0,
    firstSize,
    position,
    more: true,
    last,
    hidden: 0,
    hides: false,
    count: undefined
  }
}

/**
 * Reads pages until the stream has a row, or is at its end.
 * @throws {Moved} where the last row does not come again as `overlap` says
 */
export async function fillStream<Row>(
  context: StreamContext<Row>,
  stream: Stream<Row>,
  purpose: PagePurpose,
  overlap?: Overlap
): Promise<void> {
  let expected = overlap
  while (stream.more && !isBuffered(stream)) {
    await readNextPage(context, stream, purpose, expected)
    expected &&= 'somewhere'
  }
}

async function readNextPage<Row>(
  context: StreamContext<Row>,
  stream: Stream<Row>,
  purpose: PagePurpose,
  overlap: Overlap | undefined
): Promise<void> {
  const { idOf, pageMax } = context
  const isOverlapping = overlap && stream.last !== Infinity && stream.hidden <= HIDDEN_MAX
  const again = isOverlapping ? stream.hidden + 1 : 0
  const size = stream.position === 0 ? stream.firstSize : pageMax
  const page = await stream.source(stream.position - again, size, purpose)
  if (isOverlapping) {
    const index = page.rows.findIndex((row) => idOf(row) === stream.last)
    if (index === -1 || (overlap === 'first' && index > 0)) throw new Moved()
  }
  stream.position += size - again
  stream.hidden = size - page.rows.length
  stream.hides ||= page.more && stream.hidden > 0
  takePage(context, stream, page, again)
}

/** The ids of all rows of a stream that were not taken; reads it to its end. */
export async function idsOfRest<Row>(
  context: StreamContext<Row>,
  stream: Stream<Row>
): Promise<number[]> {
  const ids = bufferedIds(context, stream)
  while (stream.more) {
    const page = await stream.source(stream.position, context.pageMax, 'count')
    stream.position += context.pageMax
    takePage(context, stream, page)
    ids.push(...bufferedIds(context, stream))
  }
  return ids
}

/** @param again how many rows of the page were read before */
function takePage<Row>(
  { idOf, isWanted = () => true }: StreamContext<Row>,
  stream: Stream<Row>,
  page: Page<Row>,
  again = 0
): void {
  const news = page.rows.filter((row) => idOf(row) < stream.last)
  if (page.more && news.length === 0 && page.rows.length > again) throw new Moved()
  stream.rows = news.filter(isWanted)
  stream.hides ||= page.more && stream.rows.length < news.length
  stream.head = 0
  stream.more = page.more
  stream.count ??= page.count
  stream.last = news.length > 0 ? idOf(news.at(-1)!) : stream.last
}

export function bufferedIds<Row>(
  { idOf }: StreamContext<Row>,
  { rows, head }: Stream<Row>
): number[] {
  return rows.slice(head).map(idOf)
}

export function isReady<Row>(stream: Stream<Row>): boolean {
  return isBuffered(stream) || !stream.more
}

export function isBuffered<Row>({ rows, head }: Stream<Row>): boolean {
  return head < rows.length
}
