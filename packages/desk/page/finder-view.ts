import { html, nothing, type TemplateResult } from 'lit-html'
import { live } from 'lit-html/directives/live.js'
import { repeat } from 'lit-html/directives/repeat.js'
import { editionAddress } from './address.ts'
import { endDrag, startDrag } from './drag.ts'
import { uuidOf, type Finder, type SearchResult } from './finder.ts'
import { isSameArticle } from './operations.ts'
import type { Order } from './order.ts'
import { reasonOf } from './reasons.ts'
import { say, sayWith } from './texts.ts'
import { avatar, icon, notice, picture } from './ui.ts'
import { nameOf } from './words.ts'

/** How many other editions of an article are named. */
const NAMED = 2

export interface FinderContext {
  /** The edition's own id, which is not told of as another edition. */
  id: string
  order: Order
  /** Puts an article into the order. */
  add: (result: SearchResult) => void
}

/**
 * The search for articles: each result is added with its button, with Enter, or by dragging it into
 * the order.
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
      ${finder.lists.length < 2 ? nothing : html`<label>${say('list')}<select @change=${(event: Event) => finder.choose((event.target as HTMLSelectElement).value)}>${finder.lists.map((name) => html`<option .selected=${live(name === finder.list)}>${name}</option>`)}</select></label>`}
      <label class="wide">${say('searchArticles')}<span class="with-icon">${icon('search')}<input id="find" type="search" autocomplete="off" aria-keyshortcuts="/" @focus=${finder.open} @input=${(event: Event) => finder.type((event.target as HTMLInputElement).value)} @keydown=${addFirst}></span></label>
      <label>${say('atPlace')}<input type="number" min="1" max=${places} placeholder=${say('end')} .value=${live(finder.place === undefined ? '' : String(finder.place))} @keydown=${addFirst}
        @input=${(event: Event) => {
          const { valueAsNumber: place } = event.target as HTMLInputElement
          finder.putAt(Number.isNaN(place) ? undefined : place)
        }}></label>
    </div>
    ${finder.failure ? notice('bad', reasonOf(finder.failure)) : nothing}
    ${
      finder.results === undefined
        ? html`<p class="quiet">${say('enterAdds')}</p>`
        : finder.results.length === 0
          ? html`<p class="quiet">${say('noArticlesMatch')}</p>`
          : nothing
    }
    <ul class="found" aria-label=${say('articlesFound')}>${repeat(finder.results ?? [], uuidOf, (result) => resultRow(result, finder, context))}</ul>
  </section>`
}

/** At which place an article stands in the order. */
function placeIn(order: Order, item: SearchResult['item']): number | undefined {
  const index = order.items.findIndex((one) => isSameArticle(one, item))
  return index < 0 ? undefined : index + 1
}

function resultRow(
  result: SearchResult,
  { hasImages, hasSections }: Finder,
  { id, order, add }: FinderContext
): TemplateResult {
  const { item, title, isPublished, image, section, placed, locks } = result
  const place = placeIn(order, item)
  const others = placed.filter((edition) => edition.id !== id && edition.uuid !== id)
  return html`<li draggable=${place === undefined ? 'true' : 'false'} @dragstart=${(event: DragEvent) => startDrag(event, { article: item, title }, title)} @dragend=${endDrag}>
    ${hasImages || image !== undefined ? picture(image) : nothing}
    <div class="what"><b dir="auto">${title}</b>${hasSections ? html`<small class="section" dir="auto">${section}</small>` : nothing}
      <p class="meta">${isPublished === false ? html`<span class="pill">${say('notPublished')}</span>` : nothing}
        ${others.length === 0 ? nothing : html`<span>${sayWith('inEditions', { editions: others.slice(0, NAMED).map(({ id, label }, index) => html`${index > 0 ? ', ' : ''}<a href=${editionAddress(id)} dir="auto">${label}</a>`) })}${others.length > NAMED ? say('andOthers', { count: others.length - NAMED }) : nothing}</span>`}
        ${locks.map(({ userData }) => html`<span class="who">${avatar(userData)} <span>${sayWith('isInIt', { name: html`<bdi>${nameOf(userData)}</bdi>` })}</span></span>`)}</p></div>
    ${
      place === undefined
        ? html`<button type="button" class="small" aria-label=${say('addTitle', { title })} @click=${() => add(result)}>${say('add')}</button>`
        : html`<small class="there">${say('placeNumber', { place })}</small>`
    }
  </li>`
}
