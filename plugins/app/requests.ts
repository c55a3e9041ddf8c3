import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { Failure, texts } from '../../lib/errors.ts'
import { ownPath, pathOf } from './mount.ts'

/**
 * How many header fields a request may have. Of more, Node 24 lets none through, but Node 22 the
 * first 1023 without the rest.
 */
const MOST_HEADERS = 1000

/**
 * Refuses a request before any route sees it: for a path or a method that Quoin does not have, with
 * too many header fields, without exactly one Host, or with a query string that is not
 * percent-encoded UTF-8.
 */
async function requests(fastify: FastifyInstance, { ownsPaths }: { ownsPaths: boolean }) {
  const methodsOf = new Map<string, Set<string>>()

  fastify.addHook('onRoute', ({ url, method }) => {
    const path = ownPath(fastify, url)
    const methods = methodsOf.get(path) ?? methodsOf.set(path, new Set()).get(path)!
    for (const name of [method].flat()) methods.add(name)
  })

  function absent(request: FastifyRequest): never {
    const path = pathOf(request)
    const allowedMethods = new Set(
      [...methodsOf]
        .filter(([pattern]) => matchesPattern(pattern, path))
        .flatMap(([, methods]) => [...methods])
    )
    if (allowedMethods.size > 0) {
      throw new Failure(
        'METHOD_NOT_ALLOWED',
        texts.anotherMethod(request.method, [...allowedMethods]),
        { headers: { allow: [...allowedMethods].join(', ') } }
      )
    }
    throw new Failure(
      'NOT_FOUND',
      `There is nothing at ${request.method} ${fastify.basePath}${path}`
    )
  }

  if (ownsPaths) fastify.setNotFoundHandler(absent)
  fastify.addHook('onRequest', (request, _reply, done) => {
    const { rawHeaders, httpVersion } = request.raw
    refuseUnknownHttp(request)
    if (rawHeaders.length / 2 > MOST_HEADERS) {
      throw new Failure('HEADERS_TOO_LARGE', texts.headersTooLarge)
    }
    const hosts = countOf('host', rawHeaders)
    if (hosts === 0 && httpVersion === '1.1') {
      throw new Failure(
        'BAD_REQUEST',
        'The request has no header field Host (RFC 9112 section 3.2)'
      )
    }
    if (hosts > 1) {
      throw new Failure(
        'BAD_REQUEST',
        `The request has ${hosts} header fields Host, but may have one only (RFC 9112 section 3.2)`
      )
    }
    if (!HOST.test(request.headers.host ?? '')) {
      throw new Failure(
        'BAD_REQUEST',
        'The header field Host is not a host with its port (RFC 9110 section 7.2)'
      )
    }
    // The not-found handler alone would come after the body, which may be wrong in its own way.
    if (request.is404) absent(request)
    const query = request.url.slice(request.url.indexOf('?') + 1)
    if (query.includes('%') && !isDecodable(query)) {
      throw new Failure('BAD_REQUEST', 'The query string is not percent-encoded UTF-8')
    }
    done()
  })
}

/** A host and its port, if any. Source: RFC 3986 section 3.2.2. */
const HOST = /^(?:\[[\da-f:.]+\]|[\w.~!$&'()*+,;=%-]*)(?::\d*)?$/i

/**
 * Versions and transfer codings that Quoin does not have (RFC 9112 sections 2.3 and 6.1). HTTP/2
 * comes by a server for it.
 */
function refuseUnknownHttp({
  raw,
  headers: { 'transfer-encoding': coding }
}: FastifyRequest): void {
  const { httpVersion } = raw
  if ('stream' in raw) return
  if (httpVersion !== '1.1' && httpVersion !== '1.0') {
    throw new Failure(
      'BAD_REQUEST',
      `HTTP/${httpVersion} is not spoken here: HTTP/1.1 and HTTP/1.0 are`,
      { status: 505, headers: CLOSE }
    )
  }
  if (coding === undefined) return
  if (httpVersion === '1.0') {
    throw new Failure('BAD_REQUEST', 'HTTP/1.0 has no Transfer-Encoding (RFC 9112 section 6.1)', {
      headers: CLOSE
    })
  }
  if (coding.toLowerCase() !== 'chunked') {
    throw new Failure('BAD_REQUEST', 'The only transfer coding that is taken is chunked', {
      status: 501,
      headers: CLOSE
    })
  }
}

/** Where a request ends cannot be known then. */
const CLOSE = { connection: 'close' }

/**
 * How often a header field occurs; Node's `headers` has only the first of some.
 * @param fields names and values in turns
 */
function countOf(name: string, fields: string[]): number {
  let count = 0
  for (let index = 0; index < fields.length; index += 2) {
    if (fields[index]!.length === name.length && fields[index]!.toLowerCase() === name) count++
  }
  return count
}

function isDecodable(text: string): boolean {
  try {
    return decodeURIComponent(text) !== undefined
  } catch {
    return false
  }
}

function matchesPattern(pattern: string, path: string): boolean {
  const patternParts = pattern.split('/')
  const pathParts = path.split('/')
  return (
    patternParts.length === pathParts.length &&
    patternParts.every((segment, index) =>
      segment.startsWith(':') ? pathParts[index] !== '' : segment === pathParts[index]
    )
  )
}

export default fp(requests, { name: 'requests', dependencies: ['mount'], fastify: '5.x' })
