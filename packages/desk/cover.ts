import { html, type TemplateResult } from 'lit-html'
import { valueOf, type Edition, type Model } from './settings.ts'

/** An edition's cover: the first picture that it refers to, or where it has none its title on plain paper. */
export function cover (edition: Edition, { keys: { label } }: Model, size: 'small' | 'large'): TemplateResult {
  const image = Object.values(edition).flatMap((items) => items ?? []).find((item) => 'alt' in item && typeof item['url'] === 'string')
  const title = valueOf(edition, label)
  return html`<span class="cover is-${size}" aria-hidden="true"><span>${title}</span>${image
    ? html`<img src=${String(image['url'])} alt="" loading="lazy" decoding="async" referrerpolicy="no-referrer" @error=${(event: Event) => (event.target as Element).classList.add('is-missing')}>`
    : ''}</span>`
}
