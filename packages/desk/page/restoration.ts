import { createChoices, type OrderChoice, type TextChoice } from './choices.ts'
import type { Field } from './field.ts'
import { tokensOf } from './fields.ts'
import type { Step, createHistory } from './history.ts'
import type { createDrafts } from './drafts.ts'
import type { EditorDraft } from './draft-storage.ts'
import { failureOf } from './failures.ts'
import { replay, replayed } from './moves.ts'
import type { Order } from './order.ts'

export interface RestorationDeps {
  drafts: ReturnType<typeof createDrafts>
  history: ReturnType<typeof createHistory>
  onChange: () => void
}

/** A text that was restored into a field, and what stood there before. */
interface Mark {
  name: string
  before: string
  payload: string
}

/**
 * Goes on with texts of before, as far as an editor chooses, in steps that can be taken back. What
 * was restored and saved is kept no more.
 */
export function createRestoration({ drafts, history, onChange }: RestorationDeps) {
  const choices = createChoices(onChange)
  let marks: Mark[] = []

  function choiceOf({ shape, text }: Field, payload: string): TextChoice {
    return choices.text(shape, text, payload)
  }

  function orderChoiceOf({ name, items }: Order, draft: EditorDraft): OrderChoice {
    const { payload, operations } = draft
    const before = operations
      ? [...tokensOf(replayed(items, draft)).keys()]
      : payload.split(' ').filter(Boolean)
    return choices.order(name, [...tokensOf(items).keys()], before, operations !== undefined)
  }

  /** What makes a present order one of before, as far as that is chosen. */
  function stepsTo(order: Order, draft: EditorDraft, words: string): Step[] {
    const choice = orderChoiceOf(order, draft)
    const { operations } = draft
    if (operations && choice.changes.every(choice.isTaken)) return replay(order, operations, words)
    const { tokens } = choice
    const present = [...tokensOf(order.items).keys()]
    const former = tokensOf(replayed(order.items, draft))
    const articleOf = (token: string) =>
      former.get(token) ?? { target_id: Number.parseInt(token, 10) }
    const steps = [
      ...present
        .filter((token) => !tokens.includes(token))
        .map((token) => order.remove([token], words)),
      ...tokens.flatMap((token, index) =>
        present.includes(token) ? [] : [order.insert([articleOf(token)], index, words)]
      )
    ]
    const isMoved =
      present.filter((token) => tokens.includes(token)).join() !==
      tokens.filter((token) => present.includes(token)).join()
    return [...steps, isMoved ? order.arrange(tokens, words) : undefined].filter(
      (step) => step !== undefined
    )
  }

  /** Removes the kept texts of a field that the service has now. */
  async function drop(name: string, isOver: (text: EditorDraft) => boolean): Promise<void> {
    const obsolete = drafts.all.filter((text) => text.fieldName === name && isOver(text))
    marks = marks.filter((mark) => mark.name !== name)
    for (const text of obsolete) await drafts.discard(text).catch(failureOf)
  }

  return {
    choiceOf,
    orderChoiceOf,

    /** Restores what is chosen of a text into a field that nobody else has. */
    async restore(field: Field, payload: string, words: string): Promise<void> {
      const {
        shape: { name },
        text: before
      } = field
      const { text } = choiceOf(field, payload)
      if (text === payload) drafts.forget({ fieldName: name, payload })
      marks = [...marks, { name, before, payload }]
      const turn = (is: string, put: () => void) => () => {
        const isSame = !field.holder && field.text === is
        if (isSame) put()
        return isSame
      }
      if (text !== before) {
        history.add({
          words,
          back: turn(text, () => {
            if (text === payload) drafts.add({ fieldName: name, payload })
            field.type(before)
          }),
          forth: turn(before, () => field.replace(text)),
          texts: [{ name, before, after: text }]
        })
      }
      await field.restore(text)
    },

    /**
     * Puts what is chosen of an order onto the present one.
     * @returns the step, undefined where nothing is chosen
     */
    arrange(order: Order, draft: EditorDraft, words: string): Step | undefined {
      const { payload } = draft
      const before = [...tokensOf(order.items).keys()].join(' ')
      const all = stepsTo(order, draft, words)
      if (all.length === 0) return undefined
      marks = [...marks, { name: order.name, before, payload }]
      const turn = (which: 'back' | 'forth', some: Step[]) => () =>
        some.map((step) => step[which]()).some(Boolean)
      return { words, back: turn('back', all.toReversed()), forth: turn('forth', all) }
    },

    /**
     * A field has changed: what was taken back is not restored any more, and what is typed again is
     * kept in its lock.
     */
    onFieldChange(field: Field): void {
      const {
        shape: { name, kind },
        text: payload,
        isDirty,
        isKept
      } = field
      if (kind === 'order') return
      marks = marks.filter((mark) => mark.name !== name || mark.before !== payload)
      if (isDirty && isKept) drafts.forget({ fieldName: name, payload })
    },

    /** A field was saved with a text. */
    async onSave(name: string, text: string): Promise<void> {
      const payloads = [
        text,
        ...marks.filter((mark) => mark.name === name).map(({ payload }) => payload)
      ]
      await drop(name, ({ payload }) => payloads.includes(payload))
    },

    /** All that was done to an order is saved. */
    async onArrange(name: string): Promise<void> {
      const payloads = marks.filter((mark) => mark.name === name).map(({ payload }) => payload)
      if (payloads.length > 0) await drop(name, ({ payload }) => payloads.includes(payload))
    },

    /** An order was refused: what was restored of it is not saved. */
    onRefuse(name: string): void {
      marks = marks.filter((mark) => mark.name !== name)
    }
  }
}
