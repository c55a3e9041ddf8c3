import { createRemoteJWKSet, customFetch, errors, jwtVerify, type FetchImplementation, type JWTVerifyGetKey, type JWTVerifyOptions, type JWTPayload } from 'jose'
import { Failure } from '../errors.ts'
import { bearerToken, tokenMissing, tokenRefused } from './bearer.ts'
import { identityOf, lineOf, unavailable, type Check, type Identity } from './identity.ts'
import { ALGORITHMS, type PublicKey } from './public-key.ts'

/** What a token has to be like. */
export interface JwtOptions {
  /** Where the issuer publishes its keys (RFC 7517 section 5), or its one key. */
  keys: { jwksUrl: string } | PublicKey
  issuer: string
  audience: string
  /** The claim that says who calls. */
  uidClaim: string
  /** The claim that says what to call them. */
  nameClaim: string
}

/** How far the clocks of issuer and service may be apart, in seconds. Source: RFC 7519 section 4.1.4. */
const LEEWAY_SECONDS = 30

/** How long keys are believed without asking again, in milliseconds: as long a withdrawn key is still taken. */
const KEYS_MS = 600_000

/** How long after a look at the keys an unknown `kid` is not looked for again, in milliseconds. */
const COOLDOWN_MS = 30_000

/** How long after the keys were asked for in vain they are not asked for again, in milliseconds. */
const QUIET_MS = 5000

const FETCH_MS = 5000

/** Access tokens, and what does not say what it is; not the logout tokens, DPoP proofs and so on of the same issuer. Source: RFC 8725 section 3.11. */
const TYPES = /^(?:application\/)?(?:at\+)?jwt$/i

/** What a token itself can be at fault for; everything else is the fault of the keys. */
const FAULTS = [
  errors.JWSInvalid, errors.JWTInvalid, errors.JWSSignatureVerificationFailed, errors.JOSENotSupported,
  errors.JWKSNoMatchingKey, errors.JWKSMultipleMatchingKeys
]

/**
 * Takes bearer tokens (RFC 6750) that are JWTs (RFC 7519), signed by one issuer for this service. Only the configured
 * keys count: what a token's header says of keys (`jwk`, `jku`, `x5c`, `x5u`) is ignored.
 */
export function jwtCheck ({ keys, issuer, audience, uidClaim, nameClaim }: JwtOptions): Check {
  const remote = 'jwksUrl' in keys
  const options: JWTVerifyOptions = {
    algorithms: remote ? [...ALGORITHMS] : [keys.algorithm],
    issuer,
    audience,
    requiredClaims: ['exp'],
    clockTolerance: LEEWAY_SECONDS
  }
  const keyOf: JWTVerifyGetKey = remote ? remoteKeys(keys.jwksUrl) : () => keys.key

  return async function check ({ authorization }) {
    const token = bearerToken(authorization)
    if (token === undefined) throw tokenMissing()
    const { payload, protectedHeader } = await jwtVerify(token, keyOf, options).catch((error: unknown) => { throw failureOf(error) })
    if (protectedHeader.typ !== undefined && !TYPES.test(protectedHeader.typ)) throw tokenRefused('The token is not an access token')
    return identityIn(payload)
  }

  function identityIn (payload: JWTPayload): Identity {
    const uid = lineOf(payload[uidClaim])
    if (uid === undefined) throw tokenRefused(`The claim ${uidClaim} of the token does not say who calls`)
    return identityOf(uid, payload[nameClaim])
  }
}

/** The issuer's keys, fetched when they are needed; never twice in a moment, whatever came of it. */
function remoteKeys (url: string): JWTVerifyGetKey {
  let asked = -Infinity
  const fetchKeys: FetchImplementation = async (...request) => {
    if (Date.now() - asked < QUIET_MS) throw keysUnavailable(new Error('the issuer was asked in vain a moment ago'))
    asked = Date.now()
    return fetch(...request)
  }
  return createRemoteJWKSet(new URL(url), { timeoutDuration: FETCH_MS, cooldownDuration: COOLDOWN_MS, cacheMaxAge: KEYS_MS, [customFetch]: fetchKeys })
}

function failureOf (error: unknown): Failure {
  if (error instanceof Failure) return error
  if (error instanceof errors.JWTExpired) return tokenRefused('The token has expired', error)
  if (error instanceof errors.JWTClaimValidationFailed) return tokenRefused(`The claim ${error.claim} of the token is missing or not as it has to be`, error)
  if (error instanceof errors.JOSEAlgNotAllowed) return tokenRefused('The token is signed with an algorithm that is not allowed', error)
  if (FAULTS.some((fault) => error instanceof fault)) return tokenRefused('The token is not a JWT signed by the issuer', error)
  return keysUnavailable(error)
}

function keysUnavailable (cause: unknown): Failure {
  return unavailable("The issuer's keys cannot be fetched, so the token cannot be checked; try again", cause)
}
