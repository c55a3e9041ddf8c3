import { html, nothing, type TemplateResult } from 'lit-html'
import { live } from 'lit-html/directives/live.js'
import { repeat } from 'lit-html/directives/repeat.js'
import type { Named } from '../../client/src/client.ts'
import { criteriaOf, editionAddress, listAddress, newAddress, type Query } from './address.ts'
import { avatar, cover, icon, notice, statusPill } from './ui.ts'
import { PAGE, type EditionList } from './list.ts'
import { languageOf, valueOf, type Edition, type Model } from './settings.ts'
import { reasonOf } from './reasons.ts'
import { figure, say } from './texts.ts'
import { day, duration, nameOf } from './words.ts'

export interface ListContext {
  model: Model
  types: Named[]
  bundles: Named[]
  /**
   * Goes to another list; while the reader types, the address of before stays out of the history.
   */
  go: (query: Query, isTyping?: boolean) => void
}

/** The list of editions, with what it is searched by. */
export function listView(list: EditionList, context: ListContext): TemplateResult {
  const { page, failure, isLoading } = list
  return html`
    <h1 tabindex="-1">${say('editions')}</h1>
    ${filters(list, context)}
    <p class="choices"><a class="button primary" href=${newAddress()}>${icon('plus')}${say('newEdition')}</a><a class="button" href=${newAddress('latest')}>${icon('copy')}${say('duplicateLatest')}</a></p>
    ${failure ? notice('bad', reasonOf(failure), html`<button type="button" @click=${() => list.show(list.query)}>${say('tryAgain')}</button>`) : nothing}
    ${page?.age === undefined ? nothing : notice('warn', say('cmsAwayList', { duration: duration(page.age) }))}
    ${page && list.editions.length === 0 && !isLoading ? html`<p class="empty">${say('noEditionsMatch')} <a href="#/">${say('showAll')}</a></p>` : nothing}
    <ul class="editions" @pointermove=${list.use} @keydown=${list.use} aria-label=${say('editionsFound')} aria-busy=${isLoading ? 'true' : 'false'}>
      ${repeat(list.editions, list.idOf, (edition) => row(edition, list, context.model))}
    </ul>
    ${page ? pages(list) : html`<p class="loading">${say('lookingForEditions')}</p>`}`
}

function filters(
  { query }: EditionList,
  { types, bundles, model, go }: ListContext
): TemplateResult {
  const onType = (name: 'q' | 'key') => (event: Event) =>
    go({ ...query, [name]: (event.target as HTMLInputElement).value.trim(), offset: 0 }, true)
  const onChoose = (name: 'bundle' | 'type' | 'status') => (event: Event) =>
    go({ ...query, [name]: (event.target as HTMLSelectElement).value, offset: 0 })
  const select = (name: 'bundle' | 'type' | 'status', label: string, choices: Named[]) => html`
    <label>${label}<select @change=${onChoose(name)}>
      <option value="" .selected=${live(query[name] === '')}>${say('all')}</option>
      ${choices.map(({ id, label }) => html`<option value=${id} .selected=${live(query[name] === id)}>${label}</option>`)}
    </select></label>`
  const criteria = criteriaOf(model)
  return html`
    <form role="search" aria-label=${say('editions')} @submit=${(event: Event) => event.preventDefault()}>
      ${criteria.includes('q') ? html`<label class="wide">${say('searchTitles')}<span class="with-icon">${icon('search')}<input type="search" autocomplete="off" value=${query.q} @input=${onType('q')}></span></label>` : nothing}
      ${criteria.includes('bundle') && bundles.length > 1 ? select('bundle', say('bundle'), bundles) : nothing}
      ${criteria.includes('type') ? select('type', say('type'), types) : nothing}
      ${
        criteria.includes('status')
          ? select('status', say('status'), [
              { id: '1', label: say('published') },
              { id: '0', label: say('notPublished') }
            ])
          : nothing
      }
      ${criteria.includes('key') ? html`<label>${say('key')}<input type="text" autocomplete="off" spellcheck="false" value=${query.key} placeholder=${say('exact')} @input=${onType('key')}></label>` : nothing}
    </form>`
}

function row(edition: Edition, list: EditionList, model: Model): TemplateResult {
  const { keys, fields } = model
  const id = list.idOf(edition)
  const people = list.atWork(edition)
  const articles = fields.articles.reduce((sum, name) => sum + (edition[name]?.length ?? 0), 0)
  const date = Object.values(edition)
    .flatMap((items) => items ?? [])
    .map(({ value }) => String(value))
    .find((value) => /^\d{4}-\d\d-\d\d$/.test(value))
  return html`
    <li data-id=${id}>
      ${cover(edition, model, 'small')}
      <div class="what"><a href=${editionAddress(id)} dir="auto" lang=${languageOf(edition, model) ?? nothing}>${valueOf(edition, keys.label) || say('editionNamed', { id })}</a>
        <p class="meta"><span class="kind">${valueOf(edition, fields.editionType ?? keys.bundle)}</span><code>${valueOf(edition, fields.key)}</code><span>${say('articleCount', { count: articles })}</span></p></div>
      <div class="when">${date ? html`<b>${day(date)}</b>` : nothing}${keys.changed === null ? nothing : html`<small>${say('savedOn', { day: day(valueOf(edition, keys.changed)) })}</small>`}</div>
      ${statusPill(edition, model)}
      <span class="people">${people.length === 0 ? nothing : html`<span class="spoken">${say('atWorkNames', { names: people.map(({ userData }) => nameOf(userData)).join(', ') })}</span>${people.map(({ userData }) => avatar(userData))}`}</span>
    </li>`
}

function pages({ page, query, total }: EditionList): TemplateResult {
  const { editions, offset, hasMore } = page!
  const range =
    editions.length === 0 ? '' : `${figure(offset + 1)}–${figure(offset + editions.length)}`
  const link = (to: number, label: string, symbol: string, isThere: boolean) =>
    isThere
      ? html`<a class="button" href=${listAddress({ ...query, offset: Math.max(0, to) })}>${icon(symbol)}${label}</a>`
      : html`<span class="button is-off" aria-hidden="true">${icon(symbol)}${label}</span>`
  return html`
    <nav class="pages" aria-label=${say('pages')}>
      ${link(offset - PAGE, say('previousPage'), 'chevron-left', offset > 0)}
      <p>${total === null ? range : editions.length === 0 ? say('editionCount', { count: total }) : say('rangeOf', { range, editions: say('editionCount', { count: total }) })}</p>
      ${link(offset + PAGE, say('nextPage'), 'chevron-right', hasMore)}
    </nav>`
}
