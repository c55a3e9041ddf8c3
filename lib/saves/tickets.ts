import { setTimeout as sleep } from 'node:timers/promises'
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { busy, type Turn, type Turns } from '../editions/save/save-queue.ts'
import type { Revisions } from '../editions/site/revisions.ts'
import type { Signal } from '../http/aborter.ts'
import { all, any, condition, expressionOf, rule } from '../locks/expression.ts'
import { CLOCKS_MS, createLeases } from './lease.ts'
import { isOfVersion, type Item, type Key } from '../locks/record.ts'
import { createLockTable, type LockCheck, type ClaimResult } from '../locks/table.ts'
import { createVersions } from '../locks/version.ts'
import { createPatience, WAIT_MS } from '../patience.ts'

/** How long a ticket holds that is not renewed, in milliseconds. A crashed instance keeps the others from an edition for as long. */
const LEASE_MS = 15_000
/** How long a ticket is kept after a save that timed out, in milliseconds: Drupal may still be saving. */
const SETTLE_MS = 8000

/** How long the store may take, and how long it is left alone when it took longer or failed, in milliseconds. */
const STORE_MS = 1000
const REST_MS = 5000

/** How long it is remembered when an edition was saved last, in seconds; a save that looked at it longer ago has ended. */
const REMEMBERED_SECONDS = 3600

/**
 * There is no ticket, or one whose lease is over, or something that is none: without the end of a lease, or without a
 * version as Quoin makes them. A put that reaches the table late finds a ticket with a greater version.
 */
const isTurnFree = expressionOf(
  any(
    rule('attribute_not_exists(#key)'),
    rule('NOT attribute_type(#leaseUntil, :number)'),
    rule('NOT attribute_type(#version, :string)'),
    all(rule('#leaseUntil <= :now'), rule('#version < :version'))
  )
)

/** The ticket is still the one that was read: its holder has neither renewed it nor given it back. */
const isSameTicket = expressionOf(
  all(rule('#version = :version'), rule('#leaseUntil = :leaseUntil'))
)

export interface TicketsDeps {
  client: DynamoDBDocumentClient
  table: string
  /** First part of every record's key. */
  environment: string
  /** The store's clock, in milliseconds since 1970. */
  now: () => number
  /** Resolves when `now` is right; undefined where it is already. */
  ready: () => Promise<void> | undefined
  /** Whether a save fails that gets no ticket because the store is away; else it goes on without one. */
  required?: boolean
  /** Hears why saves go on without tickets. */
  warn: (failure: Error) => void
  /** Hears, when it turns out at the first renewal with checks, whether the store has transactions; if not, why. */
  onTransactions?: (refusal?: Error) => void
  /** What instances tell each other through the tickets: the newest revision of each edition. */
  revisions?: Pick<Revisions, 'of' | 'learn'>
  leaseMs?: number
  /** Milliseconds that no setting of a clock changes. */
  monotonic?: () => number
  wait?: (ms: number) => Promise<unknown>
  random?: () => number
}

/** A turn that is held by a ticket, or is this instance's alone. */
export interface Ticket extends Turn {
  /**
   * Takes the ticket again, in one transaction with checks of other records.
   * @returns the records whose checks do not hold, so that nothing was changed; undefined where the store has no transactions
   * @throws {Failure} EDITION_BUSY where the turn is another's by now; STORE_UNAVAILABLE, STORE_FAILED
   */
  renewIf(checks: LockCheck[]): Promise<Item[] | undefined>
}

/** What became of one try at a ticket, and the version that it was to have. */
type TicketClaim = ClaimResult & { version: string }

/** Turns that are held by tickets. */
export interface Tickets extends Turns {
  take(...args: Parameters<Turns['take']>): Promise<Ticket>
  /** Whether somebody has the turn to save an edition, or may still be saving. @throws {Failure} STORE_UNAVAILABLE, STORE_FAILED */
  isHeld(uuid: string): Promise<boolean>
}

/**
 * Turns that the saves of one edition take among all instances that share the table. Drupal compares and saves without a
 * lock, so two saves at once could each find the edition as they left it, and the later one would undo the other.
 *
 * A ticket is a record of the table: a conditional put takes it, another one gives it back and notes the time, so an
 * uncontended save costs two write units and no read. The record also tells the edition's newest revision. A put finds a
 * smaller version, or the very ticket that was read, so one that reaches the table late is refused: it may be sent again
 * where it got no answer.
 */
export function createTickets({
  client,
  table: name,
  environment,
  now,
  ready,
  required = false,
  warn,
  onTransactions = () => {},
  revisions,
  leaseMs = LEASE_MS,
  monotonic = () => performance.now(),
  wait = sleep,
  random = Math.random
}: TicketsDeps): Tickets {
  const table = createLockTable({ client, table: name, wait, random })
  const nextVersion = createVersions(now)
  const isLeaseOver = createLeases(now, monotonic)
  let restsUntil = -Infinity
  /** Whether the store has transactions; not known before the first. */
  let hasTransactions: boolean | undefined

  const keyOf = (uuid: string): Key => ({
    env_entityType_entityId: `${environment}#save-${uuid}`,
    fieldName: 'save'
  })

  async function take(uuid: string, since: number, signal?: Signal): Promise<Ticket> {
    const patience = createPatience({ monotonic, wait, random })
    let hasWaited = false
    let last: unknown
    do {
      const sentAt = monotonic()
      const attempt = await offer(uuid, last)
      if (attempt === undefined) {
        return {
          isShared: false,
          isOutdated: hasWaited,
          confirm() {},
          renewIf: async () => undefined,
          async end() {}
        }
      }
      if (attempt.done) {
        revisions?.learn(uuid, attempt.previous?.['revision'])
        return hold(uuid, attempt.version, sentAt, hasWaited || mayBeSince(attempt.previous, since))
      }
      last = attempt.inTheWay?.['version']
      hasWaited = true
    } while (await patience.pause(signal))
    throw busy(`Saves through another instance have taken more than ${WAIT_MS} ms`)
  }

  /** @returns undefined while the store is away and gives no tickets */
  async function offer(uuid: string, last: unknown): Promise<TicketClaim | undefined> {
    if (!required && monotonic() < restsUntil) return undefined
    const claim = attempt(uuid, last)
    try {
      return await (required ? claim : inTime(claim))
    } catch (error) {
      if (required) throw error
      restsUntil = monotonic() + REST_MS
      warn(error as Error)
      // A ticket that comes late is given back, or others would wait until its lease ends.
      claim.then((late) => (late.done ? end(uuid, late.version) : undefined)).catch(() => {})
      return undefined
    }
  }

  /** @param last the version of the ticket that was in the way before */
  async function attempt(uuid: string, last: unknown): Promise<TicketClaim> {
    await ready()
    const version = nextVersion(last)
    const isFree = condition(isTurnFree, {
      ':now': Math.floor(now()),
      ':version': version,
      ':number': 'N',
      ':string': 'S'
    })
    const claim = await table.claim(leasedRecord(uuid, version, leaseMs), isFree, 'ALL_OLD')
    const ticket = claim.done ? undefined : claim.inTheWay
    if (!ticket || !isLeaseOver(ticket, LEASE_MS)) return { ...claim, version }
    // Free, but of a clock that is ahead of this one.
    const { version: other, leaseUntil } = ticket
    const next = nextVersion(other)
    const isSame = condition(isSameTicket, { ':version': other, ':leaseUntil': leaseUntil })
    return {
      ...(await table.claim(leasedRecord(uuid, next, leaseMs), isSame, 'ALL_OLD')),
      version: next
    }
  }

  function hold(uuid: string, version: string, sentAt: number, isOutdated: boolean): Ticket {
    let leaseEnds = sentAt + leaseMs
    let isLost = false
    const renewal = setInterval(async () => {
      const renewedAt = monotonic()
      const result = await table
        .put(leasedRecord(uuid, version, leaseMs), isOfVersion(version))
        .catch(() => undefined)
      if (result?.done) leaseEnds = renewedAt + leaseMs
      else isLost ||= result !== undefined
    }, leaseMs / 3).unref()

    return {
      isShared: true,
      isOutdated,
      confirm() {
        if (isLost || monotonic() >= leaseEnds) throw lostTurn()
      },
      async renewIf(checks) {
        if (hasTransactions === false) return undefined
        const renewedAt = monotonic()
        const result = await table.putIf(
          leasedRecord(uuid, version, leaseMs),
          isOfVersion(version),
          checks
        )
        learn('unsupported' in result ? result.unsupported : undefined)
        if ('unsupported' in result) return undefined
        if (result.done) {
          leaseEnds = renewedAt + leaseMs
          return []
        }
        if (!result.isReplaced) return result.unmet
        isLost = true
        throw lostTurn()
      },
      async end(isSettled) {
        clearInterval(renewal)
        await (
          isSettled
            ? end(uuid, version)
            : table.put(leasedRecord(uuid, version, SETTLE_MS), isOfVersion(version))
        ).catch(() => {})
      }
    }
  }

  function learn(refusal: Error | undefined): void {
    const isSupported = refusal === undefined
    if (hasTransactions !== isSupported) onTransactions(refusal)
    hasTransactions = isSupported
  }

  /** The record while its holder saves. */
  function leasedRecord(uuid: string, version: string, ms: number) {
    return recordOf(uuid, version, { leaseUntil: Math.ceil(now()) + ms })
  }

  /** Gives a ticket back, and notes when. */
  async function end(uuid: string, version: string): Promise<unknown> {
    return table.put(
      recordOf(uuid, nextVersion(), { leaseUntil: 0, endedAt: Math.ceil(now()) }),
      isOfVersion(version)
    )
  }

  function recordOf<Times>(uuid: string, version: string, times: Times) {
    const revision = revisions?.of(uuid)
    return {
      ...keyOf(uuid),
      version,
      ...times,
      removeAt: Math.floor(now() / 1000) + REMEMBERED_SECONDS,
      ...(revision !== undefined && { revision })
    }
  }

  async function isHeld(uuid: string): Promise<boolean> {
    await ready()
    const ticket = await table.get(keyOf(uuid))
    return ticket !== undefined && !isLeaseOver(ticket, LEASE_MS)
  }

  return { now, take, isHeld }
}

/** Whether the save of an earlier ticket may have ended after this time. One that never ended may have. */
function mayBeSince(previous: Item | undefined, since: number): boolean {
  return previous !== undefined && !(Number(previous['endedAt']) < since - CLOCKS_MS)
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
