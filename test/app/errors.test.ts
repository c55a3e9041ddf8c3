import { once } from 'node:events'
import { createServer, METHODS, request, type Server } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { Ajv } from 'ajv'
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { standalone } from '../../app.ts'
import { fastifyOptions, loggerOptions } from '../../config/fastify.ts'
import { createCms } from '../../packages/drupal-stand-in/cms.ts'
import { newspaper } from '../../dev/content.ts'
import { Failure, failures } from '#lib/errors.ts'
import { EditionFailure } from '#lib/editions/schemas.ts'
import { Holder, LockFailure } from '#lib/locks/schemas.ts'
import { answer, refuse } from '../../plugins/app/errors.ts'
import { build, testConfig } from '../helper.ts'
import { startEngine } from '../locks/fixtures/engines.ts'

const LOCK = '/api/cloud/data-state/node/1'
const EDITION = '/api/collection/1'
const json = { 'content-type': 'application/json' }

const ajv = new Ajv().addSchema(Holder)
const isLockFailure = ajv.compile(LockFailure)
const isEditionFailure = ajv.compile(EditionFailure)

/** An application whose every log line is kept, with two routes that fail in ways nobody thought of. */
async function logged(
  t: Test,
  options: object = {},
  env: Record<string, string> = {}
): Promise<{ fastify: FastifyInstance; lines: string[]; port: number }> {
  const lines: string[] = []
  const fastify = Fastify({
    ...fastifyOptions,
    frameworkErrors: answer,
    clientErrorHandler: refuse,
    logger: {
      ...loggerOptions('trace', false),
      stream: {
        write: (line: string) => {
          lines.push(line)
        }
      }
    },
    ...options
  })
  t.teardown(() => fastify.close())
  await fastify.register(standalone, { config: testConfig(env) })
  for (const url of ['/api/cloud/data-state/a/b/fails', '/api/fails']) {
    fastify.get(url, async () => {
      throw new TypeError('cannot read x of undefined', { cause: new Error('the innermost') })
    })
    fastify.post(url, async () => {
      throw new Error('no')
    })
  }
  fastify.get('/api/cloud/data-state/a/b/throws', async () => {
    // eslint-disable-next-line no-throw-literal
    throw 'a string'
  })
  await fastify.listen({ host: '127.0.0.1', port: 0 })
  return { fastify, lines, port: (fastify.server.address() as AddressInfo).port }
}

const { fastify, lines, port } = await logged(t)

/** One request over a socket of its own, sent as it stands; what comes back until the connection is closed. */
async function raw(port: number, bytes: string | Buffer): Promise<{ status: number; head: string; body: any }> {
  const socket = connect(port, '127.0.0.1').setEncoding('utf8')
  let text = ''
  socket.on('data', (chunk: string) => {
    text += chunk
    const [head, body] = text.split('\r\n\r\n') as [string, string?]
    if (body !== undefined && body.length >= Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)) socket.destroy()
  })
  socket.on('error', () => {})
  socket.write(bytes)
  await once(socket, 'close')
  const [head = '', body = ''] = text.split('\r\n\r\n')
  return { status: Number(head.split(' ')[1]), head, body: body && JSON.parse(body) }
}

function isShaped(t: Test, half: 'lock' | 'edition', status: number, body: any, what: string): void {
  const valid = half === 'lock' ? isLockFailure : isEditionFailure
  const statusOf = (code: string) => failures[code as keyof typeof failures]?.status
  const shape =
    half === 'lock'
      ? { valid: valid(body), success: body.success, error: body.message?.startsWith('Error: '), code: statusOf(body.error?.code) }
      : { valid: valid(body), success: body.success, statusCode: body.statusCode, code: statusOf(body.code) }
  t.strictSame(
    shape,
    half === 'lock'
      ? { valid: true, success: false, error: true, code: status }
      : { valid: true, success: undefined, statusCode: status, code: status },
    `${what}: a failure of the ${half}s, in shape, with a code of the vocabulary: ${JSON.stringify(body)}`
  )
}

const halves = [
  ['lock', LOCK],
  ['edition', EDITION]
] as const

t.test('every method that a path does not have answers 405 with those it has', async (t) => {
  const paths: Array<[half: 'lock' | 'edition', path: string, allow: string]> = [
    ['lock', LOCK, 'POST, PUT, GET, HEAD, DELETE'],
    ['edition', '/api/collection', 'POST'],
    ['edition', '/api/collection/bundles', 'POST, GET, HEAD'],
    ['edition', EDITION, 'POST, GET, HEAD'],
    ['edition', '/api/collections/daily?limit=1', 'GET, HEAD'],
    ['edition', '/api/publisher-edition/bundles', 'GET, HEAD'],
    ['edition', '/health/live', 'GET, HEAD'],
    ['edition', '/docs/json', 'GET, HEAD']
  ]
  for (const [half, path, allow] of paths) {
    for (const method of METHODS.filter((method) => method !== 'CONNECT' && !allow.split(', ').includes(method))) {
      const sent = request({ host: '127.0.0.1', port, method, path }).end()
      const [response] = await once(sent, 'response')
      const text = (await response.setEncoding('utf8').toArray()).join('')
      const what = `${method} ${path}`
      t.strictSame([response.statusCode, response.headers.allow], [405, allow], what)
      if (method !== 'HEAD') isShaped(t, half, 405, JSON.parse(text), what)
    }
  }
})

t.test('a path that is not there answers 404 in the shape of its half, however it is written', async (t) => {
  const paths: Array<[half: 'lock' | 'edition', path: string]> = [
    ['lock', '/api/cloud/data-state'],
    ['lock', '/api/cloud/data-state/node'],
    ['lock', '/api/cloud/data-state/node/1/title'],
    ['lock', '/api/cloud/data%2Dstate/node'],
    ['lock', `http://localhost:${port}/api/cloud/data-state?x=%20`],
    ['edition', '/api'],
    ['edition', '/api/collection/1/2'],
    ['edition', '/api/collections'],
    ['edition', '/api/cloud/data-statement/node/1'],
    ['edition', '/API/collection/1'],
    ['edition', '/api/__proto__'],
    ['edition', '/constructor']
  ]
  for (const [half, path] of paths) {
    for (const method of ['GET', 'PROPFIND', 'DELETE']) {
      const { status, body } = await raw(port, `${method} ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
      t.equal(status, 404, `${method} ${path}`)
      isShaped(t, half, 404, body, `${method} ${path}`)
    }
  }
  for (const [type, body] of [
    ['text/plain', 'x'],
    ['application/json', '{"half":'],
    ['nonsense', 'x']
  ] as const) {
    t.equal(
      (await fastify.inject({ method: 'POST', url: '/nowhere', headers: { 'content-type': type }, body })).statusCode,
      404,
      `whatever is sent there: ${type}`
    )
    t.equal(
      (await fastify.inject({ method: 'PUT', url: EDITION, headers: { 'content-type': type }, body })).statusCode,
      405,
      `whatever is sent there: ${type}`
    )
  }
  const { status, head } = await raw(port, 'PATCH /api/cloud/data%2Dstate/node/1 HTTP/1.1\r\nHost: x\r\n\r\n')
  t.equal(status, 405, 'an escaped path is the same path')
  t.match(head, /\r\nallow: POST, PUT, GET, HEAD, DELETE/i)
})

t.test('a URL that cannot be read answers 400, one that is too long 414', async (t) => {
  for (const [half, path] of halves) {
    for (const end of ['%zz', '%', '%c3%28', '?q=%ff', '?a=1&b=%']) {
      const { status, body } = await raw(port, `GET ${path}${end} HTTP/1.1\r\nHost: x\r\n\r\n`)
      t.equal(status, 400, path + end)
      isShaped(t, half, 400, body, path + end)
    }
    const { status, body } = await raw(port, `GET ${path}${'1'.repeat(5000)} HTTP/1.1\r\nHost: x\r\n\r\n`)
    t.equal(status, 414)
    isShaped(t, half, 414, body, '5000 characters')
  }
})

t.test('a URL that cannot be read is answered at once, whatever it is made of', async (t) => {
  for (const end of ['?%', '?%41%', '?a%;', '%', '&%=?']) {
    const started = performance.now()
    const { status } = await raw(port, `GET /%zz${end.repeat(2000)} HTTP/1.1\r\nHost: x\r\n\r\n`)
    t.equal(status, 400, end)
    t.ok(performance.now() - started < 2000, `${end}: ${Math.round(performance.now() - started)} ms`)
  }
})

t.test('a parameter out of its range is named with what is allowed', async (t) => {
  const wrong: Array<[half: 'lock' | 'edition', url: string, message: string]> = [
    ['edition', '/api/collections/daily?status=2', 'querystring/status must be 0 or 1'],
    ['edition', '/api/collections/daily?limit=0', 'querystring/limit must be >= 1'],
    ['edition', '/api/collections/daily?offset=100001', 'querystring/offset must be <= 100000'],
    ['edition', '/api/collection/x', 'params/id must match pattern'],
    ['lock', `${LOCK}?fieldName=`, 'Error: querystring/fieldName must NOT have fewer than 1 characters'],
    ['lock', '/api/cloud/data-state/no-de/1', 'Error: params/type must match pattern']
  ]
  for (const [half, url, message] of wrong) {
    const reply = await fastify.inject(url)
    t.equal(reply.statusCode, 400, url)
    isShaped(t, half, 400, reply.json(), url)
    t.ok(reply.json().message.startsWith(message), `${url}: ${reply.json().message}`)
  }
})

t.test('more than 1000 header fields are refused, also where Node lets some of them through', async (t) => {
  const fastify = await build(t)
  const withFields = (count: number) =>
    fastify.inject({ url: '/health/live', headers: Object.fromEntries(Array.from({ length: count }, (_, index) => [`x-${index}`, '1'])) })
  t.equal((await withFields(900)).statusCode, 200)
  const reply = await withFields(1001)
  t.match(reply, { statusCode: 431, headers: { 'content-type': /^application\/json/ } })
  isShaped(t, 'edition', 431, reply.json(), '1001 fields')
})

t.test('what is not HTTP, or too much of it, is refused in shape and the process serves on', async (t) => {
  const cases: Array<[half: 'lock' | 'edition', status: number, bytes: string | Buffer]> = [
    ['lock', 431, `GET ${LOCK} HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(20_000)}\r\n\r\n`],
    ['edition', 431, `GET ${EDITION} HTTP/1.1\r\nHost: x\r\n${'X-Many: 1\r\n'.repeat(2000)}\r\n`],
    ['edition', 431, `GET /${'x'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`],
    ['lock', 400, `NONSENSE ${LOCK} HTTP/1.1\r\nHost: x\r\n\r\n`],
    ['edition', 400, `NONSENSE ${EDITION} HTTP/1.1\r\nHost: x\r\n\r\n`],
    ['edition', 400, `get ${EDITION} HTTP/1.1\r\nHost: x\r\n\r\n`],
    ['edition', 400, `X-Odd_1 ${EDITION} HTTP/1.1\r\nHost: x\r\n\r\n`],
    ['lock', 400, `POST ${LOCK} HTTP/1.1\r\nHost: x\r\nContent-Length: nine\r\n\r\n`],
    ['edition', 400, `POST ${EDITION} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\nabc`],
    ['lock', 400, `GET ${LOCK} HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n`],
    ['edition', 400, `GET ${EDITION} HTTP/1.1\r\nhost: x\r\nX-A: b\r\nHOST: y\r\n\r\n`],
    ['lock', 400, `GET ${LOCK} HTTP/1.1\r\n\r\n`],
    ['edition', 400, `GET ${EDITION} HTTP/1.1\r\nNo-Host: x\r\n\r\n`],
    ['lock', 400, Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc])],
    ['lock', 400, '\r\n\r\nhello\r\n\r\n']
  ]
  for (const [half, status, bytes] of cases) {
    const what = JSON.stringify(bytes.toString('latin1').slice(0, 60))
    const answered = await raw(port, bytes)
    t.equal(answered.status, status, what)
    t.match(answered.head, /\r\nContent-Type: application\/json; charset=utf-8/i, what)
    isShaped(t, half, status, answered.body, what)
  }
  const { status } = await raw(port, 'GET /health/live HTTP/1.1\r\nHost: x\r\nExpect: miracles\r\n\r\n')
  t.equal(status, 200, 'an expectation nobody knows is ignored')

  const gone = connect(port, '127.0.0.1')
  gone.write(`POST ${LOCK} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{`)
  await once(gone, 'connect')
  gone.resetAndDestroy()
  const half = connect(port, '127.0.0.1')
  half.write('GET /health')
  await once(half, 'connect')
  half.resetAndDestroy()
  for (const method of ['CONNECT', 'CONNECT']) {
    t.equal((await raw(port, `${method} example.org:443 HTTP/1.1\r\nHost: x\r\n\r\n`)).head, '', 'no tunnels')
  }
  t.equal((await fastify.inject('/health/live')).statusCode, 200, 'nobody who hangs up ends the process')
})

t.test('a request that does not arrive whole answers 408 or 400, in the shape of its path', async (t) => {
  const timeout = 500
  const { port, lines } = await logged(
    t,
    { requestTimeout: timeout, http: { ...fastifyOptions.http, headersTimeout: timeout, connectionsCheckingInterval: 20 } },
    { CORS_ORIGINS: 'http://desk.example' }
  )
  const begin = (id: string, path: string, type: string) =>
    `POST ${path} HTTP/1.1\r\nHost: x\r\nX-Request-Id: ${id}\r\nOrigin: http://desk.example\r\nContent-Type: ${type}\r\n`
  const late = async () => {
    const { status, body } = await raw(port, `POST ${EDITION} HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n`)
    t.equal(status, 408)
    t.match(body, { message: 'Error: The request did not arrive in time' }, 'where its path is unknown, in the shape of the locks')
  }
  const broken = async (half: 'lock' | 'edition', path: string, body: string, expected: 400 | 408) => {
    const id = `${half}-${path.length}-${expected}`
    const answer = await raw(port, `${begin(id, path, 'application/json')}${body}`)
    t.equal(answer.status, expected, id)
    isShaped(t, half, expected, answer.body, id)
    t.match(
      answer.head,
      new RegExp(`^x-request-id: ${id}\r$[^]*^access-control-allow-origin: http://desk\\.example\r$[^]*^connection: close\r$`, 'm')
    )
    const answered = lines.map((line) => JSON.parse(line)).filter(({ reqId, level }) => reqId === id && level > 20)
    t.match(
      answered,
      [{ msg: 'answered', status: expected, code: expected === 408 ? 'REQUEST_TIMEOUT' : 'BAD_REQUEST', aborted: undefined }],
      `${id}: one line`
    )
    t.equal(answered.length, 1, id)
  }
  const refused = async () => {
    const socket = connect(port, '127.0.0.1').setEncoding('utf8')
    socket.write(`${begin('refused', EDITION, 'text/html')}Content-Length: 9\r\n\r\n{`)
    const text = (await socket.toArray()).join('')
    t.match(text, /^HTTP\/1\.1 415 /)
    t.notMatch(text, / 408 /, 'what has been answered is not answered again')
  }
  const paths = [
    ['lock', LOCK],
    ['lock', `${LOCK}/release`],
    ['edition', EDITION]
  ] as const
  await Promise.all([
    late(),
    refused(),
    ...paths.flatMap(([half, path]) => [
      broken(half, path, 'Content-Length: 9\r\n\r\n{', 408),
      broken(half, path, 'Transfer-Encoding: chunked\r\n\r\nno size\r\n', 400)
    ])
  ])
})

t.test('a connection that is gone already is not written to', async (t) => {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  refuse(Object.assign(new Error('reset'), { code: 'ECONNRESET' }) as never, socket)
  t.ok(socket.destroyed)
})

t.test('an exception nobody thought of answers 500 without internals and is logged once, with its cause', async (t) => {
  for (const [half, url] of [
    ['lock', '/api/cloud/data-state/a/b/fails'],
    ['edition', '/api/fails']
  ] as const) {
    lines.length = 0
    const reply = await fastify.inject({ url, headers: { 'x-request-id': 'the-failing-one' } })
    t.equal(reply.statusCode, 500)
    isShaped(t, half, 500, reply.json(), url)
    t.notMatch(reply.body, /undefined|innermost|TypeError|\.ts|node_modules/)
    const errors = lines.map((line) => JSON.parse(line)).filter(({ level }) => level >= 40)
    t.match(errors, [
      {
        level: 50,
        reqId: 'the-failing-one',
        msg: 'Internal Server Error',
        err: { code: 'INTERNAL', message: /cannot read x of undefined.*the innermost/, stack: /errors\.test\.ts/ }
      }
    ])
    t.equal(errors.length, 1)
  }
  const reply = await fastify.inject('/api/cloud/data-state/a/b/throws')
  t.equal(reply.statusCode, 500)
  isShaped(t, 'lock', 500, reply.json(), 'what was thrown is no Error')
})

t.test('a failure records no stack, and errors after it do', async (t) => {
  t.notMatch(new Failure('FIELD_LOCKED', 'held').stack, /\n/)
  t.match(new Error('unforeseen').stack, /errors\.test\.ts/)
})

t.test('a body is taken as JSON letter by letter, or refused', async (t) => {
  const post = async (url: string, body: string | Buffer, headers: Record<string, string> = json) =>
    fastify.inject({ method: 'POST', url, headers, body })
  const bad: Array<[what: string, body: string | Buffer]> = [
    ['half an object', '{"title":'],
    ['text', 'title'],
    ['no JSON number', '{"a":NaN}'],
    ['a comment', '{} // ok'],
    ['two values', '{}{}'],
    ['a byte that is not UTF-8', Buffer.from('{"title":"\xff"}', 'latin1')],
    ['an overlong form', Buffer.from([0x22, 0xc0, 0xaf, 0x22])],
    ['a surrogate in UTF-8', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])],
    ['UTF-16', Buffer.from('{"title":"x"}', 'utf16le')],
    ['a high surrogate alone', '{"title":"\\ud800"}'],
    ['a low surrogate alone', '{"title":"a\\uDFFFb"}'],
    ['a pair in the wrong order', '{"title":"\\udc00\\ud800"}'],
    ['a lone surrogate after a backslash', '{"title":"\\\\\\ud800"}'],
    ['a lone surrogate after a pair', '{"title":"\\ud83d\\ude00\\ud83d"}'],
    ['a lone surrogate in a name', '{"\\ud800":1}'],
    ['a lone surrogate deep within', '{"a":[{"b":["\\uDBFF"]}]}'],
    ['__proto__', '{"__proto__":{"admin":true}}'],
    ['__proto__ escaped', '{"\\u005f_proto__":{"admin":true}}'],
    ['__proto__ deep within', '{"title":[{"__proto__":1}]}'],
    ['constructor.prototype', '{"constructor":{"prototype":{"admin":true}}}']
  ]
  for (const [half, url] of halves) {
    for (const [what, body] of bad) {
      const reply = await post(url, body)
      t.equal(reply.statusCode, 400, what)
      isShaped(t, half, 400, reply.json(), what)
    }
    for (const type of [
      'text/plain',
      'application/json-patch+json',
      'application/vnd.api+json',
      'application/x-www-form-urlencoded',
      'nonsense'
    ]) {
      const reply = await post(url, '{}', { 'content-type': type })
      t.equal(reply.statusCode, 415, type)
      isShaped(t, half, 415, reply.json(), type)
    }
    for (const coding of ['gzip', 'br', 'identity, gzip', 'unknown']) {
      const reply = await post(url, gzipSync('{}'), { ...json, 'content-encoding': coding })
      t.match([reply.statusCode, reply.headers['accept-encoding']], [415, 'identity'], coding)
      isShaped(t, half, 415, reply.json(), coding)
      t.match(reply.json().message, /headers\/content-encoding must be identity/)
    }
    t.equal((await post(url, 'null', { ...json, 'content-encoding': 'Identity' })).statusCode, 400, 'no coding is taken')
    const unannounced = await raw(
      port,
      `POST ${url} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${(fastifyOptions.bodyLimit + 1).toString(16)}\r\n${' '.repeat(fastifyOptions.bodyLimit + 1)}\r\n`
    )
    t.equal(unannounced.status, 413)
    isShaped(t, half, 413, unannounced.body, 'a body that turns out to be too large')
    const large = JSON.stringify('x'.repeat(fastifyOptions.bodyLimit))
    const reply = await post(url, large)
    t.equal(reply.statusCode, 413)
    isShaped(t, half, 413, reply.json(), 'a body that is too large')
    t.match(reply.json().message, new RegExp(`${large.length} bytes.*${fastifyOptions.bodyLimit} bytes`), 'both sizes are said')
    t.equal((await post(url, '')).statusCode, 400, 'an empty body is none')
  }
  t.equal(({} as { admin?: boolean }).admin, undefined, 'no prototype was touched')
})

t.test('text that merely looks like an escape passes, and so does every letter there is', async (t) => {
  const { endpoint } = await startEngine(t, 'dynalite')
  const live = await build(t, { DYNAMODB_ENDPOINT: endpoint })
  const texts = [
    '\\ud800',
    '\\\\ud800',
    'C:\\ud800\\udc00',
    '\\u{d800}',
    'a\\\\\\ud8',
    '😀',
    '\ud83d\ude00',
    '\u2028\ufffe\uffff\ufeff',
    'e\u0301 שלום',
    '"\\"',
    '\\',
    '\b\f\n\r\t\u0001\u007f',
    '\\u0000',
    'constructor',
    '__proto__'
  ]
  for (const [index, payload] of texts.entries()) {
    for (const body of [
      JSON.stringify({ fieldName: `f${index}`, userData: { uid: '7', note: payload }, payload }),
      escaped({ fieldName: `f${index}`, userData: { uid: '7', note: payload }, payload })
    ]) {
      t.match(
        (await live.inject({ method: 'POST', url: LOCK, headers: { 'content-type': 'application/json; charset=utf-8' }, body })).json(),
        { success: true },
        `text ${index}`
      )
      const { data } = (await live.inject(`${LOCK}?fieldName=f${index}`)).json()
      t.strictSame([data.Items[0].payload, data.Items[0].userData.note], [payload, payload], `text ${index} is kept`)
    }
  }
})

t.test('no credential, cookie or body is logged, whatever happens and whatever the level', async (t) => {
  lines.length = 0
  const secret = 'hunter2'
  const headers = {
    authorization: `Basic ${btoa(`ada:${secret}`)}`,
    cookie: `SESS=${secret}`,
    'x-csrf-token': secret,
    'proxy-authorization': secret,
    ...json
  }
  const lock = { fieldName: 'title', userData: { uid: '7', token: secret }, payload: secret }
  const sent: Array<[method: 'POST' | 'PUT' | 'GET' | 'DELETE', url: string, body?: object | string]> = [
    ['POST', LOCK, lock],
    ['PUT', LOCK, { ...lock, payload: 5 }],
    ['POST', LOCK, `{"payload":"${secret}`],
    ['POST', LOCK, secret],
    ['GET', LOCK],
    ['DELETE', `${LOCK}?uid=7`],
    ['POST', '/api/collection', { type: [{ target_id: 'daily' }], title: [{ value: secret }] }],
    ['POST', EDITION, { title: secret }],
    ['GET', EDITION],
    ['GET', '/api/collections/daily'],
    ['GET', '/api/fails'],
    ['POST', '/api/fails', { secret }],
    ['GET', '/nowhere'],
    ['DELETE', EDITION],
    ['GET', '/health/ready'],
    ['GET', '/docs/json']
  ]
  for (const [method, url, body] of sent) {
    const reply = await fastify.inject({ method, url, headers, ...(body !== undefined && { body }) })
    if (reply.statusCode >= 400) t.notMatch(reply.body, secret, `${method} ${url} does not repeat it either`)
  }
  await raw(port, `GET ${LOCK} HTTP/1.1\r\nHost: x\r\nAuthorization: ${secret}\r\nX-Long: ${'x'.repeat(20_000)}\r\n\r\n`)
  t.ok(lines.length > 2 * sent.length, `${lines.length} lines were logged`)
  t.strictSame(
    lines.filter((line) => line.includes(secret) || line.includes(btoa(`ada:${secret}`))),
    []
  )

  lines.length = 0
  fastify.log.error({ req: { headers } }, 'a line that has the headers by mistake')
  t.notOk(lines[0]!.includes(secret), 'the serializer leaves them out')
  fastify.log.child({}, { serializers: { req: (value) => value } }).error({ req: { headers } })
  t.match(JSON.parse(lines[1]!).req.headers, { authorization: '[Redacted]', cookie: '[Redacted]', 'x-csrf-token': '[Redacted]' })
})

t.test('the log is pretty on a terminal and one JSON object a line elsewhere', async (t) => {
  t.match(loggerOptions('debug', true), { level: 'debug', transport: { target: 'pino-pretty' } })
  t.notHas(loggerOptions('debug', false), { transport: {} })
})

t.test('a request id is taken over when it is harmless, else made', async (t) => {
  for (const [given, taken] of [
    ['abc-1.2:3_X', true],
    ['x'.repeat(128), true],
    ['x'.repeat(129), false],
    ['a b', false],
    ['', false],
    ['é', false]
  ] as const) {
    lines.length = 0
    await fastify.inject({ url: '/nowhere', headers: { 'x-request-id': given } })
    const { reqId } = JSON.parse(lines[0]!)
    if (taken) t.equal(reqId, given)
    else t.match(reqId, /^[0-9a-f]{8}-[0-9a-f-]{27}$/, JSON.stringify(given))
  }
})

t.test('readiness names each part and its state', async (t) => {
  const silent = createServer(() => {})
  t.teardown(() => {
    silent.closeAllConnections()
    silent.close()
  })
  const hanging = await build(t, { CMS_URL: await listening(silent), CMS_TIMEOUT_MS: '60000' })
  const waiting = hanging.inject('/health/ready')

  const { endpoint } = await startEngine(t, 'dynalite')
  const cms = createCms({ content: newspaper() })
  t.teardown(() => cms.close())
  const CMS_URL = await cms.listen()
  const ready = async (env: Record<string, string>) => {
    const reply = await (await build(t, env)).inject('/health/ready')
    return [reply.statusCode, reply.json()]
  }
  const ok = { status: 'ok' }
  const store = { status: 'unavailable', message: 'The lock store cannot be reached or is too slow; try again' }
  const refusing = { status: 'unavailable', message: 'The lock store could not do what was asked' }
  const unreachable = { status: 'unavailable', message: 'The CMS could not be reached' }
  const account = { CMS_AUTH: 'basic', CMS_USER: 'editor', CMS_PASSWORD: 'editor' }
  const states: Array<[env: Record<string, string>, status: number, body: object]> = [
    [{ DYNAMODB_ENDPOINT: endpoint, CMS_URL, ...account }, 200, { status: 'ok', dependencies: { store: ok, cms: ok } }],
    [{ CMS_URL, ...account }, 503, { status: 'unavailable', dependencies: { store, cms: ok } }],
    [
      { DYNAMODB_ENDPOINT: endpoint, CMS_URL: 'http://127.0.0.1:9' },
      503,
      { status: 'unavailable', dependencies: { store: ok, cms: unreachable } }
    ],
    [{ CMS_URL: 'http://127.0.0.1:9' }, 503, { status: 'unavailable', dependencies: { store, cms: unreachable } }],
    [
      { DYNAMODB_ENDPOINT: endpoint, DATA_STATE_TABLE: 'Absent', CMS_URL, ...account },
      503,
      { status: 'unavailable', dependencies: { store: refusing, cms: ok } }
    ]
  ]
  for (const [env, status, body] of states) t.strictSame(await ready(env), [status, body], JSON.stringify(body))
  cms.settings.filterAccess = false
  t.match(
    await ready({ DYNAMODB_ENDPOINT: endpoint, CMS_URL, CMS_AUTH: 'basic', CMS_USER: 'reader', CMS_PASSWORD: 'reader' }),
    [
      200,
      {
        status: 'ok',
        dependencies: { store: ok, cms: { status: 'ok', message: /filter/ } }
      }
    ],
    'and what its operator should know'
  )
  cms.settings.maintenance = true
  t.match(await ready({ DYNAMODB_ENDPOINT: endpoint, CMS_URL }), [
    503,
    { dependencies: { store: ok, cms: { status: 'unavailable', message: /takes no requests at the moment/ } } }
  ])
  t.equal((await hanging.inject('/health/live')).statusCode, 200, 'the process is alive with nothing behind it')
  t.match(
    (await waiting).json().dependencies.cms,
    { status: 'unavailable', message: 'There was no answer within 5000 ms' },
    'a CMS that hangs does not make readiness hang'
  )
})

/** JSON with every letter outside ASCII escaped. */
function escaped(value: unknown): string {
  return JSON.stringify(value).replaceAll(/[^ -~]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

async function listening(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
