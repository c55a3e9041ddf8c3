import type { Field } from './field.ts'

/** Whether a text is lost when the page closes: what is not in its lock yet can be sent then, but only to a lock that is held and answers. */
export function isAtRisk (fields: Array<Pick<Field, 'isKept' | 'isHeld' | 'trouble'>>): boolean {
  return fields.some(({ isKept, isHeld, trouble }) => !isKept && (!isHeld || trouble !== undefined))
}
