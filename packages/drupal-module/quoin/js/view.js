/* global Drupal */
import { controlsIn, editorOf } from './controls.js'
import { at, nameOf, quote, since } from './words.js'

/** How high one line of notes is, in pixels. */
const LINE_PX = 24

/** What a hand or a key does to a control. */
const DEEDS = ['mousedown', 'pointerdown', 'touchstart', 'click', 'keydown', 'drop']

/** The keys that change a box, a choice or a row; all others, such as F5 and Tab, do as ever. */
const KEYS = /^(?:.|Enter|Delete|Backspace|Arrow.*|Home|End|Page.*)$/u

/** What is typed into: a browser keeps it from being changed, and lets it be read and copied. */
const READABLE = /^(?:text|search|url|tel|email|password|number|date|time|datetime-local)$/

const isReadable = ({ type, tagName }) => tagName === 'TEXTAREA' || READABLE.test(type)

let isPressed = false
const waiting = new Map()

// What comes while the reader presses is shown afterwards: nothing moves under a press.
window.addEventListener('pointerdown', () => (isPressed = true), true)
for (const type of ['pointerup', 'pointercancel']) {
  window.addEventListener(
    type,
    () =>
      setTimeout(() => {
        isPressed = false
        for (const draw of waiting.values()) draw()
        waiting.clear()
      }),
    true
  )
}

/** Draws now, or after the reader lets go. Of one key the last counts. */
function draw(key, run) {
  if (isPressed) waiting.set(key, run)
  else run()
}

/** An element with its attributes and what is in it. */
function element(tag, attributes, ...children) {
  const made = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value)
  made.append(...children.filter((child) => child !== undefined))
  return made
}

/**
 * A button that says to who does not see it which field it is about.
 * @param act tells it from the other buttons of the field, so that it keeps the focus
 */
function button(act, text, about, onPress) {
  const made = element(
    'button',
    { type: 'button', class: 'quoin-button', 'data-quoin-act': act },
    text,
    element('span', { class: 'visually-hidden' }, ` ${about}`)
  )
  made.addEventListener('click', onPress)
  return made
}

function note(kind, ...children) {
  return element('p', { class: `quoin-note quoin-note--${kind}` }, ...children)
}

const says = (text) =>
  element('span', { class: 'quoin-note__text', dir: 'auto', title: text }, text)

/** Gives a container the place where its field's notes stand, and keeps who may not type from typing. */
export function prepare(container, field) {
  const place = element('div', { class: 'quoin-notes', id: `quoin-${field.name}` })
  container.append(place)
  const room = place.getBoundingClientRect().top - bottomOf(place.previousElementSibling)
  place.style.marginBlockStart = `-${Math.max(0, Math.min(room, LINE_PX))}px`
  for (const control of controlsIn(container)) {
    if (control.type === 'hidden') continue
    const ids = control.getAttribute('aria-describedby')
    control.setAttribute('aria-describedby', ids ? `${ids} ${place.id}` : place.id)
  }
  for (const type of DEEDS) {
    container.addEventListener(type, (event) => stop(event, field), {
      capture: true,
      passive: false
    })
  }
}

function bottomOf(element) {
  return element?.getBoundingClientRect().bottom ?? Infinity
}

/** Stops what would change a field that another user has. Reading it, copying and leaving it stay. */
function stop(event, field) {
  const { target, type, key, ctrlKey, metaKey } = event
  if (!field.holder || !event.isTrusted || target.closest('.quoin-notes')) return
  if (isReadable(target) || target.closest('.ck-editor__editable')) return
  if (type === 'keydown' && (ctrlKey || metaKey || !KEYS.test(key))) return
  event.preventDefault()
  event.stopImmediatePropagation()
}

/** Shows a field as it is: held, one's own, with what is offered and who asks for it. */
export function showField(container, field, acts) {
  const isHeld = field.holder !== undefined
  container.classList.toggle('quoin-is-held', isHeld)
  container.classList.toggle('quoin-is-mine', field.held !== undefined)
  for (const control of controlsIn(container)) close(control, isHeld)
  const model = JSON.stringify([
    field.holder,
    field.held !== undefined,
    field.keptAt && at(field.keptAt),
    field.offer?.text,
    field.trouble,
    acts.askedSince(field),
    acts.petitions(field)
  ])
  const place = container.querySelector(':scope > .quoin-notes')
  if (!place || place.quoin === model) return
  draw(field.name, () => {
    place.quoin = model
    replace(place, notesOf(field, acts))
  })
}

/** Keeps a control from being changed; its value is sent all the same, as of one that is disabled it is not. */
function close(control, isHeld) {
  if (isReadable(control)) {
    if (isHeld === (control.dataset.quoinClosed !== undefined)) return
    // One that was closed by Drupal stays so.
    if (isHeld && control.readOnly) return
    control.readOnly = isHeld
    if (isHeld) control.dataset.quoinClosed = ''
    else delete control.dataset.quoinClosed
  } else if (control.type !== 'hidden') {
    if (isHeld) control.setAttribute('aria-disabled', 'true')
    else control.removeAttribute('aria-disabled')
  }
  const editor = editorOf(control)
  if (isHeld) editor?.enableReadOnlyMode('quoin')
  else editor?.disableReadOnlyMode('quoin')
}

/** Puts new children in the place of the old ones; a button that has the focus keeps it. */
function replace(place, children) {
  const act = place.contains(document.activeElement) && document.activeElement.dataset.quoinAct
  place.replaceChildren(...children)
  if (act) {
    const next =
      place.querySelector(`[data-quoin-act="${act}"]`) ??
      controlsIn(place.parentElement).find(({ type }) => type !== 'hidden')
    next?.focus({ preventScroll: true })
  }
}

function notesOf(field, acts) {
  const notes = []
  if (field.holder) notes.push(holderNote(field, acts))
  else if (field.held) notes.push(ownNote(field))
  const petitions = field.held ? acts.petitions(field) : []
  notes.push(...petitions.map((petition) => petitionNote(field, petition, acts)))
  if (field.offer) notes.push(offerNote(field, acts))
  if (field.trouble) notes.push(note('trouble', says(field.trouble)))
  return notes
}

function holderNote(field, { ask, withdraw, takeOver, askedSince }) {
  const { holder, label } = field
  const asked = askedSince(field)
  const args = { '!name': nameOf(holder.userData), '!since': since(holder) }
  return note(
    'held',
    says(
      asked === undefined
        ? Drupal.t('!name is editing this !since', args)
        : Drupal.t('!name is editing this !since, asked !time', { ...args, '!time': at(asked) })
    ),
    // One button, so that the focus stays where it is.
    asked === undefined
      ? button('ask', Drupal.t('Ask for it'), label, () => ask(field))
      : button('ask', Drupal.t('Withdraw'), label, () => withdraw(field)),
    button('take', Drupal.t('Take over'), label, () => takeOver(field))
  )
}

function ownNote({ keptAt }) {
  return note(
    'mine',
    says(
      keptAt === undefined
        ? Drupal.t('You are editing this')
        : Drupal.t('You are editing this, kept !time', { '!time': at(keptAt) })
    )
  )
}

function petitionNote(field, { userData, key }, { handOver, putOff }) {
  const about = `${field.label}, ${nameOf(userData)}`
  return note(
    'asked',
    says(Drupal.t('!name asks for this', { '!name': nameOf(userData) })),
    button(`hand-${key}`, Drupal.t('Hand over'), about, () => handOver(field, userData)),
    button(`wait-${key}`, Drupal.t('In a minute'), about, () => putOff(key))
  )
}

function offerNote(field, { restore, discard }) {
  const { label, offer, holder } = field
  return note(
    'offer',
    says(Drupal.t('You had typed !text', { '!text': quote(offer.text) })),
    holder ? undefined : button('restore', Drupal.t('Restore'), label, () => restore(field)),
    holder
      ? undefined
      : button(
          'discard',
          Drupal.t('Discard'),
          Drupal.t('what you had typed in !label', { '!label': label }),
          () => discard(field)
        )
  )
}

/** The line above the form: who is here, or why nobody is seen. */
export function showBoard(form, text, reload) {
  let board = form.querySelector(':scope > .quoin-board')
  if (!board) {
    board = element('div', { class: 'quoin-board' })
    form.prepend(board)
  }
  if (board.quoin === text) return
  draw('board', () => {
    board.quoin = text
    board.replaceChildren(
      ...(text === '' ? [] : [says(text)]),
      ...(reload ? [button('reload', Drupal.t('Load the form again'), '', reload)] : [])
    )
  })
}
