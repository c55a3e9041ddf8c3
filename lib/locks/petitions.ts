import { REMOVE_AT } from '../dynamodb/table.ts'
import { Failure, texts } from '../errors.ts'
import type { StoredValue } from './item.ts'
import { isExpired, isNothing, isStill, isTombstone, ownerOf, recordKey, tombstoneOf, type Item, type Key, type Moment } from './record.ts'
import type { Entity, Petition, PetitionQuery, PetitionRequest } from './schemas.ts'
import type { LockTable } from './table.ts'
import type { NextVersion } from './version.ts'

/** How long a petition stands that is not made again. */
export const PETITION_SECONDS = 60

/** Most users who may petition for one field, and for all fields of one entity, at once. */
export const PETITIONS_OF_FIELD = 5
export const PETITIONS_OF_ENTITY = 20

/** How often a change is tried that meets other changes of the same entity. */
const ATTEMPTS = 20
const LONGEST_PAUSE_MS = 50

/**
 * The sort key of the record that has an entity's petitions. No field has it: a field's name has 255 characters at most. It
 * stands among the entity's locks, so that the one Query by which a feed reads these finds it too.
 */
export const PETITIONS = 'petitions'.padStart(256, '#')

/** A petition as the table keeps it. */
interface StoredPetition { fieldName: string, uid: string, name?: string, until: number }

/** The petition stands, until a Unix time in seconds. */
export interface PetitionedOutcome { outcome: 'petitioned', until: number }
/** Nobody else holds the field. */
export interface UnheldOutcome { outcome: 'unheld' }

export interface PetitionsDeps {
  table: LockTable
  environment: string
  moment: () => Moment
  nextVersion: NextVersion
  wait: (ms: number) => Promise<unknown>
  /** A number from 0 to 1. */
  random: () => number
}

/**
 * Petitions: users ask the holder of a lock for it. They take nothing from the holder, and end by themselves. All of an entity
 * are in one record, which has the form of a tombstone: whatever reads or writes locks leaves it alone, earlier releases too.
 */
export function createPetitions ({ table, environment, moment, nextVersion, wait, random }: PetitionsDeps) {
  /**
   * Petitions for a field that another user holds. Made again, a petition goes on.
   * @throws {Failure} TOO_MANY_REQUESTS where as many users as may petition already; STORE_UNAVAILABLE, STORE_FAILED
   */
  async function file (entity: Entity, { fieldName, userData }: PetitionRequest): Promise<PetitionedOutcome | UnheldOutcome> {
    const [uid, name] = [String(userData.uid), userData.name]
    const lock = await table.get({ env_entityType_entityId: recordKey(environment, entity), fieldName })
    if (!lock || isTombstone(lock) || isExpired(lock, moment()) || ownerOf(lock) === uid) return { outcome: 'unheld' }
    const until = moment().now + PETITION_SECONDS
    await change(entity, (present) => {
      const others = present.filter((petition) => petition.fieldName !== fieldName || petition.uid !== uid)
      refuseBeyond(others.filter((petition) => petition.fieldName === fieldName), PETITIONS_OF_FIELD, 'this field')
      refuseBeyond(others, PETITIONS_OF_ENTITY, 'fields of this entity')
      return [...others, { fieldName, uid, ...(name !== undefined && { name }), until }]
    })
    return { outcome: 'petitioned', until }
  }

  /** @throws {Failure} TOO_MANY_REQUESTS */
  function refuseBeyond (petitions: StoredPetition[], most: number, what: string): void {
    if (petitions.length < most) return
    const seconds = Math.min(...petitions.map(({ until }) => until)) - moment().now
    throw new Failure('TOO_MANY_REQUESTS', `${most} users already ask for ${what}, the most allowed; try again in ${seconds} s`, { headers: { 'retry-after': String(seconds) } })
  }

  /**
   * Withdraws the petitions for a field, of a user, or of both. To withdraw what does not stand succeeds.
   * @throws {Failure} BAD_REQUEST without a field and a user
   */
  async function withdraw (entity: Entity, { fieldName, uid }: PetitionQuery): Promise<void> {
    if (fieldName === undefined && uid === undefined) throw new Failure('BAD_REQUEST', texts.fieldOrUser)
    await change(entity, (present) => present.filter((petition) => (fieldName !== undefined && petition.fieldName !== fieldName) || (uid !== undefined && petition.uid !== uid)))
  }

  /** Writes the petitions that remain, unless none was removed. */
  async function change (entity: Entity, edit: (present: StoredPetition[]) => StoredPetition[], count = 1): Promise<void> {
    const key: Key = { env_entityType_entityId: recordKey(environment, entity), fieldName: PETITIONS }
    const record = await table.get(key)
    const present = standing(record, moment())
    const next = edit(present)
    if (next.length === present.length && next.every((petition) => present.includes(petition))) return
    const removeAt = Math.max(moment().now, ...next.map(({ until }) => until))
    const version = nextVersion(record?.['version'])
    const item = { ...tombstoneOf(key, 0, version), version, petitions: next.map((petition) => new Map<string, StoredValue>(Object.entries(petition))), [REMOVE_AT]: removeAt }
    const { done } = await table.claim(item, record ? isStill(record) : isNothing())
    if (done) return
    if (count === ATTEMPTS) throw new Failure('STORE_UNAVAILABLE', 'Too many users ask for fields of this entity at once; try again', { headers: { 'retry-after': '1' } })
    await wait(random() * LONGEST_PAUSE_MS)
    return change(entity, edit, count + 1)
  }

  return { file, withdraw }
}

/** The petitions of an entity's record that stand. */
function standing (record: Item | undefined, { now }: Moment): StoredPetition[] {
  return (record?.['petitions'] as StoredPetition[] | undefined ?? []).filter(({ until }) => until > now)
}

/** Whether a record has an entity's petitions. */
export function hasPetitions ({ fieldName }: { fieldName: string }): boolean {
  return fieldName === PETITIONS
}

/** The petitions that stand, as feeds show them. @param record that of the entity's petitions, if there is one */
export function petitionsIn ({ type, id }: Entity, record: Item | undefined, moment: Moment): Petition[] {
  return standing(record, moment).map(({ fieldName, uid, name, until }) => ({ entityType: type, entityId: id, fieldName, userData: { uid, ...(name !== undefined && { name }) }, until }))
}
