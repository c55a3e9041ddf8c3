import { html, render, type TemplateResult } from 'lit-html'
import { say } from './texts.ts'

const ID = 'keys'

/** The list of keys, and the button that opens it. */
export function keysView(): TemplateResult {
  return html`
    <button type="button" class="small plain" @click=${showKeys}>${say('keys')}</button>
    <dialog id=${ID} aria-labelledby="keys-title">
      <h2 id="keys-title">${say('keys')}</h2>
      <div></div>
      <form method="dialog"><button>${say('close')}</button></form>
    </dialog>`
}

/** Shows the list, whose script comes when it is opened first. */
export async function showKeys(): Promise<void> {
  const dialog = document.getElementById(ID) as HTMLDialogElement
  const place = dialog.querySelector('div')!
  const part = await import('./keys-list-view.ts').catch(() => undefined)
  render(part ? part.keysList() : say('partNotLoaded'), place)
  if (!dialog.open) dialog.showModal()
}
