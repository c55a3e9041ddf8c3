import type { Field } from './field.ts'

/** How many steps can be taken back. */
const MOST = 100

/** What somebody has done on the page at once, such as a move, or discarding all that was typed. */
export interface Step {
  words: string
  /**
   * Takes it back, unless somebody has changed the same since.
   * @returns whether anything was taken back
   */
  back: () => boolean
  forth: () => boolean
  /** The texts that it has given fields. */
  texts?: Array<{ name: string; before: string; after: string }>
}

/** What a step has made of one field. */
interface Change {
  field: Field
  before: string
  after: string
}

/** A field that the reader is in, and its text. */
type Inside = Pick<Field, 'shape' | 'text'>

/** A step that was taken back or done again; without `isDone` it was left alone. */
export interface Turn {
  words: string
  isDone: boolean
}

/**
 * The steps that an editor can take back: those that no text box undoes by itself. Taking one back
 * changes nothing that was changed since, or that somebody else holds by now.
 */
export function createHistory() {
  let past: Step[] = []
  let future: Step[] = []

  function add(step: Step): void {
    past = [...past, step].slice(-MOST)
    future = []
  }

  /**
   * @param inside without it any step is taken, with it only one after which the field has not
   *   changed
   */
  function go(
    from: Step[],
    to: Step[],
    which: 'back' | 'forth',
    inside?: Inside
  ): Turn | undefined {
    const step = from.at(-1)
    const side = which === 'back' ? 'after' : 'before'
    if (
      !step ||
      (inside &&
        !step.texts?.some((text) => text.name === inside.shape.name && text[side] === inside.text))
    ) {
      return undefined
    }
    from.pop()
    to.push(step)
    return { words: step.words, isDone: step[which]() }
  }

  return {
    get canUndo() {
      return past.length > 0
    },
    get canRedo() {
      return future.length > 0
    },
    /** Takes in something that has been done. */
    add,

    /** Gives fields another text, as one step. A field that somebody else has keeps its own. */
    change(texts: Array<[field: Field, text: string]>, words: string): void {
      const changes = texts
        .filter(
          ([{ holder, text, isUnfinished }, after]) => !holder && (isUnfinished || text !== after)
        )
        .map(([field, after]): Change => ({ field, before: field.text, after }))
      if (changes.length === 0) return
      for (const { field, after } of changes) field.replace(after)
      const turn = (is: 'before' | 'after', becomes: 'before' | 'after') => () => {
        const same = changes.filter(({ field, [is]: text }) => !field.holder && field.text === text)
        for (const change of same) change.field.replace(change[becomes])
        return same.length > 0
      }
      add({
        words,
        back: turn('after', 'before'),
        forth: turn('before', 'after'),
        texts: changes.map(({ field, before, after }) => ({
          name: field.shape.name,
          before,
          after
        }))
      })
    },

    /** @returns what is taken back */
    undo: (inside?: Inside) => go(past, future, 'back', inside),
    /** @returns what is done again */
    redo: (inside?: Inside) => go(future, past, 'forth', inside)
  }
}
