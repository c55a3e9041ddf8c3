import { html, nothing, type TemplateResult } from 'lit-html'
import { repeat } from 'lit-html/directives/repeat.js'
import type { JournalEntry } from '../../client/src/client.ts'
import { wholeDifference } from './difference.ts'
import { differenceView, orderDifferenceView } from './difference-view.ts'
import {
  createJournal,
  wordsOfValue,
  type Journal,
  type JournalDeps,
  type Side
} from './journal.ts'
import type { JournalContext, JournalPanel } from './journal-door.ts'
import { createUndo, type Undo } from './journal-undo.ts'
import { sinceButton, undoView } from './journal-undo-view.ts'
import { reasonOf } from './reasons.ts'
import type { Item } from './settings.ts'
import { sayHere } from './texts-journal.ts'
import { say } from './texts.ts'
import { avatar, icon, notice, type View } from './ui.ts'
import { at, nameOf } from './words.ts'

/** From how many fields on an entry shows them only when it is opened. */
const MANY = 4

/** The history of an edition, with what it shows. */
export function createJournalPanel(deps: JournalDeps): JournalPanel {
  const journal = createJournal(deps)
  const undo = createUndo(deps)
  return {
    load: journal.load,
    refresh: journal.refresh,
    end() {
      journal.end()
      undo.stop()
    },
    view: (context, close) => html`
      <button type="button" class="icon-only close" aria-label=${sayHere('close')} title=${sayHere('close')} @click=${close}>${icon('x')}</button>
      ${journalView(journal, undo, context)}`
  }
}

function journalView(journal: Journal, undo: Undo, context: JournalContext): View {
  const { entries, failure, hasOlder, limit } = journal
  if (failure?.status === 404) return html`<p>${sayHere('isOff')}</p>`
  if (failure?.status === 403) return html`<p>${sayHere('notYours')}</p>`
  return html`
    ${failure ? notice('bad', reasonOf(failure), html`<button type="button" @click=${journal.load}>${say('tryAgain')}</button>`) : nothing}
    ${entries === undefined ? (failure ? nothing : html`<p class="quiet">${say('lookingAtHistory')}</p>`) : entries.length === 0 ? html`<p class="quiet">${sayHere('nothingKept')}</p>` : nothing}
    ${whoView(journal, context)}
    ${undoView(undo, context)}
    <ol class="entries">${repeat(
      journal.shown,
      ({ id }) => id,
      (entry) => entryView(journal, undo, context, entry)
    )}</ol>
    ${entries !== undefined && hasOlder ? html`<button type="button" @click=${older}>${sayHere('older')}</button>` : nothing}
    ${entries !== undefined && limit !== undefined ? html`<p class="quiet">${sayHere('endsHere', { count: limit })}</p>` : nothing}`

  /** Shows older entries, and leads to the first of them. */
  async function older(): Promise<void> {
    const count = journal.shown.length
    await journal.older()
    await Promise.resolve()
    const first = journal.shown[count]
    if (first) headingOf(first.id)?.focus()
  }
}

/** Chooses whose entries are shown, where several have done something. */
function whoView({ people, who, showAlone }: Journal, { uid: own }: JournalContext): View {
  if (people.length < 2 && who === undefined) return nothing
  const on = ({ target }: Event) => showAlone((target as HTMLSelectElement).value || undefined)
  return html`<p><label for="who">${sayHere('who')}</label> <select id="who" @change=${on}>
    <option value="" .selected=${who === undefined}>${sayHere('everybody')}</option>
    ${people.map((somebody) => html`<option value=${somebody.uid} .selected=${who === somebody.uid}>${somebody.uid === own ? say('you') : nameOf(somebody)}</option>`)}
  </select></p>`
}

function headingOf(id: string): HTMLElement | null {
  return document.querySelector(`[data-entry="${CSS.escape(id)}"] h3`)
}

function entryView(
  journal: Journal,
  undo: Undo,
  context: JournalContext,
  entry: JournalEntry
): TemplateResult {
  const { id, kind, fields, outcome, moreFields } = entry
  const hasValues = !isNote(kind) && kind !== 'outside'
  const names = hasValues ? Object.keys(fields) : []
  const list = () =>
    html`<ul>${repeat(
      names,
      (name) => name,
      (name) => fieldOfEntry(journal, context, entry, name)
    )}</ul>`
  return html`<li data-entry=${id}>
    <h3 tabindex="-1">${kind === 'outside' && !isTold(entry) ? nothing : authorOf(context, entry.by)}<span>${kindOf(context, entry)}</span> <time datetime=${entry.at}>${timeOf(entry.at)}</time></h3>
    ${kind === 'outside' ? html`<p>${wordsOfOutside(context, entry)}</p>` : nothing}
    ${outcome === 'saved' ? nothing : html`<p class="note problem">${icon('triangle-alert')}<span>${sayHere(outcome)}</span></p>`}
    ${names.length > MANY ? html`<button type="button" class="small plain" aria-expanded=${journal.isOpened(entry) ? 'true' : 'false'} @click=${() => journal.turn(entry)}>${sayHere('fields', { count: names.length })}<span class="spoken">${say('inParentheses', { text: timeOf(entry.at) })}</span></button>` : nothing}
    ${names.length > 0 && (names.length <= MANY || journal.isOpened(entry)) ? list() : nothing}
    ${moreFields === undefined ? nothing : html`<p class="quiet">${sayHere('moreFields', { count: moreFields })}</p>`}
    ${sinceButton(journal, undo, entry)}
  </li>`
}

function authorOf({ uid: own }: JournalContext, { uid, name }: JournalEntry['by']): TemplateResult {
  if (uid === null && name === null) return html`<b>${sayHere('unknown')}</b> `
  const somebody = { uid: uid ?? '', name: name ?? undefined }
  return html`${avatar(somebody)}<b dir="auto">${uid === own ? say('you') : nameOf(somebody)}</b> `
}

/** Whether Drupal has told this change, which did not come through Quoin. */
function isTold({ kind, by }: JournalEntry): boolean {
  return kind === 'outside' && by.uid !== null
}

const NOTES = ['takeover', 'proposed', 'taken', 'discarded', 'withdrawn'] as const

/** Whether entries of a kind tell of a lock or of a proposal, and of no save. */
function isNote(kind: JournalEntry['kind']): kind is (typeof NOTES)[number] {
  return NOTES.some((note) => note === kind)
}

function kindOf({ labelOf, isPublishing }: JournalContext, entry: JournalEntry): string {
  const { kind, fields, from } = entry
  if (kind === 'close') return sayHere(isPublishing ? 'published' : 'closed')
  if (kind === 'outside') return sayHere(isTold(entry) ? 'inDrupal' : 'outside')
  if (!isNote(kind)) return sayHere(kind)
  const name =
    from && (from.uid !== null || from.name)
      ? nameOf({ uid: from.uid ?? '', name: from.name ?? undefined })
      : sayHere('unknown')
  return sayHere(kind, { label: Object.keys(fields).map(labelOf).join(', '), name })
}

function wordsOfOutside({ labelOf }: JournalContext, entry: JournalEntry): string {
  const { between, unrecorded, fields } = entry
  const labels = Object.keys(fields).map(labelOf).join(', ')
  if (labels !== '') return sayHere('changedFields', { labels })
  if (isTold(entry)) return sayHere('changedUnknown')
  if (unrecorded !== undefined) return sayHere('unrecorded', { count: unrecorded })
  const [from, to] = between ?? []
  return from !== undefined && to !== undefined
    ? sayHere('changedBetween', { from: timeOf(from), to: timeOf(to) })
    : sayHere('changedUnknown')
}

function timeOf(iso: string): string {
  return at(Date.parse(iso) / 1000, Date.now())
}

function fieldOfEntry(
  journal: Journal,
  context: JournalContext,
  entry: JournalEntry,
  name: string
): TemplateResult {
  const { labelOf } = context
  const { leftOut = [] } = entry.fields[name]!
  const { wish } = journal
  const isAsked = wish?.entry.id === entry.id && wish.name === name
  const words = {
    before: 'putBefore',
    after: entry.outcome === 'saved' ? 'putAfter' : 'putTried'
  } as const
  return html`<li data-name=${name}>
    <b class="of">${labelOf(name)}</b>
    ${leftOut.includes('before') ? html`<p class="quiet">${sayHere('tooLargeBefore')}</p>` : nothing}
    ${leftOut.includes('after') ? html`<p class="quiet">${sayHere('tooLargeAfter')}</p>` : nothing}
    ${leftOut.length > 0 ? nothing : difference(journal, context, entry, name)}
    <span class="choices">${journal.sidesOf(entry, name).map((side) => html`<button type="button" class="small" data-side=${side} aria-expanded=${isAsked && wish.side === side ? 'true' : 'false'} @click=${(event: Event) => ask(event, side)}>${icon('undo-2')}${sayHere(words[side])}<span class="spoken">${say('inParentheses', { text: `${labelOf(name)}, ${timeOf(entry.at)}` })}</span></button>`)}</span>
    ${isAsked ? question(journal, context) : nothing}
  </li>`

  async function ask({ currentTarget }: Event, side: Side): Promise<void> {
    const row = (currentTarget as Element).closest('li')!
    journal.wants(entry, name, side)
    await Promise.resolve()
    row.querySelector<HTMLElement>('.question button')?.focus()
  }
}

function difference(
  journal: Journal,
  { types, titleOf, fieldOf }: JournalContext,
  entry: JournalEntry,
  name: string
): View {
  const { kind, pieces, changes, items, isShown } = journal.became(entry, name)
  if (!isShown) return html`<p class="quiet">${sayHere('notShown')}</p>`
  if (kind === 'order') return orderDifferenceView(changes, (token) => titleOf(items.get(token)))
  const { before = [], after = [] } = entry.fields[name]!
  const words = (items: Item[]) =>
    wordsOfValue(
      { kind, zone: fieldOf(name)?.shape.zone, isRange: fieldOf(name)?.shape.isRange ?? false },
      items,
      { types, titleOf }
    )
  return differenceView(
    ['flag', 'choice', 'date', 'moment', 'fixed'].includes(kind)
      ? wholeDifference(words(before), words(after))
      : pieces
  )
}

/** Whether something is really to be put back. */
function question(journal: Journal, { labelOf, fieldOf }: JournalContext): TemplateResult {
  const { entry, name, side } = journal.wish!
  const field = fieldOf(name)
  const label = labelOf(name)
  const isHeld = field?.holder !== undefined
  const isOff = isHeld || journal.isActing
  const button = () =>
    document.querySelector<HTMLElement>(
      `[data-entry="${CSS.escape(entry.id)}"] [data-name="${CSS.escape(name)}"] [data-side="${side}"]`
    )
  const cancel = () => {
    journal.cancel()
    button()?.focus()
  }
  return html`<div class="question" role="group" aria-label=${sayHere('ask', { label })} @keydown=${(
    event: KeyboardEvent
  ) => {
    if (event.key !== 'Escape') return
    event.stopPropagation()
    cancel()
  }}>
    <p><b>${sayHere('ask', { label })}</b> ${isHeld ? say('takeOverFirst', { label }) : sayHere(field?.shape.kind === 'order' ? 'replacesOrder' : 'replaces')}${field?.isDirty ? ` ${sayHere('unsaved')}` : nothing}</p>
    ${journal.problem === undefined ? nothing : notice('bad', journal.problem)}
    <span class="choices">
      <button type="button" class="primary" aria-disabled=${isOff ? 'true' : 'false'} @click=${async () => {
        if (isOff) return
        await journal.putBack()
        if (!journal.wish) headingOf(entry.id)?.focus()
      }}>${sayHere('putNow')}</button>
      <button type="button" class="plain" @click=${cancel}>${say('cancel')}</button>
    </span>
  </div>`
}
