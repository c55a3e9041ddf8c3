import Fastify from 'fastify'
import t from 'tap'
import { app as quoin } from '../../../app.ts'
import { problemsOf, testConfig } from '../../../test/helper.ts'
import { jwtEnv } from '../../../test/auth/fixtures.ts'
import { AUDIENCE, bearer, ISSUER, openNewsroom } from './newsroom.ts'

const URL_OF_MCP = 'https://h.example/quoin/mcp'
const METADATA_URL = 'https://h.example/quoin/.well-known/oauth-protected-resource/mcp'
const HEADERS = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }
const EDITION = '/api/collection/1'

/** A token of an agent for /mcp. */
const agentToken = (scope: unknown, more: object = {}) =>
  bearer({ sub: '7', act: { sub: 'planner' }, aud: URL_OF_MCP, ...(scope !== undefined && { scope }), ...more })

const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
const callOf = (name: string, args: object = {}) => ({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } })

async function open(t: Parameters<typeof openNewsroom>[0], env: Record<string, string> = {}) {
  const { app } = await openNewsroom(t, { env: { MCP: URL_OF_MCP, ...env } })
  const send = (headers: Record<string, string>, body: object = list) =>
    app.inject({ method: 'POST', url: '/mcp', headers: { ...HEADERS, ...headers }, body })
  return { app, send }
}

t.test('a 401 of /mcp says where its metadata are, and what to ask for', async (t) => {
  const { app, send } = await open(t)
  const missing = await send({})
  t.equal(missing.statusCode, 401)
  t.equal(missing.headers['www-authenticate'], `Bearer realm="Quoin", resource_metadata="${METADATA_URL}", scope="read"`)
  const expired = await send(agentToken('read', { exp: 1 }))
  t.match(expired.headers['www-authenticate'], /error="invalid_token".*, resource_metadata="https:.*", scope="read"$/)
  for (const [name, scopes] of [
    ['edit_field', 'edit read'],
    ['propose_text', 'propose read'],
    ['read_edition', 'read'],
    ['close_edition', 'read'],
    ['read_minds', 'read']
  ] as const) {
    const challenge = String((await send({ 'mcp-name': name }, callOf(name))).headers['www-authenticate'])
    t.ok(challenge.endsWith(`, scope="${scopes}"`), challenge)
  }
  const rest = await app.inject(EDITION)
  t.equal(rest.headers['www-authenticate'], 'Bearer realm="Quoin"', 'REST is another resource')
})

t.test('a token is for /mcp or for REST, never for both by chance', async (t) => {
  const { app, send } = await open(t)
  const rest = (headers: Record<string, string>) => app.inject({ url: EDITION, headers })
  const forMcp = agentToken('read')
  const forRest = bearer({ sub: '7', aud: AUDIENCE })
  for (let time = 1; time <= 2; time++) {
    t.equal((await send(forMcp)).statusCode, 200, `${time}`)
    t.equal((await rest(forMcp)).statusCode, 401, `${time}`)
    t.equal((await rest(forRest)).statusCode, 200, `${time}`)
    t.equal((await send(forRest)).statusCode, 401, `${time}`)
  }
  const forBoth = bearer({ sub: '7', aud: [AUDIENCE, URL_OF_MCP], scope: 'read' })
  t.equal((await send(forBoth)).statusCode, 200)
  t.equal((await rest(forBoth)).statusCode, 200)
})

t.test('the scopes of a token say which tools it allows', async (t) => {
  const { send } = await open(t)
  const read = callOf('read_edition', { id: '1' })
  const edit = callOf('stop_editing')
  for (const [scope, body, status, asked] of [
    ['read', read, 200],
    ['propose  read', read, 200],
    [['read'], read, 200],
    ['read', edit, 403, 'edit read'],
    ['edit', edit, 200],
    ['propose', callOf('ask_for_field'), 200],
    ['edit', callOf('ask_for_field'), 403, 'propose edit'],
    ['readedit', read, 403, 'read'],
    [undefined, read, 403, 'read'],
    ['', read, 403, 'read'],
    [7, read, 403, 'read'],
    ['other', edit, 403, 'edit'],
    ['other', callOf('read_minds'), 200],
    [undefined, list, 200]
  ] as const) {
    const { statusCode, headers } = await send(agentToken(scope), body)
    t.equal(statusCode, status, JSON.stringify([scope, body]))
    if (asked === undefined) continue
    const challenge = String(headers['www-authenticate'])
    t.match(challenge, /^Bearer error="insufficient_scope"/)
    t.ok(challenge.includes(`scope="${asked}"`), challenge)
    t.ok(challenge.includes(`resource_metadata="${METADATA_URL}"`), challenge)
  }
})

t.test('with MCP=on tokens have no scopes: /mcp takes those of REST', async (t) => {
  const { app } = await openNewsroom(t)
  const headers = { ...HEADERS, ...bearer({ sub: '7' }) }
  const { statusCode, body } = await app.inject({ method: 'POST', url: '/mcp', headers, body: callOf('read_edition', { id: '1' }) })
  t.match([statusCode, body], [200, /\\"tag\\"/])
  t.equal((await app.inject('/.well-known/oauth-protected-resource')).statusCode, 404)
})

t.test('the keys may be out of reach: that is no challenge', async (t) => {
  const { send } = await open(t, { AUTH_KEYS: 'http://127.0.0.1:9/jwks' })
  const { statusCode, headers } = await send(agentToken('read'))
  t.match([statusCode, headers['www-authenticate']], [503, undefined])
})

t.test('the metadata are where clients look for them, also below a prefix, for anybody', async (t) => {
  const document = {
    resource: URL_OF_MCP,
    authorization_servers: [ISSUER],
    scopes_supported: ['read', 'propose', 'edit', 'arrange'],
    bearer_methods_supported: ['header'],
    resource_name: 'Quoin'
  }
  const { app } = await open(t)
  for (const end of ['', '/mcp', '/quoin/mcp']) {
    const { statusCode, headers, body } = await app.inject(`/.well-known/oauth-protected-resource${end}`)
    t.match([statusCode, headers['content-type']], [200, /^application\/json/], end)
    t.strictSame(JSON.parse(body), document)
  }
  const host = Fastify({ routerOptions: { maxParamLength: 4096 } })
  t.teardown(() => host.close())
  const config = testConfig({ ...jwtEnv(t), CMS_AUTH: 'basic', CMS_USER: 'a', CMS_PASSWORD: 'b', MCP: URL_OF_MCP })
  await host.register(quoin, { config, prefix: '/quoin' })
  t.strictSame((await host.inject(new URL(METADATA_URL).pathname)).json(), document)
  t.equal((await host.inject({ method: 'POST', url: '/quoin/mcp', headers: HEADERS, body: list })).statusCode, 401)
})

t.test('an issuer that is no address is not named as one', async (t) => {
  const { app } = await open(t, { AUTH_ISSUER: 'drupal', MCP: 'https://h.example/mcp' })
  const { statusCode, body } = await app.inject('/.well-known/oauth-protected-resource/mcp')
  t.equal(statusCode, 200)
  t.notOk('authorization_servers' in JSON.parse(body))
})

t.test('settings by which the token of an agent would go astray are refused', async (t) => {
  const env = { ENVIRONMENT: 'test', CMS_URL: 'http://cms.example', DYNAMODB_ENDPOINT: 'http://127.0.0.1:9', ...jwtEnv(t) }
  const account = { CMS_AUTH: 'basic', CMS_USER: 'a', CMS_PASSWORD: 'b' }
  t.strictSame(problemsOf({ ...env, CMS_AUTH: 'passthrough' }), [])
  t.match(problemsOf({ ...env, CMS_AUTH: 'passthrough', MCP: 'on' }), [/^CMS_AUTH is passthrough, but .* name a service account/])
  t.strictSame(problemsOf({ ...env, ...account, MCP: URL_OF_MCP }), [])
  const withoutTokens = { ...env, ...account, AUTH: 'none' }
  t.strictSame(problemsOf({ ...withoutTokens, MCP: 'on' }), [])
  t.match(problemsOf({ ...withoutTokens, MCP: URL_OF_MCP }), [/^MCP is an address, but/])
  for (const url of [
    'http://h.example/mcp',
    'https://h.example',
    'https://h.example/mcp/',
    'https://h.example/mcp?a',
    'https://a@h.example/mcp',
    'https://h.example/:a/mcp'
  ]) {
    t.match(problemsOf({ ...env, ...account, MCP: url }), [/^MCP is .* but must be/], url)
  }
})
