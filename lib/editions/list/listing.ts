import type { Page } from '../translate/query.ts'
import { disorder } from '../translate/verify.ts'
import { findStarts, type Source, type Start } from './deep.ts'

export interface ListOptions<Row> {
  /** A row that several of them have comes once. */
  sources: Array<Source<Row>>
  offset: number
  limit: number
  /** Whether to find the total even if that takes reading to the end. */
  total: boolean
  /** Unique over all sources. NaN where a row has none since the caller may not see it; such a row is left out. */
  idOf: (row: Row) => number
  /** Rows per request. */
  pageMax: number
  /** Whether the first page is as large as all others, however few rows are asked for. */
  areWhole?: boolean
  /** Whether a row is wanted; default all. */
  isWanted?: (row: Row) => boolean
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

/** Thrown inside `list` where rows have moved between two pages, so that a row may have been skipped, or a page has no new row. */
class Moved extends Error {}

const RESTARTS = 2

/** From this offset on, for each source, rows are skipped instead of read. */
const DEEP = 250

/** The last visible row of a page is not read again if the page has more hidden rows than this. */
const HIDDEN_MAX = 24

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
  const starts =
    nothingHidden && offset > DEEP * sources.length ? await findStarts(options) : undefined
  const certain = await Promise.all(
    starts?.map(
      ({ position, last }, index) => position === 0 || nothingHidden!(index, position - 1, last)
    ) ?? []
  )
  return certain.every(Boolean) ? starts : undefined
}

interface Stream<Row> {
  source: Source<Row>
  rows: Row[]
  /** Index of the next row to take. */
  head: number
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

async function attempt<Row>(
  {
    sources,
    offset,
    limit,
    total,
    idOf,
    pageMax,
    areWhole = false,
    isWanted = () => true,
    isOwnCount
  }: ListOptions<Row>,
  isGuarded: boolean,
  starts?: Start[]
): Promise<Listing<Row>> {
  const firstSize = areWhole ? pageMax : Math.min(pageMax, offset + limit + 1)
  const streams = sources.map((source, index): Stream<Row> => ({
    source,
    rows: [],
    head: 0,
    position: 0,
    more: true,
    last: Infinity,
    ...starts?.[index],
    hidden: 0,
    hides: false,
    count: undefined
  }))
  const oldest = Math.min(...streams.map(({ last }) => last))
  await Promise.all(streams.map((stream) => fill(stream, starts && 'first')))
  if (streams.some((stream) => buffered(stream) && idOf(stream.rows[0]!) > oldest)) {
    throw new Moved()
  }

  const rows: Row[] = []
  let index = starts?.reduce((sum, { position }) => sum + position, 0) ?? 0
  for (; index < offset + limit; index++) {
    if (!streams.every(isReady)) await refill('rows', index > offset)
    const next = newest()
    if (!next) break
    const row = next.rows[next.head]!
    if (index >= offset) rows.push(row)
    for (const stream of streams) {
      if (buffered(stream) && idOf(stream.rows[stream.head]!) === idOf(row)) stream.head++
    }
  }
  if (!streams.some(buffered)) await refill('count')
  return { rows, hasMore: streams.some(buffered), total: await count() }

  /** Reads on until each stream has a row, or is at its end. */
  async function refill(purpose: 'rows' | 'count', inWindow = false): Promise<void> {
    for (const stream of streams) {
      if (!isReady(stream)) {
        await fill(stream, isGuarded && inWindow ? 'somewhere' : undefined, purpose)
      }
    }
  }

  /** The stream with the newest row. */
  function newest(): Stream<Row> | undefined {
    let best: Stream<Row> | undefined
    for (const stream of streams) {
      if (
        buffered(stream) &&
        !(best && idOf(best.rows[best.head]!) > idOf(stream.rows[stream.head]!))
      ) {
        best = stream
      }
    }
    return best
  }

  /** @param target where the last row has to come again in the next page, if anywhere */
  async function fill(
    stream: Stream<Row>,
    target?: 'first' | 'somewhere',
    purpose: 'rows' | 'count' = 'rows'
  ): Promise<void> {
    while (stream.more && !buffered(stream)) {
      const again =
        target && stream.last !== Infinity && stream.hidden <= HIDDEN_MAX ? stream.hidden + 1 : 0
      const size = stream.position === 0 ? firstSize : pageMax
      const page = await stream.source(stream.position - again, size, purpose)
      const position = page.rows.findIndex((row) => idOf(row) === stream.last)
      if (again > 0 && (position === -1 || (target === 'first' && position > 0))) throw new Moved()
      target &&= 'somewhere'
      stream.position += size - again
      stream.hidden = size - page.rows.length
      stream.hides ||= page.more && stream.hidden > 0
      advance(stream, page, again)
    }
  }

  /** @param again how many rows of the page were read before */
  function advance(stream: Stream<Row>, page: Page<Row>, again = 0): void {
    const news = page.rows.filter((row) => idOf(row) < stream.last)
    if (page.more && news.length === 0 && page.rows.length > again) throw new Moved()
    stream.rows = news.filter(isWanted)
    stream.hides ||= page.more && stream.rows.length < news.length
    stream.head = 0
    stream.more = page.more
    stream.count ??= page.count
    stream.last = news.length > 0 ? idOf(news.at(-1)!) : stream.last
  }

  async function count(): Promise<number | null> {
    if (streams.every(({ more }) => !more)) return index + new Set(streams.flatMap(restOf)).size
    if (await areOwnCounts()) return streams.reduce((sum, { count }) => sum + count!, 0)
    return total ? index + new Set((await Promise.all(streams.map(idsOfRest))).flat()).size : null
  }

  async function areOwnCounts(): Promise<boolean> {
    if (!isOwnCount || !streams.every(({ count, hides }) => count !== undefined && !hides)) {
      return false
    }
    return (await Promise.all(streams.map(({ count }, index) => isOwnCount(index, count!)))).every(
      Boolean
    )
  }

  async function idsOfRest(stream: Stream<Row>): Promise<number[]> {
    const ids = [restOf(stream)]
    while (stream.more) {
      const page = await stream.source(stream.position, pageMax, 'count')
      stream.position += pageMax
      advance(stream, page)
      ids.push(stream.rows.map(idOf))
    }
    return ids.flat()
  }

  function restOf({ rows, head }: Stream<Row>): number[] {
    return rows.slice(head).map(idOf)
  }
}

function isReady<Row>(stream: Stream<Row>): boolean {
  return buffered(stream) || !stream.more
}

function buffered<Row>({ rows, head }: Stream<Row>): boolean {
  return head < rows.length
}
