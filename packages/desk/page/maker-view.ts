import { html, nothing, type TemplateResult } from 'lit-html'
import { live } from 'lit-html/directives/live.js'
import type { Named } from '../../client/src/client.ts'
import { listAddress } from './address.ts'
import { boxesView } from './boxes-view.ts'
import { keptDraftsView } from './drafts-view.ts'
import type { EditorDraft } from './draft-storage.ts'
import { createMaker, type FormInput, type Maker, type MakerDeps } from './maker.ts'
import { valueOf, type Model } from './settings.ts'
import { wordsOfPlace } from './failures.ts'
import { reasonOf } from './reasons.ts'
import { sayHere } from './texts-maker.ts'
import { say } from './texts.ts'
import { icon, notice, type View } from './ui.ts'

export interface MakerContext {
  model: Model
  types: Named[]
}

/** The making of an edition, with what it shows. */
export type MakerPanel = ReturnType<typeof openMaker>

/** @param from the id of the edition that is duplicated, or `latest` */
export function openMaker(deps: MakerDeps, from?: string) {
  const maker = createMaker(deps, from)
  return {
    /** Whether closing the page would lose a text. */
    get isAtRisk() {
      return maker.isAtRisk
    },
    leave: maker.leave,
    view: (context: MakerContext) => makerView(maker, context)
  }
}

/** The form of a new edition. */
function makerView(maker: Maker, { model, types }: MakerContext): TemplateResult {
  const { bundles, bundle, before, inputs, isCopy, isReading, isMaking, failure, reason } = maker
  const articles = model.fields.articles.reduce(
    (sum, name) => sum + (before?.[name]?.length ?? 0),
    0
  )
  return html`
    <nav class="crumbs" aria-label=${say('whereYouAre')}><a href="#/">${icon('arrow-left')}${say('allEditions')}</a></nav>
    <h1 tabindex="-1">${say('newEdition')}</h1>
    ${failure ? notice('bad', reasonOf(failure), html`<button type="button" @click=${maker.load}>${say('tryAgain')}</button>`) : nothing}
    ${isReading && inputs.length === 0 ? html`<p class="loading">${sayHere('lookingAtNewest')}</p>` : nothing}
    ${
      inputs.length === 0
        ? nothing
        : html`<div class="columns"><form class="maker" novalidate aria-label=${say('newEdition')} @submit=${(
            event: Event
          ) => {
            event.preventDefault()
            make()
          }}>
        ${bundles.length < 2 ? nothing : html`<div class="field"><div class="label"><label for="new-bundle">${say('bundle')}</label></div><select id="new-bundle" @change=${(event: Event) => maker.chooseBundle((event.target as HTMLSelectElement).value)}>${bundles.map(({ id, label }) => html`<option value=${id} .selected=${live(id === bundle)}>${label}</option>`)}</select></div>`}
        ${inputs.map((input) => row(input))}
        ${before ? html`<label class="copy"><input type="checkbox" role="switch" .checked=${live(isCopy)} @change=${(event: Event) => maker.copy((event.target as HTMLInputElement).checked)}> ${sayHere('duplicateWith', { title: valueOf(before, model.keys.label) || sayHere('newestEdition'), count: articles })}</label>` : nothing}
        ${reason === undefined ? nothing : notice('bad', reason)}
        <p class="choices"><button type="submit" class="primary" aria-disabled=${isMaking ? 'true' : 'false'}>${icon('plus')}${sayHere(isMaking ? 'makingIt' : 'makeIt')}</button> <button type="button" @click=${cancel}>${say('cancel')}</button></p>
      </form>${maker.drafts.length === 0 ? nothing : html`<aside>${keptDraftsView({ drafts: maker.drafts, labelOf: maker.labelOf, restore, discard: maker.discard })}</aside>`}</div>`
    }`

  function restore(draft: EditorDraft): void {
    maker.restore(draft)
    document.getElementById(`new-${draft.fieldName}`)?.focus()
  }

  function cancel(): void {
    maker.leave()
    location.hash = listAddress({})
  }

  async function make(): Promise<void> {
    await maker.make()
    document.querySelector<HTMLElement>('.maker [aria-invalid="true"]')?.focus()
  }

  function row(input: FormInput): TemplateResult {
    const {
      shape: { name, label, kind, help, isRequired },
      text,
      problems
    } = input
    const id = `new-${name}`
    const isNeeded =
      isRequired || [model.keys.label, model.fields.key, model.fields.editionType].includes(name)
    const describedBy = `${help === undefined ? '' : `help-${id} `}notes-${id}`
    const on = (event: Event) => maker.type(input, (event.target as HTMLInputElement).value)
    const ariaInvalid = problems.length > 0 ? 'true' : 'false'
    const place = maker.placeOf(input)
    return html`<div class="field">
      <div class="label"><label for=${id}>${label}${isNeeded ? html` <small>${sayHere('needed')}</small>` : nothing}</label></div>
      ${help === undefined ? nothing : html`<p class="quiet" id="help-${id}"><small dir="auto">${help}</small></p>`}
      ${
        kind === 'choice'
          ? html`<select id=${id} aria-required="true" aria-invalid=${ariaInvalid} aria-describedby=${describedBy} @change=${on}>
          ${types.some((type) => type.id === text) ? nothing : html`<option value=${text} selected>${text || sayHere('chooseOne')}</option>`}
          ${types.map((type) => html`<option value=${type.id} .selected=${live(type.id === text)}>${type.label}</option>`)}</select>`
          : boxesView({
              id,
              shape: input.shape,
              text,
              isInvalid: problems.length > 0,
              isRequired: isNeeded,
              describedBy,
              type: (text) => maker.type(input, text)
            })
      }
      <div class="notes" id="notes-${id}">${problems.map((problem) => html`<p class="note problem">${icon('triangle-alert')}<span>${problem}</span></p>`)}${placeView()}</div>
    </div>`

    function placeView(): View {
      if (place === 'disk') return nothing
      return place === 'coming'
        ? html`<p class="note"><small>${say('inThisWindow')}</small></p>`
        : html`<p class="note problem">${icon('triangle-alert')}<span>${wordsOfPlace(place)}</span></p>`
    }
  }
}
