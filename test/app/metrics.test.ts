import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { METHODS, request } from 'node:http'
import { createRequire } from 'node:module'
import { connect, createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { createCms } from '../../packages/drupal-stand-in/cms.ts'
import { newspaper } from '../../dev/content.ts'
import { build, buildLogged } from '../helper.ts'
import { startEngine } from '../locks/fixtures/engines.ts'
import { emptyDirectory, ROOT, runNode, START } from './fixtures/processes.ts'

const LOCK = '/api/cloud/data-state/article/42'
const LOCK_ROUTE = '/api/cloud/data-state/:type/:id'
const { cache } = createRequire(import.meta.url)
const isLoaded = () => Object.keys(cache).some((path) => path.includes('@prometheus-io'))

/** The service with metrics, and where they are. */
async function start(t: Test, env: Record<string, string> = {}): Promise<{ fastify: FastifyInstance; url: string }> {
  const { app: fastify, logged } = await buildLogged(
    t,
    { METRICS_PORT: '0', ...env },
    {
      prepare({ readings }) {
        readings.set('quoin_test_gauge', { type: 'gauge', help: 'A gauge of a part', read: () => 42 })
        readings.set('quoin_test_pairs', {
          type: 'counter',
          help: 'A counter with two labels',
          label: ['tool', 'outcome'],
          read: () => [{ labels: { tool: 'a', outcome: 'ok' }, value: 3 }]
        })
        readings.set('quoin_test_total', { type: 'counter', help: 'A counter of a part', label: 'which', read: () => ({ one: 1, two: 2 }) })
      }
    }
  )
  await fastify.listen({ host: '127.0.0.1', port: 0 })
  const said = logged().map(({ msg }) => msg as string)
  t.match(said[0], /^Metrics at http:\/\/127\.0\.0\.1:\d+\/metrics$/)
  t.match(said[1], /^Server listening at /, 'the metrics are there before the service is')
  return { fastify, url: said[0]!.replace('Metrics at ', '') }
}

/** The samples of one metric: its labels and their value. */
async function samples(url: string, name: string): Promise<Map<string, number>> {
  const text = await (await fetch(url)).text()
  const found = text.matchAll(new RegExp(`^${name}(?:\\{(.*)\\})? (\\S+)$`, 'gm'))
  return new Map([...found].map(([, labels = '', value]) => [labels, Number(value)]))
}

t.test('without METRICS_PORT nothing is measured and the library is not even loaded', async (t) => {
  const fastify = await build(t)
  t.equal((await fastify.inject('/metrics')).statusCode, 404)
  t.notOk(isLoaded())
})

t.test('requests are counted by route and status, whatever callers send', async (t) => {
  const { endpoint } = await startEngine(t, 'dynalite')
  const { fastify, url } = await start(t, { DYNAMODB_ENDPOINT: endpoint })
  const counts = () => samples(url, 'quoin_http_request_duration_seconds_count')
  for (let i = 0; i < 20; i++) {
    await fastify.inject(`/api/cloud/data-state/article/${i}`)
    await fastify.inject(`/nowhere/${i}?x=${i}`)
    await fastify.inject(`/%zz${i}`)
  }
  await fastify.inject('/api/cloud/data-state/no-de/1')
  const { port } = fastify.server.address() as AddressInfo
  for (const method of METHODS.filter((method) => method !== 'CONNECT')) {
    const [response] = await once(request({ host: '127.0.0.1', port, method, path: '/nowhere' }).end(), 'response')
    response.resume()
  }
  t.strictSame(
    await counts(),
    new Map([
      [`method="GET",route="${LOCK_ROUTE}",status="200"`, 20],
      ['method="any",route="none",status="404"', 20 + METHODS.length - 1],
      ['method="any",route="none",status="400"', 20],
      [`method="GET",route="${LOCK_ROUTE}",status="400"`, 1]
    ])
  )
  const gone = connect(port, '127.0.0.1')
  gone.write(`POST ${LOCK} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n{`)
  await once(gone, 'data')
  gone.resetAndDestroy()
  const aborted = async () => (await counts()).get(`method="POST",route="${LOCK_ROUTE}",status="aborted"`)
  for (const deadline = Date.now() + 10_000; !(await aborted()) && Date.now() < deadline;) await sleep(10)
  t.equal(await aborted(), 1)
  const sums = await samples(url, 'quoin_http_request_duration_seconds_sum')
  const sum = sums.get(`method="GET",route="${LOCK_ROUTE}",status="200"`)!
  t.ok(sum > 0.001 && sum < 20, `${sum} seconds`)
})

t.test('calls to the CMS and the store are counted by operation and outcome, and what became of locks', async (t) => {
  const { endpoint } = await startEngine(t, 'dynalite')
  const cms = createCms({ content: newspaper() })
  t.teardown(() => cms.close())
  const { fastify, url } = await start(t, { DYNAMODB_ENDPOINT: endpoint, CMS_URL: await cms.listen(), LOCK_LEASE_SECONDS: '60' })
  const lock = (uid: string, method: 'POST' | 'PUT' = 'POST', headers: Record<string, string> = {}) =>
    fastify.inject({ method, url: LOCK, headers, body: { fieldName: 'title', userData: { uid }, payload: 'text' } })
  await lock('7')
  await lock('8')
  await lock('8', 'PUT', { 'if-match': '"another"' })
  await lock('8', 'PUT')
  await fastify.inject({ method: 'DELETE', url: `${LOCK}?uid=8` })
  await fastify.inject({ method: 'POST', url: `${LOCK}/release?uid=8` })
  t.strictSame(
    await samples(url, 'quoin_lock_outcomes_total'),
    new Map([
      ['outcome="acquired"', 2],
      ['outcome="held"', 1],
      ['outcome="changed"', 1],
      ['outcome="released"', 2],
      ['outcome="draft_kept"', 1]
    ])
  )

  await fastify.inject('/api/collection/60')
  await fastify.inject('/api/collection/6000')
  cms.settings.maintenance = true
  await fastify.inject('/api/collection/60')
  await cms.close()
  await fastify.inject('/api/collection/60')
  const calls = await samples(url, 'quoin_upstream_call_duration_seconds_count')
  t.equal(calls.get('upstream="store",operation="PutItem",outcome="condition"'), 3)
  t.ok(calls.get('upstream="store",operation="PutItem",outcome="ok"')! >= 3)
  t.ok(calls.get('upstream="cms",operation="GET",outcome="2xx"')! >= 2)
  t.ok(calls.get('upstream="cms",operation="GET",outcome="5xx"')! >= 1)
  t.ok(calls.get('upstream="cms",operation="GET",outcome="CMS_UNREACHABLE"')! >= 1)
  t.strictSame(
    await samples(url, 'quoin_cms_circuit_breaker'),
    new Map([
      ['state="closed"', 1],
      ['state="open"', 0],
      ['state="half-open"', 0]
    ])
  )
  t.strictSame(await samples(url, 'quoin_stale_answers_total'), new Map([['', 2]]))
  for (let i = 0; i < 10; i++) await fastify.inject('/api/collection/bundles')
  t.equal((await samples(url, 'quoin_cms_circuit_breaker')).get('state="open"'), 1)
  t.equal(
    [...calls.keys()].filter(
      (labels) =>
        !/^upstream="(?:store",operation="(?:PutItem|DeleteItem|GetItem|Query)|cms",operation="GET)",outcome="(?:ok|condition|[245]xx|CMS_UNREACHABLE)"$/.test(
          labels
        )
    ).length,
    0,
    'and nothing else'
  )
})

t.test('a store that fails is an outcome by its code', async (t) => {
  const { fastify, url } = await start(t)
  await fastify.inject(LOCK)
  const calls = await samples(url, 'quoin_upstream_call_duration_seconds_count')
  // A store that has not told its time yet is asked for it before anything else.
  t.strictSame([...calls.keys()], ['upstream="store",operation="GetItem",outcome="STORE_UNAVAILABLE"'])
})

t.test('the endpoint shows what each part adds and the process, on its port alone, and ends with the service', async (t) => {
  const { endpoint } = await startEngine(t, 'dynalite')
  const { fastify, url } = await start(t, { DYNAMODB_ENDPOINT: endpoint })
  const reply = await fetch(url)
  t.match(reply.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8')
  const text = await reply.text()
  t.strictSame(await samples(url, 'quoin_test_pairs'), new Map([['tool="a",outcome="ok"', 3]]))
  t.match(text, /^# HELP quoin_test_gauge A gauge of a part\n# TYPE quoin_test_gauge gauge\nquoin_test_gauge 42$/m)
  for (let i = 0; i < 2; i++) {
    t.strictSame(
      await samples(url, 'quoin_test_total'),
      new Map([
        ['which="one"', 1],
        ['which="two"', 2]
      ]),
      'a counter is read, not added up'
    )
  }
  for (const name of [
    'process_cpu_seconds_total',
    'nodejs_eventloop_lag_p99_seconds',
    'nodejs_heap_size_used_bytes',
    'nodejs_gc_duration_seconds'
  ]) {
    t.match(text, `# TYPE ${name} `)
  }
  t.equal((await fastify.inject('/metrics')).statusCode, 404, 'not on the port of the service')
  t.equal((await fetch(url.replace('/metrics', '/health/live'))).status, 404, 'nor the service on this one')

  const { port } = fastify.server.address() as AddressInfo
  t.match(text, /^quoin_event_streams 0$/m)
  const stream = await fetch(`http://127.0.0.1:${port}${LOCK}/events`)
  t.match(await (await fetch(url)).text(), /^quoin_event_streams 1\n[^]*^quoin_watched_entities 1$/m)
  await stream.body!.cancel()

  const open = connect(Number(new URL(url).port), '127.0.0.1')
  await once(open, 'connect')
  await fastify.close()
  await t.rejects(fetch(url), 'the port is closed, an open connection or not')

  const page = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8')
  const names = [...text.matchAll(/^# TYPE (\S+) /gm)]
    .map(([, name]) => name!)
    .filter((name) => !/^(?:process|nodejs)_|^quoin_test_/.test(name))
  // Without EVENTS_BUS_URL and MCP=on these are not shown.
  names.push(
    'quoin_mcp_calls_total',
    'quoin_bus_messages_total',
    'quoin_bus_round_trip_seconds',
    'quoin_bus_silent_instances',
    'quoin_bus_up'
  )
  t.strictSame(
    [...new Set([...page.matchAll(/\bquoin_[a-z_]+\b/g)].map(([name]) => name))].sort(),
    names.sort(),
    'docs/operations.md has every metric and no other'
  )
})

t.test('a METRICS_PORT that is in use is named', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1')
  t.teardown(() => taken.close())
  await once(taken, 'listening')
  const { port } = taken.address() as AddressInfo
  const { ended, output } = runNode(t, START, {
    cwd: emptyDirectory(t),
    env: {
      PORT: '0',
      ENVIRONMENT: 'test',
      CMS_URL: 'http://127.0.0.1:9',
      DYNAMODB_ENDPOINT: 'http://127.0.0.1:9',
      METRICS_PORT: String(port)
    }
  })
  t.equal(await ended, 1)
  t.strictSame(output(), {
    stdout: '',
    stderr: `Quoin cannot start with these settings:\n  METRICS_PORT is "${port}" but listen EADDRINUSE: address already in use 127.0.0.1:${port}\n`
  })
})
