import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import type { Test } from 'tap'
import { createCms, type Cms, type CmsOptions } from '../../packages/drupal-stand-in/cms.ts'
import { newspaper } from '../../dev/content.ts'
import { build } from '../helper.ts'
import { basic, serve, type Call, type Reply } from './site.ts'

/** A request as it came to the CMS. */
export interface Asked {
  method: string
  /** Decoded, without the query. */
  path: string
  query: URLSearchParams
  /** `GET /jsonapi/...?...`, decoded; `PATCH /jsonapi/... {}` of the empty one that asks for the right to edit. */
  line: string
  headers: IncomingHttpHeaders
  body: string
  /** Whether Quoin hung up before it had the whole answer. */
  aborted: boolean
}

/** An answer: an object as JSON:API, a text as it is. */
export interface Said {
  /** Default 200. */
  status?: number
  headers?: Record<string, string>
  body?: unknown
  /** How long the CMS takes for it, in milliseconds. */
  delayMs?: number
}

/**
 * What the CMS does with a request: answers this; `hang`: nothing, for ever; `reset`: breaks the connection off; undefined:
 * what an honest site answers.
 * @param honest asks the honest site, which does what it is asked to: an answer that gets lost, or is altered
 * @param wire for what is no HTTP: then the result is `hang`
 */
export type Behaviour = (
  asked: Asked,
  honest: () => Promise<Required<Omit<Said, 'delayMs'>> & { body: any }>,
  wire: { request: IncomingMessage; response: ServerResponse }
) => Said | 'hang' | 'reset' | undefined | Promise<Said | 'hang' | 'reset' | undefined>

export interface HostileCms {
  url: string
  /** May be set anew at any time. */
  behave: Behaviour
  /** All requests, in the order of their coming. */
  asked: Asked[]
  /** The honest site behind it, with its switches. */
  site: Cms
}

export const JSONAPI = { 'content-type': 'application/vnd.api+json' }

/** A CMS on a real socket that does to each request what a function says, and else what the sample site does. */
export async function startHostileCms(t: Test, { content = newspaper(), ...options }: Partial<CmsOptions> = {}): Promise<HostileCms> {
  const site = createCms({ content, ...options })
  const target = await site.listen()
  let isOver = false
  t.teardown(() => {
    isOver = true
    return site.close()
  })

  const url = await serve(t, (request, response) => {
    answer(request, response).catch((error) => {
      // A look-up may outlive its test, and then finds the site closed.
      if (!isOver) t.fail(`the hostile CMS itself failed: ${error}`)
      response.destroy()
    })
  })

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url!, url)
    const { method = 'GET', headers } = request
    const asked: Asked = {
      method,
      path: decodeURIComponent(pathname),
      query: searchParams,
      line: `${method} ${decodeURIComponent(request.url!)}`,
      headers,
      body: '',
      aborted: false
    }
    cms.asked.push(asked)
    response.on('close', () => {
      asked.aborted = !response.writableFinished
    })
    try {
      for await (const chunk of request.setEncoding('utf8')) asked.body += chunk
      if (asked.body === '{}') asked.line += ' {}'
    } catch {
      // Quoin hung up.
      return
    }
    const said: Said | 'hang' | 'reset' = (await cms.behave(asked, honest, { request, response })) ?? (await honest())
    if (said === 'hang') return
    if (said === 'reset') {
      request.socket.resetAndDestroy()
      return
    }
    const { status = 200, headers: fields = JSONAPI, body = '', delayMs = 0 } = said
    if (delayMs > 0) await sleep(delayMs, undefined, { ref: false })
    response.writeHead(status, fields).end(typeof body === 'string' ? body : JSON.stringify(body))

    async function honest() {
      const { host, connection, 'transfer-encoding': _, 'content-length': __, ...passed } = headers
      const answer = await fetch(target + request.url, {
        method,
        headers: passed as Record<string, string>,
        redirect: 'manual',
        ...(asked.body && { body: asked.body })
      })
      const text = await answer.text()
      const type = answer.headers.get('content-type') ?? ''
      // Of an altered body these would not be true.
      const fields = [...answer.headers].filter(
        ([name]) => !['content-length', 'transfer-encoding', 'connection', 'keep-alive'].includes(name)
      )
      return { status: answer.status, headers: Object.fromEntries(fields), body: /json/.test(type) && text ? JSON.parse(text) : text }
    }
  }

  const cms: HostileCms = { url, behave: () => undefined, asked: [], site }
  return cms
}

export interface HostileDesk {
  app: FastifyInstance
  cms: HostileCms
  /** One request to Quoin; `upstream` is what came to the CMS meanwhile. */
  call: (method: 'GET' | 'POST', path: string, call?: Call) => Promise<Reply>
}

/** The whole application before a hostile CMS. */
export async function openHostile(
  t: Test,
  { env = {}, ...options }: Partial<CmsOptions> & { env?: Record<string, string> } = {}
): Promise<HostileDesk> {
  const cms = await startHostileCms(t, options)
  const app = await build(t, { CMS_URL: cms.url, ...env })

  async function call(method: 'GET' | 'POST', path: string, { body, as, headers = {} }: Call = {}): Promise<Reply> {
    const before = cms.asked.length
    const answer = await app.inject({
      method,
      url: path,
      headers: { ...(as && basic(as)), ...headers },
      ...(body !== undefined && { payload: body as object })
    })
    return {
      status: answer.statusCode,
      headers: answer.headers,
      body: answer.body === '' ? undefined : answer.json(),
      upstream: cms.asked.slice(before).map(({ line }) => line)
    }
  }

  return { app, cms, call }
}

/** A cache that ignores queries: what is answered to the first GET of a path is answered to every other. */
export function ignoresQueries(): Behaviour {
  const kept = new Map<string, Said>()
  return async ({ method, path }, honest) => {
    if (method !== 'GET') return undefined
    const said = kept.get(path) ?? (await honest())
    kept.set(path, said)
    return said
  }
}
