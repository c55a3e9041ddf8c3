import type { QuoinError } from '../../client/src/client.ts'
import { sentenceOf } from './reasons.ts'
import { say, sayWith } from './texts.ts'
import { nameOf } from './words.ts'

/** A sentence with the labels of fields in it, each as `link` gives it. */
export type Linked = (link: (name: string) => unknown) => unknown[]

export interface Refusal {
  /** Why nothing was saved, in a sentence or two. */
  text: string
  linked: Linked
  /** What is wrong, by field. */
  fields: Map<string, string[]>
  /** The field that Drupal does not let this user change. */
  forbiddenName?: string
}

/** What Drupal says of a field that the user may not change, in core REST's words. */
const FORBIDDEN = /^Access denied on (?:updating|creating) field '([^']+)'\.\s*(.*)$/s

/** The field that Drupal does not let this user set. */
export function forbiddenField({
  code,
  message
}: Pick<QuoinError, 'code' | 'message'>): string | undefined {
  return code === 'CMS_FORBIDDEN' ? FORBIDDEN.exec(message)?.[1] : undefined
}

/** What of a field may keep an edition from being saved. */
interface Unsaved {
  shape: { name: string }
  theirs: string | undefined
  isUnfinished: boolean
}

/** Why these fields cannot be saved yet, if something is in the way. */
export function hindranceOf(fields: Unsaved[]): Linked | undefined {
  const unfinished = namesOf(fields, ({ isUnfinished }) => isUnfinished)
  if (unfinished.length > 0) return listed('notSavedUnfinished', unfinished)
  const undecided = undecidedOf(fields)
  return undecided.length > 0 ? listed('notSavedUndecided', undecided) : undefined
}

/** The names of the fields where a text has to be chosen: somebody else has saved another one. */
export function undecidedOf(fields: Unsaved[]): string[] {
  return namesOf(fields, ({ theirs }) => theirs !== undefined)
}

function namesOf(fields: Unsaved[], holds: (field: Unsaved) => boolean): string[] {
  return fields.filter(holds).map(({ shape }) => shape.name)
}

/** A sentence that counts fields and names them. */
function listed(
  key: 'notSavedUnfinished' | 'notSavedUndecided' | 'notSavedWrong' | 'notMadeWrong',
  names: string[]
): Linked {
  return (link) =>
    sayWith(key, {
      count: names.length,
      labels: names.flatMap((name, index) => (index === 0 ? [link(name)] : [', ', link(name)]))
    })
}

/** The sentence with the labels as they are. */
export function textOf(linked: Linked, labelOf: (name: string) => string): string {
  return linked(labelOf).flat(Infinity).join('')
}

/**
 * How the texts of an edition are: at which fields there is something to choose, whether one is in
 * this browser alone, and whether the edition is yet to be made.
 */
export interface TextsState {
  undecided: string[]
  isAtRisk: boolean
  isNew?: boolean
}

/**
 * Why an edition was not saved, for its editor: what Drupal's validation says (422) each at its
 * field, which its path begins with.
 */
export function refusalOf(
  error: Pick<QuoinError, 'code' | 'status' | 'message' | 'locks' | 'body'>,
  labels: Map<string, string>,
  { undecided, isAtRisk, isNew = false }: TextsState
): Refusal {
  const { code, status, message, locks, body } = error
  const { violations = [] } = (body ?? {}) as {
    violations?: Array<{ path: string; message: string }>
  }
  const fields = new Map<string, string[]>()
  const others: string[] = []
  for (const { path, message } of violations) {
    const [name = ''] = path.split('.')
    if (labels.has(name)) fields.set(name, [...(fields.get(name) ?? []), message])
    else others.push(path === '' ? message : `${path}: ${message}`)
  }
  const forbiddenName = forbiddenField({ code, message })
  const isForbidden = forbiddenName !== undefined && labels.has(forbiddenName)
  if (isForbidden) {
    const [, , why] = FORBIDDEN.exec(message)!
    fields.set(forbiddenName, [`${say('forbidden')}${why ? ` ${why}` : ''}`])
  }
  const linked = linkedReason()
  return {
    text: textOf(linked, (name) => labels.get(name) ?? name),
    linked,
    fields,
    ...(isForbidden && { forbiddenName })
  }

  function linkedReason(): Linked {
    if (isForbidden) {
      const key = isNew ? 'notMadeForbidden' : 'notSavedForbidden'
      return (link) => sayWith(key, { label: link(forbiddenName) })
    }
    if (code === 'PRECONDITION_FAILED') {
      return undecided.length > 0
        ? listed('notSavedUndecided', undecided)
        : () => [say('notSavedMoved')]
    }
    if (fields.size > 0) {
      const wrong = listed(isNew ? 'notMadeWrong' : 'notSavedWrong', [...fields.keys()])
      return (link) => [wrong(link), ...others.map((other) => ` ${other}`)]
    }
    if (locks) return (link) => lockedReason(locks, isNew, link)
    return () => [reason()]
  }

  function reason(): string {
    const waits = status === 0 || status >= 500
    const what = say(isNew ? 'notMade' : 'notSaved', { reason: sentenceOf({ code, message }) })
    return !waits || isNew ? what : say(isAtRisk ? 'saveLater' : 'keptSaveLater', { what })
  }
}

function lockedReason(
  locks: NonNullable<QuoinError['locks']>,
  isNew: boolean,
  link: (name: string) => unknown
): unknown[] {
  const all = locks.map(({ fieldName, userData }, index) => [
    index === 0 ? '' : ', ',
    sayWith('isEditedBy', { label: link(fieldName), name: nameOf(userData) })
  ])
  return sayWith(isNew ? 'notMade' : 'notSaved', { reason: [all, '.'] })
}
