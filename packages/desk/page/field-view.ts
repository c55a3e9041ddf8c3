import { html, nothing, type TemplateResult } from 'lit-html'
import { live } from 'lit-html/directives/live.js'
import type { Named } from '../../client/src/client.ts'
import { askView, petitionsView, type PetitionActs } from './petitions-view.ts'
import { boxesView } from './boxes-view.ts'
import type { TextChoice } from './choices.ts'
import { editorDoor, isFormatted, type DoorDeps } from './editor-door.ts'
import { differenceView, hasPieces } from './difference-view.ts'
import type { Field } from './field.ts'
import { treeOf } from './focus.ts'
import { previewView, type PreviewActs } from './preview-view.ts'
import type { ProposalsDoor } from './proposals-door.ts'
import { say, sayWith } from './texts.ts'
import { avatar, icon, type View } from './ui.ts'
import { at, beginning, directionOf, nameOf, since } from './words.ts'

export interface FieldActs extends PreviewActs, PetitionActs, Pick<DoorDeps, 'undo' | 'redo'> {
  revert: (field: Field) => void
  /** What is chosen of the difference to a text that was typed before. */
  choiceOf: (field: Field, text: string) => TextChoice
  restoreOffer: (field: Field) => void
  wasForbidden: (field: Field) => boolean
  proposals: Pick<ProposalsDoor, 'begin' | 'view'>
}

/** A field with its label, its control and all that there is to say of it. */
export function fieldView(
  field: Field,
  types: Named[],
  acts: FieldActs,
  language?: string
): TemplateResult {
  const {
    shape: { name, label, kind, zone, help, isRequired },
    holder,
    isHeld
  } = field
  const { revert } = acts
  const door = isFormatted(field)
    ? editorDoor(field, { language, onChange: acts.onChange, undo: acts.undo, redo: acts.redo })
    : undefined
  const state = holder || field.whyForbidden !== undefined ? 'is-locked' : isHeld ? 'is-held' : ''
  return html`
    <div class="field kind-${kind} ${state}" data-field=${name}>
      <div class="label"><label id="label-${name}" for="field-${name}">${label}${field.isDirty ? html`<span class="changed" title=${say('notSavedYet')}><span class="spoken">${say('notSavedYetOf')}</span></span>` : nothing}${zone === undefined ? nothing : html` <small>${zone}</small>`}${isRequired ? html` <small>${say('isRequired')}</small>` : nothing}</label>${field.isDirty && !holder ? html`<button type="button" class="small plain" @click=${() => revert(field)}>${say('revert')}<span class="spoken">${say('ofField', { label })}</span></button>` : holder ? askView(field, acts) : nothing}</div>
      ${help === undefined ? nothing : html`<p class="quiet" id="help-${name}"><small dir="auto">${help}</small></p>`}
      ${door?.element ?? control(field, types, language)}
      ${
        door
          ? html`<button type="button" class="small plain" aria-pressed=${door.isOpen ? 'true' : 'false'} @click=${door.toggle}>${say('formatted')}<span class="spoken">${say('ofField', { label })}</span></button>
        ${door.isMissing || door.reason !== undefined ? html`<p class="quiet" role="note">${door.reason ?? say('editorNotLoaded')}</p>` : nothing}`
          : nothing
      }
      ${previewView(field, acts, language)}
      <div class="notes" id="notes-${name}" tabindex="-1">${notes(field, acts)}</div>
    </div>`
}

function control(field: Field, types: Named[], language: string | undefined): TemplateResult {
  const {
    shape: { name, kind, help },
    text,
    holder,
    problems
  } = field
  const describedBy = `${help === undefined ? '' : `help-${name} `}notes-${name}`
  const id = `field-${name}`
  const on = ({ target }: Event) => field.type((target as HTMLInputElement).value)
  const ariaInvalid = problems.length > 0 ? 'true' : 'false'
  const isLocked = holder !== undefined || field.whyForbidden !== undefined
  switch (kind) {
    case 'flag':
      return html`<input id=${id} type="checkbox" role="switch" .checked=${live(text === 'true')} ?disabled=${isLocked} aria-invalid=${ariaInvalid} aria-describedby=${describedBy}
      @focus=${field.focus} @blur=${field.blur} @change=${(event: Event) => field.type(String((event.target as HTMLInputElement).checked))}>`
    case 'choice':
      return html`<select id=${id} ?disabled=${isLocked} aria-invalid=${ariaInvalid} aria-describedby=${describedBy} @focus=${field.focus} @blur=${field.blur} @change=${on}>
      ${text === '' ? html`<option value="" selected>${say('none')}</option>` : nothing}
      ${types.some((type) => type.id === text) || text === '' ? nothing : html`<option value=${text} selected>${text}</option>`}
      ${types.map((type) => html`<option value=${type.id} .selected=${live(type.id === text)}>${type.label}</option>`)}
    </select>`
    case 'text':
    case 'lines':
      return html`<textarea id=${id} dir=${directionOf(text)} lang=${language ?? nothing} rows=${Math.min(8, Math.max(3, text.split('\n').length + 1))} .value=${live(text)} ?readonly=${isLocked} aria-invalid=${ariaInvalid} aria-describedby=${describedBy}
      @focus=${field.focus} @blur=${field.blur} @input=${on}></textarea>`
    default:
      return boxesView({
        id,
        shape: field.shape,
        text,
        language,
        isInvalid: problems.length > 0,
        isLocked,
        isUnreadable: field.isUnreadable,
        describedBy,
        type: field.type,
        focus: field.focus,
        onLeave: field.blur
      })
  }
}

/** Who has it, what was typed before, what somebody else has saved, and what is wrong. */
export function notes(field: Field, acts?: FieldActs): View {
  const {
    shape: { label, kind },
    holder,
    isHeld,
    isDirty,
    keptAt,
    place,
    offer,
    theirs,
    problems,
    whyForbidden,
    hint,
    trouble
  } = field
  const quote = (text: string) =>
    kind === 'order'
      ? say('anotherOrder')
      : text === ''
        ? say('nothing')
        : say('quoted', { text: text.length > 160 ? `${beginning(text, 160)}…` : text })
  const choice = offer === undefined ? undefined : acts?.choiceOf(field, offer)
  return html`
    ${
      holder
        ? html`<p class="note who">${avatar(holder.userData)}<span>${sayWith('isEditing', { name: html`<b dir="auto">${nameOf(holder.userData)}</b>`, since: since(holder, Date.now()) })}</span>
          <button type="button" class="small" @click=${({ currentTarget }: Event) => takeOver(field, treeOf(currentTarget as Element))}>${icon('arrow-right-left')}${say('takeOver')}<span class="spoken">${say('ofField', { label })}</span></button>${acts && kind !== 'order' ? html`<button type="button" class="small plain" @click=${() => acts.proposals.begin(field)}>${say('propose')}<span class="spoken">${say('ofField', { label })}</span></button>` : nothing}</p>`
        : isHeld
          ? html`<p class="note mine">${icon('lock')}<span>${say('youEdit')}${!isDirty ? nothing : html` <small>${keptAt === undefined ? say('inThisWindow') : say('keptSince', { time: at(keptAt, Date.now()) })}</small>`}</span></p>`
          : isDirty && trouble === undefined && place !== 'lock' && place !== 'disk'
            ? html`<p class="note"><small>${say('inThisWindow')}</small></p>`
            : nothing
    }
    ${acts ? html`${petitionsView(field, acts)}${acts.proposals.view(field)}` : nothing}
    ${
      offer !== undefined && !holder
        ? html`<div class="note offer"><span>${sayWith('youHadTyped', { text: html`<bdi>${quote(offer)}</bdi>` })}</span>
          <span class="choices"><button type="button" class="small" @click=${() => (acts ? acts.restoreOffer(field) : field.restore(offer))}>${icon('undo-2')}${say('restore')}<span class="spoken">${say('ofField', { label })}</span></button>
          <button type="button" class="small plain" @click=${field.discardOffer}>${say('discard')}<span class="spoken">${say('whatYouTypedIn', { label })}</span></button></span>${choice && hasPieces(choice) ? differenceView(choice.pieces, choice) : nothing}</div>`
        : nothing
    }
    ${theirs !== undefined && kind !== 'order' ? conflictView(field, theirs, quote(theirs), acts?.choiceOf(field, theirs)) : nothing}
    ${hint === undefined ? nothing : html`<p class="note"><span>${hint}</span></p>`}
    ${whyForbidden !== undefined ? html`<p class="note problem">${icon('lock')}<span>${whyForbidden}</span></p>` : acts?.wasForbidden(field) ? html`<p class="note">${icon('lock')}<span>${say('wasForbidden')}</span></p>` : nothing}
    ${problems.filter((problem) => problem !== whyForbidden).map((problem) => html`<p class="note problem">${icon('triangle-alert')}<span>${problem}</span></p>`)}
    ${trouble === undefined ? nothing : html`<p class="note problem">${icon('wifi-off')}<span>${trouble}</span></p>`}`
}

/**
 * What somebody else has saved, as what differs from one's own text. With several changes an editor
 * may take some.
 */
function conflictView(
  field: Field,
  theirs: string,
  quotation: string,
  choice?: TextChoice
): TemplateResult {
  const { label } = field.shape
  const isMixed = choice !== undefined && choice.text !== theirs
  return html`<div class="note conflict"><span>${sayWith('colleagueSaved', { text: html`<bdi>${quotation}</bdi>` })}</span>
    <span class="choices"><button type="button" class="small" @click=${() => field.decide('mine')}>${say('keepMine')}<span class="spoken">${say('ofLabel', { label })}</span></button>
    <button type="button" class="small" @click=${() => field.decide(isMixed ? { text: choice.text } : 'theirs')}>${say(isMixed ? 'takeChosen' : 'takeTheirs')}<span class="spoken">${say('ofLabel', { label })}</span></button></span>
    ${choice && hasPieces(choice) ? differenceView(choice.pieces, choice) : nothing}</div>`
}

/**
 * Takes the field and goes there, unless the reader has gone elsewhere meanwhile; an order has no
 * control but its buttons. A control that cannot have the focus does not keep the lock.
 */
async function takeOver(field: Field, tree: Document | ShadowRoot): Promise<void> {
  const place = tree.activeElement?.closest('[data-field]')
  await field.takeOver()
  const { name } = field.shape
  const control =
    tree.getElementById(`field-${name}`) ??
    tree.querySelector<HTMLElement>(
      `[data-field="${CSS.escape(name)}"] li button[data-to][aria-disabled="false"]`
    )
  // Some browsers do not focus a button that is pressed: then the body has the focus.
  if (
    field.isHeld &&
    (document.activeElement === document.body || place?.contains(tree.activeElement))
  ) {
    control?.focus()
  }
  if (tree.activeElement !== control) field.blur()
}
