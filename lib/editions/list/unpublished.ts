import { LRUCache } from 'lru-cache'
import type { Caller } from '../../http/calls.ts'
import { fingerprint } from '../../drupal/credentials.ts'
import type { Resource } from '../../drupal/document.ts'
import { attributeOf, INTERNAL, type ContentModel } from '../model.ts'
import type { Collection } from '../site/catalog.ts'
import type { Site } from '../site/site.ts'
import {
  beforeAllIds,
  compareIn,
  NEWEST_FIRST,
  sortPaths,
  type ListOrder
} from '../translate/order.ts'
import { unpublishedQuery, PAGE_MAX, type Page, type Parameters } from '../translate/query.ts'
import { rowId } from '../translate/verify.ts'
import { systemTime, type Time } from '../../time.ts'
import type { PagePurpose, Source } from './deep.ts'

/** How many pages without any row that is shown are read at most, unless certainty is asked for. */
export const HIDDEN_PAGES = 20

/**
 * For how many callers and collections Quoin remembers that they are shown nothing unpublished, and
 * how long, in milliseconds.
 */
const REMEMBERED = 1000
const REMEMBERED_MS = 10 * 60_000

/** Reads a page of a collection. */
export type ReadPage<Row> = (query: Parameters, purpose: PagePurpose) => Promise<Page<Row>>

export interface UnpublishedOptions<Row> {
  collection: Collection
  caller: Caller
  read: ReadPage<Row>
  resourceOf: (row: Row) => Resource
  /** Default: the newest first. */
  order?: ListOrder
  /**
   * Whether all pages are read, however many rows are hidden from the caller; in an ascending
   * order, which ends with what is new, they always are.
   */
  isCertain?: boolean
}

export interface UnpublishedContext {
  model: ContentModel
  warn: (message: string) => void
  time: Time
  /**
   * When a caller was shown nothing unpublished of a collection at the start of an order, by all
   * three.
   */
  hidden: LRUCache<string, number>
  /** The warnings that were given. */
  warnings: Set<string>
}

export function unpublishedContext({
  model,
  warn,
  time = systemTime
}: Pick<Site, 'model' | 'warn'> & { time?: Time }): UnpublishedContext {
  return { model, warn, time, hidden: new LRUCache({ max: REMEMBERED }), warnings: new Set() }
}

/** What pages have shown so far of a collection's unpublished rows. */
interface Progress {
  /** Names the collection, the order and the caller. */
  key: string
  order: ListOrder
  isCertain: boolean
  /** How many pages had no such row. */
  hiddenPages: number
  hasShown: boolean
  /** The id of the last such row. */
  last: number
}

/**
 * What is not published in a collection as pages in an order, without a filter: for callers whom
 * Drupal lets filter among the published rows. It comes first in a list that is sorted so, and ends
 * where the ids begin anew, if it is sorted by them, or with a page that shows published rows
 * alone. A row whose translation is not published stands among them and shows itself as published;
 * where 50 of these follow each other, what comes after them is not read.
 */
export function pagesOfUnpublished<Row>(
  context: UnpublishedContext,
  {
    collection,
    caller,
    read,
    resourceOf,
    order = NEWEST_FIRST,
    isCertain = false
  }: UnpublishedOptions<Row>
): Source<Row> {
  const { model } = context
  const progress: Progress = {
    key: `${collection.path}:${sortPaths(order, model)}:${fingerprint(caller)}`,
    order,
    isCertain: isCertain || order.direction === 'ascending',
    hiddenPages: 0,
    hasShown: false,
    last: beforeAllIds(order)
  }

  return async (offset, limit, purpose) => {
    if (offset === 0) progress.last = beforeAllIds(order)
    const { count: _, ...page } = await read(
      unpublishedQuery(offset, limit, model.keys.published!, model, order),
      purpose
    )
    const { rows, isEnd } = unpublishedAmong(page.rows, resourceOf, model, progress)
    if (rows.length > 0) {
      progress.last = idOf(resourceOf(rows.at(-1)!), model)
      progress.hasShown = true
    }
    const mayHaveMore = page.more && !isEnd
    const more = progress.hasShown ? mayHaveMore : searchesOn(context, progress, mayHaveMore)
    return { ...page, rows, more }
  }
}

/** Whether to read on where nothing unpublished has been shown so far. */
function searchesOn(
  context: UnpublishedContext,
  progress: Progress,
  mayHaveMore: boolean
): boolean {
  const { hidden, time } = context
  if (progress.isCertain) return mayHaveMore
  const at = hidden.get(progress.key)
  if (at !== undefined && time.monotonic() - at < REMEMBERED_MS) return false
  progress.hiddenPages++
  const isLast = progress.hiddenPages === HIDDEN_PAGES
  if (mayHaveMore && !isLast) return true
  // The first page is read each time: the newest are on it.
  if (progress.hiddenPages > 1) hidden.set(progress.key, time.monotonic())
  if (mayHaveMore) warnOfHidden(context, progress.order)
  return false
}

function warnOfHidden({ model, warn, warnings }: UnpublishedContext, order: ListOrder): void {
  const first = order.field === 'id' ? 'newest' : 'last changed'
  const message = `Drupal showed some users none of the ${first} ${HIDDEN_PAGES * PAGE_MAX} ${model.entityType} entities that are not published. Quoin takes it that it shows them none in lists that are searched`
  if (warnings.has(message)) return
  warnings.add(message)
  warn(message)
}

/** The unpublished rows of a page, up to where they end. */
function unpublishedAmong<Row>(
  rows: Row[],
  resourceOf: (row: Row) => Resource,
  model: ContentModel,
  { order, last }: Progress
): { rows: Row[]; isEnd: boolean } {
  const ids = rows.map((row) => idOf(resourceOf(row), model))
  const begins = (id: number, index: number) =>
    order.field === 'id' && compareIn(order, id, index === 0 ? last : ids[index - 1]!) < 0
  const end = ids.findIndex(begins)
  const begun = end === -1 ? rows : rows.slice(0, end)
  const unpublished = begun.filter(
    (row) => attributeOf(resourceOf(row).attributes ?? {}, model.keys.published, model) !== true
  )
  return { rows: unpublished, isEnd: end !== -1 || (rows.length > 0 && unpublished.length === 0) }
}

function idOf(resource: Resource, { keys }: ContentModel): number {
  return rowId(resource, INTERNAL + keys.id)
}
