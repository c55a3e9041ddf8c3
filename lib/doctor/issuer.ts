import { createRemoteJWKSet, errors } from 'jose'
import { ok, wrong, type Diagnosis } from '../findings.ts'
import { transportReason } from '../http/transport-reason.ts'

/** Checks that the keys of the issuer can be fetched, as they are when the first token comes. */
export async function checkIssuer (jwksUrl: string): Promise<Diagnosis> {
  const keys = createRemoteJWKSet(new URL(jwksUrl))
  try {
    await keys.reload()
  } catch (error) {
    const { message, cause } = error as Error
    const reason = error instanceof errors.JOSEError ? message : transportReason(cause as Error)
    return wrong(`issuer: its keys cannot be fetched from ${jwksUrl} (${reason})`, 'correct AUTH_JWKS_URL, or check the network from here')
  }
  const { length } = keys.jwks()!.keys
  return length > 0 ? ok(`issuer: keys at ${jwksUrl}: ${length}`) : wrong(`issuer: there are no keys at ${jwksUrl}`, 'correct AUTH_JWKS_URL')
}
