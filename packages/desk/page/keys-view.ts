import { html, type TemplateResult } from 'lit-html'
import { say } from './texts.ts'

/** What the keys of the desk do, by the keys. */
const KEYS = [
  ['Ctrl+S', 'keysSave'],
  ['Alt+↑, Alt+↓', 'keysStep'],
  ['Alt+Home, Alt+End', 'keysEnds'],
  ['1 … 9', 'keysPlace'],
  ['Delete', 'keysRemove'],
  ['/', 'keysFind'],
  ['Ctrl+Z, Ctrl+Shift+Z', 'keysUndo'],
  ['?', 'keysList']
] as const

const ID = 'keys'

/** The list of keys, and the button that opens it. */
export function keysView(): TemplateResult {
  return html`
    <button type="button" class="small plain" @click=${showKeys}>${say('keys')}</button>
    <dialog id=${ID} aria-labelledby="keys-title">
      <h2 id="keys-title">${say('keys')}</h2>
      <dl>${KEYS.map(([keys, what]) => html`<div><dt><kbd>${keys}</kbd></dt><dd>${say(what)}</dd></div>`)}</dl>
      <form method="dialog"><button>${say('close')}</button></form>
    </dialog>`
}

export function showKeys(): void {
  ;(document.getElementById(ID) as HTMLDialogElement).showModal()
}
