import { LRUCache } from 'lru-cache'
import type { Caller } from '../http/calls.ts'
import { fingerprint, markOf } from '../jsonapi/credentials.ts'
import type { ContentModel } from './model.ts'

/** An answer to a read, as it was sent. */
export interface Copy {
  payload: string
  etag: string | undefined
  /** When Quoin read its oldest part from the CMS, in milliseconds of the clock. */
  at: number
  /** Whether it is one edition. Such a copy stays when another edition is saved. */
  isEdition: boolean
}

/** Answers to reads, kept for when the CMS is down. */
export interface StaleCache {
  /** The clock, in milliseconds. */
  now (): number
  /**
   * Keeps a caller's copy, unless an edition was saved, or refused to this caller, since the request came.
   * @param receivedAt when the request came, in milliseconds of the clock
   */
  keep (key: string, copy: Copy, receivedAt: number, caller: Caller): void
  /** The copy and its age in seconds; undefined where there is none, or it is too old. */
  find (key: string): { copy: Copy, age: number } | undefined
  forget (key: string): void
  /** Call this when an edition was saved, or may have been. It drops every caller's copies that show its earlier state. */
  outdate (uuid: string): void
  /**
   * Call this when the CMS refuses a caller an edition, or does not have it. It drops all copies of this caller that
   * show the edition, by whatever request.
   * @param id integer id or uuid; without one all copies of this caller are dropped
   * @param keys of the entity type, by default that of editions
   */
  refuse (caller: Caller, id?: string, keys?: ContentModel['keys']): void
  /**
   * Call this when another instance was refused an edition for a caller. It drops the copies that show it, of all callers with
   * this mark.
   */
  withdraw (mark: string, id: string): void
}

export interface StaleCacheOptions {
  /** The greatest age of a copy; 0 keeps none. */
  seconds: number
  model: ContentModel
  /** In milliseconds. */
  now?: () => number
}

const ENTRIES = 5000

/** The most copies of one caller, so that a caller with ever new URLs does not push out those of others. */
const ENTRIES_OF_CALLER = 500

/** How large all copies may be together. A character counts as two bytes, as text other than Latin-1 takes. */
const BYTES = 64 * 1024 * 1024

/** For how many callers Quoin remembers the time of their last refusal. */
const CALLERS = 10_000

export function createStaleCache ({ seconds, model, now = () => performance.now() }: StaleCacheOptions): StaleCache {
  const keysOf = new Map<string, Set<string>>()
  const copies = new LRUCache<string, Copy & { owner: string }>({
    max: ENTRIES,
    maxSize: BYTES,
    dispose: ({ owner }, key) => {
      const keys = keysOf.get(owner)!
      keys.delete(key)
      if (keys.size === 0) keysOf.delete(owner)
    },
    noDisposeOnSet: true
  })
  // As a size: with `max` the cache would reserve the memory for all of them at once.
  const refusals = new LRUCache<string, number>({ maxSize: CALLERS, sizeCalculation: () => 1 })
  /** The time of the last refusal through another instance, by the caller's mark. */
  const refusedElsewhere = new Map<string, number>()
  let savedAt = -Infinity

  function keep (key: string, copy: Copy, receivedAt: number, caller: Caller): void {
    const owner = fingerprint(caller)
    const refusedAt = Math.max(refusals.get(owner) ?? -Infinity, refusedElsewhere.get(markOf(owner)) ?? -Infinity)
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

  function refuse (caller: Caller, id?: string, keys = model.keys): void {
    const owner = fingerprint(caller)
    refusals.set(owner, now())
    drop(owner, id, keys)
  }

  function drop (owner: string, id: string | undefined, keys: ContentModel['keys']): void {
    const member = id === undefined ? '' : memberOf(id, keys)
    for (const key of [...keysOf.get(owner) ?? []]) if (copies.peek(key)!.payload.includes(member)) copies.delete(key)
  }

  /** The member of an edition's JSON that has its id. No text within the JSON looks like this, since its quotes are escaped. */
  function memberOf (id: string, keys: ContentModel['keys']): string {
    const isInteger = /^\d+$/.test(id)
    return `${JSON.stringify(isInteger ? keys.id : keys.uuid)}:[{"value":${isInteger ? id : JSON.stringify(id.toLowerCase())}}]`
  }

  return {
    now,
    keep,
    find (key) {
      const copy = copies.get(key)
      const age = copy && Math.ceil((now() - copy.at) / 1000)
      return copy && age! <= seconds ? { copy, age: age! } : undefined
    },
    forget: (key) => { copies.delete(key) },
    outdate (uuid) {
      savedAt = now()
      // Any list may have gained or lost the edition.
      for (const [key, { isEdition, payload }] of [...copies.entries()]) if (!isEdition || payload.includes(uuid)) copies.delete(key)
    },
    refuse,
    withdraw (mark, id) {
      refusedElsewhere.set(mark, now())
      for (const owner of [...keysOf.keys()]) if (markOf(owner) === mark) drop(owner, id, model.keys)
    }
  }
}
