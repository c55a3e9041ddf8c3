import { once } from 'node:events'
import { globSync, readFileSync } from 'node:fs'
import { connect, type OutgoingHttpHeaders } from 'node:http2'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { createGzip, gunzipSync } from 'node:zlib'
import cors from '@fastify/cors'
import rateLimit from '@fastify/rate-limit'
import sensible from '@fastify/sensible'
import swagger from '@fastify/swagger'
import underPressure from '@fastify/under-pressure'
import { Validator } from '@seriousme/openapi-schema-validator'
import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify'
import t, { type Test } from 'tap'
import { app, readConfig, SettingsError } from '../../app.ts'
import { bearer, claims, jwtEnv, tokenOf } from '../auth/fixtures.ts'
import { newspaper } from '../../dev/content.ts'
import { createCms } from '../../packages/drupal-stand-in/cms.ts'
import { testConfig } from '../helper.ts'
import { startEngine } from '../locks/fixtures/engines.ts'
import { ROOT } from './fixtures/processes.ts'

const LOCK = '/api/cloud/data-state/node/1'
const json = { 'content-type': 'application/json' }
const lock = (uid: string) => ({ fieldName: 'title', userData: { uid, name: uid } })

/** A key that the host's own routes want to be sent. */
const KEY = { 'x-key': 'sesame' }

interface Host {
  host: FastifyInstance
  /** What its logger wrote, one object a line. */
  logged: () => Array<Record<string, any>>
}

/** A host as one finds them: with a logger, an error handler, a not-found handler, an auth hook, and decorators of its own. */
function hostOf(t: Test, options: FastifyServerOptions = {}): Host {
  const lines: string[] = []
  const host = Fastify({
    routerOptions: { maxParamLength: 4096 },
    logger: {
      level: 'info',
      stream: {
        write: (line: string) => {
          lines.push(line)
        }
      }
    },
    ...options
  }) as unknown as FastifyInstance
  t.teardown(() => host.close())
  host.decorate('locks', 'of the host' as never)
  host.decorateRequest('user', null)
  host.setErrorHandler((error: Error, _request, reply) => reply.code(418).send({ host: error.message }))
  host.setNotFoundHandler((_request, reply) => reply.code(404).send({ host: 'nothing here' }))
  host.setValidatorCompiler(() => () => {
    throw new Error("the host's validator")
  })
  host.setSerializerCompiler(() => () => '"the host\'s serializer"')
  host.addSchema({ $id: 'HostThing', type: 'object' })
  host.addHook('onSend', async (_request, reply) => {
    reply.header('x-host', 'yes')
  })
  host.register(async (scope) => {
    scope.addHook('onRequest', async (request) => {
      if (request.headers['x-key'] !== KEY['x-key']) throw new Error('who are you?')
      Object.assign(request, { user: { name: 'of the host' } })
    })
    scope.get('/own', async (request) =>
      JSON.stringify([(request as unknown as { user: { name: string } }).user.name, request.server.locks])
    )
    scope.get('/own/fails', async () => {
      throw new TypeError('broken')
    })
    scope.post('/own', async ({ body }) => JSON.stringify(body))
  })
  return { host, logged: () => lines.splice(0).map((line) => JSON.parse(line)) }
}

/** A CMS with the sample content, and a table. */
async function stores(t: Test): Promise<Record<string, string>> {
  const cms = createCms({ content: newspaper() })
  t.teardown(() => cms.close())
  const { endpoint } = await startEngine(t, 'dynalite')
  return { DYNAMODB_ENDPOINT: endpoint, CMS_URL: await cms.listen(), CMS_AUTH: 'basic', CMS_USER: 'editor', CMS_PASSWORD: 'editor' }
}

t.test("a host keeps what is its own, and Quoin below its prefix what is Quoin's", async (t) => {
  const { host } = hostOf(t)
  await host.register(sensible)
  await host.register(rateLimit, { global: false })
  await host.register(underPressure)
  host.register(app, { config: testConfig({ ...(await stores(t)), DESK: 'on', RATE_LIMIT: '10000' }), prefix: '/quoin' })
  await host.ready()

  t.strictSame((await host.inject({ url: '/own', headers: KEY })).json(), ['of the host', 'of the host'])
  t.strictSame(
    (await host.inject({ url: '/own', method: 'POST', headers: KEY, body: { a: 1 } })).json(),
    { a: 1 },
    'it takes bodies as before'
  )
  for (const [url, message] of [
    ['/own', 'who are you?'],
    ['/own/fails', 'who are you?']
  ] as const) {
    const reply = await host.inject(url)
    t.strictSame([reply.statusCode, reply.json()], [418, { host: message }])
    t.equal(reply.headers['content-security-policy'], undefined)
  }
  t.strictSame((await host.inject({ url: '/own/fails', headers: KEY })).json(), { host: 'broken' })
  t.strictSame((await host.inject('/nowhere')).json(), { host: 'nothing here' })
  t.strictSame((await host.inject(LOCK)).json(), { host: 'nothing here' }, 'Quoin is not at the root')

  const taken = await host.inject({ method: 'POST', url: `/quoin${LOCK}`, body: lock('7') })
  t.strictSame([taken.statusCode, taken.json(), taken.headers['x-host']], [200, { success: true }, 'yes'], 'hooks of the root are for all')
  t.match(taken.headers, { 'content-security-policy': /default-src 'none'/, 'x-request-id': String })
  t.equal((await host.inject({ method: 'POST', url: `/quoin${LOCK}`, body: lock('8') })).statusCode, 423)
  t.match((await host.inject({ method: 'POST', url: `/quoin${LOCK}`, body: {} })).json(), {
    success: false,
    error: { code: 'BAD_REQUEST', message: "body must have required property 'fieldName'" }
  })
  t.match((await host.inject({ method: 'POST', url: `/quoin${LOCK}`, headers: json, body: '{' })).json(), {
    success: false,
    error: { code: 'BAD_REQUEST' }
  })
  t.match(
    (await host.inject({ method: 'POST', url: `/quoin${LOCK}`, body: { ...lock('7'), payload: 'x'.repeat(2_000_000) } })).json(),
    { error: { code: 'TOO_LARGE', message: /^The lock would have/ } },
    'larger bodies than the host takes by itself'
  )
  t.match((await host.inject({ method: 'POST', url: `/quoin${LOCK}`, body: { ...lock('7'), payload: 'x'.repeat(5_000_000) } })).json(), {
    error: { code: 'TOO_LARGE', message: /^The request body/ }
  })
  t.match((await host.inject(`/quoin/api/cloud/data-state/node/${'a'.repeat(128)}`)).json(), { success: true })

  const patch = await host.inject({ method: 'PATCH', url: `/quoin${LOCK}` })
  t.match(
    [patch.statusCode, patch.headers['allow'], patch.json()],
    [405, /POST/, { success: false, error: { code: 'METHOD_NOT_ALLOWED' } }]
  )
  t.match((await host.inject('/quoin/nowhere')).json(), { code: 'NOT_FOUND', message: 'There is nothing at GET /quoin/nowhere' })
  for (const url of ['/quoin', '/quoin/']) {
    t.equal(new URL((await host.inject(url)).headers.location as string, `http://quoin.example${url}`).pathname, '/quoin/desk', url)
  }
  t.match((await host.inject('/quoin/health/live')).json(), { status: 'ok' })
  t.match((await host.inject('/quoin/health/ready')).json(), { status: 'ok' })
  t.equal((await host.inject({ url: '/quoin/health/live', headers: { host: 'balancer.example' } })).statusCode, 200)
  t.equal((await host.inject({ url: `/quoin${LOCK}`, headers: { host: 'other.example' } })).statusCode, 421)
})

t.test("at the root of a host Quoin takes its own paths and no others, the host's icon not either", async (t) => {
  const { host } = hostOf(t)
  host.get('/', async () => 'the host')
  host.get('/favicon.ico', async () => 'the icon of the host')
  host.register(app, { config: testConfig({ ...(await stores(t)), DESK: 'on' }) })
  await host.ready()
  for (const [url, body] of [
    ['/', 'the host'],
    ['/favicon.ico', 'the icon of the host']
  ] as const) {
    t.equal((await host.inject(url)).body, body, url)
  }
  t.match((await host.inject('/desk')).headers, { 'content-type': 'text/html; charset=utf-8' })
})

t.test('what leads to Quoin has the prefix in it', async (t) => {
  const { host } = hostOf(t)
  await host.register(app, { config: testConfig(await stores(t)), prefix: '/a/quoin/' })
  const base = '/a/quoin'

  const list = (await host.inject(`${base}/api/collections/daily?limit=1&offset=1`)).json()
  t.match(list.links, { self: /^\/a\/quoin\/api\/collections\/daily\?/, next: /^\/a\/quoin\/api\//, prev: /^\/a\/quoin\/api\// })
  t.equal((await host.inject(list.links.next)).statusCode, 200)

  const uuid = '0b2e1f5c-4f5c-4c9c-9d0e-1a2b3c4d5e6f'
  const edition = (title: string) => ({
    type: 'daily',
    title: [{ value: title }],
    field_key: [{ value: 'embedded' }],
    uuid: [{ value: uuid }]
  })
  const created = await host.inject({ method: 'POST', url: `${base}/api/collection`, body: edition('Monday') })
  t.equal(created.statusCode, 201, created.body)
  t.match(created.headers.location, /^\/a\/quoin\/api\/collection\/\d+$/)
  t.equal((await host.inject(created.headers.location!)).statusCode, 200)
  const conflict = await host.inject({ method: 'POST', url: `${base}/api/collection`, body: edition('Tuesday') })
  t.strictSame([conflict.statusCode, conflict.headers.location], [409, `${base}/api/collection/${uuid}`], 'that of a failure too')

  const { servers, paths, components } = (await host.inject(`${base}/docs/json`)).json()
  t.strictSame(servers, [{ url: base }])
  t.ok(Object.keys(paths).includes('/api/collection/{id}'))
  t.notOk(Object.keys(paths).some((path) => path.startsWith(base)))
  t.notOk('HostThing' in components.schemas, "the host's schemas are not Quoin's")
  const docs = await host.inject(`${base}/docs`)
  const assets = [...docs.body.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, path]) => path!)
  t.ok(assets.length > 5)
  for (const path of assets) t.equal((await host.inject(new URL(path, `http://quoin.example${base}/docs`).pathname)).statusCode, 200, path)
})

t.test('the desk asks only for what is below the prefix', async (t) => {
  const { host } = hostOf(t)
  await host.register(app, { config: testConfig({ DESK: 'on' }), prefix: '/quoin' })
  const page = (await host.inject('/quoin/desk')).body
  const addresses = [...page.matchAll(/(?:href|src)="(desk[^"]+)"/g)].map(([, address]) => address!)
  t.equal(addresses.length, 2)
  for (const address of addresses) {
    const { statusCode, body } = await host.inject(new URL(address, 'http://quoin.example/quoin/desk').pathname)
    t.equal(statusCode, 200, address)
    for (const [, used] of body.matchAll(/<use href="([^"#]+)#/g)) t.equal((await host.inject(`/quoin/${used!}`)).statusCode, 200)
  }
  for (const path of globSync('packages/desk/page/*.ts', { cwd: ROOT })) {
    t.notMatch(readFileSync(join(ROOT, path), 'utf8'), /['"`]\/(?:api|desk)\b/, `${path} asks for nothing from the root`)
  }
  t.match(page, '&quot;auth&quot;:&quot;none&quot;')
  t.strictSame((await host.inject('/quoin/api/desk/me')).json(), { user: null })
})

t.test('callers are known below a prefix as anywhere, and a token in a query is not logged', async (t) => {
  const { host, logged } = hostOf(t, {
    childLoggerFactory: (logger, bindings, options) => logger.child({ ...bindings, of: 'the host' }, options)
  })
  const env = jwtEnv(t)
  await host.register(app, { config: testConfig({ ...env, ...(await stores(t)), heartbeatSeconds: '1' }), prefix: '/quoin' })
  t.equal((await host.inject(`/quoin${LOCK}`)).statusCode, 401)
  t.equal((await host.inject({ url: `/quoin${LOCK}`, headers: bearer() })).statusCode, 200)
  t.match((await host.inject('/quoin/docs/json')).json().paths['/api/cloud/data-state/{type}/{id}'].get, {
    security: [{ bearer: [] }],
    responses: { 401: { content: { 'application/json': { examples: { UNAUTHENTICATED: { value: { success: false } } } } } } }
  })

  const token = tokenOf(claims())
  const address = await host.listen({ host: '127.0.0.1', port: 0 })
  await (await fetch(`${address}/quoin${LOCK}/events?access_token=${token}x`)).text()
  const stream = await fetch(`${address}/quoin${LOCK}/events?access_token=${token}`)
  t.equal(stream.status, 200)
  await stream.body!.cancel()
  const lines = logged()
  t.ok(lines.some(({ msg, of, req }) => msg === 'incoming request' && of === 'the host' && req.url.startsWith('/quoin/api/')))
  t.notMatch(JSON.stringify(lines), token)
})

t.test("a host's own OpenAPI document shows the operations of each prefix, without the credentials of Quoin's callers", async (t) => {
  const host = Fastify({ routerOptions: { maxParamLength: 4096 } }) as unknown as FastifyInstance
  t.teardown(() => host.close())
  await host.register(swagger, { openapi: { openapi: '3.1.0', info: { title: 'Host', version: '1' } } })
  host.get('/own', { schema: { operationId: 'checkLiveness' } }, async () => ({}))
  await host.register(app, { config: testConfig(), prefix: '/quoin' })
  await host.register(app, { config: testConfig(jwtEnv(t)), prefix: '/second/quoin' })
  await host.ready()

  const document = host.swagger() as any
  t.match(await new Validator().validate(structuredClone(document)), { valid: true })
  const operations: any[] = Object.values(document.paths).flatMap((path) => Object.values(path as object))
  const ids = operations.map(({ operationId }) => operationId)
  t.equal(new Set(ids).size, ids.length)
  for (const id of ['checkLiveness', 'quoin_checkLiveness', 'second_quoin_checkLiveness']) t.ok(ids.includes(id), id)
  t.notOk(operations.some(({ security }) => security))
  const own = (await host.inject('/second/quoin/docs/json')).json()
  t.match(own.paths['/health/live'].get, { operationId: 'checkLiveness' })
  t.match(own.paths['/api/collection'].post, { security: [{ bearer: [] }] })
})

t.test('two of them live in one process, each with its own callers, streams and settings', async (t) => {
  const { host } = hostOf(t)
  const [one, two] = [await stores(t), await stores(t)]
  await host.register(app, { config: testConfig({ ...one, DESK: 'on' }), prefix: '/one' })
  await host.register(app, { config: testConfig({ ...two, ENVIRONMENT: 'other', LOCK_REFUSED_STATUS: '200' }), prefix: '/two' })
  for (const base of ['/one', '/two']) {
    t.equal((await host.inject({ method: 'POST', url: `${base}${LOCK}`, body: lock('7') })).statusCode, 200)
  }
  t.equal((await host.inject({ method: 'POST', url: `/one${LOCK}`, body: lock('8') })).statusCode, 423)
  t.equal((await host.inject({ method: 'POST', url: `/two${LOCK}`, body: lock('8') })).statusCode, 200)
  await host.inject({ method: 'DELETE', url: `/one${LOCK}?uid=7` })
  t.strictSame((await host.inject(`/one${LOCK}`)).json().data.Items, [])
  t.match((await host.inject(`/two${LOCK}`)).json().data.Items, [{ fieldName: 'title' }])
  t.equal((await host.inject('/one/desk')).statusCode, 200)
  t.match((await host.inject('/two/desk')).json(), { code: 'NOT_FOUND' })
})

for (const prefix of [undefined, '', '/']) {
  t.test(`without a prefix (${prefix}) Quoin has its routes, and the host every other path`, async (t) => {
    const { host } = hostOf(t)
    await host.register(app, { config: testConfig(await stores(t)), ...(prefix !== undefined && { prefix }) })
    t.equal((await host.inject({ method: 'POST', url: LOCK, body: lock('7') })).statusCode, 200)
    t.match((await host.inject({ method: 'POST', url: LOCK, body: {} })).json(), { success: false })
    t.strictSame((await host.inject('/nowhere')).json(), { host: 'nothing here' })
    t.strictSame((await host.inject({ method: 'PATCH', url: LOCK })).json(), { host: 'nothing here' })
    t.match((await host.inject('/api/collections/daily?limit=1')).json().links, { self: /^\/api\/collections\// })
    t.strictSame((await host.inject('/docs/json')).json().servers, [{ url: '/' }])
  })
}

t.test('pages of other origins may call below a prefix', async (t) => {
  const { host } = hostOf(t)
  await host.register(app, { config: testConfig({ CORS_ORIGINS: 'https://desk.example' }), prefix: '/quoin' })
  const preflight = (url: string, origin: string) =>
    host.inject({ method: 'OPTIONS', url, headers: { origin, 'access-control-request-method': 'POST' } })
  const allowed = await preflight(`/quoin${LOCK}`, 'https://desk.example')
  t.strictSame([allowed.statusCode, allowed.headers['access-control-allow-origin']], [204, 'https://desk.example'])
  t.equal((await preflight(`/quoin${LOCK}`, 'https://host.example')).headers['access-control-allow-origin'], undefined)
  t.strictSame((await preflight('/own', 'https://desk.example')).json(), { host: 'nothing here' }, 'not those of the host')
  t.equal((await host.inject({ method: 'OPTIONS', url: `/quoin${LOCK}` })).statusCode, 405, 'an OPTIONS that is no preflight')
})

t.test("what a host's own hook refuses below the prefix is answered in Quoin's shape", async (t) => {
  const { host } = hostOf(t)
  const refusals = [
    [401, 'UNAUTHENTICATED'],
    [403, 'FORBIDDEN'],
    [429, 'TOO_MANY_REQUESTS'],
    [503, 'OVERLOADED'],
    [507, 'INTERNAL']
  ] as const
  host.addHook('onRequest', async ({ headers }) => {
    if (headers['x-fail']) throw Object.assign(new Error('not with me'), { statusCode: Number(headers['x-fail']) })
  })
  await host.register(app, { config: testConfig(), prefix: '/quoin' })
  for (const [status, code] of refusals) {
    const reply = await host.inject({ url: `/quoin${LOCK}`, headers: { 'x-fail': String(status) } })
    t.match(
      [reply.statusCode, reply.json()],
      [
        code === 'INTERNAL' ? 500 : status,
        { success: false, error: { code, message: code === 'INTERNAL' ? 'Internal Server Error' : 'not with me' } }
      ]
    )
  }
})

t.test("what a host's own overload protection refuses below the prefix says so, and when to try again", async (t) => {
  const { host } = hostOf(t)
  await host.register(underPressure, { healthCheck: async () => false, healthCheckInterval: 60_000, retryAfter: 7 })
  await host.register(app, { config: testConfig(), prefix: '/quoin' })
  const reply = await host.inject(`/quoin${LOCK}`)
  t.match([reply.statusCode, reply.headers['retry-after'], reply.json()], [503, '7', { success: false, error: { code: 'OVERLOADED' } }])
})

t.test("a host's own hook may compress what Quoin answers", async (t) => {
  const { host } = hostOf(t)
  host.addHook('onSend', async (_request, reply, payload) => {
    reply.header('content-encoding', 'gzip')
    return Readable.from([String(payload)]).pipe(createGzip())
  })
  await host.register(app, { config: testConfig(await stores(t)), prefix: '/quoin' })
  const { statusCode, rawPayload } = await host.inject('/quoin/api/collection/1')
  t.match([statusCode, JSON.parse(gunzipSync(rawPayload).toString())], [200, { id: [{ value: 1 }] }])
})

t.test('a host by HTTP/2 has the same names and the same own pages', async (t) => {
  const { host } = hostOf(t, { http2: true } as FastifyServerOptions)
  await host.register(app, { config: testConfig({ ...(await stores(t)), HOSTS: 'quoin.example' }), prefix: '/quoin' })
  const session = connect(await host.listen({ host: '127.0.0.1', port: 0 }))
  t.teardown(() => session.close())
  async function statusOf(headers: OutgoingHttpHeaders, body = ''): Promise<number> {
    const stream = session.request(headers, { endStream: false })
    stream.end(body)
    const [answered] = await once(stream, 'response')
    await text(stream)
    return answered[':status']
  }
  const release = (authority: string, origin: string) =>
    statusOf(
      { ':method': 'POST', ':path': `/quoin${LOCK}/release`, ':authority': authority, origin, 'content-type': 'text/plain' },
      '{"uid":"7"}'
    )
  for (const [status, authority] of [
    [200, 'quoin.example'],
    [200, 'localhost:8443'],
    [421, 'other.example']
  ] as const) {
    t.equal(await statusOf({ ':path': `/quoin${LOCK}`, ':authority': authority }), status, authority)
  }
  t.equal(await release('quoin.example', 'https://quoin.example'), 200)
  t.equal(await release('quoin.example', 'https://other.example'), 403)
})

t.test('a host may take a path with a slash at its end for the path without', async (t) => {
  const { host } = hostOf(t, { routerOptions: { maxParamLength: 4096, ignoreTrailingSlash: true } })
  await host.register(app, { config: testConfig({ ...(await stores(t)), DESK: 'on' }), prefix: '/quoin' })
  for (const path of ['/desk', '/docs', '/docs/', `${LOCK}/`]) t.match(await host.inject(`/quoin${path}`), { statusCode: 200 }, path)
  const {
    statusCode,
    headers: { location }
  } = await host.inject('/quoin/desk/?as=anna')
  t.strictSame([statusCode, location], [302, '../desk?as=anna'])
  for (const path of ['/quoin', '/quoin/']) {
    t.equal(new URL((await host.inject(path)).headers.location as string, `http://quoin.example${path}`).pathname, '/quoin/desk', path)
  }
})

t.test("a host's deadline for handlers does not end what has deadlines of its own, or none", async (t) => {
  const { host } = hostOf(t, { handlerTimeout: 300 })
  await host.register(app, { config: testConfig(await stores(t)), prefix: '/quoin' })
  const address = await host.listen({ host: '127.0.0.1', port: 0 })
  const stream = await fetch(`${address}/quoin${LOCK}/events`)
  const reader = stream.body!.getReader()
  t.match(Buffer.from((await reader.read()).value!).toString(), /^event: snapshot/m)
  await sleep(500)
  await fetch(`${address}/quoin${LOCK}`, { method: 'POST', headers: json, body: JSON.stringify(lock('7')) })
  t.match(Buffer.from((await reader.read()).value!).toString(), /^event: locked/m)
  await reader.cancel()
})

t.test('Quoin says at registration what it needs and the host does not give', async (t) => {
  const failing = async (options: FastifyServerOptions, register: object, env: Record<string, string> = {}) => {
    const host = Fastify({ logger: false, ...options }) as unknown as FastifyInstance
    await host.register(app, { config: testConfig(env), ...register })
  }
  const fine = { routerOptions: { maxParamLength: 4096 } }
  await t.rejects(failing({}, { prefix: '/quoin' }), {
    message:
      "Quoin's paths have longer parameters than this instance takes: make the instance with Fastify({ routerOptions: { maxParamLength: 4096 } }), which Fastify takes from 5.5 on"
  })
  await t.rejects(failing(fine, { config: process.env }), {
    message: /^Quoin takes its settings as the option config: register it with \{ config: readConfig\(process\.env\) \}$/
  })
  await t.rejects(failing(fine, { prefix: '/:tenant' }), { message: /^Quoin cannot be served below \/:tenant: a prefix with parameters/ })
  await t.rejects(failing(fine, {}, { CORS_ORIGINS: 'https://desk.example' }), { message: /^CORS_ORIGINS needs a prefix/ })
  await t.resolves(failing(fine, { prefix: '/quoin' }))
  const { host } = hostOf(t)
  await host.register(cors, { origin: 'https://host.example' })
  await t.rejects(Promise.resolve(host.register(app, { config: testConfig({ CORS_ORIGINS: 'https://desk.example' }), prefix: '/quoin' })), {
    message: /^The host answers for CORS already/
  })
  const { host: later } = hostOf(t)
  await later.register(app, { config: testConfig({ CORS_ORIGINS: 'https://desk.example' }), prefix: '/quoin' })
  await later.register(cors, { origin: 'https://host.example' })
  await t.rejects(Promise.resolve(later.ready()), { message: /^The host answers for CORS already/ })
  t.throws(() => readConfig({}), SettingsError)
})
