import { html, type TemplateResult } from 'lit-html'
import { sayHere } from './texts-keys.ts'

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

/** The list of what the keys do. */
export function keysList(): TemplateResult {
  return html`<dl>${KEYS.map(([keys, what]) => html`<div><dt><kbd>${keys}</kbd></dt><dd>${sayHere(what)}</dd></div>`)}</dl>`
}
