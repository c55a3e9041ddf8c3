/* global Drupal */
import { controlsIn, meetEditor } from './controls.js'
import { createCrowd, lineOf, seeLocks, seeLooker, seeSave } from './crowd.js'
import { createField } from './field.js'
import { createMemory } from './memory.js'
import { createPetitions } from './petitions.js'
import { prepare, showBoard, showField } from './view.js'
import { nameOf, tell } from './words.js'

/** After how long the page says again that its user looks on: by itself that ends after 90 seconds. */
const PRESENT_MS = 40_000
/** For how long to look for the editors of formatted texts, and how often, in milliseconds. */
const EDITORS_MS = 15_000
const LOOK_MS = 200
/** How long a form that is gone from the page may take to come back by AJAX, in milliseconds. */
const GONE_MS = 2000
/** How long Drupal may take to say which state is saved, in milliseconds. */
const STATE_MS = 10_000
/** How long a save may take, in milliseconds. */
const SAVE_MS = 60_000

/**
 * Puts an edit form under locks.
 * @param options.settings `{ type, fields, savedAs, isReturned }`, of drupalSettings
 * @param options.user who is logged in
 * @param options.locks of the client
 */
export function openSession({ key, settings, user: { uid }, locks, form }) {
  const { type, fields: known } = settings
  const labelOf = (name) => known[name]?.label ?? name
  const ids = [...new Set(Object.values(known).map(({ id }) => id))]
  const session = {
    key,
    form,
    settings,
    uid,
    locks,
    labelOf,
    entities: ids.map((id) => ({ type, id })),
    fields: new Map(),
    memory: createMemory(key),
    crowd: createCrowd({ uid, labelOf }),
    /** When the form was sent, in milliseconds. */
    sentAt: 0,
    /** The saves that were told are looked at one after the other. */
    checks: Promise.resolve(),
    isEnded: false,
    /** The ids under which earlier texts were looked for. */
    searched: new Set(),
    stops: []
  }
  session.petitions = createPetitions({
    locks,
    uid,
    onChange: () => show(session),
    onFailure: (error) => noteFailure(session, error)
  })
  session.acts = actsOf(session)
  bind(session)
  follow(session)
  listen(session)
  recall(session)
  for (const { id } of session.entities) findTexts(session, id)
  return session
}

/** Takes the form as AJAX has changed it, or brought it anew. */
export function rebind(session, form) {
  if (form !== session.form) form.addEventListener('submit', (event) => send(session, event))
  session.form = form
  session.sentAt = 0
  bind(session)
}

/** The form may be gone without its page, unless AJAX brings it back. */
export function endUnlessBack(session) {
  setTimeout(() => {
    if (session.isEnded || session.form.isConnected) return
    session.isEnded = true
    for (const stop of session.stops) stop()
    for (const field of session.fields.values()) field.end()
    withdraw(session)
  }, GONE_MS)
}

function containerOf({ form }, name) {
  return form.querySelector(`[data-quoin-field="${name}"]`)
}

/** Binds the fields that are in the page, anew where AJAX has brought others. */
function bind(session) {
  for (const name of Object.keys(session.settings.fields)) {
    const container = containerOf(session, name)
    if (!container) continue
    const field = session.fields.get(name) ?? fieldOf(session, name, container)
    session.fields.set(name, field)
    if (!container.querySelector(':scope > .quoin-notes')) attach(container, field)
    field.check()
  }
  findEditors(session)
  show(session)
}

function fieldOf(session, name, container) {
  const { settings, uid, locks, memory } = session
  const { label, kind, id } = settings.fields[name]
  return createField({
    label,
    kind,
    uid,
    locks,
    what: { type: settings.type, id, fieldName: name },
    find: () => containerOf(session, name) ?? container,
    keep: memory.keep,
    onChange: () => showOne(session, name),
    onFailure: (error) => noteFailure(session, error)
  })
}

function attach(container, field) {
  prepare(container, field)
  for (const name of ['input', 'change', 'keyup', 'click']) {
    container.addEventListener(name, () => field.check())
  }
  container.addEventListener('focusin', () => field.enter())
  container.addEventListener('focusout', ({ relatedTarget }) => {
    const isInside = container.contains(relatedTarget) || relatedTarget?.closest('.ck-body-wrapper')
    if (isInside) return
    setTimeout(() => {
      if (!container.contains(document.activeElement)) field.leave()
    })
  })
  // A row that is dragged may be let go anywhere; its weight changes after that.
  container.addEventListener('pointerdown', () => {
    const check = () => setTimeout(() => field.check(), 100)
    window.addEventListener('pointerup', check, { once: true })
  })
}

/** Editors of formatted texts come some time after the form. */
function findEditors(session, deadline = Date.now() + EDITORS_MS) {
  for (const [name, field] of session.fields) {
    const container = containerOf(session, name)
    for (const control of container ? controlsIn(container) : []) {
      const editor = meetEditor(control)
      editor?.model.document.on('change:data', () => field.check())
      if (editor) show(session)
    }
  }
  if (Date.now() < deadline && !session.isEnded) {
    setTimeout(() => findEditors(session, deadline), LOOK_MS)
  }
}

function show(session) {
  for (const name of session.fields.keys()) showOne(session, name)
  showLine(session)
}

function showOne(session, name) {
  const container = containerOf(session, name)
  const field = session.fields.get(name)
  if (container && field) showField(container, field, session.acts)
}

function showLine({ form, crowd }) {
  showBoard(form, lineOf(crowd), crowd.saves.length > 0 ? reload : undefined)
}

function noteFailure(session, error) {
  session.crowd.failure = error
  showLine(session)
}

/** Loads the form as it is saved now. What is typed and not saved is in the locks, and is offered. */
function reload() {
  window.location.assign(window.location.href.split('#')[0])
}

/** What the buttons at a field do. */
function actsOf(session) {
  const { petitions } = session
  return {
    petitions: petitions.of,
    askedSince: petitions.since,
    ask: petitions.ask,
    withdraw: petitions.withdraw,
    putOff: petitions.putOff,
    discard: (field) => field.discardOffer(),

    async takeOver(field) {
      if (!(await field.takeOver())) return
      const container = containerOf(session, field.name)
      const control = controlsIn(container).find(({ type }) => type !== 'hidden')
      const editable = container.querySelector('.ck-editor__editable')
      const target = editable ?? control
      target?.focus()
    },

    async handOver(field, user) {
      await field.handOver()
      const args = { '!name': nameOf(user), '!label': field.label }
      tell(Drupal.t('!name can have !label now.', args))
    },

    async restore(field) {
      if (await field.restore()) return
      tell(Drupal.t('This form has no control for that text.'))
    }
  }
}

/** Follows the locks, until the form is gone. */
function follow(session) {
  const { crowd, locks, petitions, uid } = session
  for (const entity of session.entities) {
    const stop = locks.subscribe(entity, {
      locks: (now, _isStale, isWhole) => hear(session, entity.id, now, isWhole),
      down() {
        crowd.isDown = true
        showLine(session)
      },
      saved(save) {
        // The page is about to go by its own save.
        if (session.sentAt > 0 && save.uid === uid) return
        session.checks = session.checks.then(() => checkSave(session, save))
      },
      requested: (petition) => petitions.hear(petition, session.labelOf(petition.fieldName)),
      present(presence) {
        if (presence.userData.uid !== uid) seeLooker(crowd, presence)
        // Another window of this user was closed.
        else if (presence.until === 0) attend(session)
        showLine(session)
      }
    })
    session.stops.push(stop)
  }
}

/**
 * Shows a save, unless this form was opened after it. A save that Drupal made while Quoin was away is
 * told late.
 */
async function checkSave(session, save) {
  const { crowd, settings } = session
  const savedAs = crowd.saves.length === 0 ? await presentState(session).catch(() => '') : ''
  if (session.isEnded || savedAs === settings.savedAs) return
  seeSave(crowd, save)
  showLine(session)
}

/** What the saved state is called that this form would show if it were opened now. */
async function presentState({ key }) {
  const answer = await fetch(window.location.href, { signal: AbortSignal.timeout(STATE_MS) })
  const page = new window.DOMParser().parseFromString(await answer.text(), 'text/html')
  const json = page.querySelector('[data-drupal-selector="drupal-settings-json"]')?.textContent
  return JSON.parse(json ?? '{}').quoin?.forms[key]?.savedAs
}

/** What a stream says of the locks of one entity. */
function hear(session, id, locks, isWhole) {
  const { crowd } = session
  if (isWhole) crowd.lookers.clear()
  crowd.isDown = false
  if (crowd.failure?.passes) crowd.failure = undefined
  if (isWhole) findTexts(session, id)
  seeLocks(crowd, id, locks)
  for (const field of session.fields.values()) {
    if (field.what.id === id) field.show(locks.find(({ fieldName }) => fieldName === field.name))
  }
  session.petitions.show()
  show(session)
}

/** Says that this user has the form open. A page in the background says nothing. */
function attend({ locks, entities, isEnded }) {
  if (document.hidden || isEnded) return
  // A user who is refused is only not shown.
  for (const entity of entities) locks.attend(entity).catch(() => {})
}

function listen(session) {
  const { stops } = session
  const on = (target, type, run) => {
    target.addEventListener(type, run)
    stops.push(() => target.removeEventListener(type, run))
  }
  attend(session)
  const timer = setInterval(attend, PRESENT_MS, session)
  stops.push(() => clearInterval(timer))
  on(document, 'visibilitychange', () => attend(session))
  on(session.form, 'submit', (event) => send(session, event))
  // Before the client's own, which leaves typed texts in their locks.
  on(window, 'pagehide', () => goAway(session))
  stops.push(session.locks.releaseOnPageHide())
}

/** Drupal saves now. What it refuses comes back with the form, and is locked again. */
function send(session, { submitter }) {
  // A preview is no save: the form comes back.
  if (/preview/.test(submitter?.id ?? '')) return
  session.sentAt = Date.now()
  const dirty = [...session.fields.values()].filter(({ isDirty }) => isDirty)
  for (const field of dirty) field.rest()
  const { savedAs } = session.settings
  const states = dirty.map((field) => [field.name, { ...field.state(), savedAs }])
  session.memory.write(Object.fromEntries(states))
}

/** The page goes. After a save no lock is needed; else a typed text stays in its lock. */
function goAway(session) {
  if (Date.now() - session.sentAt < SAVE_MS) {
    for (const field of session.fields.values()) field.release()
  }
  withdraw(session)
}

function withdraw({ petitions, locks, entities }) {
  petitions.end()
  for (const entity of entities) locks.leave(entity).catch(() => {})
}

/** Goes on with what the tab remembers: the texts of a form that came back, or never arrived. */
function recall(session) {
  const { memory, fields, settings } = session
  const remembered = memory.read()
  memory.write({})
  for (const [name, { text, base, savedAs }] of Object.entries(remembered)) {
    const field = fields.get(name)
    const isSaved = savedAs !== undefined && savedAs !== settings.savedAs
    if (settings.isReturned && base) field?.goOn(base)
    else if (text !== undefined && !isSaved) field?.propose(text)
    if (field?.offer) memory.keep(name, text)
  }
}

/** Offers what this user had typed and not saved, in locks and drafts; once, as soon as Quoin answers. */
async function findTexts(session, id) {
  if (session.searched.has(id)) return
  session.searched.add(id)
  try {
    await findIn(session, { type: session.settings.type, id })
  } catch (error) {
    session.searched.delete(id)
    noteFailure(session, error)
  }
  show(session)
}

async function findIn({ fields, locks, settings, uid }, entity) {
  const [present, drafts] = await Promise.all([locks.list(entity), locks.drafts(entity)])
  // The newest is first, and stays.
  for (const { fieldName, payload } of drafts.reverse()) {
    fields.get(fieldName)?.propose(payload)
  }
  for (const { fieldName, payload, version, userData } of present) {
    const field = fields.get(fieldName)
    if (!field || userData.uid !== uid || field.held) continue
    if (settings.isReturned && payload === field.state().text) field.goOn()
    else field.propose(payload, { version })
  }
}
