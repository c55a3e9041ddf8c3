import { html, nothing, type TemplateResult } from 'lit-html'
import type { Proposal } from '../../client/src/client.ts'
import { differenceView, hasPieces } from './difference-view.ts'
import type { Field } from './field.ts'
import type { ProposalsPanel } from './proposals-door.ts'
import { createProposals, type Proposals, type ProposalsDeps } from './proposals.ts'
import { sayHere } from './texts-proposals.ts'
import { say } from './texts.ts'
import { avatar, icon, type View } from './ui.ts'
import { at, beginning, nameOf } from './words.ts'

/** The most that the service takes, in characters. */
const REASON_MAX = 500

/** The proposals for the fields of an edition, with what a field shows of them. */
export function createProposalsPanel(deps: ProposalsDeps): ProposalsPanel {
  const proposals = createProposals(deps)
  return {
    hear: proposals.hear,
    end: proposals.end,
    begin(field) {
      proposals.begin(field)
      queueMicrotask(() => document.getElementById(`propose-${field.shape.name}`)?.focus())
    },
    view: (field) => html`
      ${writingView(proposals, field)}
      ${wordsView(proposals.wordsAt(field.shape.name))}
      ${proposals.of(field.shape.name).map((proposal) => proposalView(proposals, field, proposal))}`
  }
}

function wordsView(words: string | undefined): View {
  return words === undefined ? nothing : html`<p class="note"><span>${words}</span></p>`
}

/** Who proposes what, with what differs from the present text, and what can be done with it. */
function proposalView(proposals: Proposals, field: Field, proposal: Proposal): TemplateResult {
  const { userData, payload = '', reason, createdAt } = proposal
  const { label } = field.shape
  const choice = proposals.choiceOf(field, payload)
  const isOwn = proposals.isOwn(proposal)
  const isMixed = choice.text !== payload
  const isNothing = choice.changes.length > 0 && !choice.changes.some(choice.isTaken)
  const spoken = html`<span class="spoken">${sayHere('ofProposal', { name: nameOf(userData), label })}</span>`
  const act = (words: string, name: string, run: () => void, plain = '', isOff = false) =>
    html`<button type="button" class="small ${plain}" ?disabled=${isOff} @click=${run}>${icon(name)}${words}${spoken}</button>`
  return html`<div class="note offer" data-proposal=${proposal.id}>${avatar(userData)}<span>${sayHere(isOwn ? 'youPropose' : 'proposes', { name: nameOf(userData), time: at(createdAt, Date.now()) })}${reason === undefined ? nothing : html`<br><small dir="auto">${reason}</small>`}</span>
    <span class="choices">${
      isOwn
        ? act(say('withdraw'), 'trash-2', () => proposals.withdraw(proposal), 'plain')
        : html`${
            field.holder
              ? nothing
              : act(
                  isMixed ? say('takeChosen') : sayHere('take'),
                  'check',
                  () => proposals.take(field, proposal),
                  '',
                  isNothing
                )
          }${act(say('discard'), 'trash-2', () => proposals.discard(proposal), 'plain')}`
    }</span>${hasPieces(choice) ? differenceView(choice.pieces, isOwn || field.holder ? undefined : choice) : html`<blockquote dir="auto">${shortened(payload)}</blockquote>`}</div>`
}

/** How much of a text is shown that has nothing in common with the present one, in characters. */
const SHOWN = 2000

function shortened(text: string): string {
  return text.length > SHOWN ? `${beginning(text, SHOWN)}…` : text
}

/** The proposal that is written for a field. */
function writingView(proposals: Proposals, { shape: { name, label } }: Field): View {
  const { writing } = proposals
  if (writing?.fieldName !== name) return nothing
  const { text, isSent } = writing
  const on = ({ target }: Event) => proposals.type((target as HTMLTextAreaElement).value)
  const send = () => {
    const reason = document.getElementById(`reason-${name}`) as HTMLTextAreaElement
    proposals.send(reason.value.trim())
  }
  return html`<div class="note offer"><label for="propose-${name}">${sayHere('yourProposal', { label })}</label>
    <textarea id="propose-${name}" dir="auto" rows="4" .value=${text} ?readonly=${isSent} @input=${on}></textarea>
    <label for="reason-${name}">${sayHere('why')}</label>
    <textarea id="reason-${name}" dir="auto" rows="2" maxlength=${REASON_MAX} ?readonly=${isSent}></textarea>
    <span class="choices"><button type="button" class="small" ?disabled=${isSent} @click=${send}>${sayHere('proposeIt')}<span class="spoken">${say('ofField', { label })}</span></button>
    <button type="button" class="small plain" @click=${proposals.giveUp}>${say('cancel')}</button></span></div>`
}
