import { LRUCache } from 'lru-cache'
import type { Caller } from '../http/calls.ts'
import { fingerprint } from '../jsonapi/credentials.ts'
import type { ContentModel } from './model.ts'

/** An answer to a read, as it was sent. */
export interface Copy {
  payload: string
  etag: string | undefined
  /** When the oldest part of it was asked of the CMS, in milliseconds of the clock. */
  at: number
  /** Whether it is one edition: then it outlives the saving of others. */
  isEdition: boolean
}

/** Answers to reads, kept for the time when the CMS is down. */
export interface StaleCache {
  /** The clock, in milliseconds. */
  now (): number
  /**
   * Keeps a caller's copy, unless something was saved, or refused to this caller, since `asked`, when the request came, in
   * milliseconds of the clock.
   */
  keep (key: string, copy: Copy, asked: number, caller: Caller): void
  /** The copy and its age in seconds, if there is one that is not too old. */
  find (key: string): { copy: Copy, age: number } | undefined
  forget (key: string): void
  /** To be called when an edition was saved, or may have been: forgets what shows its earlier state, be it to anyone. */
  outdate (uuid: string): void
  /**
   * To be called when the CMS refuses a caller an edition, or says that there is none: forgets all of this caller's copies
   * that show it, whatever they were asked by.
   * @param id integer id or uuid; without one all of this caller's copies are forgotten
   */
  refuse (caller: Caller, id?: string): void
}

export interface StaleCacheOptions {
  /** How old a copy may be; 0: none is kept. */
  seconds: number
  model: ContentModel
  /** In milliseconds. */
  now?: () => number
}

const ENTRIES = 5000

/** How many of them are one caller's: who asks in ever new spellings pushes out no one else's. */
const ENTRIES_OF_CALLER = 500

/** Two for each letter, which is what text other than Latin-1 takes. */
const BYTES = 64 * 1024 * 1024

/** Of how many callers the time of their last refusal is remembered. */
const CALLERS = 10_000

export function createStaleCache ({ seconds, model, now = () => performance.now() }: StaleCacheOptions): StaleCache {
  const keysOf = new Map<string, Set<string>>()
  const copies = new LRUCache<string, Copy & { owner: string }>({
    max: ENTRIES,
    maxSize: BYTES,
    sizeCalculation: ({ payload }, key) => 2 * (key.length + payload.length),
    dispose: ({ owner }, key) => {
      const keys = keysOf.get(owner)!
      keys.delete(key)
      if (keys.size === 0) keysOf.delete(owner)
    },
    noDisposeOnSet: true
  })
  const refused = new LRUCache<string, number>({ max: CALLERS })
  let saved = -Infinity

  function keep (key: string, copy: Copy, asked: number, caller: Caller): void {
    const owner = fingerprint(caller)
    if (seconds === 0 || asked <= saved || asked <= (refused.get(owner) ?? -Infinity)) return
    copies.set(key, { ...copy, owner })
    // One that is too large is not taken.
    if (!copies.has(key)) return
    const keys = keysOf.get(owner) ?? new Set()
    // Taken out first, for the order to be that of keeping.
    keys.delete(key)
    keysOf.set(owner, keys.add(key))
    if (keys.size > ENTRIES_OF_CALLER) copies.delete(keys.values().next().value!)
  }

  function refuse (caller: Caller, id?: string): void {
    const owner = fingerprint(caller)
    refused.set(owner, now())
    const member = id === undefined ? '' : memberOf(id)
    for (const key of [...keysOf.get(owner) ?? []]) if (copies.peek(key)!.payload.includes(member)) copies.delete(key)
  }

  /** What the JSON of an edition has for its id, of which no text within it is a part: that has its quotes escaped. */
  function memberOf (id: string): string {
    const isInteger = /^\d+$/.test(id)
    return `${JSON.stringify(isInteger ? model.keys.id : model.keys.uuid)}:[{"value":${isInteger ? id : JSON.stringify(id.toLowerCase())}}]`
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
      saved = now()
      // Any list might have it, or have it no more.
      for (const [key, { isEdition, payload }] of [...copies.entries()]) if (!isEdition || payload.includes(uuid)) copies.delete(key)
    },
    refuse
  }
}
