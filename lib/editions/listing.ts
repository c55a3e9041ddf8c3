/** One page of a collection as it came. */
export interface Page<Row> {
  /** The rows that the caller may see and wants. */
  rows: Row[]
  /** Whether a further row exists behind this page, be it visible or not. */
  more: boolean
  /** How many rows the collection has, where the CMS counts. */
  count?: number
}

/** A collection whose rows come by descending id, in pages cut before access is checked. */
export type Source<Row> = (offset: number, limit: number, purpose: 'rows' | 'count') => Promise<Page<Row>>

export interface ListOptions<Row> {
  sources: Array<Source<Row>>
  offset: number
  limit: number
  /** Whether the total is to be found even if that takes reading on to the end. */
  total: boolean
  /** Unique over all sources. */
  idOf: (row: Row) => number
  /** Rows per request. */
  pageMax: number
}

export interface Listing<Row> {
  rows: Row[]
  hasMore: boolean
  total: number | null
}

/** Thrown inside `list` when rows have moved between two pages, so that one may have been skipped. */
class Moved extends Error {}

const RESTARTS = 2

/** How many hidden rows a page may have for its last visible row to be asked for again. */
const HIDDEN_MAX = 24

/**
 * The rows at `offset` to `offset + limit` of all sources taken as one list by descending id: a lazy k-way merge.
 *
 * A page is fetched only when its source has nothing left to compare, so at most
 * ceil((offset + limit) / pageMax) + k requests are made for k sources (hidden rows counted in). Exact whatever rows are
 * hidden. Where rows come and go meanwhile, nothing comes twice; a skip inside the window is detected, by asking for the last
 * row seen once more, and the list is started again, twice at most.
 */
export function list<Row> (options: ListOptions<Row>): Promise<Listing<Row>> {
  return restarted(options, 0)
}

async function restarted<Row> (options: ListOptions<Row>, times: number): Promise<Listing<Row>> {
  try {
    return await attempt(options, times < RESTARTS)
  } catch (error) {
    if (!(error instanceof Moved)) throw error
    return restarted(options, times + 1)
  }
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
  /** Rows of the last page that were not visible. */
  hidden: number
  /** Whether a page had rows that were not visible: then the CMS's count is not the caller's. */
  hides: boolean
  count: number | undefined
}

async function attempt<Row> ({ sources, offset, limit, total, idOf, pageMax }: ListOptions<Row>, guarded: boolean): Promise<Listing<Row>> {
  const firstSize = Math.min(pageMax, offset + limit + 1)
  const streams = sources.map((source): Stream<Row> =>
    ({ source, rows: [], head: 0, position: 0, more: true, last: Infinity, hidden: 0, hides: false, count: undefined }))
  await Promise.all(streams.map((stream) => fill(stream, false)))

  const rows: Row[] = []
  let taken = 0
  for (; taken < offset + limit; taken++) {
    const next = await newest(taken > offset)
    if (!next) break
    if (taken >= offset) rows.push(next.rows[next.head]!)
    next.head++
  }
  const hasMore = streams.some(buffered) || await newest(false) !== undefined
  return { rows, hasMore, total: await count() }

  /** The stream with the newest row, after each has one to show or is at its end. */
  async function newest (inWindow: boolean): Promise<Stream<Row> | undefined> {
    for (const stream of streams) if (!buffered(stream)) await fill(stream, guarded && inWindow)
    return streams.filter(buffered).reduce<Stream<Row> | undefined>((best, stream) =>
      best && idOf(best.rows[best.head]!) > idOf(stream.rows[stream.head]!) ? best : stream, undefined)
  }

  async function fill (stream: Stream<Row>, watched: boolean): Promise<void> {
    while (stream.more && !buffered(stream)) {
      const again = watched && stream.last !== Infinity && stream.hidden <= HIDDEN_MAX ? stream.hidden + 1 : 0
      const size = stream.position === 0 ? firstSize : pageMax
      const page = await stream.source(stream.position - again, size, 'rows')
      if (again > 0 && !page.rows.some((row) => idOf(row) === stream.last)) throw new Moved()
      stream.position += size - again
      stream.hidden = size - page.rows.length
      stream.hides ||= page.more && stream.hidden > 0
      advance(stream, page)
    }
  }

  function advance (stream: Stream<Row>, page: Page<Row>): void {
    stream.rows = page.rows.filter((row) => idOf(row) < stream.last)
    stream.head = 0
    stream.more = page.more
    stream.count ??= page.count
    stream.last = stream.rows.length > 0 ? idOf(stream.rows.at(-1)!) : stream.last
  }

  async function count (): Promise<number | null> {
    if (total) return taken + (await Promise.all(streams.map(countRest))).reduce((sum, rest) => sum + rest, 0)
    if (streams.every(({ more }) => !more)) return taken + streams.reduce((sum, { rows, head }) => sum + rows.length - head, 0)
    return streams.every(({ count, hides }) => count !== undefined && !hides) ? streams.reduce((sum, { count }) => sum + count!, 0) : null
  }

  async function countRest (stream: Stream<Row>): Promise<number> {
    let rest = stream.rows.length - stream.head
    while (stream.more) {
      const page = await stream.source(stream.position, pageMax, 'count')
      stream.position += pageMax
      advance(stream, page)
      rest += stream.rows.length
    }
    return rest
  }
}

function buffered<Row> ({ rows, head }: Stream<Row>): boolean {
  return head < rows.length
}
