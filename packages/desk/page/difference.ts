import { diffArrays } from 'diff'

/**
 * A part of a text: the same before and after, or changed. Either side of a change may be empty.
 */
export type Piece = { same: string } | TextChange

export interface TextChange {
  gone: string
  came: string
}

/** What has become of an article of an order. */
export interface OrderDifference {
  what: 'came' | 'gone' | 'moved'
  token: string
}

/**
 * How many words may differ between texts that are compared word by word: the work grows with its
 * square.
 */
const MOST = 500

/** How much of two texts has to be the same for their difference to be told in pieces. */
const ALIKE = 0.2

const words = new Intl.Segmenter(undefined, { granularity: 'word' })

export function isChange(piece: Piece): piece is TextChange {
  return 'came' in piece
}

/**
 * The difference of two texts, word by word. Changed words with nothing but spaces between them are
 * one piece.
 */
export function differenceOf(before: string, after: string): Piece[] {
  const parts = diffArrays(wordsOf(before), wordsOf(after), { maxEditLength: MOST })
  const pieces: Piece[] = []
  for (const { value, added, removed } of parts ?? []) {
    const text = value.join('')
    const change = { gone: removed ? text : '', came: added ? text : '' }
    add(pieces, added || removed ? change : { same: text })
  }
  const same = pieces.reduce(
    (sum, piece) => sum + (isChange(piece) ? 0 : piece.same.trim().length),
    0
  )
  return parts && same >= ALIKE * Math.min(before.trim().length, after.trim().length)
    ? pieces
    : wholeDifference(before, after)
}

/** The difference of two values that are no texts, such as dates. */
export function wholeDifference(before: string, after: string): Piece[] {
  return before === after ? [{ same: before }] : [{ gone: before, came: after }]
}

function wordsOf(text: string): string[] {
  return [...words.segment(text)].map(({ segment }) => segment)
}

function add(pieces: Piece[], piece: Piece): void {
  const last = pieces.at(-1)
  const change = last && !isChange(last) && /^[^\S\n]+$/.test(last.same) ? pieces.at(-2) : last
  if (!isChange(piece) || !change || !isChange(change)) {
    pieces.push(piece)
    return
  }
  const between = last === change ? '' : (pieces.pop() as { same: string }).same
  pieces[pieces.length - 1] = {
    gone: change.gone + between + piece.gone,
    came: change.came + between + piece.came
  }
}

/** The text with those of its changes that are taken. */
export function compose(pieces: Piece[], isTaken: (change: TextChange) => boolean): string {
  return pieces
    .map((piece) => (isChange(piece) ? (isTaken(piece) ? piece.came : piece.gone) : piece.same))
    .join('')
}

/**
 * What came into an order, in its new order, what has moved in it, and then what has gone. No token
 * is in an order twice.
 */
export function orderDifference(before: string[], after: string[]): OrderDifference[] {
  const [then, now] = [new Set(before), new Set(after)]
  const moves = new Set(
    diffArrays(
      before.filter((token) => now.has(token)),
      after.filter((token) => then.has(token))
    ).flatMap(({ value, removed }) => (removed ? value : []))
  )
  return [
    ...after.flatMap((token): OrderDifference[] =>
      !then.has(token)
        ? [{ what: 'came', token }]
        : moves.has(token)
          ? [{ what: 'moved', token }]
          : []
    ),
    ...before
      .filter((token) => !now.has(token))
      .map((token): OrderDifference => ({ what: 'gone', token }))
  ]
}

/**
 * The order with those of its changes that are taken: what came or has moved stands after what it
 * stands after in the new one.
 */
export function composeOrder(
  before: string[],
  after: string[],
  isTaken: (change: OrderDifference) => boolean
): string[] {
  const changes = orderDifference(before, after).filter(isTaken)
  const removals = new Set(changes.filter(({ what }) => what !== 'came').map(({ token }) => token))
  const result = before.filter((token) => !removals.has(token))
  for (const { token } of changes.filter(({ what }) => what !== 'gone')) {
    const previous = after
      .slice(0, after.indexOf(token))
      .findLast((earlier) => result.includes(earlier))
    result.splice(previous === undefined ? 0 : result.indexOf(previous) + 1, 0, token)
  }
  return result
}
