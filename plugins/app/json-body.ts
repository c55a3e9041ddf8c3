import { isUtf8 } from 'node:buffer'
import type { ServerResponse } from 'node:http'
import { errorCodes, type FastifyInstance, type FastifyRequest, type RequestPayload } from 'fastify'
import fp from 'fastify-plugin'
import { BODY_LIMIT } from '../../config/fastify.ts'
import { Failure } from '../../lib/errors.ts'
import {
  createBodyMemory,
  forget,
  grow,
  openBody,
  settle,
  type BodyMemory
} from '../../lib/http/body-memory.ts'
import { watchPace, type LeastPace } from '../../lib/http/pace.ts'

/**
 * How fast a body has to arrive. A phone in a bad place sends 30 kB/s, and may be without a signal
 * for a while.
 */
const BODY_PACE: LeastPace = {
  graceMs: 10_000,
  bytesPerSecond: 8 * 1024
}

const HAS_SURROGATE_ESCAPE = /\\u[dD][89a-fA-F]/
const LONE_SURROGATE = /(?:^|[^\\])(?:\\\\)*\\ud[89a-f]/

declare module 'fastify' {
  interface FastifyInstance {
    /** Reads and parses JSON bodies, for a scope that takes them under another media type too. */
    parseJson: (request: FastifyRequest, payload: RequestPayload, done: Done) => void
  }
}

/** Takes what was parsed, as Fastify has it. */
type Done = (error: Error | null, body?: unknown) => void

interface BodyOptions {
  memory?: BodyMemory
  pace?: LeastPace
}

/** What it takes to read a body. */
interface Reading {
  memory: BodyMemory
  pace: LeastPace
  /** The response of a request, until whose end its body is in memory. */
  responses: WeakMap<FastifyRequest, ServerResponse>
}

/**
 * Takes JSON bodies and nothing else. Text that could not be kept letter by letter is refused,
 * since a store would silently put U+FFFD in its place: bytes that are not UTF-8 (RFC 8259 section
 * 8.1) and lone surrogates (section 8.2). An empty body is no body, and a compressed one is
 * refused. `__proto__` and `constructor.prototype` as keys are refused by Fastify's own parser.
 *
 * Bodies count as they arrive, and have to arrive at a least pace.
 */
async function jsonBody(
  fastify: FastifyInstance,
  { memory = createBodyMemory(), pace = BODY_PACE }: BodyOptions
) {
  const responses: Reading['responses'] = new WeakMap()
  const reading = { memory, pace, responses }
  fastify.addHook('onRoute', (route) => {
    route.bodyLimit ??= BODY_LIMIT
    if ([route.method].flat().includes('GET')) return
    route.preParsing = [route.preParsing ?? []].flat()
    route.preParsing.unshift((request, reply, _payload, done) => {
      responses.set(request, reply.raw)
      done()
    })
  })
  const parse = fastify.getDefaultJsonParser('error', 'error')
  fastify.removeAllContentTypeParsers()
  fastify.decorate('parseJson', (request, payload, done) => {
    readBody(reading, request, payload, (error, bytes) =>
      error ? done(error) : parseBytes(request, bytes!, done)
    )
  })
  fastify.addContentTypeParser('application/json', fastify.parseJson)

  function parseBytes(request: FastifyRequest, bytes: Buffer, done: Done): void {
    if (bytes.length === 0) return done(null, undefined)
    const { 'content-encoding': coding = 'identity' } = request.headers
    if (coding.toLowerCase() !== 'identity') {
      return done(
        new Failure(
          'UNSUPPORTED_MEDIA_TYPE',
          'headers/content-encoding must be identity: bodies are taken uncompressed',
          { headers: { 'accept-encoding': 'identity' } }
        )
      )
    }
    if (!isUtf8(bytes)) return done(new Failure('BAD_REQUEST', 'The request body is not UTF-8'))
    const text = bytes.toString('utf8')
    parse(request, text, (error, value) => {
      if (error) {
        return done(
          isJson(text)
            ? new Failure(
                'BAD_REQUEST',
                'The request body has a member __proto__ or constructor.prototype, which is not taken'
              )
            : error
        )
      }
      // JSON.stringify escapes lone surrogates and no others (ECMA-262, well-formed
      // JSON.stringify).
      if (HAS_SURROGATE_ESCAPE.test(text) && LONE_SURROGATE.test(JSON.stringify(value))) {
        return done(
          new Failure(
            'BAD_REQUEST',
            'The request body has a string with a lone surrogate, which is not Unicode text'
          )
        )
      }
      return done(null, value)
    })
  }
}

/**
 * Reads a body within its limit, its pace and the memory that there is for all, as Fastify's own
 * `parseAs: 'buffer'` does within its limit alone. The bytes are kept in one piece: as they arrive,
 * each piece of one byte would take 300.
 */
function readBody(
  { memory, pace: leastPace, responses }: Reading,
  request: FastifyRequest,
  payload: RequestPayload,
  done: (error: Error | null, bytes?: Buffer) => void
): void {
  const announced = request.headers['content-length']
  const { bodyLimit } = request.routeOptions
  if (Number(announced) > bodyLimit) return done(new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE())

  const body = openBody(memory, end)
  const pace = watchPace(leastPace, () =>
    end(new Failure('REQUEST_TIMEOUT', 'The request body arrives too slowly'))
  )
  let bytes: Buffer = Buffer.alloc(0)
  let size = 0
  payload.on('data', take)
  payload.on('end', complete)
  payload.on('error', fail)
  responses.get(request)!.once('close', () => {
    stop()
    forget(body)
  })

  function take(chunk: Buffer): void {
    pace.moved(chunk.length)
    if (size + chunk.length > bodyLimit) return end(new errorCodes.FST_ERR_CTP_BODY_TOO_LARGE())
    bytes = appended(bytes, size, chunk)
    size += chunk.length
    grow(memory, body, chunk.length)
  }

  function complete(): void {
    stop()
    settle(body)
    const { receivedEncodedLength = size } = payload
    const isWhole = announced === undefined || Number(announced) === receivedEncodedLength
    if (isWhole) done(null, bytes.subarray(0, size))
    else done(new errorCodes.FST_ERR_CTP_INVALID_CONTENT_LENGTH())
  }

  function fail(error: Error): void {
    end(Object.assign(error, { statusCode: 400 }))
  }

  /** Reads no more. What still arrives is dropped. */
  function end(error: Error): void {
    stop()
    forget(body)
    bytes = Buffer.alloc(0)
    done(error)
  }

  function stop(): void {
    pace.end()
    payload.off('data', take)
    payload.off('end', complete)
    payload.off('error', fail)
  }
}

/**
 * The bytes with a chunk behind the first `size` of them; the same memory where the chunk has room
 * in it.
 */
function appended(bytes: Buffer, size: number, chunk: Buffer): Buffer {
  if (size === 0) return chunk
  const room =
    size + chunk.length <= bytes.length ? bytes : Buffer.concat([bytes], 2 * (size + chunk.length))
  chunk.copy(room, size)
  return room
}

/**
 * Whether a text that Fastify's parser has refused is JSON all the same: it says the same of the
 * names that it does not take.
 */
function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

export default fp(jsonBody, { name: 'json-body', fastify: '5.x' })
