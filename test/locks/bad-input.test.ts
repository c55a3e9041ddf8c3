import { once } from 'node:events'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { ScanCommand } from '@aws-sdk/lib-dynamodb'
import { Ajv } from 'ajv'
import type { ConnectionError, FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { BODY_LIMIT } from '../../config/fastify.ts'
import { Holder, LockFailure } from '#lib/locks/schemas.ts'
import { refuse } from '../../plugins/app/errors.ts'
import { build } from '../helper.ts'
import { startEngine } from './fixtures/engines.ts'

const URL = '/api/cloud/data-state/node/1'
const good = { fieldName: 'title', userData: { uid: '7' } }
const json = { 'content-type': 'application/json' }

const { client, endpoint } = await startEngine(t, 'dynalite')
const app = await build(t, { DYNAMODB_ENDPOINT: endpoint })
await app.listen({ host: '127.0.0.1', port: 0 })
const isLockFailure = new Ajv().addSchema(Holder).compile(LockFailure)

const nested = (levels: number) => JSON.parse('['.repeat(levels) + ']'.repeat(levels))
const body = (text: string) => text.replace('…', '"fieldName":"title","userData":{"uid":"7"')

const FORBIDDEN_NAME = /^Error: The request body has a member __proto__ or constructor\.prototype, which is not taken$/

const badBodies: Array<[what: string, body: unknown, message: RegExp]> = [
  ['malformed JSON', '{"fieldName":', /not valid JSON/],
  ['no body', '', /^Error: body must be object$/],
  ['null', 'null', /^Error: body must be object$/],
  ['a list', [], /^Error: body must be object$/],
  ['a string', '"title"', /^Error: body must be object$/],
  ['bytes that are not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), /UTF-8/],
  ['a lone surrogate', body('{…},"payload":"\\ud83d"}'), /lone surrogate/],
  ['a member __proto__', body('{…},"__proto__":{}}'), FORBIDDEN_NAME],
  ['a member __proto__ in userData', body('{…,"__proto__":{"admin":true}}}'), FORBIDDEN_NAME],
  ['a member constructor.prototype', body('{…,"constructor":{"prototype":{}}}}'), FORBIDDEN_NAME],
  ['no fieldName', { userData: { uid: '7' } }, /^Error: body must have required property 'fieldName'$/],
  ['an empty fieldName', { ...good, fieldName: '' }, /^Error: body\/fieldName must NOT have fewer than 1 characters$/],
  [
    'a fieldName of 256 characters',
    { ...good, fieldName: 'x'.repeat(256) },
    /^Error: body\/fieldName must NOT have more than 255 characters$/
  ],
  ['a number as fieldName', { ...good, fieldName: 5 }, /^Error: body\/fieldName must be string$/],
  ['null as fieldName', { ...good, fieldName: null }, /^Error: body\/fieldName must be string$/],
  ['no userData', { fieldName: 'title' }, /^Error: body must have required property 'userData'$/],
  ['a string as userData', { ...good, userData: '7' }, /^Error: body\/userData must be object$/],
  ['a list as userData', { ...good, userData: ['7'] }, /^Error: body\/userData must be object$/],
  ['no uid', { ...good, userData: { name: 'Ada' } }, /^Error: body\/userData must have required property 'uid'$/],
  [
    'an empty uid',
    { ...good, userData: { uid: '' } },
    /^Error: body\/userData\/uid must NOT have fewer than 1 characters or must be integer$/
  ],
  ['a boolean as uid', { ...good, userData: { uid: true } }, /^Error: body\/userData\/uid must be string or must be integer$/],
  ['null as uid', { ...good, userData: { uid: null } }, /^Error: body\/userData\/uid must be string or/],
  ['a fraction as uid', { ...good, userData: { uid: 1.5 } }, /^Error: body\/userData\/uid must be string or must be integer$/],
  [
    'a uid beyond 2^53',
    body('{"fieldName":"a","userData":{"uid":12345678901234567890}}'),
    /^Error: body\/userData\/uid must be string or must be <=/
  ],
  ['a number as name', { ...good, userData: { uid: '7', name: 5 } }, /^Error: body\/userData\/name must be string$/],
  ['an object as payload', { ...good, payload: {} }, /^Error: body\/payload must be string$/],
  ['null as payload', { ...good, payload: null }, /^Error: body\/payload must be string$/],
  ['a string as timestamp', { ...good, timestamp: '1' }, /^Error: body\/timestamp must be integer$/],
  ['a fraction as timestamp', { ...good, timestamp: 1.5 }, /^Error: body\/timestamp must be integer$/],
  ['a negative timestamp', { ...good, timestamp: -1 }, /^Error: body\/timestamp must be >= 0$/],
  ['an infinite timestamp', body('{…},"timestamp":1e999}'), /^Error: body\/timestamp must be integer$/],
  [
    'userData deeper than DynamoDB nests',
    { ...good, userData: { uid: '7', deep: nested(32) } },
    /^Error: body\/userData is nested more than 32 levels deep$/
  ],
  [
    'userData deep enough to exhaust a stack',
    body(`{…,"deep":${'['.repeat(100_000)}${']'.repeat(100_000)}}}`),
    /^Error: body\/userData is nested more than 32 levels deep$/
  ],
  ['a number beyond 2^53', body('{…,"a":[9007199254740993]}}'), /^Error: body\/userData\/a\/0 is a number beyond/],
  ['a number beyond -2^53', body('{…,"a":-1e20}}'), /^Error: body\/userData\/a is a number beyond/],
  ['a number too close to zero', body('{…,"a":{"b":1e-131}}}'), /^Error: body\/userData\/a\/b is a number closer to zero/],
  ['an empty name in userData', { ...good, userData: { uid: '7', '': 1 } }, /^Error: body\/userData has a member whose name has 0 bytes/],
  [
    'a name in userData beyond 64 KB',
    { ...good, userData: { uid: '7', ['é'.repeat(32_768)]: 1 } },
    /^Error: body\/userData has a member whose name has 65536 bytes/
  ]
]

for (const method of ['POST', 'PUT'] as const) {
  t.test(`${method} answers 400 and says what is wrong`, async (t) => {
    for (const [what, payload, message] of badBodies) {
      const text = typeof payload === 'string' || Buffer.isBuffer(payload) ? payload : JSON.stringify(payload)
      const reply = await app.inject({ method, url: URL, headers: json, body: text })
      refused(t, what, reply, 400)
      t.match(reply.json().message, message, what)
    }
  })

  t.test(`${method} takes application/json only`, async (t) => {
    for (const type of [
      'text/plain',
      'application/vnd.api+json',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'nonsense'
    ]) {
      const reply = await app.inject({ method, url: URL, headers: { 'content-type': type }, body: JSON.stringify(good) })
      refused(t, type, reply, 415)
      t.equal(reply.json().message, 'Error: headers/content-type must be application/json', type)
    }
    const { hostname, port } = listening(app)
    const untyped = await fetch(`http://${hostname}:${port}${URL}`, { method, body: new Blob([JSON.stringify(good)]) })
    t.equal(untyped.status, 415, 'no content type')
    t.match(await untyped.json(), { success: false })
  })

  t.test(`${method} answers 413 with both sizes when the body is too large, announced or not`, async (t) => {
    const text = JSON.stringify({ ...good, ignored: 'x'.repeat(BODY_LIMIT) })
    const reply = await app.inject({ method, url: URL, headers: json, body: text })
    refused(t, 'announced', reply, 413)
    t.equal(reply.json().message, `Error: The request body has ${text.length} bytes; at most ${BODY_LIMIT} bytes are taken`)

    const { port } = listening(app)
    const head = `${method} ${URL} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`
    const answer = await exchange(port, `${head}${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`)
    t.match(answer, /^HTTP\/1\.1 413 /, 'not announced')
    t.match(JSON.parse(answer.split('\r\n\r\n')[1]!), {
      success: false,
      message: `Error: The request body has more than ${BODY_LIMIT} bytes; at most ${BODY_LIMIT} bytes are taken`
    })
  })

  t.test(`${method} answers 413 with both sizes when the item would be too large`, async (t) => {
    const reply = await app.inject({
      method,
      url: URL,
      headers: json,
      body: JSON.stringify({ ...good, timestamp: 1, payload: 'x'.repeat(409_600) })
    })
    refused(t, 'item', reply, 413)
    t.match(reply.json().message, /^Error: The lock would have 4(?:09|10)\d\d\d bytes in the store; at most 409600 bytes are taken$/)
  })
}

t.test('a path with anything but the allowed characters answers 400, for every method', async (t) => {
  const paths = [
    'no-de/1',
    'no.de/1',
    '../1',
    'n%C3%B6de/1',
    'no%2Fde/1',
    '%00/1',
    `${'x'.repeat(65)}/1`,
    '__proto__ /1',
    'node/a%2Fb',
    'node/%00',
    'node/1%00',
    'node/%C3%A9',
    'node/a%20b',
    'node/1%0A',
    'node/%25zz',
    'node/a,b',
    `node/${'1'.repeat(129)}`,
    'node/..%2F1',
    'node/',
    '/1'
  ]
  for (const path of paths) {
    for (const method of ['POST', 'PUT', 'GET', 'DELETE'] as const) {
      const answer = await raw(app, method, `/api/cloud/data-state/${path}`, method[0] === 'P' ? JSON.stringify(good) : undefined)
      t.equal(answer.status, 400, `${method} ${path}`)
      t.ok(isLockFailure(answer.body), `${method} ${path}`)
    }
  }
  for (const path of [
    '__proto__/__proto__',
    'constructor/prototype',
    `${'x'.repeat(64)}/${'1'.repeat(128)}`,
    'node/..',
    'node/a_B.c:d-9'
  ]) {
    t.match(await raw(app, 'GET', `/api/cloud/data-state/${path}`), { status: 200, body: { success: true } }, path)
  }
})

t.test('a query that is ambiguous or empty answers 400, unknown parameters are ignored', async (t) => {
  const long = 'x'.repeat(256)
  for (const query of ['fieldName=', 'fieldName=a&fieldName=b', 'fieldName=a&fieldName=a', `fieldName=${long}`]) {
    for (const method of ['GET', 'DELETE'] as const) {
      refused(t, `${method} ${query}`, await app.inject({ method, url: `${URL}?${query}` }), 400)
    }
  }
  refused(t, 'excludeUid twice', await app.inject(`${URL}?excludeUid=1&excludeUid=2`), 400)
  for (const query of [
    '',
    'uid=',
    'uid=1&uid=2',
    'fieldName=a&uid=',
    'fieldName=a&uid=1&uid=2',
    'excludeUid=7',
    'fieldname=a',
    'fieldName[]=a'
  ]) {
    refused(t, `DELETE ${query}`, await app.inject({ method: 'DELETE', url: `${URL}?${query}` }), 400)
  }
  for (const query of [
    '__proto__=1',
    'constructor=1&_=2&_=3',
    'fieldName[]=a',
    'fieldName=%00',
    'fieldName=%F0%9F%94%91',
    `fieldName=${'%F0%9F%94%91'.repeat(255)}`
  ]) {
    t.match((await app.inject(`${URL}?${query}`)).json(), { success: true, data: { Count: 0 } }, query)
  }
})

t.test('paths and methods that do not exist answer 404 and 405 with a boolean success', async (t) => {
  for (const path of ['', '/', '/node', '/node/1/2', '/node/1/', '?fieldName=a', '/node/../1']) {
    const answer = await raw(app, 'GET', `/api/cloud/data-state${path}`)
    t.equal(answer.status, 404, path)
    t.ok(isLockFailure(answer.body), path)
  }
  for (const method of ['PATCH', 'OPTIONS', 'TRACE', 'PROPFIND', 'LOCK', 'PURGE', 'MKCOL']) {
    const answer = await raw(app, method, URL)
    t.equal(answer.status, 405, method)
    t.ok(isLockFailure(answer.body), method)
    t.match(answer.head, /\r\nallow: POST, PUT, GET, HEAD, DELETE\r\n/i)
  }
})

t.test('what is no proper request answers with a boolean success too', async (t) => {
  const cases: Array<[status: number, text: string]> = [
    [400, 'GET /api/cloud/data-state/node/%zz HTTP/1.1\r\nHost: x\r\n\r\n'],
    [400, 'GET /api/cloud/data-state/%/1 HTTP/1.1\r\nHost: x\r\n\r\n'],
    [400, 'GET /api/cloud/data%2Dstate/no-de/1 HTTP/1.1\r\nHost: x\r\n\r\n'],
    [400, 'GET http://x/api/cloud/data-state/no-de/1 HTTP/1.1\r\nHost: x\r\n\r\n'],
    [404, 'GET http://x/api/cloud/data-state HTTP/1.1\r\nHost: x\r\n\r\n'],
    [400, 'GET /api/cloud/data-state/node/é HTTP/1.1\r\nHost: x\r\n\r\n'],
    [400, 'NONSENSE /api/cloud/data-state/node/1 HTTP/1.1\r\nHost: x\r\n\r\n'],
    [400, 'POST /api/cloud/data-state/node/1 HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n'],
    [400, '\u0000\u0001\u0002\r\n\r\n'],
    [414, `GET /api/cloud/data-state/node/${'1'.repeat(5000)} HTTP/1.1\r\nHost: x\r\n\r\n`],
    [431, `GET /api/cloud/data-state/node/1 HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(20_000)}\r\n\r\n`]
  ]
  const { port } = listening(app)
  for (const [status, text] of cases) {
    const answer = await exchange(port, text)
    const what = text.slice(0, 60)
    t.match(answer, new RegExp(`^HTTP/1\\.1 ${status} `), what)
    t.ok(isLockFailure(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4))), what)
  }
})

t.test('a connection that ends, stalls or asks for another path is told so where it can be', async (t) => {
  const told = async (code: string, rawPacket?: Buffer) => {
    const socket = new PassThrough()
    refuse(Object.assign(new Error(code), { code, rawPacket }) as unknown as ConnectionError, socket as unknown as Socket)
    return text(socket).catch(() => '')
  }
  t.equal(await told('ECONNRESET'), '')
  t.match(await told('ERR_HTTP_REQUEST_TIMEOUT'), /^HTTP\/1\.1 408 Request Timeout\r\n[^]*"success":false[^]*"code":"REQUEST_TIMEOUT"/)
  const other = await exchange(listening(app).port, 'NONSENSE /api/collection/1 HTTP/1.1\r\nHost: x\r\n\r\n')
  t.match(JSON.parse(other.split('\r\n\r\n')[1]!), {
    message: 'The request is not valid HTTP (RFC 9112)',
    statusCode: 400,
    error: 'Bad Request',
    code: 'BAD_REQUEST'
  })
})

t.test('after all of it nothing is written and the process serves on', async (t) => {
  t.equal((await client.send(new ScanCommand({ TableName: 'DataState' }))).Count, 0)
  const edge = {
    fieldName: '🔑'.repeat(255),
    userData: { uid: 9007199254740991, name: '', deep: nested(30), a: 9007199254740991, b: -1e-130 },
    timestamp: Number.MAX_SAFE_INTEGER
  }
  t.match(
    (await app.inject({ method: 'POST', url: URL, body: edge })).json(),
    { success: true },
    'nor is anything refused that is just within the limits'
  )
  t.match((await app.inject(URL)).json().data.Items, [{ ...edge, userData: { ...edge.userData, uid: '9007199254740991' } }])
})

function refused(t: Test, what: string, reply: Awaited<ReturnType<FastifyInstance['inject']>>, status: number): void {
  t.equal(reply.statusCode, status, `${what}: ${status}`)
  t.match(reply.headers['content-type'], /^application\/json/, what)
  t.ok(isLockFailure(reply.json()), `${what}: the shape of a failure`)
}

function listening(app: FastifyInstance): { hostname: string; port: number } {
  return { hostname: '127.0.0.1', port: (app.server.address() as AddressInfo).port }
}

/** Sends a request whose path is not touched by any URL parser. */
async function raw(
  app: FastifyInstance,
  method: string,
  path: string,
  body?: string
): Promise<{ status: number; head: string; body: unknown }> {
  const fields = body === undefined ? '' : `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`
  const answer = await exchange(
    listening(app).port,
    `${method} ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${fields}\r\n${body ?? ''}`
  )
  const [head, text] = answer.split('\r\n\r\n') as [string, string]
  return { status: Number(head.split(' ')[1]), head: `${head}\r\n`, body: JSON.parse(text) }
}

/** Everything the server says until it closes the connection, or to the end of one answer. */
async function exchange(port: number, text: string): Promise<string> {
  const socket = connect(port, '127.0.0.1').setEncoding('utf8')
  let answer = ''
  socket.on('data', (chunk: string) => {
    answer += chunk
    const length = /\r\ncontent-length: (\d+)\r\n/i.exec(answer)
    if (length && Buffer.byteLength(answer.slice(answer.indexOf('\r\n\r\n') + 4)) >= Number(length[1])) socket.destroy()
  })
  socket.on('error', () => {})
  socket.write(text)
  await once(socket, 'close')
  return answer
}
