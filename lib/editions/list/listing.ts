import { disorder } from '../translate/verify.ts'
import { findStarts, type PagePurpose, type Source, type Start } from './deep.ts'
import {
  bufferedIds,
  fillStream,
  idsOfRest,
  isBuffered,
  isReady,
  Moved,
  openStream,
  type Stream,
  type StreamContext
} from './streams.ts'

export interface ListOptions<Row> extends StreamContext<Row> {
  /** A row that several of them have comes once. */
  sources: Array<Source<Row>>
  offset: number
  limit: number
  /** Whether to find the total even if that takes reading to the end. */
  total: boolean
  /** Whether the first page is as large as all others, however few rows are asked for. */
  areWhole?: boolean
  /** Whether no row of a source is hidden up to the one with this id, at this position. Undefined where nobody can tell. */
  nothingHidden?: ((source: number, position: number, id: number) => Promise<boolean>) | undefined
  /** Whether the CMS's count of a source has no hidden rows in it. Without this function no count is used. */
  isOwnCount?: ((source: number, count: number) => Promise<boolean>) | undefined
}

export interface Listing<Row> {
  rows: Row[]
  hasMore: boolean
  total: number | null
}

const RESTARTS = 2

/** From this offset on, for each source, rows are skipped instead of read. */
const DEEP = 250

/**
 * The rows at `offset` to `offset + limit` of all sources taken as one list by descending id: a lazy k-way merge.
 *
 * A page is fetched only when its source has nothing left to compare, so at most
 * ceil((offset + limit) / pageMax) + k requests are made for k sources (hidden rows included). The result is exact, whatever
 * rows are hidden. Where rows come and go in the meantime, no row comes twice. To notice a skipped row, each page inside the
 * window begins with the last row of the page before it; else the list starts again, twice at most.
 *
 * Rows before a deep offset are skipped only where none of them is hidden. It is certain which rows these are: in each source
 * the list goes on from a row that was found at the expected position, and the oldest row before it is newer than what
 * follows in any source.
 * @throws {Failure} CMS_INVALID_RESPONSE where a page has more rows than asked for, rows out of order, or again and again
 *   none that is new; what a source throws
 */
export function list<Row>(options: ListOptions<Row>): Promise<Listing<Row>> {
  return listOrRestart(
    { ...options, sources: options.sources.map((source) => checkOrder(source, options.idOf)) },
    0
  )
}

/** A source whose every page has at most as many rows as asked for, by descending id; rows without one are hidden. */
function checkOrder<Row>(source: Source<Row>, idOf: (row: Row) => number): Source<Row> {
  return async (offset, limit, purpose) => {
    const page = await source(offset, limit, purpose)
    if (page.rows.length > limit) {
      throw disorder(`${page.rows.length} editions where at most ${limit} were asked for`)
    }
    const rows = page.rows.filter((row) => !Number.isNaN(idOf(row)))
    if (!rows.every((row, index) => index === 0 || idOf(row) < idOf(rows[index - 1]!))) {
      throw disorder('editions that are not in the order asked for')
    }
    return { ...page, rows }
  }
}

async function listOrRestart<Row>(options: ListOptions<Row>, times: number): Promise<Listing<Row>> {
  const isGuarded = times < RESTARTS
  try {
    return await attempt(options, isGuarded, isGuarded ? await certainStarts(options) : undefined)
  } catch (error) {
    if (!(error instanceof Moved)) throw error
    if (!isGuarded) throw disorder('the same editions again and again')
    return listOrRestart(options, times + 1)
  }
}

async function certainStarts<Row>(options: ListOptions<Row>): Promise<Start[] | undefined> {
  const { nothingHidden, sources, offset } = options
  if (!nothingHidden || offset <= DEEP * sources.length) return undefined
  const starts = await findStarts(options)
  if (!starts) return undefined
  const certain = await Promise.all(
    starts.map(
      ({ position, last }, index) => position === 0 || nothingHidden(index, position - 1, last)
    )
  )
  return certain.every(Boolean) ? starts : undefined
}

/** One attempt at a list. */
interface Merge<Row> {
  options: ListOptions<Row>
  streams: Array<Stream<Row>>
  /** Whether pages overlap, so that rows that move are noticed. */
  isGuarded: boolean
  /** How many rows of the list come before the next one. */
  position: number
}

async function attempt<Row>(
  options: ListOptions<Row>,
  isGuarded: boolean,
  starts?: Start[]
): Promise<Listing<Row>> {
  const { sources, offset, limit, pageMax, areWhole = false } = options
  const firstSize = areWhole ? pageMax : Math.min(pageMax, offset + limit + 1)
  const streams = sources.map((source, index) => openStream(source, firstSize, starts?.[index]))
  const position = starts?.reduce((sum, start) => sum + start.position, 0) ?? 0
  const merge = { options, streams, isGuarded, position }
  await readFirstPages(merge, starts)
  const rows = await takeRows(merge)
  if (!streams.some(isBuffered)) await refill(merge, 'count')
  return { rows, hasMore: streams.some(isBuffered), total: await totalOf(merge) }
}

/** @throws {Moved} where a row that follows a start is newer than the oldest row before all starts */
async function readFirstPages<Row>(
  { options, streams }: Merge<Row>,
  starts: Start[] | undefined
): Promise<void> {
  const oldest = Math.min(...streams.map(({ last }) => last))
  await Promise.all(streams.map((stream) => fillStream(options, stream, 'rows', starts && 'first')))
  if (streams.some((stream) => isBuffered(stream) && headId(options, stream) > oldest)) {
    throw new Moved()
  }
}

/** Takes the newest row of all streams, again and again, until the list is as long as asked for. */
async function takeRows<Row>(merge: Merge<Row>): Promise<Row[]> {
  const { options, streams } = merge
  const { offset, limit } = options
  const rows: Row[] = []
  for (; merge.position < offset + limit; merge.position++) {
    if (!streams.every(isReady)) await refill(merge, 'rows', merge.position > offset)
    const stream = newestStream(merge)
    if (!stream) break
    if (merge.position >= offset) rows.push(stream.rows[stream.head]!)
    dropRow(merge, headId(options, stream))
  }
  return rows
}

/** Reads on until each stream has a row, or is at its end. */
async function refill<Row>(
  { options, streams, isGuarded }: Merge<Row>,
  purpose: PagePurpose,
  isInWindow = false
): Promise<void> {
  const overlap = isGuarded && isInWindow ? 'somewhere' : undefined
  for (const stream of streams) {
    if (!isReady(stream)) await fillStream(options, stream, purpose, overlap)
  }
}

/** The stream with the newest row. */
function newestStream<Row>({ options, streams }: Merge<Row>): Stream<Row> | undefined {
  let newest: Stream<Row> | undefined
  for (const stream of streams) {
    if (!isBuffered(stream)) continue
    if (!newest || headId(options, stream) >= headId(options, newest)) newest = stream
  }
  return newest
}

/** Drops a row from each stream that has it next. */
function dropRow<Row>({ options, streams }: Merge<Row>, id: number): void {
  for (const stream of streams) {
    if (isBuffered(stream) && headId(options, stream) === id) stream.head++
  }
}

function headId<Row>({ idOf }: ListOptions<Row>, { rows, head }: Stream<Row>): number {
  return idOf(rows[head]!)
}

async function totalOf<Row>(merge: Merge<Row>): Promise<number | null> {
  const { options, streams, position } = merge
  if (streams.every(({ more }) => !more)) {
    return position + new Set(streams.flatMap((stream) => bufferedIds(options, stream))).size
  }
  if (await areOwnCounts(merge)) return streams.reduce((sum, { count }) => sum + count!, 0)
  if (!options.total) return null
  const ids = await Promise.all(streams.map((stream) => idsOfRest(options, stream)))
  return position + new Set(ids.flat()).size
}

async function areOwnCounts<Row>({
  options: { isOwnCount },
  streams
}: Merge<Row>): Promise<boolean> {
  if (!isOwnCount) return false
  if (!streams.every(({ count, hides }) => count !== undefined && !hides)) return false
  const areOwn = await Promise.all(streams.map(({ count }, index) => isOwnCount(index, count!)))
  return areOwn.every(Boolean)
}
