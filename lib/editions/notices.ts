import { Type, type Static } from '@sinclair/typebox'
import { UUID_PATTERN } from '../patterns.ts'

/** What an instance tells the others of an edition that was saved, or may have been. */
export const SavedNotice = Type.Object({ uuid: Type.String({ pattern: `^${UUID_PATTERN}$` }) })
export type SavedNotice = Static<typeof SavedNotice>

/** What an instance tells the others of an edition that the CMS has refused somebody, or does not have. It does not say whom. */
export const RefusedNotice = Type.Object({ id: Type.String({ pattern: `^(?:\\d{1,18}|${UUID_PATTERN})$` }) })
export type RefusedNotice = Static<typeof RefusedNotice>
