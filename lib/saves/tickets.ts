import { Type, type Static } from '@sinclair/typebox'
import { LRUCache } from 'lru-cache'
import { busy, type Turn, type Turns } from '../editions/save/save-queue.ts'
import type { Revisions } from '../editions/site/revisions.ts'
import type { Signal } from '../http/aborter.ts'
import { createPatience, WAIT_MS } from '../patience.ts'
import { all, any, condition, expressionOf, isOfVersion, rule } from '../table/expression.ts'
import type { Item } from '../table/item.ts'
import {
  CLOCKS_MS,
  createRecordContext,
  isLeaseOver,
  leasedItem,
  leasedRecord,
  membersIn,
  SETTLE_MS,
  type LeasedKind,
  type RecordContext,
  type RecordDeps
} from '../table/lease.ts'
import type { ClaimResult, ItemCheck } from '../table/table.ts'

/**
 * How long a ticket holds that is not renewed, in milliseconds. A crashed instance keeps the others
 * from an edition for as long.
 */
const LEASE_MS = 15_000

/**
 * How long the store may take, and how long it is left alone when it took longer or failed, in
 * milliseconds.
 */
const STORE_MS = 1000
const REST_MS = 5000

/** For how many editions an instance remembers the end of its last turn. */
const ENDS = 10_000

/**
 * Tickets. It is remembered for an hour when an edition was saved last: a save that looked at it
 * longer ago has ended.
 */
const TICKETS = {
  name: 'save',
  keptSeconds: 3600,
  members: Type.Object({
    /** When it was given back, in milliseconds since 1970. */
    endedAt: Type.Optional(Type.Number()),
    /** The edition's newest revision. */
    revision: Type.Optional(Type.Number())
  })
} satisfies LeasedKind
type TicketMembers = Static<typeof TICKETS.members>

/**
 * There is no ticket, or one whose lease is over, or something that is none: without the end of a
 * lease, or without a version as Quoin makes them. A put that reaches the table late finds a ticket
 * with a greater version.
 */
const isTurnFree = expressionOf(
  any(
    rule('attribute_not_exists(#key)'),
    rule('NOT attribute_type(#leaseUntil, :number)'),
    rule('NOT attribute_type(#version, :string)'),
    all(rule('#leaseUntil <= :now'), rule('#version < :version'))
  )
)

/**
 * The ticket is still the one that was read: its holder has neither renewed it nor given it back.
 */
const isSameTicket = expressionOf(
  all(rule('#version = :version'), rule('#leaseUntil = :leaseUntil'))
)

export interface TicketsDeps extends RecordDeps {
  /**
   * Whether a save fails that gets no ticket because the store is away; else it goes on without
   * one.
   */
  required?: boolean
  /** Hears why saves go on without tickets. */
  warn: (failure: Error) => void
  /**
   * Hears, when it turns out at the first renewal with checks, whether the store has transactions;
   * if not, why.
   */
  onTransactions?: (refusal?: Error) => void
  /** What instances tell each other through the tickets: the newest revision of each edition. */
  revisions?: Pick<Revisions, 'of' | 'learn'>
  leaseMs?: number
}

export interface TicketContext extends RecordContext {
  required: boolean
  warn: (failure: Error) => void
  onTransactions: (refusal?: Error) => void
  revisions: Pick<Revisions, 'of' | 'learn'> | undefined
  leaseMs: number
  /** Until when saves go on without tickets, since the store did not answer, by `monotonic`. */
  restsUntil: number
  /** The version under which this instance has given back the last ticket of each edition. */
  ends: LRUCache<string, string>
  /** Whether the store has transactions; not known before the first. */
  hasTransactions: boolean | undefined
}

/** A turn that is held by a ticket, or is this instance's alone. */
export interface Ticket extends Turn {
  /**
   * Takes the ticket again, in one transaction with checks of other records.
   * @returns the records whose checks do not hold, so that nothing was changed; undefined where the
   *   store has no transactions
   * @throws {Failure} EDITION_BUSY where the turn is another's by now; STORE_UNAVAILABLE,
   *   STORE_FAILED
   */
  renewIf(checks: ItemCheck[]): Promise<Item[] | undefined>
}

/** What became of one try at a ticket, and the version that it was to have. */
type TicketClaim = ClaimResult & { version: string }

/** A ticket while its save goes on. */
interface HeldTicket {
  uuid: string
  version: string
  /** When another instance may take the ticket, by `monotonic`. */
  leaseEnds: number
  /** Whether another instance has taken the ticket. */
  isLost: boolean
}

/** Turns that are held by tickets. */
export interface Tickets extends Turns {
  take(...args: Parameters<Turns['take']>): Promise<Ticket>
  /**
   * Whether somebody has the turn to save an edition, or may still be saving.
   * @throws {Failure} STORE_UNAVAILABLE, STORE_FAILED
   */
  isHeld(uuid: string): Promise<boolean>
}

/**
 * Turns that the saves of one edition take among all instances that share the table. Drupal
 * compares and saves without a lock, so two saves at once could each find the edition as they left
 * it, and the later one would undo the other.
 *
 * A ticket is a record of the table: a conditional put takes it, another one gives it back and
 * notes the time, so an uncontended save costs two write units and no read. The record also tells
 * the edition's newest revision. A put finds a smaller version, or the very ticket that was read,
 * so one that reaches the table late is refused: it may be sent again where it got no answer.
 */
export function createTickets({
  required = false,
  warn,
  onTransactions = () => {},
  revisions,
  leaseMs = LEASE_MS,
  ...deps
}: TicketsDeps): Tickets {
  const context: TicketContext = {
    ...createRecordContext(deps),
    required,
    warn,
    onTransactions,
    revisions,
    leaseMs,
    restsUntil: -Infinity,
    ends: new LRUCache({ max: ENDS }),
    hasTransactions: undefined
  }
  return {
    now: context.time.now,
    take: (uuid, since, signal) => takeTicket(context, uuid, since, signal),
    isHeld: (uuid) => isHeld(context, uuid)
  }
}

/** Waits for the ticket of an edition: see `Turns.take`. */
export async function takeTicket(
  context: TicketContext,
  uuid: string,
  since: number,
  signal?: Signal
): Promise<Ticket> {
  const patience = createPatience(context.time)
  let hasWaited = false
  let last: unknown
  do {
    const sentAt = context.time.monotonic()
    const claim = await claimUnlessAway(context, uuid, last)
    if (claim === undefined) return ownTicket(hasWaited)
    if (claim.done) {
      const previous = claim.previous && (membersIn(TICKETS, claim.previous) ?? {})
      context.revisions?.learn(uuid, previous?.revision)
      const isOutdated = hasWaited || mayBeSince(previous, since)
      // Until this turn has ended, nothing tells what follows on it.
      const isNext = claim.previous?.['version'] === context.ends.get(uuid)
      context.ends.delete(uuid)
      return sharedTicket(context, uuid, claim.version, sentAt, { isOutdated, isNext })
    }
    last = claim.inTheWay?.['version']
    hasWaited = true
  } while (await patience.pause(signal))
  throw busy(`Saves through another instance have taken more than ${WAIT_MS} ms`)
}

/** Whether somebody has the ticket of an edition: see `Tickets.isHeld`. */
export async function isHeld(context: TicketContext, uuid: string): Promise<boolean> {
  await context.time.ready()
  const ticket = await context.table.get(leasedRecord(context, TICKETS, uuid).key)
  return ticket !== undefined && !isLeaseOver(context, ticket, LEASE_MS)
}

/** The ticket as it is written. A `leaseMs` of 0 gives it back, and notes when. */
function ticketItem(context: TicketContext, uuid: string, version: string, leaseMs: number) {
  const revision = context.revisions?.of(uuid)
  const members = {
    ...(leaseMs === 0 && { endedAt: Math.ceil(context.time.now()) }),
    ...(revision !== undefined && { revision })
  }
  return leasedItem(context, leasedRecord(context, TICKETS, uuid), version, members, leaseMs)
}

/**
 * Tries to get the ticket once.
 * @param last the version of the ticket that was in the way before
 * @returns undefined while the store is away and gives no tickets
 */
async function claimUnlessAway(
  context: TicketContext,
  uuid: string,
  last: unknown
): Promise<TicketClaim | undefined> {
  if (context.required) return claimTicket(context, uuid, last)
  if (context.time.monotonic() < context.restsUntil) return undefined
  const claim = claimTicket(context, uuid, last)
  try {
    return await inTime(claim)
  } catch (error) {
    context.restsUntil = context.time.monotonic() + REST_MS
    context.warn(error as Error)
    giveBackLate(context, uuid, claim)
    return undefined
  }
}

/** Gives a ticket back that comes late, or others would wait until its lease ends. */
function giveBackLate(context: TicketContext, uuid: string, claim: Promise<TicketClaim>): void {
  claim
    .then((late) => (late.done ? giveBack(context, uuid, late.version) : undefined))
    .catch(() => {})
}

async function claimTicket(
  context: TicketContext,
  uuid: string,
  last: unknown
): Promise<TicketClaim> {
  const { table, time, nextVersion, leaseMs } = context
  await time.ready()
  const version = nextVersion(last)
  const isFree = condition(isTurnFree, {
    ':now': Math.floor(time.now()),
    ':version': version,
    ':number': 'N',
    ':string': 'S'
  })
  const item = ticketItem(context, uuid, version, leaseMs)
  const claim = await table.claim(item, isFree, 'ALL_OLD')
  const ticket = claim.done ? undefined : claim.inTheWay
  return ticket && isLeaseOver(context, ticket, LEASE_MS)
    ? takeOver(context, uuid, ticket)
    : { ...claim, version }
}

/** Takes a ticket that is free, but of a clock that is ahead of this one. */
async function takeOver(
  context: TicketContext,
  uuid: string,
  { version: replaced, leaseUntil }: Item
): Promise<TicketClaim> {
  const version = context.nextVersion(replaced)
  const isSame = condition(isSameTicket, { ':version': replaced, ':leaseUntil': leaseUntil })
  const item = ticketItem(context, uuid, version, context.leaseMs)
  return { ...(await context.table.claim(item, isSame, 'ALL_OLD')), version }
}

/** A turn among the saves of this instance alone, while the store gives no tickets. */
function ownTicket(isOutdated: boolean): Ticket {
  return {
    isShared: false,
    isOutdated,
    isNext: !isOutdated,
    confirm() {},
    renewIf: async () => undefined,
    async end() {}
  }
}

/** A ticket that has been taken, and that is renewed until its save ends. */
function sharedTicket(
  context: TicketContext,
  uuid: string,
  version: string,
  sentAt: number,
  order: Pick<Ticket, 'isOutdated' | 'isNext'>
): Ticket {
  const { leaseMs, time } = context
  const held: HeldTicket = { uuid, version, leaseEnds: sentAt + leaseMs, isLost: false }
  const renewal = setInterval(() => renew(context, held), leaseMs / 3).unref()
  return {
    isShared: true,
    ...order,
    confirm() {
      if (held.isLost || time.monotonic() >= held.leaseEnds) throw lostTurn()
    },
    renewIf: (checks) => renewIf(context, held, checks),
    async end(isSettled) {
      clearInterval(renewal)
      const ended = isSettled ? giveBack(context, uuid, version) : settle(context, held)
      await ended.catch(() => {})
    }
  }
}

async function renew(context: TicketContext, held: HeldTicket): Promise<void> {
  const { table, time, leaseMs } = context
  const { uuid, version } = held
  const renewedAt = time.monotonic()
  const item = ticketItem(context, uuid, version, leaseMs)
  const result = await table.put(item, isOfVersion(version)).catch(() => undefined)
  if (result?.done) held.leaseEnds = renewedAt + leaseMs
  else held.isLost ||= result !== undefined
}

/** Renews a ticket in one transaction with checks of other records: see `Ticket.renewIf`. */
async function renewIf(
  context: TicketContext,
  held: HeldTicket,
  checks: ItemCheck[]
): Promise<Item[] | undefined> {
  if (context.hasTransactions === false) return undefined
  const { table, time, leaseMs } = context
  const { uuid, version } = held
  const renewedAt = time.monotonic()
  const item = ticketItem(context, uuid, version, leaseMs)
  const result = await table.putIf(item, isOfVersion(version), checks)
  noteTransactions(context, 'unsupported' in result ? result.unsupported : undefined)
  if ('unsupported' in result) return undefined
  if (result.done) {
    held.leaseEnds = renewedAt + leaseMs
    return []
  }
  if (!result.isReplaced) return result.unmet
  held.isLost = true
  throw lostTurn()
}

function noteTransactions(context: TicketContext, refusal: Error | undefined): void {
  const isSupported = refusal === undefined
  if (context.hasTransactions !== isSupported) context.onTransactions(refusal)
  context.hasTransactions = isSupported
}

async function giveBack(context: TicketContext, uuid: string, version: string): Promise<void> {
  const end = context.nextVersion()
  const item = ticketItem(context, uuid, end, 0)
  const { done } = await context.table.put(item, isOfVersion(version))
  if (done) context.ends.set(uuid, end)
}

/** Keeps the others away for as long as Drupal may still be saving. */
async function settle(context: TicketContext, { uuid, version }: HeldTicket): Promise<unknown> {
  const item = ticketItem(context, uuid, version, SETTLE_MS)
  return context.table.put(item, isOfVersion(version))
}

/**
 * Whether the save of an earlier ticket may have ended after this time. One that never ended may
 * have.
 */
function mayBeSince(previous: TicketMembers | undefined, since: number): boolean {
  return previous !== undefined && !(Number(previous.endedAt) < since - CLOCKS_MS)
}

function lostTurn() {
  return busy('This instance was halted, and another one may be saving this edition')
}

async function inTime<T>(pending: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(
    () => reject(new Error(`the store has not answered within ${STORE_MS} ms`)),
    STORE_MS
  )
  return Promise.race([pending, promise]).finally(() => clearTimeout(timer))
}
