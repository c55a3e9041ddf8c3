import { isAgent } from '../agents.ts'
import type { ContentModel } from '../editions/model.ts'
import type { ProposedChange, Turns } from '../editions/save/save-queue.ts'
import { Failure, texts } from '../errors.ts'
import { viewOf } from '../locks/feed-events.ts'
import type { Locks } from '../locks/locks.ts'
import { lockOf, ownerOf, recordItem, type LockOwner } from '../locks/record.ts'
import type { Entity, LockView } from '../locks/schemas.ts'
import type { Ticket, Tickets } from '../saves/tickets.ts'
import type { Item } from '../table/item.ts'
import { lockedAs } from './entities.ts'
import { inLanguage, languageOf } from './names.ts'

export interface GuardDeps {
  tickets: Tickets
  locks: Pick<Locks, 'view' | 'checks'>
  model: ContentModel
  /** Whether all saves respect locks (EDITION_LOCKS=enforce); else those of agents alone. */
  isForAll: boolean
}

/**
 * How many locks one transaction checks: DynamoDB takes 100 items in it, of which the ticket is
 * one.
 */
const CHECKED_MAX = 99

/** What locks may go by. */
const IDS = ['id', 'uuid'] as const

/**
 * Turns of saves that respect locks. Right before an update is sent, one transaction takes its
 * ticket again and checks the lock of each field that changes. So no save overwrites a field that
 * is locked at that moment. Where the store has no transactions Quoin reads the locks instead, and
 * misses a lock that is taken between that read and the sending.
 */
export function createGuardedTurns({ tickets, locks, model, isForAll }: GuardDeps): Turns {
  /**
   * @throws {Failure} FIELD_LOCKED, with `details.locks`, when another user than `uid` holds one of
   *   the fields; without a uid, when anybody does. STORE_UNAVAILABLE, STORE_FAILED when that
   *   cannot be known. EDITION_BUSY.
   */
  async function permit(change: ProposedChange, ticket: Ticket): Promise<void> {
    const { edition, fields, uid } = change
    if (!isForAll && !isAgent(uid)) return
    if (!ticket.isShared) throw new Failure('STORE_UNAVAILABLE', texts.storeUnavailable)
    const owner = ownerIn(change)
    const entities = namesOf(change).flatMap((entity) =>
      inLanguage(entity, languageOf(edition, model), model)
    )
    const checks = entities.flatMap((entity) => locks.checks(entity, fields.toSorted(), owner))
    const unmet = checks.length > CHECKED_MAX ? undefined : await ticket.renewIf(checks)
    const lockViews =
      unmet?.map(recordItem).map((record) => viewOf(lockedBy(record, entities), lockOf(record))) ??
      (await locks.view(entities)).filter(
        (lock) => fields.includes(lock.fieldName) && !isOwners(lock, owner)
      )
    if (lockViews.length === 0) return
    throw new Failure('FIELD_LOCKED', `Nothing was saved: ${lockViews.map(whose).join(', ')}`, {
      details: { locks: lockViews }
    })
  }

  /** What the locks of an edition are on. */
  function namesOf({ edition, uid }: ProposedChange): Entity[] {
    if (isForAll || !isAgent(uid)) return [lockedAs(edition, model)]
    // Without EDITION_LOCKS=enforce a lock may be under either name of the edition.
    return IDS.map((lockIds) => lockedAs(edition, { ...model, lockIds }))
  }

  return {
    now: tickets.now,
    async take(uuid, since, signal) {
      const ticket = await tickets.take(uuid, since, signal)
      return { ...ticket, permit: (change) => permit(change, ticket) }
    }
  }
}

/** Whose locks let a save pass. Sessions of an agent share its uid, so its locks count by version. */
function ownerIn({ uid, lockVersions }: ProposedChange): LockOwner {
  if (lockVersions) return { uid, versions: lockVersions }
  return { uid: isAgent(uid) ? undefined : uid }
}

function isOwners(lock: LockView, { uid, versions }: LockOwner): boolean {
  const isOfVersion = !versions || versions.includes(String(lock.version))
  return uid !== undefined && ownerOf(lock) === uid && isOfVersion
}

/** Which of the entities a record locks. */
function lockedBy({ env_entityType_entityId: key }: Item, entities: Entity[]): Entity {
  return entities.find(({ type, id }) => String(key).endsWith(`-${type}-${id}`))!
}

/** A record that another program wrote may lack any member but its key. */
function whose({ fieldName, userData }: Partial<LockView>): string {
  return `${fieldName} is locked by ${userData?.name || (userData?.uid === undefined ? 'somebody' : `user ${userData.uid}`)}`
}
