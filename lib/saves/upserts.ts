import { hash, randomUUID } from 'node:crypto'
import { Type } from '@sinclair/typebox'
import type { Editions } from '../editions/editions.ts'
import type { UpdateOptions } from '../editions/save/options.ts'
import type { ContentModel } from '../editions/model.ts'
import { editionAddress, isUncertain } from '../editions/save/outcome.ts'
import { busy } from '../editions/save/save-queue.ts'
import type { EditionJson } from '../editions/translate/edition-json.ts'
import type { EditionText } from '../editions/translate/texts.ts'
import { uuidOf } from '../editions/translate/write.ts'
import { Failure } from '../errors.ts'
import { CALLER_GONE, hasHungUp, type Caller } from '../http/calls.ts'
import { createPatience, WAIT_MS } from '../patience.ts'
import { UUID_PATTERN } from '../patterns.ts'
import { isOfVersion } from '../table/expression.ts'
import type { Item } from '../table/item.ts'
import {
  createLeased,
  createRecordContext,
  isLeaseOver,
  leasedRecord,
  membersIn,
  replaceLeased,
  SETTLE_MS,
  type LeasedKind,
  type LeasedRecord,
  type RecordContext,
  type RecordDeps
} from '../table/lease.ts'
import { upsertBody, keyIn } from './upsert-body.ts'

/**
 * How long a reservation keeps the others away from creating the edition, in milliseconds, unless
 * it is given back.
 */
const LEASE_MS = 30_000

/**
 * Reservations. It is remembered for an hour which edition was created: who looked for it longer
 * ago has ended.
 */
const RESERVATIONS = {
  name: 'key',
  keptSeconds: 3600,
  members: Type.Object({
    /** Of the edition that is created. */
    uuid: Type.String({ pattern: `^${UUID_PATTERN}$` }),
    isDone: Type.Optional(Type.Literal(true))
  })
} satisfies LeasedKind

export interface UpsertsDeps extends RecordDeps {
  editions: Pick<Editions, 'bare' | 'bundles' | 'create' | 'search' | 'types' | 'update'>
  model: ContentModel
}

export interface UpsertContext extends RecordContext, Pick<UpsertsDeps, 'editions' | 'model'> {
  /**
   * The creates of this instance that are under way, by the keys of their reservations. Other
   * upserts of the same key wait for them, and do not ask the table.
   */
  creations: Map<string, Promise<unknown>>
}

export type UpsertResult = EditionText & { isNew: boolean; isShared: boolean }

export interface Upserts {
  upsert(
    bundle: string,
    key: string,
    json: Record<string, unknown>,
    caller: Caller,
    options?: UpdateOptions
  ): Promise<UpsertResult>
}

/** One upsert: what it saves, as whom, and the record that reserves its key. */
interface Upsert {
  bundle: string
  key: string
  /** What to save, with the key and with the bundle or the edition type. */
  body: EditionJson
  caller: Caller
  options: UpdateOptions
  /** Whether an earlier attempt at this request was about to create the edition. */
  wasCreate: boolean
  record: LeasedRecord
}

/** The right of one upsert to create the edition of a key. */
interface Reservation {
  /** Of the edition that is created. */
  uuid: string
  version: string
}

/**
 * Creates or changes the edition with a key. Drupal looks whether a key is taken and saves without
 * a lock, so two creates at once could both pass. A record of the table reserves the key: whoever
 * has it creates the edition, with the uuid that the record has, and the others wait and change
 * that one. After a crash the next one goes on with the same uuid, which is unique in Drupal's
 * database.
 */
export function createUpserts({ editions, model, ...deps }: UpsertsDeps): Upserts {
  const context: UpsertContext = {
    ...createRecordContext(deps),
    editions,
    model,
    creations: new Map()
  }
  return {
    upsert: (bundle, key, json, caller, options) =>
      upsert(context, bundle, key, json, caller, options)
  }
}

/**
 * @param bundle of editions, or an edition type
 * @returns `isNew`: whether this call, or an earlier attempt at it, has created the edition
 * @throws {Failure} BAD_REQUEST where editions have no key; NOT_FOUND for an unknown bundle;
 *   UNPROCESSABLE for a body with another key or bundle; CONFLICT where several editions have the
 *   key; PRECONDITION_FAILED where If-Match names another state, or none has the key; EDITION_BUSY;
 *   STORE_UNAVAILABLE, STORE_FAILED; as `editions.create` and `editions.update`
 */
export async function upsert(
  context: UpsertContext,
  bundle: string,
  key: string,
  json: Record<string, unknown>,
  caller: Caller,
  options: UpdateOptions = {}
): Promise<UpsertResult> {
  const save: Upsert = {
    bundle,
    key,
    body: await upsertBody(context, bundle, key, json, caller),
    caller,
    options,
    wasCreate: options.attempt?.earlier?.before === '',
    record: recordOf(context, bundle, key)
  }
  const patience = createPatience(context.time)
  do {
    if (hasHungUp(caller)) throw CALLER_GONE
    const result = await attempt(context, save)
    if (result) return result
  } while (await patience.pause())
  throw busy(`The edition with this key has been in the making for more than ${WAIT_MS} ms`)
}

function recordOf(context: UpsertContext, bundle: string, key: string): LeasedRecord {
  const id = hash('sha256', JSON.stringify([bundle, key]), 'base64url')
  return leasedRecord(context, RESERVATIONS, id)
}

/**
 * One try at an upsert.
 * @returns undefined where somebody else creates the edition, or has just done so
 */
async function attempt(context: UpsertContext, save: Upsert): Promise<UpsertResult | undefined> {
  const { creations } = context
  const uuid = await editionOf(context, save)
  if (uuid !== undefined) return change(context, save, uuid)
  if (save.options.ifMatch !== undefined) {
    throw new Failure(
      'PRECONDITION_FAILED',
      `There is no edition with the key "${save.key}", so none that If-Match could name. Nothing was saved.`
    )
  }
  const name = save.record.key.env_entityType_entityId
  const other = creations.get(name)
  if (other) {
    await other
    const created = await editionOf(context, save)
    return created === undefined ? undefined : change(context, save, created)
  }
  const own = reserveAndCreate(context, save)
  creations.set(
    name,
    own.catch(() => {})
  )
  return own.finally(() => creations.delete(name))
}

/** The uuid of the edition with the key, if there is one that the caller may see. */
async function editionOf(
  { editions }: UpsertContext,
  { bundle, key, caller }: Upsert
): Promise<string | undefined> {
  const options = { key, limit: 2, offset: 0, total: false, isCertain: true }
  const { rows } = await editions.search(bundle, options, caller)
  const [row, another] = rows
  if (row && another) {
    throw new Failure(
      'CONFLICT',
      `There are several editions with the key "${key}": ${row.uuid} and ${another.uuid}`,
      editionAddress(row.uuid)
    )
  }
  return row?.uuid
}

async function change(
  { editions }: UpsertContext,
  { body, caller, options, wasCreate }: Upsert,
  uuid: string
): Promise<UpsertResult> {
  const edition = await editions.update(uuid, body, caller, {
    ...options,
    unlessSame: options.ifMatch === undefined
  })
  return { ...edition, isNew: wasCreate && options.attempt?.earlier !== undefined }
}

/**
 * Creates the edition, or changes the one that has been created meanwhile.
 * @returns undefined while another instance creates the edition
 */
async function reserveAndCreate(
  context: UpsertContext,
  save: Upsert
): Promise<UpsertResult | undefined> {
  await context.time.ready()
  const ownUuid = uuidOf(save.body, context.model)
  const uuid = ownUuid ?? randomUUID()
  const claim = await createLeased(context, save.record, { uuid }, LEASE_MS)
  if (claim.done) return create(context, save, { uuid, version: claim.version })
  const { inTheWay } = claim
  // A reservation that is gone was given back just now.
  if (!inTheWay || !isLeaseOver(context, inTheWay, LEASE_MS)) return undefined
  const reserved = membersIn(RESERVATIONS, inTheWay)
  // Created since this call looked for it; or by an instance that has crashed.
  if (reserved && (await hasKey(context, save, reserved.uuid))) {
    return change(context, save, reserved.uuid)
  }
  const unusedUuid = reserved?.isDone ? undefined : reserved?.uuid
  return takeOver(context, save, inTheWay, ownUuid ?? unusedUuid ?? randomUUID())
}

/** Whether there is an edition with a uuid, and it has the key. */
async function hasKey(
  { editions, model }: UpsertContext,
  { key, caller }: Upsert,
  uuid: string
): Promise<boolean> {
  try {
    return keyIn(await editions.bare(uuid, caller), model) === key
  } catch (error) {
    if ((error as Failure).code === 'NOT_FOUND') return false
    throw error
  }
}

/**
 * Creates the edition instead of an upsert that has crashed or failed.
 * @returns undefined where another one does
 */
async function takeOver(
  context: UpsertContext,
  save: Upsert,
  { version: replaced }: Item,
  uuid: string
): Promise<UpsertResult | undefined> {
  const version = await replaceLeased(context, save.record, replaced, { uuid }, LEASE_MS)
  return version === undefined ? undefined : create(context, save, { uuid, version })
}

/** Creates the edition of a reservation, and gives the reservation back. */
async function create(
  context: UpsertContext,
  { body, caller, options, record }: Upsert,
  { uuid, version }: Reservation
): Promise<UpsertResult> {
  const { editions, model, table } = context
  try {
    const named = { ...body, [model.keys.uuid]: [{ value: uuid }] }
    const edition = await editions.create(named, caller, options)
    await replaceLeased(context, record, version, { uuid, isDone: true }, 0).catch(() => {})
    return { ...edition, isShared: true }
  } catch (error) {
    const cleanUp = isUncertain(error)
      ? replaceLeased(context, record, version, { uuid }, SETTLE_MS)
      : table.remove(record.key, isOfVersion(version))
    await cleanUp.catch(() => {})
    throw error
  }
}
