import { hash, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import type { Attempt, Intent } from '../editions/save/attempt.ts'
import { isUncertain } from '../editions/save/outcome.ts'
import { Failure, texts } from '../errors.ts'
import { createLeases } from './lease.ts'
import { isOfVersion, isNothing, type Item, type Key, type StoredItem } from '../locks/record.ts'
import { createLockTable } from '../locks/table.ts'
import { createVersions } from '../locks/version.ts'

/** For how long a record is kept, in seconds. */
const KEPT_SECONDS = 86_400
/** How long an attempt has until it sends something, in milliseconds. A crashed attempt keeps the next one away for as long. */
const LEASE_MS = 15_000
/** How long after Drupal's timeout the next attempt has to wait once something is sent, in milliseconds: Drupal may still be working on it. */
const SETTLE_MS = 8000

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
   * @returns what it came to now, and whether an earlier attempt had saved it; or only what it came to earlier
   * @throws {Failure} IDEMPOTENCY_KEY_REUSED, IDEMPOTENCY_KEY_BUSY; STORE_UNAVAILABLE, STORE_FAILED with nothing sent; what `work` throws
   */
  once<T>(
    request: KeyedRequest,
    work: (attempt: Attempt) => Promise<{ result: T; done: RequestOutcome }>
  ): Promise<{ result: T; isReplayed: boolean } | { earlier: RequestOutcome }>
}

export interface IdempotencyDeps {
  client: DynamoDBDocumentClient
  table: string
  /** First part of every record's key. */
  environment: string
  /** The store's clock, in milliseconds since 1970. */
  now: () => number
  /** Resolves when `now` is right; undefined where it is already. */
  ready: () => Promise<void> | undefined
  /** How long the CMS may take for an answer, in milliseconds. */
  timeoutMs: number
  /** Milliseconds that no setting of a clock changes. */
  monotonic?: () => number
  wait?: (ms: number) => Promise<unknown>
  random?: () => number
}

/** A record as the table has it. `before` has `after` beside it; `status` has `etag` and `saved`. */
const StoredRequest = Type.Object({
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

/** What a record says beside its keys, its version and its times. */
interface RequestEntry {
  fingerprint: string
  uuid: string
  intent?: Intent
  done?: RequestOutcome
}

/**
 * Remembers requests by their Idempotency-Key (https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/).
 * An attempt takes a record of the table by a conditional put. It notes the save just before it sends it, and afterwards what
 * the request came to. These are three write units. Each write names a new version and the one that it replaces, so one that
 * reaches the table late is refused.
 *
 * Only successes are kept: a refused request has changed nothing, so its key is free again.
 */
export function createIdempotency({
  client,
  table: name,
  environment,
  now,
  ready,
  timeoutMs,
  monotonic = () => performance.now(),
  wait = sleep,
  random = Math.random
}: IdempotencyDeps): Idempotency {
  const table = createLockTable({ client, table: name, wait, random })
  const nextVersion = createVersions(now)
  const isLeaseOver = createLeases(now, monotonic)

  async function once<T>(
    { body, key: header, method, path, uid }: KeyedRequest,
    work: (attempt: Attempt) => Promise<{ result: T; done: RequestOutcome }>
  ) {
    const key = {
      env_entityType_entityId: `${environment}#request-${digest([uid, method, path, header])}`,
      fieldName: 'request'
    }
    const claim = await take(key, digest(body))
    if (claim.done) return { earlier: claim.done }
    const attempt = begin(key, claim)
    let outcome: { result: T; done: RequestOutcome }
    try {
      outcome = await work(attempt)
    } catch (error) {
      await attempt.fail(error)
      throw error
    }
    await attempt.succeed(outcome.done)
    return { result: outcome.result, isReplayed: attempt.earlier !== undefined }
  }

  /** The record of a request, taken by this attempt; or what the request came to. */
  async function take(key: Key, fingerprint: string): Promise<Claim> {
    await ready()
    const sentAt = monotonic()
    const fresh = { fingerprint, uuid: randomUUID() }
    const version = nextVersion()
    const result = await table.claim(item(key, version, fresh, LEASE_MS), isNothing())
    if (result.done) return { ...fresh, version, sentAt }
    const { inTheWay: record } = result
    if (!record) throw keyBusy()
    if (Number(record['removeAt']) * 1000 <= now()) return takeOver(key, record, fresh)
    const entry = entryOf(record)
    if (entry.fingerprint !== fingerprint) {
      throw new Failure('IDEMPOTENCY_KEY_REUSED', texts.keyReused)
    }
    if (entry.done) return { ...entry, version, sentAt }
    const longestMs = Math.max(LEASE_MS, timeoutMs + SETTLE_MS)
    if (isLeaseOver(record, longestMs)) return takeOver(key, record, entry)
    throw keyBusy(Math.min(Number(record['leaseUntil']) - now(), longestMs))
  }

  async function takeOver(key: Key, record: Item, entry: RequestEntry): Promise<Claim> {
    const sentAt = monotonic()
    const version = nextVersion(record['version'])
    const { done } = await table.claim(
      item(key, version, entry, LEASE_MS),
      isOfVersion(record['version'])
    )
    if (!done) throw keyBusy()
    return { ...entry, version, sentAt }
  }

  function begin(key: Key, { version: first, sentAt, done: _done, intent, ...entry }: Claim) {
    let version = first
    let earlier = intent
    let ownIntent: Intent | undefined
    let leaseEnds = sentAt + LEASE_MS

    /** Replaces the record, if it is still this attempt's. */
    async function write(change: Partial<RequestEntry>, leaseMs: number): Promise<boolean> {
      const next = nextVersion(version)
      const { done } = await table.claim(
        item(key, next, { ...entry, ...change }, leaseMs),
        isOfVersion(version)
      )
      if (done) version = next
      return done
    }

    return {
      uuid: entry.uuid,
      get earlier() {
        return earlier
      },
      async intend(intent: Intent) {
        const leaseMs = timeoutMs + SETTLE_MS
        const sentAt = monotonic()
        if (!(await write({ intent }, leaseMs))) throw keyBusy()
        leaseEnds = sentAt + leaseMs
        earlier = undefined
        ownIntent = intent
      },
      confirm() {
        if (monotonic() >= leaseEnds) throw keyBusy()
      },
      /** The edition is saved, whether or not this can be noted: the next attempt sees it. */
      async succeed(done: RequestOutcome) {
        await write({ done }, 0).catch(() => {})
      },
      /** Leaves the intent for the next attempt, which finds out by it whether this one or an earlier one has saved. */
      async fail(error: unknown) {
        const intent =
          earlier ?? (!(error instanceof Failure) || isUncertain(error) ? ownIntent : undefined)
        const ended = intent
          ? write({ intent }, ownIntent ? SETTLE_MS : 0)
          : table.remove(key, isOfVersion(version))
        await ended.catch(() => {})
      }
    }
  }

  function item(
    key: Key,
    version: string,
    { fingerprint, uuid, intent, done: completion }: RequestEntry,
    leaseMs: number
  ): StoredItem & { version: string } {
    return {
      ...key,
      version,
      fingerprint,
      uuid,
      ...(intent && { before: intent.before, after: intent.after }),
      ...(completion && {
        status: completion.status,
        etag: completion.etag,
        saved: completion.uuid
      }),
      ...lettersOf((completion ?? intent)?.outcomes),
      leaseUntil: leaseMs === 0 ? 0 : Math.ceil(now()) + leaseMs,
      removeAt: Math.floor(now() / 1000) + KEPT_SECONDS
    }
  }

  return { once }
}

/** A record that this attempt has taken; or, with `done`, one of a request that has come to its end. */
interface Claim extends RequestEntry {
  version: string
  /** When this attempt sent its claim, by `monotonic`. */
  sentAt: number
}

/** @throws {Failure} STORE_FAILED for a record that Quoin has not made: nothing tells then whether the request was done */
function entryOf(record: Item): RequestEntry {
  if (!Value.Check(StoredRequest, record)) {
    throw new Failure('STORE_FAILED', texts.storeFailed, {
      cause: new Error('a record of an Idempotency-Key has another form')
    })
  }
  const { fingerprint, uuid, before, after, status, etag, saved: savedUuid, outcomes } = record
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
