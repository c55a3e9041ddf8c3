/** What comes of a text that was changed here, there or on both sides. */
export type MergeResult = { text: string } | { conflict: true }

/**
 * Puts a change on top of another of the same text.
 * @param base what both began with
 */
export function settle(base: string, mine: string, theirs: string): MergeResult {
  if (theirs === base) return { text: mine }
  return mine === base || mine === theirs ? { text: theirs } : { conflict: true }
}

/**
 * An earlier order with the articles that came meanwhile, each after its present predecessor.
 * Articles that have gone since are in it too.
 */
export function fit(order: string[], present: string[]): string[] {
  const result = [...order]
  present.forEach((token, index) => {
    if (result.includes(token)) return
    const previous = present.slice(0, index).findLast((earlier) => result.includes(earlier))
    result.splice(previous === undefined ? 0 : result.indexOf(previous) + 1, 0, token)
  })
  return result
}

/**
 * A text that is edited, what it was, and what somebody else has made of that where both differ.
 */
export interface Edited {
  base: string
  text: string
  theirs: string | undefined
}

/** What becomes of a text when something else is saved underneath it. */
export function rebase({ base, text, theirs }: Edited, now: string): Edited {
  const settled = settle(base, text, now)
  const mine = 'text' in settled ? settled.text : text
  return {
    base: now,
    text: mine,
    theirs: mine === now ? undefined : 'text' in settled ? theirs : now
  }
}
