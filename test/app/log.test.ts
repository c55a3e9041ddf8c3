import { once } from 'node:events'
import fs, { openSync, readFileSync } from 'node:fs'
import { request, type IncomingMessage, type OutgoingHttpHeaders, type ServerResponse } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { mock } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { fastifyOptions, standardOutput } from '../../config/fastify.ts'
import { Failure, failures } from '#lib/errors.ts'
import { serving } from '../fixtures/loopback.ts'
import { buildLogged } from '../helper.ts'
import { fails, say, startFakeEngine, works } from '../locks/fixtures/fake-engine.ts'
import { ROOT } from './fixtures/processes.ts'
import manifest from '../../package.json' with { type: 'json' }

type Line = Record<string, unknown>

const LOCK = '/api/cloud/data-state/article/42'
const LOCK_ROUTE = '/api/cloud/data-state/:type/:id'
const lock = { fieldName: 'title', userData: { uid: '7' } }
const json = { 'content-type': 'application/json' }

const FIELDS = [
  'level',
  'time',
  'pid',
  'hostname',
  'service.name',
  'service.version',
  'deployment.environment.name',
  'reqId',
  'method',
  'route',
  'path',
  'status',
  'aborted',
  'code',
  'uid',
  'ms',
  'upstreamMs',
  'upstreamCalls',
  'msg'
]

/** A CMS that says what a test wants; nothing until then. */
async function startCms(t: Test): Promise<{ url: string; script: (request: IncomingMessage, response: ServerResponse) => void }> {
  const cms = { url: '', script: (_request: IncomingMessage, _response: ServerResponse) => {} }
  cms.url = await serving(t, (request, response) => cms.script(request, response))
  return cms
}

/** Routes that fail or take long, and a caller who is known by any credentials. */
function prepare(fastify: FastifyInstance): void {
  fastify.addHook('onRequest', async (request) => {
    if (request.headers.authorization) Object.assign(request, { identity: { uid: '7' } })
  })
  fastify.get('/api/fails', async () => {
    throw new TypeError('cannot read x', { cause: new Error('the innermost') })
  })
  fastify.get('/api/addresses', async () => {
    throw new Failure('CMS_UNREACHABLE', 'The CMS could not be reached', {
      cause: Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' })
    })
  })
  fastify.get('/api/large', async () => 'x'.repeat(50_000_000))
  fastify.get('/api/stream', (_request, reply) =>
    reply.send(
      new Readable({
        read() {
          setTimeout(() => this.push('x'), 5)
        }
      })
    )
  )
}

/** The service, listening, before a store and a CMS that say what a test wants. */
async function start(t: Test, level: string) {
  const engine = await startFakeEngine(t)
  const cms = await startCms(t)
  const env = { DYNAMODB_ENDPOINT: engine.endpoint, CMS_URL: cms.url, CMS_TIMEOUT_MS: '1000', EVENTS_POLL_MS: '100' }
  const { app, lines } = await buildLogged(t, env, { level, prepare })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const port = (app.server.address() as AddressInfo).port
  lines.length = 0

  async function send(
    method: string,
    path: string,
    { headers = {}, body }: { headers?: OutgoingHttpHeaders; body?: object | string } = {}
  ) {
    const text = typeof body === 'object' ? JSON.stringify(body) : body
    const sent = request({ host: '127.0.0.1', port, method, path, headers: { ...(text !== undefined && json), ...headers } })
    // What is too large is answered before it has been sent whole.
    sent.on('error', () => {}).end(text)
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    return { status: response.statusCode!, headers: response.headers, text: (await response.setEncoding('utf8').toArray()).join('') }
  }

  /** Waits until so many lines were written, and takes them. */
  async function taken(count: number): Promise<Line[]> {
    for (const deadline = Date.now() + 10_000; lines.length < count && Date.now() < deadline;) await sleep(5)
    await sleep(20)
    return lines.splice(0).map((line) => JSON.parse(line))
  }

  return { port, engine, cms, send, taken }
}

const { port, engine, cms, send, taken } = await start(t, 'info')

/** Sends bytes over a connection of their own, which is reset when something has come back, or something else has happened. */
async function hangUpAfter(bytes: string, happened?: Promise<unknown>): Promise<void> {
  const socket = connect(port, '127.0.0.1')
  socket.write(bytes)
  await (happened ?? once(socket, 'data'))
  socket.resetAndDestroy()
}

t.test('a request is one line, with what an operator needs', async (t) => {
  engine.script = works
  const { headers } = await send('POST', `${LOCK}?x=1`, { body: lock, headers: { 'x-request-id': 'the-one', authorization: 'Basic x' } })
  t.equal(headers['x-request-id'], 'the-one')
  const lines = await taken(1)
  t.equal(lines.length, 1)
  const { time, pid, hostname, ms, upstreamMs, ...line } = lines[0]!
  t.strictSame(line, {
    level: 30,
    'service.name': 'quoin',
    'service.version': manifest.version,
    'deployment.environment.name': 'test',
    reqId: 'the-one',
    method: 'POST',
    route: LOCK_ROUTE,
    path: LOCK,
    status: 200,
    uid: '7',
    upstreamCalls: 1,
    msg: 'answered'
  })
  t.ok(Number(ms) >= Number(upstreamMs) && Number(upstreamMs) > 0, `${ms} ms, ${upstreamMs} of them for the store`)

  engine.script = (operation, input, response) => {
    setTimeout(() => works(operation, input, response), 50)
  }
  await send('GET', LOCK)
  t.ok(Number((await taken(1))[0]!['upstreamMs']) >= 49, 'the time that the store took')

  engine.script = works
  const late = request({ host: '127.0.0.1', port, method: 'POST', path: LOCK, headers: json })
  late.write('{"fieldName":"title",')
  await sleep(50)
  late.end('"userData":{"uid":7}}')
  await once(late, 'response')
  t.match(await taken(1), [{ status: 200, upstreamCalls: 1 }], 'also when the body comes late')
})

t.test('every kind of request and failure is one line, and one more of level error from 500 on', async (t) => {
  const drupal =
    (status: number, text: string, type = 'application/vnd.api+json') =>
    () => {
      cms.script = (_request, response) => response.writeHead(status, { 'content-type': type }).end(text)
    }
  const html = '<!doctype html><html><head><title>Bad Gateway</title></head><body>nginx</body></html>'
  const held = (_operation: string, _input: object, response: ServerResponse) => {
    say(response, 400, {
      __type: 'x#ConditionalCheckFailedException',
      Item: {
        env_entityType_entityId: { S: 'test-article-42' },
        userData: { M: { uid: { S: '8' } } },
        timestamp: { N: '1' },
        fieldName: { S: 'title' }
      }
    })
  }
  const edition = '/api/collection/60'
  const kinds: Array<{
    method: string
    path: string
    body?: object | string
    before?: () => void
    line: Line
    route?: string
    error?: Line
  }> = [
    { method: 'GET', path: LOCK, route: LOCK_ROUTE, line: { path: LOCK, status: 200, upstreamCalls: 1 } },
    { method: 'HEAD', path: LOCK, route: LOCK_ROUTE, line: { status: 200 } },
    { method: 'PUT', path: LOCK, body: lock, route: LOCK_ROUTE, line: { status: 200, upstreamCalls: 1 } },
    { method: 'DELETE', path: `${LOCK}?uid=7`, route: LOCK_ROUTE, line: { path: LOCK, status: 200 } },
    { method: 'POST', path: `${LOCK}/release`, body: { uid: '7' }, route: `${LOCK_ROUTE}/release`, line: { status: 200 } },
    { method: 'GET', path: '/docs/json', route: '/docs/json', line: { status: 200, upstreamCalls: 0 } },
    { method: 'GET', path: `http://quoin.example${LOCK}?q=1`, route: LOCK_ROUTE, line: { path: LOCK, status: 200 } },
    {
      method: 'GET',
      path: `http://ada:secret@example.org${LOCK}?q=1`,
      route: LOCK_ROUTE,
      line: { path: LOCK, status: 421, code: 'MISDIRECTED', upstreamCalls: 0 }
    },
    { method: 'POST', path: LOCK, body: {}, route: LOCK_ROUTE, line: { status: 400, code: 'BAD_REQUEST', upstreamCalls: 0 } },
    { method: 'POST', path: LOCK, body: '{"half', route: LOCK_ROUTE, line: { status: 400, code: 'BAD_REQUEST' } },
    {
      method: 'POST',
      path: LOCK,
      body: `"${'x'.repeat(fastifyOptions.bodyLimit)}"`,
      route: LOCK_ROUTE,
      line: { status: 413, code: 'TOO_LARGE' }
    },
    { method: 'GET', path: '/nowhere?q=1', line: { path: '/nowhere', status: 404, code: 'NOT_FOUND' } },
    { method: 'PATCH', path: LOCK, line: { path: LOCK, status: 405, code: 'METHOD_NOT_ALLOWED' } },
    { method: 'GET', path: '/%zz?q=1', line: { path: '/%zz', status: 400, code: 'BAD_REQUEST' } },
    {
      method: 'GET',
      path: `/api/collection/${'1'.repeat(5000)}`,
      line: { path: `/api/collection/${'1'.repeat(240)}`, status: 414, code: 'URI_TOO_LONG' }
    },
    {
      method: 'POST',
      path: LOCK,
      body: lock,
      before: () => {
        engine.script = held
      },
      route: LOCK_ROUTE,
      line: { status: 423, code: 'FIELD_LOCKED' }
    },
    {
      method: 'GET',
      path: LOCK,
      before: () => {
        engine.script = fails('AccessDeniedException')
      },
      route: LOCK_ROUTE,
      line: { status: 500, code: 'STORE_FAILED', upstreamCalls: 1 },
      error: { err: { message: /: AccessDeniedException: / }, msg: 'The lock store could not do what was asked' }
    },
    {
      method: 'GET',
      path: LOCK,
      before: () => {
        engine.script = fails('ThrottlingException')
      },
      route: LOCK_ROUTE,
      line: { status: 503, code: 'STORE_UNAVAILABLE', upstreamCalls: 1 },
      error: { err: { message: /: ThrottlingException: / }, msg: /cannot be reached or is too slow/ }
    },
    {
      method: 'GET',
      path: LOCK,
      before: () => {
        engine.script = (_operation, _input, response) => response.destroy()
      },
      route: LOCK_ROUTE,
      line: { status: 503, code: 'STORE_UNAVAILABLE' },
      error: { err: { message: /: TimeoutError: no answer from the store: SocketError: other side closed$/ } }
    },
    {
      method: 'GET',
      path: '/api/collections/daily?q=harbour',
      before: () => {
        cms.script = () => {}
      },
      route: '/api/collections/:bundle',
      line: { path: '/api/collections/daily', status: 504, code: 'CMS_TIMEOUT' },
      error: { err: { message: /: TimeoutError: / }, msg: 'The CMS did not answer within 1000 ms' }
    },
    {
      method: 'GET',
      path: edition,
      before: () => {
        cms.script = (_request, response) => response.destroy()
      },
      route: '/api/collection/:id',
      line: { status: 502, code: 'CMS_UNREACHABLE' },
      error: { err: { message: /: SocketError: other side closed$/ } }
    },
    {
      method: 'GET',
      path: edition,
      before: drupal(500, '{"jsonapi":{},"errors":[{"title":"Internal Server Error","status":"500","detail":"SQLSTATE"}]}'),
      route: '/api/collection/:id',
      line: { status: 502, code: 'CMS_FAILED' },
      error: { err: { message: /: the CMS answered 500: Internal Server Error$/ } }
    },
    {
      method: 'GET',
      path: edition,
      before: drupal(502, html, 'text/html'),
      route: '/api/collection/:id',
      line: { status: 502, code: 'CMS_FAILED' },
      error: { err: { message: /: the CMS answered 502: Bad Gateway$/ } }
    },
    {
      method: 'GET',
      path: edition,
      before: drupal(200, 'ok', 'text/plain'),
      route: '/api/collection/:id',
      line: { status: 502, code: 'CMS_INVALID_RESPONSE' },
      error: { err: { message: /: the CMS answered 200: ok$/ }, msg: /are CMS_URL and CMS_JSONAPI_PATH right/ }
    },
    {
      method: 'GET',
      path: edition,
      before: drupal(503, 'maintenance', 'text/plain'),
      route: '/api/collection/:id',
      line: { status: 503, code: 'CMS_UNAVAILABLE' },
      error: { err: { message: /: the CMS answered 503: 11 characters$/ } }
    },
    {
      method: 'GET',
      path: '/api/addresses',
      route: '/api/addresses',
      line: { status: 502, code: 'CMS_UNREACHABLE' },
      error: { err: { message: /: AggregateError: ECONNREFUSED$/ } }
    },
    {
      method: 'GET',
      path: '/api/fails',
      route: '/api/fails',
      line: { status: 500, code: 'INTERNAL' },
      error: { msg: 'Internal Server Error', err: { message: /cannot read x.*the innermost/, stack: /log\.test\.ts/ } }
    }
  ]
  for (const { method, path, body, before, line, route, error } of kinds) {
    engine.script = works
    before?.()
    const reply = await send(method, path, body === undefined ? {} : { body })
    const lines = await taken(error ? 2 : 1)
    const what = `${method} ${path.slice(0, 60)} ${line['status']} ${line['code'] ?? ''}`
    const reqId = reply.headers['x-request-id']
    t.equal(reply.status, line['status'], what)
    t.equal(lines.length, error ? 2 : 1, what)
    const told = lines.at(-1)!
    t.match(told, { level: 30, msg: 'answered', reqId, method, ms: Number, upstreamMs: Number, upstreamCalls: Number, ...line }, what)
    t.equal(told['route'], route, `${what}: the route, if there is one`)
    t.strictSame(
      Object.keys(told).filter((name) => !FIELDS.includes(name)),
      [],
      `${what}: nothing but what is documented`
    )
    if (!error) continue
    t.match(lines[0], { level: 50, reqId, method, route, err: { code: line['code'] } }, what)
    t.match(lines[0], error, what)
    t.equal('stack' in (lines[0]!['err'] as object), line['code'] === 'INTERNAL', `${what}: a stack only where it is not known what broke`)
  }
})

t.test('a caller that hangs up is no error of the service, and one line all the same', async (t) => {
  engine.script = works
  const asked = new Promise<void>((resolve) => {
    cms.script = () => resolve()
  })
  await hangUpAfter('GET /api/collection/61 HTTP/1.1\r\nHost: x\r\n\r\n', asked)
  t.match(
    await taken(1),
    [{ level: 30, path: '/api/collection/61', aborted: true, upstreamCalls: 1, msg: 'answered' }],
    'while the CMS is asked'
  )
  await sleep(1050)
  const late = await taken(0)
  t.ok(
    late.every(({ msg }) => msg !== 'answered'),
    'what becomes of it later is no second line'
  )

  await hangUpAfter(
    `POST ${LOCK} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n{"half`
  )
  const half = await taken(1)
  t.match(half, [{ level: 30, path: LOCK, aborted: true }], 'while it still sends')
  t.equal(half.length, 1)

  for (const path of ['/api/large', '/api/stream']) {
    await hangUpAfter(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`)
    const lines = await taken(1)
    t.match(lines, [{ level: 30, path, status: 200, aborted: true }], 'while it is being answered')
    t.equal(lines.length, 1)
  }
})

t.test('an event stream is one line when it ends, without what was read for it meanwhile', async (t) => {
  engine.script = works
  engine.operations.length = 0
  const isRead = () => engine.operations.filter((operation) => operation === 'Query').length > 2
  await hangUpAfter(
    `GET ${LOCK}/events HTTP/1.1\r\nHost: x\r\n\r\n`,
    (async () => {
      while (!isRead()) await sleep(5)
    })()
  )
  const lines = await taken(1)
  t.match(lines, [{ route: `${LOCK_ROUTE}/events`, status: 200, aborted: true, upstreamCalls: 1 }])
  t.equal(lines.length, 1)
})

t.test('what is not HTTP is one line too', async (t) => {
  await hangUpAfter('NONSENSE\r\n\r\n')
  t.match(await taken(1), [{ level: 30, reqId: /^[0-9a-f-]{36}$/, status: 400, code: 'BAD_REQUEST', msg: 'answered' }])
  await hangUpAfter(`GET ${LOCK} HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(20_000)}\r\n\r\n`)
  t.match(await taken(1), [{ level: 30, status: 431, code: 'HEADERS_TOO_LARGE' }])
})

t.test('health checks are quiet but for a change, and many of them ask each dependency once a second', async (t) => {
  const asked = { store: 0, cms: 0 }
  engine.script = (operation, input, response) => {
    asked.store++
    fails('AccessDeniedException')(operation, input, response)
  }
  cms.script = (_request, response) => {
    asked.cms++
    response.writeHead(503, { 'retry-after': '1' }).end()
  }
  const ready = async () => (await send('GET', '/health/ready')).status
  const started = performance.now()
  t.strictSame(new Set(await Promise.all(Array.from({ length: 50 }, ready))), new Set([503]))
  for (let i = 0; i < 10; i++) t.equal(await ready(), 503)
  t.equal((await send('GET', '/health/live')).status, 200)
  const most = 1 + Math.floor((performance.now() - started) / 1000)
  t.ok(asked.store >= 1 && asked.store <= most && asked.cms >= 1 && asked.cms <= most, `${JSON.stringify(asked)}, at most ${most}`)
  const down = await taken(2)
  t.match(down, [
    { level: 40, dependency: 'store', cause: 'The lock store could not do what was asked', msg: 'not ready' },
    { level: 40, dependency: 'cms', cause: /takes no requests at the moment/, msg: 'not ready' }
  ])
  t.equal(down.length, 2)

  await sleep(1100)
  const before = { ...asked }
  t.equal(await ready(), 503)
  t.strictSame(asked, { store: before.store + 1, cms: before.cms + 1 }, 'a second later they are asked again')
  t.strictSame(await taken(0), [], 'and nothing has changed')
  engine.script = works
  await sleep(1100)
  t.equal(await ready(), 503)
  const up = await taken(1)
  t.match(up, [{ level: 30, dependency: 'store', msg: 'ready again' }])
  t.equal(up.length, 1)
})

t.test('nothing secret of a request is logged, whatever happens and whatever the level', async (t) => {
  const { engine, cms, port, send, taken } = await start(t, 'trace')
  const headers = {
    ...json,
    authorization: `Basic ${btoa('ada:hunter2')}`,
    cookie: 'SESS=hunter2',
    'x-csrf-token': 'hunter2',
    'proxy-authorization': 'hunter2',
    'x-secret': 'hunter2'
  }
  const lock = { fieldName: 'title', userData: { uid: '7', name: 'hunter2', token: 'hunter2' }, payload: 'hunter2' }
  const edition = { type: [{ target_id: 'daily' }], title: [{ value: 'hunter2' }] }
  const sent: Array<[method: string, path: string, body?: object | string]> = [
    ['POST', LOCK, lock],
    ['PUT', `${LOCK}?q=hunter2`, lock],
    ['POST', LOCK, { ...lock, payload: 5, hunter2: 5 }],
    ['POST', LOCK, '{"payload":"hunter2'],
    ['POST', LOCK, 'hunter2'],
    ['GET', `${LOCK}?excludeUid=hunter2`],
    ['GET', `${LOCK}?fieldName=hunter2`],
    ['GET', `${LOCK}?hunter2=1`],
    ['DELETE', `${LOCK}?uid=hunter2`],
    ['POST', `${LOCK}/release?uid=hunter2`],
    ['GET', `${LOCK}/drafts?uid=hunter2`],
    ['POST', '/api/collection', edition],
    ['POST', '/api/collection/60', edition],
    ['POST', '/api/collection/60', { title: 'hunter2' }],
    ['GET', '/api/collection/60?token=hunter2'],
    ['GET', '/api/collections/daily?q=hunter2&key=hunter2'],
    ['GET', '/api/collections/daily?limit=hunter2'],
    ['GET', '/nowhere?token=hunter2'],
    ['GET', '/%zz?token=hunter2'],
    ['GET', 'http://ada:hunter2@example.org/nowhere'],
    ['GET', '/api/fails?token=hunter2'],
    ['GET', '/health/ready?token=hunter2']
  ]
  // A Drupal repeats what it was asked, and SQL with its values, in what it says of an error.
  const echo = (status: number) => (request: IncomingMessage, response: ServerResponse) => {
    const { url: href, headers } = request
    response.writeHead(status, { 'content-type': 'application/vnd.api+json' }).end(
      JSON.stringify({
        errors: [{ title: 'Error', status: String(status), detail: `hunter2 ${JSON.stringify(headers)}`, links: { via: { href } } }]
      })
    )
  }
  const behaviours: Array<[string, () => void]> = [
    [
      'all works',
      () => {
        engine.script = works
        cms.script = echo(404)
      }
    ],
    [
      'everything fails',
      () => {
        engine.script = fails('AccessDeniedException')
        cms.script = echo(500)
      }
    ],
    [
      'everything is refused',
      () => {
        engine.script = fails('ConditionalCheckFailedException')
        cms.script = echo(422)
      }
    ],
    [
      'forbidden',
      () => {
        cms.script = echo(403)
      }
    ],
    [
      'a bad request',
      () => {
        cms.script = echo(400)
      }
    ],
    [
      'not allowed',
      () => {
        cms.script = echo(405)
      }
    ],
    [
      'no answer',
      () => {
        engine.script = (_operation, _input, response) => response.destroy()
        cms.script = (_request, response) => response.destroy()
      }
    ]
  ]
  for (const [behaviour, begin] of behaviours) {
    begin()
    await Promise.all(sent.map(([method, path, body]) => send(method, path, { headers, ...(body !== undefined && { body }) })))
    const lines = await taken(sent.length)
    t.ok(lines.length > 1.5 * sent.length, `${behaviour}: ${lines.length} lines`)
    t.strictSame(
      lines.filter((line) => /hunter2|aHVudGVyMg|YWRhOmh1bnRlcjI/.test(JSON.stringify(line))),
      [],
      behaviour
    )
  }
  const raw = connect(port, '127.0.0.1')
    .on('error', () => {})
    .resume()
  raw.end('GET / HTTP/1.1\r\nAuthorization: hunter2\r\nNONSENSE hunter2\r\n\r\n')
  await once(raw, 'close')
  const lines = await taken(1)
  t.match(lines, [{ code: 'BAD_REQUEST' }])
  t.notMatch(JSON.stringify(lines), 'hunter2')
})

t.test('docs/failures.md has every code with its status, and no other', async (t) => {
  const page = readFileSync(join(ROOT, 'docs/failures.md'), 'utf8')
  const table = /\| code \| status \|.*\n\|[-|]+\n((?:\|.*\n)+)/.exec(page)![1]!
  const told = table
    .trim()
    .split('\n')
    .flatMap((row) => {
      const [, codes, statuses] = row.split('|').map((cell) => cell.trim().split(', '))
      return codes!.map((code, index) => [code, Number(statuses![index] ?? statuses![0])])
    })
  t.strictSame(
    told.toSorted(),
    Object.entries(failures)
      .map(([code, { status }]) => [code, status])
      .toSorted()
  )
})

t.test('on a full disk the log waits for room, with a limit to what waits', async (t) => {
  const path = join(t.testdir(), 'log')
  const stream = standardOutput({ dest: openSync(path, 'w'), maxLength: 100 })
  t.teardown(() => stream.destroy())
  const full = mock.method(fs, 'write', (...args: unknown[]) => {
    const done = args.at(-1) as (error: Error) => void
    done(Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' }))
  })
  t.teardown(() => full.mock.restore())
  const line = (name: string) => `${name.padEnd(39)}\n`
  for (const name of ['first', 'second', 'third', 'fourth']) stream.write(line(name))
  t.equal(full.mock.callCount(), 4, 'each line tries again')
  stream.flushSync()
  t.equal(readFileSync(path, 'utf8'), '', 'nothing waits for room, also when the process ends')

  full.mock.restore()
  stream.write(line('too much, but it tries again'))
  await once(stream, 'drain')
  stream.write('later\n')
  // What is on its way to the file already, it leaves alone.
  stream.flushSync()
  for (const end = Date.now() + 5000; !readFileSync(path, 'utf8').endsWith('later\n') && Date.now() < end;) await sleep(5)
  t.equal(readFileSync(path, 'utf8'), `${line('first')}${line('second')}later\n`)
})
