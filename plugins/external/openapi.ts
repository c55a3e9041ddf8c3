import swagger from '@fastify/swagger'
import Fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type RouteOptions
} from 'fastify'
import fp from 'fastify-plugin'
import type { Config } from '../../config/env.ts'
import { createValidation } from '../../config/validation.ts'
import { withNamesOf } from '../../lib/editions/example-names.ts'
import { OF_PAGES } from '../../lib/http/security-headers.ts'
import { installCommandFor, isInstalled } from '../../lib/package-root.ts'
import { ownPath } from '../app/mount.ts'
import manifest from 'quoin/package.json' with { type: 'json' }

/** What the HTTP server answers before a request gets as far as an operation. */
const EVERYWHERE =
  'Any request may also be answered 408 (it did not arrive in time), 414 (its path is too long), 431 (its header fields are too large), 501 (its transfer coding is not chunked) or 505 (its version of HTTP is neither 1.0 nor 1.1); except below /health also 503 (this service is overloaded; see Retry-After).'

/**
 * What the pages of /docs may load: their own scripts, styles and pictures, and this service to try
 * things out on.
 */
const DOCS_CSP =
  "default-src 'none'; base-uri 'none'; connect-src 'self'; form-action 'none'; frame-ancestors 'none'; img-src 'self' data:; script-src 'self'; style-src 'self' 'unsafe-inline'"

/** The package that makes the pages of /docs. */
const UI = '@fastify/swagger-ui'

const DOCUMENTS = ['/docs/json', '/docs/yaml']

const PAGES = ['/docs', '/docs/', '/docs/static/*']

/**
 * Where the documentation begins: at its pages, or at the document where the package of the pages
 * is not installed.
 */
export const docsStart = (): 'docs' | 'docs/json' => (isInstalled(UI) ? 'docs' : 'docs/json')

/** The header fields of an answer that belong to its connection: here is none. */
const OF_CONNECTION = ['connection', 'date', 'transfer-encoding']

/**
 * OpenAPI from the routes' own schemas: shown at /docs, as JSON at /docs/json. What makes and shows
 * it is large, and few ever look. So it is a Fastify instance of its own, without a server, made at
 * the first request. The package of the pages is optional.
 */
async function openapi(fastify: FastifyInstance, { config: { contentModel } }: { config: Config }) {
  const routes: RouteOptions[] = []
  /** The host's schemas are not among them. */
  const hostSchemas = Object.keys(fastify.getSchemas())
  const scopes = [fastify]
  const idPrefix = fastify.basePath.replace(/^\W+/, '').replace(/\W+|$/g, '_').replace(/^_$/, '')
  let documentation: Promise<FastifyInstance> | undefined
  const hasPages = isInstalled(UI)
  if (!hasPages) {
    fastify.log.info(
      `The API's document is at /docs/json. Its pages at /docs need the package ${UI}, which is not installed: run ${installCommandFor(UI)}`
    )
  }

  fastify.addHook('onRegister', (scope) => {
    scopes.push(scope)
  })
  fastify.addHook('onRoute', (route) => {
    const { method, url, schema } = route
    if (method === 'HEAD' || schema?.hide) return
    const security = fastify.security?.of(route)
    routes.push({
      method,
      url: ownPath(fastify, url),
      schema: { ...schema, ...(security && { security }) },
      handler: answerNotFound
    })
    // A host's document shows these operations beside its own, and those of another prefix.
    const operationId = schema?.operationId
    if (operationId) route.schema = { ...schema, operationId: `${idPrefix}${operationId}` }
  })

  async function show({ url, headers: requestHeaders }: FastifyRequest, reply: FastifyReply) {
    documentation ??= documentationOf(fastify, {
      schemas: schemasOf(scopes, hostSchemas),
      routes,
      withNames: withNamesOf(contentModel),
      hasPages
    })
    const { statusCode, headers, rawPayload } = await (
      await documentation
    ).inject({ url, headers: requestHeaders })
    if (statusCode === 404) return reply.callNotFound()
    for (const name of OF_CONNECTION) delete headers[name]
    return reply
      .code(statusCode)
      .headers({ ...headers, ...OF_PAGES })
      .send(rawPayload.length > 0 ? rawPayload : undefined)
  }

  for (const path of hasPages ? [...DOCUMENTS, ...PAGES] : DOCUMENTS) {
    if (path !== '/docs/' || !fastify.ignoresTrailingSlash) {
      fastify.get(path, { schema: { hide: true } }, show)
    }
  }
}

/**
 * The routes are there to be described alone: a path with dot segments, which inject() resolves,
 * could lead to them past every check.
 */
function answerNotFound(_request: FastifyRequest, reply: FastifyReply): void {
  reply.callNotFound()
}

function schemasOf(scopes: FastifyInstance[], inherited: string[]): object[] {
  const schemas: Record<string, object> = Object.assign(
    {},
    ...scopes.map((scope) => scope.getSchemas())
  )
  return Object.entries(schemas)
    .filter(([id]) => !inherited.includes(id))
    .map(([, schema]) => schema)
}

interface Described {
  schemas: object[]
  routes: RouteOptions[]
  withNames: <T>(document: T) => T
  /** Whether the package of the pages is installed. */
  hasPages: boolean
}

async function documentationOf(
  { security, basePath }: FastifyInstance,
  { schemas, routes, withNames, hasPages }: Described
): Promise<FastifyInstance> {
  // No schema is compiled until a request arrives at its route.
  const documentation = Fastify({ schemaController: createValidation().schemaController })
  await documentation.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      servers: [{ url: basePath || '/' }],
      info: {
        title: 'Quoin',
        version: manifest.version,
        license: { name: manifest.license, identifier: manifest.license },
        description: `${manifest.description}. ${EVERYWHERE}`
      },
      tags: [
        { name: 'locks', description: 'Who is editing which field of which entity' },
        {
          name: 'editions',
          description: "Collections of articles, in the JSON of Drupal core's REST endpoints"
        },
        {
          name: 'drupal',
          description: "What Quoin's Drupal module asks and tells; with CMS_MODULE_SECRET"
        },
        { name: 'health', description: 'Whether the service and its dependencies are up' }
      ],
      // For operations that have no security of their own: anybody may call them.
      security: [],
      ...(security && { components: { securitySchemes: security.schemes as never } })
    },
    transformObject: (documented) =>
      withNames(
        (documented as Extract<typeof documented, { openapiObject: unknown }>).openapiObject
      ),
    // Shared schemas keep their names.
    refResolver: { buildLocalReference: (json) => String(json['$id']) }
  })
  for (const schema of schemas) documentation.addSchema(schema)
  for (const route of routes) documentation.route(route)
  const prefix = `${basePath}/docs`
  if (hasPages) await addPages(documentation, prefix)
  else addDocuments(documentation, prefix)
  return documentation
}

/** Adds the pages, and the document behind them. */
async function addPages(documentation: FastifyInstance, prefix: string): Promise<void> {
  const { default: swaggerUi } = await import('@fastify/swagger-ui')
  await documentation.register(swaggerUi, {
    routePrefix: prefix,
    staticCSP: DOCS_CSP,
    theme: { title: 'Quoin: its API' }
  })
}

/** Adds the document alone, as the package of the pages would. */
function addDocuments(documentation: FastifyInstance, prefix: string): void {
  const schema = { hide: true }
  documentation.get(`${prefix}/json`, { schema }, async () => documentation.swagger())
  documentation.get(`${prefix}/yaml`, { schema }, async (_request, reply) =>
    reply.type('application/x-yaml').send(documentation.swagger({ yaml: true }))
  )
}

export default fp(openapi, { name: 'openapi', fastify: '5.x' })
