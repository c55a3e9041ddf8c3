import { randomBytes } from 'node:crypto'
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { createAnswerMemory, type AnswerMemory } from '../http/answer-memory.ts'
import { createKeyedMutex } from '../keyed-mutex.ts'
import { FENCE_SECONDS } from '../table/fence.ts'
import { openTable } from '../table/table.ts'
import { createVersions, newInstance, type Bytes } from '../table/version.ts'
import { acquire, type AcquireOptions } from './acquire.ts'
import { lockChecks } from './checks.ts'
import { tooFast } from './contention.ts'
import {
  momentNow,
  secondsNow,
  type LockContext,
  type ProposalNotes,
  type TakeoverNotes
} from './context.ts'
import { discardDrafts, listDrafts } from './drafts.ts'
import type { FeedOptions } from './feed-context.ts'
import { createFeed } from './feed.ts'
import { listLocks, readForFeed, surveyLocks, viewLocks } from './list.ts'
import { overwrite } from './overwrite.ts'
import { filePetition, withdrawPetitions } from './petitions.ts'
import { enterPresence, leavePresence } from './presence.ts'
import { listProposals, propose, settleProposal, type Settlement } from './proposals.ts'
import { isExpired, recordItem, type LockOwner } from './record.ts'
import { release, type ReleaseOptions } from './release.ts'
import type {
  DraftsQuery,
  Entity,
  ListQuery,
  LockRequest,
  PetitionQuery,
  PetitionRequest,
  PresenceRequest,
  ProposalRequest,
  ProposalsQuery,
  ReleaseQuery
} from './schemas.ts'
import { LOOKERS, newSignQueue, PETITIONS, PROPOSALS } from './signs.ts'
import { createUnsettled } from './unsettled.ts'
import type { WriteConditions } from './write.ts'
import { systemTime, type Time } from '../time.ts'
import { counted, newCounts, type LockCounts } from './counted.ts'

/**
 * How long a request may wait for others of this instance that take over the same field, in
 * milliseconds.
 */
const TURN_MS = 5000

export interface LocksDeps {
  client: DynamoDBDocumentClient
  table: string
  /** First part of every record's key. */
  environment: string
  /** Limits the heap that the large lists of all callers take. */
  memory?: AnswerMemory
  /** How long a lock holds that is not renewed; 0: until it is released. */
  leaseSeconds?: number
  /** The same of an agent's lock. */
  agentLeaseSeconds?: number
  /** With leases: how long after its `timestamp` a record without `expiresAt` is free. */
  foreignSeconds?: number
  /** How long the text of a displaced lock is kept. */
  draftDays?: number
  /** How watchers are served. */
  feed?: FeedOptions
  time?: Time
  /** Notes takeovers, before they are answered. */
  takeovers?: TakeoverNotes | undefined
  /** Notes proposals and what becomes of them, before that is answered. */
  proposals?: ProposalNotes | undefined
  /** Random bytes for versions. */
  bytes?: Bytes
}

export type Locks = ReturnType<typeof createLocks>

/**
 * The field locks of one environment, kept in a DynamoDB table. Every operation throws a Failure
 * (STORE_UNAVAILABLE, STORE_FAILED) when the store does not do its part.
 *
 * No text is lost to another user: before a record with a payload is taken from its owner, the
 * payload is kept as a draft, and the record then changes only if it is still the one that was
 * kept.
 */
export function createLocks(deps: LocksDeps) {
  const context = createLockContext(deps)
  const { counts, feed } = context
  return {
    acquire: (entity: Entity, request: LockRequest, options?: AcquireOptions) =>
      counted(counts, acquire(context, entity, request, options)),
    overwrite: (entity: Entity, request: LockRequest, conditions?: WriteConditions) =>
      counted(counts, overwrite(context, entity, request, conditions)),
    release: (entity: Entity, query: ReleaseQuery, options?: ReleaseOptions) =>
      counted(counts, release(context, entity, query, options)),
    /** What became of the requests so far. */
    counts: counts as Readonly<LockCounts>,
    list: (entity: Entity, query?: ListQuery) => listLocks(context, entity, query),
    survey: (entity: Entity) => surveyLocks(context, entity),
    view: (entities: Entity[]) => viewLocks(context, entities),
    checks: (entity: Entity, fieldNames: string[], owner: LockOwner) =>
      lockChecks(context, entity, fieldNames, owner),
    probe: (abortSignal: AbortSignal) => probe(context, abortSignal),
    drafts: {
      list: (entity: Entity, query?: DraftsQuery) => listDrafts(context, entity, query),
      discard: (entity: Entity, query: DraftsQuery) => discardDrafts(context, entity, query)
    },
    proposals: {
      propose: (entity: Entity, request: ProposalRequest) => propose(context, entity, request),
      list: (entity: Entity, query?: ProposalsQuery) => listProposals(context, entity, query),
      settle: (entity: Entity, id: string, settlement: Settlement) =>
        settleProposal(context, entity, id, settlement)
    },
    petitions: {
      file: (entity: Entity, request: PetitionRequest) => filePetition(context, entity, request),
      withdraw: (entity: Entity, query: PetitionQuery) => withdrawPetitions(context, entity, query)
    },
    presence: {
      enter: (entity: Entity, request: PresenceRequest) => enterPresence(context, entity, request),
      leave: (entity: Entity, uid: string) => leavePresence(context, entity, uid)
    },
    feed: {
      watch: feed.watch,
      saved: feed.saved,
      hear: feed.hear,
      catchUp: feed.catchUp,
      counts: feed.counts,
      close: feed.close
    }
  }
}

/** The context of the locks of one environment. */
export function createLockContext({
  client,
  table,
  environment,
  memory = createAnswerMemory(),
  leaseSeconds = 0,
  agentLeaseSeconds = 120,
  foreignSeconds = 86_400,
  draftDays = 30,
  feed = {},
  time = systemTime,
  takeovers,
  proposals,
  bytes = randomBytes
}: LocksDeps): LockContext {
  const instance = newInstance(bytes)
  const context: LockContext = {
    table: openTable({ client, table, time, toItem: recordItem }),
    environment,
    memory,
    leaseSeconds,
    agentLeaseSeconds,
    foreignSeconds,
    draftDays,
    time,
    instance,
    nextVersion: createVersions(time, instance, bytes),
    feed: createFeed({
      ...feed,
      time,
      isOver: (lock) => isExpired(lock, momentNow(context)),
      read: (entity) => readForFeed(context, entity)
    }),
    takeoverMutex: createKeyedMutex({ waitMs: TURN_MS, refusal: tooFast }),
    unsettled: createUnsettled(() => secondsNow(context), FENCE_SECONDS),
    petitions: newSignQueue(PETITIONS),
    lookers: newSignQueue(LOOKERS),
    proposals: newSignQueue(PROPOSALS),
    counts: newCounts(),
    takeoverNotes: takeovers,
    proposalNotes: proposals
  }
  return context
}

/** Resolves when the table answers a read of one (absent) record. */
async function probe({ table, environment }: LockContext, abortSignal: AbortSignal): Promise<void> {
  const key = { env_entityType_entityId: `${environment}-`, fieldName: '-' }
  await table.probe(key, abortSignal)
}
