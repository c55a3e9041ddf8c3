import type { QuoinError } from '../../client/src/client.ts'
import { sentenceOf } from './reasons.ts'
import { say } from './texts.ts'
import { nameOf } from './words.ts'

export interface Refusal {
  /** Why nothing was saved, in a sentence or two. */
  text: string
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

/** Why these fields cannot be saved yet, if something is in the way. */
export function hindranceOf(
  fields: Array<{ theirs: string | undefined; isUnfinished: boolean }>
): string | undefined {
  if (fields.some(({ isUnfinished }) => isUnfinished)) return say('notSavedUnfinished')
  return fields.some(({ theirs }) => theirs !== undefined) ? say('notSavedUndecided') : undefined
}

/**
 * How the texts of an edition are: whether there is something to choose, whether one is in this
 * browser alone, and whether the edition is yet to be made.
 */
export interface TextsState {
  isUndecided: boolean
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
  { isUndecided, isAtRisk, isNew = false }: TextsState
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
  const field = forbiddenField({ code, message }) ?? ''
  const [, , why] = FORBIDDEN.exec(message) ?? []
  const forbiddenLabel = labels.get(field)
  if (forbiddenLabel !== undefined) {
    fields.set(field, [`${say('forbidden')}${why ? ` ${why}` : ''}`])
    return {
      text: say(isNew ? 'notMadeForbidden' : 'notSavedForbidden', { label: forbiddenLabel }),
      fields,
      forbiddenName: field
    }
  }
  return { text: reason(), fields }

  function reason(): string {
    if (code === 'PRECONDITION_FAILED') {
      return say(isUndecided ? 'notSavedUndecided' : 'notSavedMoved')
    }
    if (fields.size > 0) return [say(isNew ? 'notMadeWrong' : 'notSavedWrong'), ...others].join(' ')
    if (locks) {
      return say(isNew ? 'notMade' : 'notSaved', {
        reason: `${locks.map(({ fieldName, userData }) => say('isEditedBy', { label: labels.get(fieldName) ?? fieldName, name: nameOf(userData) })).join(', ')}.`
      })
    }
    const waits = status === 0 || status >= 500
    const what = say(isNew ? 'notMade' : 'notSaved', { reason: sentenceOf({ code, message }) })
    return !waits || isNew ? what : say(isAtRisk ? 'saveLater' : 'keptSaveLater', { what })
  }
}
