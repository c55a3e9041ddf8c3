import { readFileSync } from 'node:fs'
import { Type, type StaticDecode, type TObject } from '@sinclair/typebox'
import type { JwtOptions } from '../lib/auth/jwt.ts'
import { readPublicKey } from '../lib/auth/public-key.ts'
import { LOCK_TYPE_PATTERN } from '../lib/patterns.ts'
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
      allowed: 'none, jwt or drupal'
    }
  ),
  AUTH_JWKS_URL: setting(
    Type.Optional(
      Type.String({
        format: 'url',
        pattern:
          '^(?:https://[^/?#@\\s]+|http://(?:localhost|127\\.0\\.0\\.1|\\[::1\\])(?::\\d+)?)(?:/[^#\\s]*)?$'
      })
    ),
    {
      description:
        "With AUTH=jwt: where the issuer's keys are. Either this or AUTH_PUBLIC_KEY is required.",
      allowed:
        "the address of the issuer's keys (a JSON Web Key Set), by https, or by http on this machine",
      example: 'https://id.example.org/.well-known/jwks.json'
    }
  ),
  AUTH_PUBLIC_KEY: setting(Type.Optional(Type.String({ pattern: '^(?!-----)[^\\r\\n]+$' })), {
    description: "With AUTH=jwt: a file with the issuer's key, in place of AUTH_JWKS_URL.",
    allowed: "the path of a file with the issuer's public key in PEM"
  }),
  AUTH_ISSUER: setting(Type.Optional(Type.String({ minLength: 1 })), {
    description: 'With AUTH=jwt: the issuer.',
    allowed: 'what the claim iss of every token has to be (needed with AUTH=jwt)',
    example: 'https://id.example.org',
    unset: 'required with AUTH=jwt'
  }),
  AUTH_AUDIENCE: setting(Type.Optional(Type.String({ minLength: 1 })), {
    description: 'With AUTH=jwt: the audience of tokens.',
    allowed:
      'what the claim aud of every token has to be or to hold: the name of this service at the issuer (needed with AUTH=jwt)',
    example: 'quoin',
    unset: 'required with AUTH=jwt'
  }),
  AUTH_UID_CLAIM: setting(Type.String({ default: 'sub', pattern: '^[!#-\\[\\]-~]+$' }), {
    description: 'With AUTH=jwt: the claim with the uid of the caller.',
    allowed:
      "the claim with the user's id, of printable ASCII without quotes, backslashes and spaces"
  }),
  AUTH_NAME_CLAIM: setting(Type.String({ default: 'name', minLength: 1 }), {
    description: 'With AUTH=jwt: the claim with the name of the caller.',
    allowed: "the claim with the user's name"
  }),
  AUTH_AGENT_CLAIM: setting(Type.Optional(Type.String({ pattern: '^[!#-\\[\\]-~]+$' })), {
    description:
      'With AUTH=jwt: the claim that only tokens of [agents](who-calls.md#agents) have, and that names the agent.',
    allowed:
      'the claim with the name of an agent, such as act.sub (the member sub of the claim act), of printable ASCII without quotes, backslashes and spaces',
    example: 'act.sub',
    unset: 'Quoin does not tell an agent from the user that it works for'
  }),
  AUTH_LOCK_CLAIM: setting(Type.Optional(Type.String({ minLength: 1 })), {
    description: 'With AUTH=jwt: the claim that says who may lock.',
    allowed: 'the claim that says who may lock (needed with AUTH_LOCK_VALUE)',
    example: 'scope',
    unset: 'everybody whom the issuer lets in may lock'
  }),
  AUTH_LOCK_VALUE: setting(Type.Optional(Type.String({ pattern: '^[^\\s]+$' })), {
    description: 'With AUTH_LOCK_CLAIM: the value that lets its user lock.',
    allowed:
      'what AUTH_LOCK_CLAIM has to be or to hold, without spaces (needed with AUTH_LOCK_CLAIM)',
    example: 'quoin.lock'
  }),
  AUTH_EDITORS: setting(Type.Optional(Type.String()), {
    description:
      'With AUTH=drupal: who may see and lock everything. Quoin does not ask Drupal about them.',
    allowed: 'uids, separated by commas',
    example: '1',
    unset: 'nobody'
  }),
  AUTH_OPEN_TYPES: setting(
    Type.Optional(Type.String({ pattern: `^${LOCK_TYPE_PATTERN}(?: *, *${LOCK_TYPE_PATTERN})*$` })),
    {
      description:
        'With AUTH=drupal: the entity types that every user may see and lock. Quoin does not ask Drupal about them. Name the types that JSON:API does not have, or Quoin refuses them.',
      allowed: 'types of locked entities, separated by commas, each 1 to 64 of A-Z a-z 0-9 _',
      unset: 'none'
    }
  ),
  AUTH_ADMINS: setting(Type.Optional(Type.String()), {
    description:
      'With AUTH=jwt and drupal: who may release the locks of others, and see and discard their drafts.',
    allowed: 'uids, separated by commas',
    example: '1',
    unset: 'nobody'
  })
})

type AuthSettings = StaticDecode<TObject<typeof AuthEnvironment>>

/** How Quoin authenticates callers, and which of them may change the locks and drafts of others. */
export type AuthConfig = { admins: string[] } & (
  | { kind: 'jwt'; jwt: JwtOptions }
  /** The uids of those who may always lock, and the types that every known caller may. */
  | { kind: 'drupal'; editors: string[]; openTypes: string[] }
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
      return {
        kind: 'drupal',
        admins,
        editors: namesIn(settings.AUTH_EDITORS),
        openTypes: namesIn(settings.AUTH_OPEN_TYPES)
      }
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
    AUTH_NAME_CLAIM: nameClaim,
    AUTH_AGENT_CLAIM: agentClaim
  } = settings
  for (const name of ['AUTH_ISSUER', 'AUTH_AUDIENCE'] as const) {
    if (!settings[name]) problems.push(`${name} is missing: ${AuthEnvironment[name].allowed}`)
  }
  // Otherwise the caller's token would go on to Drupal although nobody has decided so.
  if (!cmsAuth) {
    problems.push(
      'CMS_AUTH is missing: with AUTH=jwt say passthrough if Drupal takes the same tokens, else name a service account (basic, session or oauth)'
    )
  }
  const { AUTH_LOCK_CLAIM: claim, AUTH_LOCK_VALUE: value } = settings
  if (claim && !value) {
    problems.push(`AUTH_LOCK_VALUE is missing: ${AuthEnvironment.AUTH_LOCK_VALUE.allowed}`)
  }
  if (value && !claim) {
    problems.push(`AUTH_LOCK_CLAIM is missing: ${AuthEnvironment.AUTH_LOCK_CLAIM.allowed}`)
  }
  const keys = readKeys(settings, problems)
  return keys && issuer && audience
    ? {
        keys,
        issuer,
        audience,
        uidClaim,
        nameClaim,
        ...(agentClaim && { agentClaim }),
        ...(claim && value && { lock: { claim, value } })
      }
    : undefined
}

function readKeys(
  { AUTH_JWKS_URL: jwksUrl, AUTH_PUBLIC_KEY: path }: AuthSettings,
  problems: string[]
): JwtOptions['keys'] | undefined {
  if (jwksUrl && path) {
    problems.push('AUTH_JWKS_URL and AUTH_PUBLIC_KEY are both set: set only one of them')
  } else if (jwksUrl) return { jwksUrl }
  else if (!path) {
    problems.push(
      `AUTH_JWKS_URL or AUTH_PUBLIC_KEY is missing: ${AuthEnvironment.AUTH_JWKS_URL.allowed}, or ${AuthEnvironment.AUTH_PUBLIC_KEY.allowed} (one of them is needed with AUTH=jwt)`
    )
  }
  // A value that does not match its pattern has been reported with all other settings.
  else if (new RegExp(AuthEnvironment.AUTH_PUBLIC_KEY.pattern!).test(path)) {
    return readKeyFile(path, problems)
  }
  return undefined
}

function readKeyFile(path: string, problems: string[]): JwtOptions['keys'] | undefined {
  try {
    return readPublicKey(readFileSync(path, 'utf8'))
  } catch (error) {
    problems.push(`AUTH_PUBLIC_KEY is ${JSON.stringify(path)} but ${(error as Error).message}`)
    return undefined
  }
}
