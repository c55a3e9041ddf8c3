import { html, nothing, type TemplateResult } from 'lit-html'
import type { JournalContext, JournalDoor } from './journal-door.ts'
import { say } from './texts.ts'
import { icon, notice, type View } from './ui.ts'

/** The button that opens the history of an edition, and closes it again. */
export function journalButton(door: JournalDoor): TemplateResult {
  return html`<button type="button" id="to-journal" aria-expanded=${door.isOpen ? 'true' : 'false'} @click=${async () => {
    if (door.isOpen) return door.close()
    door.open()
    await Promise.resolve()
    document.getElementById('journal')?.focus()
  }}>${icon('clock')}${say('history')}</button>`
}

/** The history of an edition, as soon as it is there. */
export function journalDoorView(door: JournalDoor, context: JournalContext): View {
  const { isOpen, isMissing, panel } = door
  if (!isOpen) return nothing
  const close = () => {
    door.close()
    document.getElementById('to-journal')?.focus()
  }
  return html`<section class="journal" aria-labelledby="journal" @keydown=${(
    event: KeyboardEvent
  ) => {
    if (event.key === 'Escape') close()
  }}>
    <h2 id="journal" tabindex="-1">${icon('clock')}${say('history')}</h2>
    ${isMissing ? notice('bad', say('partNotLoaded')) : panel ? panel.view(context, close) : html`<p class="quiet">${say('lookingAtHistory')}</p>`}
  </section>`
}
