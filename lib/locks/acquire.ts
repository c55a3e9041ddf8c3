import { isAgent } from '../agents.ts'
import type { Item } from '../table/item.ts'
import { admitAgent, nameField } from './agents.ts'
import { announceChanges } from './announce.ts'
import { momentNow, type LockContext } from './context.ts'
import {
  changedOutcome,
  type AcquiredOutcome,
  type ChangedOutcome,
  type HeldOutcome
} from './outcome.ts'
import { holderOf, isAmong, isExpired, isFree, ownerOf, recordKey } from './record.ts'
import { release } from './release.ts'
import type { Entity, LockRequest } from './schemas.ts'
import { writeLock, type Judgement, type WriteConditions } from './write.ts'

export interface AcquireOptions extends WriteConditions {
  /** Refuse the user's own lock too: it is another tab's. */
  alone?: boolean
}

type AcquireOutcome = AcquiredOutcome | HeldOutcome | ChangedOutcome

/**
 * Locks a field for a user, or renews the user's own lock: one conditional put, so that of many
 * who try at once exactly one succeeds. It takes more requests to replace another user's expired
 * lock with a text, or a lock that a clock ahead of this one has written.
 * @param conditions `ifMatch`: only if the lock is in one of these versions
 * @throws {Failure} BAD_REQUEST, TOO_LARGE: see recordOf; CALLER_GONE; of an agent's request
 *   PRECONDITION_REQUIRED, TOO_MANY_REQUESTS: see admitAgent
 */
export async function acquire(
  context: LockContext,
  entity: Entity,
  request: LockRequest,
  options: AcquireOptions = {}
): Promise<AcquireOutcome> {
  await context.time.ready()
  return isAgent(request.userData.uid)
    ? acquireForAgent(context, entity, request, options)
    : acquireField(context, entity, request, options)
}

async function acquireForAgent(
  context: LockContext,
  entity: Entity,
  request: LockRequest,
  options: AcquireOptions
): Promise<AcquireOutcome> {
  const { fieldName, userData } = request
  const uid = String(userData.uid)
  const key = { env_entityType_entityId: recordKey(context.environment, entity), fieldName }
  await admitAgent(context, key, uid, options)
  const result = await acquireField(context, entity, request, options)
  if (result.outcome !== 'acquired') return result
  await nameField(context, key, uid).catch(async (error) => {
    // A lock that cannot be released now ends by itself.
    const own = { fieldName, uid }
    await release(context, entity, own, { ifMatch: [result.version] }).catch(() => {})
    throw error
  })
  return result
}

async function acquireField(
  context: LockContext,
  entity: Entity,
  request: LockRequest,
  { alone = false, ...conditions }: AcquireOptions
): Promise<AcquireOutcome> {
  const uid = String(request.userData.uid)
  const { ifMatch } = conditions

  function judge(record: Item | undefined): Judgement {
    const moment = momentNow(context)
    const hasExpired = record !== undefined && isExpired(record, moment)
    const isOthers = record !== undefined && ownerOf(record) !== uid
    if (isOthers && !hasExpired) return { outcome: 'held', lock: holderOf(record) }
    if (ifMatch && !isAmong(ifMatch, record)) return changedOutcome(record, moment)
    if (hasExpired && (alone || isOthers)) return 'displace'
    return record && alone ? changedOutcome(record, moment) : 'again'
  }

  return announceChanges(context, entity, (changes) =>
    writeLock(context, entity, request, {
      ...conditions,
      changes,
      quickCondition: (write) => isFree(write, alone ? undefined : uid),
      judge
    })
  )
}
