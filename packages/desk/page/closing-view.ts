import { html, nothing, type TemplateResult } from 'lit-html'
import type { Finding } from '../../client/src/client.ts'
import type { Closing } from './closing.ts'
import { reasonOf } from './reasons.ts'
import { say } from './texts.ts'
import { icon, notice, type View } from './ui.ts'

export interface ClosingContext {
  /** What is not saved yet, by its labels. */
  unsaved: string[]
  save: () => void
  /** Leads to what a finding is about. */
  goTo: (finding: Finding) => void
  wordsOf: (finding: Finding) => string
}

/** The button that begins with closing an edition, or takes it back. */
export function closingButton(closing: Closing): View {
  const { words, isDone, canUndo, isOpen } = closing
  if (!words || (isDone && !canUndo)) return nothing
  return html`<button type="button" class=${isDone ? '' : 'primary'} aria-expanded=${isOpen ? 'true' : 'false'} @click=${async () => {
    closing.open()
    await Promise.resolve()
    document.getElementById('closing')?.focus()
  }}>${isDone ? words.back : words.act}</button>`
}

/**
 * What speaks against closing an edition, each thing with the way to it, and the button that does
 * it.
 */
export function closingView(
  closing: Closing,
  { unsaved, save, goTo, wordsOf }: ClosingContext
): View {
  const { words, isDone, isOpen, isActing, readiness, failure } = closing
  if (!isOpen || !words) return nothing
  const findings = (heading: string, found: Finding[], symbol: string) =>
    found.length === 0
      ? nothing
      : html`<h3>${heading}</h3><ul>${found.map((finding) => html`<li>${icon(symbol)}<span dir="auto">${wordsOf(finding)}</span><button type="button" class="small plain" @click=${() => goTo(finding)}>${say('goThere')}<span class="spoken">${say('inParentheses', { text: wordsOf(finding) })}</span></button></li>`)}</ul>`
  const isReady = isDone || (readiness?.ready === true && unsaved.length === 0)
  const act = isDone ? closing.undo : closing.close
  return html`<section class="closing" aria-labelledby="closing" @keydown=${(
    event: KeyboardEvent
  ) => {
    if (event.key === 'Escape') cancel(closing)
  }}>
    <h2 id="closing" tabindex="-1">${isDone ? words.backTitle : words.actTitle}</h2>
    ${failure ? notice('bad', reasonOf(failure)) : nothing}
    ${isDone ? html`<p>${say('readersLose')}</p>` : list()}
    <span class="choices">
      <button type="button" class="primary" aria-disabled=${isReady && !isActing ? 'false' : 'true'} @click=${async () => {
        if (!isReady || isActing) return
        await act()
        if (!closing.isOpen) document.querySelector<HTMLElement>('main h1')?.focus()
      }}>${isDone ? words.backNow : words.actNow}</button>
      ${isDone ? nothing : html`<button type="button" @click=${closing.look}>${say('checkAgain')}</button>`}
      <button type="button" class="plain" @click=${() => cancel(closing)}>${say('cancel')}</button>
    </span>
  </section>`

  function list(): TemplateResult {
    return html`
      ${unsaved.length === 0 ? nothing : html`<h3>${say('notSavedYet')}</h3><ul><li>${icon('save')}<span>${unsaved.join(', ')}</span><button type="button" class="small" @click=${save}>${say('saveFirst')}</button></li></ul>`}
      ${readiness === undefined ? (failure ? nothing : html`<p class="quiet">${say('lookingReady')}</p>`) : nothing}
      ${readiness?.blockers.length === 0 && unsaved.length === 0 ? html`<p>${icon('check')} ${say('nothingInWay')}</p>` : nothing}
      ${findings(say('inTheWay'), readiness?.blockers ?? [], 'triangle-alert')}
      ${findings(say('toBeKnown'), readiness?.warnings ?? [], 'clock')}`
  }
}

async function cancel(closing: Closing): Promise<void> {
  closing.cancel()
  await Promise.resolve()
  document.querySelector<HTMLElement>('.head button')?.focus()
}
