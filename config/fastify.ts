import { randomUUID } from 'node:crypto'
import type { Server } from 'node:http'
import { hostname } from 'node:os'
import {
  LogController,
  type FastifyHttpOptions,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions
} from 'fastify'
import { destination, stdSerializers, type SerializedError } from 'pino'
import { withoutToken } from '../lib/auth/bearer.ts'
import { Failure } from '../lib/errors.ts'
import { createValidation } from './validation.ts'

/**
 * Largest request body taken, in bytes. A lock's item limit (400 KiB) is checked apart, after JSON
 * escapes are gone.
 */
export const BODY_LIMIT = 4 * 1024 * 1024

/** The longest parameter in a path that is taken, in characters. */
export const MAX_PARAM_LENGTH = 4096

const REQUEST_ID = /^[\w.:-]{1,128}$/

/**
 * Options for the Fastify instance: limits and identifiers of requests. docs/embedding.md says
 * which of them a host needs.
 */
export const fastifyOptions = {
  bodyLimit: BODY_LIMIT,
  // A request has to arrive whole, its header sooner; Node looks every 30 seconds unless told
  // otherwise.
  requestTimeout: 30_000,
  // Longer than balancers keep an idle connection (AWS and nginx 60 seconds, Google 600), or they
  // send a request into one that is just being closed. maxRequestsPerSocket stays off: Node would
  // answer what is over it without a body.
  keepAliveTimeout: 620_000,
  // Without a byte either way: a caller that does not take its answer. Longer than the longest
  // CMS_TIMEOUT_MS.
  connectionTimeout: 900_000,
  // plugins/app/errors.ts refuses a request without Host; Node would do it without a body.
  http: { requireHostHeader: false, headersTimeout: 10_000, connectionsCheckingInterval: 5000 },
  // Fastify's own 503 would not have the shape that the endpoints promise; what arrives while
  // closing is answered whole.
  return503OnClosing: false,
  logController: Object.assign(new LogController(), {
    // plugins/app/observers.ts logs one line for each request, in place of Fastify's two.
    incomingRequest: (request: FastifyRequest, reply: FastifyReply) =>
      request.server.watch?.(request, reply),
    requestCompleted() {},
    streamError: (error: Error, request: FastifyRequest) =>
      request.log.debug(error, 'the answer broke off')
  }),
  routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
  // Or Fastify loads compilers of its own before plugins/app/validation.ts can say that it needs
  // none.
  schemaController: createValidation().schemaController,
  genReqId(request) {
    const given = request.headers['x-request-id']
    return typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID()
  }
} satisfies FastifyHttpOptions<Server>

const REDACTED = [
  'req.headers.authorization',
  'req.headers.cookie',
  'req.headers["x-csrf-token"]',
  'req.url'
]

/** Of a URL only a token in its query is left out. */
function censor(value: unknown, path: string[]): string {
  return path.at(-1) === 'url' ? withoutToken(String(value)) : '[Redacted]'
}

/** Known failures are logged without a stack: their code says where they come from. */
export function errorAsLogged(error: Error): SerializedError {
  if (!(error instanceof Failure) || error.code === 'INTERNAL') return stdSerializers.err(error)
  return {
    type: error.name,
    code: error.code,
    message: causesOf(error)
  } as unknown as SerializedError
}

/** The messages of an error and of all its causes. */
function causesOf(error: Error): string {
  const { name, message, code, cause } = error as NodeJS.ErrnoException
  // An AggregateError, of a name with several addresses, has a code alone.
  const parts = [name !== 'Error' && !(error instanceof Failure) && name, message || code]
  return [...parts, cause instanceof Error && causesOf(cause)].filter(Boolean).join(': ')
}

/** The readable line of a request on a terminal, and the members that it leaves out. */
const LINE = '{msg}{if ms} {method} {path} {status} in {ms} ms{end}{if code} {code}{end}'
const LINE_MEMBERS =
  'pid,hostname,trace_id,span_id,trace_flags,reqId,method,route,path,status,code,ms,upstreamMs,upstreamCalls'

/** How much of the log waits while it cannot be written, in bytes. What is beyond it is lost. */
const LOG_BACKLOG = 16 * 1024 * 1024

/**
 * Standard output, for the log. While it cannot be written, as on a full disk, the service goes on.
 * pino by itself would end the process, and would first wait without end for the room to say so,
 * while the port is still open.
 */
export function standardOutput({
  dest = 1,
  maxLength = LOG_BACKLOG
}: { dest?: number; maxLength?: number } = {}): ReturnType<typeof destination> {
  // Without a least length its flush does nothing.
  const stream = destination({ dest, minLength: 1, maxLength, sync: false })
  const { flushSync } = stream
  let isBroken = false
  stream.on('error', () => {
    isBroken = true
  })
  stream.on('write', () => {
    isBroken = false
  })
  stream.on('drop', () => stream.flush())
  stream.flushSync = () => {
    if (!isBroken) flushSync.call(stream)
  }
  return stream
}

/**
 * The logger's options: JSON lines, or readable ones on a terminal.
 * Credentials and bodies are never logged; the redaction is a second fence behind the serializer.
 * @param service what each line says of the service
 */
export function loggerOptions(
  level: string,
  terminal: boolean,
  service: object = {}
): Exclude<FastifyServerOptions['logger'], boolean | undefined> {
  return {
    level,
    redact: { paths: REDACTED, censor },
    serializers: { err: errorAsLogged },
    // A terminal shows none of it.
    ...(!terminal && { base: { pid: process.pid, hostname: hostname(), ...service } }),
    ...(terminal && {
      transport: {
        target: 'pino-pretty',
        options: { ignore: LINE_MEMBERS, messageFormat: LINE, translateTime: 'HH:MM:ss' }
      }
    })
  }
}
