import type { Holder } from './schemas.ts'

/** The lock is the user's: in which version, since when and, if it expires, until when (Unix seconds). */
export interface Acquired { outcome: 'acquired', version: string, timestamp: number, expiresAt?: number }
/** The same, with whose lock it has displaced that had not expired. */
export interface Taken extends Acquired { displaced?: Holder }
/** Another holds the field. */
export interface Held { outcome: 'held', lock: Holder }
/** The lock is not in the state that was asked for. `lock` has its present holder, if there is one. */
export interface Changed { outcome: 'changed', lock?: Holder }
export interface Released { outcome: 'released' }

export type Refused = Held | Changed
