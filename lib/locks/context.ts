import type { AnswerMemory } from '../http/answer-memory.ts'
import type { KeyedMutex } from '../keyed-mutex.ts'
import type { Table } from '../table/table.ts'
import { instanceOf, isSince, versionAt, type NextVersion } from '../table/version.ts'
import type { Displacer } from './draft.ts'
import type { createFeed } from './feed.ts'
import { SETTLED_SECONDS, type Moment, type Versions, type Write } from './record.ts'
import type { Entity, LockRequest, ProposalOutcome } from './schemas.ts'
import type { SignQueue, StoredPetition, StoredProposal, StoredSign } from './signs.ts'
import type { createUnsettled } from './unsettled.ts'
import type { Time } from '../time.ts'
import type { LockCounts } from './counted.ts'

/** What the operations on the locks of one environment need. `createLocks` puts it together. */
export interface LockContext {
  table: Table
  /** First part of every record's key. */
  environment: string
  /** Limits the heap that the large lists of all callers take. */
  memory: AnswerMemory
  /** How long a lock holds that is not renewed; 0: until it is released. */
  leaseSeconds: number
  /** The same of an agent's lock, also where the others hold until they are released. */
  agentLeaseSeconds: number
  /** With leases: how long after its `timestamp` a record without `expiresAt` is free. */
  foreignSeconds: number
  /** How long the text of a displaced lock is kept. */
  draftDays: number
  time: Time
  /** This instance, as its versions name it. */
  instance: string
  nextVersion: NextVersion
  /** The event streams of this instance. */
  feed: ReturnType<typeof createFeed>
  /** Has the requests of this instance that take over the same field do so one at a time. */
  takeoverMutex: KeyedMutex
  /** The fields at which this instance has writes whose outcome it does not know. */
  unsettled: ReturnType<typeof createUnsettled>
  petitions: SignQueue<StoredPetition>
  lookers: SignQueue<StoredSign>
  proposals: SignQueue<StoredProposal>
  counts: LockCounts
  /** Notes takeovers, before they are answered. */
  takeoverNotes: TakeoverNotes | undefined
  /** Notes proposals and what becomes of them, before that is answered. */
  proposalNotes: ProposalNotes | undefined
}

/** What notes takeovers of locks that hold. */
export interface TakeoverNotes {
  /**
   * Whether those on entities of a type are noted. One of a lock without a text then costs a write
   * more.
   */
  concerns(type: string): boolean
  /** Notes one; it does not throw. */
  note(
    entity: Entity,
    takeover: { fieldName: string; from: LockRequest['userData']; by: LockRequest['userData'] }
  ): Promise<void>
}

/** What notes proposals. */
export interface ProposalNotes {
  /** Whether those for entities of a type are noted. */
  concerns(type: string): boolean
  /** Notes that one was left, or what became of it; it does not throw. */
  note(entity: Entity, event: ProposalEvent): Promise<void>
}

/** What somebody has done with a proposal. Nobody is known where a request names nobody. */
export interface ProposalEvent {
  kind: 'proposed' | ProposalOutcome
  fieldName: string
  by: Displacer
  /** Whose proposal it was, where that is somebody else. */
  from?: NonNullable<Displacer>
}

/** The store's time in whole Unix seconds. */
export function secondsNow({ time }: LockContext): number {
  return Math.floor(time.now() / 1000)
}

/** The store's time, to judge leases by. */
export function momentNow(context: LockContext): Moment {
  const now = secondsNow(context)
  if (context.leaseSeconds === 0) return { now }
  return { now, foreign: now - context.foreignSeconds }
}

/**
 * A put or a delete as conditions see it.
 * @param fencedUntil Unix time until which the written record keeps late attempts off
 */
export function describeWrite(
  context: LockContext,
  version: string,
  ifMatch: Versions | undefined,
  fencedUntil = 0
): Write {
  return {
    version,
    ifMatch,
    moment: momentNow(context),
    instance: context.instance,
    settled: versionAt(context.time.now() - SETTLED_SECONDS * 1000),
    fence: Math.max(fencedUntil, secondsNow(context))
  }
}

/** Whether a version is another instance's, which may still be waiting for an answer. */
export function isUnsettled({ time, instance }: LockContext, version: unknown): boolean {
  return isSince(version, time.now() - SETTLED_SECONDS * 1000) && instanceOf(version) !== instance
}
