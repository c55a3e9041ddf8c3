import { html, nothing } from 'lit-html'
import type { Requests, IncomingRequest } from './requests.ts'
import type { Field } from './field.ts'
import { say, sayWith } from './texts.ts'
import { avatar, type View } from './ui.ts'
import { at, nameOf } from './words.ts'

export interface RequestActs {
  requests: Requests
  handOver: (field: Field, request: IncomingRequest) => void
}

/** What one may do about a field that somebody else has. */
export function askView ({ shape: { name, label } }: Field, { requests }: RequestActs): View {
  const since = requests.since(name)
  // One button, so that the focus stays where it is.
  return html`<span>${since === undefined ? nothing : html`<small>${say('askedAt', { time: at(since, Date.now()) })}</small> `}<button type="button" class="small plain" @click=${() => since === undefined ? requests.ask(name) : requests.withdraw(name)}>${say(since === undefined ? 'askForIt' : 'withdraw')}<span class="spoken">${say('ofField', { label })}</span></button></span>`
}

/** Who asks for a field that one has. */
export function requestsView (field: Field, { requests, handOver }: RequestActs): View {
  const { shape: { name, label }, isHeld } = field
  if (!isHeld) return nothing
  const spoken = (request: IncomingRequest) => html`<span class="spoken">${say('ofField', { label })}, ${nameOf(request.userData)}</span>`
  return html`${requests.of(name).map((request) => html`<p class="note offer">${avatar(request.userData)}<span>${sayWith('asksForThis', { name: html`<b dir="auto">${nameOf(request.userData)}</b>` })}</span>
    <span class="choices"><button type="button" class="small" @click=${() => handOver(field, request)}>${say('handOver')}${spoken(request)}</button>
    <button type="button" class="small plain" @mousedown=${stay} @click=${() => requests.putOff(request)}>${say('inAMinute')}${spoken(request)}</button></span></p>`)}`
}

/** Leaves the focus in the field: one that is left without a text is released. */
function stay (event: Event): void {
  event.preventDefault()
}
