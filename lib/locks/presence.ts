import { Value } from '@sinclair/typebox/value'
import {
  createSigns,
  refuseBeyond,
  signsIn,
  StoredSign,
  type SignKind,
  type SignsDeps
} from './signs.ts'
import type { Item, Moment } from './record.ts'
import type { Entity, Presence, PresenceRequest } from './schemas.ts'

/** How long a user counts as looking on who does not say so again. */
export const PRESENCE_SECONDS = 90

/** A presence that was written so short a time ago, in seconds, is not written again: another window of the user has said so. */
const FRESH_SECONDS = 20

/** Most users who may look on at one entity. */
export const LOOKERS_MAX = 50

const LOOKERS: SignKind<StoredSign> = {
  member: 'lookers',
  isSign: (value) => Value.Check(StoredSign, value)
}

/** Presence: which users look on at an entity. It locks nothing, and ends by itself. */
export function createPresence(deps: SignsDeps) {
  const { moment } = deps
  const change = createSigns(deps, LOOKERS, 'Too many users open this entity at once; try again')

  /**
   * Notes that a user looks on. Noted again, that goes on; all windows of a user are one looker.
   * @returns whether that is news: the user was not there, or had another name
   * @throws {Failure} TOO_MANY_REQUESTS where as many users as may look on already; STORE_UNAVAILABLE, STORE_FAILED
   */
  async function enter(
    entity: Entity,
    { userData: { uid: id, name } }: PresenceRequest
  ): Promise<boolean> {
    const uid = String(id)
    let isNews = true
    await change(entity, (present) => {
      const before = present.find((looker) => looker.uid === uid)
      const { now } = moment()
      isNews = !before || before.name !== name
      if (before && !isNews && before.until > now + PRESENCE_SECONDS - FRESH_SECONDS) return present
      if (!before) refuseBeyond(present, LOOKERS_MAX, 'look on at this entity', moment())
      const looker = { uid, ...(name !== undefined && { name }), until: now + PRESENCE_SECONDS }
      return before
        ? present.map((other) => (other === before ? looker : other))
        : [...present, looker]
    })
    return isNews
  }

  /** Notes that a user looks on no longer. To leave where one is not succeeds. */
  async function leave(entity: Entity, uid: string): Promise<void> {
    await change(entity, (present) => present.filter((looker) => looker.uid !== uid))
  }

  return { enter, leave }
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
