import type { IncomingHttpHeaders } from 'node:http'
import { registerHooks } from 'node:module'
import t, { type Test } from 'tap'
import { serving } from '../fixtures/loopback.ts'
import { build, buildLogged } from '../helper.ts'
import { startFakeEngine } from '../locks/fixtures/fake-engine.ts'
import { startCollector } from './fixtures/otlp.ts'
import { runNode, START } from './fixtures/processes.ts'

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

/** A CMS that answers 404 in JSON:API and keeps the header fields that came. */
async function startCms(t: Test): Promise<{ url: string; seen: IncomingHttpHeaders[] }> {
  const seen: IncomingHttpHeaders[] = []
  const url = await serving(t, (request, response) => {
    seen.push(request.headers)
    response.writeHead(404, { 'content-type': 'application/vnd.api+json' }).end('{"errors":[{"status":"404"}]}')
  })
  return { url, seen }
}

const start = (t: Test, env: Record<string, string>) => buildLogged(t, env, { level: 'warn' })

t.test('without a collector nothing of OpenTelemetry is loaded', async (t) => {
  await (await build(t)).inject(LOCK)
  t.notOk(isLoaded())
  await start(t, { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' })
  t.ok(isLoaded(), 'and with one it is')
})

t.test("the service has the name that its setting gives, else that of OpenTelemetry's attributes, else its own", async (t) => {
  const OTEL_SERVICE_NAME = 'quoin-eu'
  t.teardown(() => delete process.env['OTEL_RESOURCE_ATTRIBUTES'])
  for (const [env, attributes, name] of [
    [{}, '', 'quoin'],
    [{}, 'service.name=quoin-blue', 'quoin-blue'],
    [{ OTEL_SERVICE_NAME }, 'service.name=quoin-blue', 'quoin-eu']
  ] as const) {
    process.env['OTEL_RESOURCE_ATTRIBUTES'] = attributes
    const collector = await startCollector(t)
    const { app: fastify } = await start(t, { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...env })
    await fastify.inject({ url: '/nowhere' })
    await fastify.close()
    t.equal(collector.resource['service.name'], name)
  }
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
  const asked = spans.filter(({ name }) => name === 'cms GET')
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
        'url.path': /^\/jsonapi/,
        'http.response.status_code': 404,
        'error.type': '4xx'
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
    spans.find(({ name }) => name === 'store Query'),
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
    spans.find(({ name }) => name === 'store PutItem'),
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
    collector.spans.map(({ name, status, attributes }) => [name, status, attributes['error.type']]),
    [
      ['cms GET', ERROR, 'CMS_UNREACHABLE'],
      ['cms GET', ERROR, 'CMS_UNREACHABLE'],
      ['GET /api/collection/:id', ERROR, 'CMS_UNREACHABLE']
    ],
    'the second try too'
  )
})
