import type { Item } from '../table/item.ts'
import { momentNow, type LockContext } from './context.ts'
import type { Moment } from './record.ts'
import type { Entity, Presence, PresenceRequest } from './schemas.ts'
import { changeSigns } from './sign-changes.ts'
import { LOOKERS, refuseBeyond, signsIn } from './signs.ts'

/** How long a user counts as looking on who does not say so again. */
export const PRESENCE_SECONDS = 90

/**
 * A presence that was written so short a time ago, in seconds, is not written again: another
 * window of the user has said so.
 */
const FRESH_SECONDS = 20

/** Most users who may look on at one entity. */
export const LOOKERS_MAX = 50

/**
 * Notes that a user looks on. That locks nothing, and ends by itself. Noted again, it goes on; all
 * windows of a user are one looker. Who watches the entity sees news at once, and that it goes on
 * by a read that takes place anyway.
 * @throws {Failure} TOO_MANY_REQUESTS where as many users as may look on already;
 * STORE_UNAVAILABLE, STORE_FAILED
 */
export async function enterPresence(
  context: LockContext,
  entity: Entity,
  { userData }: PresenceRequest
): Promise<void> {
  const uid = String(userData.uid)
  const { name } = userData
  let isNews = true
  await context.time.ready()
  await changeSigns(context, context.lookers, entity, (present) => {
    const moment = momentNow(context)
    const before = present.find((looker) => looker.uid === uid)
    const until = moment.now + PRESENCE_SECONDS
    isNews = !before || before.name !== name
    if (before && !isNews && before.until > until - FRESH_SECONDS) return present
    if (!before) refuseBeyond(present, LOOKERS_MAX, 'look on at this entity', moment)
    const looker = { uid, ...(name !== undefined && { name }), until }
    if (!before) return [...present, looker]
    return present.map((other) => (other === before ? looker : other))
  })
  if (isNews) context.feed.readAgain(entity)
}

/** Notes that a user looks on no longer. To leave where one is not succeeds. */
export async function leavePresence(
  context: LockContext,
  entity: Entity,
  uid: string
): Promise<void> {
  await context.time.ready()
  try {
    await changeSigns(context, context.lookers, entity, (present) =>
      present.filter((looker) => looker.uid !== uid)
    )
  } finally {
    context.feed.readAgain(entity)
  }
}

/** Who looks on, as feeds show it. @param records those of the entity's signs */
export function lookersIn({ type, id }: Entity, records: Item[], moment: Moment): Presence[] {
  return signsIn(records, LOOKERS, moment).map(({ uid, name, until }) => ({
    entityType: type,
    entityId: id,
    userData: { uid, ...(name !== undefined && { name }) },
    until
  }))
}
