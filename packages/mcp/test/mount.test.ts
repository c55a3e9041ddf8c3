import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { fromJsonSchema, McpServer } from '@modelcontextprotocol/server'
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { app as quoin } from '../../../app.ts'
import { build, buildLogged, testConfig } from '../../../test/helper.ts'
import { mountMcp } from '../server/mount.ts'
import { anna, openNewsroom, planner, type Era } from './newsroom.ts'

const ERAS: Era[] = ['2026-07-28', 'legacy']
const JSON_HEADERS = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }

/** A message as a client of the era sends it, with its header fields. */
function message(era: Era, method: string, params: Record<string, unknown> = {}) {
  if (era === 'legacy') return { headers: JSON_HEADERS, body: { jsonrpc: '2.0', id: 1, method, params } }
  const name = params['name'] as string | undefined
  return {
    headers: { ...JSON_HEADERS, 'mcp-protocol-version': era, 'mcp-method': method, ...(name !== undefined && { 'mcp-name': name }) },
    body: {
      jsonrpc: '2.0',
      id: 1,
      method,
      params: {
        ...params,
        _meta: {
          'io.modelcontextprotocol/protocolVersion': era,
          'io.modelcontextprotocol/clientCapabilities': {},
          'io.modelcontextprotocol/clientInfo': { name: 'a test', version: '1' }
        }
      }
    }
  }
}

const LIST = message('legacy', 'tools/list')

/** The status of an answer to a list of the tools, sent with these header fields. */
async function statusOf(app: FastifyInstance, headers: Record<string, string> = {}): Promise<number> {
  const { statusCode } = await app.inject({ method: 'POST', url: '/mcp', headers: { ...LIST.headers, ...headers }, body: LIST.body })
  return statusCode
}

/** Quoin with another server at /mcp, whose one tool waits until it is told to end or its caller hangs up. */
async function openWaiting(t: Test) {
  const begun = Promise.withResolvers<void>()
  const end = Promise.withResolvers<void>()
  const hungUp = Promise.withResolvers<void>()
  const { app, logged } = await buildLogged(t, {}, { prepare: (fastify) => fastify.register(waitingScope) })

  async function waitingScope(scope: FastifyInstance) {
    mountMcp(scope, { factory: waitingServer, corsOrigins: [] })
  }

  function waitingServer(): McpServer {
    const server = new McpServer({ name: 'waiting', version: '1' }, { capabilities: { tools: { listChanged: true } } })
    const inputSchema = fromJsonSchema<Record<string, unknown>>({ type: 'object' })
    server.registerTool('wait', { inputSchema }, async (_args, { mcpReq: { signal } }) => {
      begun.resolve()
      signal.addEventListener('abort', () => hungUp.resolve())
      await Promise.race([end.promise, once(signal, 'abort')])
      return { content: [{ type: 'text', text: 'done' }] }
    })
    return server
  }

  const url = `${await app.listen({ host: '127.0.0.1', port: 0 })}/mcp`
  return { app, logged, url, begun: begun.promise, end: end.resolve, hungUp: hungUp.promise }
}

t.test('a host has the tools below its prefix, and its own /mcp', async (t) => {
  const host = Fastify({ routerOptions: { maxParamLength: 4096 } })
  t.teardown(() => host.close())
  host.post('/mcp', async () => 'of the host')
  await host.register(quoin, { config: testConfig({ MCP: 'on' }), prefix: '/quoin' })
  const own = await host.inject({ method: 'POST', url: '/mcp', body: {} })
  t.equal(own.body, 'of the host')
  const { statusCode, body } = await host.inject({ method: 'POST', url: '/quoin/mcp', ...LIST })
  t.match([statusCode, body], [200, /"name":"read_edition"/])
  const refused = await host.inject({
    method: 'POST',
    url: '/quoin/mcp',
    headers: { ...JSON_HEADERS, origin: 'https://evil.example' },
    body: {}
  })
  t.equal(refused.statusCode, 403)
})

t.test('there are no sessions: GET, HEAD and DELETE are answered 405', async (t) => {
  const app = await build(t, { MCP: 'on' })
  for (const method of ['GET', 'HEAD', 'DELETE'] as const) {
    for (const version of ['2025-11-25', '2026-07-28']) {
      const headers = { accept: 'text/event-stream', 'mcp-protocol-version': version, 'mcp-session-id': '1' }
      t.equal((await app.inject({ method, url: '/mcp', headers })).statusCode, 405, `${method} ${version}`)
    }
  }
  t.equal((await app.inject({ method: 'PUT', url: '/mcp' })).statusCode, 405)
})

t.test('a body that is no message of the protocol is refused, and a batch too', async (t) => {
  const app = await build(t, { MCP: 'on' })
  for (const [body, status] of [
    ['', 400],
    ['{', 400],
    ['null', 400],
    ['1', 400],
    ['"tools/list"', 400],
    ['{}', 400],
    ['{"jsonrpc":"2.0"}', 400],
    ['{"jsonrpc":"1.0","id":1,"method":"tools/list"}', 400],
    ['{"jsonrpc":"2.0","id":{},"method":"tools/list"}', 400],
    ['{"jsonrpc":"2.0","id":1,"method":5}', 400],
    ['{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"_meta":5}}', 400],
    ['{"jsonrpc":"2.0","method":"notifications/initialized"}', 202],
    ['[]', 400],
    [JSON.stringify([LIST.body, LIST.body]), 400]
  ] as const) {
    const { statusCode } = await app.inject({ method: 'POST', url: '/mcp', headers: JSON_HEADERS, payload: body })
    t.equal(statusCode, status, body)
  }
  const batch = await app.inject({ method: 'POST', url: '/mcp', headers: JSON_HEADERS, payload: '[]' })
  t.match(batch.json(), { message: 'body must be one JSON-RPC message: batches are not taken' })
  for (const type of ['text/plain', 'application/x-www-form-urlencoded']) {
    const { statusCode } = await app.inject({ method: 'POST', url: '/mcp', headers: { 'content-type': type }, payload: '{}' })
    t.equal(statusCode, 415, type)
  }
})

for (const [auth, credentials] of [
  ['none', {}],
  ['jwt', planner],
  ['drupal', { authorization: `Basic ${Buffer.from('editor:editor').toString('base64')}` }]
] as const) {
  t.test(`with AUTH=${auth} a page of another site is refused, and one of CORS_ORIGINS is not`, async (t) => {
    const env = { CORS_ORIGINS: 'https://desk.example', ...(auth === 'drupal' && { AUTH: 'drupal', CMS_AUTH: 'passthrough' }) }
    const { app } = await openNewsroom(t, { auth: auth === 'jwt', env })
    for (const [origin, status] of [
      ['https://evil.example', 403],
      ['null', 403],
      ['https://desk.example', 200],
      ['http://localhost', 200]
    ] as const) {
      t.equal(await statusOf(app, { ...credentials, origin, host: 'localhost' }), status, origin)
    }
    t.equal(await statusOf(app, credentials), 200, 'without Origin it is no page')
    for (const method of ['GET', 'DELETE'] as const) {
      const { statusCode } = await app.inject({ method, url: '/mcp', headers: { ...credentials, origin: 'https://evil.example' } })
      t.equal(statusCode, 403, method)
    }
    const preflight = await app.inject({
      method: 'OPTIONS',
      url: '/mcp',
      headers: { origin: 'https://desk.example', 'access-control-request-method': 'POST' }
    })
    t.match(preflight, {
      statusCode: 204,
      headers: { 'access-control-allow-headers': /MCP-Protocol-Version, Mcp-Method, Mcp-Name, Quoin-Agent/ }
    })
  })
}

t.test('whoever has no credentials is refused before the body is looked at', async (t) => {
  const { app } = await openNewsroom(t)
  t.equal(await statusOf(app), 401)
  t.equal((await app.inject({ method: 'GET', url: '/mcp' })).statusCode, 401)
})

t.test('a strange Host makes no other answer with AUTH=jwt, and is another name without', async (t) => {
  const { app } = await openNewsroom(t)
  for (const host of ['%zz', 'a..b', '-', '[::1]:3000', 'evil.example:99999']) t.equal(await statusOf(app, { ...planner, host }), 200, host)
  const open = await build(t, { MCP: 'on' })
  t.equal(await statusOf(open, { host: 'evil.example' }), 421)
})

for (const era of ERAS) {
  t.test(`a client of the era ${era} that hangs up ends its call`, async (t) => {
    const { url, begun, hungUp } = await openWaiting(t)
    const { headers, body } = message(era, 'tools/call', { name: 'wait', arguments: {} })
    const call = httpRequest(url, { method: 'POST', headers })
    call.on('error', () => {})
    call.end(JSON.stringify(body))
    await begun
    call.destroy()
    await t.resolves(hungUp)
  })

  t.test(`a call of the era ${era} that runs when the service ends is answered`, async (t) => {
    const { app, url, begun, end } = await openWaiting(t)
    const { headers, body } = message(era, 'tools/call', { name: 'wait', arguments: {} })
    const answer = fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
    await begun
    const closed = app.close()
    await sleep(50)
    end()
    t.match(await (await answer).text(), /"text":"done"/)
    await closed
  })
}

t.test('the end of the service ends streams of subscriptions, and does not wait for their clients', async (t) => {
  const { app, url } = await openWaiting(t)
  const { headers, body } = message('2026-07-28', 'subscriptions/listen', { notifications: { toolsListChanged: true } })
  const stream = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  const reader = stream.body!.getReader()
  t.match(Buffer.from((await reader.read()).value!).toString(), /subscriptions\/acknowledged/)
  await app.close()
  t.ok((await reader.read()).done)
})

t.test('the tools never change, so a stream of subscriptions to them ends at once', async (t) => {
  const app = await build(t, { MCP: 'on' })
  const notifications = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true, resourceSubscriptions: ['x://y'] }
  const { statusCode, body } = await app.inject({
    method: 'POST',
    url: '/mcp',
    ...message('2026-07-28', 'subscriptions/listen', { notifications })
  })
  t.equal(statusCode, 200)
  const [acknowledged, ended] = [...body.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data!))
  t.match(acknowledged, { method: 'notifications/subscriptions/acknowledged' })
  t.strictSame(acknowledged.params.notifications, {})
  t.match(ended, { id: 1, result: {} })
})

t.test('RATE_LIMIT counts a call once', async (t) => {
  const { app } = await openNewsroom(t, { env: { RATE_LIMIT: '2' } })
  for (const status of [200, 200, 429]) {
    const { headers, body } = message('2026-07-28', 'tools/call', { name: 'read_edition', arguments: { id: '1' } })
    const reply = await app.inject({ method: 'POST', url: '/mcp', headers: { ...headers, ...planner }, body })
    t.equal(reply.statusCode, status)
  }
  t.equal(await statusOf(app, anna), 200, 'an agent has a limit of its own')
})

t.test('RATE_LIMIT counts /mcp and REST together, and never refuses to take back', async (t) => {
  const { app } = await openNewsroom(t, { env: { RATE_LIMIT: '3' } })
  async function send(name: string, args: object, era: Era = '2026-07-28') {
    const { headers, body } = message(era, 'tools/call', { name, arguments: args })
    const reply = await app.inject({ method: 'POST', url: '/mcp', headers: { ...headers, ...planner }, body })
    return { status: reply.statusCode, text: reply.body }
  }
  const place = { type: 'edition', id: '1', field: 'title' }
  const started = await send('start_editing', place)
  t.equal(started.status, 200)
  const [, version] = /\\"version\\":\\"([^\\]+)/.exec(started.text)!
  t.equal((await app.inject({ url: '/api/collection/1', headers: planner })).statusCode, 200)
  t.equal((await send('read_edition', { id: '1' })).status, 200)
  t.equal((await send('read_edition', { id: '1' })).status, 429)
  t.equal((await app.inject({ url: '/api/collection/1', headers: planner })).statusCode, 429)
  for (const era of ERAS) {
    t.match(await send('stop_editing', { ...place, version }, era), { status: 200, text: /released/ }, era)
    t.match(
      await send('withdraw_proposal', { type: 'edition', id: '1', proposal: 'x'.repeat(38) }, era),
      { status: 200, text: /NOT_FOUND/ },
      era
    )
  }
  for (const body of [null, 1, { method: 'tools/call', params: null }, { method: 'tools/call', params: { name: ['stop_editing', 1] } }]) {
    const payload = JSON.stringify(body)
    t.equal((await app.inject({ method: 'POST', url: '/mcp', headers: { ...JSON_HEADERS, ...planner }, payload })).statusCode, 429, payload)
  }
})

t.test('a copy is never an answer to an agent: while the CMS is down a tool says so', async (t) => {
  const { call, cms, rest } = await openNewsroom(t)
  t.equal((await rest('GET', '/api/collection/1')).status, 200)
  t.notOk((await call('read_edition', { id: '1' })).isError)
  await cms.close()
  t.equal((await rest('GET', '/api/collection/1')).status, 200, 'a person is shown the copy')
  t.match(await call('read_edition', { id: '1' }), { isError: true, body: { error: { code: /^CMS_/ } } })
})

t.test('what the protocol refuses is logged, and answered by the service of it', async (t) => {
  const { app, logged } = await openWaiting(t)
  logged()
  const { headers, body } = message('2026-07-28', 'tools/list')
  const reply = await app.inject({ method: 'POST', url: '/mcp', headers: { ...headers, 'mcp-method': 'tools/call' }, body })
  t.equal(reply.statusCode, 400)
  t.ok(logged().some(({ msg }) => msg === 'a message of MCP was refused'))
})
