import type { Failure } from '../../errors.ts'
import { LARGE_ANSWER } from '../../http/answer-memory.ts'
import type { Caller } from '../../http/calls.ts'
import type { Resource } from '../../drupal/document.ts'
import type { Purpose } from '../lookup/resource-context.ts'
import type { Resources } from '../lookup/resources.ts'
import { attributeOf, publicName, type ContentModel } from '../model.ts'
import type { Collection } from '../site/catalog.ts'
import type { Site } from '../site/site.ts'
import { instant } from '../translate/canonical.ts'
import { LIST_ORDERS, NEWEST_FIRST } from '../translate/order.ts'
import { pageQuery, PAGE_MAX, type Page, type Parameters } from '../translate/query.ts'
import type { LoadedEdition } from '../translate/read.ts'
import { rowId } from '../translate/verify.ts'
import { systemTime } from '../../time.ts'
import type { PagePurpose, Source } from './deep.ts'
import { checkPages, LOOKAHEAD } from './listing.ts'
import { isSortRefusal } from './scope.ts'
import { comparedFields } from './sources.ts'
import {
  Moved,
  readNextPage,
  startStream,
  type Stream,
  type StreamContext,
  type StreamRow
} from './streams.ts'

export interface ScanContext {
  site: Pick<Site, 'model' | 'revisions' | 'rows'>
  resources: Pick<Resources, 'sparsePage' | 'individual'>
}

/**
 * A collection that is read from its newest row on, for a caller whom Drupal does not let filter.
 * Of its rows there are only the values that lists compare.
 */
export interface Scan {
  collection: Collection
  caller: Caller
  /** How it is read; its rows are all that were read, none of them taken. */
  context: StreamContext<Resource>
  stream: Stream<Resource>
  /** As in `ScannedRows`. NaN where rows do not show when they were changed. */
  since: number
  at: number
  /** Whether an earlier request has read the first rows. */
  isRemembered: boolean
  /** Whether each page began with the last row of the page before it, so that no row is missing. */
  hasGaps: boolean
  /** How often it had to start again. */
  restarts: number
  /** Resolves when what was asked for last has been read, or could not be. */
  lastRead: Promise<unknown>
}

/** A scan of fewer pages is not remembered: to bring it up to date takes one. */
const PAGES_MIN = 3

/** After this many restarts, pages do not overlap. */
const RESTARTS = 2

/**
 * How long before the newest change that a scan has seen Quoin looks for others, in milliseconds.
 * Drupal notes when the request that saves has begun, and modules that publish at a time note that
 * time.
 */
const MARGIN_MS = 10 * 60_000

/** How many pages of changes are read at most. Beyond them a scan begins anew. */
const CHANGED_PAGES = 4

/** How many rows are read one by one at most, where Drupal shows an earlier revision than before. */
const OUTDATED_MAX = 10

/** The failures of a read of what is hidden from a caller. */
const HIDDEN: readonly string[] = ['CMS_FORBIDDEN', 'CMS_UNAUTHORIZED']

const LATEST_CHANGE_FIRST = LIST_ORDERS['-changed']

/** The values of rows that scans read. */
export function scannedFields(model: ContentModel): string[] {
  return comparedFields(model, LATEST_CHANGE_FIRST)
}

/** What the pages of scans are checked by, and lists of their rows ordered. */
export function scanOrder(model: ContentModel): StreamContext<Resource> {
  const idAttribute = publicName(model, model.keys.id)
  const idOf = (row: Resource) => rowId(row, idAttribute)
  return {
    order: NEWEST_FIRST,
    idOf,
    // In this order nobody asks for it.
    changeTimeOf: idOf,
    pageMax: PAGE_MAX
  }
}

/** @param options.firstSize how many rows its first page has */
export function startScan(
  { site: { model } }: ScanContext,
  source: Source<Resource>,
  { firstSize, ...options }: Pick<Scan, 'collection' | 'caller'> & { firstSize: number }
): Scan {
  const context = scanOrder(model)
  return {
    ...options,
    context,
    stream: startStream(context, checkPages(source, context), {
      firstSize,
      lookahead: 0,
      taken: new Set()
    }),
    since: NaN,
    at: systemTime.monotonic(),
    isRemembered: false,
    hasGaps: false,
    restarts: 0,
    lastRead: Promise.resolve()
  }
}

/**
 * The pages of a scan as a source without hidden rows. It reads on where that is needed, one page
 * after the other: a list that begins anew may ask while an earlier attempt still reads.
 */
export function sourceOfScan(context: ScanContext, scan: Scan): Source<Resource> {
  return async (offset, size, purpose) => {
    const end = offset + size
    const turn = scan.lastRead.then(() => readUpTo(context, scan, end, purpose))
    scan.lastRead = Promise.allSettled([turn])
    await turn
    const { rows, more } = scan.stream
    return {
      rows: rows.slice(offset, end).map(({ row }) => row!),
      more: more || rows.length > end
    }
  }
}

async function readUpTo(
  context: ScanContext,
  scan: Scan,
  end: number,
  purpose: PagePurpose
): Promise<void> {
  while (scan.stream.more && scan.stream.rows.length < end) await readOn(context, scan, purpose)
}

/** @throws {Moved} where rows have moved: the scan has begun anew */
async function readOn(context: ScanContext, scan: Scan, purpose: PagePurpose): Promise<void> {
  const { stream } = scan
  const isFirst = stream.position === 0
  const overlap = scan.restarts < RESTARTS ? 'somewhere' : undefined
  try {
    const follows = await readNextPage(scan.context, stream, purpose, overlap)
    if (!isFirst && !follows) scan.hasGaps = true
    if (isFirst) {
      const rows = stream.rows.map(({ row }) => row!)
      scan.since = newestChange(rows, context) - MARGIN_MS
    }
  } catch (error) {
    if (error instanceof Moved) startAgain(context, scan)
    throw error
  }
}

/** Forgets all rows of a scan. */
export function startAgain({ site: { rows } }: ScanContext, scan: Scan): void {
  const { collection, caller, context, stream } = scan
  rows.forget(collection, caller)
  scan.stream = startStream(context, stream.source, stream)
  scan.restarts++
  Object.assign(scan, {
    since: NaN,
    at: systemTime.monotonic(),
    isRemembered: false,
    hasGaps: false
  })
}

/**
 * Gives a scan the rows that an earlier one has read, as they are now: with all that was changed
 * since. A row that was deleted, or hidden from the caller, may still be among them.
 */
export async function recallRows(context: ScanContext, scan: Scan): Promise<void> {
  const { rows: memory } = context.site
  const { collection, caller, stream } = scan
  const scanned = memory.recall(collection, caller)
  if (!scanned) return
  const { at, since, rows, ...place } = scanned
  Object.assign(scan, { at, since, isRemembered: true })
  Object.assign(stream, place, { rows: rowsOfText(context, scan, rows) })
  if (!(await bringUpToDate(context, scan))) startAgain(context, scan)
}

/** Remembers the rows of a scan for the next request of the caller. */
export function keepRows({ site: { rows: memory, model } }: ScanContext, scan: Scan): void {
  const { collection, caller, since, at, hasGaps } = scan
  const { rows, position, hidden, last, more } = scan.stream
  if (hasGaps || !Number.isFinite(since) || position <= PAGES_MIN * PAGE_MAX) return
  const fields = scannedFields(model)
  const values = rows.map(({ row }) => [row!.id, ...fields.map((name) => row!.attributes?.[name])])
  const text = JSON.stringify(values)
  memory.keep(collection, caller, { at, since, position, hidden, last, more, rows: text })
}

function rowsOfText(
  { site: { model } }: ScanContext,
  { collection, context: { idOf } }: Scan,
  text: string
): StreamRow<Resource>[] {
  const fields = scannedFields(model)
  return (JSON.parse(text) as [string, ...unknown[]][]).map(([id, ...values]) => {
    // JSON has null for what a row does not show.
    const attributes = Object.fromEntries(
      fields.map((name, index) => [name, values[index] ?? undefined])
    )
    const row: Resource = { type: collection.resourceType, id, attributes }
    return { id: idOf(row), value: idOf(row), row }
  })
}

/** A row with no more than what scans read. */
export function scannedRow({ type, id, attributes }: Resource, model: ContentModel): Resource {
  const fields = scannedFields(model)
  return {
    type,
    id,
    attributes: Object.fromEntries(fields.map((name) => [name, attributes?.[name]]))
  }
}

/**
 * Reads what was changed since a scan.
 * @returns whether that was all of it
 */
async function bringUpToDate(context: ScanContext, scan: Scan): Promise<boolean> {
  const { since } = scan
  const changed: Resource[] = []
  for (let page = 0; page < CHANGED_PAGES; page++) {
    const { rows, more } = await readChanges(context, scan, page * PAGE_MAX)
    changed.push(...rows)
    if (more && !isPast(changed, since, context)) continue
    for (const row of changed) putRow(scan, row)
    scan.since = Math.max(since, newestChange(changed, context) - MARGIN_MS)
    return readOutdated(context, scan)
  }
  return false
}

/** What was changed last. Where Drupal does not sort by that, nothing is certain. */
async function readChanges(
  context: ScanContext,
  scan: Scan,
  offset: number
): Promise<{ rows: Resource[]; more: boolean }> {
  const { model } = context.site
  const { idOf } = scan.context
  const query = pageQuery(offset, PAGE_MAX, model, LATEST_CHANGE_FIRST)
  try {
    const { rows, more } = await readScanned(context, scan, query)
    return { rows: rows.filter((row) => !Number.isNaN(idOf(row))), more }
  } catch (error) {
    if (!isSortRefusal(error as Failure, LATEST_CHANGE_FIRST, model)) throw error
    return { rows: [], more: true }
  }
}

/** A page of rows with no more than what scans read. */
export async function readScanned(
  { site: { model }, resources }: ScanContext,
  { collection, caller }: Pick<Scan, 'collection' | 'caller'>,
  query: Parameters
): Promise<Page<Resource>> {
  const page = await resources.sparsePage(collection, query, scannedFields(model), caller)
  const { rows, more, bytes = 0 } = page
  if (bytes >= LARGE_ANSWER) caller.budget?.free(bytes)
  return { rows: rows.map(({ resource }) => scannedRow(resource, model)), more }
}

/**
 * Whether rows that are sorted by their change have come to those that a scan has seen. A
 * translated one may show an earlier change than it is sorted by (listing.ts).
 */
function isPast(rows: Resource[], since: number, context: ScanContext): boolean {
  const times = rows.slice(-LOOKAHEAD - 1).map((row) => changeOf(row, context))
  return times.length > LOOKAHEAD && times.every((time) => time < since)
}

/** Of a change in the future nobody knows when it was made. */
function newestChange(rows: Resource[], context: ScanContext): number {
  const times = rows.map((row) => changeOf(row, context))
  return Math.min(systemTime.now(), Math.max(...times))
}

/** NaN where a row does not show it. */
function changeOf({ attributes = {} }: Resource, { site: { model } }: ScanContext): number {
  return instant(attributeOf(attributes, model.keys.changed, model))
}

/**
 * Reads the rows again of which Quoin has seen a newer revision.
 * @returns whether there were not too many of them
 */
async function readOutdated(context: ScanContext, scan: Scan): Promise<boolean> {
  const { revisions } = context.site
  const outdated = scan.stream.rows.filter(({ row }) => revisions.newerThan(row!) !== undefined)
  if (outdated.length > OUTDATED_MAX) return false
  await Promise.all(
    outdated.map(async ({ row }) => {
      const edition = await readShown(context, scan, row!.id, 'bare')
      if (edition) putRow(scan, scannedRow(edition.resource, context.site.model))
      else removeRow(scan, row!)
    })
  )
  return true
}

/** An edition of a scan; undefined where it is not shown to the caller any more. */
export async function readShown(
  { resources }: ScanContext,
  { collection, caller }: Scan,
  uuid: string,
  purpose: Purpose
): Promise<LoadedEdition | undefined> {
  try {
    return await resources.individual(collection, { uuid }, caller, purpose)
  } catch (error) {
    if (!HIDDEN.includes((error as Failure).code)) throw error
    return undefined
  }
}

/** Puts a row in its place, or in that of its earlier state. */
export function putRow(scan: Scan, row: Resource): void {
  const { stream, context } = scan
  const id = context.idOf(row)
  const index = stream.rows.findIndex((other) => other.id <= id)
  // The pages that are still to be read have it.
  if (index === -1 && stream.more) return
  const place = index === -1 ? stream.rows.length : index
  const isThere = stream.rows[place]?.id === id
  stream.rows.splice(place, isThere ? 1 : 0, { id, value: id, row })
}

export function removeRow({ stream }: Scan, { id: uuid }: Resource): void {
  stream.rows = stream.rows.filter(({ row }) => row!.id !== uuid)
}
