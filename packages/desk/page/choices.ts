import {
  compose,
  composeOrder,
  differenceOf,
  isChange,
  orderDifference,
  wholeDifference,
  type TextChange,
  type OrderDifference,
  type Piece
} from './difference.ts'
import type { Kind } from './fields.ts'
import { fit } from './merge.ts'

/** How many differences are remembered, each with what is chosen of it. */
const MOST = 100

/** The kinds of fields whose text is compared word by word. */
const IN_WORDS: Kind[] = ['line', 'lines', 'text', 'link']

/** What an editor takes of some changes. */
export interface Choice<One> {
  changes: One[]
  isTaken: (change: One) => boolean
  /** Takes a change that was left out, or leaves out one that was taken. */
  turn: (change: One) => void
}

/** @returns `text`: the text with the changes that are taken */
export type TextChoice = Choice<TextChange> & { pieces: Piece[]; text: string }

export type OrderChoice = Choice<OrderDifference> & { tokens: string[] }

/**
 * What an editor takes of the differences between what is there and other texts, such as drafts. A
 * change that comes again after something else has changed is chosen as it was.
 */
export function createChoices(onChange: () => void) {
  const remembered = new Map<string, { from: string; pieces: Piece[]; turned: Set<string> }>()

  function recall(kind: Kind, name: string, from: string, to: string) {
    const key = `${name} ${to}`
    const last = remembered.get(key)
    const pieces =
      last?.from === from
        ? last.pieces
        : kind === 'order'
          ? []
          : (IN_WORDS.includes(kind) ? differenceOf : wholeDifference)(from, to)
    const entry = { from, pieces, turned: last?.turned ?? new Set<string>() }
    remembered.delete(key)
    remembered.set(key, entry)
    for (const oldest of [...remembered.keys()].slice(0, -MOST)) remembered.delete(oldest)
    return entry
  }

  function choiceOf<One>(
    changes: One[],
    turned: Set<string>,
    isTakenFirst: (change: One) => boolean
  ): Choice<One> {
    const texts = changes.map((change) => JSON.stringify(change))
    const keys = new Map(
      changes.map((change, index) => [
        change,
        `${texts.slice(0, index).filter((text) => text === texts[index]).length} ${texts[index]}`
      ])
    )
    return {
      changes,
      isTaken: (change) => isTakenFirst(change) !== turned.has(keys.get(change)!),
      turn(change) {
        const key = keys.get(change)!
        if (!turned.delete(key)) turned.add(key)
        onChange()
      }
    }
  }

  return {
    /** The choice among the changes from one text of a field to another. All are taken at first. */
    text({ kind, name }: { kind: Kind; name: string }, from: string, to: string): TextChoice {
      const { pieces, turned } = recall(kind, name, from, to)
      const choice = choiceOf(pieces.filter(isChange), turned, () => true)
      return {
        ...choice,
        pieces,
        get text() {
          return compose(pieces, choice.isTaken)
        }
      }
    },

    /**
     * The choice among the changes from the present order to one of before. At first moves are
     * taken, articles neither come nor go.
     * @param isAllTaken whether all changes are taken at first
     */
    order(name: string, present: string[], before: string[], isAllTaken = false): OrderChoice {
      const { turned } = recall('order', name, present.join(' '), before.join(' '))
      // An article that came since keeps its present neighbours.
      const target = fit(before, present)
      const choice = choiceOf(
        [
          ...orderDifference(present, target),
          ...orderDifference(present, before).filter(({ what }) => what === 'gone')
        ],
        turned,
        ({ what }) => isAllTaken || what === 'moved'
      )
      const keys = new Set(
        choice.changes.filter(choice.isTaken).map(({ what, token }) => `${what} ${token}`)
      )
      const isTaken = ({ what, token }: OrderDifference) => keys.has(`${what} ${token}`)
      return {
        ...choice,
        get tokens() {
          return composeOrder(present, target, isTaken).filter(
            (token) => !keys.has(`gone ${token}`)
          )
        }
      }
    }
  }
}
