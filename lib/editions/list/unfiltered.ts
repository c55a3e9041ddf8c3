import { forEach } from '../../for-each.ts'
import type { Resource } from '../../drupal/document.ts'
import type { Resources } from '../lookup/resources.ts'
import type { Collection } from '../site/catalog.ts'
import { pageQuery, PAGE_MAX, type Page, type Parameters } from '../translate/query.ts'
import type { LoadedEdition } from '../translate/read.ts'
import { disorder } from '../translate/verify.ts'
import { withoutUrls } from '../lookup/individual.ts'
import type { Source } from './deep.ts'
import { list, type Listing } from './listing.ts'
import {
  keepRows,
  putRow,
  readScanned,
  readShown,
  recallRows,
  removeRow,
  scannedRow,
  scanOrder,
  sourceOfScan,
  startAgain,
  startScan,
  type Scan,
  type ScanContext
} from './scans.ts'
import { DENSE, sourceOf, type Query, type SourceContext } from './sources.ts'

export interface UnfilteredContext extends ScanContext, SourceContext {
  resources: Pick<Resources, 'page' | 'sparsePage' | 'individual'>
}

/** What an unfiltered list is asked for. */
export interface UnfilteredQuery extends Query {
  search: { offset: number; limit: number; total: boolean; isCertain?: boolean }
}

/** What one request reads of a list. */
interface Reading {
  query: UnfilteredQuery
  scans: Scan[]
  /** The editions that were read whole, by their uuids. */
  editions: Map<string, LoadedEdition>
  isWanted: (row: Resource) => boolean
  /** How many pages were read, and how many of their rows are wanted. */
  pages: number
  wanted: number
}

/** How often a list is made of what scans show, while rows of it turn out to be gone. */
const ATTEMPTS = 5

/**
 * The rows of collections that Drupal does not let the caller filter, the newest first. Reads all
 * rows with no more than what lists compare, and then those of the answer whole: such a page takes
 * Drupal a quarter of the time.
 *
 * What scans have shown the caller in the last ten minutes is not read again, but for what was
 * changed since. No answer rests on it alone: each row of the answer is read again, and so is the
 * one that shows that there are more. Where a scan was remembered the total is not known.
 * @throws {Failure} as `list`
 */
export async function listUnfiltered(
  context: UnfilteredContext,
  query: UnfilteredQuery
): Promise<Listing<LoadedEdition>> {
  const { caller } = query
  const reading = await startReading(context, query)
  try {
    for (let count = 0; count < ATTEMPTS; count++) {
      const listing = await listScans(context, reading)
      if (count === 0) caller.budget?.allow(listing.rows.length)
      if (await loadRows(context, reading, listing.rows)) return wholeListing(reading, listing)
      if (count > 0) forgetRemembered(context, reading)
    }
  } finally {
    for (const scan of reading.scans) keepRows(context, scan)
  }
  throw disorder('editions that come and go')
}

/** Where the total is asked for, or certainty, nothing is remembered. */
async function startReading(context: UnfilteredContext, query: UnfilteredQuery): Promise<Reading> {
  const { search, collections, caller } = query
  const reading: Reading = {
    query,
    scans: [],
    editions: new Map(),
    isWanted: (resource) => query.isWanted({ resource, urlOf: withoutUrls }),
    pages: 0,
    wanted: 0
  }
  const firstSize = Math.min(PAGE_MAX, search.offset + search.limit + 1)
  reading.scans = collections.map((collection) =>
    startScan(context, scannedPages(context, reading, collection), {
      collection,
      caller,
      firstSize
    })
  )
  if (!search.total && !search.isCertain) {
    await Promise.all(reading.scans.map((scan) => recallRows(context, scan)))
  }
  return reading
}

/** The pages of a collection for a scan, whole where the list will need most of their rows. */
function scannedPages(
  context: UnfilteredContext,
  reading: Reading,
  collection: Collection
): Source<Resource> {
  const { caller } = reading.query
  return async (offset, size, purpose) => {
    const isWhole = purpose === 'rows' && areRowsNeeded(reading, offset)
    const page = isWhole
      ? await readWhole(context, reading, collection, offset, size)
      : await readScanned(context, { collection, caller }, pageOf(context, offset, size))
    reading.pages++
    reading.wanted += page.rows.filter(reading.isWanted).length
    learnPlace(context, { collection, caller }, offset, page.rows)
    return page
  }
}

function pageOf({ site: { model } }: UnfilteredContext, offset: number, size: number): Parameters {
  return pageQuery(offset, size, model)
}

/** Reads a page with all that its rows have, and takes in those that are wanted. */
async function readWhole(
  context: UnfilteredContext,
  { query, editions }: Reading,
  collection: Collection,
  offset: number,
  size: number
): Promise<Page<Resource>> {
  const read = sourceOf(context, 'unfiltered', collection, query)
  const { rows, more } = await read(offset, size, 'rows')
  for (const row of rows.filter(query.isWanted)) editions.set(row.resource.id, row)
  return { rows: rows.map(({ resource }) => scannedRow(resource, context.site.model)), more }
}

/** Whether the list will need most rows of the next page, as far as the pages before it tell. */
function areRowsNeeded({ query, pages, wanted }: Reading, offset: number): boolean {
  if (wanted < query.search.offset) return false
  return offset === 0 || wanted > DENSE * pages
}

function listScans(context: UnfilteredContext, reading: Reading): Promise<Listing<Resource>> {
  const { query, scans } = reading
  const { offset, limit, total } = query.search
  return list({
    ...scanOrder(context.site.model),
    sources: scans.map((scan) => sourceOfScan(context, scan)),
    offset,
    limit: isRemembered(reading) ? limit + 1 : limit,
    total,
    isWanted: reading.isWanted
  })
}

function isRemembered({ scans }: Reading): boolean {
  return scans.some((scan) => scan.isRemembered)
}

/**
 * Reads the rows of a list whole, as far as no page has shown them so.
 * @returns whether all of them are there, and wanted; else the scans are corrected
 */
async function loadRows(
  context: UnfilteredContext,
  reading: Reading,
  rows: Resource[]
): Promise<boolean> {
  const { editions, query } = reading
  const isMissing = ({ id }: Resource) => !editions.has(id)
  await loadPages(context, reading, rows.filter(isMissing))
  let isComplete = true
  await forEach(rows.filter(isMissing), async (row) => {
    const scan = scanOf(reading, row)
    const edition = await readShown(context, scan, row.id, 'edition')
    if (edition && query.isWanted(edition)) {
      editions.set(row.id, edition)
      return
    }
    isComplete = false
    if (edition) putRow(scan, scannedRow(edition.resource, context.site.model))
    else removeRow(scan, row)
  })
  return isComplete
}

/** Reads the pages that several of the rows are on, as far as their places are known. */
async function loadPages(
  context: UnfilteredContext,
  reading: Reading,
  rows: Resource[]
): Promise<void> {
  const { rows: memory, model } = context.site
  const { caller } = reading.query
  const places = rows.map((row) => {
    const { collection } = scanOf(reading, row)
    const position = memory.guessPosition(collection, caller, scanOrder(model).idOf(row))
    return { collection, position }
  })
  const pages = Map.groupBy(places, ({ collection, position }) => `${collection.path} ${position}`)
  const densePages = [...pages.values()].filter((ofPage) => ofPage.length > DENSE)
  await forEach(densePages, async ([place]) => {
    const { collection, position } = place!
    const page = await readWhole(context, reading, collection, position, PAGE_MAX)
    learnPlace(context, { collection, caller }, position, page.rows)
  })
}

/** Notes where a page was, for the next look. */
function learnPlace(
  { site }: UnfilteredContext,
  { collection, caller }: Pick<Scan, 'collection' | 'caller'>,
  position: number,
  rows: Resource[]
): void {
  const ids = rows.map(scanOrder(site.model).idOf).filter((id) => !Number.isNaN(id))
  site.rows.learnPage(collection, caller, position, ids)
}

function scanOf({ scans }: Reading, { type }: Resource): Scan {
  return scans.find(({ collection }) => collection.resourceType === type)!
}

/** Begins the scans anew whose first rows are of an earlier request. */
function forgetRemembered(context: UnfilteredContext, { scans }: Reading): void {
  for (const scan of scans.filter(({ isRemembered }) => isRemembered)) startAgain(context, scan)
}

/** The answer. Of what nobody has read again it says nothing: how many there are. */
function wholeListing(reading: Reading, listing: Listing<Resource>): Listing<LoadedEdition> {
  const { query, editions } = reading
  const { limit } = query.search
  return {
    rows: listing.rows.slice(0, limit).map(({ id }) => editions.get(id)!),
    hasMore: listing.hasMore || listing.rows.length > limit,
    total: isRemembered(reading) ? null : listing.total
  }
}
