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

/** What became of a save. `uncertain`: the CMS may have saved it. */
export type SaveOutcome =
  { outcome: 'saved'; edition: EditionJson; etag: string } | { outcome: 'refused' | 'uncertain' }

/**
 * Called with each save before it is sent, within its turn. To throw refuses the save.
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

/**
 * Makes a save between what its recorder does before and after it.
 * @throws what the recorder throws before; what `work` throws
 */
export async function recordSave<T>(
  recorder: Recorder | undefined,
  save: Save,
  work: () => Promise<T>,
  outcomeOf: (result: T) => SaveOutcome
): Promise<T> {
  const tell = await recorder?.(save)
  return work().then(
    async (result) => {
      await tell?.(outcomeOf(result))
      return result
    },
    async (error) => {
      await tell?.({
        outcome: error instanceof Failure && !isUnknownOutcome(error) ? 'refused' : 'uncertain'
      })
      throw error
    }
  )
}
