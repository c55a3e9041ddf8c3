import { html, nothing, type TemplateResult } from 'lit-html'
import { differenceView, hasPieces, orderDifferenceView } from './difference-view.ts'
import type { Session } from './edition.ts'
import { tokensOf } from './fields.ts'
import type { Kept } from './kept.ts'
import { say } from './texts.ts'
import { icon, type View } from './ui.ts'
import { at, nameOf } from './words.ts'

/** The texts that an editor had typed and not saved, each with what differs from the present one. */
export function keptView (session: Session): TemplateResult {
  return html`<section class=${session.kept.length === 0 ? 'is-empty' : ''} aria-labelledby="kept">
    <h2 id="kept" tabindex="-1">${icon('archive-restore')}${say('keptDrafts')}</h2>
    ${session.kept.length === 0 ? html`<p class="quiet">${say('keptExplained')}</p>` : nothing}
    <ul class="kept">${session.kept.map((kept) => html`
      <li>
        <p><b>${session.labelOf(kept.fieldName)}</b><small>${originOf(kept)}</small></p>
        <blockquote dir="auto">${session.fieldOf(kept.fieldName)?.shape.kind === 'order' ? say('anOrder') : kept.payload}</blockquote>
        ${difference(session, kept)}
        <span class="choices"><button type="button" class="small" @click=${() => session.restore(kept)}>${icon('undo-2')}${say('restore')}<span class="spoken">${say('draftOf', { label: session.labelOf(kept.fieldName) })}</span></button>
        <button type="button" class="small plain" @click=${() => session.discard(kept)}>${icon('trash-2')}${say('discard')}<span class="spoken">${say('draftOf', { label: session.labelOf(kept.fieldName) })}</span></button></span>
      </li>`)}
    </ul></section>`
}

function originOf ({ displacedBy, displacedAt, typedAt }: Kept): string {
  const time = at(displacedAt ?? typedAt!, Date.now())
  if (displacedBy) return say(displacedAt === undefined ? 'putAsideFor' : 'takenOverBy', { name: nameOf(displacedBy), time })
  return say(displacedAt === undefined ? 'typedAt' : 'lockEnded', { time })
}

function difference (session: Session, { fieldName, payload }: Kept): View {
  const order = session.orders.find(({ name }) => name === fieldName)
  const field = session.fieldOf(fieldName)
  if (order) {
    const choice = session.orderChoiceOf(order, payload)
    const present = tokensOf(order.items)
    return orderDifferenceView(choice.changes, (token) => session.titleOf(present.get(token) ?? { target_id: token.split('#')[0] }), choice)
  }
  const choice = field && session.choiceOf(field, payload)
  if (!choice || !hasPieces(choice)) return nothing
  return html`<p><small>${say(choice.changes.length > 1 ? 'choosePieces' : 'whatDiffers')}</small></p>${differenceView(choice.pieces, choice)}`
}
