import { Type, type Static } from '@sinclair/typebox'
import { REMOVE_AT } from '../table/definition.ts'
import { Failure } from '../errors.ts'
import type { StoredValue } from './item.ts'
import {
  isNothing,
  isStill,
  recordKey,
  tombstoneOf,
  type Item,
  type Key,
  type Moment
} from './record.ts'
import type { Entity } from './schemas.ts'
import type { LockTable } from './table.ts'
import type { NextVersion } from './version.ts'

/** How often a change is tried that meets other changes of the same entity. */
const ATTEMPTS = 20
const LONGEST_PAUSE_MS = 50

/** What a user shows the others, as the table keeps it. It ends by itself, at a Unix time in seconds. */
export const StoredSign = Type.Object({
  uid: Type.String(),
  name: Type.Optional(Type.String()),
  until: Type.Integer()
})
export type StoredSign = Static<typeof StoredSign>

export interface SignsDeps {
  table: LockTable
  environment: string
  moment: () => Moment
  nextVersion: NextVersion
  wait: (ms: number) => Promise<unknown>
  /** A number from 0 to 1. */
  random: () => number
}

/** Signs of one kind: the member of a record that has them, and whether a value there is one of them. */
export interface SignKind<Sign extends StoredSign> {
  member: 'petitions' | 'lookers'
  isSign(value: unknown): value is Sign
}

/**
 * The sort keys of the records that have an entity's signs. No field has them: a field's name has 255 characters at most.
 * They stand among the entity's locks, so that the one Query by which a feed reads these finds them too.
 */
const SORT_KEYS: Record<SignKind<StoredSign>['member'], string> = {
  petitions: 'petitions'.padStart(256, '#'),
  lookers: 'lookers'.padStart(256, '#')
}
const ALL_SORT_KEYS = new Set(Object.values(SORT_KEYS))

/** Makes the next signs of those that stand. It may be called again, with what stands then. */
type Edit<Sign> = (present: Sign[]) => Sign[]

/** Changes of one entity that are written together: what each throws, in their order. */
interface Batch<Sign> {
  edits: Array<Edit<Sign>>
  refusals: Promise<unknown[]>
}

/**
 * The signs of one kind: all of an entity are in one record, which has the form of a tombstone. Whatever reads or writes
 * locks leaves it alone. Changes that come while this instance writes others of the same entity wait, and are then written
 * together. So fifty users who come in one moment cost a write or two, and two instances seldom write the record at once.
 * @param busy what to say where too many change them at once
 */
export function createSigns<Sign extends StoredSign>(
  deps: SignsDeps,
  kind: SignKind<Sign>,
  busy: string
) {
  const { table, environment, moment, nextVersion, wait, random } = deps
  const { member } = kind
  /** By the record's partition key: the batch that is not begun yet, and the last one's end. */
  const waiting = new Map<string, Batch<Sign>>()
  const ends = new Map<string, Promise<unknown>>()

  /**
   * Writes the signs that `edit` makes of those that stand, unless these are the same.
   * @throws {Failure} STORE_UNAVAILABLE, STORE_FAILED; what `edit` throws
   */
  async function change(entity: Entity, edit: Edit<Sign>): Promise<void> {
    const name = recordKey(environment, entity)
    const { edits, refusals } = waiting.get(name) ?? nextBatch(name)
    const index = edits.push(edit) - 1
    const refusal = (await refusals)[index]
    if (refusal) throw refusal
  }

  /** A batch that begins when the one before it has ended. */
  function nextBatch(name: string): Batch<Sign> {
    const edits: Array<Edit<Sign>> = []
    const refusals = Promise.resolve(ends.get(name)).then(() => {
      waiting.delete(name)
      return write({ env_entityType_entityId: name, fieldName: SORT_KEYS[member] }, edits)
    })
    const end = refusals
      .catch(() => {})
      .then(() => {
        if (ends.get(name) === end) ends.delete(name)
      })
    const batch = { edits, refusals }
    waiting.set(name, batch)
    ends.set(name, end)
    return batch
  }

  /** @returns what each of the edits has thrown */
  async function write(key: Key, edits: Array<Edit<Sign>>, count = 1): Promise<unknown[]> {
    const record = await table.get(key)
    const present = standing(record, kind, moment())
    const { next, refusals } = edited(present, edits)
    if (next.length === present.length && next.every((sign) => present.includes(sign))) {
      return refusals
    }
    const removeAt = Math.max(moment().now, ...next.map(({ until }) => until))
    const version = nextVersion(record?.['version'])
    const signs = next.map((sign) => new Map<string, StoredValue>(Object.entries(sign)))
    const item = {
      ...tombstoneOf(key, 0, version),
      version,
      [member]: signs,
      [REMOVE_AT]: removeAt
    }
    const { done } = await table.claim(item, record ? isStill(record) : isNothing())
    if (done) return refusals
    if (count === ATTEMPTS) {
      throw new Failure('STORE_UNAVAILABLE', busy, { headers: { 'retry-after': '1' } })
    }
    await wait(random() * LONGEST_PAUSE_MS)
    return write(key, edits, count + 1)
  }

  return change
}

/** The signs after some edits, of which one that throws changes nothing. */
function edited<Sign>(
  present: Sign[],
  edits: Array<Edit<Sign>>
): { next: Sign[]; refusals: unknown[] } {
  const refusals: unknown[] = []
  let next = present
  for (const [index, edit] of edits.entries()) {
    try {
      next = edit(next)
    } catch (error) {
      refusals[index] = error
    }
  }
  return { next, refusals }
}

/**
 * Refuses a sign beyond the most that there may be.
 * @throws {Failure} TOO_MANY_REQUESTS, until the first of them ends
 */
export function refuseBeyond(
  signs: StoredSign[],
  most: number,
  what: string,
  { now }: Moment
): void {
  if (signs.length < most) return
  const seconds = Math.min(...signs.map(({ until }) => until)) - now
  throw new Failure(
    'TOO_MANY_REQUESTS',
    `${most} users already ${what}, the most allowed; try again in ${seconds} s`,
    { headers: { 'retry-after': String(seconds) } }
  )
}

/** Whether a record has signs of an entity. */
export function hasSigns({ fieldName }: { fieldName: string }): boolean {
  return ALL_SORT_KEYS.has(fieldName)
}

/** The signs of one kind that stand. @param records those of the entity's signs */
export function signsIn<Sign extends StoredSign>(
  records: Item[],
  kind: SignKind<Sign>,
  moment: Moment
): Sign[] {
  return standing(
    records.find(({ fieldName }) => fieldName === SORT_KEYS[kind.member]),
    kind,
    moment
  )
}

/** Leaves out what has another form: another program wrote it, or a later release. */
function standing<Sign extends StoredSign>(
  record: Item | undefined,
  { member, isSign }: SignKind<Sign>,
  { now }: Moment
): Sign[] {
  const signs = record?.[member]
  return Array.isArray(signs) ? signs.filter(isSign).filter(({ until }) => until > now) : []
}
