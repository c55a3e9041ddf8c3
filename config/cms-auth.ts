import { Type, type StaticDecode, type TObject } from '@sinclair/typebox'
import { fileOf } from './secret-files.ts'
import { inGroup, setting } from './setting.ts'

/** Names of cookies (RFC 6265 section 4.1.1: tokens of RFC 9110), separated by commas. */
const COOKIE_NAMES = "^\\s*[\\w!#$%&'*+.^`|~-]+\\s*(?:,\\s*[\\w!#$%&'*+.^`|~-]+\\s*)*$"

/**
 * The settings of whose credentials go to the CMS, as part of the environment.
 * @internal
 */
export const CmsAuthEnvironment = inGroup('Drupal: whose credentials', {
  CMS_AUTH: setting(
    Type.Union(
      [
        Type.Literal('passthrough'),
        Type.Literal('basic'),
        Type.Literal('session'),
        Type.Literal('oauth')
      ],
      { default: 'passthrough' }
    ),
    {
      description:
        "Whose credentials go to Drupal: the caller's own (passthrough), or those of a service account.",
      turn: 'callers have no account at Drupal that reads and saves.',
      allowed: 'passthrough, basic, session or oauth'
    }
  ),
  CMS_USER: setting(Type.Optional(Type.String({ pattern: '^[^:]+$' })), {
    description:
      'The service account: a user of Drupal, or with CMS_AUTH=oauth the id of a client at simple_oauth, which may also be called CMS_CLIENT_ID.',
    turn: 'CMS_AUTH is not passthrough.',
    allowed:
      'the user name of the service account, or the id of the client, without a colon (needed unless CMS_AUTH is passthrough)',
    example: 'quoin'
  }),
  CMS_PASSWORD: setting(Type.Optional(Type.String({ pattern: '^[^\\x00-\\x1f\\x7f-\\x9f]+$' })), {
    description:
      "Its password, or the client's secret, which may also be called CMS_CLIENT_SECRET.",
    turn: 'CMS_AUTH is not passthrough.',
    allowed:
      'the password of the service account, or the secret of the client, without control characters (needed unless CMS_AUTH is passthrough)'
  }),
  CMS_COOKIES: setting(Type.Optional(Type.String({ pattern: COOKIE_NAMES })), {
    description:
      "With CMS_AUTH=passthrough: further cookies that go to Drupal besides its session cookies and tell callers apart, as a single sign-on's do.",
    turn: "a single sign-on has a cookie of its own beside Drupal's.",
    allowed: 'names of cookies, separated by commas, such as SimpleSAMLAuthToken',
    example: 'SimpleSAMLAuthToken',
    unset: 'none'
  })
})

type CmsAuthSettings = StaticDecode<TObject<typeof CmsAuthEnvironment>>

/** Whose credentials go to the CMS: the caller's own (passthrough), or a service account's. */
export type CmsAuth =
  | { kind: 'passthrough' }
  | { kind: 'basic' | 'session'; user: string; password: string }
  | { kind: 'oauth'; clientId: string; clientSecret: string }

/** What the account of CMS_AUTH=oauth may be called, as simple_oauth calls it. */
export const OAUTH_CLIENT = ['CMS_CLIENT_ID', 'CMS_CLIENT_SECRET'] as const

/** With CMS_AUTH=oauth: puts the client's id and secret in the place of the account. */
export function withOauthClient(
  env: Record<string, string | undefined>
): Record<string, string | undefined> {
  if (env['CMS_AUTH'] !== 'oauth') return env
  const [id, secret] = OAUTH_CLIENT
  return {
    ...env,
    CMS_USER: env[id] || env['CMS_USER'],
    CMS_PASSWORD: env[secret] || env['CMS_PASSWORD'],
    [fileOf('CMS_PASSWORD')]: env[fileOf(secret)] || env[fileOf('CMS_PASSWORD')]
  }
}

/** The settings that each kind of CMS_AUTH needs. */
const NEEDED = {
  passthrough: [],
  basic: ['CMS_USER', 'CMS_PASSWORD'],
  session: ['CMS_USER', 'CMS_PASSWORD'],
  oauth: ['CMS_USER', 'CMS_PASSWORD']
} as const

/**
 * Reads whose credentials go to the CMS. Adds missing settings to `problems`.
 * @internal
 */
export function readCmsAuth(
  settings: CmsAuthSettings,
  env: Record<string, string | undefined>,
  problems: string[]
): CmsAuth {
  for (const name of Object.hasOwn(NEEDED, settings.CMS_AUTH) ? NEEDED[settings.CMS_AUTH] : []) {
    // What is wrong with a secret's file is among the problems already.
    if (!settings[name] && !env[fileOf(name)]) {
      problems.push(`${name} is missing: ${CmsAuthEnvironment[name].allowed}`)
    }
  }
  const { CMS_AUTH: kind, CMS_USER: user, CMS_PASSWORD: password } = settings
  switch (kind) {
    case 'passthrough':
      return { kind }
    case 'oauth':
      return { kind, clientId: user!, clientSecret: password! }
    default:
      return { kind, user: user!, password: password! }
  }
}
