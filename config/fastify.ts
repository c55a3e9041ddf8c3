import { randomUUID } from 'node:crypto'
import type { Server } from 'node:http'
import type { FastifyHttpOptions, FastifySchemaValidationError, FastifyServerOptions } from 'fastify'
import { withoutToken } from '../lib/auth/bearer.ts'

/** Largest request body taken, in bytes. A lock's item limit (400 KiB) is checked apart, after JSON escapes are gone. */
export const BODY_LIMIT = 4 * 1024 * 1024

const REQUEST_ID = /^[\w.:-]{1,128}$/

/**
 * Options for the Fastify instance: limits and identifiers of requests, and how a schema violation is worded.
 */
export const fastifyOptions = {
  bodyLimit: BODY_LIMIT,
  // A request has to arrive whole, its header sooner; Node looks every 30 seconds unless told otherwise.
  requestTimeout: 30_000,
  // Longer than balancers keep an idle connection (AWS and nginx 60 seconds, Google 600), or they send a request into
  // one that is just being closed. maxRequestsPerSocket stays off: Node would answer what is over it without a body.
  keepAliveTimeout: 620_000,
  // Without a byte either way: a caller that does not take its answer. Longer than the longest CMS_TIMEOUT_MS.
  connectionTimeout: 900_000,
  // plugins/errors.ts refuses a request without Host; Node would do it without a body.
  http: { requireHostHeader: false, headersTimeout: 10_000, connectionsCheckingInterval: 5000 },
  // Fastify's own 503 would not have the shape that the endpoints promise; what arrives while closing is answered whole.
  return503OnClosing: false,
  routerOptions: { maxParamLength: 4096 },
  genReqId (request) {
    const given = request.headers['x-request-id']
    return typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID()
  },
  schemaErrorFormatter (errors, dataVar) {
    const [error] = errors
    const where = `${dataVar}${error!.instancePath}`
    const { allowedValues, additionalProperty } = error!.params as { allowedValues?: unknown[], additionalProperty?: string }
    if (allowedValues) return new Error(`${where} must be ${allowedValues.map((value) => JSON.stringify(value)).join(' or ')}`)
    if (additionalProperty) return new Error(`${where} must not have "${additionalProperty}"`)
    // Of a union every branch has said what is wrong with the same place.
    const reasons = errors.filter(({ instancePath, keyword }) => instancePath === error!.instancePath && keyword !== 'anyOf').map(reason)
    return new Error(`${where} ${reasons.join(' or ')}`)
  }
} satisfies FastifyHttpOptions<Server>

/** Ajv's own words, and for a pattern what it stands for. */
function reason ({ keyword, message, parentSchema }: FastifySchemaValidationError & { parentSchema?: { description?: string } }): string | undefined {
  return keyword === 'pattern' && parentSchema?.description ? `${message} (${parentSchema.description})` : message
}

const REDACTED = ['req.headers.authorization', 'req.headers.cookie', 'req.headers["x-csrf-token"]', 'req.url']

/** Of a URL only the token goes that its query may carry. */
function censor (value: unknown, path: string[]): string {
  return path.at(-1) === 'url' ? withoutToken(String(value)) : '[Redacted]'
}

/**
 * The logger's options: JSON lines, or readable ones on a terminal.
 * Credentials and bodies are never logged; the redaction is a second fence behind the serializer.
 */
export function loggerOptions (level: string, terminal: boolean): NonNullable<FastifyServerOptions['logger']> {
  return {
    level,
    redact: { paths: REDACTED, censor },
    ...(terminal && { transport: { target: 'pino-pretty', options: { ignore: 'pid,hostname', translateTime: 'HH:MM:ss' } } })
  }
}
