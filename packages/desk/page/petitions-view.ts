import { html, nothing } from 'lit-html'
import type { Petitions, IncomingPetition } from './petitions.ts'
import type { Field } from './field.ts'
import { say, sayWith } from './texts.ts'
import { avatar, type View } from './ui.ts'
import { at, nameOf } from './words.ts'

export interface PetitionActs {
  petitions: Petitions
  handOver: (field: Field, petition: IncomingPetition) => void
}

/** What one may do about a field that somebody else has. */
export function askView({ shape: { name, label } }: Field, { petitions }: PetitionActs): View {
  const since = petitions.since(name)
  // One button, so that the focus stays where it is.
  return html`<span>${since === undefined ? nothing : html`<small>${say('askedAt', { time: at(since, Date.now()) })}</small> `}<button type="button" class="small plain" @click=${() => (since === undefined ? petitions.ask(name) : petitions.withdraw(name))}>${say(since === undefined ? 'askForIt' : 'withdraw')}<span class="spoken">${say('ofField', { label })}</span></button></span>`
}

/** Who asks for a field that one has. */
export function petitionsView(field: Field, { petitions, handOver }: PetitionActs): View {
  const {
    shape: { name, label },
    isHeld
  } = field
  if (!isHeld) return nothing
  const spoken = (petition: IncomingPetition) =>
    html`<span class="spoken">${say('ofField', { label })}, ${nameOf(petition.userData)}</span>`
  return html`${petitions.of(name).map(
    (
      petition
    ) => html`<p class="note offer">${avatar(petition.userData)}<span>${sayWith('asksForThis', { name: html`<b dir="auto">${nameOf(petition.userData)}</b>` })}</span>
    <span class="choices"><button type="button" class="small" @click=${() => handOver(field, petition)}>${say('handOver')}${spoken(petition)}</button>
    <button type="button" class="small plain" @mousedown=${stay} @click=${() => petitions.putOff(petition)}>${say('inAMinute')}${spoken(petition)}</button></span></p>`
  )}`
}

/** Leaves the focus in the field: one that is left without a text is released. */
function stay(event: Event): void {
  event.preventDefault()
}
