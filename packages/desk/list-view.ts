import { html, nothing, type TemplateResult } from 'lit-html'
import { live } from 'lit-html/directives/live.js'
import { repeat } from 'lit-html/directives/repeat.js'
import type { Named } from '../client/src/client.ts'
import { criteriaOf, editionAddress, listAddress, newAddress, type Query } from './address.ts'
import { avatar, cover, icon, notice, statusPill } from './ui.ts'
import { PAGE, type List } from './list.ts'
import { valueOf, type Edition, type Model } from './settings.ts'
import { count, day, duration, nameOf } from './words.ts'

export interface ListContext {
  model: Model
  types: Named[]
  /** Goes to another list; `typing` keeps the address of before out of the history. */
  go: (query: Query, typing?: boolean) => void
}

/** The list of editions, with what it is searched by. */
export function listView (list: List, context: ListContext): TemplateResult {
  const { page, failure, isLoading } = list
  return html`
    <h1 tabindex="-1">Editions</h1>
    ${filters(list, context)}
    <p class="choices"><a class="button primary" href=${newAddress()}>${icon('plus')}New edition</a><a class="button" href=${newAddress('latest')}>${icon('copy')}Duplicate yesterday’s</a></p>
    ${failure ? notice('bad', failure.message, html`<button type="button" @click=${() => list.show(list.query)}>Try again</button>`) : nothing}
    ${page?.age === undefined ? nothing : notice('warn', `The CMS does not answer. This is the list as it was ${duration(page.age)} ago.`)}
    ${page && list.editions.length === 0 && !isLoading ? html`<p class="empty">No editions match. <a href="#/">Show all</a></p>` : nothing}
    <ul class="editions" aria-label="Editions found" aria-busy=${isLoading ? 'true' : 'false'}>
      ${repeat(list.editions, list.idOf, (edition) => row(edition, list, context.model))}
    </ul>
    ${page ? pages(list) : html`<p class="loading">Looking for editions</p>`}`
}

function filters ({ query, bundles }: List, { types, model, go }: ListContext): TemplateResult {
  const typed = (name: 'q' | 'key') => (event: Event) => go({ ...query, [name]: (event.target as HTMLInputElement).value.trim(), offset: 0 }, true)
  const chosen = (name: 'bundle' | 'type' | 'status') => (event: Event) => go({ ...query, [name]: (event.target as HTMLSelectElement).value, offset: 0 })
  const select = (name: 'bundle' | 'type' | 'status', label: string, choices: Named[]) => html`
    <label>${label}<select @change=${chosen(name)}>
      <option value="" .selected=${live(query[name] === '')}>All</option>
      ${choices.map(({ id, label }) => html`<option value=${id} .selected=${live(query[name] === id)}>${label}</option>`)}
    </select></label>`
  const criteria = criteriaOf(model)
  return html`
    <form role="search" aria-label="Editions" @submit=${(event: Event) => event.preventDefault()}>
      ${criteria.includes('q') ? html`<label class="wide">Search titles<span class="with-icon">${icon('search')}<input type="search" autocomplete="off" value=${query.q} @input=${typed('q')}></span></label>` : nothing}
      ${criteria.includes('bundle') && bundles.length > 1 ? select('bundle', 'Bundle', bundles) : nothing}
      ${criteria.includes('type') ? select('type', 'Type', types) : nothing}
      ${criteria.includes('status') ? select('status', 'Status', [{ id: '1', label: 'Published' }, { id: '0', label: 'Not published' }]) : nothing}
      ${criteria.includes('key') ? html`<label>Key<input type="text" autocomplete="off" spellcheck="false" value=${query.key} placeholder="exact" @input=${typed('key')}></label>` : nothing}
    </form>`
}

function row (edition: Edition, list: List, model: Model): TemplateResult {
  const { keys, fields } = model
  const id = list.idOf(edition)
  const people = list.atWork(id)
  const articles = fields.articles.reduce((sum, name) => sum + (edition[name]?.length ?? 0), 0)
  const date = Object.values(edition).flatMap((items) => items ?? []).map(({ value }) => String(value)).find((value) => /^\d{4}-\d\d-\d\d$/.test(value))
  return html`
    <li data-id=${id}>
      ${cover(edition, model, 'small')}
      <div class="what"><a href=${editionAddress(id)}>${valueOf(edition, keys.label) || `Edition ${id}`}</a>
        <p class="meta"><span class="kind">${valueOf(edition, fields.editionType ?? keys.bundle)}</span><code>${valueOf(edition, fields.key)}</code><span>${count(articles, 'article')}</span></p></div>
      <div class="when">${date ? html`<b>${day(date)}</b>` : nothing}${keys.changed === null ? nothing : html`<small>saved ${day(valueOf(edition, keys.changed))}</small>`}</div>
      ${statusPill(edition, model)}
      <span class="people">${people.length === 0 ? nothing : html`<span class="spoken">${people.map(({ userData }) => nameOf(userData)).join(', ')} at work</span>${people.map(({ userData }) => avatar(userData))}`}</span>
    </li>`
}

function pages ({ page, query, total }: List): TemplateResult {
  const { editions, offset, hasMore } = page!
  const range = editions.length === 0 ? '' : `${(offset + 1).toLocaleString('en-GB')}–${(offset + editions.length).toLocaleString('en-GB')}`
  const link = (to: number, label: string, symbol: string, isThere: boolean) => isThere
    ? html`<a class="button" href=${listAddress({ ...query, offset: Math.max(0, to) })}>${icon(symbol)}${label}</a>`
    : html`<span class="button is-off" aria-hidden="true">${icon(symbol)}${label}</span>`
  return html`
    <nav class="pages" aria-label="Pages">
      ${link(offset - PAGE, 'Previous page', 'chevron-left', offset > 0)}
      <p>${range}${total === null ? '' : editions.length === 0 ? count(total, 'edition') : ` of ${count(total, 'edition')}`}</p>
      ${link(offset + PAGE, 'Next page', 'chevron-right', hasMore)}
    </nav>`
}
