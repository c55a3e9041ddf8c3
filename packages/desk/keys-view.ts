import { html, type TemplateResult } from 'lit-html'

/** What the keys of the desk do, by the keys. */
const KEYS = [
  ['Ctrl+S', 'Save changes'],
  ['Esc', 'in a field: back to what is saved'],
  ['Alt+↑, Alt+↓', 'in the running order: move the article by one place'],
  ['Alt+Home, Alt+End', 'in the running order: move it to the first or last place'],
  ['Delete', 'in the running order: remove the article'],
  ['/', 'outside a text: search for articles to add; Enter adds the first'],
  ['Ctrl+Z, Ctrl+Shift+Z', 'outside a text: undo and redo moves, reverts and discards'],
  ['?', 'outside a text: this list']
] as const

const ID = 'keys'

/** The list of keys, and the button that opens it. */
export function keysView (): TemplateResult {
  return html`
    <button type="button" class="small plain" @click=${showKeys}>Keys</button>
    <dialog id=${ID} aria-labelledby="keys-title">
      <h2 id="keys-title">Keys</h2>
      <dl>${KEYS.map(([keys, what]) => html`<div><dt><kbd>${keys}</kbd></dt><dd>${what}</dd></div>`)}</dl>
      <form method="dialog"><button>Close</button></form>
    </dialog>`
}

export function showKeys (): void {
  (document.getElementById(ID) as HTMLDialogElement).showModal()
}
