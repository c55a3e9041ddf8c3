import { Failure, texts } from '../errors.ts'
import type { Item } from '../table/item.ts'
import { momentNow, secondsNow, type LockContext } from './context.ts'
import { isExpired, isTombstone, ownerOf, recordKey, type Moment } from './record.ts'
import type { Entity, Petition, PetitionQuery, PetitionRequest } from './schemas.ts'
import { changeSigns } from './sign-changes.ts'
import { PETITIONS, refuseBeyond, signsIn, type StoredPetition } from './signs.ts'

/** How long a petition stands that is not made again. */
export const PETITION_SECONDS = 60

/** Most users who may petition for one field, and for all fields of one entity, at once. */
export const PETITIONS_OF_FIELD = 5
export const PETITIONS_OF_ENTITY = 20

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
 * from the holder, and ends by itself. Made again, it goes on.
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
    if (!(await isHeldByOther(context, entity, fieldName, uid))) return { outcome: 'unheld' }
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

/** Whether somebody else than a user holds a field. */
async function isHeldByOther(
  context: LockContext,
  entity: Entity,
  fieldName: string,
  uid: string
): Promise<boolean> {
  const key = { env_entityType_entityId: recordKey(context.environment, entity), fieldName }
  const lock = await context.table.get(key)
  if (!lock || isTombstone(lock) || isExpired(lock, momentNow(context))) return false
  return ownerOf(lock) !== uid
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
