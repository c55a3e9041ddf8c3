import { html, nothing, type TemplateResult } from 'lit-html'
import { live } from 'lit-html/directives/live.js'
import { repeat } from 'lit-html/directives/repeat.js'
import { editionAddress } from './address.ts'
import { startDrag } from './drag.ts'
import { uuidOf, type Filters, type Finder, type SearchResult } from './finder.ts'
import { isSameArticle } from './operations.ts'
import type { Order } from './order.ts'
import { reasonOf } from './reasons.ts'
import { say, sayWith } from './texts.ts'
import { sayHere } from './texts-finder.ts'
import { avatar, icon, notice, picture, type View } from './ui.ts'
import { nameOf } from './words.ts'

/** How many other editions of an article are named. */
const NAMED = 2

export interface FinderContext {
  /** The edition's own id, which is not told of as another edition. */
  id: string
  order: Order
  /** Puts articles into the order. */
  add: (...results: SearchResult[]) => void
}

/**
 * The articles that an edition can be filled from, the newest first: each result is added with its
 * button, with Enter, or by dragging it into the order; several that are selected, together.
 */
export function finderView(finder: Finder, context: FinderContext): TemplateResult {
  const { order, add } = context
  const places = order.items.length + 1
  /** Adds the first of those that were found by what is typed now, and is not in the edition. */
  async function addFirst(event: KeyboardEvent): Promise<void> {
    if (event.key !== 'Enter' || event.isComposing) return
    event.preventDefault()
    await finder.answered
    const first = finder.results?.find(({ item }) => placeIn(order, item) === undefined)
    if (first && !finder.failure) add(first)
  }
  return html`<section aria-labelledby="finder" class="finder">
    <h2 id="finder">${icon('plus')}${say('addArticles')}</h2>
    <div class="ask">
      ${finder.lists.length < 2 ? nothing : html`<label class="wide">${sayHere('list')}<select @change=${(event: Event) => finder.choose((event.target as HTMLSelectElement).value)}>${finder.lists.map((name) => html`<option .selected=${live(name === finder.list)}>${name}</option>`)}</select></label>`}
      <label class="wide">${say('searchArticles')}<span class="with-icon">${icon('search')}<input id="find" type="search" autocomplete="off" aria-keyshortcuts="/" @focus=${finder.open} @input=${(event: Event) => finder.type((event.target as HTMLInputElement).value)} @keydown=${addFirst}></span></label>
      <label>${sayHere('atPlace')}<input type="number" min="1" max=${places} placeholder=${sayHere('end')} .value=${live(finder.place === undefined ? '' : String(finder.place))} @keydown=${addFirst}
        @input=${(event: Event) => {
          const { valueAsNumber: place } = event.target as HTMLInputElement
          finder.putAt(Number.isNaN(place) ? undefined : place)
        }}></label>
    </div>
    ${filtersView(finder)}
    ${finder.failure ? notice('bad', reasonOf(finder.failure)) : nothing}
    ${emptyView(finder)}
    ${selectionView(finder, add)}
    <ul class="found" aria-label=${sayHere('articlesFound')}>${repeat(finder.results ?? [], uuidOf, (result) => resultRow(result, finder, context))}</ul>
    ${finder.hasMore ? html`<button type="button" class="small" aria-disabled=${finder.isReading ? 'true' : 'false'} @click=${finder.more}>${sayHere(finder.isReading ? 'readingMore' : 'more')}</button>` : nothing}
  </section>`
}

function emptyView({ results, hasMore }: Finder): View {
  if (results === undefined) return html`<p class="quiet">${sayHere('enterAdds')}</p>`
  if (results.length > 0) return nothing
  return html`<p class="quiet">${sayHere(hasMore ? 'noneOfThese' : 'noArticlesMatch')}</p>`
}

/** What the articles can be narrowed by; what nobody can tell of this site is said. */
function filtersView(finder: Finder): TemplateResult {
  const { filters, can, narrow } = finder
  const count = Object.values(filters).filter(Boolean).length
  const on = (name: keyof Filters) => (event: Event) =>
    narrow({ [name]: (event.target as HTMLInputElement).value })
  return html`<details class="filters" @toggle=${(event: Event) => {
    if ((event.target as HTMLDetailsElement).open) finder.askSections()
  }}>
    <summary>${count === 0 ? sayHere('filters') : sayHere('filtersOn', { count })}</summary>
    <div class="ask">
      ${can.section ? sectionView(finder, on('section')) : nothing}
      ${
        can.status
          ? html`<label>${sayHere('status')}<select @change=${on('status')}>${(['', '1', '0'] as const).map((status) => html`<option value=${status} .selected=${live(status === filters.status)}>${status === '' ? sayHere('anyStatus') : say(status === '1' ? 'published' : 'notPublished')}</option>`)}</select></label>`
          : nothing
      }
      ${can.since ? html`<label>${sayHere('changedSince')}<input type="date" .value=${live(filters.since)} @change=${on('since')}></label>` : nothing}
    </div>
    ${
      can.unplaced
        ? html`<label class="check"><input type="checkbox" .checked=${live(filters.unplaced)} @change=${(event: Event) => narrow({ unplaced: (event.target as HTMLInputElement).checked })}>${sayHere('notPlaced')}</label>`
        : html`<p class="quiet" role="note">${sayHere('cannotTellPlaced')}</p>`
    }
  </details>`
}

function sectionView(finder: Finder, onChange: (event: Event) => void): TemplateResult {
  const { sections, filters } = finder
  const note = sectionsNote(finder)
  return html`<label class="wide">${sayHere('section')}<select @change=${onChange}>
      <option value="" .selected=${live(filters.section === '')}>${sayHere('anySection')}</option>
      ${(sections ?? []).map(({ id, label }) => html`<option value=${id} .selected=${live(id === filters.section)}>${label}</option>`)}
    </select>${note === undefined ? nothing : html`<small>${sayHere(note)}</small>`}</label>`
}

/** What is to be said of sections that are not all there. */
function sectionsNote({ sections, areSectionsComplete }: Finder) {
  if (areSectionsComplete) return undefined
  if (sections === undefined) return 'sectionsMissing'
  return sections.length === 0 ? 'noSections' : 'sectionsPartly'
}

/** What can be done with the articles that are selected. */
function selectionView(finder: Finder, add: FinderContext['add']): View {
  const count = finder.selected.length
  if (count === 0) return nothing
  return html`<p class="choices">
    <button type="button" class="small primary" @click=${() => add(...finder.selected)}>${icon('plus')}${sayHere('addSelected', { count })}</button>
    <button type="button" class="small plain" @click=${() => finder.unselect()}>${sayHere('unselect')}</button>
  </p>`
}

/** At which place an article stands in the order. */
function placeIn(order: Order, item: SearchResult['item']): number | undefined {
  const index = order.items.findIndex((one) => isSameArticle(one, item))
  return index < 0 ? undefined : index + 1
}

function resultRow(
  result: SearchResult,
  finder: Finder,
  { id, order, add }: FinderContext
): TemplateResult {
  const { hasImages, hasSections } = finder
  const { item, title, isPublished, image, section, placed, locks } = result
  const place = placeIn(order, item)
  const others = placed.filter((edition) => edition.id !== id && edition.uuid !== id)
  const isSelected = finder.isSelected(result)
  const classes = [isSelected && 'is-selected', place === undefined && 'is-movable']
  return html`<li class=${classes.filter(Boolean).join(' ')} @dragstart=${(event: Event) => event.preventDefault()} @pointerdown=${(
    event: PointerEvent
  ) => {
    if (place === undefined) startDrag(event, { articles: finder.taken(result) }, title)
  }}>
    ${place === undefined ? html`<input type="checkbox" aria-label=${sayHere('select', { title })} .checked=${live(isSelected)} @click=${(event: MouseEvent) => finder.select(result, (event.target as HTMLInputElement).checked, event.shiftKey)}>` : nothing}
    ${hasImages || image !== undefined ? picture(image) : nothing}
    <div class="what"><b dir="auto">${title}</b>${hasSections ? html`<small class="section" dir="auto">${section}</small>` : nothing}
      <p class="meta">${isPublished === false ? html`<span class="pill">${say('notPublished')}</span>` : nothing}
        ${others.length === 0 ? nothing : html`<span>${sayWith('inEditions', { editions: others.slice(0, NAMED).map(({ id, label }, index) => html`${index > 0 ? ', ' : ''}<a href=${editionAddress(id)} dir="auto">${label}</a>`) })}${others.length > NAMED ? say('andOthers', { count: others.length - NAMED }) : nothing}</span>`}
        ${locks.map(({ userData }) => html`<span class="who">${avatar(userData)} <span>${sayWith('isInIt', { name: html`<bdi>${nameOf(userData)}</bdi>` })}</span></span>`)}</p></div>
    ${
      place === undefined
        ? html`<button type="button" class="small" aria-label=${sayHere('addTitle', { title })} @click=${() => add(result)}>${sayHere('add')}</button>`
        : html`<small class="there">${sayHere('placeNumber', { place })}</small>`
    }
  </li>`
}
