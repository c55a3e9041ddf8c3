import type { User } from '../auth/identity.ts'
import { Failure } from '../errors.ts'
import type { Caller } from '../http/calls.ts'
import type { Entity } from '../locks/schemas.ts'

/** What a caller may do with an entity: see its locks and drafts, or lock its fields. */
export type Right = 'view' | 'edit'

/** Who asks, and with which credentials towards the CMS. */
export interface Asker {
  user: User
  caller: Caller
}

/** The names that the CMS has for an entity. */
export interface EntityIds {
  /** Its integer id; empty where its type has none, or the caller may not see it. */
  id: string
  uuid: string
}

/** Decides who may see and who may lock. */
export interface Access {
  /**
   * Resolves when the asker has the right, with the ids of the entity where those were found out.
   * @throws {Failure} NOT_FOUND where the entity is hidden from the asker, or absent; FORBIDDEN
   *   where it may be seen but not edited; AUTH_UNAVAILABLE, CMS_READ_ONLY where that cannot be
   *   found out
   */
  demand(right: Right, entity: Entity, asker: Asker): Promise<EntityIds | void>
}

/** Access by a claim of the token: everybody may look, and lock unless the token says no. */
export const claimAccess: Access = {
  async demand(right, _entity, { user }) {
    if (right === 'edit' && user.mayLock === false) {
      throw new Failure('FORBIDDEN', 'Your token lets you look at locks, but not lock')
    }
  }
}

/**
 * Whether a failure of `demand` says that the caller lacks the right. Otherwise the right could not
 * be checked.
 */
export function isRefusal(error: unknown): boolean {
  return error instanceof Failure && (error.code === 'NOT_FOUND' || error.code === 'FORBIDDEN')
}
