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

/** How many of those at work are shown until the reader asks for all. */
const WORKERS_SHOWN = 10

/** The sessions whose reader has asked for all of the board. */
const unfolded = new WeakSet<Session>()

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
  const isOfEdition = (lock: LockView) =>
    lock.entityType === own.type && partsOf(lock).id === own.id
  const sorted = [...board].sort(
    (one, other) => Number(isOfEdition(other)) - Number(isOfEdition(one))
  )
  const uids = [...new Set(sorted.map(({ userData }) => userData.uid))]
  const isUnfolded = unfolded.has(session)
  const shown = new Set(isUnfolded ? uids : uids.slice(0, WORKERS_SHOWN))
  function fold(): void {
    if (isUnfolded) unfolded.delete(session)
    else unfolded.add(session)
    session.onChange()
  }
  const where = (lock: LockView) => {
    const { id, language } = partsOf(lock)
    const ofLanguage = language === undefined ? '' : ` (${language})`
    if (isOfEdition(lock)) return labelOf(lock.fieldName) + ofLanguage
    return html`<bdi>${titleOf(items.get(id))}</bdi>: ${lock.fieldName}${ofLanguage}`
  }
  return html`<section aria-labelledby="board">
      <h2 id="board" tabindex="-1">${icon('users')}${say('lockBoard')} <span class="live ${isLive ? 'is-on' : ''}">${say(isLive ? 'live' : 'connecting')}</span></h2>
      ${board.length === 0 ? html`<p class="quiet">${say('nobodyEdits')}</p>` : nothing}
      <ul class="board" id="at-work">${sorted
        .filter(({ userData }) => shown.has(userData.uid))
        .map(
          (lock) => html`
        <li>${avatar(lock.userData)}<span><b dir="auto">${lock.userData.uid === uid ? say('you') : nameOf(lock.userData)}</b> ${where(lock)}<small>${since(lock, Date.now())}</small></span></li>`
        )}
      </ul>
      ${uids.length > WORKERS_SHOWN ? html`<button type="button" class="small plain" aria-expanded=${isUnfolded ? 'true' : 'false'} aria-controls="at-work" @click=${fold}>${isUnfolded ? say('showFewer') : say('showMore', { count: uids.length - shown.size })}</button>` : nothing}
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
