import { lockedAs } from '../boards/entities.ts'
import type { Editions, UpdateResult, UpdateOptions } from '../editions/editions.ts'
import type { ContentModel } from '../editions/model.ts'
import { sameItems, showsItems } from '../editions/translate/canonical.ts'
import type { EditionJson, FieldItem } from '../editions/translate/edition-json.ts'
import { Failure, texts } from '../errors.ts'
import type { Caller } from '../http/calls.ts'
import type { Entry, Journal } from './journal.ts'
import type { JournalEntry, JournalQuery, RestoreBody } from './journal-schemas.ts'

export interface HistoryDeps {
  journal: Pick<Journal, 'page' | 'find' | 'settle' | 'stateOf'>
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

/** How many takeovers in a row are looked past for the save before them, at the end of a page. */
const TAKEOVERS_MAX = 10

export type History = ReturnType<typeof createHistory>

/** The journal of editions, as an editor reads it and puts fields back from it. */
export function createHistory({ journal, editions, isBeingSaved, model }: HistoryDeps) {
  /**
   * The entries of an edition, the newest first, without the fields that the CMS hides from the caller. An entry of the kind
   * `outside` stands between two others if the edition changed in another way. The first page settles uncertain entries whose
   * outcome can be told by now.
   * @param id integer id or uuid
   * @throws {Failure} NOT_FOUND; TOO_LARGE; STORE_UNAVAILABLE, STORE_FAILED
   */
  async function read(
    id: string,
    caller: Caller,
    { limit = 20, before }: JournalQuery
  ): Promise<HistoryPage> {
    const bareEdition = await editions.bare(id, caller)
    const keys = keysOf(bareEdition)
    const pages = await Promise.all(
      keys.map((key) => journal.page(key, { limit: limit + 1, before }))
    )
    const readEntries = pages.flat().sort((one, other) => (one.id < other.id ? 1 : -1))
    const entries = readEntries.slice(0, limit)
    const isFirst = before === undefined
    const edition = isFirst ? await settle(keys[0]!, entries, bareEdition, caller) : bareEdition
    const older =
      readEntries.length > limit
        ? (readEntries.slice(limit).find(isSave) ??
          (await saveBefore(keys[0]!, readEntries.at(-1)!.id)))
        : undefined
    return {
      entries: withGaps(entries, older, isFirst ? edition : undefined).map((entry) =>
        shownTo(edition, entry)
      ),
      next: readEntries.length > limit ? entries.at(-1)!.id : null
    }
  }

  /** The newest save before an entry, unless too many takeovers lie between. */
  async function saveBefore(key: string, before: string): Promise<Entry | undefined> {
    return (await journal.page(key, { limit: TAKEOVERS_MAX, before })).find(isSave)
  }

  /** The ids that entries are under: the uuid, and what locks of the edition name it by. */
  function keysOf(edition: EditionJson): string[] {
    return [
      ...new Set([String(edition[model.keys.uuid]?.[0]?.['value']), lockedAs(edition, model).id])
    ]
  }

  /**
   * Settles uncertain entries by what their fields held next: in the next entry that has them, else in the edition now.
   * @returns the edition, read again if necessary
   */
  async function settle(
    uuid: string,
    entries: Entry[],
    bareEdition: EditionJson,
    caller: Caller
  ): Promise<EditionJson> {
    if (!entries.some(({ outcome }) => outcome === 'uncertain')) return bareEdition
    // In this order, so that a save after the ticket was free does not count as refused.
    const isHeld = await isBeingSaved(uuid)
    const { edition, etag } = await editions.inspect(uuid, caller)
    for (const [index, entry] of entries.entries()) {
      if (entry.outcome !== 'uncertain') continue
      const newer = entries.slice(0, index).reverse()
      const next = (field: string) => {
        const later = newer.find((entry) => isSave(entry) && Object.hasOwn(entry.fields, field))
        return later ? later.fields[field]!.before : edition[field]
      }
      const outcome = outcomeOf(entry, next, !isHeld)
      if (!outcome) continue
      entry.outcome = outcome
      const isLast = !newer.some(isSave)
      if (outcome === 'saved' && isLast) entry.after = journal.stateOf(edition, etag)
      // If the store does not take this, the next reader settles it.
      await journal.settle(uuid, entry).catch(() => {})
    }
    return edition
  }

  /** The outcome of a save, if later values tell it. */
  function outcomeOf(
    { kind, fields, more }: Entry,
    next: (field: string) => FieldItem[] | undefined,
    isOver: boolean
  ): 'saved' | 'refused' | undefined {
    const all = Object.entries(fields).map(([field, { before, after }]) => ({
      field,
      before,
      after,
      now: next(field)
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

  /** @param edition as it is now, on the first page */
  function withGaps(
    entries: Entry[],
    older: Entry | undefined,
    edition: EditionJson | undefined
  ): Array<Entry | JournalEntry> {
    const saves = [...entries, ...(older ? [older] : [])].filter(isSave)
    const [newest] = saves
    const since = edition && newest && sinceLast(newest, edition)
    return [
      ...(since ? [since] : []),
      ...entries.flatMap((entry) => {
        const index = saves.indexOf(entry)
        const gap = index < 0 ? undefined : gapBefore(entry, saves[index + 1])
        return gap ? [entry, gap] : [entry]
      })
    ]
  }

  /** The changes to the edition since its newest entry. */
  function sinceLast(newest: Entry, edition: EditionJson): JournalEntry | undefined {
    const last = leftBy(newest)
    const state = journal.stateOf(edition, '')
    if (
      last?.changed === undefined ||
      state.changed === undefined ||
      last.language !== state.language ||
      state.changed <= last.changed
    ) {
      return undefined
    }
    return outside(
      `${newest.id}.since`,
      newest.at,
      state.changed,
      null,
      `Changed outside Quoin since ${timeOf(newest.at)}`
    )
  }

  function gapBefore(entry: Entry, previous: Entry | undefined): JournalEntry | undefined {
    if (entry.missed > 0) {
      const times =
        entry.missed === 1
          ? 'Saved through Quoin once'
          : `Saved through Quoin ${entry.missed} times`
      return {
        ...outside(
          `${entry.id}.before`,
          previous?.at,
          entry.at,
          entry.before?.etag,
          `${times} while the lock store was away`
        ),
        unrecorded: entry.missed
      }
    }
    const last = previous && leftBy(previous)
    if (!last || !entry.before || last.language !== entry.before.language) return undefined
    // Where a time of change is not known the entity tags decide, if both belong to the same user.
    const isSame =
      last.changed === undefined || entry.before.changed === undefined
        ? last.etag.split('.')[0] === entry.before.etag.split('.')[0] ||
          previous.by.uid !== entry.by.uid
        : last.changed === entry.before.changed
    return isSame
      ? undefined
      : outside(
          `${entry.id}.before`,
          previous.at,
          entry.before.changed ?? entry.at,
          entry.before.etag,
          `Changed outside Quoin between ${timeOf(previous.at)} and ${timeOf(entry.at)}`,
          entry.at
        )
  }

  function shownTo(edition: EditionJson, entry: Entry | JournalEntry): JournalEntry {
    if (entry.kind === 'outside') return entry
    const { id, at, by, kind, fields, more, outcome, after, from } = entry as Entry
    return {
      id,
      at: timeOf(at),
      by: whoIs(by),
      kind,
      fields: Object.fromEntries(
        Object.entries(fields).filter(([field]) => Object.hasOwn(edition, field))
      ),
      ...(more !== undefined && { moreFields: more }),
      outcome,
      etag: after?.etag ?? null,
      ...(from && { from: whoIs(from) })
    }
  }

  /**
   * Puts fields back as an entry has them.
   * @param id integer id or uuid
   * @throws {Failure} NOT_FOUND without the entry; UNPROCESSABLE for a field whose value it does not have, or that is hidden
   *   from the caller; as `editions.update`
   */
  async function restore(
    id: string,
    { entry: name, fields, side }: RestoreBody,
    caller: Caller,
    options: Omit<UpdateOptions, 'kind'>
  ): Promise<UpdateResult> {
    const edition = await editions.bare(id, caller)
    const [uuid] = keysOf(edition) as [string]
    const entry = await journal.find(uuid, name)
    if (!entry) throw new Failure('NOT_FOUND', texts.noSuch('journal entry', name))
    const body = Object.fromEntries(
      fields.map((field) => {
        const value =
          Object.hasOwn(edition, field) && Object.hasOwn(entry.fields, field)
            ? entry.fields[field]![side]
            : undefined
        if (!value) {
          throw new Failure(
            'UNPROCESSABLE',
            `The journal has no value of "${field}" from ${side} this save that you may see`
          )
        }
        return [field, value]
      })
    )
    return editions.update(uuid, body, caller, { ...options, kind: 'restore' })
  }

  return { read, restore }
}

function isSave({ kind }: Entry): boolean {
  return kind !== 'takeover'
}

/** What a save has left the edition as, where that is known. */
function leftBy({ outcome, before, after }: Entry) {
  return outcome === 'saved' ? after : outcome === 'refused' ? before : undefined
}

function outside(
  id: string,
  from: number | undefined,
  at: number,
  etag: string | null | undefined,
  message: string,
  until = at
): JournalEntry {
  return {
    id,
    at: timeOf(at),
    by: whoIs({}),
    kind: 'outside',
    fields: {},
    outcome: 'saved',
    etag: etag ?? null,
    message,
    ...(from !== undefined && { between: [timeOf(from), timeOf(until)] })
  }
}

function whoIs({
  uid = null,
  name = null
}: {
  uid?: string | null | undefined
  name?: string | null | undefined
}) {
  return { uid, name }
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString()
}
