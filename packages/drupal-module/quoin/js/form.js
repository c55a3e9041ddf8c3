/* global Drupal, once */
import { createService } from './service.js'
import { endUnlessBack, openSession, rebind } from './session.js'

/** The edit forms of this page, by what they edit. */
const sessions = new Map()

/**
 * Locks the fields of edit forms. Without an answer of Quoin a form works as without this.
 * @type {Drupal~behavior}
 */
Drupal.behaviors.quoinForm = {
  attach(context, { quoin, path }) {
    if (!quoin) return
    const around = context.closest?.('form[data-quoin-form]')
    const within = context.querySelectorAll('form[data-quoin-form]')
    for (const form of around ? [around] : within) open(form, quoin, path)
  },

  detach(context, _settings, trigger) {
    if (trigger !== 'unload') return
    for (const session of sessions.values()) endUnlessBack(session)
  }
}

function open(form, { url, token, user, forms }, { baseUrl }) {
  const key = form.dataset.quoinForm
  const settings = forms[key]
  if (!settings) return
  const session = sessions.get(key)
  if (session && !session.isEnded) return rebind(session, form)
  once('quoin-form', form)
  const { locks } = createService({ url, token, user, base: baseUrl })
  sessions.set(key, openSession({ key, settings, user, locks, form }))
}
