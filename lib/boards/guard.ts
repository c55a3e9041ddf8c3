import type { Change } from '../editions/editions.ts'
import type { ContentModel } from '../editions/model.ts'
import { Failure } from '../errors.ts'
import type { Locks } from '../locks/locks.ts'
import { ownerOf } from '../locks/record.ts'
import type { LockView } from '../locks/schemas.ts'
import { lockedAs } from './entities.ts'

export interface GuardDeps {
  locks: Pick<Locks, 'view'>
  model: ContentModel
}

/** Keeps saves off fields that others have locked. What is locked after it has looked is not seen. */
export function createGuard ({ locks, model }: GuardDeps) {
  /**
   * To be asked before an edition is changed.
   * @throws {Failure} FIELD_LOCKED, with `details.locks`, when somebody else than `uid` holds one of the fields; to nobody
   *   in particular every lock is another's. STORE_UNAVAILABLE, STORE_FAILED when that cannot be known.
   */
  return async function guard ({ edition, fields, uid }: Change): Promise<void> {
    const held = (await locks.view([lockedAs(edition, model)])).filter((lock) => fields.includes(lock.fieldName) && (uid === undefined || ownerOf(lock) !== uid))
    if (held.length === 0) return
    throw new Failure('FIELD_LOCKED', `Nothing was saved: ${held.map(whose).join(', ')}`, { details: { locks: held } })
  }
}

/** A record of others may miss any member but its key. */
function whose ({ fieldName, userData }: Partial<LockView>): string {
  return `${fieldName} is locked by ${userData?.name || (userData?.uid === undefined ? 'somebody' : `user ${userData.uid}`)}`
}
