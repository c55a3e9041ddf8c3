import { Failure } from '../../errors.ts'
import type { EditionJson, FieldItem } from '../translate/edition-json.ts'
import { isUnknownOutcome } from './outcome.ts'

export type SaveKind = 'create' | 'update' | 'order' | 'close' | 'restore'

/** Who makes a save, as far as that is known. */
export interface Author {
  uid?: string | undefined
  name?: string | undefined
}

/**
 * A save that is decided and not sent yet. Values are as the caller is shown them, and as the
 * caller sends them.
 */
export interface Save {
  kind: SaveKind
  uuid: string
  by: Author
  /** The edition as it is, and its entity tag without urls; undefined of a create. */
  before: { edition: EditionJson; etag: string } | undefined
  /**
   * The fields that change. `before` is undefined of a create, and where the caller is not shown
   * the field.
   */
  fields: Record<string, { before: FieldItem[] | undefined; after: FieldItem[] }>
  /** Whether the save has its turn among all instances, by a ticket. A create has no turn. */
  isShared: boolean
}

/**
 * What became of a save. `uncertain`: the CMS may have saved it. `withdrawn`: nothing was saved,
 * and the save begins again from a newer state.
 */
export type SaveOutcome =
  | { outcome: 'saved'; edition: EditionJson; etag: string }
  | { outcome: 'refused' | 'uncertain' | 'withdrawn' }

/**
 * Called with each save before it is sent, within its turn, while others may prepare it too. To
 * throw refuses the save.
 * @returns is called with what became of the save, before the caller is answered; it does not throw
 */
export type Recorder = (save: Save) => Promise<(outcome: SaveOutcome) => Promise<void>>

/** The fields of a body, with what they are before. */
export function fieldChanges(body: EditionJson, edition?: EditionJson): Save['fields'] {
  return Object.fromEntries(
    Object.entries(body).map(([field, after]) => [
      field,
      { before: edition && Object.hasOwn(edition, field) ? edition[field] : undefined, after }
    ])
  )
}

/** A save, and how it is recorded. */
export interface SaveRecording<T> {
  recorder: Recorder | undefined
  save: Save
  /**
   * Makes the save.
   * @param isRecorded what it has to await before it sends anything
   */
  work(isRecorded: Promise<unknown>): Promise<T>
  outcomeOf(result: T): SaveOutcome
  /** Takes the recording of the outcome where something else is done in the meantime. */
  alongside?: (recording: Promise<void>) => void
}

/**
 * Makes a save between what its recorder does before and after it.
 * @throws what the recorder throws before; what `work` throws
 */
export async function recordSave<T>({
  recorder,
  save,
  work,
  outcomeOf,
  alongside
}: SaveRecording<T>): Promise<T> {
  const recording = Promise.resolve(recorder?.(save))
  const conclude = async (outcome: SaveOutcome) => {
    const ended = recording.then((tell) => tell?.(outcome)).catch(() => {})
    if (alongside) alongside(ended)
    else await ended
  }
  const result = await work(recording).catch(async (error) => {
    const isRefused = error instanceof Failure && !isUnknownOutcome(error)
    await conclude({ outcome: isRefused ? 'refused' : 'uncertain' })
    throw error
  })
  await conclude(outcomeOf(result))
  return result
}

/**
 * Waits for all that prepares a save, so that nothing of it is under way when the next step begins.
 * @throws what the first of them in this order threw
 */
export async function prepared(steps: Array<Promise<unknown> | undefined>): Promise<void> {
  const results = await Promise.allSettled(steps)
  const failure = results.find((result) => result.status === 'rejected')
  if (failure) throw failure.reason
}
