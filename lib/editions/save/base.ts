import type { LoadedEdition } from '../translate/read.ts'
import type { QueuedTurn } from './save-queue.ts'

/** The state of an edition that a save changes, and the turn that the save has. */
export interface SaveBase {
  edition: LoadedEdition
  /** Whether this is known to be the latest version. */
  isLatest: boolean
  /**
   * Whether this is what its caller was answered last, rather than read for this save. A PATCH may
   * rest on it, since Drupal refuses one that names another revision, or another `changed`, than
   * the stored one. A decision not to send anything may not.
   */
  isRemembered: boolean
  /** The revision that Drupal compares within the save; undefined where it does not. */
  revision: number | undefined
  /** Whether this is a draft beside what is published, which Quoin's module changes. */
  isDraft: boolean
  /** Whether the save may go to the draft, if Drupal says that there is one (draft.ts). */
  takesDraft: boolean
  turn: QueuedTurn
}
