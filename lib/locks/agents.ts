import { Type } from '@sinclair/typebox'
import { Failure, texts } from '../errors.ts'
import { keyName, keyOf, toStored, type Item, type Key } from '../table/item.ts'
import {
  createLeased,
  leasedRecord,
  membersIn,
  replaceLeased,
  type LeasedKind,
  type LeasedRecord
} from '../table/lease.ts'
import { ATTEMPTS, pause, tooFast } from './contention.ts'
import { momentNow, type LockContext } from './context.ts'
import { isAmong, isExpired, isTombstone, ownerOf, type Versions } from './record.ts'

/** How many fields an agent may hold at once. */
export const AGENT_LOCKS_MAX = 3

/**
 * The fields that an agent has locked last. What it has unlocked since stays named until its place
 * is needed.
 */
const AGENT_FIELDS = {
  name: 'agent',
  keptSeconds: 7 * 86_400,
  members: Type.Object({
    fields: Type.Array(
      Type.Object({ env_entityType_entityId: Type.String(), fieldName: Type.String() })
    )
  })
} satisfies LeasedKind

/**
 * Whether a request says what it expects of the lock: that there is none, or one in a version that
 * its caller has seen. Two sessions of an agent have the same uid, and their versions tell them
 * apart.
 */
function namesState({ alone, ifMatch }: { alone?: boolean; ifMatch?: Versions | undefined }) {
  return alone === true || Array.isArray(ifMatch)
}

/**
 * Whether an agent may try to lock a field, or to renew its lock.
 * @throws {Failure} PRECONDITION_REQUIRED without `alone` and without the version of its lock;
 *   TOO_MANY_REQUESTS where it has locked AGENT_LOCKS_MAX others
 */
export async function admitAgent(
  context: LockContext,
  key: Key,
  uid: string,
  conditions: { alone?: boolean; ifMatch?: Versions | undefined }
): Promise<void> {
  if (!namesState(conditions)) {
    throw new Failure('PRECONDITION_REQUIRED', texts.lockStateRequired)
  }
  try {
    await othersOf(context, await namedFields(context, uid), key, uid)
  } catch (error) {
    // Whose lock is over by now is told that, which no wait changes.
    if (!(await isLost(context, key, conditions.ifMatch))) throw error
  }
}

/** Whether a lock is not in the version any more in which it is to be renewed. */
async function isLost(
  context: LockContext,
  key: Key,
  ifMatch: Versions | undefined
): Promise<boolean> {
  return Array.isArray(ifMatch) && !isAmong(ifMatch, await context.table.get(key))
}

/**
 * Names a field that an agent has just locked. Of several that it locks at once, those that come
 * too late are refused here.
 * @throws {Failure} TOO_MANY_REQUESTS where it has locked AGENT_LOCKS_MAX others; STORE_UNAVAILABLE
 */
export async function nameField(context: LockContext, key: Key, uid: string): Promise<void> {
  for (let count = 1; count <= ATTEMPTS; count++) {
    const named = await namedFields(context, uid)
    if (named.fields.some((one) => isSameField(one, key))) return
    const others = await othersOf(context, named, key, uid)
    if (await replaceFields(context, named, [...others, key])) return
    await pause(context, count)
  }
  throw tooFast()
}

/** @throws {Failure} FORBIDDEN */
export function refuseTakeover(): never {
  throw new Failure('FORBIDDEN', texts.noTakeover)
}

/**
 * Lets an agent release a field by the version of its lock.
 * @throws {Failure} PRECONDITION_REQUIRED for anything else
 */
export function admitRelease(fieldName: string | undefined, ifMatch: Versions | undefined): void {
  if (fieldName !== undefined && Array.isArray(ifMatch)) return
  throw new Failure(
    'PRECONDITION_REQUIRED',
    'An agent releases one field, by the version of its lock: fieldName and If-Match are needed'
  )
}

/** The fields that an agent has named, and the record that names them. */
interface NamedFields {
  record: LeasedRecord
  item: Item | undefined
  fields: Key[]
}

async function namedFields(context: LockContext, uid: string): Promise<NamedFields> {
  const record = leasedRecord(context, AGENT_FIELDS, uid)
  const item = await context.table.get(record.key)
  return { record, item, fields: (item && membersIn(AGENT_FIELDS, item)?.fields) ?? [] }
}

/** @returns whether nobody else has replaced the record meanwhile */
async function replaceFields(
  context: LockContext,
  { record, item }: NamedFields,
  fields: Key[]
): Promise<boolean> {
  const members = { fields: toStored(fields.map(keyOf), 'fields') }
  if (!item) return (await createLeased(context, record, members, 0)).done
  return (await replaceLeased(context, record, item['version'], members, 0)) !== undefined
}

/**
 * The named fields but one, those alone that the agent has locked where there are many.
 * @throws {Failure} TOO_MANY_REQUESTS where it has locked as many of them as it may
 */
async function othersOf(
  context: LockContext,
  { fields }: NamedFields,
  key: Key,
  uid: string
): Promise<Key[]> {
  const others = fields.filter((one) => !isSameField(one, key))
  if (others.length < AGENT_LOCKS_MAX) return others
  const areLocked = await Promise.all(others.map((other) => isLockedBy(context, other, uid)))
  const locked = others.filter((_, index) => areLocked[index])
  if (locked.length < AGENT_LOCKS_MAX) return locked
  const names = locked.map(({ fieldName }) => fieldName)
  throw new Failure('TOO_MANY_REQUESTS', texts.manyFields(names), {
    headers: { 'retry-after': '5' }
  })
}

async function isLockedBy(context: LockContext, key: Key, uid: string): Promise<boolean> {
  const lock = await context.table.get(key)
  if (!lock || isTombstone(lock) || isExpired(lock, momentNow(context))) return false
  return ownerOf(lock) === uid
}

function isSameField(one: Key, other: Key): boolean {
  return keyName(one) === keyName(other)
}
