import { LRUCache } from 'lru-cache'
import { fingerprint, type Caller } from '../jsonapi/credentials.ts'
import { createFlights } from '../jsonapi/flights.ts'
import type { Identity } from './identity.ts'

export interface RememberOptions {
  /** Whose credentials these are; undefined where nobody is known by them. Throws where that cannot be found out. */
  ask: (caller: Caller) => Promise<Identity | undefined>
  /** How long a refusal of these credentials is remembered, in milliseconds. */
  refusedMs: (caller: Caller) => number
  /** How many of each kind are remembered; beyond it the least recently used are forgotten. */
  most?: number
  /** Clock, in milliseconds. */
  now?: () => number
}

/** How long an accepted credential is not asked about again: as long somebody who has logged out is still let in. */
const ACCEPTED_MS = 60_000

/** How long a credential that was accepted stays good while nobody can be asked. */
const STALE_MS = 15 * 60_000

/** How long the next try is put off then, so that not every request waits for an answer that does not come. */
const RETRY_MS = 10_000

const MOST = 10_000

/**
 * Remembers who was asked about: by a hash of the credentials, which are kept nowhere. Refused ones have a memory of
 * their own, so that made-up credentials push nobody out. Of many who ask about the same at once one does.
 */
export function remembering ({ ask, refusedMs, most = MOST, now = Date.now }: RememberOptions) {
  const accepted = new LRUCache<string, { identity: Identity, asked: number, until: number }>({ max: most })
  const refused = new LRUCache<string, number>({ max: most })
  const { share } = createFlights<Identity | undefined>()

  async function find (key: string, caller: Caller): Promise<Identity | undefined> {
    const known = accepted.get(key)
    try {
      const identity = await ask(caller)
      accepted.delete(key)
      if (identity) accepted.set(key, { identity, asked: now(), until: now() + ACCEPTED_MS })
      else refused.set(key, now() + refusedMs(caller))
      return identity
    } catch (error) {
      if (!known || now() - known.asked >= STALE_MS) throw error
      known.until = now() + RETRY_MS
      return known.identity
    }
  }

  return async function who (caller: Caller): Promise<Identity | undefined> {
    const key = fingerprint(caller)
    const known = accepted.get(key)
    if (known && now() < known.until) return known.identity
    if (now() < (refused.get(key) ?? 0)) return undefined
    return share(key, () => find(key, caller))
  }
}
