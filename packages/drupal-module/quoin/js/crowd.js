/* global Drupal */
import { nameOf, tell } from './words.js'

/**
 * Who else is here: whose locks there are, who looks on, what was saved meanwhile, and whether
 * Quoin answers. The line above the form says it.
 *
 * @param options.uid who is logged in
 * @param options.labelOf the label of a field
 */
export function createCrowd({ uid, labelOf }) {
  return {
    uid,
    labelOf,
    board: [],
    lookers: new Map(),
    saves: [],
    isDown: false,
    failure: undefined
  }
}

/** Takes the locks of one entity, and says which came and went. */
export function seeLocks(crowd, id, locks) {
  const before = crowd.board.filter((lock) => lock.entityId === id)
  crowd.board = [...crowd.board.filter((lock) => lock.entityId !== id), ...locks]
  const isNew = missingIn(before)
  for (const lock of locks.filter(isNew)) {
    sayOf(crowd, lock, (args) => Drupal.t('!name is editing !label', args))
  }
  const isOver = missingIn(locks)
  for (const lock of before.filter(isOver)) {
    sayOf(crowd, lock, (args) => Drupal.t('!name has let go of !label', args))
  }
}

function missingIn(locks) {
  const keyOf = ({ fieldName, userData }) => `${fieldName} ${userData.uid}`
  const keys = new Set(locks.map(keyOf))
  return (lock) => !keys.has(keyOf(lock))
}

function sayOf({ uid, labelOf }, { fieldName, userData }, words) {
  if (userData.uid === uid) return
  tell(words({ '!name': nameOf(userData), '!label': labelOf(fieldName) }))
}

export function seeLooker(crowd, { userData, until }) {
  if (until === 0) crowd.lookers.delete(userData.uid)
  else crowd.lookers.set(userData.uid, userData)
}

export function seeSave(crowd, save) {
  crowd.saves.push(save)
  tell(savedText(crowd))
}

/** What the line above the form says; nothing where nobody else is here. */
export function lineOf(crowd) {
  const { saves, isDown, failure } = crowd
  if (saves.length > 0) return savedText(crowd)
  if (failure?.status === 401 || failure?.status === 403) {
    return Drupal.t('Quoin does not let you lock fields: the others do not see what you edit.')
  }
  if (isDown || failure) {
    return Drupal.t('Quoin does not answer: the others do not see what you edit.')
  }
  return [...workers(crowd), ...lookers(crowd)].join(' ')
}

function workers({ board, uid, labelOf }) {
  const labels = new Map()
  for (const { fieldName, userData } of board) {
    if (userData.uid === uid) continue
    const name = nameOf(userData)
    labels.set(name, [...(labels.get(name) ?? []), labelOf(fieldName)])
  }
  return [...labels].map(([name, which]) =>
    Drupal.t('!name is editing !labels.', { '!name': name, '!labels': which.join(', ') })
  )
}

function lookers({ board, lookers }) {
  const atWork = new Set(board.map(({ userData }) => userData.uid))
  const names = [...lookers.values()].filter((one) => !atWork.has(one.uid)).map(nameOf)
  if (names.length === 0) return []
  return [Drupal.t('Looking on: !names', { '!names': names.sort().join(', ') })]
}

/**
 * Drupal refuses the save of a form that was opened before another save.
 * Source: EntityChangedConstraintValidator.
 */
function savedText({ saves, lookers, board, uid, labelOf }) {
  const { uid: by, fields } = saves.at(-1)
  const args = { '!labels': fields.map(labelOf).join(', ') }
  if (by === uid) {
    return Drupal.t(
      'You have saved !labels elsewhere. Drupal takes no save of this form any more.',
      args
    )
  }
  const lock = board.find(({ userData }) => userData.uid === by)
  const who = lookers.get(by) ?? lock?.userData ?? { uid: by }
  args['!name'] = by === undefined ? Drupal.t('Somebody') : nameOf(who)
  return Drupal.t('!name has saved !labels. Drupal takes no save of this form any more.', args)
}
