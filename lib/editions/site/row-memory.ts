import { LRUCache } from 'lru-cache'
import type { Caller } from '../../http/calls.ts'
import { readKey } from '../../drupal/credentials.ts'
import { PAGE_MAX } from '../translate/query.ts'
import { systemTime, type Time } from '../../time.ts'
import type { Collection } from './catalog.ts'

/**
 * What a scan has shown a caller of a collection: its rows in the order of their ids, the newest
 * first, without a gap.
 */
export interface ScannedRows {
  /** When its first page was asked for, by the monotonic clock. */
  at: number
  /**
   * A row that was last changed before this time is as the scan shows it. In milliseconds since
   * 1970, by Drupal's clock.
   */
  since: number
  /** Where the next page starts in the collection. */
  position: number
  /** How many rows of the last page were not visible. */
  hidden: number
  /** Id of the last row. */
  last: number
  /** Whether the collection has more rows. */
  more: boolean
  /**
   * The uuid of each row and the values that lists compare, as JSON: objects take four times the
   * memory.
   */
  rows: string
}

/** What is remembered of the rows of collections, for each caller. */
export interface RowMemory {
  recall(collection: Collection, caller: Caller): ScannedRows | undefined
  /** Keeps a scan, unless the last one shows more. */
  keep(collection: Collection, caller: Caller, scanned: ScannedRows): void
  forget(collection: Collection, caller: Caller): void
  /**
   * Takes in where a page was in the order of ids, the newest first.
   * @param ids of its visible rows
   */
  learnPage(collection: Collection, caller: Caller, position: number, ids: number[]): void
  /**
   * Where a page may begin that has the row with an id. Rows have come and gone since, so this only
   * shortens a look.
   */
  guessPosition(collection: Collection, caller: Caller, id: number): number
}

/** Where a page was, and the ids of its first and its last row. */
interface PagePlace {
  position: number
  first: number
  last: number
}

/** How long Quoin goes by a scan, in milliseconds: permissions change. */
const REMEMBERED_MS = 10 * 60_000

/**
 * How large all scans may be together, and one of them, in bytes. A character counts as two, as
 * text other than Latin-1 takes.
 */
const BYTES = 16 * 1024 * 1024
const LARGEST = 4 * 1024 * 1024

/** What a scan counts besides its rows. */
const BESIDES = 1024

/** How many pages have a remembered place, in all and for one caller and collection. */
const PLACES = 50_000
const PLACES_OF_ONE = 500

export function createRowMemory(time: Time = systemTime): RowMemory {
  const scans = new LRUCache<string, ScannedRows>({
    maxSize: BYTES,
    maxEntrySize: LARGEST,
    sizeCalculation: ({ rows }, key) => 2 * (rows.length + key.length) + BESIDES
  })
  const places = new LRUCache<string, PagePlace[]>({
    maxSize: PLACES,
    sizeCalculation: (pages) => pages.length
  })
  const keyOf = ({ path }: Collection, caller: Caller) => readKey(path, caller)

  function recall(collection: Collection, caller: Caller): ScannedRows | undefined {
    const scanned = scans.get(keyOf(collection, caller))
    return scanned && time.monotonic() - scanned.at < REMEMBERED_MS ? scanned : undefined
  }

  return {
    recall,
    keep(collection, caller, scanned) {
      const last = recall(collection, caller)
      const showsLess = last !== undefined && scanned.more && last.position > scanned.position
      if (!showsLess) scans.set(keyOf(collection, caller), scanned)
    },
    forget(collection, caller) {
      scans.delete(keyOf(collection, caller))
    },
    learnPage(collection, caller, position, ids) {
      if (ids.length === 0) return
      const page = { position, first: ids[0]!, last: ids.at(-1)! }
      const key = keyOf(collection, caller)
      const others = (places.get(key) ?? []).filter(
        ({ first, last }) => last >= page.first || first <= page.last
      )
      if (others.length === PLACES_OF_ONE) return
      places.set(
        key,
        [...others, page].sort((a, b) => b.first - a.first)
      )
    },
    guessPosition: (collection, caller, id) =>
      guess(places.get(keyOf(collection, caller)) ?? [], id)
  }
}

/** @param pages the newest first */
function guess(pages: PagePlace[], id: number): number {
  const index = pages.findIndex(({ last }) => last <= id)
  const below = pages[index]
  if (below && id <= below.first) return below.position
  const above = pages.at(index === -1 ? -1 : index - 1)
  if (index === 0 || !above) return 0
  const end = above.position + PAGE_MAX
  if (!below) return end
  const share = (above.last - id) / (above.last - below.first)
  return Math.max(0, Math.floor(end + share * (below.position - end) - PAGE_MAX / 2))
}
