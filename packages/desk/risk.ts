import type { Field } from './field.ts'

/** How much of texts a page can send that closes: of 64 KiB (Fetch Standard, keepalive) something is for what is around them. */
const LAST_BYTES = 56_000

/**
 * Whether a text is lost when the page closes. What is not in its lock yet is sent then, but only to a lock that is held and answers, and only so much.
 * @param isSilent whether nothing is sent, since somebody else is signed in
 */
export function isAtRisk (fields: Array<Pick<Field, 'isKept' | 'isHeld' | 'trouble' | 'text'>>, isSilent = false): boolean {
  const unsent = fields.filter(({ isKept }) => !isKept)
  if (unsent.some(({ isHeld, trouble }) => isSilent || !isHeld || trouble !== undefined)) return true
  return new TextEncoder().encode(JSON.stringify(unsent.map(({ text }) => text))).length > LAST_BYTES
}
