import { readFileSync } from 'node:fs'
import { Type, type StaticDecode, type TObject } from '@sinclair/typebox'
import type { JwtOptions } from '../lib/auth/jwt.ts'
import { readPublicKey } from '../lib/auth/public-key.ts'
import { itemsIn } from './edges.ts'
import { inGroup, setting } from './setting.ts'

/**
 * The settings of who may call, as part of the environment.
 * @internal
 */
export const AuthEnvironment = inGroup('Who calls', {
  AUTH: setting(
    Type.Union([Type.Literal('none'), Type.Literal('jwt'), Type.Literal('drupal')], {
      default: 'none'
    }),
    {
      description:
        "How Quoin knows its callers: not at all (for trusted networks), by bearer tokens, or as Drupal's users. See [Who calls](who-calls.md).",
      turn: 'always, unless only trusted programs reach the port: jwt with an issuer, drupal without.',
      allowed: 'none, jwt or drupal'
    }
  ),
  AUTH_KEYS: setting(Type.Optional(Type.String({ pattern: '^(?!-----)[^\\r\\n]+$' })), {
    description:
      "With AUTH=jwt: the issuer's keys, by the address of its JSON Web Key Set or in a PEM file.",
    turn: 'AUTH is jwt.',
    allowed:
      "the address of the issuer's keys (a JSON Web Key Set), by https, or by http on this machine, or the path of a file with its public key in PEM (needed with AUTH=jwt)",
    example: 'https://id.example.org/.well-known/jwks.json',
    unset: 'required with AUTH=jwt'
  }),
  AUTH_ISSUER: setting(Type.Optional(Type.String({ minLength: 1 })), {
    description: 'With AUTH=jwt: the issuer.',
    turn: 'AUTH is jwt.',
    allowed: 'what the claim iss of every token has to be (needed with AUTH=jwt)',
    example: 'https://id.example.org',
    unset: 'required with AUTH=jwt'
  }),
  AUTH_AUDIENCE: setting(Type.Optional(Type.String({ minLength: 1 })), {
    description: 'With AUTH=jwt: the audience of tokens.',
    turn: 'AUTH is jwt.',
    allowed:
      'what the claim aud of every token has to be or to hold: the name of this service at the issuer (needed with AUTH=jwt)',
    example: 'quoin',
    unset: 'required with AUTH=jwt'
  }),
  AUTH_UID_CLAIM: setting(Type.String({ default: 'sub', pattern: '^[!#-\\[\\]-~]+$' }), {
    description: 'With AUTH=jwt: the claim with the uid of the caller.',
    turn: 'the claim sub is not the uid that Drupal knows.',
    allowed:
      "the claim with the user's id, of printable ASCII without quotes, backslashes and spaces"
  }),
  AUTH_AGENT_CLAIM: setting(Type.Optional(Type.String({ pattern: '^[!#-\\[\\]-~]+$' })), {
    description:
      'With AUTH=jwt: the claim that only tokens of [agents](who-calls.md#agents) have, and that names the agent.',
    turn: 'agents have tokens of their own.',
    allowed:
      'the claim with the name of an agent, such as act.sub (the member sub of the claim act), of printable ASCII without quotes, backslashes and spaces',
    example: 'act.sub',
    unset: 'Quoin does not tell an agent from the user that it works for'
  }),
  AUTH_LOCK_CLAIM: setting(Type.Optional(Type.String({ pattern: '^[^=\\s]+=[^\\s]+$' })), {
    description:
      'With AUTH=jwt: the claim that says who may lock, and what it has to be or to hold.',
    turn: 'not everybody with a token may edit.',
    allowed:
      'the claim that says who may lock and what it has to be or to hold, as claim=value without spaces, such as scope=quoin.lock',
    example: 'scope=quoin.lock',
    unset: 'everybody whom the issuer lets in may lock'
  }),
  AUTH_ADMINS: setting(Type.Optional(Type.String()), {
    description:
      'With AUTH=jwt and drupal: who may release the locks of others, and see and discard their drafts.',
    turn: 'somebody has to clear up after others.',
    allowed: 'uids, separated by commas',
    example: '1',
    unset: 'nobody'
  })
})

type AuthSettings = StaticDecode<TObject<typeof AuthEnvironment>>

/** How Quoin authenticates callers, and which of them may change the locks and drafts of others. */
export type AuthConfig = { admins: string[] } & (
  { kind: 'jwt'; jwt: JwtOptions } | { kind: 'drupal' }
)

/**
 * Reads how callers are known; undefined with AUTH=none, and where something is missing or wrong,
 * which is added to `problems`.
 * @param cmsAuth CMS_AUTH as it was set, without its default
 * @internal
 */
export function readAuth(
  settings: AuthSettings,
  cmsAuth: string | undefined,
  problems: string[]
): AuthConfig | undefined {
  const namesIn = (names = '') => itemsIn(names).filter(Boolean)
  const admins = namesIn(settings.AUTH_ADMINS)
  switch (settings.AUTH) {
    case 'drupal':
      return { kind: 'drupal', admins }
    case 'jwt': {
      const jwt = readJwt(settings, cmsAuth, problems)
      return jwt && { kind: 'jwt', admins, jwt }
    }
    default:
      return undefined
  }
}

function readJwt(
  settings: AuthSettings,
  cmsAuth: string | undefined,
  problems: string[]
): JwtOptions | undefined {
  const {
    AUTH_ISSUER: issuer,
    AUTH_AUDIENCE: audience,
    AUTH_UID_CLAIM: uidClaim,
    AUTH_AGENT_CLAIM: agentClaim
  } = settings
  for (const name of ['AUTH_KEYS', 'AUTH_ISSUER', 'AUTH_AUDIENCE'] as const) {
    if (!settings[name]) problems.push(`${name} is missing: ${AuthEnvironment[name].allowed}`)
  }
  // Otherwise the caller's token would go on to Drupal although nobody has decided so.
  if (!cmsAuth) {
    problems.push(
      'CMS_AUTH is missing: with AUTH=jwt say passthrough if Drupal takes the same tokens, else name a service account (basic, session or oauth)'
    )
  }
  const keys = readKeys(settings.AUTH_KEYS, problems)
  return keys && issuer && audience
    ? {
        keys,
        issuer,
        audience,
        uidClaim,
        ...(agentClaim && { agentClaim }),
        ...(settings.AUTH_LOCK_CLAIM && { lock: lockClaimIn(settings.AUTH_LOCK_CLAIM) })
      }
    : undefined
}

/** @param text as claim=value; the value may have an equals sign itself */
function lockClaimIn(text: string): { claim: string; value: string } {
  const end = text.indexOf('=')
  return { claim: text.slice(0, end), value: text.slice(end + 1) }
}

/** What is an address and no path: it begins with a scheme. */
const ADDRESS = /^[a-z][a-z\d+.-]*:\/\//i

/** By https, or by http on this machine. */
const JWKS_URL =
  /^(?:https:\/\/[^/?#@\s]+|http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?)(?:\/[^#\s]*)?$/

function readKeys(keys: string | undefined, problems: string[]): JwtOptions['keys'] | undefined {
  if (keys === undefined) return undefined
  if (!ADDRESS.test(keys)) {
    // A value that does not match its pattern has been reported with all other settings.
    const isPath = new RegExp(AuthEnvironment.AUTH_KEYS.pattern!).test(keys)
    return isPath ? readKeyFile(keys, problems) : undefined
  }
  if (JWKS_URL.test(keys) && URL.canParse(keys)) return { jwksUrl: keys }
  problems.push(
    `AUTH_KEYS is ${JSON.stringify(keys.replace(/(?<=\/\/).*@/, '…@'))} but must be ${AuthEnvironment.AUTH_KEYS.allowed}`
  )
  return undefined
}

function readKeyFile(path: string, problems: string[]): JwtOptions['keys'] | undefined {
  try {
    return readPublicKey(readFileSync(path, 'utf8'))
  } catch (error) {
    problems.push(`AUTH_KEYS is ${JSON.stringify(path)} but ${(error as Error).message}`)
    return undefined
  }
}
