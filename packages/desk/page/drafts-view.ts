import { html, nothing, type TemplateResult } from 'lit-html'
import { differenceView, hasPieces, orderDifferenceView } from './difference-view.ts'
import type { Session } from './edition.ts'
import { tokensOf } from './fields.ts'
import { replayed } from './moves.ts'
import type { EditorDraft } from './draft-storage.ts'
import { say } from './texts.ts'
import { icon, type View } from './ui.ts'
import { at, nameOf } from './words.ts'

/** Texts that an editor had typed and not saved, and what can be done with each. */
export interface KeptDrafts {
  drafts: EditorDraft[]
  labelOf: (fieldName: string) => string
  restore: (draft: EditorDraft) => void
  discard: (draft: EditorDraft) => void
}

/** The kept drafts of an edition, each with what differs from the present text. */
export function draftsView(session: Session): TemplateResult {
  return keptDraftsOf(session, session.drafts)
}

/** Some of the kept drafts of an edition. */
export function keptDraftsOf(session: Session, drafts: EditorDraft[]): TemplateResult {
  const { labelOf, restore, discard } = session
  return keptDraftsView(
    { drafts, labelOf, restore, discard },
    (draft) => {
      if (draft.operations) return say('movesNotSaved')
      const isOrder = session.fieldOf(draft.fieldName)?.shape.kind === 'order'
      return isOrder ? say('anOrder') : draft.payload
    },
    (draft) => difference(session, draft)
  )
}

/** Kept drafts, by default without what differs. */
export function keptDraftsView(
  { drafts, labelOf, restore, discard }: KeptDrafts,
  textOf = ({ payload }: EditorDraft) => payload,
  differenceOf: (draft: EditorDraft) => View = () => nothing
): TemplateResult {
  return html`<section class=${drafts.length === 0 ? 'is-empty' : ''} aria-labelledby="kept">
    <h2 id="kept" tabindex="-1">${icon('archive-restore')}${say('keptDrafts')}</h2>
    ${drafts.length === 0 ? html`<p class="quiet">${say('keptExplained')}</p>` : nothing}
    <ul class="kept">${drafts.map(
      (draft) => html`
      <li data-draft=${draft.fieldName}>
        <p><b>${labelOf(draft.fieldName)}</b><small>${originOf(draft)}</small></p>
        <blockquote dir="auto">${textOf(draft)}</blockquote>
        ${differenceOf(draft)}
        <span class="choices"><button type="button" class="small" @click=${() => restore(draft)}>${icon('undo-2')}${say('restore')}<span class="spoken">${say('draftOf', { label: labelOf(draft.fieldName) })}</span></button>
        <button type="button" class="small plain" @click=${() => discard(draft)}>${icon('trash-2')}${say('discard')}<span class="spoken">${say('draftOf', { label: labelOf(draft.fieldName) })}</span></button></span>
      </li>`
    )}
    </ul></section>`
}

/** Where a text comes from and, where the service does not have it, that it is here alone. */
function originOf(draft: EditorDraft): string {
  const { displacedBy, displacedAt, typedAt, operations, isInWindow } = draft
  const time = at(displacedAt ?? typedAt!, Date.now())
  const name = displacedBy && nameOf(displacedBy)
  if (displacedAt !== undefined) {
    return name === undefined ? say('lockEnded', { time }) : say('takenOverBy', { name, time })
  }
  const own = say(operations ? 'movedAt' : 'typedAt', { time })
  const what = name === undefined ? own : say('putAsideFor', { name, time })
  return say(isInWindow ? 'aloneInWindow' : 'aloneInBrowser', { what })
}

function difference(session: Session, draft: EditorDraft): View {
  const { fieldName, payload } = draft
  const order = session.orders.find(({ name }) => name === fieldName)
  const field = session.fieldOf(fieldName)
  if (order) {
    const choice = session.orderChoiceOf(order, draft)
    const articles = new Map([...tokensOf(replayed(order.items, draft)), ...tokensOf(order.items)])
    return orderDifferenceView(
      choice.changes,
      (token) => session.titleOf(articles.get(token) ?? { target_id: token.split('#')[0] }),
      choice
    )
  }
  const choice = field && session.choiceOf(field, payload)
  if (!choice || !hasPieces(choice)) return nothing
  return html`<p><small>${say(choice.changes.length > 1 ? 'choosePieces' : 'whatDiffers')}</small></p>${differenceView(choice.pieces, choice)}`
}
