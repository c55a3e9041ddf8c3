import { once } from 'node:events'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import { normalizeIP } from '@fastify/rate-limit'
import Fastify, { type FastifyInstance, type LightMyRequestResponse } from 'fastify'
import t from 'tap'
import { standalone } from '../../app.ts'
import { fastifyOptions } from '../../config/fastify.ts'
import { newspaper } from '../../dev/content.ts'
import { createCms } from '../../packages/drupal-stand-in/cms.ts'
import errors, { refuse } from '../../plugins/app/errors.ts'
import overload, { latenessOf } from '../../plugins/app/overload.ts'
import { callerKey } from '../../plugins/external/rate-limit.ts'
import { build, testConfig } from '../helper.ts'
import { startEngine } from '../locks/fixtures/engines.ts'

const LOCK = '/api/cloud/data-state/node/1'
const EDITION = '/api/collection/1'
const DESK = 'https://desk.example'
const preflight = { 'access-control-request-method': 'PUT', 'access-control-request-headers': 'content-type,if-match' }

/** The header fields of an answer that CORS is made of. */
function corsOf(headers: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('access-control-') || name === 'vary'))
}

t.test('without CORS_ORIGINS no answer has anything to do with CORS', async (t) => {
  const fastify = await build(t)
  for (const method of ['OPTIONS', 'GET'] as const) {
    const reply = await fastify.inject({ method, url: EDITION, headers: { origin: DESK, ...preflight } })
    t.strictSame(corsOf(reply.headers), {}, method)
    t.equal(reply.statusCode, method === 'OPTIONS' ? 405 : 502)
  }
})

t.test('pages of the listed origins may call, and read what an editorial UI needs', async (t) => {
  const fastify = await build(t, { CORS_ORIGINS: `http://localhost:5173, ${DESK}` })
  const read = {
    'access-control-allow-origin': DESK,
    'access-control-allow-credentials': 'true',
    'access-control-expose-headers':
      'Edition-Turn, ETag, Idempotency-Replayed, Location, Lock-Expires, Lock-Since, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id, Cache-Status, Age, Date',
    vary: 'Origin'
  }
  const answers: Array<[method: 'GET' | 'POST' | 'PATCH' | 'OPTIONS', url: string, status: number]> = [
    ['GET', '/health/live', 200],
    ['GET', LOCK, 503],
    ['POST', LOCK, 400],
    ['PATCH', LOCK, 405],
    ['GET', EDITION, 502],
    ['GET', '/nowhere', 404],
    ['OPTIONS', LOCK, 405]
  ]
  for (const [method, url, status] of answers) {
    const reply = await fastify.inject({ method, url, headers: { origin: DESK } })
    t.equal(reply.statusCode, status, `${method} ${url}`)
    t.strictSame(corsOf(reply.headers), read, `${method} ${url}: a failure can be read too`)
  }
  t.equal(
    (await fastify.inject({ url: LOCK, headers: { origin: 'http://localhost:5173' } })).headers['access-control-allow-origin'],
    'http://localhost:5173'
  )

  for (const url of [LOCK, EDITION, '/nowhere', '/docs/json']) {
    const reply = await fastify.inject({ method: 'OPTIONS', url, headers: { origin: DESK, ...preflight } })
    t.strictSame([reply.statusCode, reply.body], [204, ''], `a preflight of ${url}, without credentials`)
    t.strictSame(corsOf(reply.headers), {
      ...read,
      'access-control-allow-methods': 'GET, HEAD, POST, PUT, DELETE',
      'access-control-allow-headers':
        'Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Lock-Match, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Quoin-Agent, X-CSRF-Token, X-User-Uid, X-Request-Id, Accept-Language, Last-Event-ID, traceparent, tracestate',
      'access-control-max-age': '7200'
    })
  }
  const { paths } = (await fastify.inject('/docs/json')).json<{ paths: Record<string, object> }>()
  const methods = new Set(Object.values(paths).flatMap(Object.keys))
  t.strictSame([...methods].sort(), ['delete', 'get', 'post', 'put'], 'a method that a route has may be asked for')
})

const answerOf = ({ statusCode, body, headers: { allow } }: LightMyRequestResponse) => [statusCode, body, allow]

t.test('to an origin that is not listed the service answers as ever, without a word of CORS', async (t) => {
  // A CMS that is away would be told by either's circuit breaker at a time of its own.
  const cms = createCms({ content: newspaper() })
  t.teardown(() => cms.close())
  const CMS_URL = await cms.listen()
  const plain = await build(t, { CMS_URL })
  const fastify = await build(t, { CMS_URL, CORS_ORIGINS: DESK })
  const origins = [
    'https://evil.example',
    'null',
    '',
    '*',
    `${DESK}.evil.example`,
    `${DESK}/`,
    'https://DESK.example',
    'http://desk.example',
    `${DESK}:8443`,
    `${DESK}, https://evil.example`,
    undefined
  ]
  for (const origin of origins) {
    for (const [method, url] of [
      ['GET', EDITION],
      ['GET', LOCK],
      ['OPTIONS', LOCK],
      ['OPTIONS', EDITION],
      ['OPTIONS', '/nowhere'],
      ['OPTIONS', '*']
    ] as const) {
      const what = `${method} ${url} from ${origin}`
      const request = {
        method,
        url,
        headers: { ...preflight, ...(origin !== undefined && { origin }), 'content-type': 'text/plain' },
        ...(method === 'OPTIONS' && { body: 'x' })
      }
      const [reply, asEver] = await Promise.all([fastify.inject(request), plain.inject(request)])
      t.strictSame(answerOf(reply), answerOf(asEver), what)
      t.strictSame(corsOf(reply.headers), { vary: 'Origin' }, `${what}: caches tell it from an answer to a listed one`)
    }
  }
})

t.test('every answer tells browsers and caches to do nothing with it, failures that no hook sees too', async (t) => {
  const { endpoint } = await startEngine(t, 'dynalite')
  const fastify = await build(t, { DYNAMODB_ENDPOINT: endpoint, CORS_ORIGINS: DESK })
  const address = await fastify.listen({ host: '127.0.0.1', port: 0 })
  const unkept = { 'cache-control': 'private, no-store', 'x-content-type-options': 'nosniff' }
  const strict = {
    ...unkept,
    'content-security-policy': "default-src 'none';frame-ancestors 'none'",
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'x-frame-options': 'DENY'
  }
  const answers: Array<[method: 'GET' | 'POST' | 'PUT' | 'HEAD' | 'OPTIONS', url: string, status: number, headers: object]> = [
    ['GET', '/health/live', 200, strict],
    ['GET', '/health/ready', 503, strict],
    ['GET', `${LOCK}/drafts`, 200, strict],
    ['PUT', LOCK, 415, strict],
    ['GET', LOCK, 200, { ...strict, 'cache-control': 'private, no-cache' }],
    ['HEAD', LOCK, 200, { ...strict, 'cache-control': 'private, no-cache' }],
    ['GET', EDITION, 502, strict],
    ['POST', EDITION, 415, strict],
    ['GET', '/api/collections/daily?limit=0', 400, strict],
    ['GET', '/nowhere', 404, strict],
    ['POST', '/health/live', 405, strict],
    ['OPTIONS', LOCK, 405, strict],
    ['GET', '/docs/json', 200, { ...unkept, 'x-frame-options': 'DENY' }],
    ['GET', '/api/collection/%zz', 400, unkept],
    ['GET', `/api/collection/${'1'.repeat(5000)}`, 414, unkept],
    ['GET', `/${'1'.repeat(20_000)}`, 431, unkept]
  ]
  for (const [method, url, status, expected] of answers) {
    const reply = await fetch(address + url, { method, ...(method.startsWith('P') && { body: 'x' }) })
    const headers = Object.fromEntries(reply.headers)
    const what = `${method} ${url.slice(0, 40)}`
    t.equal(reply.status, status, what)
    t.match(headers, expected, what)
    t.notOk('strict-transport-security' in headers || 'server' in headers || 'x-powered-by' in headers, `${what}: nothing else is told`)
  }
})

t.test('/docs loads what it needs and nothing from elsewhere', async (t) => {
  const fastify = await build(t)
  for (const page of ['/docs', '/docs/']) {
    const { body, headers } = await fastify.inject(page)
    const policy = Object.fromEntries(
      String(headers['content-security-policy'])
        .split('; ')
        .map((directive) => directive.split(/ (.*)/))
    )
    t.strictSame(
      policy,
      {
        'default-src': "'none'",
        'base-uri': "'none'",
        'connect-src': "'self'",
        'form-action': "'none'",
        'frame-ancestors': "'none'",
        'img-src': "'self' data:",
        'script-src': "'self'",
        'style-src': "'self' 'unsafe-inline'"
      },
      page
    )
    t.notMatch(body, /<script(?![^>]* src=)|\son\w+=|<base|<form/, 'no script within the page, which its policy would stop')
    const loaded = [...body.matchAll(/<(script|link)[^>]*? (?:src|href)="([^"]+)"/g)].map(
      ([, tag, target]) => [tag, new URL(target!, `http://quoin.example${page}`)] as const
    )
    t.ok(loaded.length >= 7)
    for (const [tag, { origin, pathname }] of loaded) {
      t.equal(origin, 'http://quoin.example', pathname)
      const reply = await fastify.inject(pathname)
      t.equal(reply.statusCode, 200, pathname)
      t.match(
        reply.headers['content-type'],
        tag === 'script' ? /^(?:application|text)\/javascript/ : /^(?:text\/css|image\/png)/,
        `${pathname}: nosniff lets it through`
      )
    }
    t.match(
      (await fastify.inject('/docs/static/swagger-initializer.js')).body,
      /validatorUrl: null/,
      'the document is shown to no validator elsewhere'
    )
  }
})

t.test('a connection is kept longer than balancers keep theirs, and ended when nothing comes or goes', async (t) => {
  const { server } = await build(t)
  t.ok(server.keepAliveTimeout > 600_000, 'idle connections')
  t.match(server, { headersTimeout: 10_000, requestTimeout: 30_000, timeout: 900_000 })

  const { http, ...options } = fastifyOptions
  const hasty = Fastify({
    ...options,
    keepAliveTimeout: 1,
    connectionTimeout: 400,
    clientErrorHandler: refuse,
    http: { ...http, headersTimeout: 100, connectionsCheckingInterval: 20 }
  })
  t.teardown(() => hasty.close())
  hasty.get('/long', async () => Buffer.alloc(64 * 1024 * 1024))
  await hasty.listen({ host: '127.0.0.1', port: 0 })
  const { port } = hasty.server.address() as AddressInfo
  const heard = async (bytes: string) => {
    const socket = connect(port, '127.0.0.1').setEncoding('latin1')
    socket.write(bytes)
    return (await socket.toArray()).join('')
  }
  const [drip, nothing] = await Promise.all([heard('GET / HTTP/1.1\r\nHost: x\r\nX-Slow'), heard('')])
  t.match(drip, /^HTTP\/1\.1 408 /, 'half a header')
  t.match(nothing, /^HTTP\/1\.1 408 /, 'not a byte')

  const deaf = connect(port, '127.0.0.1')
    .on('error', () => {})
    .pause()
  deaf.write('GET /long HTTP/1.1\r\nHost: x\r\n\r\n')
  const [served] = (await once(hasty.server, 'connection')) as [Socket]
  await once(served, 'close')
  deaf.resume()
  await once(deaf, 'close')
  t.ok(deaf.bytesRead < 64 * 1024 * 1024, 'an answer that nobody takes')
})

t.test('a request that arrives while the service closes is answered like any other', async (t) => {
  const { endpoint } = await startEngine(t, 'dynalite')
  const fastify = Fastify({ ...fastifyOptions, clientErrorHandler: refuse })
  const slow = Promise.withResolvers<string>()
  await fastify.register(standalone, { config: testConfig({ DYNAMODB_ENDPOINT: endpoint }) })
  fastify.get('/slow', () => slow.promise)
  await fastify.listen({ host: '127.0.0.1', port: 0 })
  const socket = connect((fastify.server.address() as AddressInfo).port, '127.0.0.1').setEncoding('latin1')
  socket.write('GET /slow HTTP/1.1\r\nHost: x\r\n\r\n')
  await once(fastify.server, 'request')
  const closed = fastify.close()
  while (fastify.server.listening) await setImmediate()
  socket.write(`GET ${LOCK} HTTP/1.1\r\nHost: x\r\n\r\n`)
  await once(fastify.server, 'request')
  slow.resolve('done')
  const answers = (await socket.toArray()).join('').split('\r\n\r\n')
  t.match(answers, [/^HTTP\/1\.1 200 /, /^doneHTTP\/1\.1 200 [^]*connection: close/i, /^{"success":true,/])
  await closed
})

t.test('a caller beyond RATE_LIMIT is told when to come back, in the shape of the endpoint', async (t) => {
  const fastify = await build(t, { RATE_LIMIT: '3', CORS_ORIGINS: DESK })
  const get = (url: string, headers: Record<string, string> = {}) => fastify.inject({ url, headers: { origin: DESK, ...headers } })
  const statuses = async (url: string, headers?: Record<string, string>) => {
    const found: number[] = []
    for (let count = 0; count < 5; count++) found.push((await get(url, headers)).statusCode)
    return found
  }
  t.strictSame(await statuses('/api/collections/daily?limit=0'), [400, 400, 400, 429, 429], 'a wrong request counts too')
  for (const url of [LOCK, EDITION]) {
    const { headers, json } = await get(url)
    t.match(headers, { 'retry-after': /^(?:[1-5]?\d|60)$/, 'access-control-allow-origin': DESK, 'cache-control': 'private, no-store' }, url)
    const message = `More than 3 requests within a minute; try again in ${headers['retry-after']} s`
    t.strictSame(
      json(),
      url === LOCK
        ? { success: false, message: `Error: ${message}`, error: { name: 'TooManyRequestsError', code: 'TOO_MANY_REQUESTS', message } }
        : { message, statusCode: 429, error: 'Too Many Requests', code: 'TOO_MANY_REQUESTS' },
      url
    )
  }
  t.strictSame(await statuses('/health/live'), [200, 200, 200, 200, 200], 'health is never limited')
  t.equal((await get('/health/ready')).statusCode, 503)
  t.equal(
    (await fastify.inject({ method: 'OPTIONS', url: LOCK, headers: { origin: DESK, ...preflight } })).statusCode,
    204,
    'nor are preflights'
  )

  const others = [{ authorization: 'Basic YTpi' }, { authorization: 'Basic YTpj' }, { cookie: 'SESSx=1' }, { cookie: 'SESSx=2' }]
  for (const headers of others) {
    t.strictSame(
      await statuses('/api/collections/daily?limit=0', headers as never),
      [400, 400, 400, 429, 429],
      `another caller: ${JSON.stringify(headers)}`
    )
  }
  t.equal((await get(LOCK, { cookie: '_ga=1; SESSx=1' })).statusCode, 429, 'an unrelated cookie makes no other caller')
  t.equal(
    (await get(LOCK, { authorization: 'Basic YTpi', cookie: 'SESSx=3' })).statusCode,
    429,
    'the credentials that would travel on are those that count'
  )
  t.strictSame(
    await (async () => {
      const free = await build(t)
      return Promise.all(Array.from({ length: 50 }, async () => (await free.inject('/api/collections/daily?limit=0')).statusCode))
    })(),
    Array(50).fill(400),
    'without RATE_LIMIT there is none'
  )
})

t.test('with RATE_LIMIT each answer says how many requests are left, and for how long', async (t) => {
  const fastify = await build(t, { RATE_LIMIT: '2', CORS_ORIGINS: DESK })
  const told = async (url: string) => {
    const { statusCode, headers } = await fastify.inject({ url, headers: { origin: DESK } })
    t.notOk(Object.keys(headers).some((name) => name.startsWith('x-ratelimit')))
    return [statusCode, headers['ratelimit'], headers['ratelimit-policy']]
  }
  const policy = '"minute";q=2;w=60'
  const wrong = '/api/collections/daily?limit=0'
  t.match(await told(wrong), [400, /^"minute";r=1;t=(?:[1-5]?\d|60)$/, policy])
  t.match(await told(wrong), [400, /^"minute";r=0;t=(?:[1-5]?\d|60)$/, policy])
  const { headers } = await fastify.inject({ url: LOCK, headers: { origin: DESK } })
  t.strictSame([headers['ratelimit'], headers['ratelimit-policy']], [`"minute";r=0;t=${headers['retry-after']}`, policy], '429 too')
  t.match(headers['access-control-expose-headers'], /RateLimit, RateLimit-Policy/)
  t.strictSame(await told('/health/live'), [200, undefined, undefined], 'what is not counted says nothing')
  t.strictSame(await told('/nowhere'), [404, undefined, undefined])
  const unlimited = await (await build(t)).inject(wrong)
  t.notHas(unlimited.headers, { ratelimit: String })
})

t.test('a caller without credentials counts by address, which only a balancer in TRUST_PROXY may tell', async (t) => {
  const limited = async (env: Record<string, string>, remoteAddress: string, ...forwarded: string[]) => {
    const fastify = await build(t, { RATE_LIMIT: '1', ...env })
    const found: number[] = []
    for (const one of forwarded) {
      found.push(
        (await fastify.inject({ url: '/api/collections/daily?limit=0', remoteAddress, headers: { 'x-forwarded-for': one } })).statusCode
      )
    }
    return found
  }
  const trusted = { TRUST_PROXY: '10.0.0.0/16,2001:db8::1' }
  t.strictSame(await limited({}, '10.0.0.5', '192.0.2.1', '192.0.2.2'), [400, 429], 'nobody is believed by default')
  t.strictSame(await limited(trusted, '192.0.2.9', '192.0.2.1', '192.0.2.2'), [400, 429], 'nor who is not listed')
  t.strictSame(await limited(trusted, '10.0.0.5', '192.0.2.1', '192.0.2.2', '192.0.2.1'), [400, 400, 429])
  t.strictSame(await limited(trusted, '2001:db8::1', '192.0.2.1', '192.0.2.2', '192.0.2.1'), [400, 400, 429])
  t.strictSame(
    await limited(trusted, '10.0.0.5', '192.0.2.1', '8.8.8.8, 192.0.2.1', '10.0.0.9, 192.0.2.1, 10.0.0.7'),
    [400, 429, 429],
    'what a caller made up before its own address does not count'
  )
  t.strictSame(await limited({}, '2001:db8:0:1::1', '1'), [400])
  const six = await build(t, { RATE_LIMIT: '1' })
  const from = async (remoteAddress: string) => (await six.inject({ url: '/api/collections/daily?limit=0', remoteAddress })).statusCode
  t.strictSame(
    [
      await from('2001:db8:0:1::1'),
      await from('2001:db8:0:1:ffff::2'),
      await from('2001:db8:0:2::1'),
      await from('::ffff:192.0.2.1'),
      await from('192.0.2.1')
    ],
    [400, 429, 400, 400, 429]
  )
})

t.test('requests count for their authenticated user, whatever credentials these come with', async (t) => {
  const key = (rest: object) => callerKey({ headers: {}, id: '1', ip: '192.0.2.1', ...rest } as never, normalizeIP, [])
  t.equal(
    key({ identity: { uid: '7' }, headers: { authorization: 'Bearer x' } }),
    key({ identity: { uid: '7' }, headers: { authorization: 'Bearer y' }, ip: '192.0.2.2' })
  )
  t.not(key({ identity: { uid: '7' } }), key({ identity: { uid: '8' } }))
  t.equal(key({ identity: null }), 'address 192.0.2.1')
  t.equal(key({ ip: undefined }), 'address undefined', 'a caller that has hung up')
  t.strictSame(
    ['192.0.2.1:4711', '[2001:db8::1]:4711', '2001:db8::1'].map((ip) => key({ ip })),
    ['address 192.0.2.1', 'address 2001:db8::', 'address 2001:db8::'],
    'a balancer that tells the port'
  )
  t.notMatch(key({ headers: { authorization: 'Bearer hunter2' } }), /hunter2/)
})

t.test('requests are turned away while the event loop is late, and health is told all the same', async (t) => {
  const start = async () => {
    const fastify = Fastify(fastifyOptions)
    t.teardown(() => fastify.close())
    await fastify.register(overload, { lateMs: 100, sampleMs: 50 })
    await fastify.register(errors)
    for (const url of ['/api/cloud/data-state/:type/:id', '/api/collection/:id', '/health/live']) fastify.get(url, async () => ({}))
    return fastify
  }
  /** The statuses of a number of requests, each in a turn of the loop that takes so many milliseconds. */
  const pressed = async (fastify: FastifyInstance, turns: number, ms: number) => {
    const statuses: number[] = []
    while (statuses.length < turns) {
      halt(ms)
      await sleep(1)
      statuses.push((await fastify.inject(EDITION)).statusCode)
    }
    return statuses
  }
  const halted = await start()
  t.strictSame(await pressed(halted, 1, 600), [200], 'one halt')
  t.strictSame(await pressed(halted, 3, 1), [200, 200, 200], 'and what follows it')
  // Another one, whose row of late samples begins here, however late this machine was before.
  const fastify = await start()
  const status = async () => (await fastify.inject(EDITION)).statusCode
  const statuses = await pressed(fastify, 9, 150)
  t.strictSame([statuses.slice(0, 4), statuses.at(-1)], [[200, 200, 200, 200], 503], 'every turn is late')
  for (const url of [LOCK, EDITION, '/nowhere']) {
    const { statusCode, headers, json } = await fastify.inject(url)
    t.match({ statusCode, headers }, { statusCode: 503, headers: { 'retry-after': '1', 'cache-control': 'private, no-store' } }, url)
    const message = 'There are more requests than can be answered in time; try again'
    t.strictSame(
      json(),
      url === LOCK
        ? { success: false, message: `Error: ${message}`, error: { name: 'ServiceUnavailableError', code: 'OVERLOADED', message } }
        : { message, statusCode: 503, error: 'Service Unavailable', code: 'OVERLOADED' },
      url
    )
  }
  t.equal((await fastify.inject('/health/live')).statusCode, 200, 'health answers as ever')
  for (const deadline = Date.now() + 10_000; (await status()) !== 200 && Date.now() < deadline;) await sleep(20)
  t.equal(await status(), 200, 'it ends when the loop is in time again')
})

t.test('a connection beyond the most that are held is closed unread', async (t) => {
  const fastify = await build(t)
  const { server } = fastify
  t.equal(server.maxConnections, 10_000)
  server.maxConnections = 1
  await fastify.listen({ host: '127.0.0.1', port: 0 })
  const { port } = server.address() as AddressInfo
  const first = connect(port, '127.0.0.1')
  t.teardown(() => first.destroy())
  await once(first, 'connect')
  const second = connect(port, '127.0.0.1')
    .on('error', () => {})
    .resume()
  second.write('GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n')
  await once(second, 'close')
  t.equal(second.bytesRead, 0)
  first.end('GET /health/live HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
  t.match((await first.setEncoding('latin1').toArray()).join(''), /^HTTP\/1\.1 200 /)
})

/** Nothing else happens in this process for so many milliseconds. */
function halt(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

t.test('a loop with long turns is late, however many short ones are between them', async (t) => {
  const lateness = (...turns: number[]) => {
    const nanoseconds = turns.map((ms) => ms * 1e6)
    const mean = nanoseconds.reduce((sum, turn) => sum + turn, 0) / turns.length
    const variance = nanoseconds.reduce((sum, turn) => sum + (turn - mean) ** 2, 0) / turns.length
    return Math.round(latenessOf({ mean, stddev: Math.sqrt(variance) }))
  }
  t.equal(lateness(10, 10, 10), 0)
  t.equal(lateness(510, 510), 500)
  t.equal(lateness(900, ...Array(10).fill(10)), 801, 'their mean is 91')
  t.ok(Number.isNaN(lateness()), 'a loop that stands still has no turn')
})
