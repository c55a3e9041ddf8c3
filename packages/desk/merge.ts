/** What comes of a text that was changed here, there or on both sides. */
export type Settled = { text: string } | { conflict: true }

/**
 * Puts a change on top of another of the same text.
 * @param base what both began with
 */
export function settle (base: string, mine: string, theirs: string): Settled {
  if (theirs === base) return { text: mine }
  return mine === base || mine === theirs ? { text: theirs } : { conflict: true }
}

/** The same for a running order, its articles separated by spaces: one side may have moved some, the other added or taken out some. */
export function settleOrder (base: string, mine: string, theirs: string): Settled {
  const settled = settle(base, mine, theirs)
  if ('text' in settled) return settled
  const [was, here, there] = [base, mine, theirs].map((text) => text.split(' ').filter(Boolean)) as [string[], string[], string[]]
  if (!isReordered(was, there)) return { text: adopted(was, here, there).join(' ') }
  if (!isReordered(was, here)) return { text: adopted(was, there, here).join(' ') }
  return { conflict: true }
}

/** Whether what is in both has another order. */
function isReordered (before: string[], after: string[]): boolean {
  const stayed = before.filter((one) => after.includes(one))
  const found = after.filter((one) => before.includes(one))
  return stayed.some((one, index) => one !== found[index])
}

/** An order with what the other side took out or added; that comes after what it came after there. */
function adopted (before: string[], order: string[], other: string[]): string[] {
  const result = order.filter((one) => other.includes(one) || !before.includes(one))
  other.forEach((one, index) => {
    if (before.includes(one) || result.includes(one)) return
    const previous = other.slice(0, index).findLast((earlier) => result.includes(earlier))
    result.splice(previous === undefined ? 0 : result.indexOf(previous) + 1, 0, one)
  })
  return result
}

/** An order of before with the articles of the present one: those that came meanwhile after what they came after, none that has gone. */
export function fitted (order: string, present: string): string {
  const [then, now] = [order, present].map((text) => text.split(' ').filter(Boolean)) as [string[], string[]]
  return adopted(then, then, now).join(' ')
}

/** An order with one of it moved to another place. */
export function moved (order: string, token: string, to: number): string {
  const others = order.split(' ').filter((one) => one !== token)
  others.splice(Math.max(0, Math.min(to, others.length)), 0, token)
  return others.join(' ')
}

/** A text that is edited, what it was, and what somebody else has made of that where both differ. */
export interface Edited { base: string, text: string, theirs: string | undefined }

/** What becomes of a text when something else is saved underneath it. */
export function rebased ({ base, text, theirs }: Edited, now: string, put: typeof settle): Edited {
  const settled = put(base, text, now)
  const mine = 'text' in settled ? settled.text : text
  return { base: now, text: mine, theirs: mine === now ? undefined : 'text' in settled ? theirs : now }
}
