import { html, nothing, type TemplateResult } from 'lit-html'
import { repeat } from 'lit-html/directives/repeat.js'
import type { LockView } from '../client/src/client.ts'
import type { Field } from './field.ts'
import { tokensOf } from './fields.ts'
import { notes } from './field-view.ts'
import { moved } from './merge.ts'
import type { Item } from './settings.ts'
import { avatar, icon } from './ui.ts'

export interface OrderContext {
  items: Item[]
  titleOf: (item: Item | undefined) => string
  /** Who is at work in an article. */
  locksOf: (item: Item | undefined) => LockView[]
  /** Gives the order another text, in a step that can be taken back. */
  change: (field: Field, text: string, words: string) => void
}

/** The article that is being dragged. */
let dragged: string | undefined

/** A running order: its articles, moved by dragging or with buttons. */
export function orderView (field: Field, context: OrderContext): TemplateResult {
  const { shape: { name, label }, theirs, holder } = field
  const tokens = tokensOf(context.items)
  const order = field.text.split(' ').filter(Boolean)
  return html`
    <section class="order field ${holder ? 'is-locked' : field.isHeld ? 'is-held' : ''}" data-field=${name} aria-labelledby="order-${name}">
      <h2 id="order-${name}">${label}${field.isDirty ? html`<span class="changed" title="Not saved yet"><span class="spoken">, not saved yet</span></span>` : nothing}</h2>
      <div class="notes" tabindex="-1">${notes(field)}</div>
      ${order.length === 0 ? html`<p class="quiet">There are no articles in this edition.</p>` : nothing}
      <ol @focusin=${field.focus} @focusout=${(event: FocusEvent) => left(event, field)}>
        ${repeat(order, (token) => token, (token, index) => row(field, context, tokens.get(token), token, index, order.length))}
      </ol>
      ${theirs === undefined ? nothing : conflict(field, theirs, tokens, context)}
    </section>`
}

function row (field: Field, { titleOf, locksOf, change }: OrderContext, item: Item | undefined, token: string, index: number, length: number): TemplateResult {
  const title = titleOf(item)
  const isLocked = field.holder !== undefined
  async function move (to: number, list: Element, pressed?: string): Promise<void> {
    change(field, moved(field.text, token, to), `${title}: place ${to + 1} of ${length}`)
    await Promise.resolve()
    if (pressed === undefined) return
    // A button that has become useless gives the focus to its twin.
    const buttons = [...list.querySelectorAll<HTMLButtonElement>(`[data-token="${CSS.escape(token)}"] button`)]
    const same = buttons.find((button) => button.dataset['to'] === pressed && button.getAttribute('aria-disabled') === 'false')
    const target = same ?? buttons.find((button) => button.getAttribute('aria-disabled') === 'false')
    target?.focus()
  }
  const button = (to: 'up' | 'down', arrow: string, target: number) => {
    const isUseless = isLocked || target < 0 || target >= length
    return html`<button type="button" class="icon-only" data-to=${to} aria-disabled=${isUseless ? 'true' : 'false'} aria-label="Move ${title} ${to}"
      @click=${(event: Event) => { if (!isUseless) move(target, (event.currentTarget as Element).closest('ol')!, to) }}>${icon(arrow)}</button>`
  }
  return html`
    <li data-token=${token} draggable=${isLocked ? 'false' : 'true'}
      @keydown=${(event: KeyboardEvent) => {
        const step = event.altKey ? { ArrowUp: -1, ArrowDown: 1, Home: -length, End: length }[event.key] : undefined
        if (step === undefined) return
        event.preventDefault()
        const to = Math.max(0, Math.min(length - 1, index + step))
        if (!isLocked && to !== index) move(to, (event.currentTarget as Element).closest('ol')!, (event.target as HTMLElement).dataset['to'] ?? 'up')
      }}
      @dragstart=${(event: DragEvent) => { dragged = token; event.dataTransfer!.effectAllowed = 'move'; event.dataTransfer!.setData('text/plain', title) }}
      @dragover=${(event: DragEvent) => { if (dragged !== undefined && !isLocked) event.preventDefault() }}
      @dragenter=${(event: DragEvent) => { if (dragged !== undefined && dragged !== token) (event.currentTarget as Element).classList.add('is-target') }}
      @dragleave=${(event: DragEvent) => { if (!(event.currentTarget as Element).contains(event.relatedTarget as Node | null)) (event.currentTarget as Element).classList.remove('is-target') }}
      @drop=${(event: DragEvent) => {
        event.preventDefault()
        const list = (event.currentTarget as Element).closest('ol')!
        ;(event.currentTarget as Element).classList.remove('is-target')
        const from = dragged
        dragged = undefined
        if (from === undefined || from === token || isLocked) return
        change(field, moved(field.text, from, index), `Moved to place ${index + 1} of ${length}`)
        list.querySelector<HTMLElement>(`[data-token="${CSS.escape(from)}"] button`)?.focus()
      }}
      @dragend=${() => { dragged = undefined }}>
      <span class="grip">${icon('grip-vertical')}</span><span class="place">${index + 1}</span>
      <span class="title">${title}</span>
      <span class="people">${locksOf(item).map(({ userData }) => avatar(userData))}</span>
      ${button('up', 'arrow-up', index - 1)}${button('down', 'arrow-down', index + 1)}
    </li>`
}

/** The focus goes from one row to the next within the list; a row that moves loses it for a moment. */
function left ({ currentTarget }: FocusEvent, field: Field): void {
  const list = currentTarget as Element
  setTimeout(() => { if (!list.contains(document.activeElement)) field.blur() })
}

/** Both orders beside each other, to choose from. */
function conflict (field: Field, theirs: string, tokens: Map<string, Item>, { titleOf }: OrderContext): TemplateResult {
  const list = (heading: string, order: string, which: 'mine' | 'theirs', choice: string) => html`
    <div><h3>${heading}</h3>
      <ol class="plain">${order.split(' ').filter(Boolean).map((token) => html`<li>${titleOf(tokens.get(token))}</li>`)}</ol>
      <button type="button" @click=${() => field.decide(which)}>${choice}</button></div>`
  return html`<div class="both" role="group" aria-label="Two running orders">
    <p>A colleague has saved another order meanwhile. Which one is to stay?</p>
    ${list('Yours', field.text, 'mine', 'Keep my order')}${list('Your colleague’s', theirs, 'theirs', 'Take the other order')}
  </div>`
}
