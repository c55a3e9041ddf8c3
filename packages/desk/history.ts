import type { Field } from './field.ts'

/** How many steps can be taken back. */
const MOST = 100

/** What somebody has done on the page at once, such as a move, or discarding all that was typed. */
export interface Step {
  words: string
  /** Takes it back, unless somebody has changed the same since. @returns whether anything was taken back */
  back: () => boolean
  forth: () => boolean
}

/** What a step has made of one field. */
interface Change { field: Field, before: string, after: string }

/** A step that was taken back or done again; without `isDone` it was left alone. */
export interface Turn { words: string, isDone: boolean }

/**
 * The steps that an editor can take back: those that no text box undoes by itself. A step back leaves alone what has been
 * changed since, and what somebody else has by now.
 */
export function createHistory () {
  let past: Step[] = []
  let future: Step[] = []

  function add (step: Step): void {
    past = [...past, step].slice(-MOST)
    future = []
  }

  function go (from: Step[], to: Step[], which: 'back' | 'forth'): Turn | undefined {
    const step = from.pop()
    if (!step) return undefined
    to.push(step)
    return { words: step.words, isDone: step[which]() }
  }

  return {
    get canUndo () { return past.length > 0 },
    get canRedo () { return future.length > 0 },
    /** Takes in something that has been done. */
    add,

    /** Gives fields another text, as one step. A field that somebody else has keeps its own. */
    change (texts: Array<[field: Field, text: string]>, words: string): void {
      const changes = texts.filter(([{ holder, text, isUnfinished }, after]) => !holder && (isUnfinished || text !== after)).map(([field, after]): Change => ({ field, before: field.text, after }))
      if (changes.length === 0) return
      for (const { field, after } of changes) field.type(after)
      const turn = (is: 'before' | 'after', becomes: 'before' | 'after') => () => {
        const same = changes.filter((change) => change.field.text === change[is])
        for (const change of same) change.field.type(change[becomes])
        return same.length > 0
      }
      add({ words, back: turn('after', 'before'), forth: turn('before', 'after') })
    },

    /** @returns what is taken back */
    undo: () => go(past, future, 'back'),
    /** @returns what is done again */
    redo: () => go(future, past, 'forth')
  }
}
