import { isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyBodyParser, FastifyInstance, preParsingHookHandler } from 'fastify'
import fp from 'fastify-plugin'
import { BODY_LIMIT } from '../config/fastify.ts'
import { Failure } from '../lib/errors.ts'

/** The size of a body that counts as large, in bytes. */
const LARGE_BODY = 64 * 1024

/** What large bodies may have together, of all requests under way, in bytes: to read one takes several times its size. */
const LARGE_BODIES = 32 * 1024 * 1024

const HAS_SURROGATE_ESCAPE = /\\u[dD][89a-fA-F]/
const LONE_SURROGATE = /(?:^|[^\\])(?:\\\\)*\\ud[89a-f]/

declare module 'fastify' {
  interface FastifyInstance {
    /** The parser of JSON bodies, for a scope that takes them under another media type too. */
    parseJson: FastifyBodyParser<Buffer>
  }
}

/**
 * Takes JSON bodies and nothing else. Text that could not be kept letter by letter is refused, since a store would
 * silently put U+FFFD in its place: bytes that are not UTF-8 (RFC 8259 section 8.1) and lone surrogates (section 8.2).
 * An empty body is no body, and a compressed one is refused. `__proto__` and `constructor.prototype` as keys are refused by Fastify's own parser.
 *
 * Large bodies are refused unread while others take all the memory that there is for them.
 */
async function jsonBody (fastify: FastifyInstance) {
  let taken = 0
  const limitLargeBodies: preParsingHookHandler = ({ headers }, reply, _payload, done) => {
    const size = announcedSize(headers)
    if (size < LARGE_BODY || size > BODY_LIMIT) return done()
    if (taken + size > LARGE_BODIES) return done(new Failure('OVERLOADED', 'Other requests with large bodies are under way; try again', { headers: { 'retry-after': '1' } }))
    taken += size
    reply.raw.once('close', () => { taken -= size })
    done()
  }
  fastify.addHook('onRoute', (route) => {
    route.bodyLimit ??= BODY_LIMIT
    if (![route.method].flat().includes('GET')) route.preParsing = [limitLargeBodies, route.preParsing ?? []].flat()
  })
  const parse = fastify.getDefaultJsonParser('error', 'error')
  fastify.removeAllContentTypeParsers()
  fastify.decorate('parseJson', (request, bytes, done) => {
    if (bytes.length === 0) return done(null, undefined)
    const { 'content-encoding': coding = 'identity' } = request.headers
    if (coding.toLowerCase() !== 'identity') return done(new Failure('UNSUPPORTED_MEDIA_TYPE', 'headers/content-encoding must be identity: bodies are taken uncompressed', { headers: { 'accept-encoding': 'identity' } }))
    if (!isUtf8(bytes)) return done(new Failure('BAD_REQUEST', 'The request body is not UTF-8'))
    const text = bytes.toString('utf8')
    return parse(request, text, (error, value) => {
      if (error) return done(error)
      // JSON.stringify escapes lone surrogates and no others (ECMA-262, well-formed JSON.stringify).
      if (HAS_SURROGATE_ESCAPE.test(text) && LONE_SURROGATE.test(JSON.stringify(value))) {
        return done(new Failure('BAD_REQUEST', 'The request body has a string with a lone surrogate, which is not Unicode text'))
      }
      return done(null, value)
    })
  })
  fastify.addContentTypeParser('application/json', { parseAs: 'buffer' }, fastify.parseJson)
}

/** What a body may come to, in bytes: one in chunks tells no length. */
function announcedSize ({ 'content-length': length = '0', 'transfer-encoding': coding }: IncomingHttpHeaders): number {
  return coding === undefined ? Number(length) : BODY_LIMIT
}

export default fp(jsonBody, { name: 'json-body', fastify: '5.x' })
