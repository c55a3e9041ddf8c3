import { lockType } from '../../../lib/boards/entities.ts'
import { oneResource, resources, scalarText, type Resource } from '../../../lib/drupal/document.ts'
import { languageCode } from '../../../lib/drupal/languages.ts'
import { WORKING_COPY } from '../../../lib/editions/lookup/request-plan.ts'
import { attributeOf, type ContentModel } from '../../../lib/editions/model.ts'
import type { Collection } from '../../../lib/editions/site/catalog.ts'
import { instant } from '../../../lib/editions/translate/canonical.ts'
import { refusal } from '../../../lib/editions/translate/failures.ts'
import { LIST_ORDERS, NEWEST_FIRST, type ListOrder } from '../../../lib/editions/translate/order.ts'
import { pageQuery } from '../../../lib/editions/translate/query.ts'
import { Failure } from '../../../lib/errors.ts'
import { newCaller } from '../../../lib/http/calls.ts'
import type { Locks } from '../../../lib/locks/locks.ts'
import type { Journal } from '../../../lib/saves/journal.ts'
import { ok, unchecked, wrong, type Diagnosis } from '../diagnosis.ts'
import type { Visitor } from './editions.ts'

/** What the lock table has of editions. */
export interface Records {
  locks: Pick<Locks, 'list'>
  /** Undefined with JOURNAL_DAYS=0. */
  journal?: Pick<Journal, 'page'> | undefined
}

/** How many editions of each collection are looked at, by each of their two orders. */
const EDITIONS = 20

/** How many ids after the newest one are looked at. */
const IDS = 20

/** How many entries of an edition are looked at for one that tells its time of change. */
const ENTRIES = 3

/** How many editions are named. */
const NAMED = 3

const REMEDY =
  'where Drupal was restored from a dump, do what docs/operations.md says under "After Drupal was restored from a dump"'

/** An edition that the journal has a later state of than Drupal. */
interface SetBack {
  id: string
  /** The time of change, as the journal has it, and as Drupal has it; in milliseconds. */
  journal: number
  drupal: number
}

/**
 * Compares the lock table with Drupal: whether Drupal was restored from a dump that is older than
 * what the table has of editions. It reads the newest entries of at most 40 editions of each
 * collection, and the locks of the 20 ids after the newest edition.
 */
export async function* checkRestored(
  visitor: Visitor,
  collections: Collection[],
  model: ContentModel,
  records: Records
): AsyncGenerator<Diagnosis> {
  try {
    if (records.journal && model.keys.changed !== null) {
      yield* compareJournal(visitor, collections, model, records.journal)
    }
    if (model.lockIds === 'id') yield* lookBeyond(visitor, model, records.locks)
  } catch (error) {
    if (!(error instanceof Failure) || !error.code.startsWith('STORE_')) throw error
    yield unchecked('older states in Drupal', error.message)
  }
}

async function* compareJournal(
  visitor: Visitor,
  collections: Collection[],
  model: ContentModel,
  journal: Pick<Journal, 'page'>
): AsyncGenerator<Diagnosis> {
  const setBack: SetBack[] = []
  let count = 0
  for (const collection of collections) {
    for (const resource of await latestEditions(visitor, collection, model)) {
      const later = await laterState(visitor, collection, resource, model, journal)
      if (later === 'unknown') continue
      count++
      if (later) setBack.push(later)
    }
  }
  yield setBack.length === 0
    ? ok(`journal: Drupal has no older state than it of ${count} editions`)
    : wrong(
        `journal: Drupal has older states than it of ${setBack.length} of ${count} editions: ${setBack.slice(0, NAMED).map(inWords).join(', ')}`,
        REMEDY
      )
}

function inWords({ id, journal, drupal }: SetBack): string {
  return `${id} (changed ${new Date(journal).toISOString()}, in Drupal ${new Date(drupal).toISOString()})`
}

/** The newest editions of a collection, and those that were changed last. */
async function latestEditions(
  visitor: Visitor,
  collection: Collection,
  model: ContentModel
): Promise<Resource[]> {
  const pages = [
    await firstRows(visitor, collection, NEWEST_FIRST, EDITIONS, model),
    await firstRows(visitor, collection, LIST_ORDERS['-changed'], EDITIONS, model)
  ]
  return [...new Map(pages.flat().map((resource) => [resource.id, resource])).values()]
}

async function firstRows(
  { cms }: Visitor,
  { path }: Collection,
  order: ListOrder,
  limit: number,
  model: ContentModel
): Promise<Resource[]> {
  const query = pageQuery(0, limit, model, order)
  const answer = await cms.request({ path, query, caller: newCaller() })
  if (answer.status >= 400) throw refusal(answer)
  return resources(answer.document)
}

/**
 * What the journal has of an edition that is later than what Drupal shows; undefined where it has
 * nothing. A draft beside what is published is later too, and for a moment Drupal's cache may show
 * what was before a save: so it is the working copy that counts.
 */
async function laterState(
  { cms }: Visitor,
  { path }: Collection,
  resource: Resource,
  model: ContentModel,
  journal: Pick<Journal, 'page'>
): Promise<SetBack | 'unknown' | undefined> {
  const language = languageIn(resource, model)
  const entries = await journal.page(resource.id, { limit: ENTRIES })
  const entry = entries.find(
    ({ outcome, after }) =>
      outcome === 'saved' && after?.changed !== undefined && after.language === language
  )
  const recorded = entry?.after?.changed
  const shown = changedIn(resource, model)
  if (Number.isNaN(shown)) return 'unknown'
  if (recorded === undefined || recorded <= shown) return undefined
  const found = { id: idIn(resource, model), journal: recorded, drupal: shown }
  if (model.keys.revision === null) return found
  const { status, document } = await cms.request({
    path: `${path}/${encodeURIComponent(resource.id)}`,
    query: WORKING_COPY,
    caller: newCaller()
  })
  const working = status < 400 ? oneResource(document) : undefined
  const drupal = working ? changedIn(working, model) : NaN
  if (Number.isNaN(drupal)) return 'unknown'
  return recorded <= drupal ? undefined : { ...found, drupal }
}

/** Locks of editions that Drupal does not have, or does not show: the next editions get their ids. */
async function* lookBeyond(
  visitor: Visitor,
  model: ContentModel,
  locks: Pick<Locks, 'list'>
): AsyncGenerator<Diagnosis> {
  const newest = await newestId(visitor, model)
  if (newest === undefined) return
  const type = lockType(model.entityType, model)
  const lockedIds: number[] = []
  for (let id = newest + 1; id <= newest + IDS; id++) {
    const { Items } = await locks.list({ type, id: String(id) }, { payload: 0 })
    if (Items.length > 0) lockedIds.push(id)
  }
  yield lockedIds.length === 0
    ? ok(`locks: there are none of ${type} after the newest, ${newest}`)
    : unchecked(
        `locks: there are some of ${type} ${lockedIds.join(', ')}, and ${visitor.name} sees none after ${newest}`,
        `those who see them may tell; ${REMEDY}`
      )
}

/**
 * The highest id of the entity type, in all its collections: articles may be of the same type.
 * Undefined where the visitor sees none.
 */
async function newestId(visitor: Visitor, model: ContentModel): Promise<number | undefined> {
  const all = await visitor.catalog.all(newCaller())
  const ids: number[] = []
  for (const collection of all.filter(({ entityType }) => entityType === model.entityType)) {
    const [first] = await firstRows(visitor, collection, NEWEST_FIRST, 1, model)
    if (first) ids.push(Number(idIn(first, model)))
  }
  const newest = Math.max(...ids)
  return Number.isSafeInteger(newest) ? newest : undefined
}

function idIn({ attributes = {} }: Resource, model: ContentModel): string {
  return scalarText(attributeOf(attributes, model.keys.id, model))
}

/** In milliseconds; NaN where it is not shown. */
function changedIn({ attributes = {} }: Resource, model: ContentModel): number {
  return instant(attributeOf(attributes, model.keys.changed, model))
}

function languageIn({ attributes = {} }: Resource, model: ContentModel): string | undefined {
  return languageCode(attributeOf(attributes, model.keys.langcode, model))
}
