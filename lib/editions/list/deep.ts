import type { Page } from '../translate/query.ts'

/** What rows are read for. */
export type PagePurpose = 'rows' | 'count'

/** A collection whose rows come in the order of the list, in pages cut before access is checked. */
export type Source<Row> = (
  offset: number,
  limit: number,
  purpose: PagePurpose
) => Promise<Page<Row>>

/** Where a list begins in one source. */
export interface Start {
  /** How many rows of the source come before. */
  position: number
  /** Id of the last of them; Infinity where there is none. */
  last: number
}

/** A page that was read: its ids, newest first, and its place in its source. */
interface Window {
  start: number
  ids: number[]
  more: boolean
}

/** A start; or a guess at one, without `last`. */
interface RowPosition {
  position: number
  last?: number
}

export interface DeepOptions<Row> {
  sources: Array<Source<Row>>
  offset: number
  /** Unique over all sources. */
  idOf: (row: Row) => number
  /** Rows per request. */
  pageMax: number
}

/** After this many rounds of reading pages the lazy merge has to do it. */
const ROUNDS = 16

/**
 * Finds the place in each source of the row that is at `offset` of all sources together, without
 * reading the rows before it. Ids are one sequence over all sources. So a guess at the id gives a
 * position in each source, and the pages around these positions give a better guess. Evenly mixed
 * sources take three pages each, whatever the offset.
 * @returns undefined where a page has hidden rows, or the ids are spread so unevenly that it takes
 *   too long
 */
export async function findStarts<Row>({
  sources,
  offset,
  idOf,
  pageMax
}: DeepOptions<Row>): Promise<Start[] | undefined> {
  const windows = sources.map((): Window[] => [])
  let places: RowPosition[] = sources.map(() => ({ position: 0 }))
  for (let round = 0; round < ROUNDS; round++) {
    const pages = await Promise.all(
      sources.map((source, index) =>
        places[index]!.last === undefined ? look(source, places[index]!.position) : undefined
      )
    )
    for (const [index, page] of pages.entries()) {
      if (page === 'hides') return undefined
      if (page) windows[index] = [...windows[index]!, page].sort((a, b) => a.start - b.start)
    }
    places = placesAt(windows, offset, round % 3 === 2)
    if (places.every(isStart)) return places
  }
  return undefined

  async function look(source: Source<Row>, position: number): Promise<Window | 'hides'> {
    const start = Math.max(0, position - pageMax / 2)
    const { rows, more } = await source(start, pageMax, 'count')
    const ids = rows.map(idOf)
    return more && ids.length < pageMax ? 'hides' : { start, ids, more }
  }
}

function isStart(place: RowPosition): place is Start {
  return place.last !== undefined
}

/**
 * The places of the least id that has no more than `offset` rows before it, as far as the pages
 * show.
 * @param halve guesses the middle of the unknown range, which ends even where proportions mislead
 */
function placesAt(windowsOfSources: Window[][], offset: number, halve: boolean): RowPosition[] {
  const before = (id: number) =>
    windowsOfSources.reduce((sum, windows) => sum + place(windows, id).position, 0)
  let low = 0
  let high = 1 + Math.max(0, ...windowsOfSources.map(([newest]) => newest!.ids[0] ?? 0))
  while (low < high) {
    const id = low + Math.floor((high - low) / 2)
    if (before(id) > offset) low = id + 1
    else high = id
  }
  return windowsOfSources.map((windows) => place(windows, low, halve))
}

/**
 * How many rows of a source have greater ids than this one: counted where a page shows it, else
 * estimated.
 */
function place(windows: Window[], id: number, halve = false): RowPosition {
  const after = windows.findIndex(({ ids }) => !(ids[0]! > id))
  const window = windows.at(after === -1 ? -1 : after - 1)
  if (after === 0 || !window) return { position: 0, last: Infinity }
  const { start, ids, more } = window
  const older = ids.findIndex((other) => other <= id)
  if (older !== -1) return { position: start + older, last: ids[older - 1]! }
  const last = ids.at(-1)!
  const end = start + ids.length
  const next = windows[after]
  if (!more || (next && next.start <= end)) return { position: end, last }
  const middle = next && Math.ceil((end + next.start) / 2)
  if (middle !== undefined && halve) return { position: middle }
  // The next page is past the end and has no ids, so the density so far has to do.
  const density =
    next?.ids[0] === undefined
      ? (end - 1) / (windows[0]!.ids[0]! - last)
      : (next.start - end) / (last - next.ids[0])
  return {
    position: Math.ceil(
      Math.min(
        end + (last - id) * density,
        (next?.ids[0] === undefined ? middle : next.start) ?? Infinity
      )
    )
  }
}
