import { hash, randomUUID } from 'node:crypto'
import { Type } from '@sinclair/typebox'
import type { Attempt, Intent } from '../editions/save/attempt.ts'
import { isUncertain } from '../editions/save/outcome.ts'
import { Failure, texts } from '../errors.ts'
import { isOfVersion } from '../table/expression.ts'
import type { Item } from '../table/item.ts'
import {
  createLeased,
  createRecordContext,
  isLeaseOver,
  leasedRecord,
  membersIn,
  replaceLeased,
  SETTLE_MS,
  type LeasedKind,
  type LeasedRecord,
  type RecordContext,
  type RecordDeps
} from '../table/lease.ts'

/**
 * Requests. A record is kept for a day. `before` has `after` beside it; `status` has `etag` and
 * `saved`.
 */
const KEYED_REQUESTS = {
  name: 'request',
  keptSeconds: 86_400,
  members: Type.Object({
    fingerprint: Type.String(),
    uuid: Type.String(),
    before: Type.Optional(Type.String()),
    after: Type.Optional(Type.String()),
    status: Type.Optional(Type.Number()),
    etag: Type.Optional(Type.String()),
    saved: Type.Optional(Type.String()),
    /** What operations came to, one letter each. */
    outcomes: Type.Optional(Type.String())
  })
} satisfies LeasedKind

/**
 * How long an attempt has until it sends something, in milliseconds. A crashed attempt keeps the
 * next one away for as long.
 */
const LEASE_MS = 15_000

/** The status of a change that was saved. */
const CHANGED = 200

/** What a caller repeats: who, where, under which key, and with what. */
export interface KeyedRequest {
  /** Undefined where nobody is known: all of those share their keys. */
  uid: string | undefined
  method: string
  path: string
  /** The header field, as it was sent. */
  key: string
  body: unknown
}

/** What a request came to. */
export interface RequestOutcome {
  status: number
  uuid: string
  /** Of the edition when it was saved. */
  etag: string
  outcomes?: Intent['outcomes']
}

export interface Idempotency {
  /**
   * Does a request once, however often it is sent with its key, within a day.
   * @returns what it came to now, and whether an earlier attempt had saved it; or only what it came
   *   to earlier
   * @throws {Failure} IDEMPOTENCY_KEY_REUSED, IDEMPOTENCY_KEY_BUSY; STORE_UNAVAILABLE, STORE_FAILED
   *   with nothing sent; what `work` throws
   */
  once<T>(
    request: KeyedRequest,
    work: (attempt: Attempt) => Promise<{ result: T; done: RequestOutcome }>
  ): Promise<{ result: T; isReplayed: boolean } | { earlier: RequestOutcome }>
}

export interface IdempotencyDeps extends RecordDeps {
  /** How long the CMS may take for an answer, in milliseconds. */
  timeoutMs: number
}

export interface IdempotencyContext extends RecordContext {
  timeoutMs: number
}

/** What a record says beside its keys, its version and its times. */
interface RequestEntry {
  fingerprint: string
  uuid: string
  intent?: Intent
  done?: RequestOutcome
}

/** An attempt at a request, which has the request's record. */
interface HeldRequest {
  record: LeasedRecord
  fingerprint: string
  /** Of the edition that a create makes, where the body gives none. */
  uuid: string
  version: string
  /** When the next attempt may begin, by `monotonic`. */
  leaseEnds: number
  /** What an earlier attempt was about to do, until this attempt has noted its own intent. */
  earlier: Intent | undefined
  /** What this attempt has noted that it is about to do. */
  ownIntent: Intent | undefined
  /** Whether it is noted what the request came to. */
  isConcluded: boolean
}

/**
 * Remembers requests by their Idempotency-Key
 * (https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/). An attempt takes a
 * record of the table by a conditional put. It notes the save just before it sends it, and
 * afterwards what the request came to. These are three write units. Each write names a new version
 * and the one that it replaces, so one that reaches the table late is refused.
 *
 * Only successes are kept: a refused request has changed nothing, so its key is free again.
 */
export function createIdempotency({ timeoutMs, ...deps }: IdempotencyDeps): Idempotency {
  const context: IdempotencyContext = { ...createRecordContext(deps), timeoutMs }
  return { once: (request, work) => once(context, request, work) }
}

/** Does a request once: see `Idempotency.once`. */
export async function once<T>(
  context: IdempotencyContext,
  request: KeyedRequest,
  work: (attempt: Attempt) => Promise<{ result: T; done: RequestOutcome }>
): Promise<{ result: T; isReplayed: boolean } | { earlier: RequestOutcome }> {
  const claim = await take(context, recordOf(context, request), digest(request.body))
  if ('done' in claim) return { earlier: claim.done }
  let outcome: { result: T; done: RequestOutcome }
  try {
    outcome = await work(attemptOf(context, claim))
  } catch (error) {
    if (!claim.isConcluded) await fail(context, claim, error)
    throw error
  }
  if (!claim.isConcluded) await succeed(context, claim, outcome.done)
  return { result: outcome.result, isReplayed: claim.earlier !== undefined }
}

function recordOf(
  context: IdempotencyContext,
  { uid, method, path, key }: KeyedRequest
): LeasedRecord {
  return leasedRecord(context, KEYED_REQUESTS, digest([uid, method, path, key]))
}

/**
 * Takes the record of a request for this attempt.
 * @returns `done` where the request has come to its end
 */
async function take(
  context: IdempotencyContext,
  record: LeasedRecord,
  fingerprint: string
): Promise<HeldRequest | { done: RequestOutcome }> {
  await context.time.ready()
  const sentAt = context.time.monotonic()
  const fresh = { fingerprint, uuid: randomUUID() }
  const claim = await createLeased(context, record, fresh, LEASE_MS)
  if (claim.done) return heldRequest(record, fresh, claim.version, sentAt)
  const { inTheWay } = claim
  if (!inTheWay) throw keyBusy()
  if (Number(inTheWay['removeAt']) * 1000 <= context.time.now()) {
    return takeOver(context, record, inTheWay, fresh)
  }
  const entry = entryOf(inTheWay)
  if (entry.fingerprint !== fingerprint) {
    throw new Failure('IDEMPOTENCY_KEY_REUSED', texts.keyReused)
  }
  if (entry.done) return { done: entry.done }
  const longestMs = Math.max(LEASE_MS, context.timeoutMs + SETTLE_MS)
  if (isLeaseOver(context, inTheWay, longestMs)) return takeOver(context, record, inTheWay, entry)
  throw keyBusy(Math.min(Number(inTheWay['leaseUntil']) - context.time.now(), longestMs))
}

async function takeOver(
  context: IdempotencyContext,
  record: LeasedRecord,
  { version: replaced }: Item,
  entry: RequestEntry
): Promise<HeldRequest> {
  const sentAt = context.time.monotonic()
  const version = await replaceLeased(context, record, replaced, membersOf(entry), LEASE_MS)
  if (version === undefined) throw keyBusy()
  return heldRequest(record, entry, version, sentAt)
}

function heldRequest(
  record: LeasedRecord,
  { fingerprint, uuid, intent }: RequestEntry,
  version: string,
  sentAt: number
): HeldRequest {
  return {
    record,
    fingerprint,
    uuid,
    version,
    leaseEnds: sentAt + LEASE_MS,
    earlier: intent,
    ownIntent: undefined,
    isConcluded: false
  }
}

/** The attempt as a save sees it. */
function attemptOf(context: IdempotencyContext, held: HeldRequest): Attempt {
  return {
    uuid: held.uuid,
    get earlier() {
      return held.earlier
    },
    intend: (intent) => intend(context, held, intent),
    confirm() {
      if (context.time.monotonic() >= held.leaseEnds) throw keyBusy()
    },
    conclude(change) {
      held.isConcluded = true
      return succeed(context, held, { status: CHANGED, ...change })
    }
  }
}

async function intend(
  context: IdempotencyContext,
  held: HeldRequest,
  intent: Intent
): Promise<void> {
  const leaseMs = context.timeoutMs + SETTLE_MS
  const sentAt = context.time.monotonic()
  if (!(await write(context, held, { intent }, leaseMs))) throw keyBusy()
  held.leaseEnds = sentAt + leaseMs
  held.earlier = undefined
  held.ownIntent = intent
}

/**
 * Notes what the request came to. The edition is saved even if this fails: the next attempt sees
 * it.
 */
async function succeed(
  context: IdempotencyContext,
  held: HeldRequest,
  done: RequestOutcome
): Promise<void> {
  await write(context, held, { done }, 0).catch(() => {})
}

/**
 * Leaves the intent for the next attempt, which finds out by it whether this one or an earlier one
 * has saved.
 */
async function fail(context: IdempotencyContext, held: HeldRequest, error: unknown): Promise<void> {
  const isUnknown = !(error instanceof Failure) || isUncertain(error)
  const intent = held.earlier ?? (isUnknown ? held.ownIntent : undefined)
  const ended = intent
    ? write(context, held, { intent }, held.ownIntent ? SETTLE_MS : 0)
    : context.table.remove(held.record.key, isOfVersion(held.version))
  await ended.catch(() => {})
}

/** Replaces the record, if it is still this attempt's. */
async function write(
  context: IdempotencyContext,
  held: HeldRequest,
  change: Pick<RequestEntry, 'intent' | 'done'>,
  leaseMs: number
): Promise<boolean> {
  const { record, fingerprint, uuid } = held
  const members = membersOf({ fingerprint, uuid, ...change })
  const version = await replaceLeased(context, record, held.version, members, leaseMs)
  held.version = version ?? held.version
  return version !== undefined
}

/** What the table has of an entry. */
function membersOf({ fingerprint, uuid, intent, done: outcome }: RequestEntry) {
  return {
    fingerprint,
    uuid,
    ...(intent && { before: intent.before, after: intent.after }),
    ...(outcome && { status: outcome.status, etag: outcome.etag, saved: outcome.uuid }),
    ...lettersOf((outcome ?? intent)?.outcomes)
  }
}

/**
 * @throws {Failure} STORE_FAILED for a record that Quoin has not made: nothing tells then whether
 *   the request was done
 */
function entryOf(record: Item): RequestEntry {
  const members = membersIn(KEYED_REQUESTS, record)
  if (!members) {
    throw new Failure('STORE_FAILED', texts.storeFailed, {
      cause: new Error('a record of an Idempotency-Key has another form')
    })
  }
  const { fingerprint, uuid, before, after, status, etag, saved: savedUuid, outcomes } = members
  const more =
    outcomes === undefined
      ? {}
      : {
          outcomes: [...outcomes].map((letter) =>
            letter === 'd' ? ('done' as const) : ('already' as const)
          )
        }
  return {
    fingerprint,
    uuid,
    ...(before !== undefined && { intent: { before, after: after!, ...more } }),
    ...(status !== undefined && { done: { status, uuid: savedUuid!, etag: etag!, ...more } })
  }
}

/** What operations came to, one letter each. */
function lettersOf(outcomes: Intent['outcomes']): { outcomes?: string } {
  return outcomes ? { outcomes: outcomes.map((outcome) => outcome.charAt(0)).join('') } : {}
}

/** @throws {Failure} BAD_REQUEST for a body whose nesting the stack does not take */
function digest(value: unknown): string {
  try {
    return hash('sha256', JSON.stringify([value]), 'base64url')
  } catch (cause) {
    throw new Failure('BAD_REQUEST', 'body is nested too deep', { cause })
  }
}

function keyBusy(leaseMs = 0): Failure {
  return new Failure('IDEMPOTENCY_KEY_BUSY', texts.keyBusy, {
    headers: { 'retry-after': String(Math.max(1, Math.ceil(leaseMs / 1000))) }
  })
}
