import type { Client, JournalEntry, OrderOperation } from '../../client/src/client.ts'
import { orderDifference } from './difference.ts'
import { failureOf } from './failures.ts'
import { textOf, tokensOf } from './fields.ts'
import type { JournalDeps } from './journal.ts'
import {
  apply,
  indexOf,
  insertAt,
  isSameArticle,
  moveTo,
  removeAt,
  spotOf,
  unmovedOf
} from './operations.ts'
import { reasonOf } from './reasons.ts'
import type { Item } from './settings.ts'
import { sayHere } from './texts-journal.ts'
import { nameOf, type Somebody } from './words.ts'

/** How many fields of entries are put back at once; the newest ones. */
const MOST = 100

/** How often a field is tried that somebody saves an edition beside. */
const TRIES = 3

/** What a save is refused with on top of what somebody else has saved. */
const MEANWHILE = [409, 412]

/** The entries that are saves of fields. To make an edition is not put back. */
const SAVES: Array<JournalEntry['kind']> = ['update', 'order', 'close', 'restore']

export interface UndoDeps extends Pick<
  JournalDeps,
  | 'id'
  | 'shapeOf'
  | 'labelOf'
  | 'isOffered'
  | 'present'
  | 'onSave'
  | 'reload'
  | 'onChange'
  | 'announce'
> {
  editions: Pick<Client['editions'], 'restore' | 'arrange'>
}

/** Who holds a field, if anybody else does. */
export type HolderOf = (name: string) => Somebody | undefined

/** A field that an entry has changed. */
export interface UndoStep {
  entry: JournalEntry
  name: string
  /** The entries after it, the newest first. */
  newer: JournalEntry[]
}

/** What became of a step: it is back, or why it is not. */
export interface UndoResult extends Pick<UndoStep, 'entry' | 'name'> {
  isBack: boolean
  words?: string | undefined
}

export type Undo = ReturnType<typeof createUndo>

/**
 * Puts back what an agent has done since an entry of it: the newest first, each by a save of its
 * own. What anybody else has changed since, or holds, stays as it is, and the rest goes on.
 */
export function createUndo(deps: UndoDeps) {
  const { onChange, announce } = deps
  let since: JournalEntry | undefined
  let steps: UndoStep[] = []
  let results: UndoResult[] | undefined
  let isActing = false
  let isStopped = false

  return {
    /** The entry from which on something is to be put back. */
    get since() {
      return since
    },
    get steps() {
      return steps
    },
    /** What became of each step; undefined before they are done. */
    get results() {
      return results
    },
    get isActing() {
      return isActing
    },
    /** Whether there are more steps than are done at once. */
    get isCut() {
      return steps.length === MOST
    },

    /** Asks whether what the author of an entry did from it on is to be put back. */
    wants(entry: JournalEntry, entries: JournalEntry[]): void {
      if (isActing) return
      since = entry
      steps = stepsSince(entries, entry)
      results = undefined
      onChange()
    },
    /** Takes the question, or what became of it, away. */
    cancel(): void {
      if (isActing) return
      since = results = undefined
      onChange()
    },
    /** Ends after the step that is under way. */
    stop(): void {
      isStopped = true
    },

    async putBack(holderOf: HolderOf): Promise<void> {
      if (isActing || since === undefined) return
      isActing = true
      isStopped = false
      results = []
      onChange()
      for (const step of steps) {
        const { result, isAway } = await undoStep(deps, step, holderOf)
        results = [...results, result]
        if (isAway) isStopped = true
        if (isStopped) break
        onChange()
      }
      isActing = false
      const count = results.filter(({ isBack }) => isBack).length
      announce(sayHere('sincePutBack', { count, all: steps.length }))
      onChange()
    }
  }
}

/** What the author of an entry has changed from it on, the newest first. */
export function stepsSince(entries: JournalEntry[], since: JournalEntry): UndoStep[] {
  const end = entries.findIndex(({ id }) => id === since.id) + 1
  return entries
    .slice(0, end)
    .flatMap((entry, index) =>
      entry.by.uid === since.by.uid && SAVES.includes(entry.kind) && entry.outcome !== 'refused'
        ? Object.keys(entry.fields).map((name) => ({ entry, name, newer: entries.slice(0, index) }))
        : []
    )
    .slice(0, MOST)
}

/** A step's outcome, and whether no further step can succeed now. */
interface Outcome {
  result: UndoResult
  isAway: boolean
}

async function undoStep(
  deps: UndoDeps,
  step: UndoStep,
  holderOf: HolderOf,
  tries = 1
): Promise<Outcome> {
  const { entry, name } = step
  const of = (isBack: boolean, words?: string, isAway = false) => ({
    result: { entry, name, isBack, words },
    isAway
  })
  const problem = whyNot(deps, step, holderOf)
  if (problem !== undefined) return of(false, problem)
  const operations = isOrder(deps, name) ? inverseOf(deps, step) : undefined
  if (operations?.length === 0) return of(false, sayHere('sinceChanged'))
  try {
    await save(deps, step, operations)
  } catch (error) {
    const failure = failureOf(error)
    if (MEANWHILE.includes(failure.status) && tries < TRIES) {
      await deps.reload()
      return undoStep(deps, step, holderOf, tries + 1)
    }
    const holder = (failure.lock ?? failure.locks?.[0])?.userData
    return of(
      false,
      holder ? heldBy({ ...holder, uid: String(holder.uid) }) : reasonOf(failure),
      failure.passes
    )
  }
  const isWhole = operations === undefined || isSame(deps, name, step.entry.fields[name]!.before!)
  return of(true, isWhole ? undefined : sayHere('sinceInPart'))
}

/** Saves what a step comes to, if nobody has saved since the edition was looked at. */
async function save(
  { editions, id, present, onSave, labelOf }: UndoDeps,
  { entry, name }: UndoStep,
  operations: OrderOperation[] | undefined
): Promise<void> {
  const { etag: ifMatch } = present()
  const { edition, etag } = operations
    ? await editions.arrange(id, operations, { field: name, ifMatch })
    : await editions.restore(id, { entry: entry.id, fields: [name], side: 'before' }, { ifMatch })
  onSave(
    edition as ReturnType<typeof present>['edition'],
    etag,
    sayHere('isBack', { label: labelOf(name) })
  )
}

/** Why a step cannot be done, or need not. */
function whyNot(deps: UndoDeps, { entry, name, newer }: UndoStep, holderOf: HolderOf) {
  const { before, after } = entry.fields[name]!
  if (!deps.isOffered(name)) return sayHere('sinceNotHere')
  if (before === undefined || after === undefined) return sayHere('sinceNotKept')
  const holder = holderOf(name)
  if (holder) return heldBy(holder)
  if (isSame(deps, name, before)) return sayHere('sinceAlready')
  if (isOrder(deps, name)) return undefined
  const other = newer.find((one) => isByAnother(one, entry) && Object.hasOwn(one.fields, name))
  if (other) return changedBy(other)
  return isSame(deps, name, after) ? undefined : sayHere('sinceChanged')
}

/**
 * Whether an entry tells that somebody else has changed its fields. What was put back meanwhile
 * shows in the field itself.
 */
function isByAnother({ by, kind, outcome }: JournalEntry, { by: own }: JournalEntry): boolean {
  const isChange = kind === 'outside' || (SAVES.includes(kind) && kind !== 'restore')
  return isChange && outcome !== 'refused' && by.uid !== own.uid
}

function changedBy({ by: { uid, name } }: JournalEntry): string {
  if (uid === null) return sayHere('sinceChanged')
  return sayHere('sinceChangedBy', { name: nameOf({ uid, name: name ?? undefined }) })
}

function heldBy(holder: Somebody): string {
  return sayHere('sinceHeld', { name: nameOf(holder) })
}

function isOrder({ shapeOf }: UndoDeps, name: string): boolean {
  return shapeOf(name)?.kind === 'order'
}

/** Whether a field is saved with these items now, in what is shown and in all members that both have. */
function isSame({ present, shapeOf }: UndoDeps, name: string, items: Item[]): boolean {
  const now = present().edition[name] ?? []
  const shape = shapeOf(name)!
  if (textOf(shape, items) !== textOf(shape, now)) return false
  return shape.kind === 'order' || items.every((item, index) => areAlike(item, now[index]))
}

/** Whether two items have no member, such as a format or the title of a link, that differs. */
function areAlike(one: Item, other: Item | undefined): boolean {
  return Object.entries(one).every(([member, value]) => {
    const now = other?.[member]
    const isComparable = typeof value === 'string' && typeof now === 'string'
    return !isComparable || PROCESSED.includes(member) || sameLines(value) === sameLines(now)
  })
}

/** What Drupal makes of a text. */
const PROCESSED = ['processed', 'summary_processed', 'url']

function sameLines(text: string): string {
  return text.replaceAll('\r\n', '\n')
}

/**
 * What undoes the changes of an order in the present one: each article beside a neighbour of
 * before. What somebody has moved, removed or inserted since stays so.
 */
function inverseOf({ present }: UndoDeps, { entry, name }: UndoStep): OrderOperation[] {
  const { before, after } = entry.fields[name]!
  return inverseOperations(before!, after!, present().edition[name] ?? [])
}

export function inverseOperations(
  before: Item[],
  after: Item[],
  present: Item[]
): OrderOperation[] {
  const [then, now] = [tokensOf(before), tokensOf(after)]
  const operations: OrderOperation[] = []
  let items = present
  for (const { what, token } of orderDifference([...then.keys()], [...now.keys()])) {
    const article = (now.get(token) ?? then.get(token))!
    const index = items.findIndex((item) => isSameArticle(item, article))
    const isLeft = index >= 0 && unmovedOf([article], after, present).length > 0
    const spot = spotOf(before, [...then.keys()].indexOf(token))
    const operation =
      what === 'gone'
        ? insertAt(items, article, indexOf(items, spot))
        : !isLeft
          ? undefined
          : what === 'came'
            ? removeAt(items, index)
            : moveTo(items, index, indexOf(items.toSpliced(index, 1), spot))
    if (operation === undefined) continue
    operations.push(operation)
    items = apply(items, operation)
  }
  return operations
}
