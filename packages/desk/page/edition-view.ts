import { html, nothing, type TemplateResult } from 'lit-html'
import type { Finding, Named } from '../../client/src/client.ts'
import { newAddress } from './address.ts'
import { boardView } from './board-view.ts'
import { fieldOf as closingFieldOf } from './closing.ts'
import { closingButton, closingView } from './closing-view.ts'
import { cover, icon, notice, statusPill } from './ui.ts'
import type { Session } from './edition.ts'
import { fieldView } from './field-view.ts'
import type { Notifier } from './notifier.ts'
import type { Windows } from './windows.ts'
import { groupsOf, tokensOf } from './fields.ts'
import type { Part } from './part.ts'
import { journalButton, journalDoorView } from './journal-door-view.ts'
import { draftsView } from './drafts-view.ts'
import { goToFinder, orderView } from './order-view.ts'
import { orderContextOf } from './order-context.ts'
import { entityOf, lockIdOf, languageOf, valueOf, type Settings } from './settings.ts'
import { reasonOf, sentenceOf } from './reasons.ts'
import { say } from './texts.ts'
import { day, duration } from './words.ts'

export interface EditionContext {
  settings: Settings
  uid: string
  types: Named[]
  notifier: Notifier
  windows: Windows
  /** The search for articles, whose script comes with the first edition. */
  finderPart: Part<typeof import('./finder-view.ts')>
  /** What the edition lacks, which was made as a copy just now. */
  lack: string | undefined
  /** The reader has read what it lacks. */
  dismiss: () => void
}

/**
 * What an address leads to that the page does not have.
 * @param id what it names an edition by, if it does
 */
export function unknownView(id?: string): TemplateResult {
  return html`
    ${crumbs()}
    ${id === undefined ? nothing : notice('bad', say('noSuchEdition', { id }))}
    <h1 tabindex="-1">${say(id === undefined ? 'noSuchPage' : 'cannotBeShown')}</h1>`
}

function crumbs(): TemplateResult {
  return html`<nav class="crumbs" aria-label=${say('whereYouAre')}><a href="#/">${icon('arrow-left')}${say('allEditions')}</a></nav>`
}

/** An edition: its fields and running order, and beside them who is at work and what is kept. */
export function editionView(session: Session, context: EditionContext): TemplateResult {
  const { edition, failure } = session
  return html`
    ${crumbs()}
    ${
      failure
        ? notice(
            'bad',
            edition ? say('mayBeOld', { reason: sentenceOf(failure) }) : reasonOf(failure),
            html`<button type="button" @click=${session.load}>${say('tryAgain')}</button>`
          )
        : nothing
    }
    ${edition ? content(session, context) : failure ? html`<h1 tabindex="-1">${say('cannotBeShown')}</h1>` : html`<h1 tabindex="-1" class="quiet">${say('openingEdition', { id: session.id })}</h1>`}`
}

function content(session: Session, context: EditionContext): TemplateResult {
  const { settings, types, uid, notifier, windows, finderPart, lack, dismiss } = context
  const { model } = settings
  const { titleOf } = session
  const edition = session.edition!
  const fields = session.fields.filter(
    ({ shape }) =>
      shape.kind !== 'order' && shape.kind !== 'fixed' && shape.name !== closingFieldOf(model)
  )
  const fixed = session.fields.filter(({ shape, text }) => shape.kind === 'fixed' && text !== '')
  const dirty = session.fields.filter(({ isDirty }) => isDirty)
  const [first] = session.orders
  const own = entityOf(edition, model)

  /**
   * Leads to what a finding is about: an article, a field, a draft, or the search where there are
   * no articles. What is not shown is on the lock board alone.
   */
  function goTo(finding: Finding): void {
    if (finding.code === 'ORDER_EMPTY') return goToFinder()
    lead(placeOf(finding))
  }

  /** Leads to a place, or where that is not shown to the lock board. */
  function lead(place: HTMLElement | null): void {
    const target = place ?? document.getElementById('board')!
    target.scrollIntoView({ block: 'center' })
    target.focus()
  }

  const find = (selector: string) => document.querySelector<HTMLElement>(selector)
  const within = (attribute: string, value: string, what: string) =>
    find(`[data-${attribute}="${CSS.escape(value)}"] ${what}`)

  function placeOf({
    code,
    entityType,
    entityId,
    fieldName = '',
    draft
  }: Finding): HTMLElement | null {
    if (entityType !== own.type || entityId !== own.id) {
      const token = session.orders
        .flatMap((order) => [...tokensOf(order.items)])
        .find(([, item]) => lockIdOf(item, model) === entityId)?.[0]
      return token === undefined ? null : within('token', token, ':is(a, button[data-to])')
    }
    if (draft?.userData.uid === uid) {
      return within('draft', fieldName, 'button') ?? find('#kept')
    }
    if (code === 'ARTICLE_GONE') {
      return within('field', fieldName, '[data-token^="gone"] button[data-to]')
    }
    return placeOfField(fieldName)
  }

  function placeOfField(name: string): HTMLElement | null {
    const isFixed = fixed.some(({ shape }) => shape.name === name)
    return (
      find(`#field-${CSS.escape(name)}:not(:disabled)`) ??
      within('field', name, ':is(.words, .notes button, li button)') ??
      (isFixed ? find('#fixed') : null)
    )
  }

  /** The label of a field, which leads to it. */
  const linkTo = (name: string) =>
    session.fieldOf(name)
      ? html`<button type="button" class="link" @click=${() => lead(placeOfField(name))}>${session.labelOf(name)}</button>`
      : name

  return html`
    <header class="head">
      ${cover(edition, model, 'large')}
      <div>
        <h1 tabindex="-1" dir="auto" lang=${languageOf(edition, model) ?? nothing}>${session.title || say('editionNamed', { id: session.id })}</h1>
        <p class="meta">${statusPill(edition, model)}
          <span>${valueOf(edition, model.keys.bundle)}</span><code>${valueOf(edition, model.fields.key)}</code>
          ${model.keys.changed === null ? nothing : html`<span>${say('savedOn', { day: day(valueOf(edition, model.keys.changed)) })}</span>`}</p>
      </div>
      <span class="choices">${closingButton(session.closing)}${journalButton(session.journal)}<a class="button" href=${newAddress(session.id)}>${icon('copy')}${say('duplicate')}</a></span>
    </header>
    ${lack === undefined ? nothing : notice('warn', lack, html`<button type="button" @click=${dismiss}>${say('close')}</button>`)}
    ${closingView(session.closing, { unsaved: dirty.map(({ shape }) => shape.label), save: session.save, goTo, wordsOf: session.wordsOf })}
    ${journalDoorView(session.journal, { uid, types, labelOf: session.labelOf, titleOf, fieldOf: session.fieldOf, isPublishing: closingFieldOf(model) === model.keys.published })}
    ${
      session.age === undefined
        ? nothing
        : notice('warn', say('cmsAwayEdition', { duration: duration(session.age) }))
    }
    <div class="desk">
    <div class="columns">
      <div class="orders">${session.orders.map((order) => orderView(session.fieldOf(order.name)!, order, orderContextOf(session, order, settings)))}</div>
      <aside aria-label=${say('atWork')}>
        ${first ? (finderPart.module ? finderPart.module.finderView(session.finder, { id: session.id, order: first, add: session.acts(first).add }) : finderToCome(finderPart)) : nothing}
        ${boardView(session, { model, uid, notifier, windows })}
        ${draftsView(session)}
      </aside>
      <form id="fields" novalidate aria-label=${say('edition')} @submit=${(event: Event) => {
        event.preventDefault()
        session.save()
      }}>
        <h2 class="spoken">${say('fields')}</h2>
        ${groupsOf(fields, ({ shape }) => shape).map(({ group, members }) => {
          const views = html`<div class="fields">${members.map((field) => fieldView(field, types, session, languageOf(edition, model)))}</div>`
          return group === ''
            ? views
            : html`<fieldset class="group"><legend dir="auto">${group}</legend>${views}</fieldset>`
        })}
        ${
          fixed.length === 0
            ? nothing
            : html`<section class="fixed" aria-labelledby="fixed"><h2 id="fixed" tabindex="-1">${say('notEditedHere')}</h2><dl>${fixed.map(({ shape }) => html`<div><dt>${shape.label}</dt><dd>${(edition[shape.name] ?? []).map((item, index) => html`${index > 0 ? ', ' : ''}<bdi>${titleOf(item)}</bdi>`)}</dd></div>`)}</dl></section>`
        }
      </form>
    </div>
    <div class="savebar">
      ${session.isSlow ? notice('warn', say('savingSlow'), html`<button type="button" @click=${session.stopSaving}>${say('stopSaving')}</button>`) : session.notice && (session.notice.tone === 'bad' || dirty.length === 0) ? notice(session.notice.tone, session.notice.linked?.(linkTo) ?? session.notice.text) : html`<p class="quiet">${dirty.length === 0 ? say('everythingSaved') : say('changesNotSaved', { count: dirty.length, labels: dirty.map(({ shape }) => shape.label).join(', ') })}</p>`}
      <span class="choices">
        <button type="button" class="icon-only" aria-label=${say('undo')} title=${say('undoKeys')} aria-disabled=${session.history.canUndo ? 'false' : 'true'} @click=${() => session.undo()}>${icon('undo-2')}</button>
        <button type="button" class="icon-only is-mirrored" aria-label=${say('redo')} title=${say('redoKeys')} aria-disabled=${session.history.canRedo ? 'false' : 'true'} @click=${() => session.redo()}>${icon('undo-2')}</button>
        <button type="button" class="plain" aria-disabled=${dirty.length === 0 ? 'true' : 'false'} @click=${() => session.revert()}>${say('discardAll')}</button>
      </span>
      <button type="submit" form="fields" class="primary" aria-disabled=${dirty.length === 0 || session.isSaving ? 'true' : 'false'}>${icon('save')}${say(session.isSaving ? 'saving' : 'saveChanges')}</button>
    </div>
    </div>`
}

/** The search for articles, until its script is there. */
function finderToCome({ isMissing, open }: EditionContext['finderPart']): TemplateResult {
  return html`<section aria-labelledby="finder" class="finder"><h2 id="finder">${icon('plus')}${say('addArticles')}</h2>
    ${isMissing ? notice('bad', say('partNotLoaded'), html`<button type="button" id="find" @click=${open}>${say('tryAgain')}</button>`) : nothing}</section>`
}
