import type { ContentModel } from '../editions/model.ts'
import type { ProposedChange, Turns } from '../editions/save/save-queue.ts'
import { Failure } from '../errors.ts'
import { viewOf } from '../locks/feed-events.ts'
import type { Locks } from '../locks/locks.ts'
import { lockOf, ownerOf, recordItem } from '../locks/record.ts'
import type { Entity, LockView } from '../locks/schemas.ts'
import type { Ticket, Tickets } from '../saves/tickets.ts'
import type { Item } from '../table/item.ts'
import { lockedAs } from './entities.ts'
import { inLanguage, languageOf } from './names.ts'

export interface GuardDeps {
  tickets: Tickets
  locks: Pick<Locks, 'view' | 'checks'>
  model: ContentModel
}

/**
 * How many locks one transaction checks: DynamoDB takes 100 items in it, of which the ticket is
 * one.
 */
const CHECKED_MAX = 99

/**
 * Turns of saves that respect locks. Right before an update is sent, one transaction takes its
 * ticket again and checks the lock of each field that changes. So no save overwrites a field that
 * is locked at that moment. Where the store has no transactions Quoin reads the locks instead, and
 * misses a lock that is taken between that read and the sending.
 */
export function createGuardedTurns({ tickets, locks, model }: GuardDeps): Turns {
  /**
   * @throws {Failure} FIELD_LOCKED, with `details.locks`, when another user than `uid` holds one of
   *   the fields; without a uid, when anybody does. STORE_UNAVAILABLE, STORE_FAILED when that
   *   cannot be known. EDITION_BUSY.
   */
  async function permit({ edition, fields, uid }: ProposedChange, ticket: Ticket): Promise<void> {
    const entities = inLanguage(lockedAs(edition, model), languageOf(edition, model), model)
    const checks = entities.flatMap((entity) => locks.checks(entity, fields.toSorted(), uid))
    const unmet = checks.length > CHECKED_MAX ? undefined : await ticket.renewIf(checks)
    const lockViews =
      unmet?.map(recordItem).map((record) => viewOf(lockedBy(record, entities), lockOf(record))) ??
      (await locks.view(entities)).filter(
        (lock) => fields.includes(lock.fieldName) && (uid === undefined || ownerOf(lock) !== uid)
      )
    if (lockViews.length === 0) return
    throw new Failure('FIELD_LOCKED', `Nothing was saved: ${lockViews.map(whose).join(', ')}`, {
      details: { locks: lockViews }
    })
  }

  return {
    now: tickets.now,
    async take(uuid, since, signal) {
      const ticket = await tickets.take(uuid, since, signal)
      return { ...ticket, permit: (change) => permit(change, ticket) }
    }
  }
}

/** Which of the entities a record locks. */
function lockedBy({ env_entityType_entityId: key }: Item, entities: Entity[]): Entity {
  return entities.find(({ type, id }) => String(key).endsWith(`-${type}-${id}`))!
}

/** A record that another program wrote may lack any member but its key. */
function whose({ fieldName, userData }: Partial<LockView>): string {
  return `${fieldName} is locked by ${userData?.name || (userData?.uid === undefined ? 'somebody' : `user ${userData.uid}`)}`
}
