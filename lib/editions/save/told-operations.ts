import { isDeepStrictEqual } from 'node:util'
import type { ContentModel } from '../model.ts'
import type { OrderOperation } from '../schemas.ts'
import type { EditionJson } from '../translate/edition-json.ts'
import { etagOf } from '../translate/etag.ts'
import { read, type LoadedEdition } from '../translate/read.ts'
import { difference } from '../translate/write.ts'
import type { SaveBase } from './base.ts'
import type { ProposedChange } from './save-queue.ts'

/** A change that was saved, as those hear of it who watch the edition. */
export interface SavedChange extends ProposedChange {
  /** What the user is called, where that is known. */
  name?: string
  /** The entity tag now. */
  etag: string
  /**
   * What has made this state of the one with the tag `from`. It has no urls of references in it, so
   * only its first part can be compared.
   */
  from?: string
  operations?: OrderOperation[]
}

/** A save of operations on a running order. */
interface Arranged {
  base: SaveBase
  /** The fields as they were sent. */
  changes: EditionJson
  /** Those that have changed something; undefined of any other save. */
  operations: OrderOperation[] | undefined
}

/**
 * The longest operations that are told, as JSON, in characters. Of longer ones those who watch read
 * the edition. A message of the bus has 16,384 characters at most.
 */
const TOLD_LENGTH = 4096

/**
 * The operations that lead from one state of an edition to another. There are none where the save
 * has changed anything besides, but for what Drupal notes of each save: then only a read tells the
 * new state.
 */
export function toldOperations(
  model: ContentModel,
  { base, changes, operations = [] }: Arranged,
  { resource: saved }: LoadedEdition
): Pick<SavedChange, 'from' | 'operations'> {
  const isTold = operations.length > 0 && JSON.stringify(operations).length <= TOLD_LENGTH
  if (!isTold || base.isDraft) return {}
  const isAsSent = Object.keys(difference(changes, saved, model)).length === 0
  if (!isAsSent) return {}
  const { resource } = base.edition
  const [before, after] = [read(resource, model), read(saved, model)]
  const { changed, revision } = model.keys
  const isOfDrupal = (name: string) =>
    name === changed || name === revision || name.startsWith('revision_')
  const isSame = Object.keys({ ...before, ...after }).every(
    (name) =>
      Object.hasOwn(changes, name) ||
      isOfDrupal(name) ||
      isDeepStrictEqual(before[name], after[name])
  )
  return isSame ? { from: etagOf(resource, model), operations } : {}
}
