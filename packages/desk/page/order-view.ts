import { html, nothing, type TemplateResult } from 'lit-html'
import { guard } from 'lit-html/directives/guard.js'
import { repeat } from 'lit-html/directives/repeat.js'
import { startDrag } from './drag.ts'
import type { Field } from './field.ts'
import { tokensOf } from './fields.ts'
import { notes } from './field-view.ts'
import { treeOf } from './focus.ts'
import { indexOfGap } from './operations.ts'
import type { Drop, NewArticle, Order } from './order.ts'
import type { Item } from './settings.ts'
import { say, sayWith } from './texts.ts'
import { avatar, icon, picture } from './ui.ts'
import type { Somebody } from './words.ts'

export interface OrderContext {
  titleOf: (item: Item | undefined) => string
  /** Whether an article is published; undefined where that is not known. */
  isPublished: (item: Item) => boolean | undefined
  /** Whether articles have images, and sections; then each row has a place for one. */
  hasImages: boolean
  hasSections: boolean
  imageOf: (item: Item) => string | undefined
  sectionOf: (item: Item) => string | undefined
  /** Where an article is in Drupal. */
  addressOf: (item: Item) => string | undefined
  /** Who is at work in an article. */
  peopleAt: (item: Item) => Somebody[]
  /** Who else has just moved an article. */
  moverOf: (item: Item) => string | undefined
  /** Moves articles, one behind the other, to an index among the others. */
  move: (tokens: string[], to: number) => void
  remove: (tokens: string[]) => void
  /** To be called when there is something new to see. */
  onChange: () => void
  /** Inserts articles that were dragged here from a search. */
  insert: (articles: NewArticle[], index: number) => void
}

/** The article of each order whose new place is being typed, and what is typed first. */
const placed = new WeakMap<Order, { token: string; digit: string }>()

/** A running order: its articles, moved by dragging, with buttons or with keys. */
export function orderView(field: Field, order: Order, context: OrderContext): TemplateResult {
  const {
    shape: { name, label },
    holder
  } = field
  const rows = [...tokensOf(order.items)]
  return html`
    <section class="order field ${holder ? 'is-locked' : ''}" data-field=${name} aria-labelledby="order-${name}" @articles-drop=${(event: CustomEvent<Drop>) => drop(event, field, order, context)}>
      <h2 id="order-${name}">${label}<small class="state">${order.isAway ? say('orderAway') : order.isSaving ? say('savingOrder') : nothing}</small></h2>
      <div class="notes" tabindex="-1">${notes(field)}</div>
      <ol @dragstart=${(event: Event) => event.preventDefault()} @focusin=${field.focus} @focusout=${(event: FocusEvent) => left(event, field)}>
        ${repeat(
          rows,
          ([token]) => token,
          ([token, item], index) => {
            const state = stateOf(field, order, context, item, token, index, rows.length)
            return guard(Object.values(state), () => row(field, order, context, state))
          }
        )}
      </ol>
      ${
        rows.length > 0
          ? nothing
          : html`<p class="invitation">${sayWith('noArticlesYet', {
              link: html`<a href="#find" @click=${(event: Event) => {
                event.preventDefault()
                goToFinder(event.currentTarget as Element)
              }}>${say('findFirst')}</a>`
            })}</p>`
      }
    </section>`
}

/** All that a row shows: while nothing of it changes, the row is not rendered again. */
interface RowState {
  token: string
  index: number
  length: number
  title: string
  address: string | undefined
  isUnpublished: boolean
  image: string | undefined
  section: string | undefined
  isLocked: boolean
  /** The first digit of a new place, while one is being typed. */
  digit: string | undefined
  mover: string | undefined
  /** Who is at work in it, as JSON. */
  people: string
}

function stateOf(
  { holder }: Field,
  order: Order,
  context: OrderContext,
  item: Item,
  token: string,
  index: number,
  length: number
): RowState {
  const place = placed.get(order)
  return {
    token,
    index,
    length,
    title: context.titleOf(item),
    address: context.addressOf(item),
    isUnpublished: context.isPublished(item) === false,
    image: context.imageOf(item),
    section: context.sectionOf(item),
    isLocked: holder !== undefined,
    digit: place?.token === token ? place.digit : undefined,
    mover: context.moverOf(item),
    people: JSON.stringify(context.peopleAt(item))
  }
}

/** Puts the focus into the search for articles. @param from a node of the tree that has it */
export function goToFinder(from: Node = document): void {
  treeOf(from).getElementById('find')?.focus()
}

function row(
  field: Field,
  order: Order,
  { hasImages, hasSections, ...context }: OrderContext,
  state: RowState
): TemplateResult {
  const { token, index, length, title, address, isLocked, digit } = state
  const people = JSON.parse(state.people) as Somebody[]
  /** While something is pressed or dragged, the order may change without being shown. */
  function indexNow(): number {
    const now = [...tokensOf(order.items).keys()].indexOf(token)
    return now < 0 ? index : now
  }
  async function move(to: number, list: Element, direction: string): Promise<void> {
    context.move([token], to)
    await Promise.resolve()
    // A button that has become useless gives the focus to its twin.
    const buttons = [
      ...list.querySelectorAll<HTMLButtonElement>(
        `[data-token="${CSS.escape(token)}"] button[data-to]`
      )
    ]
    const same = buttons.find(
      (button) =>
        button.dataset['to'] === direction && button.getAttribute('aria-disabled') === 'false'
    )
    const target =
      same ?? buttons.find((button) => button.getAttribute('aria-disabled') === 'false')
    target?.focus()
  }
  async function remove(list: Element): Promise<void> {
    context.remove([token])
    await Promise.resolve()
    const buttons = list.querySelectorAll<HTMLElement>('button.remove')
    const target = buttons[Math.min(index, buttons.length - 1)]
    if (target) target.focus()
    else goToFinder(list)
  }
  async function askPlace(row: Element, digit = ''): Promise<void> {
    placed.set(order, { token, digit })
    context.onChange()
    await Promise.resolve()
    const input = row.querySelector<HTMLInputElement>('input.place')
    input?.focus()
    input?.setSelectionRange(digit.length, input.value.length)
  }
  function endPlace(): void {
    placed.delete(order)
    context.onChange()
  }
  function placeTyped(event: KeyboardEvent): void {
    if (event.key !== 'Enter' && event.key !== 'Escape') return
    event.preventDefault()
    event.stopPropagation()
    const input = event.target as HTMLInputElement
    const [to, list] = [Math.min(length, Number.parseInt(input.value, 10)) - 1, listOf(event)]
    endPlace()
    if (event.key === 'Enter' && to >= 0 && to !== index) move(to, list, to < index ? 'up' : 'down')
    else {
      queueMicrotask(() =>
        list.querySelector<HTMLElement>(`[data-token="${CSS.escape(token)}"] button.place`)?.focus()
      )
    }
  }
  // What moves loses the focus for a moment.
  const placeLeft = ({ currentTarget }: Event) =>
    setTimeout(() => {
      if (
        treeOf(currentTarget as Element).activeElement !== currentTarget &&
        placed.get(order)?.token === token
      ) {
        endPlace()
      }
    })
  const listOf = (event: Event) => (event.currentTarget as Element).closest('ol')!
  const button = (to: 'up' | 'down', arrow: string, step: number) => {
    const isUseless = isLocked || index + step < 0 || index + step >= length
    return html`<button type="button" class="icon-only" data-to=${to} aria-disabled=${isUseless ? 'true' : 'false'} aria-label=${say(to === 'up' ? 'moveUp' : 'moveDown', { title })}
      @click=${(event: Event) => {
        if (!isUseless) move(indexNow() + step, listOf(event), to)
      }}>${icon(arrow)}</button>`
  }
  return html`
    <li class=${state.mover === undefined ? '' : 'is-moved'} data-token=${token}
      @keydown=${(event: KeyboardEvent) => {
        const isTyping = (event.target as Element).matches('input')
        if (event.key === 'Delete' && !isLocked && !isTyping) return remove(listOf(event))
        if (
          /^[1-9]$/.test(event.key) &&
          !isLocked &&
          !isTyping &&
          !event.ctrlKey &&
          !event.metaKey &&
          !event.altKey
        ) {
          event.preventDefault()
          return askPlace(event.currentTarget as Element, event.key)
        }
        const step = event.altKey
          ? { ArrowUp: -1, ArrowDown: 1, Home: -length, End: length }[event.key]
          : undefined
        if (step === undefined) return
        event.preventDefault()
        const to = Math.max(0, Math.min(length - 1, index + step))
        if (!isLocked && to !== index) {
          move(to, listOf(event), (event.target as HTMLElement).dataset['to'] ?? 'up')
        }
      }}
      @pointerdown=${(event: PointerEvent) => {
        if (!isLocked) startDrag(event, { order: field.shape.name, tokens: [token] }, title)
      }}>
      <span class="grip">${icon('grip-vertical')}</span>${
        digit !== undefined
          ? html`<input class="place" type="text" inputmode="numeric" autocomplete="off" value=${digit || String(index + 1)} aria-label=${say('newPlace', { title })} @keydown=${placeTyped} @blur=${placeLeft}>`
          : html`<button type="button" class="place" aria-disabled=${isLocked ? 'true' : 'false'} aria-label=${say('moveToPlace', { place: index + 1, title })} @click=${(
              event: Event
            ) => {
              if (!isLocked) askPlace((event.currentTarget as Element).closest('li')!)
            }}>${index + 1}</button>`
      }
      ${hasImages ? picture(state.image) : nothing}
      <span class="what"><span class="title" dir="auto">${address === undefined ? title : html`<a href=${address} target="_blank" rel="noopener" draggable="false" title=${say('openInDrupal')}>${title}</a>`}</span>${hasSections ? html`<small class="section" dir="auto">${state.section}</small>` : nothing}</span>
      ${state.isUnpublished ? html`<span class="pill">${say('notPublished')}</span>` : nothing}
      ${state.mover === undefined ? nothing : html`<small class="mover" aria-hidden="true" dir="auto">${state.mover}</small>`}<span class="people">${people.length === 0 ? nothing : html`<span class="spoken">${say('atWorkHere')}</span>${people.map(avatar)}`}</span>
      ${button('up', 'arrow-up', -1)}${button('down', 'arrow-down', 1)}<button type="button" class="icon-only remove" aria-disabled=${isLocked ? 'true' : 'false'} aria-label=${say('removeTitle', { title })}
        @click=${(event: Event) => {
          if (!isLocked) remove(listOf(event))
        }}>${icon('x')}</button>
    </li>`
}

/**
 * Puts what was dropped between the rows that it was seen between, whatever others have done since.
 */
function drop(
  { currentTarget, detail: { content, gap } }: CustomEvent<Drop>,
  field: Field,
  order: Order,
  { move, insert }: Pick<OrderContext, 'move' | 'insert'>
): void {
  if (field.holder) return
  const moved = 'tokens' in content ? content.tokens : []
  const others = [...tokensOf(order.items).keys()].filter((token) => !moved.includes(token))
  const index = indexOfGap(others, gap)
  if (!('tokens' in content)) return insert(content.articles, index)
  move(content.tokens, index)
  ;(currentTarget as Element)
    .querySelector<HTMLElement>(`[data-token="${CSS.escape(content.tokens[0]!)}"] button[data-to]`)
    ?.focus()
}

/**
 * The focus goes from one row to the next within the list; a row that moves loses it for a moment.
 */
function left({ currentTarget }: FocusEvent, field: Field): void {
  const list = currentTarget as Element
  setTimeout(() => {
    if (!list.contains(treeOf(list).activeElement)) field.blur()
  })
}
