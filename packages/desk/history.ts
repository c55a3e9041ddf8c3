import type { Field } from './field.ts'

/** How many steps can be taken back. */
const MOST = 100

/** What a step has made of one field. */
interface Change { field: Field, before: string, after: string }

/** What somebody has done on the page at once, such as a move, or discarding all that was typed. */
interface Step { changes: Change[], words: string }

/**
 * The steps that an editor can take back: those that no text box undoes by itself. A step back leaves alone what has been
 * changed since, and what somebody else has by now.
 */
export function createHistory () {
  let past: Step[] = []
  let future: Step[] = []

  function go (from: Step[], to: Step[], turn: (change: Change) => { is: string, becomes: string }): string | undefined {
    const step = from.pop()
    if (!step) return undefined
    to.push(step)
    for (const change of step.changes) {
      const { is, becomes } = turn(change)
      if (change.field.text === is) change.field.type(becomes)
    }
    return step.words
  }

  return {
    get canUndo () { return past.length > 0 },
    get canRedo () { return future.length > 0 },

    /** Gives fields another text, as one step. A field that somebody else has keeps its own. */
    change (texts: Array<[field: Field, text: string]>, words: string): void {
      const changes = texts.filter(([{ holder, text, isUnfinished }, after]) => !holder && (isUnfinished || text !== after)).map(([field, after]): Change => ({ field, before: field.text, after }))
      if (changes.length === 0) return
      for (const { field, after } of changes) field.type(after)
      past = [...past, { changes, words }].slice(-MOST)
      future = []
    },

    /** @returns what is taken back */
    undo: () => go(past, future, ({ before, after }) => ({ is: after, becomes: before })),
    /** @returns what is done again */
    redo: () => go(future, past, ({ before, after }) => ({ is: before, becomes: after }))
  }
}
