import { createLocalJWKSet, errors, type JSONWebKeySet, type JWK, type JWTVerifyGetKey } from 'jose'
import { texts, type Failure } from '../errors.ts'
import { createHttp } from '../http/client.ts'
import type { HttpAnswer } from '../http/exchange.ts'
import { createSingleFlight } from '../http/single-flight.ts'
import { isObject, objectIn } from '../drupal/document.ts'
import { unavailable } from './identity.ts'
import { systemTime } from '../time.ts'

export interface IssuerKeys {
  /**
   * The key that a token names.
   * @throws {Failure} AUTH_UNAVAILABLE where the keys cannot be fetched
   * @throws {Error} any other where the token is at fault, or the one key that it names
   */
  keyOf: JWTVerifyGetKey
  /**
   * When the keys are fetched again, by the clock. What they have verified is trusted no longer
   * than that.
   */
  renewAt: () => number
}

/** How long keys are trusted without asking again. A withdrawn key is accepted for as long. */
const KEYS_MS = 600_000

/** How much longer they are trusted while the issuer does not answer. */
const OUTAGE_MS = 15 * 60_000

/** The issuer is asked no more often than this, whatever tokens name. */
const PAUSE_MS = 5000

const FETCH_MS = 5000

/** In bytes; a key takes some hundreds. */
const LARGEST_SET = 1024 * 1024

/**
 * A token waits for this many looks at most: for one that had begun before it came, and for the
 * next one.
 */
const LOOKS_MAX = 2

/**
 * The keys of an issuer, fetched when they are needed. A token that names a new key has them
 * fetched again, so a rotated key is accepted with the first token that names it. Within PAUSE_MS
 * of the last look such tokens wait for the next one, all together. So tokens with made-up names
 * cannot flood the issuer.
 *
 * @param url of the JSON Web Key Set (RFC 7517 section 5); redirects are not followed
 * @param onChange called whenever other keys are published than before
 */
export function issuerKeys(url: string, onChange: () => void, time = systemTime): IssuerKeys {
  const { share } = createSingleFlight<void>()
  let keys: JWTVerifyGetKey
  let lastText = ''
  let fetchedAt = -Infinity
  let askedAt = -Infinity
  let isAway = false
  /** Looks are numbered in their order. */
  let lastBegin = 0
  let lastEnd = 0

  const renewAt = () => Math.max(fetchedAt + KEYS_MS, isAway ? askedAt + PAUSE_MS : -Infinity)
  const renew = () => share('', look)

  async function look(): Promise<void> {
    const pause = askedAt + PAUSE_MS - time.now()
    if (pause > 0 && isAway) throw new Error('the issuer did not answer a moment ago')
    if (pause > 0) await time.wait(pause)
    const number = ++lastBegin
    askedAt = time.now()
    isAway = true
    try {
      const set = await fetchKeySet(url)
      keys = createLocalJWKSet(set)
      isAway = false
      fetchedAt = time.now()
      const text = JSON.stringify(set)
      if (text !== lastText) onChange()
      lastText = text
    } finally {
      lastEnd = number
    }
  }

  const keyOf: JWTVerifyGetKey = async (header, token) => {
    const before = lastBegin
    if (time.now() >= fetchedAt + KEYS_MS) {
      await renew().catch((error: unknown) => {
        if (time.now() >= fetchedAt + KEYS_MS + OUTAGE_MS) throw keysUnavailable(error)
      })
    }
    let failure: unknown
    for (let looks = 0; looks <= LOOKS_MAX; looks++) {
      try {
        return await keys(header, token)
      } catch (error) {
        failure = error
        // A look that had begun before the token came may not show its key yet.
        if (!(error instanceof errors.JWKSNoMatchingKey) || lastEnd > before) break
      }
      await renew().catch((error: unknown) => {
        throw keysUnavailable(error)
      })
    }
    throw failure
  }

  return { keyOf, renewAt }
}

function keysUnavailable(cause: unknown): Failure {
  return unavailable(texts.keysUnavailable, cause)
}

/**
 * Fetches the keys of an issuer. An entry that is no object is left out: a token that names it
 * finds no key.
 * @throws {Error} where no key set comes within FETCH_MS: undici's, or one that says what came
 *   instead
 */
export async function fetchKeySet(url: string): Promise<JSONWebKeySet> {
  const { status, body } = await get(new URL(url))
  if (status !== 200) throw new Error(`the issuer answered ${status} when asked for its keys`)
  if (body.length > LARGEST_SET) {
    throw new Error(`the issuer answered with more than ${LARGEST_SET / 1024} KiB of keys`)
  }
  const set = objectIn(body, 'The issuer')
  if (!set) {
    throw new Error('the issuer answered with something that is not JSON when asked for its keys')
  }
  const { keys } = set
  if (!Array.isArray(keys)) throw new Error('the issuer answered without keys')
  return { keys: keys.filter(isObject) as JWK[] }
}

async function get({ origin, pathname, search }: URL): Promise<HttpAnswer> {
  const http = createHttp({ url: origin, timeoutMs: FETCH_MS })
  const headers = { accept: 'application/json, application/jwk-set+json' }
  const answer = http.send({ method: 'GET', path: pathname + search, headers })
  // The failure itself is about the CMS.
  return answer
    .catch((error: Failure) => {
      throw error.cause
    })
    .finally(http.close)
}
