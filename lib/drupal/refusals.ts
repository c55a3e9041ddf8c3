import { LRUCache } from 'lru-cache'
import type { Caller } from '../http/calls.ts'
import { UUID_PATTERN } from '../patterns.ts'
import { fingerprint } from './credentials.ts'
import type { Time } from '../time.ts'

/** What the field with an entity's integer id is called. */
export interface IdKeys {
  id: string
}

/**
 * Takes in what the CMS has refused a caller.
 * @param id integer id or uuid of an entity; without one it was more than that
 * @param keys of its entity type, by default that of editions
 */
export type RefusalListener = (caller: Caller, id?: string, keys?: IdKeys) => void

export interface Refusals {
  /** Call this whenever the CMS refuses a caller something. */
  tell: RefusalListener
  /** Has whatever remembers something of callers told of each refusal. */
  listen(listener: RefusalListener): void
}

/**
 * The one way that every refusal takes, whoever has heard it: a read, a save, the journal, a
 * question about locks, a login. What is remembered of a caller ends by it.
 */
export function createRefusals(): Refusals {
  const listeners: RefusalListener[] = []
  return {
    tell: (...refusal) => {
      for (const listener of listeners) listener(...refusal)
    },
    listen: (listener) => {
      listeners.push(listener)
    }
  }
}

/** An answer of the CMS, and what was asked. */
interface CmsVerdict {
  method: string
  /** Below the JSON:API prefix. */
  path: string
  caller: Caller
  status: number
}

const INDIVIDUAL = new RegExp(`/(${UUID_PATTERN})$`)

/** Tells a listener what an answer refuses its caller to see, if anything. */
export function tellRefusal(
  { method, path, caller, status }: CmsVerdict,
  listener: RefusalListener
): void {
  if (status !== 401 && status !== 403 && status !== 404) return
  const uuid = INDIVIDUAL.exec(path)?.[1]
  const hasCredentials =
    caller.headers['authorization'] !== undefined || caller.headers['cookie'] !== undefined
  // Drupal asks those without credentials for them wherever it refuses them something.
  if (status === 401 && hasCredentials) return listener(caller)
  // Who may not change something may still see it.
  if (status === 403 && method !== 'GET') return
  if (uuid !== undefined) return listener(caller, uuid)
  if (path === '') listener(caller)
}

/** When callers were last refused something. */
export interface RefusalTimes {
  /**
   * The last time that the caller was refused one of these entities, or more than one entity;
   * -Infinity if never.
   */
  last(caller: Caller, ...ids: string[]): number
}

/** How many refusals are remembered. */
const REMEMBERED = 10_000

export function createRefusalTimes(refusals: Pick<Refusals, 'listen'>, time: Time): RefusalTimes {
  // As a size: with `max` the cache would reserve the memory for all of them at once.
  const times = new LRUCache<string, number>({ maxSize: REMEMBERED, sizeCalculation: () => 1 })
  const keyOf = (caller: Caller, id: string) => `${fingerprint(caller)} ${id.toLowerCase()}`
  refusals.listen((caller, id = '') => {
    times.set(keyOf(caller, id), time.monotonic())
  })
  return {
    last: (caller, ...ids) =>
      Math.max(...['', ...ids].map((id) => times.get(keyOf(caller, id)) ?? -Infinity))
  }
}
