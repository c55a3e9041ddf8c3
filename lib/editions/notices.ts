import { Type, type Static } from '@sinclair/typebox'
import { MARK_PATTERN } from '../drupal/credentials.ts'
import { ENTITY_ID_PATTERN, UUID_PATTERN } from '../patterns.ts'

/**
 * What an instance tells the others of an edition that was saved, or may have been: the edition,
 * and its newest revision if it has any.
 */
export const SavedNotice = Type.Object({
  uuid: Type.String({ pattern: `^${UUID_PATTERN}$` }),
  revision: Type.Optional(Type.Integer({ minimum: 1 })),
  /** Whether Drupal has saved it without Quoin. */
  isOutside: Type.Optional(Type.Boolean())
})
export type SavedNotice = Static<typeof SavedNotice>

const Mark = Type.String({ pattern: `^${MARK_PATTERN}$` })

/**
 * What an instance tells the others of an entity that the CMS has refused a caller, or does not
 * have: its id, and the caller's mark. Without an id the CMS has refused more than one entity.
 */
export const RefusedNotice = Type.Object({
  caller: Mark,
  id: Type.Optional(Type.String({ pattern: `^${ENTITY_ID_PATTERN}$` }))
})
export type RefusedNotice = Static<typeof RefusedNotice>

/** What an instance tells the others of a service account that the CMS has refused: its mark. */
export const AccountNotice = Type.Object({ account: Mark })
export type AccountNotice = Static<typeof AccountNotice>
