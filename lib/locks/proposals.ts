import { isAgent } from '../agents.ts'
import { Failure, texts } from '../errors.ts'
import { forEach } from '../for-each.ts'
import { createDeadline, measured, type Measure } from '../table/bounds.ts'
import { REMOVE_AT } from '../table/definition.ts'
import { isNothing, isOfVersion } from '../table/expression.ts'
import { ITEM_LIMIT, itemSize, keyOf, type Item, type Key } from '../table/item.ts'
import { momentNow, secondsNow, type LockContext, type ProposalEvent } from './context.ts'
import { keptUntil } from './drafts.ts'
import {
  digestOf,
  proposalId,
  proposalItem,
  proposalKey,
  proposerOf,
  settledItem,
  settledOf,
  SETTLEMENT_MARGIN,
  settlementOf,
  shownProposal,
  type Settled,
  type Settler
} from './proposal.ts'
import { ownerOf, recordKey, type Moment } from './record.ts'
import type {
  Entity,
  Proposal,
  ProposalList,
  ProposalRequest,
  ProposalsQuery,
  ProposalView
} from './schemas.ts'
import { changeSigns } from './sign-changes.ts'
import { PROPOSALS, signsIn, signsKey, standingSigns, type StoredProposal } from './signs.ts'

/** Most proposals that may be open for one field, and for all fields of one entity. */
export const PROPOSALS_OF_FIELD = 5
export const PROPOSALS_OF_ENTITY = 20

/** How many settled proposals of one field and author are kept; the oldest go first. */
export const SETTLED_MAX = 50

/** How a proposal is settled. */
export interface Settlement {
  by: Settler
  /** Whether the text was taken. The author alone withdraws it, whatever this says. */
  isTaken?: boolean | undefined
}

/**
 * Leaves a text for a field, whoever holds it. The text is written first. The sign that counts and
 * shows it comes after that, and a text without its sign is not open. Who says the same again while
 * it is open, after an answer that was lost, is answered the proposal that is there.
 * @throws {Failure} BAD_REQUEST for a uid that begins as an agent's and is none;
 *   PRECONDITION_REQUIRED of an agent without `base`; TOO_LARGE beyond DynamoDB's limit;
 *   TOO_MANY_REQUESTS where as many are open as may be; STORE_UNAVAILABLE, STORE_FAILED
 */
export async function propose(
  context: LockContext,
  entity: Entity,
  request: ProposalRequest
): Promise<Proposal> {
  const userData = proposerOf(request.userData)
  if (isAgent(userData.uid) && request.base === undefined) {
    throw new Failure('PRECONDITION_REQUIRED', texts.baseRequired)
  }
  await context.time.ready()
  const version = context.nextVersion()
  const proposal = newProposal(context, version, request, userData)
  const item = proposalItem(keyIn(context, entity, proposal.id), version, proposal)
  const size = itemSize(item) + SETTLEMENT_MARGIN
  if (size > ITEM_LIMIT) throw new Failure('TOO_LARGE', texts.proposalTooLarge(size, ITEM_LIMIT))
  await context.table.claim(item, isNothing())
  const sameId = await openProposal(context, entity, proposal)
  if (sameId !== undefined) {
    await context.table.remove(keyOf(item)).catch(() => {})
    return (await openAlready(context, entity, sameId)) ?? propose(context, entity, request)
  }
  await noteEvent(context, entity, {
    kind: 'proposed',
    fieldName: proposal.fieldName,
    by: userData
  })
  return proposal
}

function newProposal(
  context: LockContext,
  version: string,
  { fieldName, payload, base, reason }: ProposalRequest,
  userData: Proposal['userData']
): Proposal {
  const createdAt = secondsNow(context)
  return {
    id: proposalId(fieldName, version),
    fieldName,
    userData,
    payload,
    ...(base !== undefined && { base }),
    ...(reason !== undefined && { reason }),
    createdAt,
    until: keptUntil(context, createdAt)
  }
}

/**
 * The open proposal with this id. The sign of one that is settled, or has no text, goes.
 * @returns undefined where it is not open
 */
async function openAlready(
  context: LockContext,
  entity: Entity,
  id: string
): Promise<Proposal | undefined> {
  const record = await readProposal(context, keyIn(context, entity, id))
  if (record && !settlementOf(record)) return shownProposal(record)
  await closeProposals(context, entity, [id])
  return undefined
}

/**
 * Adds the sign of a proposal, unless its author has an open one for the field that says the same.
 * Where that fails, the text goes too.
 * @returns the id of the one that says the same
 */
async function openProposal(
  context: LockContext,
  entity: Entity,
  proposal: Proposal
): Promise<string | undefined> {
  const { id, fieldName, userData, until } = proposal
  const sign = { id, fieldName, ...userData, digest: digestOf(proposal), until }
  let sameId: string | undefined
  try {
    await changeSigns(context, context.proposals, entity, (present) => {
      sameId = present.find((other) => saysTheSame(other, sign))?.id
      return sameId === undefined ? withProposal(present, sign) : present
    })
  } catch (error) {
    // An attempt without an answer may have been carried out. While the store does not take this
    // either, the text stays as long as the sign may.
    await closeProposals(context, entity, [id])
      .then(() => context.table.remove(keyIn(context, entity, id)))
      .catch(() => {})
    throw error
  } finally {
    context.feed.readAgain(entity)
  }
  return sameId
}

/** Whether two proposals are of one author, for one field, and say the same. */
function saysTheSame(one: StoredProposal, other: StoredProposal): boolean {
  return one.uid === other.uid && one.fieldName === other.fieldName && one.digest === other.digest
}

/** The open proposals of an entity with one more. */
function withProposal(present: StoredProposal[], proposal: StoredProposal): StoredProposal[] {
  const ofField = present.filter(({ fieldName }) => fieldName === proposal.fieldName)
  refuseFull(ofField, PROPOSALS_OF_FIELD, 'this field')
  refuseFull(present, PROPOSALS_OF_ENTITY, 'the fields of this entity')
  return [...present, proposal]
}

/** @throws {Failure} TOO_MANY_REQUESTS; no time is told, since proposals stay until settled */
function refuseFull({ length }: StoredProposal[], most: number, what: string): void {
  if (length < most) return
  throw new Failure('TOO_MANY_REQUESTS', texts.proposalsFull(most, what))
}

/** Removes the signs of proposals: they are open no longer. */
function closeProposals(context: LockContext, entity: Entity, ids: string[]): Promise<void> {
  return changeSigns(context, context.proposals, entity, (present) =>
    present.filter(({ id }) => !ids.includes(id))
  )
}

/**
 * The proposals of an entity with their texts, the newest first: the open ones, or with `settled`
 * those that were taken, discarded or withdrawn.
 * @throws {Failure} TOO_LARGE, OVERLOADED, STORE_UNAVAILABLE: see lib/table/bounds.ts
 */
export async function listProposals(
  context: LockContext,
  entity: Entity,
  query: ProposalsQuery = {}
): Promise<ProposalList> {
  await context.time.ready()
  const records = await measured(
    context.memory,
    'ask for the proposals of one field (fieldName), or of one user (uid)',
    (measure) =>
      query.settled
        ? findSettled(context, entity, query, measure)
        : findOpen(context, entity, query, measure)
  )
  const proposals = records.map(shownProposal)
  const Items = proposals.sort((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1))
  return { Items, Count: Items.length }
}

async function findSettled(
  context: LockContext,
  entity: Entity,
  query: ProposalsQuery,
  measure: Measure
): Promise<Item[]> {
  const name = recordKey(context.environment, entity)
  const inTime = createDeadline(context.time)
  const settled = settledOf(name, query, secondsNow(context))
  return (await context.table.query(settled, { inTime, measure })).Items
}

/**
 * The records of the open proposals. A sign whose text is not there, or is settled, was written
 * late, or is left of a proposal that could not be written whole: it goes.
 */
async function findOpen(
  context: LockContext,
  entity: Entity,
  query: ProposalsQuery,
  measure: Measure
): Promise<Item[]> {
  const inTime = createDeadline(context.time)
  const records: Item[] = []
  const strayIds: string[] = []
  await forEach(await openSigns(context, entity, query), async ({ id }) => {
    inTime()
    const record = await readProposal(context, keyIn(context, entity, id))
    if (!record || settlementOf(record)) {
      strayIds.push(id)
      return
    }
    measure([record], false)
    records.push(record)
  })
  if (strayIds.length > 0) {
    await closeProposals(context, entity, strayIds).catch(() => {})
    context.feed.readAgain(entity)
  }
  return records
}

/** The signs of the open proposals: all, those for one field, of one user, or both. */
async function openSigns(
  context: LockContext,
  entity: Entity,
  { fieldName, uid }: ProposalsQuery
): Promise<StoredProposal[]> {
  const key = signsKey(PROPOSALS, recordKey(context.environment, entity))
  const signs = standingSigns(await context.table.get(key), PROPOSALS, momentNow(context))
  return signs.filter(
    (sign) =>
      (fieldName === undefined || sign.fieldName === fieldName) &&
      (uid === undefined || sign.uid === uid)
  )
}

/**
 * Settles an open proposal: its author withdraws it, others take or discard it. The sign goes
 * first, so that nobody sees it open any more. The record then says what became of it.
 * @throws {Failure} NOT_FOUND; CONFLICT where it is settled already; FORBIDDEN of an agent that is
 *   not its author; STORE_UNAVAILABLE, STORE_FAILED: the same request goes on where this one ended
 */
export async function settleProposal(
  context: LockContext,
  entity: Entity,
  id: string,
  { by, isTaken = false }: Settlement
): Promise<void> {
  await context.time.ready()
  const key = keyIn(context, entity, id)
  const record = openRecord(await readProposal(context, key), id)
  const isOwn = by !== undefined && ownerOf(record) === by.uid
  if (isAgent(by?.uid) && !isOwn) throw new Failure('FORBIDDEN', texts.notYourProposal)
  const outcome = isOwn ? 'withdrawn' : isTaken ? 'taken' : 'discarded'
  try {
    await closeProposals(context, entity, [id])
    await noteSettlement(context, record, { outcome, at: secondsNow(context), ...(by && { by }) })
  } finally {
    context.feed.readAgain(entity)
  }
  const fieldName = String(record['field'])
  const author = record['userData'] as Proposal['userData']
  await noteEvent(context, entity, {
    kind: outcome,
    fieldName,
    by,
    ...(!isOwn && { from: author })
  })
  // What cannot be removed now is removed with the next one.
  await removeOldest(context, entity, record).catch(() => {})
}

async function noteEvent(
  { proposalNotes }: LockContext,
  entity: Entity,
  event: ProposalEvent
): Promise<void> {
  if (proposalNotes?.concerns(entity.type)) await proposalNotes.note(entity, event)
}

/** Writes what became of a proposal, unless somebody else has done so. */
async function noteSettlement(context: LockContext, record: Item, settled: Settled): Promise<void> {
  const version = context.nextVersion(record['version'])
  const item = settledItem(record, version, settled)
  const result = await context.table.claim(item, isOfVersion(record['version']))
  if (!result.done) openRecord(result.inTheWay, record.fieldName)
}

/**
 * The record of a proposal that nobody has settled.
 * @throws {Failure} NOT_FOUND, CONFLICT
 */
function openRecord(record: Item | undefined, id: string): Item {
  if (!record) throw new Failure('NOT_FOUND', texts.noSuch('proposal', id))
  const settlement = settlementOf(record)
  if (settlement) throw new Failure('CONFLICT', texts.proposalSettled(settlement.outcome))
  return record
}

/** Removes the settled proposals of the same field and author beyond the newest SETTLED_MAX. */
async function removeOldest(context: LockContext, entity: Entity, record: Item): Promise<void> {
  const name = recordKey(context.environment, entity)
  const query = { fieldName: String(record['field']), uid: String(ownerOf(record)) }
  const { Items } = await context.table.query(settledOf(name, query, secondsNow(context), false))
  const older = Items.sort((a, b) => settlementOf(b)!.at - settlementOf(a)!.at)
  await forEach(older.slice(SETTLED_MAX), async (item) => {
    await context.table.remove(keyOf(item))
  })
}

/** The record of a proposal, open or settled. The time to live may take days to remove it. */
async function readProposal(context: LockContext, key: Key): Promise<Item | undefined> {
  const record = await context.table.get(key)
  return record && Number(record[REMOVE_AT]) > secondsNow(context) ? record : undefined
}

function keyIn({ environment }: LockContext, entity: Entity, id: string): Key {
  return proposalKey(recordKey(environment, entity), id)
}

/** The open proposals, as feeds show them. @param records those of the entity's signs */
export function proposalsIn({ type, id }: Entity, records: Item[], moment: Moment): ProposalView[] {
  return signsIn(records, PROPOSALS, moment).map(
    ({ id: proposal, fieldName, until, digest: _digest, ...userData }) => ({
      entityType: type,
      entityId: id,
      fieldName,
      id: proposal,
      userData,
      until
    })
  )
}
