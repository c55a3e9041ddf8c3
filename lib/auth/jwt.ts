import { hash } from 'node:crypto'
import { errors, jwtVerify, type JWTVerifyOptions, type JWTPayload } from 'jose'
import { LRUCache } from 'lru-cache'
import { agentUid, isAgent } from '../agents.ts'
import { isObject } from '../drupal/document.ts'
import { Failure, texts } from '../errors.ts'
import { bearerToken, tokenMissing, tokenRefused } from './bearer.ts'
import { identityOf, lineOf, type Check, type Identity } from './identity.ts'
import { issuerKeys, type IssuerKeys } from './issuer-keys.ts'
import { ALGORITHMS, type PublicKey } from './public-key.ts'
import { systemTime } from '../time.ts'

/** What a token has to be like. */
export interface JwtOptions {
  /** Where the issuer publishes its keys (RFC 7517 section 5), or its one key. */
  keys: { jwksUrl: string } | PublicKey
  issuer: string
  audience: string
  /** The claim that says who calls. */
  uidClaim: string
  /** The claim that names the agent which calls for a user, such as `act.sub`. */
  agentClaim?: string
  /**
   * Who may lock: callers whose claim is this value, or a list or words with it. Everybody where
   * this is absent.
   */
  lock?: { claim: string; value: string }
}

/**
 * How far the clocks of issuer and service may be apart, in seconds. Source: RFC 7519 section
 * 4.1.4.
 */
const LEEWAY_SECONDS = 30

/** How long a verified token is not verified again, in milliseconds. */
const REMEMBERED_MS = 60_000

/** How many verified tokens are remembered; beyond it the least recently used are forgotten. */
const REMEMBERED = 10_000

/**
 * Accepts access tokens and tokens without a type. Rejects logout tokens, DPoP proofs and other
 * tokens of the same issuer. Source: RFC 8725 section 3.11.
 */
const TYPES = /^(?:application\/)?(?:at\+)?jwt$/i

/**
 * What a token itself can be at fault for; everything else is the fault of the key that it names.
 */
const FAULTS = [
  errors.JWSInvalid,
  errors.JWTInvalid,
  errors.JWSSignatureVerificationFailed,
  errors.JOSENotSupported,
  errors.JWKSNoMatchingKey,
  errors.JWKSMultipleMatchingKeys
]

/**
 * Takes bearer tokens (RFC 6750) that are JWTs (RFC 7519), signed by one issuer for this service.
 * Only the configured keys count: what a token's header says of keys (`jwk`, `jku`, `x5c`, `x5u`)
 * is ignored.
 *
 * Remembers a verified token by its hash for a minute, until its `exp` or a change of keys at the
 * latest.
 */
export function jwtCheck(
  { keys, issuer, audience, uidClaim, agentClaim, lock }: JwtOptions,
  time = systemTime
): Check {
  const remote = 'jwksUrl' in keys
  const options: JWTVerifyOptions = {
    algorithms: remote ? [...ALGORITHMS] : [keys.algorithm],
    issuer,
    audience,
    requiredClaims: ['exp'],
    clockTolerance: LEEWAY_SECONDS
  }
  const identities = new LRUCache<string, { identity: Identity; until: number }>({
    max: REMEMBERED
  })
  /**
   * How often the keys have changed. A token that old keys verified is verified again with the new
   * ones.
   */
  let changes = 0
  const { keyOf, renewAt }: IssuerKeys = remote
    ? issuerKeys(keys.jwksUrl, forget, time)
    : { keyOf: () => keys.key, renewAt: () => Infinity }

  function forget(): void {
    changes++
    identities.clear()
  }

  return async function check({ authorization }, _requestId, resource) {
    const token = bearerToken(authorization)
    if (token === undefined) throw tokenMissing()
    const digest = hash('sha256', token, 'base64')
    const key = resource === undefined ? digest : `${digest} ${resource}`
    const memory = identities.get(key)
    if (memory && time.now() < memory.until) return memory.identity
    const before = changes
    const { identity, exp } = await verify(token, resource)
    const until = Math.min(time.now() + REMEMBERED_MS, exp * 1000, renewAt())
    if (changes === before) identities.set(key, { identity, until })
    return identity
  }

  async function verify(
    token: string,
    resource: string | undefined
  ): Promise<{ identity: Identity; exp: number }> {
    const { payload, protectedHeader } = await jwtVerify(token, keyOf, {
      ...options,
      ...(resource !== undefined && { audience: resource }),
      currentDate: new Date(time.now())
    }).catch((error: unknown) => {
      throw failureOf(error)
    })
    if (protectedHeader.typ !== undefined && !TYPES.test(protectedHeader.typ)) {
      throw tokenRefused('The token is not an access token')
    }
    const identity = identityIn(payload)
    return {
      identity:
        resource === undefined ? identity : { ...identity, scopes: scopesIn(payload['scope']) },
      exp: payload.exp!
    }
  }

  function identityIn(payload: JWTPayload): Identity {
    const uid = lineOf(payload[uidClaim])
    if (uid === undefined || isAgent(uid)) {
      throw tokenRefused(`The claim ${uidClaim} of the token does not say who calls`)
    }
    const user = identityOf(uid, payload['name'] ?? payload['preferred_username'])
    const agent = agentClaim === undefined ? undefined : claimAt(payload, agentClaim)
    return {
      ...(agent === undefined ? user : agentIdentity(agent, user)),
      ...(lock && { mayLock: holds(payload[lock.claim], lock.value) })
    }
  }
}

/**
 * A claim by its name, which may have dots in it. Without such a claim `act.sub` is the member `sub`
 * of the claim `act` (RFC 8693 section 4.1).
 * @returns undefined where there is no such claim, null where it lacks the member
 */
function claimAt(payload: JWTPayload, name: string): unknown {
  if (payload[name] !== undefined) return payload[name]
  const [claim, ...members] = name.split('.')
  const value = payload[claim!]
  if (value === undefined) return undefined
  return members.reduce<unknown>(
    (parent, member) => (isObject(parent) ? (parent[member] ?? null) : null),
    value
  )
}

/** An agent that works for a user, with a uid of its own. */
function agentIdentity(claim: unknown, user: Identity): Identity {
  const name = lineOf(claim)
  const uid = name === undefined ? undefined : agentUid({ name, principal: user.uid })
  if (uid === undefined) {
    throw tokenRefused('The token names an agent that makes no uid of at most 255 characters')
  }
  return identityOf(uid, lineOf(`${name} (${user.name ?? user.uid})`) ?? name)
}

/**
 * Whether a claim is a value, is a list with it, or words with it between spaces, as `scope` is
 * (RFC 8693 section 4.2).
 */
function holds(claim: unknown, value: string): boolean {
  if (Array.isArray(claim)) return claim.includes(value)
  return claim === value || (typeof claim === 'string' && claim.split(' ').includes(value))
}

/** The scopes of a token: words between spaces (RFC 8693 section 4.2), or a list of them. */
function scopesIn(claim: unknown): string[] {
  const scopes: unknown[] = typeof claim === 'string' ? claim.split(' ') : [claim].flat()
  return scopes.filter((scope) => typeof scope === 'string')
}

function failureOf(error: unknown): Failure {
  if (error instanceof errors.JWTExpired) return tokenRefused(texts.tokenExpired, error)
  if (error instanceof errors.JWTClaimValidationFailed) {
    return tokenRefused(
      `The claim ${error.claim} of the token is missing or not as it has to be`,
      error
    )
  }
  if (error instanceof errors.JOSEAlgNotAllowed) {
    return tokenRefused('The token is signed with an algorithm that is not allowed', error)
  }
  if (FAULTS.some((fault) => error instanceof fault)) {
    return tokenRefused('The token is not a JWT signed by the issuer', error)
  }
  if (error instanceof Failure) return error
  return tokenRefused('The key that the token names cannot be used', error)
}
