import { Type } from '@sinclair/typebox'
import { JournalQuery, type JournalEntry } from '../../../../lib/saves/journal-schemas.ts'
import { demandJournal } from '../../../../routes/journal-access.ts'
import { ANSWER_MAX, overviewOf, portionOf, sizeUpTo, valueAt, type Rest } from '../answer-size.ts'
import { wrongArguments } from '../arguments-check.ts'
import { personRow } from '../lock-rows.ts'
import { defineTool } from '../tool.ts'
import { EditionId, Reading, textLike } from './arguments.ts'

/** What an entry shows of the values of its fields, in bytes: all, and one field. */
const VALUES = { room: 2500, memberMax: 1000 }

/** The same of an entry that was asked for alone. */
const VALUES_ALONE = { room: 14_000, memberMax: 8000 }

const ROOM = ANSWER_MAX - 1000

const NAMES_MAX = 100

const pattern = JournalQuery.properties.before.pattern!

/** Where a page of the journal begins. */
interface Page {
  before?: string
}

export const readJournal = defineTool({
  name: 'read_journal',
  title: 'Read the journal of an edition',
  description:
    'Reads who saved an edition, when, and changed fields before and after, the newest first. Needs the right to edit it. `more` has the arguments for older entries, that of an entry for values that did not fit.',
  scope: 'read',
  input: Type.Object(
    {
      id: EditionId,
      before: Type.Optional(textLike(pattern, 'Only older entries')),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 50, description: '20 without it' })),
      ...Reading
    },
    { additionalProperties: false }
  ),
  async run({ request }, { id, before, limit = 20, field, from = 0 }) {
    const history = await demandJournal(request.server, request, id)
    const page: Page = before === undefined ? {} : { before }
    const query = { ...page, limit: field === undefined ? limit : 1 }
    const { entries, next } = await history.read(id, request.caller, query)
    if (field !== undefined) return valueOf(entries, page, { field, from })
    const values = { ...(limit === 1 ? VALUES_ALONE : VALUES), from }
    return pageOf(entries, { page, next, values })
  }
})

interface PageOptions {
  page: Page
  next: string | null
  values: { from: number; room: number; memberMax: number }
}

/** As many entries as fit. A gap stays with the entry that it is told with. */
function pageOf(entries: JournalEntry[], { page, next, values }: PageOptions): object {
  const rows: object[] = []
  let left = ROOM
  let last = page
  for (const entry of entries) {
    const from = last === page && !isGap(entry) ? values.from : 0
    const row = rowOf(entry, last, { ...values, from })
    left -= sizeUpTo(row, left) + 1
    if (left < 0) return { entries: rows, more: last }
    rows.push(row)
    if (!isGap(entry)) last = { before: entry.id }
  }
  return { entries: rows, ...(next !== null && { more: { before: next } }) }
}

/** Whether it is none of the journal, but tells of a change without one: no page begins with it. */
function isGap({ id }: JournalEntry): boolean {
  return id.includes('.')
}

/** @param page the page that begins with the entry */
function rowOf(
  { id, at, by, kind, outcome, etag, from, between, unrecorded, moreFields, fields }: JournalEntry,
  page: Page,
  values: PageOptions['values']
): object {
  const { members, more } = overviewOf(fields, values)
  return {
    id,
    at,
    by: personRow(by),
    kind,
    outcome,
    ...(etag !== null && { tag: etag }),
    ...(from && { from: personRow(from) }),
    ...(between && { between }),
    ...(unrecorded !== undefined && { unrecorded }),
    fields: members,
    ...(moreFields !== undefined && { moreFields }),
    ...(more.length > 0 && { more: more.map((rest) => readingOn(rest, page)) })
  }
}

/** The arguments that read fields of an entry on. */
function readingOn(rest: Partial<Rest>, page: Page): object {
  return { ...page, ...(rest.field === undefined && { limit: 1 }), ...rest }
}

/** A part of the values of a page's first entry. */
function valueOf(entries: JournalEntry[], page: Page, { field, from }: Rest): object {
  const entry = entries.find((entry) => !isGap(entry))
  const value = entry && valueAt(entry.fields, field)
  if (value === undefined) {
    const allowed = Object.keys(entry?.fields ?? {}).slice(0, NAMES_MAX)
    throw wrongArguments([{ argument: 'field', problem: 'The entry does not have it', allowed }])
  }
  const portion = portionOf(value, { path: field, from, room: ROOM - 1000 })
  return {
    entry: entry!.id,
    field,
    from,
    value: portion.value,
    ...(portion.rest.length > 0 && { more: portion.rest.map((rest) => readingOn(rest, page)) })
  }
}
