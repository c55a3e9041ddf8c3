import { createPublicKey, type KeyObject } from 'node:crypto'

/** The algorithms that tokens may be signed with, all asymmetric. Source: RFC 8725 section 3.2. */
export const ALGORITHMS = ['RS256', 'ES256', 'EdDSA'] as const
export type Algorithm = (typeof ALGORITHMS)[number]

export interface PublicKey {
  key: KeyObject
  /**
   * The one algorithm that the key is for: a token cannot choose another (RFC 8725 section 3.1).
   */
  algorithm: Algorithm
}

const SMALLEST_MODULUS = 2048

/**
 * Reads a public key in PEM (SubjectPublicKeyInfo, RFC 7468 section 13).
 * @throws {Error} that says what is allowed and never repeats the key
 */
export function readPublicKey(pem: string): PublicKey {
  if (!pem.includes('-----BEGIN PUBLIC KEY-----') || pem.includes('PRIVATE KEY')) {
    throw new Error('it has to be a public key in PEM: -----BEGIN PUBLIC KEY-----')
  }
  const key = keyIn(pem)
  const { namedCurve, modulusLength = 0 } = key.asymmetricKeyDetails!
  if (key.asymmetricKeyType === 'rsa' && modulusLength >= SMALLEST_MODULUS) {
    return { key, algorithm: 'RS256' }
  }
  if (key.asymmetricKeyType === 'ec' && namedCurve === 'prime256v1') {
    return { key, algorithm: 'ES256' }
  }
  if (key.asymmetricKeyType === 'ed25519') return { key, algorithm: 'EdDSA' }
  throw new Error(
    `it has to be a key of RSA with at least ${SMALLEST_MODULUS} bits (RS256), of the curve P-256 (ES256) or of Ed25519 (EdDSA)`
  )
}

function keyIn(pem: string): KeyObject {
  try {
    return createPublicKey(pem)
  } catch (cause) {
    throw new Error('its PEM cannot be read', { cause })
  }
}
