import type { QuoinError } from '../client/src/client.ts'
import { nameOf } from './words.ts'

export interface Refusal {
  /** Why nothing was saved, in a sentence or two. */
  text: string
  /** What is wrong, by field. */
  fields: Map<string, string[]>
  /** The field that Drupal does not let this user change. */
  forbidden?: string
}

/** What Drupal says of a field that the user may not change, in core REST's words. */
const FORBIDDEN = /^Access denied on (?:updating|creating) field '([^']+)'\.\s*(.*)$/s

export const UNDECIDED = 'Not saved: a colleague has saved the same fields meanwhile. Choose at each which is to stay, then save again.'

export const MOVED = 'Not saved: a colleague has saved at the same moment. Save again.'

export const UNFINISHED = 'Not saved: some fields are not complete. Finish or empty them, then save again.'

/** The field that Drupal does not let this user set. */
export function forbiddenField ({ code, message }: Pick<QuoinError, 'code' | 'message'>): string | undefined {
  return code === 'CMS_FORBIDDEN' ? FORBIDDEN.exec(message)?.[1] : undefined
}

/** Why these fields cannot be saved yet, if something is in the way. */
export function hindranceOf (fields: Array<{ theirs: string | undefined, isUnfinished: boolean }>): string | undefined {
  if (fields.some(({ isUnfinished }) => isUnfinished)) return UNFINISHED
  return fields.some(({ theirs }) => theirs !== undefined) ? UNDECIDED : undefined
}

/** How the texts of an edition are: whether there is something to choose, and whether one is in this browser alone. */
export interface State { isUndecided: boolean, isAtRisk: boolean }

/** Why an edition was not saved, for its editor: what Drupal's validation says (422) each at its field, which its path begins with. */
export function refusalOf (error: Pick<QuoinError, 'code' | 'status' | 'message' | 'locks' | 'body'>, labels: Map<string, string>, { isUndecided, isAtRisk }: State): Refusal {
  const { code, status, message, locks, body } = error
  const { violations = [] } = (body ?? {}) as { violations?: Array<{ path: string, message: string }> }
  const fields = new Map<string, string[]>()
  const others: string[] = []
  for (const { path, message } of violations) {
    const [name = ''] = path.split('.')
    if (labels.has(name)) fields.set(name, [...fields.get(name) ?? [], message])
    else others.push(path === '' ? message : `${path}: ${message}`)
  }
  const field = forbiddenField({ code, message }) ?? ''
  const [, , why] = FORBIDDEN.exec(message) ?? []
  const forbidden = labels.get(field)
  if (forbidden !== undefined) {
    fields.set(field, [`Drupal does not let you change this.${why ? ` ${why}` : ''}`])
    return { text: `Not saved: Drupal does not let you change ${forbidden}. Save again to save the rest without it.`, fields, forbidden: field }
  }
  return { text: reason(), fields }

  function reason (): string {
    if (code === 'PRECONDITION_FAILED') return isUndecided ? UNDECIDED : MOVED
    if (fields.size > 0) return ['Not saved: some fields are not right.', ...others].join(' ')
    if (locks) return `Not saved: ${locks.map(({ fieldName, userData }) => `${labels.get(fieldName) ?? fieldName} is being edited by ${nameOf(userData)}`).join(', ')}.`
    const waits = status === 0 || status >= 500
    return `Not saved: ${message.trim().replace(/\.?$/, '.')}${!waits ? '' : isAtRisk ? ' Save again later.' : ' Your text is kept; save again later.'}`
  }
}
