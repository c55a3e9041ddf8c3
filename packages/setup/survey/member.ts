/**
 * How sure a member of the content model is: Drupal shows it, the names and values suggest it, or
 * Drupal does not show it.
 */
export type Certainty = 'shown' | 'guessed' | 'hidden'

/** What a survey says about one member of the content model. */
export interface Member {
  /** Such as `keys.id`. */
  name: string
  /**
   * The member's value on this site; undefined where it is not known, null where the site has no
   * such key.
   */
  value: unknown
  certainty: Certainty
  /** From what the survey concluded it; for a hidden member, what would show it. */
  why: string
}

export const shown = (name: string, value: unknown, why: string): Member => ({
  name,
  value,
  certainty: 'shown',
  why
})
export const guessed = (name: string, value: unknown, why: string): Member => ({
  name,
  value,
  certainty: 'guessed',
  why
})
export const hidden = (name: string, why: string): Member => ({
  name,
  value: undefined,
  certainty: 'hidden',
  why
})
