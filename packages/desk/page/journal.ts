import type { Client, JournalEntry, Named, QuoinError } from '../../client/src/client.ts'
import {
  differenceOf,
  isChange,
  orderDifference,
  wholeDifference,
  type OrderDifference,
  type Piece
} from './difference.ts'
import { failureOf } from './failures.ts'
import { textOf, tokensOf, type Shape } from './fields.ts'
import { createTitles, type TitlesDeps } from './journal-titles.ts'
import { reasonOf } from './reasons.ts'
import type { Edition, Item } from './settings.ts'
import { sayHere } from './texts-journal.ts'
import { localeOfReader } from './texts.ts'
import { beginning, day, type Somebody } from './words.ts'

/** How many entries are asked for at once. */
const PAGE = 20

/** How many entries are shown at most. */
const MOST = 200

/** How long to wait for more saves before the history is read again, in milliseconds. */
const SETTLE_MS = 500

/** How many letters are shown of a piece that came or went. */
const LETTERS = 400

/** What a save is refused with on top of what somebody else has saved. */
const MEANWHILE = [409, 412]

/** The kinds of fields whose text is compared word by word. */
const IN_WORDS = ['line', 'lines', 'text', 'link']

export type Side = 'before' | 'after'

export interface JournalDeps {
  editions: Pick<Client['editions'], 'journal' | 'restore' | 'read' | 'arrange'>
  /** What articles are called. */
  labels: Pick<TitlesDeps, 'lists' | 'knows' | 'learn'>
  id: string
  /** What a field looks like; undefined for one that the page does not show. */
  shapeOf: (name: string) => Shape | undefined
  labelOf: (name: string) => string
  /** Whether a field can be put back here. */
  isOffered: (name: string) => boolean
  /** The edition as it is known here, and its entity tag. */
  present: () => { edition: Edition; etag: string | undefined }
  /** Called with the edition that was saved, and the sentence that tells it. */
  onSave: (edition: Edition, etag: string | undefined, words: string) => void
  /** Reads the edition again. */
  reload: () => Promise<void>
  onChange: () => void
  announce: (text: string) => void
}

/** What an editor wants to put back, in the edition that he sees. */
export interface Wish {
  entry: JournalEntry
  name: string
  side: Side
  etag: string | undefined
}

/**
 * What became of a field: the difference of its texts, or of its orders, with the articles by their
 * tokens.
 */
export interface Became {
  kind: Shape['kind']
  pieces: Piece[]
  changes: OrderDifference[]
  items: Map<string, Item>
  isShown: boolean
}

export type Journal = ReturnType<typeof createJournal>

/** What was saved of an edition, the newest first, and putting it back. */
export function createJournal({
  editions,
  labels,
  id,
  shapeOf,
  labelOf,
  isOffered,
  present,
  onSave,
  reload,
  onChange,
  announce
}: JournalDeps) {
  let entries: JournalEntry[] | undefined
  /** Whose entries are shown alone, by uid. */
  let who: string | undefined
  let next: string | null = null
  let failure: QuoinError | undefined
  let wish: Wish | undefined
  let problem: string | undefined
  let isActing = false
  let settle: ReturnType<typeof setTimeout> | undefined
  let loads = 0
  /** The entries whose many fields are shown, by id. */
  const openIds = new Set<string>()
  const titles = createTitles({ ...labels, read: editions.read, onChange })
  const results = new WeakMap<JournalEntry, Map<string, Became>>()

  /** Reads the newest entries, and keeps the older ones that are shown. */
  async function load(): Promise<void> {
    const nth = ++loads
    await ask({ limit: PAGE }, () => nth === loads)
  }

  /** The entries that are shown already and come after those that were read. */
  function olderThan(data: JournalEntry[]): JournalEntry[] {
    const index = entries?.findIndex(({ id }) => id === data.at(-1)?.id) ?? -1
    return index < 0 ? [] : entries!.slice(index + 1)
  }

  async function ask(
    query: { limit: number; before?: string },
    isWanted: () => boolean
  ): Promise<void> {
    try {
      const { data, meta } = await editions.journal(id, query)
      if (!isWanted()) return
      const [newer, older] = query.before === undefined ? [[], olderThan(data)] : [entries!, []]
      const all = [...newer, ...data, ...older]
      if (older.length === 0) next = meta.next
      if (all.length !== entries?.length) announce(sayHere('shown', { count: all.length }))
      entries = all
      failure = undefined
      titles.look(data.flatMap(articlesIn))
    } catch (error) {
      if (!isWanted()) return
      failure = failureOf(error)
    }
    onChange()
  }

  function shown(): JournalEntry[] {
    return (entries ?? []).filter(({ by }) => who === undefined || by.uid === who)
  }

  function text(name: string, items: Item[]): string {
    const shape = shapeOf(name)
    return shape
      ? textOf(shape, items).replaceAll('\r\n', '\n')
      : items.map(({ value, target_id: id }) => String(value ?? id)).join(', ')
  }

  /** What a save has made of a field, computed once. */
  function became(entry: JournalEntry, name: string): Became {
    const fields = results.get(entry) ?? new Map<string, Became>()
    results.set(entry, fields)
    const { before = [], after = [] } = entry.fields[name]!
    const { kind } = shapeOf(name) ?? { kind: 'line' }
    const last = fields.get(name)
    if (last?.kind === kind) return last
    const [from, to] = [text(name, before), text(name, after)]
    const [then, now] = [tokensOf(before), tokensOf(after)]
    const isOrder = kind === 'order'
    const result = {
      kind,
      pieces: isOrder
        ? []
        : (IN_WORDS.includes(kind) ? differenceOf : wholeDifference)(from, to).map(cut),
      changes: isOrder ? orderDifference([...then.keys()], [...now.keys()]) : [],
      items: isOrder ? new Map([...then, ...now]) : new Map<string, Item>(),
      isShown: from !== to
    }
    fields.set(name, result)
    return result
  }

  /** The articles that an entry names. */
  function articlesIn(entry: JournalEntry): Item[] {
    return Object.keys(entry.fields)
      .filter((name) => shapeOf(name)?.kind === 'order')
      .flatMap((name) => {
        const { changes, items } = became(entry, name)
        return changes.map(({ token }) => items.get(token)!)
      })
  }

  /**
   * Whether a field is saved with these items now. Where a save has changed what is not shown, that
   * counts too.
   */
  function isPresent(entry: JournalEntry, name: string, items: Item[]): boolean {
    const now = present().edition[name] ?? []
    return (
      text(name, items) === text(name, now) &&
      (became(entry, name).isShown || JSON.stringify(items) === JSON.stringify(now))
    )
  }

  return {
    get entries() {
      return entries
    },
    /** Who has done something, each once; the newest first. */
    get people(): Somebody[] {
      const people = new Map<string, Somebody>()
      for (const { by } of entries ?? []) {
        const { uid, name } = by
        if (uid !== null && !people.has(uid)) people.set(uid, { uid, name: name ?? undefined })
      }
      return [...people.values()]
    },
    get who() {
      return who
    },
    /** Shows the entries of one user or agent alone; without a uid those of all. */
    showAlone(uid: string | undefined): void {
      who = uid
      announce(sayHere('shown', { count: shown().length }))
      onChange()
    },
    /** The entries that are shown. */
    get shown() {
      return shown()
    },
    /** Whether there are older ones to be shown. */
    get hasOlder() {
      return next !== null && entries!.length < MOST
    },
    /** How many are shown, where there are too many for the page. */
    get limit() {
      return next !== null && entries!.length >= MOST ? entries!.length : undefined
    },
    get failure() {
      return failure
    },
    get wish() {
      return wish
    },
    /** Why something was not put back. */
    get problem() {
      return problem
    },
    get isActing() {
      return isActing
    },
    load,
    became,
    isOpened: ({ id }: JournalEntry) => openIds.has(id),
    /** Shows the fields of an entry that has many, or hides them. */
    turn({ id }: JournalEntry): void {
      if (!openIds.delete(id)) openIds.add(id)
      onChange()
    },

    /** Adds the page before. */
    older: (): Promise<void> => {
      const [nth, all] = [loads, entries]
      return ask({ limit: PAGE, before: next! }, () => nth === loads && all === entries)
    },

    /** To be called when something was saved. */
    refresh(): void {
      clearTimeout(settle)
      settle = setTimeout(load, SETTLE_MS)
    },

    /** Which values of an entry differ from what is saved now and can be put back. */
    sidesOf(entry: JournalEntry, name: string): Side[] {
      const { [name]: values = {} } = entry.fields
      return isOffered(name)
        ? (['before', 'after'] as const).filter(
            (side) => values[side] !== undefined && !isPresent(entry, name, values[side])
          )
        : []
    },

    /** Asks whether this is to be put back. Nothing is done yet. */
    wants(entry: JournalEntry, name: string, side: Side): void {
      wish = { entry, name, side, etag: present().etag }
      problem = undefined
      onChange()
    },
    cancel(): void {
      wish = undefined
      onChange()
    },

    /** Puts back what was asked for. */
    async putBack(): Promise<void> {
      if (!wish || isActing) return
      const { entry, name, side, etag: ifMatch } = wish
      const label = labelOf(name)
      isActing = true
      problem = undefined
      onChange()
      try {
        const { edition, etag } = await editions.restore(
          id,
          { entry: entry.id, fields: [name], side },
          { ifMatch }
        )
        wish = undefined
        onSave(edition as Edition, etag, sayHere('isBack', { label }))
        load()
      } catch (error) {
        const { status, code, message } = failureOf(error)
        const isMeanwhile = MEANWHILE.includes(status)
        problem = isMeanwhile
          ? sayHere('changedMeanwhile', { label })
          : sayHere('isNotBack', { label, reason: reasonOf({ code, message }) })
        announce(problem)
        if (isMeanwhile) await reload()
        wish = { entry, name, side, etag: present().etag }
      }
      isActing = false
      onChange()
    },

    end(): void {
      clearTimeout(settle)
      loads++
    }
  }
}

/** A piece without what is too long to be read here. */
function cut(piece: Piece): Piece {
  const short = (text: string) => (text.length > LETTERS ? `${beginning(text, LETTERS)} …` : text)
  return isChange(piece) ? { gone: short(piece.gone), came: short(piece.came) } : piece
}

/** A value that is no text, in words. */
export function wordsOfValue(
  { kind, zone, isRange = false }: Pick<Shape, 'kind' | 'zone' | 'isRange'>,
  items: Item[],
  { types, titleOf }: { types: Named[]; titleOf: (item: Item) => string }
): string {
  const text = textOf({ kind, zone, isRange }, items)
  if (text === '') return ''
  switch (kind) {
    case 'flag':
      return sayHere(text === 'true' ? 'yes' : 'no')
    case 'choice':
      return types.find(({ id }) => id === text)?.label ?? text
    case 'date':
      return text.split('/').map(day).join(' – ')
    case 'moment':
      return text
        .split('/')
        .map((end) =>
          end === ''
            ? ''
            : new Date(`${end}Z`).toLocaleString(localeOfReader(), {
                dateStyle: 'medium',
                timeStyle: 'short',
                timeZone: 'UTC'
              })
        )
        .join(' – ')
    case 'fixed':
      return items.map(titleOf).join(', ')
    default:
      return text
  }
}
