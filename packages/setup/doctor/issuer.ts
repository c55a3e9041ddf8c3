import { createLocalJWKSet } from 'jose'
import { fetchKeySet } from '../../../lib/auth/issuer-keys.ts'
import { ok, wrong, type Diagnosis } from '../diagnosis.ts'
import { transportReason } from '../../../lib/http/transport-reason.ts'

/** Checks that the keys of the issuer can be fetched, as they are when the first token comes. */
export async function checkIssuer(jwksUrl: string): Promise<Diagnosis> {
  try {
    const set = await fetchKeySet(jwksUrl)
    createLocalJWKSet(set)
    const { length } = set.keys
    return length > 0
      ? ok(`issuer: keys at ${jwksUrl}: ${length}`)
      : wrong(`issuer: there are no keys at ${jwksUrl}`, 'correct AUTH_KEYS')
  } catch (error) {
    const reason = transportReason(error as Error)
    return wrong(
      `issuer: its keys cannot be fetched from ${jwksUrl} (${reason})`,
      'correct AUTH_KEYS, or check the network from here'
    )
  }
}
