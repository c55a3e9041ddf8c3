import { html } from 'lit-html'
import { keptDraftsOf } from '../page/drafts-view.ts'
import { finderView } from '../page/finder-view.ts'
import { orderContextOf } from '../page/order-context.ts'
import { orderView } from '../page/order-view.ts'
import type { Session } from '../page/edition.ts'
import { say } from '../page/texts.ts'
import type { Connection, Part, PartContext } from './context.ts'
import { openPart, stepsView } from './part.ts'

/** Fills `<quoin-running-order>`: the order, the search for articles, and moves that were not saved. */
export function open(context: PartContext): Part {
  return openPart(context, {
    view,
    fieldsOf: (session, fieldName) => [orderOf(session, fieldName)?.name ?? '']
  })
}

const orderOf = ({ orders }: Session, fieldName: string | undefined) =>
  orders.find(({ name }) => fieldName === undefined || name === fieldName)

function view(session: Session, { settings }: Connection, fieldName: string | undefined): unknown {
  const order = orderOf(session, fieldName)
  if (!order) return html`<p class="quiet">${say('cannotBeShown')}</p>`
  const drafts = session.drafts.filter((draft) => draft.fieldName === order.name)
  return html`<div class="columns">
    <div class="orders">${orderView(session.fieldOf(order.name)!, order, orderContextOf(session, order, settings))}${stepsView(session)}</div>
    <aside aria-label=${say('addArticles')}>
      ${finderView(session.finder, { id: session.id, order, add: session.acts(order).add })}
      ${drafts.length === 0 ? '' : keptDraftsOf(session, drafts)}
    </aside>
  </div>`
}
