import { isAgent } from '../agents.ts'
import { Failure, texts } from '../errors.ts'
import type { Item } from '../table/item.ts'
import { pause } from './contention.ts'
import { momentNow, secondsNow, type LockContext } from './context.ts'
import { dropDraft } from './drafts.ts'
import { propose } from './proposals.ts'
import {
  holderOf,
  isExpired,
  isTombstone,
  ownerOf,
  recordKey,
  versionOf,
  type Moment
} from './record.ts'
import { release } from './release.ts'
import type { Entity, Holder, Petition, PetitionQuery, PetitionRequest } from './schemas.ts'
import { changeSigns } from './sign-changes.ts'
import { PETITIONS, refuseBeyond, signsIn, type StoredPetition } from './signs.ts'

/** How long a petition stands that is not made again. */
export const PETITION_SECONDS = 60

/** Most users who may petition for one field, and for all fields of one entity, at once. */
export const PETITIONS_OF_FIELD = 5
export const PETITIONS_OF_ENTITY = 20

/** How often the lock of an agent that renews it meanwhile is released for a person. */
const RELEASES_MAX = 3

/** The petition stands, until a Unix time in seconds. */
export interface PetitionedOutcome {
  outcome: 'petitioned'
  until: number
}
/** Nobody else holds the field. */
export interface UnheldOutcome {
  outcome: 'unheld'
}

/**
 * Petitions for a field that another user holds: asks the holder for it. A petition takes nothing
 * from the holder, and ends by itself. Made again, it goes on. An agent that is asked by a person
 * gives the field back at once; its text is kept as a proposal, or as a draft where it cannot be
 * one.
 * @throws {Failure} TOO_MANY_REQUESTS where as many users as may petition already;
 * STORE_UNAVAILABLE, STORE_FAILED
 */
export async function filePetition(
  context: LockContext,
  entity: Entity,
  { fieldName, userData }: PetitionRequest
): Promise<PetitionedOutcome | UnheldOutcome> {
  const [uid, name] = [String(userData.uid), userData.name]
  await context.time.ready()
  try {
    if (!(await askedOf(context, entity, fieldName, { uid, name }))) return { outcome: 'unheld' }
    const until = secondsNow(context) + PETITION_SECONDS
    const petition = { fieldName, uid, ...(name !== undefined && { name }), until }
    await changeSigns(context, context.petitions, entity, (present) =>
      withPetition(present, petition, momentNow(context))
    )
    return { outcome: 'petitioned', until }
  } finally {
    context.feed.readAgain(entity)
  }
}

/** The lock of a field that somebody else than a user holds. */
async function lockOfOther(
  context: LockContext,
  entity: Entity,
  fieldName: string,
  uid: string
): Promise<Item | undefined> {
  const key = { env_entityType_entityId: recordKey(context.environment, entity), fieldName }
  const lock = await context.table.get(key)
  if (!lock || isTombstone(lock) || isExpired(lock, momentNow(context))) return undefined
  return ownerOf(lock) === uid ? undefined : lock
}

/**
 * The lock that its holder is asked for. An agent's that a person asks for is released first; it
 * may have been renewed meanwhile, or be somebody else's by then.
 */
async function askedOf(
  context: LockContext,
  entity: Entity,
  fieldName: string,
  by: { uid: string; name: string | undefined }
): Promise<Item | undefined> {
  let lock = await lockOfOther(context, entity, fieldName, by.uid)
  for (let count = 1; count <= RELEASES_MAX && isHandedOver(lock, by.uid); count++) {
    const conditions = { ifMatch: [versionOf(lock)!], by }
    const result = await release(context, entity, { fieldName }, conditions)
    if (result.outcome === 'released') {
      await noteHandover(context, entity, holderOf(lock), by)
      if (result.draft) await proposeText(context, entity, lock, result.draft)
    } else await pause(context, count)
    lock = await lockOfOther(context, entity, fieldName, by.uid)
  }
  return lock
}

/** Notes what a person has been given as a takeover, which it is to the agent. */
async function noteHandover(
  { takeoverNotes }: LockContext,
  entity: Entity,
  { fieldName, userData: from }: Holder,
  { uid, name }: { uid: string; name: string | undefined }
): Promise<void> {
  if (!takeoverNotes?.concerns(entity.type)) return
  const by = { uid, ...(name !== undefined && { name }) }
  await takeoverNotes.note(entity, { fieldName, from, by })
}

/**
 * Makes a proposal of the text that an agent had in its lock, and drops the draft that keeps it
 * until then. Where it cannot be a proposal, the draft stays.
 */
async function proposeText(
  context: LockContext,
  entity: Entity,
  lock: Item,
  draft: Item
): Promise<void> {
  const { fieldName, userData } = holderOf(lock)
  const { payload } = lock
  if (typeof payload !== 'string') return
  try {
    await propose(context, entity, { fieldName, userData, payload, base: versionOf(lock)! })
    await dropDraft(context, draft)
  } catch {
    // The text stays among the agent's drafts.
  }
}

/** Whether a lock is an agent's, and a person asks for it. */
function isHandedOver(lock: Item | undefined, uid: string): lock is Item {
  return versionOf(lock) !== undefined && isAgent(ownerOf(lock!)) && !isAgent(uid)
}

/** The petitions of an entity with one more, or with a new end of the same one. */
function withPetition(
  present: StoredPetition[],
  petition: StoredPetition,
  moment: Moment
): StoredPetition[] {
  const { fieldName, uid } = petition
  const others = present.filter((other) => other.fieldName !== fieldName || other.uid !== uid)
  const ofField = others.filter((other) => other.fieldName === fieldName)
  refuseBeyond(ofField, PETITIONS_OF_FIELD, 'ask for this field', moment)
  refuseBeyond(others, PETITIONS_OF_ENTITY, 'ask for fields of this entity', moment)
  return [...others, petition]
}

/**
 * Withdraws the petitions for a field, of a user, or of both. To withdraw what does not stand
 * succeeds.
 * @throws {Failure} BAD_REQUEST without a field and a user
 */
export async function withdrawPetitions(
  context: LockContext,
  entity: Entity,
  { fieldName, uid }: PetitionQuery
): Promise<void> {
  await context.time.ready()
  try {
    if (fieldName === undefined && uid === undefined) {
      throw new Failure('BAD_REQUEST', texts.fieldOrUser)
    }
    await changeSigns(context, context.petitions, entity, (present) =>
      present.filter(
        (petition) =>
          (fieldName !== undefined && petition.fieldName !== fieldName) ||
          (uid !== undefined && petition.uid !== uid)
      )
    )
  } finally {
    context.feed.readAgain(entity)
  }
}

/** The petitions that stand, as feeds show them. @param records those of the entity's signs */
export function petitionsIn({ type, id }: Entity, records: Item[], moment: Moment): Petition[] {
  return signsIn(records, PETITIONS, moment).map(({ fieldName, uid, name, until }) => ({
    entityType: type,
    entityId: id,
    fieldName,
    userData: { uid, ...(name !== undefined && { name }) },
    until
  }))
}
