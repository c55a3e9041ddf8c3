import { createHash } from 'node:crypto'
import type { Entity, LockRecord, LockView } from './schemas.ts'

/** The locks of one entity at one moment, by field; never changed in place. */
export interface State { entity: Entity, locks: ReadonlyMap<string, LockView> }

export interface Snapshot { event: 'snapshot', id: string, locks: LockView[], entities: number }

/** A save of an edition, as the event for the watchers of its locks. */
export interface Saved {
  entityType: string
  entityId: string
  /** The edition's entity tag now, as it is for who saved it. */
  etag: string
  /** The uid of who saved it, where that is known. */
  uid?: string
  /** The names of the fields that have changed. */
  fields: string[]
}

/**
 * What a feed tells. An `id` names the state of all that is watched, once this event has been taken in; '' is no state.
 * `stale`: the store does not answer, so what was told may be over; `live`: it answers again, a snapshot follows.
 */
export type FeedEvent =
  | Snapshot
  | { event: 'locked' | 'released', id: string, lock: LockView }
  | { event: 'saved', saved: Saved }
  | { event: 'heartbeat' | 'stale' | 'live' }

/** Events that are told together. All watchers of the same entities get the same object. */
export type Batch = readonly FeedEvent[]

/** A record as feeds and boards show it: whose and on what; the payload stays behind. */
export function viewOf ({ type, id }: Entity, { fieldName, timestamp, userData, version, expiresAt }: LockRecord): LockView {
  return {
    entityType: type, entityId: id, fieldName, timestamp, userData, ...(version !== undefined && { version }), ...(expiresAt !== undefined && { expiresAt })
  }
}

/** What is known of some fields: the lock, or that there is none. */
export type Changes = ReadonlyMap<string, LockView | undefined>

/** The locks that an entity's records are. */
export function locksOf (entity: Entity, records: LockRecord[]): State['locks'] {
  return new Map(records.map((record) => [record.fieldName, viewOf(entity, record)]))
}

/** Locks once some fields have changed; ordered as the table orders them, by the bytes of the field's name. */
export function withChanges (locks: State['locks'], changes: Changes): State['locks'] {
  if (changes.size === 0) return locks
  const all = [...new Map<string, LockView | undefined>([...locks, ...changes])].filter((entry): entry is [string, LockView] => entry[1] !== undefined)
  return new Map(all.sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b))))
}

/** The state that an entity's locks make; the known one, if it is no other. */
export function stateOf (entity: Entity, locks: State['locks'], known: State | undefined): State {
  const same = known?.locks.size === locks.size && [...locks].every(([field, lock]) => markOf(known.locks.get(field)) === markOf(lock))
  return same ? known! : { entity, locks }
}

/** The fields that are not the same in two states. */
export function changedFields (before: State['locks'], after: State['locks']): string[] {
  return [...new Set([...before.keys(), ...after.keys()])].filter((field) => markOf(before.get(field)) !== markOf(after.get(field)))
}

/** Tells the states of a field apart: each write makes another version; a record of others has none. */
function markOf (lock: LockView | undefined): string | undefined {
  return lock && (lock.version ?? JSON.stringify([lock.timestamp, lock.userData?.uid, lock.expiresAt]))
}

/** All that is watched, in one event. */
export function snapshotOf (states: State[]): Snapshot {
  return { event: 'snapshot', id: idOf(states), locks: states.flatMap(({ locks }) => [...locks.values()]), entities: states.length }
}

/**
 * The events between two states. Only the last event has an id, so a client that resumes never skips one.
 */
export function differences (before: State[], after: State[]): FeedEvent[] {
  const releases = before.flatMap(({ locks }, index) => [...locks.values()].filter((lock) => !after[index]!.locks.has(lock.fieldName)))
  const writes = after.flatMap(({ locks }, index) => [...locks.values()].filter((lock) => markOf(lock) !== markOf(before[index]!.locks.get(lock.fieldName))))
  const events = [
    ...releases.map((lock) => ({ event: 'released' as const, id: '', lock })),
    ...writes.map((lock) => ({ event: 'locked' as const, id: '', lock }))
  ]
  return events.map((event, index) => index === events.length - 1 ? { ...event, id: idOf(after) } : event)
}

/** Names what is watched and the state that it is in: the same at every instance, before and after a restart. */
export function idOf (states: State[]): string {
  const named = states.map(({ entity: { type, id }, locks }) => [type, id, ...[...locks.values()].map((lock) => [lock.fieldName, markOf(lock)])])
  return createHash('sha256').update(JSON.stringify(named)).digest('base64url').slice(0, 22)
}
