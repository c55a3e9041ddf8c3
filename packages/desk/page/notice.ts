import type { QuoinError } from '../../client/src/client.ts'
import type { Displacement, Field } from './field.ts'
import { isAtRisk } from './drafts.ts'
import { refusalOf, undecidedOf, type Linked } from './refusal.ts'
import { say } from './texts.ts'
import { nameOf } from './words.ts'

/** The sentence that the page shows of an edition, until another replaces it. */
export interface Notice {
  tone: 'good' | 'bad'
  text: string
  /** The text with its fields, each of which can be gone to. */
  linked?: Linked
  /** Whether it is not true any more. */
  isOver?: () => boolean
}

/** Tells that somebody has taken a field, or had it before. */
export function displacementNotice(
  { shape, by, wasHeld }: Displacement,
  field: Field,
  isKept: boolean
): Notice {
  const what = say(wasHeld ? 'tookOver' : 'isEditingField', {
    name: nameOf(by.userData),
    label: shape.label
  })
  return {
    tone: 'bad',
    isOver: () => field.isHeld,
    text: isKept ? say('seeKeptDrafts', { what }) : what
  }
}

/** What has become of a kept text that was to be restored. */
export function restoredNotice(label: string, field: Field | undefined): Notice {
  if (!field) return { tone: 'bad', text: say('noSuchField', { label }) }
  if (field.holder) return { tone: 'bad', text: say('takeOverFirst', { label }) }
  return field.isHeld
    ? { tone: 'good', text: say('textIsBack', { label }) }
    : { tone: 'bad', text: say('textIsBackUnlocked', { label }) }
}

/**
 * Tells why an edition was not saved, and puts the problems of a field at the field.
 * @param sentTexts the texts that were to be saved: what was typed since is not what was refused
 */
export function refusedNotice(
  error: QuoinError,
  fields: Field[],
  sentTexts: Map<Field, string>
): Notice {
  const labels = new Map(fields.map(({ shape }) => [shape.name, shape.label]))
  const {
    text,
    linked,
    fields: wrong,
    forbiddenName
  } = refusalOf(error, labels, {
    undecided: undecidedOf(fields),
    isAtRisk: isAtRisk(fields)
  })
  for (const field of fields) {
    if (field.shape.name === forbiddenName) field.forbid(wrong.get(forbiddenName)!.join(' '))
    const isNewer = sentTexts.has(field) && sentTexts.get(field) !== field.text
    field.refuse(isNewer ? [] : (wrong.get(field.shape.name) ?? []))
  }
  return {
    tone: 'bad',
    text,
    linked,
    isOver: () =>
      wrong.size > 0 && fields.every(({ shape, isDirty }) => !isDirty || !wrong.has(shape.name))
  }
}
