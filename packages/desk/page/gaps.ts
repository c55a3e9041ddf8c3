import type { Gap } from './operations.ts'

/** How near to an edge a drag scrolls the page, in pixels. */
const EDGE = 72

/** How fast it scrolls at the edge itself and beyond, in pixels a second. */
const FASTEST = 900

/**
 * The gap between rows that is nearest to a height: 0 is before the first, `count` behind the last.
 * @param middleOf the height of the middle of a row
 */
export function gapAt(count: number, middleOf: (index: number) => number, y: number): number {
  let [low, high] = [0, count]
  while (low < high) {
    const index = (low + high) >> 1
    if (middleOf(index) < y) low = index + 1
    else high = index
  }
  return low
}

/**
 * A gap as the neighbours that it has once what is moved is taken out; undefined where the order
 * would stay as it is.
 */
export function gapBeside(tokens: string[], moved: string[], index: number): Gap | undefined {
  const isMoved = (token: string) => moved.includes(token)
  const [above, below] = [tokens.slice(0, index), tokens.slice(index)]
  const [upper, lower] = [above, below].map((part) => part.filter((token) => !isMoved(token)))
  const order = [...upper!, ...tokens.filter(isMoved), ...lower!]
  return moved.length > 0 && order.every((token, at) => token === tokens[at])
    ? undefined
    : { after: upper!.at(-1), before: lower![0], index: upper!.length }
}

/**
 * How fast a drag scrolls the page, in pixels a second, upwards below 0.
 * @param top where the page is seen from, below what stands still
 * @param bottom until where
 */
export function scrollSpeed(y: number, top: number, bottom: number): number {
  const depth = (distance: number) => Math.max(0, Math.min(1, 1 - distance / EDGE))
  return FASTEST * (depth(bottom - y) - depth(y - top))
}
