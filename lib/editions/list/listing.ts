import { compareIn } from '../translate/order.ts'
import { disorder } from '../translate/verify.ts'
import { findStarts, type PagePurpose, type Source, type Start } from './deep.ts'
import {
  bufferedIds,
  compareRows,
  fillStream,
  foremostRow,
  idsOfRest,
  isBuffered,
  isReady,
  Moved,
  moveOn,
  startStream,
  type Overlap,
  type Stream,
  type StreamContext,
  type StreamRow
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
  /**
   * Whether no row of a source is hidden up to the one with this id, at this position. Undefined
   * where nobody can tell, and for all orders but the newest first.
   */
  nothingHidden?: ((source: number, position: number, id: number) => Promise<boolean>) | undefined
  /**
   * Whether the CMS's count of a source has no hidden rows in it. Without this function no count is
   * used.
   */
  isOwnCount?: ((source: number, count: number) => Promise<boolean>) | undefined
}

export interface Listing<Row> {
  rows: Row[]
  hasMore: boolean
  total: number | null
}

const RESTARTS = 2

/** From this offset on, for each source, rows are skipped instead of read. */
export const DEEP = 250

/**
 * How many rows after the next one of a source are looked at before it is compared with those of
 * others, in an order by `changed`. Half a page: a list of 20 rows takes no request more for it.
 */
export const LOOKAHEAD = 24

/**
 * The rows at `offset` to `offset + limit` of all sources taken as one list in an order: a lazy
 * k-way merge.
 *
 * A page is fetched only when its source has nothing left to compare, so at most ceil((offset +
 * limit) / pageMax) + k requests are made for k sources (hidden rows included). The result is
 * exact, whatever rows are hidden. Where rows come and go in the meantime, no row comes twice. To
 * notice a skipped row, each page inside the window begins with the last row of the page before it;
 * else the list starts again, twice at most.
 *
 * Rows need not show the `changed` by which Drupal has sorted them. So within a source Drupal's
 * order stands, and its next row is compared with those of others by the foremost of it and the
 * next 24, by what they show. This depends on no page, so the list is the same in whatever pages it
 * is read. It takes up to k requests more.
 *
 * Rows before a deep offset are skipped only where none of them is hidden. It is certain which rows
 * these are: in each source the list goes on from a row that was found at the expected position,
 * and the oldest row before it is newer than what follows in any source.
 * @throws {Failure} CMS_INVALID_RESPONSE where a page has more rows than asked for, rows out of
 *   order, or again and again none that is new; what a source throws
 */
export function list<Row>(options: ListOptions<Row>): Promise<Listing<Row>> {
  return listOrRestart(
    { ...options, sources: options.sources.map((source) => checkPages(source, options)) },
    0
  )
}

/**
 * A source whose every page has at most as many rows as asked for, in their order; rows without an
 * id are hidden.
 */
export function checkPages<Row>(
  source: Source<Row>,
  options: Pick<StreamContext<Row>, 'idOf' | 'order'>
): Source<Row> {
  const { idOf } = options
  return async (offset, limit, purpose) => {
    const page = await source(offset, limit, purpose)
    if (page.rows.length > limit) {
      throw disorder(`${page.rows.length} editions where at most ${limit} were asked for`)
    }
    const rows = page.rows.filter((row) => !Number.isNaN(idOf(row)))
    if (!mayFollow(rows.map(idOf), options)) {
      throw disorder('editions that are not in the order asked for')
    }
    return { ...page, rows }
  }
}

/**
 * Whether a page may have these ids. In an order by `changed` it may have them in any order, each
 * once.
 */
function mayFollow(ids: number[], { order }: Pick<StreamContext<unknown>, 'order'>): boolean {
  return order.field === 'id'
    ? ids.every((id, index) => index === 0 || compareIn(order, ids[index - 1]!, id) < 0)
    : new Set(ids).size === ids.length
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
  /** The ids of the rows that were taken. */
  taken: Set<number>
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
  const merge = startMerge(options, isGuarded, starts)
  const { streams } = merge
  await readFirstPages(merge, starts)
  const rows = await takeRows(merge)
  if (!streams.some(isBuffered)) await refill(merge, 'count')
  return { rows, hasMore: streams.some(isBuffered), total: await totalOf(merge) }
}

function startMerge<Row>(
  options: ListOptions<Row>,
  isGuarded: boolean,
  starts: Start[] = []
): Merge<Row> {
  const { sources, order, offset, limit, pageMax, areWhole = false } = options
  const lookahead = order.field === 'changed' && sources.length > 1 ? LOOKAHEAD : 0
  const firstSize = areWhole ? pageMax : Math.min(pageMax, offset + limit + 1 + lookahead)
  const taken = new Set<number>()
  const streams = sources.map((source, index) =>
    startStream(options, source, { firstSize, lookahead, taken, start: starts[index] })
  )
  const position = starts.reduce((sum, start) => sum + start.position, 0)
  return { options, streams, taken, isGuarded, position }
}

/**
 * @throws {Moved} where a row that follows a start is newer than the oldest row before all starts
 */
async function readFirstPages<Row>(
  { options, streams }: Merge<Row>,
  starts: Start[] | undefined
): Promise<void> {
  await Promise.all(streams.map((stream) => fillStream(options, stream, 'rows', starts && 'first')))
  if (!starts) return
  const oldest = Math.min(...starts.map(({ last }) => last))
  if (streams.some((stream) => isBuffered(stream) && headId(stream) > oldest)) throw new Moved()
}

/** Takes the first row of all streams, again and again, until the list is as long as asked for. */
async function takeRows<Row>(merge: Merge<Row>): Promise<Row[]> {
  const { options, streams, taken } = merge
  const { offset, limit } = options
  const rows: Row[] = []
  for (; merge.position < offset + limit; merge.position++) {
    if (!streams.every(isReady)) await refill(merge, 'rows')
    const stream = firstStream(merge)
    if (!stream) break
    const { id, row } = stream.rows[stream.head]!
    if (merge.position >= offset) rows.push(row!)
    taken.add(id)
    streams.forEach(moveOn)
  }
  return rows
}

/** Reads on until each stream is ready. */
async function refill<Row>(merge: Merge<Row>, purpose: PagePurpose): Promise<void> {
  const { options, streams } = merge
  for (const stream of streams) {
    await fillStream(options, stream, purpose, overlapFor(merge, stream, purpose))
  }
}

/** Only pages inside the window overlap. */
function overlapFor<Row>(
  { options, isGuarded, position }: Merge<Row>,
  { rows, head }: Stream<Row>,
  purpose: PagePurpose
): Overlap | undefined {
  const isInWindow = purpose === 'rows' && position + rows.length - head > options.offset
  return isGuarded && isInWindow ? 'somewhere' : undefined
}

/** The stream with the first row. */
function firstStream<Row>({ options, streams }: Merge<Row>): Stream<Row> | undefined {
  const { order } = options
  let first: Stream<Row> | undefined
  let firstRow: StreamRow<Row> | undefined
  for (const stream of streams) {
    if (!isBuffered(stream)) continue
    const row = foremostRow(order, stream)
    if (firstRow && compareRows(order, row, firstRow) > 0) continue
    first = stream
    firstRow = row
  }
  return first
}

function headId<Row>({ rows, head }: Stream<Row>): number {
  return rows[head]!.id
}

async function totalOf<Row>(merge: Merge<Row>): Promise<number | null> {
  const { options, streams, position } = merge
  if (streams.every(({ more }) => !more)) {
    return position + new Set(streams.flatMap(bufferedIds)).size
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
