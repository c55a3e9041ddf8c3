import { LRUCache } from 'lru-cache'
import type { Caller } from '../http/calls.ts'
import { fingerprint, markOf } from '../drupal/credentials.ts'
import type { IdKeys } from '../drupal/refusals.ts'
import { isUuid } from '../patterns.ts'
import type { ContentModel } from './model.ts'
import { systemTime, type Time } from '../time.ts'

/** An answer to a read, as it was sent. */
export interface Copy {
  payload: string
  etag: string | undefined
  /** When Quoin read its oldest part from the CMS, in milliseconds of the clock. */
  at: number
  /** Whether it is one edition. Such a copy stays when another edition is saved. */
  isEdition: boolean
  /**
   * What it is about, if it shows parts of other entities by their uuids alone: the id in its path,
   * or an empty text.
   */
  about?: string
  /** Whether it shows parts of entities without any id. Every refusal ends such a copy. */
  isAnonymous?: boolean
}

/** Answers to reads, kept for when the CMS is down. */
export interface StaleCache {
  /** The clock, in milliseconds. */
  now(): number
  /**
   * Keeps a caller's copy, unless an edition was saved, or refused to this caller, since the
   * request came.
   * @param receivedAt when the request came, in milliseconds of the clock
   */
  keep(key: string, copy: Copy, receivedAt: number, caller: Caller): void
  /** The copy and its age in seconds; undefined where there is none, or it is too old. */
  find(key: string): { copy: Copy; age: number } | undefined
  forget(key: string): void
  /**
   * Call this when an edition was saved, or may have been. It drops every caller's copies that show
   * its earlier state.
   */
  outdate(uuid: string): void
  /**
   * Call this when the CMS refuses a caller an entity, or does not have it. It drops all copies of
   * this caller that show the entity, or the url of a reference to it, by whatever request.
   * @param id integer id or uuid; without one all copies of this caller are dropped
   * @param keys of the entity type, by default that of editions
   */
  refuse(caller: Caller, id?: string, keys?: IdKeys): void
  /**
   * Call this when another instance was refused something for a caller. It drops the copies that
   * show it, of all callers with this mark.
   * @param id as of `refuse`
   */
  withdraw(mark: string, id?: string): void
}

export interface StaleCacheOptions {
  /** The greatest age of a copy; 0 keeps none. */
  seconds?: number | undefined
  model: ContentModel
  /** The uuid of the edition with an integer id, where it is known. */
  uuidOf?: (id: string) => string | undefined
  time?: Time
}

const ENTRIES = 5000

/**
 * The most copies of one caller, so that a caller with ever new URLs does not push out those of
 * others.
 */
const ENTRIES_OF_CALLER = 500

/**
 * How large all copies may be together. A character counts as two bytes, as text other than Latin-1
 * takes.
 */
const BYTES = 64 * 1024 * 1024

/** For how many callers Quoin remembers the time of their last refusal. */
const CALLERS = 10_000

/** The greatest age of a copy, in seconds: a restart of Drupal, or an update of it. */
const STALE_SECONDS = 300

/** The copies of all callers, and what keeps answers that are too old from becoming copies. */
interface StaleContext extends Required<StaleCacheOptions> {
  seconds: number
  /** By the key of the request. */
  copies: LRUCache<string, Copy & { owner: string }>
  /** The keys of each caller's copies, the oldest first, by the caller's fingerprint. */
  keysOf: Map<string, Set<string>>
  /** When the CMS last refused each caller something, by the caller's fingerprint. */
  refusals: LRUCache<string, number>
  /** The same through another instance, by the caller's mark, of which there are 64. */
  refusedElsewhere: Map<string, number>
  /** When an edition was last saved. */
  savedAt: number
}

export function createStaleCache({
  seconds = STALE_SECONDS,
  model,
  uuidOf = () => undefined,
  time = systemTime
}: StaleCacheOptions): StaleCache {
  const keysOf: StaleContext['keysOf'] = new Map()
  const cache: StaleContext = {
    seconds,
    model,
    uuidOf,
    time,
    copies: createCopies(keysOf),
    keysOf,
    // As a size: with `max` the cache would reserve the memory for all of them at once.
    refusals: new LRUCache({ maxSize: CALLERS, sizeCalculation: () => 1 }),
    refusedElsewhere: new Map(),
    savedAt: -Infinity
  }
  return {
    now: time.monotonic,
    keep: (key, copy, receivedAt, caller) => keepCopy(cache, key, copy, receivedAt, caller),
    find: (key) => findCopy(cache, key),
    forget: (key) => {
      cache.copies.delete(key)
    },
    outdate: (uuid) => outdateCopies(cache, uuid),
    refuse: (caller, id, keys = model.keys) => refuseCopies(cache, caller, id, keys),
    withdraw: (mark, id) => withdrawCopies(cache, mark, id)
  }
}

/** A copy that is dropped goes from the keys of its caller too. */
function createCopies(keysOf: StaleContext['keysOf']): StaleContext['copies'] {
  return new LRUCache({
    max: ENTRIES,
    maxSize: BYTES,
    dispose: ({ owner }, key) => {
      const keys = keysOf.get(owner)!
      keys.delete(key)
      if (keys.size === 0) keysOf.delete(owner)
    },
    noDisposeOnSet: true
  })
}

function keepCopy(
  { seconds, copies, keysOf, refusals, refusedElsewhere, savedAt }: StaleContext,
  key: string,
  copy: Copy,
  receivedAt: number,
  caller: Caller
): void {
  const owner = fingerprint(caller)
  const refusedAt = Math.max(
    refusals.get(owner) ?? -Infinity,
    refusedElsewhere.get(markOf(owner)) ?? -Infinity
  )
  if (seconds === 0 || receivedAt <= savedAt || receivedAt <= refusedAt) return
  copies.set(key, { ...copy, owner }, { size: 2 * (key.length + copy.payload.length) })
  // The cache does not take one that is too large.
  if (!copies.has(key)) return
  const keys = keysOf.get(owner) ?? new Set()
  // Deleted first, so that the keys are in the order of keeping.
  keys.delete(key)
  keysOf.set(owner, keys.add(key))
  if (keys.size > ENTRIES_OF_CALLER) copies.delete(keys.values().next().value!)
}

function findCopy(
  { copies, time, seconds }: StaleContext,
  key: string
): { copy: Copy; age: number } | undefined {
  const copy = copies.get(key)
  if (!copy) return undefined
  const age = Math.ceil((time.monotonic() - copy.at) / 1000)
  return age <= seconds ? { copy, age } : undefined
}

function outdateCopies(cache: StaleContext, uuid: string): void {
  const { copies, time } = cache
  cache.savedAt = time.monotonic()
  // Any list may have gained or lost the edition.
  for (const [key, { isEdition, payload }] of [...copies.entries()]) {
    if (!isEdition || payload.includes(uuid)) copies.delete(key)
  }
}

function refuseCopies(
  cache: StaleContext,
  caller: Caller,
  id: string | undefined,
  keys: IdKeys
): void {
  const owner = fingerprint(caller)
  cache.refusals.set(owner, cache.time.monotonic())
  dropCopies(cache, owner, id, keys)
}

function withdrawCopies(cache: StaleContext, mark: string, id: string | undefined): void {
  cache.refusedElsewhere.set(mark, cache.time.monotonic())
  for (const owner of [...cache.keysOf.keys()]) {
    if (markOf(owner) === mark) dropCopies(cache, owner, id, cache.model.keys)
  }
}

/** Drops a caller's copies that show an entity; without an id all of them. */
function dropCopies(
  cache: StaleContext,
  owner: string,
  id: string | undefined,
  keys: IdKeys
): void {
  const isShown = id === undefined ? () => true : showing(cache, id, keys)
  for (const key of [...(cache.keysOf.get(owner) ?? [])]) {
    if (isShown(cache.copies.peek(key)!)) cache.copies.delete(key)
  }
}

/**
 * Whether a copy shows an entity: by the field with its id, by the url of a reference to it, or as
 * the name of a part. No text within the JSON looks like these, since its quotes are escaped.
 */
function showing(
  { model, uuidOf }: StaleContext,
  id: string,
  keys: IdKeys
): (copy: Copy) => boolean {
  const editionUuid = (id: string) => (isUuid(id) ? id.toLowerCase() : uuidOf(id))
  const mayBeEdition = isUuid(id) || keys === model.keys
  const uuid = mayBeEdition ? editionUuid(id) : undefined
  const parts: string[] = []
  if (uuid !== undefined) {
    parts.push(`:[{"value":"${uuid}"}]`, `"target_uuid":"${uuid}","url":`, `"${uuid}":`)
  }
  if (!isUuid(id)) parts.push(`${JSON.stringify(keys.id)}:[{"value":${id}}]`)
  return ({ about, isAnonymous, payload }) => {
    // Of an entity of a list Quoin knows the integer id alone.
    const isItsPart =
      about !== undefined &&
      (!mayBeEdition || about === id || (uuid !== undefined && editionUuid(about) === uuid))
    return isAnonymous === true || isItsPart || parts.some((part) => payload.includes(part))
  }
}
