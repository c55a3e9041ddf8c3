import { readFileSync } from 'node:fs'
import { Type, type StaticDecode, type TObject } from '@sinclair/typebox'
import type { JwtOptions } from '../lib/auth/jwt.ts'
import { readPublicKey } from '../lib/auth/public-key.ts'
import { itemsIn } from './edges.ts'

/** The settings of who may call, as part of the environment. */
export const AuthEnvironment = {
  AUTH: Type.Union([Type.Literal('none'), Type.Literal('jwt'), Type.Literal('drupal')], { default: 'none', description: 'none, jwt or drupal' }),
  AUTH_JWKS_URL: Type.Optional(Type.String({
    format: 'url',
    pattern: '^(?:https://[^/?#@\\s]+|http://(?:localhost|127\\.0\\.0\\.1|\\[::1\\])(?::\\d+)?)(?:/[^#\\s]*)?$',
    description: "the address of the issuer's keys (a JSON Web Key Set), by https, or by http on this machine"
  })),
  AUTH_PUBLIC_KEY: Type.Optional(Type.String({ pattern: '^(?!-----)[^\\r\\n]+$', description: "the path of a file with the issuer's public key in PEM" })),
  AUTH_ISSUER: Type.Optional(Type.String({ minLength: 1, description: 'what the claim iss of every token has to be (needed with AUTH=jwt)' })),
  AUTH_AUDIENCE: Type.Optional(Type.String({ minLength: 1, description: 'what the claim aud of every token has to be or to hold: the name of this service at the issuer (needed with AUTH=jwt)' })),
  AUTH_UID_CLAIM: Type.String({ default: 'sub', pattern: '^[!#-\\[\\]-~]+$', description: "the claim with the user's id, of printable ASCII without quotes, backslashes and spaces" }),
  AUTH_NAME_CLAIM: Type.String({ default: 'name', minLength: 1, description: "the claim with the user's name" }),
  AUTH_LOCK_CLAIM: Type.Optional(Type.String({ minLength: 1, description: 'the claim that says who may lock (needed with AUTH_LOCK_VALUE)' })),
  AUTH_LOCK_VALUE: Type.Optional(Type.String({ pattern: '^[^\\s]+$', description: 'what AUTH_LOCK_CLAIM has to be or to hold, without spaces (needed with AUTH_LOCK_CLAIM)' })),
  AUTH_EDITORS: Type.Optional(Type.String({ description: 'uids, separated by commas' })),
  AUTH_OPEN_TYPES: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9_]{1,64}(?: *, *[A-Za-z0-9_]{1,64})*$', description: 'types of locked entities, separated by commas, each 1 to 64 of A-Z a-z 0-9 _' })),
  AUTH_ADMINS: Type.Optional(Type.String({ description: 'uids, separated by commas' }))
}

type Settings = StaticDecode<TObject<typeof AuthEnvironment>>

/** How callers are known, and who of them may touch what is not their own. */
export type AuthConfig = { admins: string[] } & (
  | { kind: 'jwt', jwt: JwtOptions }
  /** The uids of those who may always lock, and the types that every known caller may. */
  | { kind: 'drupal', editors: string[], openTypes: string[] }
)

/**
 * Reads how callers are known; undefined with AUTH=none, and where something is missing or wrong, which is added to `problems`.
 * @param cmsAuth CMS_AUTH as it was set, without its default
 */
export function readAuth (settings: Settings, cmsAuth: string | undefined, problems: string[]): AuthConfig | undefined {
  const listed = (names = '') => itemsIn(names).filter(Boolean)
  const admins = listed(settings.AUTH_ADMINS)
  switch (settings.AUTH) {
    case 'drupal': return { kind: 'drupal', admins, editors: listed(settings.AUTH_EDITORS), openTypes: listed(settings.AUTH_OPEN_TYPES) }
    case 'jwt': {
      const jwt = readJwt(settings, cmsAuth, problems)
      return jwt && { kind: 'jwt', admins, jwt }
    }
    default: return undefined
  }
}

function readJwt (settings: Settings, cmsAuth: string | undefined, problems: string[]): JwtOptions | undefined {
  const { AUTH_ISSUER: issuer, AUTH_AUDIENCE: audience, AUTH_UID_CLAIM: uidClaim, AUTH_NAME_CLAIM: nameClaim } = settings
  for (const name of ['AUTH_ISSUER', 'AUTH_AUDIENCE'] as const) {
    if (!settings[name]) problems.push(`${name} is missing: ${AuthEnvironment[name].description}`)
  }
  // The caller's token would otherwise go on to Drupal without anybody having decided that it should.
  if (!cmsAuth) problems.push('CMS_AUTH is missing: with AUTH=jwt say passthrough if Drupal takes the same tokens, else name a service account (basic, session or oauth)')
  const { AUTH_LOCK_CLAIM: claim, AUTH_LOCK_VALUE: value } = settings
  if (claim && !value) problems.push(`AUTH_LOCK_VALUE is missing: ${AuthEnvironment.AUTH_LOCK_VALUE.description}`)
  if (value && !claim) problems.push(`AUTH_LOCK_CLAIM is missing: ${AuthEnvironment.AUTH_LOCK_CLAIM.description}`)
  const keys = readKeys(settings, problems)
  return keys && issuer && audience ? { keys, issuer, audience, uidClaim, nameClaim, ...(claim && value && { lock: { claim, value } }) } : undefined
}

function readKeys ({ AUTH_JWKS_URL: jwksUrl, AUTH_PUBLIC_KEY: path }: Settings, problems: string[]): JwtOptions['keys'] | undefined {
  if (jwksUrl && path) problems.push('AUTH_JWKS_URL and AUTH_PUBLIC_KEY are both set: only one can say which keys count')
  else if (jwksUrl) return { jwksUrl }
  else if (!path) problems.push(`AUTH_JWKS_URL or AUTH_PUBLIC_KEY is missing: ${AuthEnvironment.AUTH_JWKS_URL.description}, or ${AuthEnvironment.AUTH_PUBLIC_KEY.description} (one of them is needed with AUTH=jwt)`)
  // One that is not as its pattern has it has been reported with all the others.
  else if (new RegExp(AuthEnvironment.AUTH_PUBLIC_KEY.pattern!).test(path)) return readKeyFile(path, problems)
  return undefined
}

function readKeyFile (path: string, problems: string[]): JwtOptions['keys'] | undefined {
  try {
    return readPublicKey(readFileSync(path, 'utf8'))
  } catch (error) {
    problems.push(`AUTH_PUBLIC_KEY is ${JSON.stringify(path)} but ${(error as Error).message}`)
    return undefined
  }
}
