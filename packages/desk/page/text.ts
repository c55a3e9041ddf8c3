import { endsOf, itemsOf, textOf, timesOf, type Shape } from './fields.ts'
import { rebase } from './merge.ts'
import type { Item } from './settings.ts'
import { say } from './texts.ts'

/**
 * The text of a field: as it is saved, as one editor has it, and as somebody else has saved it
 * where both differ.
 */
export function createText(shape: Shape, items: Item[]) {
  // Drupal keeps the line ends that a form sends (CRLF); those in the value of a text box are LF
  // (WHATWG HTML, section 4.10.11).
  const textIn = (items: Item[]) => textOf(shape, items).replaceAll('\r\n', '\n')
  let base = textIn(items)
  let now = base
  let theirs: string | undefined
  let isUnreadable = false
  /** Whether it was typed here, or what is saved. */
  let isTyped = false
  let problems: string[] = []
  const times = () => timesOf(shape, now)
  /** Whether one end of a range is missing that was not missing before. */
  const isHalf = () => endsOf(shape, now).includes('') && !endsOf(shape, base).includes('')

  function isTurned(): boolean {
    // A browser leaves out seconds that are 0.
    const [from = '', to = ''] = endsOf(shape, now).map((end) =>
      end.length === 16 ? `${end}:00` : end
    )
    return to !== '' && to < from
  }

  function reset(): void {
    now = base
    theirs = undefined
    isUnreadable = false
    isTyped = false
  }

  return {
    get base() {
      return base
    },
    get now() {
      return now
    },
    get theirs() {
      return theirs
    },
    get isDirty() {
      return now !== base || isUnreadable
    },
    /**
     * Whether what is typed is no value for a browser: half of a date, for which the text is what
     * it was before.
     */
    get isUnreadable() {
      return isUnreadable
    },
    /**
     * Whether the text is not a value yet: unreadable, a time that the clocks leave out, half of a
     * range, or a range that ends before it begins.
     */
    get isUnfinished() {
      return isUnreadable || times() === 0 || isHalf() || isTurned()
    },
    /** What is wrong with it. */
    get problems() {
      if (isUnreadable || isHalf()) return [say('incomplete')]
      if (isTurned()) return [say('rangeTurned')]
      return times() === 0 ? [say('noSuchTime', { zone: shape.zone! })] : problems
    },
    /** What is to be known of it. */
    get hint() {
      return times() === 2 ? say('timeTwice', { zone: shape.zone! }) : undefined
    },

    /** @param isWhole whether it is a value */
    type(text: string, isWhole: boolean): void {
      isUnreadable = !isWhole
      isTyped = true
      problems = []
      if (isWhole) now = text
    },

    /** Goes back to what is saved. */
    reset,

    /** Goes on with an earlier text. */
    restore(earlier: string): void {
      isUnreadable = false
      isTyped = true
      now = earlier
    },

    /** It was saved as this text. @returns whether there is none that is newer */
    onSave(items: Item[], asSent: string): boolean {
      base = textIn(items)
      theirs = undefined
      problems = []
      if (isTyped && now !== asSent) return false
      now = base
      return true
    },

    /** The edition was read again. A colleague's text replaces one that was not changed here. */
    rebase(items: Item[]): void {
      ;({ base, text: now, theirs } = rebase({ base, text: now, theirs }, textIn(items)))
    },

    /**
     * Decides between one's own text and what somebody else has saved, or for a text that is made
     * of both.
     */
    decide(which: 'mine' | 'theirs' | { text: string }): void {
      if (which === 'theirs') return reset()
      theirs = undefined
      if (which !== 'mine') now = which.text
    },

    /** The CMS does not take it. */
    refuse: (messages: string[]): void => {
      problems = messages
    },

    /** The items to be saved. */
    items: (present: Item[]) => itemsOf(shape, now, present)
  }
}
