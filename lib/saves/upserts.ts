import { hash, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import type { Editions, UpdateOptions } from '../editions/editions.ts'
import type { ContentModel } from '../editions/model.ts'
import { editionAddress, isUncertain } from '../editions/save/outcome.ts'
import { busy } from '../editions/save/save-queue.ts'
import type { EditionJson } from '../editions/translate/edition-json.ts'
import type { EditionText } from '../editions/translate/texts.ts'
import { bundleOf, normalize, uuidOf } from '../editions/translate/write.ts'
import { Failure } from '../errors.ts'
import { CALLER_GONE, hasHungUp, type Caller } from '../http/calls.ts'
import { scalarText } from '../drupal/document.ts'
import { createLeases } from './lease.ts'
import { isOfVersion, isNothing, type Item } from '../locks/record.ts'
import { createLockTable } from '../locks/table.ts'
import { createVersions } from '../locks/version.ts'
import { createPatience, WAIT_MS } from '../patience.ts'
import { isUuid } from '../patterns.ts'

/** How long a reservation keeps the others away from creating the edition, in milliseconds, unless it is given back. */
const LEASE_MS = 30_000
/** The same after a create whose outcome is not known: Drupal may still be saving. */
const SETTLE_MS = 8000
/** How long it is remembered which edition was created for a key, in seconds; who looked for it longer ago has ended. */
const REMEMBERED_SECONDS = 3600

export interface UpsertsDeps {
  client: DynamoDBDocumentClient
  table: string
  /** First part of every record's key. */
  environment: string
  editions: Pick<Editions, 'bare' | 'bundles' | 'create' | 'search' | 'types' | 'update'>
  model: ContentModel
  /** The store's clock, in milliseconds since 1970. */
  now: () => number
  /** Resolves when `now` is right; undefined where it is already. */
  ready: () => Promise<void> | undefined
  /** Milliseconds that no setting of a clock changes. */
  monotonic?: () => number
  wait?: (ms: number) => Promise<unknown>
  random?: () => number
}

export type UpsertResult = EditionText & { isNew: boolean; isShared: boolean }

/** A reservation of this upsert's. */
interface Reservation {
  uuid: string
  version: string
}

export type Upserts = ReturnType<typeof createUpserts>

/**
 * Creates or changes the edition with a key. Drupal looks whether a key is taken and saves without a lock, so two creates
 * at once could both pass. A record of the table reserves the key: whoever has it creates the edition, with the uuid that the
 * record has, and the others wait and change that one. After a crash the next one goes on with the same uuid, which is
 * unique in Drupal's database.
 */
export function createUpserts({
  client,
  table: name,
  environment,
  editions,
  model,
  now,
  ready,
  monotonic = () => performance.now(),
  wait = sleep,
  random = Math.random
}: UpsertsDeps) {
  const table = createLockTable({ client, table: name, wait, random })
  const nextVersion = createVersions(now)
  const isLeaseOver = createLeases(now, monotonic)
  /** The keys that this instance is about to create an edition for: other upserts of it wait for that, and do not ask the table. */
  const creations = new Map<string, Promise<unknown>>()

  /**
   * @param bundle of editions, or an edition type
   * @returns `isNew`: whether this call, or an earlier attempt at it, has created the edition
   * @throws {Failure} BAD_REQUEST where editions have no key; NOT_FOUND for an unknown bundle; UNPROCESSABLE for a body with
   *   another key or bundle; CONFLICT where several editions have the key; PRECONDITION_FAILED where If-Match names another
   *   state, or none has the key; EDITION_BUSY; STORE_UNAVAILABLE, STORE_FAILED;
   *   as `editions.create` and `editions.update`
   */
  async function upsert(
    bundle: string,
    key: string,
    json: Record<string, unknown>,
    caller: Caller,
    options: UpdateOptions = {}
  ): Promise<UpsertResult> {
    const body = await complete(bundle, key, json, caller)
    const recordKey = {
      env_entityType_entityId: `${environment}#key-${hash('sha256', JSON.stringify([bundle, key]), 'base64url')}`,
      fieldName: 'key'
    }
    const patience = createPatience({ monotonic, wait, random })
    const name = recordKey.env_entityType_entityId
    /** An earlier attempt at this request was about to create the edition. */
    const wasCreate = options.attempt?.earlier?.before === ''
    do {
      if (hasHungUp(caller)) throw CALLER_GONE
      const result = await attempt()
      if (result) return result
    } while (await patience.pause())
    throw busy(`The edition with this key has been in the making for more than ${WAIT_MS} ms`)

    /** @returns undefined where somebody else creates the edition, or has just done so */
    async function attempt(): Promise<UpsertResult | undefined> {
      const uuid = await find(bundle, key, caller)
      if (uuid !== undefined) return change(uuid)
      if (options.ifMatch !== undefined) {
        throw new Failure(
          'PRECONDITION_FAILED',
          `There is no edition with the key "${key}", so none that If-Match could name. Nothing was saved.`
        )
      }
      const other = creations.get(name)
      if (other) {
        await other
        const created = await find(bundle, key, caller)
        return created === undefined ? undefined : change(created)
      }
      const own = make()
      creations.set(
        name,
        own.catch(() => {})
      )
      return own.finally(() => creations.delete(name))
    }

    /** Creates the edition, or changes the one that has been created meanwhile; undefined while another instance creates it. */
    async function make(): Promise<UpsertResult | undefined> {
      const record = await reserve()
      if ('version' in record) return create(record)
      const { inTheWay } = record
      if (!inTheWay || !isLeaseOver(inTheWay, LEASE_MS)) return undefined
      const reservedUuid = String(inTheWay['uuid'])
      const uuid = isUuid(reservedUuid) ? reservedUuid : undefined
      // Created since this call looked for it; or by one that has crashed.
      if (uuid !== undefined && (await isIt(uuid))) return change(uuid)
      const reservation = await takeOver(inTheWay, inTheWay['isDone'] ? undefined : uuid)
      return reservation && create(reservation)
    }

    async function change(uuid: string): Promise<UpsertResult> {
      const edition = await editions.update(uuid, body, caller, {
        ...options,
        unlessSame: options.ifMatch === undefined
      })
      return { ...edition, isNew: wasCreate && options.attempt?.earlier !== undefined }
    }

    /** Whether the edition of a reservation is there and has the key. */
    async function isIt(uuid: string): Promise<boolean> {
      try {
        return keyOf(await editions.bare(uuid, caller)) === key
      } catch (error) {
        if ((error as Failure).code === 'NOT_FOUND') return false
        throw error
      }
    }

    async function reserve(): Promise<Reservation | { inTheWay: Item | undefined }> {
      await ready()
      const [uuid, version] = [uuidOf(body, model) ?? randomUUID(), nextVersion()]
      const result = await table.claim(
        { ...recordKey, ...leasedEntry(uuid, version, LEASE_MS) },
        isNothing()
      )
      // One that is gone was given back just now.
      return result.done ? { uuid, version } : { inTheWay: result.inTheWay }
    }

    async function takeOver(
      { version: last }: Item,
      reservedUuid: string | undefined
    ): Promise<Reservation | undefined> {
      const [uuid, version] = [
        uuidOf(body, model) ?? reservedUuid ?? randomUUID(),
        nextVersion(last)
      ]
      const { done } = await table.claim(
        { ...recordKey, ...leasedEntry(uuid, version, LEASE_MS) },
        isOfVersion(last)
      )
      return done ? { uuid, version } : undefined
    }

    async function create({ uuid, version }: Reservation): Promise<UpsertResult> {
      const isOurs = isOfVersion(version)
      try {
        const edition = await editions.create(
          { ...body, [model.keys.uuid]: [{ value: uuid }] },
          caller,
          options
        )
        await table
          .put(
            { ...recordKey, ...leasedEntry(uuid, nextVersion(version), 0), isDone: true },
            isOurs
          )
          .catch(() => {})
        return { ...edition, isShared: true }
      } catch (error) {
        const cleanUp = isUncertain(error)
          ? table.put(
              { ...recordKey, ...leasedEntry(uuid, nextVersion(version), SETTLE_MS) },
              isOurs
            )
          : table.remove(recordKey, isOurs)
        await cleanUp.catch(() => {})
        throw error
      }
    }
  }

  function leasedEntry(uuid: string, version: string, ms: number) {
    return {
      uuid,
      version,
      leaseUntil: ms === 0 ? 0 : Math.ceil(now()) + ms,
      removeAt: Math.floor(now() / 1000) + REMEMBERED_SECONDS
    }
  }

  /** The uuid of the edition with a key, if there is one that the caller may see. */
  async function find(bundle: string, key: string, caller: Caller): Promise<string | undefined> {
    const {
      rows: [row, another]
    } = await editions.search(
      bundle,
      { key, limit: 2, offset: 0, total: false, isCertain: true },
      caller
    )
    if (row && another) {
      throw new Failure(
        'CONFLICT',
        `There are several editions with the key "${key}": ${row.uuid} and ${another.uuid}`,
        editionAddress(row.uuid)
      )
    }
    return row?.uuid
  }

  /** The body with its key and its bundle, or its edition type. */
  async function complete(
    bundle: string,
    key: string,
    json: Record<string, unknown>,
    caller: Caller
  ): Promise<EditionJson> {
    const { keys, fields } = model
    if (fields.key === null) {
      throw new Failure(
        'BAD_REQUEST',
        `${model.entityType} has no field key in the content model, so no edition can be named by one`
      )
    }
    const body = normalize(json, model)
    if (body[fields.key] && keyOf(body) !== key) {
      throw new Failure(
        'UNPROCESSABLE',
        `${fields.key} of the body is not the key in the path, "${key}"`
      )
    }
    const withKey = { ...body, [fields.key]: [{ [mainOf(fields.key)]: key }] }
    if ((await editions.bundles(caller)).some(({ id }) => id === bundle)) {
      if ((bundleOf(body, model) ?? bundle) !== bundle) {
        throw new Failure(
          'UNPROCESSABLE',
          `${keys.bundle} of the body is not the bundle in the path, "${bundle}"`
        )
      }
      return keys.bundle === null ? withKey : { ...withKey, [keys.bundle]: [{ target_id: bundle }] }
    }
    if (
      fields.editionType === null ||
      !(await editions.types(caller)).some(({ id }) => id === bundle)
    ) {
      throw new Failure('NOT_FOUND', `There is no bundle and no edition type "${bundle}"`)
    }
    if (body[fields.editionType] && scalarText(body[fields.editionType]![0]?.value) !== bundle) {
      throw new Failure(
        'UNPROCESSABLE',
        `${fields.editionType} of the body is not the edition type in the path, "${bundle}"`
      )
    }
    return { ...withKey, [fields.editionType]: [{ value: bundle }] }
  }

  function keyOf(edition: EditionJson): string {
    return scalarText(edition[model.fields.key!]?.[0]?.[mainOf(model.fields.key!)])
  }

  function mainOf(field: string): string {
    return model.mainProperty[field] ?? 'value'
  }

  return { upsert }
}
