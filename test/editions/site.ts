import { once } from 'node:events'
import { createServer, STATUS_CODES, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Test } from 'tap'
import { createCms, type Cms, type CmsContent, type CmsOptions, type Seed } from '../../packages/drupal-stand-in/cms.ts'
import { newspaper } from '../../dev/content.ts'
import { createHttp } from '#lib/http/client.ts'
import { build } from '../helper.ts'

export interface Reply {
  status: number
  headers: Record<string, unknown>
  /** Parsed JSON. */
  body: any
  /** The requests that it took the CMS to answer: method, decoded path with query, status. */
  upstream: string[]
}

export interface Call {
  body?: unknown
  /** A user of the sample site, whose password is the name; nobody by default. */
  as?: string
  headers?: Record<string, string>
}

export interface Desk {
  app: FastifyInstance
  cms: Cms
  url: string
  call: (method: 'GET' | 'POST', path: string, call?: Call) => Promise<Reply>
}

/** The whole application in front of a sample site. */
export async function open(
  t: Test,
  { env = {}, content = newspaper(), ...options }: Partial<CmsOptions> & { env?: Record<string, string> } = {}
): Promise<Desk> {
  const cms = createCms({ content, ...options })
  const url = await cms.listen()
  t.teardown(() => cms.close())
  const app = await build(t, { CMS_URL: url, ...env })

  async function call(method: 'GET' | 'POST', path: string, { body, as, headers = {} }: Call = {}): Promise<Reply> {
    const before = cms.requestLines.length
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
      upstream: cms.requestLines.slice(before).map(decodeURIComponent)
    }
  }

  return { app, cms, url, call }
}

export function basic(user: string): { authorization: string } {
  return { authorization: `Basic ${Buffer.from(`${user}:${user}`).toString('base64')}` }
}

/** A server of the test's own on a free port of the loopback interface. */
export async function serve(t: Test, listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
  )
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** That an answer is a failure of the edition endpoints, whole and in shape. */
export function failed(
  t: Test,
  what: string,
  { status, headers, body }: Pick<Reply, 'status' | 'headers' | 'body'>,
  wanted: number,
  code: string,
  message?: string | RegExp
): void {
  const { violations, uuid, order, ...rest } = body
  const shape = {
    ...rest,
    status,
    message: typeof body.message,
    type: headers['content-type'],
    order: order !== undefined,
    location: uuid === undefined ? undefined : headers['location'],
    oddViolations: violations?.filter((one: object) => Object.keys(one).join() !== 'path,message') ?? []
  }
  t.strictSame(
    shape,
    {
      status: wanted,
      statusCode: wanted,
      error: STATUS_CODES[wanted],
      code,
      message: 'string',
      type: 'application/json; charset=utf-8',
      order: code === 'ORDER_CONFLICT',
      location: uuid === undefined ? undefined : `/api/collection/${uuid}`,
      oddViolations: []
    },
    `${what}: ${wanted} ${code}`
  )
  if (typeof message === 'string') t.equal(body.message, message, what)
  else if (message) t.match(body.message, message, what)
}

/** The lines of requests that write. An empty PATCH, which asks for the right to edit, is answered 400. */
export function writes(lines: string[]): string[] {
  return lines.filter((line) => !/^(?:GET|HEAD) |^PATCH .* 400$/.test(line))
}

/** What the tests look at of an edition of the sample content. */
export interface Known {
  id: number
  uuid: string
  bundle: string
  type: string
  title: string
  key: string
  published: boolean
}

/** The editions of a site's content, newest first. */
export function editionsOf(content: CmsContent): Known[] {
  return content.entities
    .filter(({ type }) => type.startsWith('publisher_container--'))
    .map(known)
    .sort((one, other) => other.id - one.id)
}

function known({ type, id, uuid, fields = {} }: Seed): Known {
  return {
    id: Number(id),
    uuid: uuid!,
    bundle: type.split('--')[1]!,
    type: String(fields.field_publisher_edition_type),
    title: String(fields.title),
    key: String(fields.field_key),
    published: fields.status === true
  }
}

/** The content with as many editions more, in both bundles or types and every third of them not published. */
export function enlarged(content: CmsContent, count: number): CmsContent {
  const single = editionsOf(content)[0]!.bundle === 'publisher_container'
  const more = Array.from({ length: count }, (_, index): Seed => {
    const id = 61 + index
    const kind = (id * 7919) % 13 < 5 ? 'special' : 'daily'
    return {
      type: `publisher_container--${single ? 'publisher_container' : kind}`,
      id,
      uuid: `00000000-0000-4000-8000-${String(id).padStart(12, '0')}`,
      fields: {
        title: `Extra ${id}`,
        status: id % 3 !== 0,
        field_key: `extra-${id}`,
        field_publisher_edition_type: kind,
        field_articles: [{ target_id: 1 + (id % 120) }]
      }
    }
  })
  return { ...content, entities: [...content.entities, ...more] }
}

/** A stand-in CMS with the newspaper, and a way to it; both end with the test. */
export async function openNewspaper(t: Test) {
  const cms = createCms({ content: newspaper() })
  const cmsUrl = await cms.listen()
  const http = createHttp({ url: cmsUrl, timeoutMs: 5000 })
  t.teardown(async () => {
    await http.close()
    await cms.close()
  })
  return { cms, cmsUrl, http }
}
