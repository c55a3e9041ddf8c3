/* global Drupal */

/** What the others call somebody. */
export function nameOf({ uid, name }) {
  return name || Drupal.t('User !uid', { '!uid': uid })
}

/** "14:02", or with the day when that is another. */
export function at(seconds) {
  const then = new Date(seconds * 1000)
  const language = document.documentElement.lang || undefined
  const time = then.toLocaleTimeString(language, { hour: '2-digit', minute: '2-digit' })
  const dayOf = (date) => date.toLocaleDateString(language, { day: 'numeric', month: 'short' })
  return dayOf(then) === dayOf(new Date()) ? time : `${dayOf(then)}, ${time}`
}

/**
 * "since 14:02, last typed 14:05", of a lock. Any program may have written when its holder typed,
 * by a clock of its own: it is told as a time between the beginning of the lock and now.
 */
export function since({ timestamp, userData: { typedAt } }) {
  if (typeof typedAt !== 'number') return Drupal.t('since !time', { '!time': at(timestamp) })
  const typed = Math.max(timestamp, Math.min(typedAt, Date.now() / 1000))
  return Drupal.t('since !time, last typed !typed', { '!time': at(timestamp), '!typed': at(typed) })
}

/** The beginning of a text, in quotation marks. */
export function quote(text) {
  if (text === '') return Drupal.t('nothing')
  const words =
    text
      .replaceAll(/<[^<>]*>/g, ' ')
      .replaceAll(/\s+/g, ' ')
      .trim() || text
  const beginning = words.slice(0, 160).replace(/\p{Surrogate}$/u, '')
  return Drupal.t('“!text”', { '!text': beginning + (beginning.length < words.length ? '…' : '') })
}

/**
 * Says a change to those who do not see it. Drupal takes what is announced for HTML; a name or a
 * label of others is none.
 */
export function tell(text) {
  Drupal.announce(Drupal.checkPlain(text))
}
