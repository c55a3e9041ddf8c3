import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createCache } from './cache.ts'
import { errorDocument } from './document.ts'
import { CmsError, errorObjects, restMessage } from './errors.ts'
import { answerJsonApi, type CmsAnswer, type Incoming } from './jsonapi.ts'
import { createLogin } from './login.ts'
import { moduleHeaders } from './module.ts'
import { createPageCache } from './page-cache.ts'
import { parseQuery, sortedUrl } from './query.ts'
import { answerRest } from './rest.ts'
import { findRoute } from './routes.ts'
import { answerSession } from './session.ts'
import type { SiteSwitches, Site } from './site.ts'
import { createStore, type Kept, type Seed } from './store.ts'

export type { SiteSwitches as Settings } from './site.ts'
export type { Seed } from './store.ts'

/**
 * The site that a stand-in plays: its entities (bundles, fields and users among them), roles and
 * passwords.
 */
export interface CmsContent {
  name: string
  timeZone: string
  /** Permissions by role; `anonymous` and `authenticated` apply by themselves. */
  roles: Record<string, string[]>
  /** Passwords by user name. */
  passwords: Record<string, string>
  entities: Seed[]
  /** Public files by their path below sites/default/files. */
  files?: Record<string, { type: string; body: string }>
}

/** One answered request: `GET /jsonapi/… 200`, with the user's name or an empty string. */
export interface RequestLine {
  method: string
  url: string
  status: number
  user: string
}

export interface CmsOptions extends Partial<SiteSwitches> {
  content: CmsContent
  /** The clock, in milliseconds. */
  now?: () => number
  /** Where the site lives on its host, such as `/cms`. */
  basePath?: string
  onRequest?: (answered: RequestLine) => void
  /** What the site keeps beyond its life; without it a site forgets all that is changed. */
  kept?: Kept
}

export interface Cms {
  /**
   * Starts listening on 127.0.0.1 (any free port unless given) and gives the address of the site.
   */
  listen: (port?: number) => Promise<string>
  close: () => Promise<void>
  /** How many requests were answered so far. */
  readonly requests: number
  /** The latest answered requests (a thousand) as lines: method, path with query, status. */
  readonly requestLines: string[]
  /** Switches that may be turned while the site runs. */
  readonly settings: SiteSwitches
}

// Not imported, as in lib/http/status-codes.ts.
const { createServer } = process.getBuiltinModule('node:http')

const keptLines = 1000

const PUBLIC_FILES = /^\/sites\/default\/files\//

const common = {
  'cache-control': 'must-revalidate, no-cache, private',
  'content-language': 'en',
  expires: 'Sun, 19 Nov 1978 05:00:00 GMT'
}

const notFoundPage =
  '<!DOCTYPE html>\n<html lang="en" dir="ltr">\n  <head><title>Page not found</title></head>\n' +
  '  <body><h1>Page not found</h1><p>The requested page could not be found.</p></body>\n</html>\n'

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

/**
 * A stand-in for a Drupal site with JSON:API, in memory. It answers as strictly and as oddly as a
 * real Drupal 10.1 was recorded to; packages/drupal-stand-in/test/cms.test.ts holds it to those recordings.
 */
export function createCms({
  content,
  now = Date.now,
  basePath = '',
  onRequest = () => {},
  kept,
  ...switches
}: CmsOptions): Cms {
  const settings: SiteSwitches = {
    readOnly: false,
    maintenance: false,
    filterAccess: true,
    includeCount: false,
    lateReads: false,
    maxAge: 0,
    module: undefined,
    ...switches
  }
  const requestLines: string[] = []
  let requests = 0
  let host = 'http://127.0.0.1'
  const site: Site = {
    name: content.name,
    timeZone: content.timeZone,
    origin: () => host + basePath,
    settings,
    store: createStore(content.entities, kept),
    cache: createCache(settings),
    savedInPlace: new Set(),
    now
  }
  const login = createLogin(site, new Map(Object.entries(content.passwords)), content.roles)

  const pageCache = createPageCache(site)

  const answer = (path: string, request: Incoming, address: string): CmsAnswer => {
    const route = findRoute(site, path)
    if (route && route.kind !== 'page') return answerJsonApi(site, login, route, request)
    const earlyAnswer =
      route &&
      (answerSession(login, path, request, address) ?? answerRest(site, login, path, request))
    if (earlyAnswer) return earlyAnswer
    const file = PUBLIC_FILES.test(path)
      ? content.files?.[decodeURIComponent(path.replace(PUBLIC_FILES, ''))]
      : undefined
    if (file) {
      return {
        status: 200,
        headers: { 'content-type': file.type, 'cache-control': 'max-age=3600, public' },
        body: file.body
      }
    }
    if (route && request.query._format === 'json') {
      throw new CmsError(404, `No route found for "${request.method} ${request.url}"`)
    }
    return {
      status: 404,
      headers: { 'content-type': 'text/html; charset=UTF-8' },
      body: notFoundPage
    }
  }

  const fail = (error: unknown, path: string, request: Incoming): CmsAnswer => {
    if (!(error instanceof CmsError)) throw error
    const isRefused =
      error.status === 403 && request.caller.viewer.uid === 0 && request.caller.challenged
    const answer = isRefused
      ? new CmsError(401, 'No authentication credentials provided.', {
          headers: { 'www-authenticate': `Basic realm="${site.name}"` }
        })
      : error
    const { resourceVersion: _, ...queryWithoutVersion } = request.query
    const via = answer.pointer === '/data' ? queryWithoutVersion : request.query
    const isJsonApi = path.startsWith('/jsonapi') && answer.status !== 406
    if (!isJsonApi && answer.status === 500) {
      return {
        status: 500,
        headers: { 'content-type': 'text/plain; charset=UTF-8' },
        body: answer.message
      }
    }
    return {
      status: answer.status,
      headers: {
        'content-type': isJsonApi ? 'application/vnd.api+json' : 'application/json',
        ...answer.headers
      },
      body: isJsonApi
        ? errorDocument(errorObjects(answer, sortedUrl(request.url, via)))
        : { message: restMessage(answer) }
    }
  }

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const [target = '/', search = ''] = (request.url ?? '/').split('?', 2)
    const path = target.startsWith(basePath) ? target.slice(basePath.length) : target
    const method = request.method ?? 'GET'
    const address = request.socket.remoteAddress ?? ''
    const caller = login.caller(request.headers, address)
    const cmsRequest: Incoming = {
      method,
      url: host + target,
      query: parseQuery(search),
      headers: request.headers,
      caller,
      text: await bodyOf(request)
    }
    let result: CmsAnswer
    try {
      result = answer(path, cmsRequest, address)
    } catch (error) {
      result = fail(error, path, cmsRequest)
    }
    const { status, headers = {}, body } = pageCache(result, cmsRequest, request.url ?? '/')
    const type =
      body === undefined
        ? {}
        : {
            'content-type': path.startsWith('/jsonapi')
              ? 'application/vnd.api+json'
              : 'application/json'
          }
    const stale = caller.staleCookie ? { 'set-cookie': caller.staleCookie } : {}
    requests++
    if (requestLines.push(`${method} ${request.url} ${status}`) > keptLines) requestLines.shift()
    onRequest({ method, url: request.url ?? '/', status, user: caller.viewer.name })
    response.writeHead(status, {
      ...common,
      ...type,
      ...stale,
      ...headers,
      ...moduleHeaders(site, path)
    })
    response.end(
      method === 'HEAD' || body === undefined
        ? undefined
        : typeof body === 'string'
          ? body
          : JSON.stringify(body)
    )
  }

  const server = createServer((request, response) => {
    handle(request, response).catch((error) => {
      if (!response.headersSent) {
        response.writeHead(500, { 'content-type': 'text/plain; charset=UTF-8' })
      }
      response.end(
        `The stand-in itself failed: ${error instanceof Error ? error.stack : String(error)}`
      )
    })
  })

  return {
    listen: async (port = 0) => {
      server.listen(port, '127.0.0.1')
      await once(server, 'listening')
      host = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
      return site.origin()
    },
    close: async () => {
      if (!server.listening) return
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
    get requests() {
      return requests
    },
    requestLines,
    settings
  }
}
