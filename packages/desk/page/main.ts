import { html, nothing, render, type TemplateResult } from 'lit-html'
import { createClient, type Client, type Named } from '../../client/src/client.ts'
import {
  editionAddress,
  listAddress,
  placeOf,
  serviceOf,
  type Place,
  type Query
} from './address.ts'
import { createSession, type Session } from './edition.ts'
import { editionView, unknownView } from './edition-view.ts'
import type { Looks } from './finder.ts'
import { keepFocus, placesOf } from './focus.ts'
import { icons } from './icons.ts'
import type { Labels } from './labels.ts'
import { createList, type EditionList } from './list.ts'
import { keysView, showKeys } from './keys-view.ts'
import { listView } from './list-view.ts'
import type { MakerPanel } from './maker-view.ts'
import { goToFinder } from './order-view.ts'
import { outlive } from './petitions.ts'
import { createAnnouncer } from './announcer.ts'
import { createBackground } from './background.ts'
import { createDisk } from './disk.ts'
import { PART_MISSING } from './drag.ts'
import { createDraftStorage, type DraftStorage } from './draft-storage.ts'
import { isAtRisk } from './drafts.ts'
import { createForbidden, type Forbidden } from './forbidden.ts'
import { createPart } from './part.ts'
import { createNotifier, type NotificationClass } from './notifier.ts'
import { createPace } from './pace.ts'
import { createPress } from './press.ts'
import { createSamples, type Samples } from './samples.ts'
import { ask, fetchOnce, seat, type Seat } from './seat.ts'
import { createScroll } from './scroll.ts'
import { createStreamPort } from './stream-port.ts'
import { connectStreams } from './stream-worker.ts'
import type { Need } from './streams.ts'
import { endedView, otherView, seatView } from './seat-view.ts'
import type { Settings } from './settings.ts'
import { language, say, sayWith, useLanguage } from './texts.ts'
import { avatar, icon, notice, type View } from './ui.ts'
import { createWindows, type Windows } from './windows.ts'
import { nameOf, useZone } from './words.ts'

/** How long the reader pauses in a search before it is sent, in milliseconds. */
const PAUSE_MS = 250

/** How often times are shown anew, in milliseconds. */
const TICK_MS = 30_000

/** How long to wait before names are asked for again after a failure, in milliseconds. */
const AGAIN_MS = 10_000

const root = document.getElementById('desk')!
const settings: Settings = JSON.parse(document.documentElement.dataset['settings']!)
useZone(settings.model.timeZone)
useLanguage(navigator.languages)
document.documentElement.lang = language()
const here: Seat = await seat(settings, refresh)
root.replaceChildren()

const notifier = createNotifier({
  Notification: window.Notification as NotificationClass | undefined,
  isSeen: () => !document.hidden && document.hasFocus(),
  focus: () => {
    window.focus()
  },
  onChange: refresh
})
const announce = createAnnouncer(document.getElementById('said')!)
const press = createPress(() => {
  if (isStale) refresh()
})
let client: Client
let list: EditionList | undefined
let session: Session | undefined
let maker: MakerPanel | undefined
/** Whether the script for making an edition could not be loaded. */
let isMissing = false
/** How often an address was opened. */
let openings = 0
let unknown: Extract<Place, { view: 'unknown' }> | undefined
/** What copies that were made here lack, by their ids, until the reader has read it. */
const lacks = new Map<string, string>()
let names: Record<'types' | 'bundles', Named[]> = { types: [], bundles: [] }
const background = createBackground<Session>()
let samples: Samples
let windows: Windows
let storage: DraftStorage
let forbidden: Forbidden
let [isStale, isPlanned] = [false, false]
const pace = createPace(refresh)
const scroll = createScroll(window)
const finderPart = createPart(() => import('./finder-view.ts'), refresh)
let pause: ReturnType<typeof setTimeout> | undefined

/**
 * Renders the page, once for all changes of the same moment, and not while a press is under way.
 */
function refresh(): void {
  isStale = true
  if (isPlanned || press.isDown) return
  isPlanned = true
  queueMicrotask(() => {
    ;[isStale, isPlanned] = [false, false]
    pace.note()
    background.settle()
    const element = document.activeElement
    const places = placesOf(element)
    render(page(), root)
    keepFocus(element, places)
    // After the edition: its own script and data come first.
    if (session?.edition && !finderPart.isMissing) finderPart.open()
    scroll.settle()
    document.title = `${titleNow()} · Quoin desk`
  })
}

function titleNow(): string {
  if (session && !here.other) return session.title || say('editionNamed', { id: session.id })
  if (unknown) return say(unknown.id === undefined ? 'noSuchPage' : 'cannotBeShown')
  return say(maker || isMissing ? 'newEdition' : 'editions')
}

function page(): TemplateResult {
  const { user } = here
  return html`
    ${icons}
    <a class="skip" href="#main" @click=${(event: Event) => {
      event.preventDefault()
      focusHeading()
    }}>${say('toContent')}</a>
    <header class="bar">
      <a class="brand" href="#/">${icon('newspaper')}<span>Quoin desk</span></a>
      ${settings.model.timeZone === undefined ? nothing : html`<small>${say('timesOf', { zone: settings.model.timeZone })}</small>`}
      ${keysView()}
      ${user && !here.other ? html`<p class="seat">${avatar(user)}<span>${sayWith('youAre', { name: html`<b dir="auto">${nameOf(user)}</b>` })}</span>${here.auth === 'none' ? html`<a href=${location.pathname}>${say('changeSeat')}</a>` : nothing}${here.auth === 'jwt' ? html`<button type="button" class="small plain" @click=${here.signOut}>${say('signOut')}</button>` : nothing}</p>` : nothing}
    </header>
    <main id="main">${user && !here.other && here.reason !== undefined ? endedView(here) : nothing}${content()}</main>`
}

/**
 * The content of the page. Without a user, or where somebody else is signed in, it says only that.
 */
function content(): View {
  const { user } = here
  if (!user) return seatView(here)
  if (here.other) return otherView(here, isOnDisk())
  if (session) {
    const { id } = session
    return editionView(session, {
      settings,
      uid: user.uid,
      types: names.types,
      notifier,
      windows,
      finderPart,
      lack: lacks.get(id),
      dismiss() {
        lacks.delete(id)
        refresh()
        focusHeading()
      }
    })
  }
  if (unknown) return unknownView(unknown.id)
  if (maker) return maker.view({ model: settings.model, types: names.types })
  if (isMissing) {
    return html`<h1 tabindex="-1">${say('newEdition')}</h1>${notice('bad', say('partNotLoaded'))}`
  }
  return list ? listView(list, { model: settings.model, ...names, go }) : nothing
}

/** Asks what edition types and bundles are called, again and again while that cannot be had. */
async function loadNames(): Promise<void> {
  try {
    names = await ask('api/desk/names', here)
    refresh()
  } catch {
    setTimeout(loadNames, AGAIN_MS)
  }
}

function labelsOf(id: string): Promise<Labels> {
  return ask<Labels>(`api/desk/labels/${id}`, here)
}

function looksOf(list: string, uuids: string[], signal: AbortSignal): Promise<Looks> {
  return ask<Looks>(
    `api/desk/looks/${encodeURIComponent(list)}?uuids=${uuids.join(',')}`,
    here,
    signal
  )
}

/**
 * Handles the keys of the page. A text box undoes by itself only what was typed into it, not what
 * the page has put there.
 */
function onKeydown(event: KeyboardEvent): void {
  const target = event.target as Element
  const isInText = target.matches(
    'textarea, select, input:not([type="checkbox"]), [contenteditable="true"]'
  )
  if (event.key === '?' && !isInText) {
    showKeys()
    return
  }
  if (event.key === '/' && !isInText && session?.edition) {
    event.preventDefault()
    return goToFinder()
  }
  if (!session?.edition || here.other || !(event.ctrlKey || event.metaKey)) return
  const key = event.key.toLowerCase()
  if (key === 's') session.save()
  else if (event.defaultPrevented || (key !== 'z' && key !== 'y')) return
  else {
    const field = session.fieldOf(
      target.closest<HTMLElement>('[data-field]')?.dataset['field'] ?? ''
    )
    const turn = key === 'y' || event.shiftKey ? session.redo : session.undo
    if (isInText ? !field || !turn(field) : !turn()) return
  }
  event.preventDefault()
}

function focusHeading(options?: FocusOptions): void {
  root.querySelector<HTMLElement>('main h1')?.focus(options)
}

/** Goes to another list, or shows it in place while the reader types. */
function go(query: Query, isTyping = false): void {
  clearTimeout(pause)
  const address = listAddress(query)
  if (!isTyping) location.hash = address
  else {
    pause = setTimeout(() => {
      history.replaceState(history.state, '', `${location.pathname}${location.search}${address}`)
      list?.show(query)
    }, PAUSE_MS)
  }
}

/** Puts into the boxes of the search what the address says, whatever was typed into them. */
function resetSearch(): void {
  for (const box of root.querySelectorAll<HTMLInputElement>('form[role="search"] input')) {
    box.value = box.defaultValue
  }
}

/** How much this window needs its event streams. */
function needOfStreams(): Need {
  if (!document.hidden) return 'seen'
  const holdsLock = sessions().some(({ fields }) => fields.some(({ isHeld }) => isHeld))
  return holdsLock ? 'holds' : 'hidden'
}

/** Whether the browser speaks HTTP/2 or 3 with the service, or what is before it. */
function isMultiplexed(): boolean {
  const [page] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[]
  return /^h[23]/.test(page?.nextHopProtocol ?? '')
}

/** Whether all that is typed here is in its lock or on the browser's disk. */
function isOnDisk(): boolean {
  const fields = sessions().flatMap(({ fields }) => fields)
  return !storage.isAtRisk && fields.every(({ place }) => place === 'lock' || place === 'disk')
}

/** The session that is shown, and those in the background. */
function sessions(): Session[] {
  return [...(session ? [session] : []), ...background.all()]
}

/** Opens what the address names. */
async function open(isFirst = false, isBack = false): Promise<void> {
  clearTimeout(pause)
  const place = placeOf(location.hash)
  const opening = ++openings
  const viewName = () =>
    session?.id ?? (unknown ? location.hash : maker || isMissing ? 'new' : 'list')
  const before = viewName()
  maker?.leave()
  maker = undefined
  isMissing = false
  unknown = place.view === 'unknown' ? place : undefined
  if (session && (place.view !== 'edition' || place.id !== session.id)) {
    session.presence.end()
    background.add(session)
    session = undefined
  }
  if (place.view === 'list') {
    list ??= createList({
      client,
      model: settings.model,
      onChange: refresh,
      onNews: pace.plan,
      announce
    })
    list.see(!document.hidden)
    list.show(place.query)
  } else {
    list?.close()
    list = undefined
  }
  if (place.view === 'new') {
    const part = await import('./maker-view.ts').catch(() => undefined)
    if (opening !== openings) return
    isMissing = part === undefined
    maker = part?.openMaker(
      {
        editions: client.editions,
        model: settings.model,
        samples,
        storage,
        onChange: refresh,
        announce,
        labelsOf,
        onMake: (id, lack) => {
          if (lack !== undefined) lacks.set(id, lack)
          location.hash = editionAddress(id)
        }
      },
      place.from
    )
  } else if (place.view === 'edition') {
    session ??=
      background.take(place.id) ??
      createSession(
        {
          client,
          settings,
          user: here.user!,
          samples,
          storage,
          forbidden,
          labelsOf,
          looksOf,
          loadJournal: () => import('./journal-view.ts'),
          loadProposals: () => import('./proposals-view.ts'),
          onChange: refresh,
          onNews: pace.plan,
          announce,
          notify: notifier.tell,
          onSave: () => {},
          onRefuse: () => {}
        },
        place.id
      )
  }
  session?.presence.see(!document.hidden)
  windows.show(session?.id)
  refresh()
  if (isFirst || before === viewName()) return
  if (!isBack) scrollTo(0, 0)
  queueMicrotask(() => queueMicrotask(() => focusHeading({ preventScroll: isBack })))
}

if (here.user) {
  const streams = createStreamPort({
    connect: connectStreams(() => streams.reconnect()),
    uid: here.user.uid,
    url: location.origin + serviceOf(location.pathname),
    headers: here.options.headers ?? (() => ({})),
    need: needOfStreams,
    isMultiplexed: isMultiplexed()
  })
  client = createClient({
    ...here.options,
    subscribe: streams.subscribe,
    fetch: outlive(here.options.fetch ?? fetchOnce),
    url: serviceOf(location.pathname),
    entityType: settings.model.entityType
  })
  samples = createSamples((id) => ask(`api/desk/samples/${encodeURIComponent(id)}`, here))
  storage = createDraftStorage({
    disk: createDisk(window),
    window,
    uid: here.user.uid,
    onChange: refresh
  })
  forbidden = createForbidden({ window, uid: here.user.uid })
  windows = createWindows({
    channel: new BroadcastChannel('quoin-desk'),
    uid: here.user.uid,
    onChange: refresh
  })
  // First, so that a lock with a text that was typed just now is not released.
  addEventListener('pagehide', () => {
    storage.keep()
    scroll.keep()
    for (const one of sessions()) one.keep()
    windows.show(undefined)
    streams.leave()
  })
  // The browser may show the same page again.
  addEventListener('pageshow', () => {
    windows.show(session?.id)
    streams.say()
  })
  client.locks.releaseOnPageHide()
  addEventListener('beforeunload', (event) => {
    if (
      maker?.isAtRisk ||
      storage.isAtRisk ||
      isAtRisk(
        sessions().flatMap(({ fields }) => fields),
        here.other !== undefined
      ) ||
      sessions().some(({ orders }) => orders.some(({ isSaving }) => isSaving))
    ) {
      event.preventDefault()
    }
  })
  loadNames()
  addEventListener('hashchange', () => {
    open(false, scroll.turn())
    queueMicrotask(resetSearch)
  })
  addEventListener('keydown', onKeydown)
  for (const act of ['wheel', 'touchmove', 'pointerdown', 'keydown']) {
    addEventListener(act, scroll.stay, { passive: true })
  }
  addEventListener(PART_MISSING, () => session?.tellMissing())
  addEventListener('visibilitychange', () => {
    list?.see(!document.hidden)
    session?.presence.see(!document.hidden)
    streams.say()
  })
  setInterval(refresh, TICK_MS)
  open(true)
} else refresh()
