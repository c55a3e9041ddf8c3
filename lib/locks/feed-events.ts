import { createHash } from 'node:crypto'
import type { Entity, LockRecord, LockView, Petition, Presence, ProposalView } from './schemas.ts'

/**
 * What a user shows the others, and ends by itself: a petition for a lock, that they look on, or a
 * proposal that they have left.
 */
export type Sign = Petition | Presence | ProposalView

/**
 * The locks of one entity at one moment, by field, and its signs; never changed in place.
 */
export interface State {
  entity: Entity
  locks: ReadonlyMap<string, LockView>
  signs: readonly Sign[]
}

export interface Snapshot {
  event: 'snapshot'
  id: string
  locks: LockView[]
  entities: number
}

/** A save of an entity, as the event for the watchers of its locks. */
export interface EditionSave {
  entityType: string
  entityId: string
  /**
   * The edition's entity tag now, as it is for who saved it; null of a save that did not come
   * through Quoin.
   */
  etag: string | null
  /** The uid of who saved it, where that is known. */
  uid?: string
  /** What the user is called, where that is known. */
  name?: string
  /** The names of the fields that have changed. */
  fields: string[]
  /**
   * What was done to the running order that `fields` names, where exactly that has made the present
   * state of the one with the entity tag `from`. For those alone who are shown that field.
   */
  from?: string
  operations?: object[]
}

/**
 * The events of a feed. An `id` names the state of all watched entities after this event; '' names
 * none. `stale`: the store does not answer, so the locks shown may be out of date. `live`: it
 * answers again, a snapshot follows.
 */
export type FeedEvent =
  | Snapshot
  | { event: 'locked' | 'released'; id: string; lock: LockView }
  | { event: 'requested'; id: string; petition: Petition }
  | { event: 'present'; id: string; presence: Presence }
  | { event: 'proposed'; id: string; proposal: ProposalView }
  | { event: 'saved'; saved: EditionSave }
  | { event: 'heartbeat' | 'stale' | 'live' }

/** Events that are told together. All watchers of the same entities get the same object. */
export type Batch = readonly FeedEvent[]

/** Batches without operations: those that are told together are told as one object. */
const plainBatches = new WeakMap<Batch, Batch>()

/** A batch without the operations of saves. */
export function withoutOperations(batch: Batch): Batch {
  if (!batch.some((event) => event.event === 'saved' && event.saved.operations)) return batch
  const known = plainBatches.get(batch)
  if (known) return known
  const plain = batch.map((event) => {
    if (event.event !== 'saved') return event
    const { from: _from, operations: _operations, ...saved } = event.saved
    return { ...event, saved }
  })
  plainBatches.set(batch, plain)
  return plain
}

/** A record as feeds and boards show it: whose and on what; the payload stays behind. */
export function viewOf(
  { type, id }: Entity,
  { fieldName, timestamp, userData, version, expiresAt }: LockRecord
): LockView {
  return {
    entityType: type,
    entityId: id,
    fieldName,
    timestamp,
    userData,
    ...(version !== undefined && { version }),
    ...(expiresAt !== undefined && { expiresAt })
  }
}

/** The known state of some fields: the lock, or undefined for none. */
export type Changes = ReadonlyMap<string, LockView | undefined>

/** What a read finds of an entity: its locks and its signs. */
export type LocksAndSigns = ReadonlyArray<LockRecord | Sign>

/** The locks among what a read returned. */
export function locksIn(entity: Entity, items: LocksAndSigns): State['locks'] {
  return new Map(
    items
      .filter((each): each is LockRecord => !isSign(each))
      .map((record) => [record.fieldName, viewOf(entity, record)])
  )
}

/** Whether an item of a read is a sign. */
export function isSign(each: LockRecord | Sign): each is Sign {
  return 'entityType' in each
}

function isPetition(sign: Sign): sign is Petition {
  return 'fieldName' in sign && !isProposal(sign)
}

function isProposal(sign: Sign): sign is ProposalView {
  return 'id' in sign
}

/**
 * Locks once some fields have changed; ordered as the table orders them, by the bytes of the
 * field's name.
 */
export function withChanges(locks: State['locks'], changes: Changes): State['locks'] {
  if (changes.size === 0) return locks
  const all = [...new Map<string, LockView | undefined>([...locks, ...changes])].filter(
    (entry): entry is [string, LockView] => entry[1] !== undefined
  )
  return new Map(all.sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b))))
}

/**
 * The state of an entity from its locks, and its signs. The last state itself if nothing has
 * changed.
 */
export function nextState(
  entity: Entity,
  locks: State['locks'],
  all: readonly Sign[],
  lastState: State | undefined
): State {
  const signs = all.filter(
    (sign) =>
      !isPetition(sign) ||
      (locks.has(sign.fieldName) && locks.get(sign.fieldName)!.userData?.uid !== sign.userData.uid)
  )
  const same =
    lastState?.locks.size === locks.size &&
    [...locks].every(
      ([field, lock]) => versionMark(lastState.locks.get(field)) === versionMark(lock)
    ) &&
    lastState.signs.map(signMark).join() === signs.map(signMark).join()
  return same ? lastState : { entity, locks, signs }
}

/** Tells the states of a sign apart. */
function signMark(sign: Sign): string {
  return JSON.stringify([signKey(sign), sign.userData.name, sign.until])
}

/** What of a sign belongs to the name of a state: who looks on says so again all the time. */
function lastingMark(sign: Sign): string {
  return 'fieldName' in sign ? signMark(sign) : signMark({ ...sign, until: 0 })
}

function signKey(sign: Sign): string {
  const {
    entityType,
    entityId,
    userData: { uid }
  } = sign
  const fieldName = 'fieldName' in sign && sign.fieldName
  return JSON.stringify([entityType, entityId, fieldName, uid, isProposal(sign) && sign.id])
}

/** The fields that are not the same in two states. */
export function changedFields(before: State['locks'], after: State['locks']): string[] {
  return [...new Set([...before.keys(), ...after.keys()])].filter(
    (field) => versionMark(before.get(field)) !== versionMark(after.get(field))
  )
}

/**
 * Tells the states of a field apart: each write makes another version; a record of others has none.
 */
function versionMark(lock: LockView | undefined): string | undefined {
  return (
    lock && (lock.version ?? JSON.stringify([lock.timestamp, lock.userData?.uid, lock.expiresAt]))
  )
}

/** All that is watched: in one event, and one more for each sign. */
export function presentOf(states: State[]): FeedEvent[] {
  return nameLast(
    [
      {
        event: 'snapshot',
        id: '',
        locks: states.flatMap(({ locks }) => [...locks.values()]),
        entities: states.length
      },
      ...states.flatMap(({ signs }) => signs).map(eventOf)
    ],
    states
  )
}

function eventOf(sign: Sign): StateEvent {
  if (isProposal(sign)) return { event: 'proposed', id: '', proposal: sign }
  return isPetition(sign)
    ? { event: 'requested', id: '', petition: sign }
    : { event: 'present', id: '', presence: sign }
}

/**
 * The events between two states. Only the last event has an id, so a client that resumes never
 * skips one.
 */
export function eventsBetween(before: State[], after: State[]): FeedEvent[] {
  const releases = before.flatMap(({ locks }, index) =>
    [...locks.values()].filter((lock) => !after[index]!.locks.has(lock.fieldName))
  )
  const writes = after.flatMap(({ locks }, index) =>
    [...locks.values()].filter(
      (lock) => versionMark(lock) !== versionMark(before[index]!.locks.get(lock.fieldName))
    )
  )
  const [signsBefore, signsAfter] = [signsByKey(before), signsByKey(after)]
  return nameLast(
    [
      ...releases.map((lock) => ({ event: 'released' as const, id: '', lock })),
      ...writes.map((lock) => ({ event: 'locked' as const, id: '', lock })),
      ...[...signsBefore]
        .filter(([key]) => !signsAfter.has(key))
        .map(([, sign]) => eventOf({ ...sign, until: 0 })),
      ...[...signsAfter]
        .filter(
          ([key, sign]) =>
            !signsBefore.has(key) || signMark(signsBefore.get(key)!) !== signMark(sign)
        )
        .map(([, sign]) => eventOf(sign))
    ],
    after
  )
}

function signsByKey(states: State[]): Map<string, Sign> {
  return new Map(states.flatMap(({ signs }) => signs).map((sign) => [signKey(sign), sign]))
}

/** An event that leads to another state. */
type StateEvent = Extract<FeedEvent, { id: string }>

/** Gives the last of some events the id of the state to which they lead. */
function nameLast(events: StateEvent[], states: State[]): FeedEvent[] {
  return events.map((event, index) =>
    index === events.length - 1 ? { ...event, id: stateId(states) } : event
  )
}

/**
 * Names what is watched and the state that it is in: the same at every instance, before and after a
 * restart.
 */
export function stateId(states: State[]): string {
  const marks = states.map(({ entity: { type, id }, locks, signs }) => [
    type,
    id,
    ...[...locks.values()].map((lock) => [lock.fieldName, versionMark(lock)]),
    ...signs.map(lastingMark)
  ])
  return createHash('sha256').update(JSON.stringify(marks)).digest('base64url').slice(0, 22)
}
