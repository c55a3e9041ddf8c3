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
      allowed: 'passthrough, basic, session or oauth'
    }
  ),
  CMS_USER: setting(Type.Optional(Type.String({ pattern: '^[^:]+$' })), {
    description: 'The service account.',
    allowed:
      'the user name of the service account, without a colon (needed with CMS_AUTH=basic and session)',
    example: 'quoin'
  }),
  CMS_PASSWORD: setting(Type.Optional(Type.String({ pattern: '^[^\\x00-\\x1f\\x7f-\\x9f]+$' })), {
    description: 'Its password.',
    allowed:
      'the password of the service account, without control characters (needed with CMS_AUTH=basic and session)'
  }),
  CMS_CLIENT_ID: setting(Type.Optional(Type.String({ minLength: 1 })), {
    description: 'The client at simple_oauth.',
    allowed: 'the client id at simple_oauth (needed with CMS_AUTH=oauth)',
    example: 'quoin'
  }),
  CMS_CLIENT_SECRET: setting(Type.Optional(Type.String({ minLength: 1 })), {
    description: 'Its secret.',
    allowed: 'the client secret at simple_oauth (needed with CMS_AUTH=oauth)'
  }),
  CMS_COOKIES: setting(Type.Optional(Type.String({ pattern: COOKIE_NAMES })), {
    description:
      "With CMS_AUTH=passthrough: further cookies that go to Drupal besides its session cookies and tell callers apart, as a single sign-on's do.",
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

/** The settings that each kind of CMS_AUTH needs. */
const NEEDED = {
  passthrough: [],
  basic: ['CMS_USER', 'CMS_PASSWORD'],
  session: ['CMS_USER', 'CMS_PASSWORD'],
  oauth: ['CMS_CLIENT_ID', 'CMS_CLIENT_SECRET']
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
  const {
    CMS_AUTH: kind,
    CMS_USER: user,
    CMS_PASSWORD: password,
    CMS_CLIENT_ID: clientId,
    CMS_CLIENT_SECRET: clientSecret
  } = settings
  switch (kind) {
    case 'passthrough':
      return { kind }
    case 'oauth':
      return { kind, clientId: clientId!, clientSecret: clientSecret! }
    default:
      return { kind, user: user!, password: password! }
  }
}
