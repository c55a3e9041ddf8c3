import type { Static, TObject } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { LRUCache } from 'lru-cache'
import { isNothing, isOfVersion } from './expression.ts'
import { keyOf, type Item, type Key, type StoredValue } from './item.ts'
import { openTable, type ClaimResult, type Table } from './table.ts'
import { createVersions, type NextVersion } from './version.ts'
import type { Time } from '../time.ts'

/**
 * How much the clocks of two instances may differ after correction by the store's, in milliseconds.
 */
export const CLOCKS_MS = 2000

/**
 * How long a record is still held after a request to Drupal that timed out, in milliseconds: Drupal
 * may still be working on it.
 */
export const SETTLE_MS = 8000

/**
 * How many leases that tell nothing are watched; beyond it the least recently used are forgotten.
 */
const WATCHED_MAX = 1000

/** What leased records need of the table and of the clocks. */
export interface RecordDeps {
  client: DynamoDBDocumentClient
  table: string
  /** First part of every record's key. */
  environment: string
  time: Time
}

export interface RecordContext extends Omit<RecordDeps, 'client' | 'table'> {
  table: Table
  nextVersion: NextVersion
  /**
   * The leases that end later than any can, by the keys of their records, and since when each is
   * the same.
   */
  watchedLeases: LRUCache<string, { state: string; since: number }>
}

/** What the writes of records need. */
type RecordWriter = Pick<RecordContext, 'table' | 'time' | 'nextVersion'>

export function createRecordContext({
  client,
  table,
  environment,
  time
}: RecordDeps): RecordContext {
  return {
    table: openTable({ client, table, time }),
    environment,
    time,
    nextVersion: createVersions(time),
    watchedLeases: new LRUCache({ max: WATCHED_MAX })
  }
}

/** A kind of records that are leased. */
export interface LeasedKind<Schema extends TObject = TObject> {
  /** Stands in both keys of a record, where no entity and no field has it. */
  name: string
  /** How long a record is kept after its last write, in seconds. */
  keptSeconds: number
  /** What a record says beside its keys, its version and its times. */
  members: Schema
}

/**
 * A record that one instance at a time holds, by a lease. Each write of it names a new version and
 * the one that it replaces.
 */
export interface LeasedRecord {
  key: Key
  keptSeconds: number
}

/** The record of a kind for an id. */
export function leasedRecord(
  { environment }: Pick<RecordContext, 'environment'>,
  { name, keptSeconds }: LeasedKind,
  id: string
): LeasedRecord {
  return {
    key: { env_entityType_entityId: `${environment}#${name}-${id}`, fieldName: name },
    keptSeconds
  }
}

/**
 * What a record says. Undefined for one of another form: another program wrote it, or another
 * release.
 */
export function membersIn<Schema extends TObject>(
  { members }: LeasedKind<Schema>,
  record: Item
): Static<Schema> | undefined {
  return Value.Check(members, record) ? record : undefined
}

/** The members of a leased record beside its key, its version and its times. */
type Members = Record<string, StoredValue>

/**
 * A record as it is written. Without a lease, `leaseMs` 0, the next instance may have it at once.
 */
export function leasedItem(
  { time }: Pick<RecordContext, 'time'>,
  { key, keptSeconds }: LeasedRecord,
  version: string,
  members: Members,
  leaseMs: number
) {
  return {
    ...key,
    version,
    ...members,
    leaseUntil: leaseMs === 0 ? 0 : Math.ceil(time.now()) + leaseMs,
    removeAt: Math.floor(time.now() / 1000) + keptSeconds
  }
}

/**
 * Creates a record, unless there is one.
 * @returns the new version, or the record in the way; none if that was just removed
 */
export async function createLeased(
  context: RecordWriter,
  record: LeasedRecord,
  members: Members,
  leaseMs: number
): Promise<ClaimResult & { version: string }> {
  const version = context.nextVersion()
  const item = leasedItem(context, record, version, members, leaseMs)
  return { ...(await context.table.claim(item, isNothing())), version }
}

/**
 * Replaces a record that is still in a version: takes it over, renews its lease, or gives it back.
 * @returns the new version; undefined where another instance has replaced the record
 */
export async function replaceLeased(
  context: RecordWriter,
  record: LeasedRecord,
  replaced: unknown,
  members: Members,
  leaseMs: number
): Promise<string | undefined> {
  const version = context.nextVersion(replaced)
  const item = leasedItem(context, record, version, members, leaseMs)
  const { done } = await context.table.claim(item, isOfVersion(replaced))
  return done ? version : undefined
}

/**
 * Whether the lease of a record is over, by its `leaseUntil`. A record without one is nobody's. A
 * lease that ends later than any can is of a wrong clock: it is over when the record has stayed the
 * same for as long as such a lease holds.
 * @param longestMs how long a lease of its kind holds at most
 */
export function isLeaseOver(
  { time, watchedLeases }: RecordContext,
  record: Item,
  longestMs: number
): boolean {
  const { leaseUntil, version } = record
  if (typeof leaseUntil !== 'number') return true
  const leftMs = leaseUntil - time.now()
  if (leftMs <= longestMs + CLOCKS_MS) return leftMs <= 0
  const name = JSON.stringify(keyOf(record))
  const state = JSON.stringify([version, leaseUntil])
  const before = watchedLeases.get(name)
  if (before?.state === state) return time.monotonic() - before.since >= longestMs
  watchedLeases.set(name, { state, since: time.monotonic() })
  return false
}
