import { html, nothing } from 'lit-html'
import type { JournalEntry } from '../../client/src/client.ts'
import type { Journal } from './journal.ts'
import type { JournalContext } from './journal-door.ts'
import type { Undo, UndoResult } from './journal-undo.ts'
import { sayHere } from './texts-journal.ts'
import { say } from './texts.ts'
import { icon, notice, type View } from './ui.ts'
import { at, nameOf } from './words.ts'

/** Where an agent's entries are shown alone: the button that asks to put back what it did since. */
export function sinceButton(journal: Journal, undo: Undo, entry: JournalEntry): View {
  if (!journal.who?.startsWith('agent:') || entry.by.uid !== journal.who) return nothing
  return html`<button type="button" class="small plain" data-since=${entry.id} aria-disabled=${undo.isActing ? 'true' : 'false'} @click=${async () => {
    undo.wants(entry, journal.entries!)
    await Promise.resolve()
    document.getElementById('since')?.focus()
  }}>${icon('undo-2')}${sayHere('putBackSince')}<span class="spoken">${say('inParentheses', { text: timeOf(entry) })}</span></button>`
}

/** The question whether all that is to be put back, and what became of it. */
export function undoView(undo: Undo, { labelOf, fieldOf }: JournalContext): View {
  const { since, steps, results, isActing, isCut } = undo
  if (!since) return nothing
  const { uid, name } = since.by
  const agent = nameOf({ uid: uid ?? '', name: name ?? undefined })
  const close = () => {
    undo.cancel()
    document.querySelector<HTMLElement>(`[data-since="${CSS.escape(since.id)}"]`)?.focus()
  }
  const put = async () => {
    if (steps.length === 0) return
    await undo.putBack((field) => fieldOf(field)?.holder?.userData)
    document.getElementById('since')?.focus()
  }
  return html`<section class="question" aria-labelledby="since" @keydown=${(
    event: KeyboardEvent
  ) => {
    if (event.key !== 'Escape' || isActing) return
    event.stopPropagation()
    close()
  }}>
    <h3 id="since" tabindex="-1">${sayHere('askSince', { name: agent, time: timeOf(since) })}</h3>
    ${results ? resultsView(results, steps.length, labelOf) : html`<p>${sayHere('sinceFields', { count: steps.length })} ${sayHere('sinceHow')}${isCut ? ` ${sayHere('sinceCut')}` : nothing}</p>`}
    <span class="choices">
      ${
        results === undefined
          ? html`<button type="button" class="primary" aria-disabled=${steps.length === 0 ? 'true' : 'false'} @click=${put}>${sayHere('putSince')}</button>
            <button type="button" class="plain" @click=${close}>${say('cancel')}</button>`
          : isActing
            ? html`<button type="button" @click=${undo.stop}>${sayHere('stopSince')}</button>`
            : html`<button type="button" @click=${close}>${sayHere('closeSince')}</button>`
      }
    </span>
  </section>`
}

function resultsView(results: UndoResult[], all: number, labelOf: JournalContext['labelOf']): View {
  const count = results.filter(({ isBack }) => isBack).length
  const told = results.filter(({ words }) => words !== undefined)
  return html`
    ${notice(count === all ? 'good' : 'warn', sayHere('sincePutBack', { count, all }))}
    <ul>${told.map(({ entry, name, words }) => html`<li><b>${labelOf(name)}</b>, <time datetime=${entry.at}>${timeOf(entry)}</time>: ${words}</li>`)}</ul>`
}

function timeOf({ at: iso }: JournalEntry): string {
  return at(Date.parse(iso) / 1000, Date.now())
}
