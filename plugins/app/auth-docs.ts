import type { FastifyInstance, RouteOptions } from 'fastify'
import fp from 'fastify-plugin'
import type { AuthConfig } from '../../config/auth.ts'
import type { CmsAuth } from '../../config/cms-auth.ts'
import type { Config } from '../../config/env.ts'
import { Failure, texts, type FailureCode } from '../../lib/errors.ts'
import { failureHeaders } from '../../lib/schema-parts.ts'
import { failureBody } from './errors.ts'
import { ownPath } from './mount.ts'

interface Content {
  schema: object
  example?: object
  examples?: Record<string, { value: unknown }>
}
interface DocumentedAnswer {
  description: string
  headers?: Record<string, object>
  content: { 'application/json': Content }
}

/** A member `security` of OpenAPI: each of these alone will do. */
type SecurityRequirements = Array<Record<string, string[]>>

/**
 * What OpenAPI says of the credentials. It stays out of the schemas of the routes, since a host's
 * own document, which shows them too, does not have these schemes.
 */
interface Security {
  /** OpenAPI's security schemes by name. */
  schemes: Record<string, object>
  /** What an operation asks for; undefined where anybody may call it. */
  of: (route: RouteOptions) => SecurityRequirements | undefined
}

declare module 'fastify' {
  interface FastifyInstance {
    /** How callers are known; absent where neither Quoin nor Drupal learns who calls. */
    security?: Security
  }
}

const BEARER = { type: 'http', scheme: 'bearer' }
const SCHEMES = {
  jwt: { bearer: { ...BEARER, bearerFormat: 'JWT' } },
  drupal: {
    session: {
      type: 'apiKey',
      in: 'cookie',
      name: 'SESS',
      description: "Drupal's session cookie: its name begins with SESS or SSESS"
    },
    basic: { type: 'http', scheme: 'basic', description: "With Drupal's module basic_auth" },
    bearer: { ...BEARER, description: "With Drupal's module simple_oauth" }
  }
}
const IN_QUERY = {
  accessToken: {
    type: 'apiKey',
    in: 'query',
    name: 'access_token',
    description: 'The bearer token, for callers that cannot send header fields'
  }
}

/** What every protected route may answer besides its own. */
const ANSWERS: Array<[status: number, description: string, code: FailureCode, message: string]> = [
  [
    401,
    'The credentials are missing, or no user is known by them; see WWW-Authenticate',
    'UNAUTHENTICATED',
    texts.tokenExpired
  ],
  [
    403,
    'The caller may not do that. With the code USER_CHANGED: the caller is not the user that X-User-Uid names',
    'FORBIDDEN',
    texts.notYourUid('body/userData/uid', '7')
  ],
  [
    503,
    'Quoin cannot find out at the moment who calls; see Retry-After',
    'AUTH_UNAVAILABLE',
    texts.keysUnavailable
  ]
]

/**
 * What the lock endpoints may answer besides with AUTH=drupal, where Drupal says who may see and
 * who may lock.
 */
const OF_ACCESS: typeof ANSWERS = [
  [
    404,
    'The entity does not exist, or is hidden from the caller',
    'NOT_FOUND',
    texts.hidden({ type: 'node', id: '4711' })
  ],
  [
    502,
    'Quoin cannot ask Drupal who may edit',
    'CMS_READ_ONLY',
    texts.editorsUnknown(texts.cmsReadOnly)
  ]
]

/** What every route may answer with AUTH=none (plugins/app/trusted-network.ts). */
const OF_NAMES: typeof ANSWERS = [
  [
    421,
    'The request names another host than this service has; see HOSTS',
    'MISDIRECTED',
    'This service does not go by the name "cms.example": call it by its address, or add the name to HOSTS'
  ]
]

/** What every route may answer with RATE_LIMIT (plugins/external/rate-limit.ts). */
const OF_LIMITS: typeof ANSWERS = [
  [
    429,
    'The caller sends more requests a minute than RATE_LIMIT allows; see Retry-After',
    'TOO_MANY_REQUESTS',
    'More than 600 requests within a minute; try again in 12 s'
  ]
]

/** What asks the CMS on behalf of its caller. */
const OF_EDITIONS = /^\/api\/(?:collections?|publisher-edition)(?:\/|$)/

/**
 * Shows in OpenAPI how callers are known, and what any operation may answer before it begins. To be
 * registered after the plugin auth, and before openapi and the routes.
 */
async function authDocs(
  fastify: FastifyInstance,
  { config: { auth, cms, rateLimit } }: { config: Config }
) {
  const security = securityOf(fastify, auth, cms.auth.kind)
  if (security) fastify.decorate('security', security)

  fastify.addHook('onRoute', (route) => {
    if (!isProtected(fastify, route)) return
    const response = route.schema!.response as Record<number, DocumentedAnswer>
    const path = ownPath(fastify, route.url)
    const answers = [...answersTo(path, auth?.kind), ...(rateLimit > 0 ? OF_LIMITS : [])]
    route.schema = {
      ...route.schema,
      response: { ...response, ...documentedOf(answers, path, response) }
    }
  })
}

/** Whether an operation is below what AUTH protects, and documented. */
function isProtected(fastify: FastifyInstance, { url, schema }: RouteOptions): boolean {
  const response = schema?.response as Record<number, DocumentedAnswer> | undefined
  return ownPath(fastify, url).startsWith('/api/') && response?.[400] !== undefined
}

/** With AUTH=none the credentials, if there are any, go on to Drupal. */
function securityOf(
  fastify: FastifyInstance,
  auth: AuthConfig | undefined,
  cmsAuth: CmsAuth['kind']
): Security | undefined {
  if (auth) {
    const schemes = SCHEMES[auth.kind]
    return {
      schemes: { ...schemes, ...IN_QUERY },
      of: (route) =>
        isProtected(fastify, route)
          ? anyOf({ ...schemes, ...(route.config?.tokenInQuery === true && IN_QUERY) })
          : undefined
    }
  }
  if (cmsAuth !== 'passthrough') return undefined
  return {
    schemes: SCHEMES.drupal,
    of: ({ url }) =>
      OF_EDITIONS.test(ownPath(fastify, url)) ? [{}, ...anyOf(SCHEMES.drupal)] : undefined
  }
}

function anyOf(schemes: object): SecurityRequirements {
  return Object.keys(schemes).map((name) => ({ [name]: [] }))
}

function answersTo(path: string, kind: AuthConfig['kind'] | undefined): typeof ANSWERS {
  if (kind === undefined) return OF_NAMES
  return kind === 'drupal' && path.startsWith('/api/cloud/data-state/')
    ? [...ANSWERS, ...OF_ACCESS]
    : ANSWERS
}

/** Answers as OpenAPI shows them, beside the operation's own with the same status. */
function documentedOf(
  answers: typeof ANSWERS,
  path: string,
  response: Record<number, DocumentedAnswer>
): Record<number, DocumentedAnswer> {
  return Object.fromEntries(
    answers.map(([status, description, code, message]) => {
      const own = response[status]
      const { schema } = response[400]!.content['application/json']
      const examples = {
        ...examplesOf(own?.content['application/json']),
        [code]: { value: failureBody(new Failure(code, message), path) }
      }
      return [
        status,
        {
          description: own ? `${own.description}. Or: ${description}` : description,
          headers: failureHeaders(status, own?.headers),
          content: { 'application/json': { schema, examples } }
        }
      ]
    })
  )
}

function examplesOf({ example, examples }: Partial<Content> = {}): Record<
  string,
  { value: unknown }
> {
  return { ...examples, ...(example && { own: { value: example } }) }
}

export default fp(authDocs, { name: 'auth-docs', dependencies: ['auth', 'errors'], fastify: '5.x' })
