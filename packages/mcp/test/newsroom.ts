import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { FastifyInstance } from 'fastify'
import type { Test } from 'tap'
import { newspaper } from '../../../dev/content.ts'
import { createCms, type Cms } from '../../drupal-stand-in/cms.ts'
import { AUDIENCE, bearer, ISSUER, jwtEnv } from '../../../test/auth/fixtures.ts'
import { build } from '../../../test/helper.ts'
import { startEngine, type EngineName } from '../../../test/locks/fixtures/engines.ts'

export { AUDIENCE, bearer, ISSUER }

/** Anna, and two agents that work for her. */
export const anna = bearer({ sub: '7', name: 'Anna' })
export const ben = bearer({ sub: '8', name: 'Ben' })
export const planner = bearer({ sub: '7', name: 'Anna', act: { sub: 'planner' } })
export const scribe = bearer({ sub: '7', name: 'Anna', act: { sub: 'scribe' } })

export type Era = '2026-07-28' | 'legacy'

export interface Answer {
  isError: boolean
  /** What the model is shown. */
  body: any
}

export interface Newsroom {
  app: FastifyInstance
  cms: Cms
  /** Where it listens. */
  url: string
  /** Calls a tool by the SDK's client. */
  call(name: string, args?: object, options?: { headers?: Record<string, string>; era?: Era }): Promise<Answer>
  /** Sends a request to the REST endpoints. */
  rest(method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, options?: RestOptions): Promise<RestAnswer>
  /** A client of its own, connected. */
  connect(headers?: Record<string, string>, era?: Era): Promise<Client>
}

export interface RestOptions {
  headers?: Record<string, string>
  body?: object
}

export interface RestAnswer {
  status: number
  body: any
  etag: string
}

/** Quoin with tools at /mcp, on a port of its own, before a stand-in CMS; with AUTH=jwt unless `env` says otherwise. */
export async function openNewsroom(
  t: Test,
  { env = {}, engine = 'dynalite', auth = true }: { env?: Record<string, string>; engine?: EngineName; auth?: boolean } = {}
): Promise<Newsroom> {
  const { endpoint } = await startEngine(t, engine)
  const cms = createCms({ content: newspaper() })
  t.teardown(() => cms.close())
  const app = await build(t, {
    MCP: 'on',
    CMS_URL: await cms.listen(),
    DYNAMODB_ENDPOINT: endpoint,
    ...(auth && { ...jwtEnv(t), AUTH_AGENT_CLAIM: 'act.sub' }),
    CMS_AUTH: 'basic',
    CMS_USER: 'editor',
    CMS_PASSWORD: 'editor',
    ...env
  })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const clients = new Map<string, Promise<Client>>()

  async function connect(headers: Record<string, string> = {}, era: Era = '2026-07-28'): Promise<Client> {
    const client = new Client(
      { name: 'a test', version: '1' },
      { versionNegotiation: { mode: era === 'legacy' ? 'legacy' : { pin: era } } }
    )
    t.teardown(() => client.close())
    await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } }))
    return client
  }

  function clientOf(headers: Record<string, string>, era: Era): Promise<Client> {
    const key = JSON.stringify([headers, era])
    const client = clients.get(key) ?? connect(headers, era)
    clients.set(key, client)
    return client
  }

  return {
    app,
    cms,
    url,
    connect,
    async call(name, args = {}, { headers = auth ? planner : {}, era = '2026-07-28' } = {}) {
      const client = await clientOf(headers, era)
      const { content, isError = false } = await client.callTool({ name, arguments: args as Record<string, unknown> })
      const [{ text }] = content as unknown as [{ text: string }]
      return { isError: isError === true, body: isJson(text) ? JSON.parse(text) : text }
    },
    async rest(method, path, { headers = auth ? anna : {}, body } = {}) {
      const reply = await app.inject({ method, url: path, headers, ...(body && { body }) })
      return { status: reply.statusCode, body: reply.body === '' ? undefined : reply.json(), etag: String(reply.headers.etag) }
    }
  }
}

function isJson(text: string): boolean {
  return text.startsWith('{')
}
