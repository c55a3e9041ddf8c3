import { createHmac, generateKeyPairSync, sign, type KeyObject } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { emptyDirectory } from '../app/fixtures/processes.ts'

export const ISSUER = 'https://id.example'
export const AUDIENCE = 'quoin'

export interface Pair {
  publicKey: KeyObject
  privateKey: KeyObject
}

/** The issuer's keys, one for each algorithm. */
export const pairs: Record<'RS256' | 'ES256' | 'EdDSA', Pair> = {
  RS256: generateKeyPairSync('rsa', { modulusLength: 2048 }),
  ES256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  EdDSA: generateKeyPairSync('ed25519')
}
/** Somebody else's. */
export const stranger: Pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })

export const pemOf = ({ publicKey }: Pair): string => publicKey.export({ type: 'spki', format: 'pem' }) as string
export const jwkOf = ({ publicKey }: Pair, more: object = {}): object => ({ ...publicKey.export({ format: 'jwk' }), ...more })

const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
const now = (): number => Math.floor(Date.now() / 1000)

/** What a good token says, and whatever else. */
export const claims = (more: object = {}): object => ({ iss: ISSUER, aud: AUDIENCE, sub: '7', name: 'Anna', exp: now() + 300, ...more })

/** A token, made without the library that reads them. `signer` is a key, a shared secret, or null for no signature. */
export function tokenOf(
  payload: unknown,
  { header = {}, signer = pairs.ES256.privateKey }: { header?: object; signer?: KeyObject | string | null } = {}
): string {
  const alg = { alg: 'ES256', typ: 'JWT', ...header } as { alg: string }
  const text = `${part(alg)}.${part(payload)}`
  return `${text}.${signature(text, signer)}`
}

function signature(text: string, signer: KeyObject | string | null): string {
  if (signer === null) return ''
  if (typeof signer === 'string') return createHmac('sha256', signer).update(text).digest('base64url')
  const hash = signer.asymmetricKeyType === 'ed25519' ? null : 'sha256'
  return sign(hash, Buffer.from(text), { key: signer, dsaEncoding: 'ieee-p1363' }).toString('base64url')
}

/** A file with a public key; gone when the test ends. */
export function keyFile(t: Test, pem = pemOf(pairs.ES256)): string {
  const file = join(emptyDirectory(t), 'key.pem')
  writeFileSync(file, pem)
  return file
}

/** Settings of AUTH=jwt with the issuer's ES256 key in a file. */
export const jwtEnv = (t: Test): Record<string, string> => ({
  AUTH: 'jwt',
  AUTH_KEYS: keyFile(t),
  AUTH_ISSUER: ISSUER,
  AUTH_AUDIENCE: AUDIENCE,
  CMS_AUTH: 'passthrough'
})

export const bearer = (more: object = {}): { authorization: string } => ({ authorization: `Bearer ${tokenOf(claims(more))}` })
