import { isAgent } from '../agents.ts'
import type { Item } from '../table/item.ts'
import { refuseTakeover } from './agents.ts'
import { announceChanges } from './announce.ts'
import { momentNow, type LockContext } from './context.ts'
import {
  changedOutcome,
  type AcquiredOutcome,
  type ChangedOutcome,
  type TakeoverOutcome
} from './outcome.ts'
import { isAmong, isFree, isWithoutTextOfOthers, ownerOf } from './record.ts'
import type { Entity, LockRequest } from './schemas.ts'
import { writeLock, type Judgement, type WriteConditions } from './write.ts'

/**
 * Locks a field for a user, whoever holds it.
 * @param conditions `ifMatch`: only if the lock is in one of these versions, expired or not
 * @throws {Failure} BAD_REQUEST, TOO_LARGE: see recordOf; CALLER_GONE; FORBIDDEN for an agent
 */
export async function overwrite(
  context: LockContext,
  entity: Entity,
  request: LockRequest,
  conditions: WriteConditions = {}
): Promise<AcquiredOutcome | ChangedOutcome> {
  const uid = String(request.userData.uid)
  const { ifMatch } = conditions
  if (isAgent(uid)) refuseTakeover()
  const notes = context.takeoverNotes?.concerns(entity.type) ? context.takeoverNotes : undefined
  // Only a record that fails the condition shows whose lock it was.
  const isQuick = notes ? isFree : isWithoutTextOfOthers

  function judge(record: Item | undefined): Judgement {
    if (ifMatch && !isAmong(ifMatch, record)) return changedOutcome(record, momentNow(context))
    return record && ownerOf(record) !== uid ? 'displace' : 'again'
  }

  await context.time.ready()
  return announceChanges(context, entity, async (changes) => {
    const result = (await writeLock(context, entity, request, {
      ...conditions,
      changes,
      quickCondition: (write) => isQuick(write, uid),
      judge
    })) as TakeoverOutcome | ChangedOutcome
    if (result.outcome === 'changed') return result
    const { displaced, ...acquired } = result
    if (displaced) {
      await notes?.note(entity, {
        fieldName: request.fieldName,
        from: displaced.userData,
        by: request.userData
      })
    }
    return acquired
  })
}
