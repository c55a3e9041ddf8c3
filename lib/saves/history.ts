import { lockedAs } from '../boards/entities.ts'
import type { Editions } from '../editions/editions.ts'
import type { UpdateOptions, UpdateResult } from '../editions/save/options.ts'
import type { ContentModel } from '../editions/model.ts'
import { sameItems, showsItems } from '../editions/translate/canonical.ts'
import type { EditionJson, FieldItem } from '../editions/translate/edition-json.ts'
import { Failure, texts } from '../errors.ts'
import type { Caller } from '../http/calls.ts'
import { stateOf } from './edition-state.ts'
import { isSave, timeOf, authorView, withGaps } from './gaps.ts'
import type { Entry, Journal } from './journal.ts'
import type { JournalEntry, JournalQuery, RestoreBody } from './journal-schemas.ts'

export interface HistoryContext {
  journal: Pick<Journal, 'page' | 'find' | 'settle'>
  editions: Pick<Editions, 'bare' | 'inspect' | 'update'>
  /** Whether somebody has the turn to save an edition, or may still be saving. */
  isBeingSaved(uuid: string): Promise<boolean>
  model: ContentModel
}

export interface HistoryPage {
  entries: JournalEntry[]
  /** Where the next page begins; null at the end. */
  next: string | null
}

type RestoreOptions = Omit<UpdateOptions, 'kind'>

export interface History {
  read(id: string, caller: Caller, query: JournalQuery): Promise<HistoryPage>
  restore(
    id: string,
    body: RestoreBody,
    caller: Caller,
    options: RestoreOptions
  ): Promise<UpdateResult>
}

/**
 * How many entries that tell of no save are looked past for the save before them, at the end of a
 * page.
 */
const NOTES_MAX = 20

/** The journal of editions, as an editor reads it and puts fields back from it. */
export function createHistory(context: HistoryContext): History {
  return {
    read: (id, caller, query) => readHistory(context, id, caller, query),
    restore: (id, body, caller, options) => restoreFields(context, id, body, caller, options)
  }
}

/**
 * The entries of an edition, the newest first, without the fields that the CMS hides from the
 * caller. An entry of the kind `outside` stands between two others if the edition changed in
 * another way. The first page settles uncertain entries whose outcome can be told by now.
 * @param id integer id or uuid
 * @throws {Failure} NOT_FOUND; TOO_LARGE; STORE_UNAVAILABLE, STORE_FAILED
 */
export async function readHistory(
  context: HistoryContext,
  id: string,
  caller: Caller,
  { limit = 20, before }: JournalQuery
): Promise<HistoryPage> {
  const { editions, journal, model } = context
  const bareEdition = await editions.bare(id, caller)
  const keys = keysOf(bareEdition, model)
  const pages = await Promise.all(
    keys.map((key) => journal.page(key, { limit: limit + 1, before }))
  )
  const readEntries = pages.flat().sort((a, b) => (a.id < b.id ? 1 : -1))
  const entries = readEntries.slice(0, limit)
  const isFirst = before === undefined
  const edition = isFirst
    ? await settle(context, keys[0]!, entries, bareEdition, caller)
    : bareEdition
  const hasMore = readEntries.length > limit
  const older = hasMore ? await olderSave(context, keys[0]!, readEntries, limit) : undefined
  const state = isFirst ? stateOf(edition, '', model) : undefined
  return {
    entries: withGaps(entries, older, state).map((entry) => shownTo(edition, entry)),
    next: hasMore ? entries.at(-1)!.id : null
  }
}

/** The ids that entries are under: the uuid, and what locks of the edition name it by. */
function keysOf(edition: EditionJson, model: ContentModel): string[] {
  const uuid = String(edition[model.keys.uuid]?.[0]?.['value'])
  return [...new Set([uuid, lockedAs(edition, model).id])]
}

/** The newest save that is older than a page, unless too much else lies between. */
async function olderSave(
  { journal }: HistoryContext,
  uuid: string,
  entries: Entry[],
  limit: number
): Promise<Entry | undefined> {
  const readSave = entries.slice(limit).find(isSave)
  if (readSave) return readSave
  const page = await journal.page(uuid, { limit: NOTES_MAX, before: entries.at(-1)!.id })
  return page.find(isSave)
}

/**
 * Settles uncertain entries by what their fields held next: in the next entry that has them, else
 * in the edition now.
 * @returns the edition, read again if necessary
 */
async function settle(
  context: HistoryContext,
  uuid: string,
  entries: Entry[],
  bareEdition: EditionJson,
  caller: Caller
): Promise<EditionJson> {
  const { editions, isBeingSaved, journal, model } = context
  if (!entries.some(({ outcome }) => outcome === 'uncertain')) return bareEdition
  // In this order, so that a save after the ticket was free does not count as refused.
  const isHeld = await isBeingSaved(uuid)
  const { edition, etag } = await editions.inspect(uuid, caller)
  for (const [index, entry] of entries.entries()) {
    if (entry.outcome !== 'uncertain') continue
    const newerSaves = entries.slice(0, index).reverse().filter(isSave)
    const outcome = outcomeOf(entry, newerSaves, edition, !isHeld, model)
    if (!outcome) continue
    entry.outcome = outcome
    const isNewest = newerSaves.length === 0
    if (outcome === 'saved' && isNewest) entry.after = stateOf(edition, etag, model)
    // If the store does not take this, the next reader settles it.
    await journal.settle(uuid, entry).catch(() => {})
  }
  return edition
}

/**
 * The outcome of a save, if later values tell it.
 * @param newerSaves the next one first
 * @param isOver whether nobody is saving the edition
 */
function outcomeOf(
  { kind, fields, more }: Entry,
  newerSaves: Entry[],
  edition: EditionJson,
  isOver: boolean,
  model: ContentModel
): 'saved' | 'refused' | undefined {
  const all = Object.entries(fields).map(([field, { before, after }]) => ({
    field,
    before,
    after,
    now: nextValue(field, newerSaves, edition)
  }))
  const isCreate = kind === 'create'
  if (more !== undefined || all.some(({ now }) => !now)) return undefined
  const holds = isCreate ? showsItems : sameItems
  if (all.every(({ field, after, now }) => after && holds(field, now!, after, model))) {
    return 'saved'
  }
  const isAsBefore =
    !isCreate &&
    all.every(({ field, before, now }) => before && sameItems(field, now!, before, model))
  return isAsBefore && isOver ? 'refused' : undefined
}

/** What a field held after a save: in the next save that has the field, else in the edition now. */
function nextValue(
  field: string,
  newerSaves: Entry[],
  edition: EditionJson
): FieldItem[] | undefined {
  const later = newerSaves.find(({ fields }) => Object.hasOwn(fields, field))
  return later ? later.fields[field]!.before : edition[field]
}

function shownTo(edition: EditionJson, entry: Entry | JournalEntry): JournalEntry {
  if (!('missed' in entry)) return entry
  const { id, at, by, kind, fields, more, outcome, after, from } = entry
  return {
    id,
    at: timeOf(at),
    by: authorView(by),
    kind,
    fields: Object.fromEntries(
      Object.entries(fields).filter(([field]) => Object.hasOwn(edition, field))
    ),
    ...(more !== undefined && { moreFields: more }),
    outcome,
    etag: after?.etag || null,
    ...(kind === 'outside' && { message: 'Saved in Drupal, not through Quoin' }),
    ...(from && { from: authorView(from) })
  }
}

/**
 * Puts fields back as an entry has them.
 * @param id integer id or uuid
 * @throws {Failure} NOT_FOUND without the entry; UNPROCESSABLE for a field whose value it does not
 *   have, or that is hidden from the caller; as `editions.update`
 */
export async function restoreFields(
  { editions, journal, model }: HistoryContext,
  id: string,
  { entry: name, fields, side }: RestoreBody,
  caller: Caller,
  options: RestoreOptions
): Promise<UpdateResult> {
  const edition = await editions.bare(id, caller)
  const [uuid] = keysOf(edition, model) as [string]
  const entry = await journal.find(uuid, name)
  if (!entry) throw new Failure('NOT_FOUND', texts.noSuch('journal entry', name))
  const body = Object.fromEntries(
    fields.map((field) => [field, valueToRestore(field, entry, side, edition)])
  )
  return editions.update(uuid, body, caller, { ...options, kind: 'restore' })
}

function valueToRestore(
  field: string,
  { fields }: Entry,
  side: RestoreBody['side'],
  edition: EditionJson
): FieldItem[] {
  const isShown = Object.hasOwn(edition, field) && Object.hasOwn(fields, field)
  const value = isShown ? fields[field]![side] : undefined
  if (value) return value
  throw new Failure(
    'UNPROCESSABLE',
    `The journal has no value of "${field}" from ${side} this save that you may see`
  )
}
