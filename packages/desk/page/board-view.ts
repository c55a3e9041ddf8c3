import { html, nothing, type TemplateResult } from 'lit-html'
import type { LockView } from '../../client/src/client.ts'
import { partsOf } from './board.ts'
import type { Session } from './edition.ts'
import type { Notifier } from './notifier.ts'
import { entityOf, lockIdOf, type Model } from './settings.ts'
import { say, sayWith } from './texts.ts'
import { avatar, icon, type View } from './ui.ts'
import type { Windows } from './windows.ts'
import { nameOf, since, type Somebody } from './words.ts'

/** How many of those who look on are named. */
const LOOKERS_SHOWN = 5

export interface BoardContext {
  model: Model
  uid: string
  notifier: Notifier
  windows: Windows
}

/** The lock board: who edits what in the edition and its articles, and who looks on. */
export function boardView(
  session: Session,
  { model, uid, notifier, windows }: BoardContext
): TemplateResult {
  const { isLive, board, labelOf, titleOf } = session
  const edition = session.edition!
  const own = entityOf(edition, model)
  const items = new Map(
    model.fields.articles
      .flatMap((name) => edition[name] ?? [])
      .map((item) => [lockIdOf(item, model), item] as const)
  )
  const where = (lock: LockView) => {
    const { id, language } = partsOf(lock)
    const ofLanguage = language === undefined ? '' : ` (${language})`
    if (lock.entityType === own.type && id === own.id) return labelOf(lock.fieldName) + ofLanguage
    return html`<bdi>${titleOf(items.get(id))}</bdi>: ${lock.fieldName}${ofLanguage}`
  }
  return html`<section aria-labelledby="board">
      <h2 id="board" tabindex="-1">${icon('users')}${say('lockBoard')} <span class="live ${isLive ? 'is-on' : ''}">${say(isLive ? 'live' : 'connecting')}</span></h2>
      ${board.length === 0 ? html`<p class="quiet">${say('nobodyEdits')}</p>` : nothing}
      <ul class="board">${board.map(
        (lock) => html`
        <li>${avatar(lock.userData)}<span><b dir="auto">${lock.userData.uid === uid ? say('you') : nameOf(lock.userData)}</b> ${where(lock)}<small>${since(lock, Date.now())}</small></span></li>`
      )}
      </ul>
      <p class="quiet lookers">${isLive ? lookersView(session.presence.besides(board)) : nothing}</p>
      ${windows.isElsewhere(session.id) ? html`<p class="quiet">${say('elsewhere')}</p>` : nothing}
      ${notifier.isOpen ? html`<button type="button" class="small plain" @click=${notifier.ask}>${say('notifyMe')}</button>` : nothing}</section>`
}

/** Who looks on; of many the first ones. */
function lookersView(lookers: Somebody[]): View {
  if (lookers.length === 0) return nothing
  const names = lookers
    .slice(0, LOOKERS_SHOWN)
    .map((looker, index) => html`${index > 0 ? ', ' : ''}<bdi>${nameOf(looker)}</bdi>`)
  const othersCount = lookers.length - names.length
  return html`${sayWith('lookingOn', { names })}${othersCount > 0 ? say('andOtherLookers', { count: othersCount }) : nothing}`
}
