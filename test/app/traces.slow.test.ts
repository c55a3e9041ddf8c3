import { once } from 'node:events'
import { request, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import { registerHooks } from 'node:module'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { serving } from '../fixtures/loopback.ts'
import { build, buildLogged, type LoggedOptions } from '../helper.ts'
import { fails, startFakeEngine } from '../locks/fixtures/fake-engine.ts'
import { startCollector } from './fixtures/otlp.ts'
import { runNode, START } from './fixtures/processes.ts'
import manifest from '../../package.json' with { type: 'json' }

const LOCK = '/api/cloud/data-state/article/42'
const SERVER = 2
const CLIENT = 3
const ERROR = 2

const loaded = new Set<string>()
registerHooks({
  resolve(specifier, context, next) {
    const { url, ...rest } = next(specifier, context)
    loaded.add(url)
    return { url, ...rest }
  }
})
const isLoaded = () => [...loaded].some((url) => url.includes('/@opentelemetry/'))

/** A CMS that answers in JSON:API, 404 unless told otherwise and nothing at 0, and keeps the header fields that came. */
async function startCms(t: Test): Promise<{ url: string; seen: IncomingHttpHeaders[]; status: number }> {
  const cms: Awaited<ReturnType<typeof startCms>> = { url: '', seen: [], status: 404 }
  cms.url = await serving(t, (request, response) => {
    cms.seen.push(request.headers)
    if (cms.status === 0) return
    response.writeHead(cms.status, { 'content-type': 'application/vnd.api+json' }).end('{"errors":[{"status":"404"}]}')
  })
  return cms
}

const start = (t: Test, env: Record<string, string>) => buildLogged(t, env, { level: 'warn' })

t.test('without a collector nothing of OpenTelemetry is loaded', async (t) => {
  await (await build(t)).inject(LOCK)
  t.notOk(isLoaded())
  await start(t, { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' })
  t.ok(isLoaded(), 'and with one it is')
})

t.test(
  'the service has the name, the version and the environment of its settings, else of the attributes, else its own, in traces and in the log',
  async (t) => {
    t.teardown(() => delete process.env['OTEL_RESOURCE_ATTRIBUTES'])
    const own = { 'service.name': 'quoin', 'service.version': manifest.version, 'deployment.environment.name': 'test' }
    const all = 'service.name=quoin-blue, service.version=1%2e2,deployment.environment.name=Rhein%20Main,team=press'
    for (const [OTEL_RESOURCE_ATTRIBUTES, env, service] of [
      ['', {}, own],
      ['service.name=%zz,service.version=3', {}, own],
      ['nonsense', {}, own],
      [all, {}, { 'service.name': 'quoin-blue', 'service.version': '1.2', 'deployment.environment.name': 'Rhein Main', team: 'press' }],
      [all, { OTEL_SERVICE_NAME: 'quoin-eu' }, { 'service.name': 'quoin-eu', team: 'press' }]
    ] as const) {
      process.env['OTEL_RESOURCE_ATTRIBUTES'] = OTEL_RESOURCE_ATTRIBUTES
      const collector = await startCollector(t)
      const settings = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_RESOURCE_ATTRIBUTES, ...env }
      const { app: fastify, logged } = await buildLogged(t, settings)
      await fastify.inject({ url: '/nowhere' })
      const [line] = logged()
      await fastify.close()
      t.match(collector.resource, service)
      const { 'service.name': name, ...rest } = collector.resource
      for (const field of ['service.name', 'service.version', 'deployment.environment.name']) {
        t.equal(line![field], { ...rest, 'service.name': name }[field])
      }
      t.notOk(line!['team'])
    }
  }
)

/** The service before a store and a CMS, and what it sends to a collector. */
async function traced(t: Test, { env = {}, ...options }: LoggedOptions & { env?: Record<string, string> } = {}) {
  const collector = await startCollector(t)
  const engine = await startFakeEngine(t)
  const cms = await startCms(t)
  const logged = await buildLogged(
    t,
    {
      OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`,
      DYNAMODB_ENDPOINT: engine.endpoint,
      CMS_URL: `${cms.url}/cms`,
      DATA_STATE_TABLE: 'Locks',
      ...env
    },
    { level: 'warn', ...options }
  )
  const spanOf = (name: string) => collector.spans.find((span) => span.name === name)!
  return { collector, engine, cms, spanOf, ...logged }
}

/** The attributes that the conventions know, by kind of span: those of version 1.45 that are required, and others that are taken. */
const KNOWN = {
  server: {
    required: ['http.request.method', 'url.path', 'url.scheme', 'http.response.status_code'],
    taken: [
      'http.route',
      'http.request.method_original',
      'http.request.header.x-request-id',
      'server.address',
      'server.port',
      'network.protocol.version',
      'error.type'
    ]
  },
  cms: {
    required: ['http.request.method', 'server.address', 'server.port', 'url.full'],
    taken: ['http.response.status_code', 'http.request.resend_count', 'error.type', 'peer.service']
  },
  store: {
    required: ['db.system.name', 'db.operation.name', 'db.collection.name', 'server.address', 'server.port'],
    taken: ['db.response.status_code', 'error.type', 'peer.service']
  }
}

const portOf = (url: string) => Number(new URL(url).port)

t.test(
  "a server span, a client span to the CMS and one to DynamoDB have OpenTelemetry's names and attributes, and no others",
  async (t) => {
    const { app, spanOf, collector, cms, engine } = await traced(t)
    await app.inject({ url: '/api/collections/daily?q=hunter2', headers: { host: 'quoin.example:8443', 'x-request-id': 'the-one' } })
    await app.inject({ url: LOCK, headers: { host: 'quoin.example' } })
    await app.close()

    t.strictSame(spanOf('GET /api/collections/:bundle'), {
      ...spanOf('GET /api/collections/:bundle'),
      kind: SERVER,
      status: 0,
      attributes: {
        'http.request.method': 'GET',
        'http.request.header.x-request-id': ['the-one'],
        'http.route': '/api/collections/:bundle',
        'url.scheme': 'http',
        'url.path': '/api/collections/daily',
        'server.address': 'quoin.example',
        'server.port': 8443,
        'network.protocol.version': '1.1',
        'http.response.status_code': 404
      }
    })
    t.match(spanOf('GET /api/cloud/data-state/:type/:id').attributes, { 'server.address': 'quoin.example', 'server.port': 80 })
    t.strictSame(spanOf('GET'), {
      ...spanOf('GET'),
      kind: CLIENT,
      status: ERROR,
      attributes: {
        'peer.service': 'cms',
        'http.request.method': 'GET',
        'server.address': '127.0.0.1',
        'server.port': portOf(cms.url),
        'url.full': `${cms.url}/cms/jsonapi`,
        'http.response.status_code': 404,
        'error.type': '404'
      }
    })
    t.strictSame(spanOf('Query Locks'), {
      ...spanOf('Query Locks'),
      kind: CLIENT,
      status: 0,
      attributes: {
        'peer.service': 'store',
        'db.system.name': 'aws.dynamodb',
        'db.operation.name': 'Query',
        'db.collection.name': 'Locks',
        'server.address': '127.0.0.1',
        'server.port': portOf(engine.endpoint)
      }
    })
    for (const { kind, attributes } of collector.spans) {
      const { required, taken } = KNOWN[kind === SERVER ? 'server' : attributes['peer.service'] === 'cms' ? 'cms' : 'store']
      for (const name of required) t.ok(attributes[name] !== undefined, name)
      t.strictSame(
        Object.keys(attributes).filter((name) => ![...required, ...taken].includes(name)),
        []
      )
    }
  }
)

t.test('spans of failures say which, by the status, the name of the error or the code of the failure', async (t) => {
  const { app, cms, engine, spanOf, collector } = await traced(t, {
    prepare: (fastify) => {
      fastify.get('/odd', (_request, reply) => reply.code(503).send('odd'))
    }
  })
  const server = 'GET /api/collection/:id'
  await app.inject('/odd')
  cms.status = 503
  await app.inject('/api/collection/60')
  engine.script = fails('ThrottlingException')
  await app.inject(LOCK)
  engine.script = (_operation, _input, response) => response.destroy()
  await app.inject({ method: 'POST', url: LOCK, body: { fieldName: 'title', userData: { uid: '7' } } })
  engine.script = fails('ConditionalCheckFailedException')
  await app.inject({ method: 'POST', url: '/api/cloud/data-state/article/43', body: { fieldName: 'title', userData: { uid: '7' } } })
  await app.inject({ method: 'PROPFIND' as 'GET', url: LOCK })
  await app.inject({ url: '/nowhere', headers: { host: 'x'.repeat(400) } })
  await app.close()

  t.match(spanOf(server), { status: ERROR, attributes: { 'http.response.status_code': 503, 'error.type': 'CMS_UNAVAILABLE' } })
  t.match(spanOf('GET /odd'), { status: ERROR, attributes: { 'error.type': '503' } })
  t.match(spanOf('GET'), { status: ERROR, attributes: { 'http.response.status_code': 503, 'error.type': '503' } })
  t.match(spanOf('Query Locks'), {
    status: ERROR,
    attributes: { 'error.type': 'ThrottlingException', 'db.response.status_code': 'ThrottlingException' }
  })
  const writes = collector.spans.filter(({ name }) => name === 'PutItem Locks')
  t.match(writes[0], { status: ERROR, attributes: { 'error.type': 'UnansweredError' } })
  t.notOk(writes[0]!.attributes['db.response.status_code'])
  t.match(writes.at(-1), { status: 0 })
  t.notOk(writes.at(-1)!.attributes['error.type'], 'a condition that does not hold is no failure')
  t.match(spanOf('HTTP'), { attributes: { 'http.request.method': '_OTHER', 'http.request.method_original': 'PROPFIND' } })
  const lost = collector.spans.find(({ attributes }) => attributes['url.path'] === '/nowhere')!
  t.notHas(lost.attributes, { 'server.address': String }, 'no name of a host is that long')
})

t.test('the host of a target in the absolute form comes before Host, and the port of a CMS by https is known', async (t) => {
  const { app, collector } = await traced(t, { env: { CMS_URL: 'https://[::1]/cms', CMS_TIMEOUT_MS: '1000' } })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const sent = request({ port, path: 'http://ada:hunter2@other.example:81/nowhere?q=1', headers: { host: 'quoin.example' } }).end()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  await response.resume().toArray()
  await app.inject('/api/collection/60')
  await app.close()
  t.match(collector.spans.find(({ attributes }) => attributes['url.path'] === '/nowhere')!.attributes, {
    'server.address': 'other.example',
    'server.port': 81
  })
  t.match(collector.spans.find(({ kind }) => kind === CLIENT)!.attributes, {
    'server.address': '::1',
    'server.port': 443,
    'url.full': /^https:\/\/\[::1\]\/cms\/jsonapi/
  })
})

t.test('a span whose caller has hung up is an error', async (t) => {
  const { app, collector, cms } = await traced(t)
  cms.status = 0
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const aborter = new AbortController()
  const sent = fetch(`http://127.0.0.1:${port}/api/collection/60`, { signal: aborter.signal }).catch(() => {})
  while (cms.seen.length === 0) await sleep(5)
  aborter.abort()
  await sent
  await sleep(50)
  await app.close()
  t.match(
    collector.spans.find(({ kind }) => kind === SERVER),
    { status: ERROR, attributes: { 'error.type': 'aborted' } }
  )
})

t.test('each log line of a traced request has the ids of its trace and of its span, sampled or not', async (t) => {
  const { app, spanOf, logged } = await traced(t, { level: 'debug' })
  logged()
  const trace = 'a'.repeat(32)
  await app.inject({ url: '/api/collections/daily', headers: { traceparent: `00-${trace}-${'b'.repeat(16)}-01` } })
  const lines = logged().filter(({ reqId }) => reqId !== undefined)
  await app.inject({ url: '/nowhere', headers: { traceparent: `00-${'c'.repeat(32)}-${'b'.repeat(16)}-00` } })
  const unsampled = logged().filter(({ reqId }) => reqId !== undefined)
  await app.inject('/health/live')
  t.ok(
    logged().every((line) => line['trace_id'] === undefined),
    'a health check is not traced'
  )
  await app.close()
  t.ok(lines.length >= 2)
  for (const line of lines) {
    t.strictSame([line['trace_id'], line['span_id'], line['trace_flags']], [trace, spanOf('GET /api/collections/:bundle').spanId, '01'])
  }
  t.ok(unsampled.length >= 2)
  for (const line of unsampled) t.match(line, { trace_id: 'c'.repeat(32), span_id: /^[0-9a-f]{16}$/, trace_flags: '00' })
})

t.test('a request is a span, below that of its caller, and each call to the CMS and the store is one below it', async (t) => {
  const collector = await startCollector(t)
  const engine = await startFakeEngine(t)
  const cms = await startCms(t)
  process.env['OTEL_RESOURCE_ATTRIBUTES'] = 'deployment.environment.name=test'
  t.teardown(() => delete process.env['OTEL_RESOURCE_ATTRIBUTES'])
  const { app: fastify, lines } = await start(t, {
    OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`,
    OTEL_SERVICE_NAME: 'quoin-test',
    DYNAMODB_ENDPOINT: engine.endpoint,
    CMS_URL: cms.url
  })

  const trace = 'a'.repeat(32)
  const parent = 'b'.repeat(16)
  const headers = {
    traceparent: `00-${trace}-${parent}-01`,
    tracestate: 'vendor=1',
    'x-request-id': 'the-one',
    authorization: `Basic ${btoa('ada:hunter2')}`,
    cookie: 'SESS=hunter2',
    'x-csrf-token': 'hunter2'
  }
  await fastify.inject({ url: '/api/collections/daily?q=hunter2', headers })
  await fastify.inject({ url: `${LOCK}?excludeUid=hunter2`, headers })
  await fastify.inject({
    method: 'POST',
    url: LOCK,
    body: { fieldName: 'title', userData: { uid: '7', name: 'hunter2' }, payload: 'hunter2' }
  })
  await fastify.inject({ url: '/nowhere?token=hunter2' })
  await fastify.inject({ url: '/%zz?token=hunter2' })
  await fastify.inject({ url: '/health/ready' })
  await fastify.close()
  t.strictSame(
    lines.filter((line) => !line.includes('not ready')),
    []
  )

  const { spans, resource } = collector
  t.match(resource, { 'service.name': 'quoin-test', 'service.version': /^\d/, 'deployment.environment.name': 'test' })
  t.notMatch(JSON.stringify(spans), /hunter2|YWRh/, 'nothing of the query, the credentials or the bodies')
  t.strictSame(
    spans.filter(({ kind }) => kind === SERVER).map(({ name }) => name),
    ['GET /api/collections/:bundle', 'GET /api/cloud/data-state/:type/:id', 'POST /api/cloud/data-state/:type/:id', 'GET', 'GET'],
    'named by their routes; health checks are left out'
  )

  const listed = spans.find(({ name }) => name === 'GET /api/collections/:bundle')!
  t.match(listed, {
    traceId: trace,
    parentSpanId: parent,
    status: 0,
    attributes: {
      'http.request.method': 'GET',
      'http.route': '/api/collections/:bundle',
      'http.response.status_code': 404,
      'http.request.header.x-request-id': ['the-one']
    }
  })
  const asked = spans.filter(({ name, kind }) => name === 'GET' && kind === CLIENT)
  t.ok(asked.length > 0)
  for (const [index, span] of asked.entries()) {
    t.match(span, {
      traceId: trace,
      parentSpanId: listed.spanId,
      kind: CLIENT,
      status: ERROR,
      attributes: {
        'peer.service': 'cms',
        'http.request.method': 'GET',
        'url.full': /^http:\/\/127\.0\.0\.1:\d+\/jsonapi/,
        'http.response.status_code': 404,
        'error.type': '404'
      }
    })
    t.ok(span.ms > 0 && span.ms <= listed.ms, `${span.ms} of ${listed.ms} ms`)
    t.equal(cms.seen[index]!['traceparent'], `00-${trace}-${span.spanId}-01`, 'the CMS is told whose call it is')
    t.equal(cms.seen[index]!['tracestate'], 'vendor=1')
    t.strictSame(
      Object.keys(cms.seen[index]!).sort(),
      ['accept', 'accept-encoding', 'authorization', 'connection', 'host', 'traceparent', 'tracestate', 'x-request-id'],
      'and nothing else of the caller'
    )
  }

  const found = spans.find(({ name }) => name === 'GET /api/cloud/data-state/:type/:id')!
  t.match(found, { traceId: trace, status: 0, attributes: { 'http.response.status_code': 200 } })
  t.match(
    spans.find(({ name }) => name === 'Query DataState'),
    {
      traceId: trace,
      parentSpanId: found.spanId,
      kind: CLIENT,
      status: 0,
      attributes: { 'peer.service': 'store', 'db.system.name': 'aws.dynamodb', 'db.operation.name': 'Query' }
    }
  )
  const written = spans.find(({ name }) => name === 'POST /api/cloud/data-state/:type/:id')!
  t.equal(written.parentSpanId, '', 'without a caller that traces it is the first')
  t.not(written.traceId, trace)
  t.match(
    spans.find(({ name }) => name === 'PutItem DataState'),
    { traceId: written.traceId, parentSpanId: written.spanId }
  )
})

t.test("the collector's own header fields come from the settings", async (t) => {
  const seen: IncomingHttpHeaders[] = []
  const url = await serving(t, (request, response) => {
    seen.push(request.headers)
    response.end()
  })
  const { app: fastify } = await start(t, { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_EXPORTER_OTLP_HEADERS: 'api-key=a%2Cb, x-site=1' })
  await fastify.inject('/nowhere')
  await fastify.close()
  t.match(seen, [{ 'api-key': 'a,b', 'x-site': '1' }])
})

t.test('what the caller does not sample is not sampled, and the CMS hears of that', async (t) => {
  const collector = await startCollector(t)
  const cms = await startCms(t)
  const { app: fastify } = await start(t, { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/v1/traces`, CMS_URL: cms.url })
  await fastify.inject({ url: '/api/collection/60', headers: { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-00` } })
  await fastify.close()
  t.strictSame(collector.spans, [])
  t.match(cms.seen[0]!['traceparent'], new RegExp(`^00-${'a'.repeat(32)}-[0-9a-f]{16}-00$`))
})

t.test('a collector that fails is logged once, one that hangs does not hold the end, and requests notice neither', async (t) => {
  const collector = await startCollector(t)
  const { app: fastify, lines } = await start(t, { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url })
  collector.instead = (_request, response) => response.writeHead(400).end()
  t.equal((await fastify.inject('/nowhere')).statusCode, 404)
  await fastify.close()
  t.match(
    lines.map((line) => JSON.parse(line)),
    [{ level: 40, cause: 'Bad Request', msg: /traces could not be sent/ }]
  )
  t.equal(lines.length, 1)

  const second = await start(t, { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url })
  collector.instead = () => {}
  await second.app.inject('/nowhere')
  const started = performance.now()
  await second.app.close()
  const ms = performance.now() - started
  t.ok(ms > 1000 && ms < 8000, `after ${ms} ms`)
})

t.test('SIGTERM sends what has not been sent', async (t) => {
  const collector = await startCollector(t)
  const { child, ended, says } = runNode(t, START, {
    env: {
      PORT: '0',
      ENVIRONMENT: 'test',
      CMS_URL: 'http://127.0.0.1:9',
      DYNAMODB_ENDPOINT: 'http://127.0.0.1:9',
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url
    }
  })
  const [, address] = await says(/listening at (http:\/\/127\.0\.0\.1:\d+)/)
  await fetch(`${address}/api/collection/60`)
  t.strictSame(collector.spans, [])
  child.kill('SIGTERM')
  t.equal(await ended, 0)
  t.strictSame(
    collector.spans.map(({ name, status, attributes }) => [
      name,
      status,
      attributes['error.type'],
      attributes['http.request.resend_count']
    ]),
    [
      ['GET', ERROR, 'CMS_UNREACHABLE', undefined],
      ['GET', ERROR, 'CMS_UNREACHABLE', 1],
      ['GET /api/collection/:id', ERROR, 'CMS_UNREACHABLE', undefined]
    ],
    'the second try too'
  )
})
