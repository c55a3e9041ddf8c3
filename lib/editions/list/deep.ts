import type { Source } from './source.ts'

/** Where a list begins in one source. */
export interface Start {
  /** How many rows of the source come before. */
  position: number
  /** Id of the last of them; Infinity where there is none. */
  last: number
}

/** A page that was looked at: its ids, newest first, and where it is in its source. */
interface Window {
  start: number
  ids: number[]
  more: boolean
}

/** A start, or a guess at one: then without `last`. */
interface Place {
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

/** How often pages are looked at before the lazy merge is left to do it. */
const ROUNDS = 16

/**
 * Finds where the row at `offset` of all sources together is in each of them, without reading the rows before it: ids are
 * one sequence over all sources, so a guess at the id there gives a position in each, and pages around these a better
 * guess. Of evenly mixed sources three pages each will do, whatever the offset.
 * @returns undefined where a page had hidden rows, or where ids are spread so unevenly that it takes too long
 */
export async function findStarts<Row> ({ sources, offset, idOf, pageMax }: DeepOptions<Row>): Promise<Start[] | undefined> {
  const looked = sources.map((): Window[] => [])
  let places: Place[] = sources.map(() => ({ position: 0 }))
  for (let round = 0; round < ROUNDS; round++) {
    const pages = await Promise.all(sources.map((source, index) => places[index]!.last === undefined ? look(source, places[index]!.position) : undefined))
    for (const [index, page] of pages.entries()) {
      if (page === 'hides') return undefined
      if (page) looked[index] = [...looked[index]!, page].sort((one, other) => one.start - other.start)
    }
    places = placesAt(looked, offset, round % 3 === 2)
    if (places.every(isStart)) return places
  }
  return undefined

  async function look (source: Source<Row>, position: number): Promise<Window | 'hides'> {
    const start = Math.max(0, position - pageMax / 2)
    const { rows, more } = await source(start, pageMax, 'count')
    const ids = rows.map(idOf)
    return more && ids.length < pageMax ? 'hides' : { start, ids, more }
  }
}

function isStart (place: Place): place is Start {
  return place.last !== undefined
}

/**
 * The places of the least id that, as far as is known, has no more than `offset` rows before it.
 * @param halve whether what is unknown is to be halved, which ends where proportions mislead
 */
function placesAt (looked: Window[][], offset: number, halve: boolean): Place[] {
  const before = (id: number) => looked.reduce((sum, windows) => sum + place(windows, id).position, 0)
  let low = 0
  let high = 1 + Math.max(0, ...looked.map(([newest]) => newest!.ids[0] ?? 0))
  while (low < high) {
    const id = low + Math.floor((high - low) / 2)
    if (before(id) > offset) low = id + 1
    else high = id
  }
  return looked.map((windows) => place(windows, low, halve))
}

/** How many rows of a source have greater ids than this one: counted where a window shows it, else in proportion. */
function place (windows: Window[], id: number, halve = false): Place {
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
  // Where the next window is past the end nothing is known of its ids: as far as they are as dense as before.
  const density = next?.ids[0] === undefined ? (end - 1) / (windows[0]!.ids[0]! - last) : (next.start - end) / (last - next.ids[0])
  return { position: Math.ceil(Math.min(end + (last - id) * density, (next?.ids[0] === undefined ? middle : next.start) ?? Infinity)) }
}
