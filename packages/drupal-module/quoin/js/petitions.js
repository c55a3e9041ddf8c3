/* global Drupal */
import { at, nameOf, tell } from './words.js'

/** After how long a request for a field is sent again, in milliseconds: by itself it ends after a minute. */
const AGAIN_MS = 25_000

/** How long somebody else's request is shown after it was last heard of, in milliseconds. */
const SHOWN_MS = 70_000

/** What this user asks the holders of fields for, and what others ask this user for. */
export function createPetitions({ locks, uid, onChange, onFailure }) {
  const own = new Map()
  let others = []

  async function send(field, petition) {
    try {
      await locks.ask(field.what)
      if (own.get(field) === petition) petition.timer = setTimeout(send, AGAIN_MS, field, petition)
      else if (!own.has(field)) sendWithdrawal(field)
    } catch (error) {
      if (own.get(field) !== petition) return
      forget(field)
      // Where nobody has it any more, the events say so.
      if (error.code !== 'FIELD_NOT_LOCKED') onFailure(error)
      onChange()
    }
  }

  /** A request that could not be withdrawn ends by itself. */
  function sendWithdrawal({ what }) {
    locks.withdraw(what).catch(() => {})
  }

  function forget(field) {
    clearTimeout(own.get(field)?.timer)
    own.delete(field)
  }

  function withdraw(field) {
    if (!own.has(field)) return
    forget(field)
    sendWithdrawal(field)
    onChange()
  }

  const keyOf = ({ entityId, fieldName, userData }) => `${entityId} ${fieldName} ${userData.uid}`

  return {
    withdraw,

    ask(field) {
      const petition = { since: Date.now() / 1000 }
      own.set(field, petition)
      tell(
        Drupal.t('Asked for !label at !time', {
          '!label': field.label,
          '!time': at(petition.since)
        })
      )
      send(field, petition)
      onChange()
    },

    /** Since when this user asks for a field, in seconds. */
    since: (field) => own.get(field)?.since,

    /** Those who ask for a field of this user's, and have not been put off. */
    of: ({ what: { id, fieldName } }) =>
      others.filter(
        (one) =>
          one.entityId === id &&
          one.fieldName === fieldName &&
          !one.isHidden &&
          Date.now() - one.heardAt < SHOWN_MS
      ),

    putOff(key) {
      for (const one of others) if (one.key === key) one.isHidden = true
      onChange()
    },

    /** What the events say of a request. */
    hear(petition, label) {
      if (petition.userData.uid === uid) return
      const key = keyOf(petition)
      const before = others.find((one) => one.key === key)
      others = others.filter((one) => one !== before)
      if (petition.until > 0) {
        const isHidden = before?.isHidden ?? false
        others.push({ ...petition, key, heardAt: Date.now(), isHidden })
        const args = { '!name': nameOf(petition.userData), '!label': label }
        if (!before) tell(Drupal.t('!name asks for !label.', args))
      }
      onChange()
    },

    /** What nobody else holds is asked for no longer: the next holder would be told. */
    show() {
      for (const field of own.keys()) if (!field.holder) withdraw(field)
    },

    end: () => [...own.keys()].forEach(withdraw)
  }
}
