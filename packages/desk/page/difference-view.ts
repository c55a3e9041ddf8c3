import { html, nothing, type TemplateResult } from 'lit-html'
import type { Choice, TextChoice } from './choices.ts'
import { isChange, type TextChange, type OrderDifference, type Piece } from './difference.ts'
import { say } from './texts.ts'
import type { View } from './ui.ts'

/** How many letters are shown before and after a change, of a part that has not changed. */
const AROUND = 80

/** Whether a difference tells more than the new text does. */
export function hasPieces({ pieces, changes }: TextChoice): boolean {
  return changes.length > 0 && pieces.some((piece) => !isChange(piece) && piece.same.trim() !== '')
}

/**
 * The difference of two texts. With a choice among several changes each one is a button that takes
 * or leaves it.
 */
export function differenceView(pieces: Piece[], choice?: Choice<TextChange>): TemplateResult {
  const isOffered = choice !== undefined && choice.changes.length > 1
  return html`<p class="difference" dir="auto">${pieces.map((piece, index) => {
    if (!isChange(piece)) {
      return html`<span>${shorten(piece.same, index > 0, index < pieces.length - 1)}</span>`
    }
    return isOffered
      ? html`<button type="button" class="piece" aria-pressed=${choice.isTaken(piece) ? 'true' : 'false'} @click=${() => choice.turn(piece)}>${sides(piece)}</button>`
      : html`<span class="piece">${sides(piece)}</span>`
  })}</p>`
}

function sides({ gone, came }: TextChange): TemplateResult {
  const shown = (text: string) => (text === '\n' ? '↵' : text)
  return html`${gone === '' ? nothing : html`<span class="spoken">${say('pieceGone')}</span><del>${shown(gone)}</del>`}${came === '' ? nothing : html`<span class="spoken">${say('pieceCame')}</span><ins>${shown(came)}</ins>`}`
}

/** What stands beside a change of a long text. */
function shorten(text: string, isAfter: boolean, isBefore: boolean): string {
  const letters = [...text]
  const [start, end] = [isAfter ? AROUND : 0, isBefore ? AROUND : 0]
  if (start + end === 0 || letters.length <= start + end + AROUND) return text
  return `${letters.slice(0, start).join('')} … ${end === 0 ? '' : letters.slice(-end).join('')}`
}

/**
 * What came into an order, moved in it and went. With a choice each one has a box that takes or
 * leaves it.
 */
export function orderDifferenceView(
  changes: OrderDifference[],
  titleOf: (token: string) => string,
  choice?: Choice<OrderDifference>
): View {
  if (changes.length === 0) return html`<p class="quiet">${say('sameOrder')}</p>`
  return html`<ul class="moves">${changes.map((change) => {
    const title = titleOf(change.token)
    const words = html`<span>${say({ came: 'cameIn', moved: 'hasMoved', gone: 'hasGone' }[change.what] as 'cameIn')}</span> <b dir="auto">${title}</b>`
    return html`<li class="is-${change.what}">${
      choice
        ? html`<button type="button" class="piece" aria-pressed=${choice.isTaken(change) ? 'true' : 'false'} @click=${() => choice.turn(change)}>${words}</button>`
        : words
    }</li>`
  })}</ul>`
}
