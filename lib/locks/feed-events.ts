import { createHash } from 'node:crypto'
import type { Entity, LockRecord, LockView, Petition } from './schemas.ts'

/** The locks of one entity at one moment, by field, and the petitions for them; never changed in place. */
export interface State { entity: Entity, locks: ReadonlyMap<string, LockView>, petitions: readonly Petition[] }

export interface Snapshot { event: 'snapshot', id: string, locks: LockView[], entities: number }

/** A save of an edition, as the event for the watchers of its locks. */
export interface EditionSave {
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
 * The events of a feed. An `id` names the state of all watched entities after this event; '' names none. `stale`: the store
 * does not answer, so the locks shown may be out of date. `live`: it answers again, a snapshot follows.
 */
export type FeedEvent =
  | Snapshot
  | { event: 'locked' | 'released', id: string, lock: LockView }
  | { event: 'requested', id: string, petition: Petition }
  | { event: 'saved', saved: EditionSave }
  | { event: 'heartbeat' | 'stale' | 'live' }

/** Events that are told together. All watchers of the same entities get the same object. */
export type Batch = readonly FeedEvent[]

/** A record as feeds and boards show it: whose and on what; the payload stays behind. */
export function viewOf ({ type, id }: Entity, { fieldName, timestamp, userData, version, expiresAt }: LockRecord): LockView {
  return {
    entityType: type, entityId: id, fieldName, timestamp, userData, ...(version !== undefined && { version }), ...(expiresAt !== undefined && { expiresAt })
  }
}

/** The known state of some fields: the lock, or undefined for none. */
export type Changes = ReadonlyMap<string, LockView | undefined>

/** What a read finds of an entity: its locks, and the petitions for them. */
export type LocksAndPetitions = ReadonlyArray<LockRecord | Petition>

/** The locks among what a read returned. */
export function locksIn (entity: Entity, items: LocksAndPetitions): State['locks'] {
  return new Map(items.filter((each): each is LockRecord => !isPetition(each)).map((record) => [record.fieldName, viewOf(entity, record)]))
}

/** Whether an item of a read is a petition. */
export function isPetition (each: LockRecord | Petition): each is Petition {
  return 'entityType' in each
}

/** Locks once some fields have changed; ordered as the table orders them, by the bytes of the field's name. */
export function withChanges (locks: State['locks'], changes: Changes): State['locks'] {
  if (changes.size === 0) return locks
  const all = [...new Map<string, LockView | undefined>([...locks, ...changes])].filter((entry): entry is [string, LockView] => entry[1] !== undefined)
  return new Map(all.sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b))))
}

/** The state of an entity from its locks, and the petitions for them. The last state itself if nothing has changed. */
export function nextState (entity: Entity, locks: State['locks'], allPetitions: readonly Petition[], lastState: State | undefined): State {
  const petitions = allPetitions.filter(({ fieldName, userData: { uid } }) => locks.has(fieldName) && locks.get(fieldName)!.userData?.uid !== uid)
  const sameState = lastState?.locks.size === locks.size && [...locks].every(([field, lock]) => versionMark(lastState.locks.get(field)) === versionMark(lock)) &&
    petitionMarks(lastState.petitions) === petitionMarks(petitions)
  return sameState ? lastState : { entity, locks, petitions }
}

/** Tells the petitions of an entity apart. */
function petitionMarks (petitions: readonly Petition[]): string {
  return JSON.stringify(petitions.map((petition) => [petitionKey(petition), petition.until]))
}

function petitionKey ({ entityType, entityId, fieldName, userData: { uid } }: Petition): string {
  return JSON.stringify([entityType, entityId, fieldName, uid])
}

/** The fields that are not the same in two states. */
export function changedFields (before: State['locks'], after: State['locks']): string[] {
  return [...new Set([...before.keys(), ...after.keys()])].filter((field) => versionMark(before.get(field)) !== versionMark(after.get(field)))
}

/** Tells the states of a field apart: each write makes another version; a record of others has none. */
function versionMark (lock: LockView | undefined): string | undefined {
  return lock && (lock.version ?? JSON.stringify([lock.timestamp, lock.userData?.uid, lock.expiresAt]))
}

/** All that is watched: in one event, and one more for each petition. */
export function presentOf (states: State[]): FeedEvent[] {
  return nameLast([
    { event: 'snapshot', id: '', locks: states.flatMap(({ locks }) => [...locks.values()]), entities: states.length },
    ...states.flatMap(({ petitions }) => petitions).map(petitionEvent)
  ], states)
}

function petitionEvent (petition: Petition): StateEvent {
  return { event: 'requested', id: '', petition }
}

/**
 * The events between two states. Only the last event has an id, so a client that resumes never skips one.
 */
export function eventsBetween (before: State[], after: State[]): FeedEvent[] {
  const releases = before.flatMap(({ locks }, index) => [...locks.values()].filter((lock) => !after[index]!.locks.has(lock.fieldName)))
  const writes = after.flatMap(({ locks }, index) => [...locks.values()].filter((lock) => versionMark(lock) !== versionMark(before[index]!.locks.get(lock.fieldName))))
  const [petitionsBefore, petitionsAfter] = [petitionsByKey(before), petitionsByKey(after)]
  return nameLast([
    ...releases.map((lock) => ({ event: 'released' as const, id: '', lock })),
    ...writes.map((lock) => ({ event: 'locked' as const, id: '', lock })),
    ...[...petitionsBefore].filter(([key]) => !petitionsAfter.has(key)).map(([, petition]) => petitionEvent({ ...petition, until: 0 })),
    ...[...petitionsAfter].filter(([key, { until }]) => petitionsBefore.get(key)?.until !== until).map(([, petition]) => petitionEvent(petition))
  ], after)
}

function petitionsByKey (states: State[]): Map<string, Petition> {
  return new Map(states.flatMap(({ petitions }) => petitions).map((petition) => [petitionKey(petition), petition]))
}

/** An event that leads to another state. */
type StateEvent = Extract<FeedEvent, { id: string }>

/** Gives the last of some events the id of the state to which they lead. */
function nameLast (events: StateEvent[], states: State[]): FeedEvent[] {
  return events.map((event, index) => index === events.length - 1 ? { ...event, id: stateId(states) } : event)
}

/** Names what is watched and the state that it is in: the same at every instance, before and after a restart. */
export function stateId (states: State[]): string {
  const marks = states.map(({ entity: { type, id }, locks, petitions }) => [
    type, id, ...[...locks.values()].map((lock) => [lock.fieldName, versionMark(lock)]), ...petitions.length > 0 ? [petitionMarks(petitions)] : []
  ])
  return createHash('sha256').update(JSON.stringify(marks)).digest('base64url').slice(0, 22)
}
