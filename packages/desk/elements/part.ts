import { html, nothing, render, type TemplateResult } from 'lit-html'
import type { QuoinError } from '../../client/src/client.ts'
import { placeOf } from '../page/address.ts'
import { createAnnouncer } from '../page/announcer.ts'
import { PART_MISSING } from '../page/drag.ts'
import type { Session } from '../page/edition.ts'
import { failureOf } from '../page/failures.ts'
import { keepFocus, placesOf } from '../page/focus.ts'
import { icons } from '../page/icons.ts'
import { createPace } from '../page/pace.ts'
import { createPress } from '../page/press.ts'
import { reasonOf, sentenceOf } from '../page/reasons.ts'
import { language, say, useLanguage } from '../page/texts.ts'
import { icon, notice } from '../page/ui.ts'
import { duration, useZone } from '../page/words.ts'
import type { Connection, Part, PartContext } from './context.ts'
import { enter, type Viewer } from './sessions.ts'

/** How often times are shown anew, in milliseconds. */
const TICK_MS = 30_000

/** What one kind of element shows. */
export interface Kind {
  view: (session: Session, connection: Connection, fieldName: string | undefined) => unknown
  /** The fields whose saves its page hears of from it. */
  fieldsOf: (session: Session, fieldName: string | undefined) => string[]
}

interface Opened {
  connection: Connection
  session: Session
  leave: () => void
}

/** Fills an element with a view of its edition, until it is closed. */
export function openPart(context: PartContext, { view, fieldsOf }: Kind): Part {
  const { root, id, fieldName, languages, timeZone, tell } = context
  const ended = new AbortController()
  const { signal } = ended
  const { place, announce } = frameIn(root)
  const press = createPress(() => isStale && refresh(), root, signal)
  const pace = createPace(refresh)
  const tick = setInterval(refresh, TICK_MS)
  let [isStale, isPlanned, isReady] = [false, false, false]
  let opened: Opened | undefined
  let failure: QuoinError | undefined

  /** Renders the element, once for all changes of the same moment, and not under a press. */
  function refresh(): void {
    isStale = true
    if (isPlanned || press.isDown || signal.aborted) return
    isPlanned = true
    queueMicrotask(() => {
      ;[isStale, isPlanned] = [false, false]
      if (!signal.aborted) draw()
    })
  }

  function draw(): void {
    pace.note()
    useLanguage(languages)
    useZone(timeZone ?? opened?.connection.settings.model.timeZone)
    place.lang = language()
    const element = root.activeElement
    const places = placesOf(element)
    render(page(), place)
    keepFocus(element, places, root)
    if (opened?.session.edition && !isReady) {
      isReady = true
      tell('ready', { edition: id })
    }
  }

  function page(): unknown {
    if (!opened) return failure ? failureView(failure, begin) : nothing
    const { session, connection } = opened
    return html`${icons}${stateView(session)}${session.edition ? view(session, connection, fieldName) : nothing}`
  }

  const isOwn = (names: string[]) =>
    names.filter((name) => fieldsOf(opened!.session, fieldName).includes(name))
  const viewer: Viewer = {
    refresh,
    plan: pace.plan,
    announce,
    onSave(names, etag) {
      const fields = isOwn(names)
      if (fields.length > 0) tell('saved', { edition: id, fields, etag })
    },
    onRefuse(names, { code, message }) {
      const fields = isOwn(names)
      if (fields.length > 0) tell('refused', { edition: id, fields, code, message })
    }
  }

  async function begin(): Promise<void> {
    failure = undefined
    refresh()
    try {
      const connection = await context.connect()
      if (signal.aborted) return
      opened = { connection, ...enter(connection, id, viewer) }
    } catch (error) {
      failure = failureOf(error)
      const { code, message } = failure
      tell('refused', { edition: id, fields: [], code, message })
    }
    refresh()
  }

  root.addEventListener(
    'keydown',
    (event) => opened && onKey(event as KeyboardEvent, opened.session),
    { signal }
  )
  root.addEventListener('click', (event) => opened && onClick(event, opened.connection, tell), {
    signal
  })
  root.addEventListener(PART_MISSING, () => opened?.session.tellMissing(), { signal })
  begin()
  return {
    save: async () => opened?.session.save(),
    close(): void {
      ended.abort()
      clearInterval(tick)
      opened?.leave()
      root.replaceChildren()
    }
  }
}

/** The place of a view in a tree of its own, and what says something to those who do not see it. */
function frameIn(root: ShadowRoot) {
  const [place, said] = [document.createElement('div'), document.createElement('p')]
  place.className = `part ${schemeOf(root.host)}`
  said.className = 'spoken'
  said.role = 'status'
  root.replaceChildren(place, said)
  return { place, announce: createAnnouncer(said) }
}

/** Whether the page around is light or dark; nothing where it goes by the reader's system. */
function schemeOf(host: Element): string {
  const schemes = getComputedStyle(host).colorScheme.split(' ')
  const isDark = schemes.includes('dark')
  return isDark && schemes.includes('light') ? '' : isDark ? 'is-dark' : 'is-light'
}

function failureView(failure: QuoinError, again: () => void): TemplateResult {
  return html`${icons}${notice('bad', reasonOf(failure), html`<button type="button" @click=${again}>${say('tryAgain')}</button>`)}`
}

/** What is to be known of the edition as a whole. */
function stateView({ edition, failure, load, age, id }: Session): unknown {
  if (failure) {
    return notice(
      'bad',
      edition ? say('mayBeOld', { reason: sentenceOf(failure) }) : reasonOf(failure),
      html`<button type="button" @click=${load}>${say('tryAgain')}</button>`
    )
  }
  if (!edition) return html`<p class="quiet">${say('openingEdition', { id })}</p>`
  return age === undefined
    ? nothing
    : notice('warn', say('cmsAwayEdition', { duration: duration(age) }))
}

/** What was done last, and the buttons that take steps back. */
export function stepsView({ notice: told, history, undo, redo }: Session): TemplateResult {
  const step = (
    words: string,
    keys: string,
    canTake: boolean,
    take: () => boolean,
    mirrored = ''
  ) =>
    html`<button type="button" class="icon-only ${mirrored}" aria-label=${words} title=${keys} aria-disabled=${canTake ? 'false' : 'true'} @click=${() => take()}>${icon('undo-2')}</button>`
  return html`<div class="steps">${told ? notice(told.tone, told.text) : nothing}
    <span class="choices">${step(say('undo'), say('undoKeys'), history.canUndo, () => undo())}${step(say('redo'), say('redoKeys'), history.canRedo, () => redo(), 'is-mirrored')}</span></div>`
}

/** A text box undoes by itself what was typed into it. */
function onKey(event: KeyboardEvent, session: Session): void {
  const isInText = (event.target as Element).matches('input, textarea, select')
  if (!(event.ctrlKey || event.metaKey) || isInText || event.defaultPrevented) return
  const key = event.key.toLowerCase()
  if (key !== 'z' && key !== 'y') return
  const isTaken = key === 'y' || event.shiftKey ? session.redo() : session.undo()
  if (isTaken) event.preventDefault()
}

/** A link to another edition is the page's to follow; by default the desk opens it. */
function onClick(event: Event, { url }: Connection, tell: PartContext['tell']): void {
  const address = (event.target as Element).closest('a')?.getAttribute('href') ?? ''
  if (!address.startsWith('#/')) return
  event.preventDefault()
  const place = placeOf(address)
  if (place.view === 'edition' && tell('open', { edition: place.id })) {
    open(`${url}/desk${address}`, '_blank', 'noopener')
  }
}
