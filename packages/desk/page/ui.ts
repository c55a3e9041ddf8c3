import { html, nothing, type TemplateResult } from 'lit-html'
import { isPublished, valueOf, type Edition, type Model } from './settings.ts'
import { say } from './texts.ts'
import { agentIn, initials, nameOf, toneOf, type Somebody } from './words.ts'

export type View = TemplateResult | typeof nothing

export function icon(name: string): TemplateResult {
  return html`<svg class="icon" aria-hidden="true" focusable="false"><use href="#icon-${name}"></use></svg>`
}

/**
 * Somebody's initials in a colour of their own, those of an agent in a square; the name is for those
 * who hear the page.
 */
export function avatar(somebody: Somebody): TemplateResult {
  return html`<span class="avatar tone-${toneOf(somebody)} ${agentIn(somebody) === undefined ? '' : 'is-agent'}" role="img" aria-label=${nameOf(somebody)} title=${nameOf(somebody)}>${initials(somebody)}</span>`
}

/** A message that has to be seen; `bad` ones are told at once. */
export function notice(
  tone: 'good' | 'bad' | 'warn',
  text: unknown,
  more: View = nothing
): TemplateResult {
  return html`<div class="notice is-${tone}" role=${tone === 'bad' ? 'alert' : 'note'}>${icon(tone === 'good' ? 'check' : 'triangle-alert')}<p>${text}</p>${more}</div>`
}

/** Whether an edition is published; nothing where editions have no status. */
export function statusPill(edition: Edition, model: Model): View {
  const isOn = isPublished(edition, model)
  return isOn === undefined
    ? nothing
    : html`<span class="pill ${isOn ? 'is-on' : ''}">${say(isOn ? 'published' : 'notPublished')}</span>`
}

/** The image of an article, in a box of one size that is empty where there is none. */
export function picture(url: string | undefined): TemplateResult {
  return html`<span class="picture">${url === undefined ? nothing : html`<img src=${url} alt="" width="40" height="40" loading="lazy" decoding="async" draggable="false" referrerpolicy="no-referrer" @error=${(event: Event) => (event.target as Element).classList.add('is-missing')}>`}</span>`
}

/**
 * An edition's cover: the first picture that it refers to, or where it has none its title on plain
 * paper.
 */
export function cover(
  edition: Edition,
  { keys: { label } }: Model,
  size: 'small' | 'large'
): TemplateResult {
  const image = Object.values(edition)
    .flatMap((items) => items ?? [])
    .find((item) => 'alt' in item && typeof item['url'] === 'string')
  const title = valueOf(edition, label)
  return html`<span class="cover is-${size}" aria-hidden="true"><span>${title}</span>${
    image
      ? html`<img src=${String(image['url'])} alt="" loading="lazy" decoding="async" referrerpolicy="no-referrer" @error=${(event: Event) => (event.target as Element).classList.add('is-missing')}>`
      : ''
  }</span>`
}
