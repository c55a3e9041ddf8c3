import { jwtVerify, SignJWT, type JWTPayload } from 'jose'
import { systemTime, type Time } from '../time.ts'
import { bearerToken, tokenMissing, tokenRefused } from './bearer.ts'

/** How far the clocks of Quoin and Drupal may be apart, in seconds, besides what `exp` allows. */
const LEEWAY_SECONDS = 30

/** How long Drupal may take to begin with a save that Quoin sends, in seconds. */
const SAVE_SECONDS = 60

/** What a digest of a body looks like: SHA-256 as base64url. */
const DIGEST = /^[\w-]{43}$/

/** What Quoin and its Drupal module tell each other, signed by a secret that both have. */
export interface ModuleKey {
  /**
   * Signs a save that Quoin sends to Drupal, for the header field Quoin-Save.
   * @param uuid of the entity, where it is known before the save
   */
  signSave(uuid: string | undefined): Promise<string>
  /**
   * Takes a request of the module by its Authorization.
   * @returns the digest that its body has to have
   * @throws {Failure} UNAUTHENTICATED
   */
  verify(authorization: string | undefined): Promise<string>
}

/**
 * Both directions are JWTs (RFC 7519) with HS256. Issuer and audience keep a token of one direction
 * from being sent in the other.
 */
export function createModuleKey(secret: string, time: Time = systemTime): ModuleKey {
  const key = new TextEncoder().encode(secret)
  return {
    signSave: (uuid) => signSave(key, time, uuid),
    verify: (authorization) => verifyRequest(key, time, authorization)
  }
}

function signSave(key: Uint8Array, time: Time, uuid: string | undefined): Promise<string> {
  const seconds = Math.floor(time.now() / 1000)
  return new SignJWT(uuid === undefined ? {} : { sub: uuid })
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
    .setIssuer('quoin')
    .setAudience('drupal')
    .setIssuedAt(seconds)
    .setExpirationTime(seconds + SAVE_SECONDS)
    .sign(key)
}

async function verifyRequest(
  key: Uint8Array,
  time: Time,
  authorization: string | undefined
): Promise<string> {
  const token = bearerToken(authorization)
  if (token === undefined) throw tokenMissing()
  const { body } = await payloadOf(key, time, token)
  if (typeof body === 'string' && DIGEST.test(body)) return body
  throw tokenRefused('The token does not say what the body has to be')
}

async function payloadOf(key: Uint8Array, time: Time, token: string): Promise<JWTPayload> {
  try {
    const { payload } = await jwtVerify(token, key, {
      algorithms: ['HS256'],
      issuer: 'drupal',
      audience: 'quoin',
      requiredClaims: ['exp'],
      clockTolerance: LEEWAY_SECONDS,
      currentDate: new Date(time.now())
    })
    return payload
  } catch (error) {
    throw tokenRefused('The token is not one of the module, or has expired', error)
  }
}
