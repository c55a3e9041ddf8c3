import type { EditionText } from '../translate/texts.ts'
import type { Attempt } from './attempt.ts'
import type { Author } from './recorder.ts'

/** Who saves. */
export interface SaveOptions extends Author {
  /** Of a request that its caller may repeat. */
  attempt?: Attempt | undefined
  /** The only versions in which the saver's own locks count as such; undefined: all. */
  lockVersions?: string[] | undefined
}

export interface UpdateOptions extends SaveOptions {
  /** The If-Match header field. */
  ifMatch?: string | undefined
  /**
   * Answers after one look at the latest version, before any other read, where no field differs.
   */
  unlessSame?: boolean | undefined
  /** What the change is to its recorder; `update` by default. */
  kind?: 'update' | 'restore' | undefined
}

export interface UpdateResult extends EditionText {
  /** Whether the save had its turn among all instances; else among the saves of this one alone. */
  isShared: boolean
}
