import { Type, type Static } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { Failure, texts } from '../errors.ts'
import {
  createSigns,
  refuseBeyond,
  signsIn,
  StoredSign,
  type SignKind,
  type SignsDeps
} from './signs.ts'
import { isExpired, isTombstone, ownerOf, recordKey, type Item, type Moment } from './record.ts'
import type { Entity, Petition, PetitionQuery, PetitionRequest } from './schemas.ts'

/** How long a petition stands that is not made again. */
export const PETITION_SECONDS = 60

/** Most users who may petition for one field, and for all fields of one entity, at once. */
export const PETITIONS_OF_FIELD = 5
export const PETITIONS_OF_ENTITY = 20

/** A petition as the table keeps it. */
const StoredPetition = Type.Object({ ...StoredSign.properties, fieldName: Type.String() })
type StoredPetition = Static<typeof StoredPetition>

const PETITIONS: SignKind<StoredPetition> = {
  member: 'petitions',
  isSign: (value) => Value.Check(StoredPetition, value)
}

/** The petition stands, until a Unix time in seconds. */
export interface PetitionedOutcome {
  outcome: 'petitioned'
  until: number
}
/** Nobody else holds the field. */
export interface UnheldOutcome {
  outcome: 'unheld'
}

/** Petitions: users ask the holder of a lock for it. They take nothing from the holder, and end by themselves. */
export function createPetitions(deps: SignsDeps) {
  const { table, environment, moment } = deps
  const change = createSigns(
    deps,
    PETITIONS,
    'Too many users ask for fields of this entity at once; try again'
  )

  /**
   * Petitions for a field that another user holds. Made again, a petition goes on.
   * @throws {Failure} TOO_MANY_REQUESTS where as many users as may petition already; STORE_UNAVAILABLE, STORE_FAILED
   */
  async function file(
    entity: Entity,
    { fieldName, userData }: PetitionRequest
  ): Promise<PetitionedOutcome | UnheldOutcome> {
    const [uid, name] = [String(userData.uid), userData.name]
    const lock = await table.get({
      env_entityType_entityId: recordKey(environment, entity),
      fieldName
    })
    if (!lock || isTombstone(lock) || isExpired(lock, moment()) || ownerOf(lock) === uid) {
      return { outcome: 'unheld' }
    }
    const until = moment().now + PETITION_SECONDS
    await change(entity, (present) => {
      const others = present.filter(
        (petition) => petition.fieldName !== fieldName || petition.uid !== uid
      )
      refuseBeyond(
        others.filter((petition) => petition.fieldName === fieldName),
        PETITIONS_OF_FIELD,
        'ask for this field',
        moment()
      )
      refuseBeyond(others, PETITIONS_OF_ENTITY, 'ask for fields of this entity', moment())
      return [...others, { fieldName, uid, ...(name !== undefined && { name }), until }]
    })
    return { outcome: 'petitioned', until }
  }

  /**
   * Withdraws the petitions for a field, of a user, or of both. To withdraw what does not stand succeeds.
   * @throws {Failure} BAD_REQUEST without a field and a user
   */
  async function withdraw(entity: Entity, { fieldName, uid }: PetitionQuery): Promise<void> {
    if (fieldName === undefined && uid === undefined) {
      throw new Failure('BAD_REQUEST', texts.fieldOrUser)
    }
    await change(entity, (present) =>
      present.filter(
        (petition) =>
          (fieldName !== undefined && petition.fieldName !== fieldName) ||
          (uid !== undefined && petition.uid !== uid)
      )
    )
  }

  return { file, withdraw }
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
