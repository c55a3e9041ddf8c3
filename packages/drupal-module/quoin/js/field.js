/* global Drupal */
import { nameOf, tell } from './words.js'
import { printOf, restoreSnapshot, snapshotOf, textOf, writeText } from './controls.js'

/** How long after the last keystroke a text goes to the lock, in milliseconds. */
const REST_MS = 400
/** How long after the first keystroke a text goes to the lock at the latest, in milliseconds. */
const LONGEST_MS = 2000
/** How long to wait after Quoin did not answer, in milliseconds. */
const AGAIN_MS = 5000
/** How long to wait for the next event, when a lock changes while it is taken over. */
const NEWS_MS = 5000
/** How often a lock is taken over that changes at once. */
const TRIES = 10

/**
 * A field of the form as one editor has it: what stands in it, its lock, and who has it else.
 *
 * @param options.what the lock: `{ type, id, fieldName }`
 * @param options.kind how its text is written; null for a field that is locked without it
 * @param options.find gives the container of its controls, which AJAX may replace
 * @param options.keep keeps a text in the tab, beside the lock
 */
export function createField({ label, kind, what, locks, uid, find, onChange, onFailure, keep }) {
  const name = what.fieldName
  const field = {
    name,
    label,
    what,
    /** The lock of this page. */
    held: undefined,
    /** The lock of another user. */
    holder: undefined,
    /** What this user had typed before: `{ text, version }`; the version is that of its lock. */
    offer: undefined,
    /** When the text was kept, in seconds. */
    keptAt: undefined,
    trouble: undefined
  }
  let base = { print: printOf(find(), name), text: read(), snapshot: snapshotOf(find()) }
  let now = { print: base.print, text: base.text, at: Date.now() }
  /** The text that was sent last. */
  let sent
  let acquisition
  let isLeft = false
  /** Whether the form came back with a text that is not saved: it stays there, to be saved over. */
  let isReturned = false
  let timer
  let latest
  /** What the events say of the field, and the version of a lock that is over. */
  let shown
  let endedVersion
  let news = Promise.withResolvers()

  function read() {
    return textOf(find(), name, kind)
  }

  function isDirty() {
    return now.print !== base.print
  }

  /** Looks what stands in the field now. */
  function check() {
    if (field.holder) return
    const print = printOf(find(), name)
    if (print === now.print) return
    now = { print, text: read(), at: Date.now() }
    if (now.text !== undefined && now.text === field.offer?.text) field.offer = undefined
    if (field.held) delay()
    else if (isDirty()) take()
    onChange()
  }

  function delay() {
    latest ??= Date.now() + LONGEST_MS
    clearTimeout(timer)
    timer = setTimeout(send, Math.min(REST_MS, latest - Date.now()))
  }

  function rest() {
    clearTimeout(timer)
    latest = undefined
  }

  function retry() {
    rest()
    timer = setTimeout(() => (field.held ? send() : take()), AGAIN_MS)
  }

  /** Keeps what is typed in the lock. */
  async function send() {
    const { held } = field
    rest()
    if (!held || now.text === undefined || now.text === sent) return
    const { text } = now
    sent = text
    try {
      await held.save(text, { age: Date.now() - now.at })
      if (held === field.held) {
        field.keptAt = Date.now() / 1000
        succeed()
      }
    } catch (error) {
      if (held !== field.held) return
      sent = undefined
      refuse(error)
    }
    onChange()
  }

  /** Takes the lock, unless it is held. */
  function take(get = () => locks.acquire(what, { onLost, payload: now.text })) {
    if (field.held) return Promise.resolve()
    rest()
    acquisition ??= get()
      .then(grant, refuse)
      .finally(() => {
        acquisition = undefined
        onChange()
      })
    return acquisition
  }

  function grant(held) {
    field.held = held
    field.holder = undefined
    sent = held.found
    endedVersion = shown?.version
    succeed()
    propose(held.found)
    // The lock gets the present text: the found one is in this tab alone from now on.
    if (isDirty() && field.offer?.text === held.found) keep(name, held.found)
    if (isDirty()) send()
    else if (isLeft) release()
  }

  function succeed() {
    field.trouble = undefined
    onFailure(undefined)
  }

  function refuse(error) {
    if (error.lock && error.lock.userData.uid !== uid) return lose(error.lock)
    field.trouble =
      error.status === 413
        ? Drupal.t(
            'This text is too long for its lock. Until you save it, it is in this form alone.'
          )
        : undefined
    onFailure(error)
    if (error.passes && isDirty()) retry()
  }

  /** Shows a text of this user's that is not the present one. */
  function propose(text, source = {}) {
    if (text === undefined || text === now.text || text === base.text) return
    field.offer = { ...source, text }
  }

  function onLost({ lock }) {
    if (lock && lock.userData.uid !== uid) return lose(lock)
    field.held = undefined
    field.trouble = lock && Drupal.t('You went on with this field in another window.')
    if (!lock && isDirty() && !isLeft) take()
    onChange()
  }

  /** Somebody else has the field: it shows what was saved, and what was typed is offered. */
  function lose(by) {
    const wasHeld = field.held !== undefined
    const had = isDirty() ? now.text : undefined
    field.held = undefined
    field.holder = by
    field.keptAt = undefined
    field.trouble = undefined
    rest()
    const args = { '!name': nameOf(by.userData), '!label': label }
    if (isReturned && !wasHeld) return onChange()
    // What is not one text is in this form alone: it stays there.
    if (isDirty() && had === undefined) {
      tell(Drupal.t('!name took over !label. What you had changed stays in this form.', args))
      return onChange()
    }
    if (wasHeld) tell(Drupal.t('!name took over !label. What you had typed is kept.', args))
    else if (had !== undefined) tell(Drupal.t('!name is editing !label.', args))
    putAside(had)
    onChange()
  }

  /** Puts back what stood in the field when the form was opened. What is typed is offered again. */
  function putAside(text) {
    if (base.snapshot) restoreSnapshot(find(), base.snapshot)
    else if (base.text !== undefined) writeText(find, name, kind, base.text)
    now = { print: printOf(find(), name), text: read(), at: Date.now() }
    base = { ...base, print: now.print, text: now.text }
    if (text === undefined) return
    keep(name, text)
    propose(text)
  }

  async function release() {
    const { held } = field
    rest()
    if (!held) return
    field.held = undefined
    field.keptAt = undefined
    sent = undefined
    endedVersion = held.version
    onChange()
    // The client tries a passing failure again, and no text depends on it.
    await held.release().catch(() => {})
  }

  /**
   * Takes the lock from its user in the version that was shown last. Who types writes new ones: then
   * this waits for the next event.
   */
  async function takeFrom(from, tries = 1) {
    const version = shown?.version
    try {
      return await locks.overwrite(what, { version, onLost })
    } catch (error) {
      if (error.code !== 'LOCK_CHANGED') throw error
      if (!error.lock) return locks.acquire(what, { onLost })
      if (error.lock.userData.uid !== from) throw error
      if (shown?.version === version) {
        await Promise.race([news.promise, new Promise((resolve) => setTimeout(resolve, NEWS_MS))])
      }
      if (shown?.version === version || tries === TRIES) throw error
      return takeFrom(from, tries + 1)
    }
  }

  /** A text that is restored or discarded is no draft any more. */
  async function forgetDrafts(text) {
    for (const { id: draft, payload } of await locks.drafts(what, { fieldName: name })) {
      if (payload === text) await locks.discard({ ...what, draft })
    }
  }

  Object.defineProperty(field, 'isDirty', { get: isDirty })
  return Object.assign(field, {
    check,
    propose,
    /** What stands in the field, and stood there at first, for the tab to remember. */
    state: () => ({ text: now.text, base: { print: base.print, text: base.text } }),

    /**
     * The form came back with what was typed, and not saved.
     * @param before what stood in the field at first, where that is known
     */
    goOn({ print, text } = {}) {
      base = { print, text }
      isReturned = true
      if (isDirty()) take()
    },

    /** The reader has left the field: a lock that no text needs is given back. */
    leave() {
      check()
      isLeft = true
      if (!isDirty()) release()
    },

    enter() {
      isLeft = false
    },

    async takeOver() {
      await acquisition
      await take(() => takeFrom(field.holder?.userData.uid))
      return field.held !== undefined
    },

    /** Goes on with an earlier text. @returns whether the field has it */
    async restore() {
      const { text, version } = field.offer
      const present = isDirty() ? now.text : undefined
      if (field.holder) return false
      const isThere = await writeText(find, name, kind, text)
      check()
      if (!isThere) return false
      field.offer = undefined
      if (present !== undefined && present !== text) propose(present)
      forgetDrafts(text).catch(() => {})
      if (version && !isDirty()) locks.release(what, { version }).catch(() => {})
      onChange()
      return true
    },

    /** Drops what was typed before. */
    discardOffer() {
      const { text, version } = field.offer
      field.offer = undefined
      keep(name, undefined)
      forgetDrafts(text).catch(onFailure)
      if (version && !field.held) locks.release(what, { version }).catch(onFailure)
      onChange()
    },

    /** Gives the lock to who asks for it. What is typed is offered again. */
    async handOver() {
      await acquisition
      putAside(isDirty() ? now.text : undefined)
      await release()
    },

    /** What the events say of the field now. */
    show(lock) {
      if (lock?.version !== undefined && lock.version === endedVersion) return
      const wasMine = shown?.userData.uid === uid
      shown = lock
      news.resolve()
      news = Promise.withResolvers()
      const wasTheirs = field.holder !== undefined
      const isNews = field.held || (isDirty() && !field.holder)
      field.holder = lock && lock.userData.uid !== uid ? lock : undefined
      if (field.holder && isNews) return lose(field.holder)
      // What stayed in the form while another had the field is locked again.
      if (wasTheirs && !field.holder && !field.held && isDirty()) take()
      // Somebody may have forced the release. The next write tells.
      if (!lock && wasMine && field.held && isDirty()) {
        sent = undefined
        send()
      }
    },

    /** The form is sent: until the page goes, nothing more is written. */
    rest,
    release,

    /** The form is gone without its page. */
    end() {
      isLeft = true
      if (field.held && !field.held.isTyped) release()
      else send()
      rest()
    }
  })
}
