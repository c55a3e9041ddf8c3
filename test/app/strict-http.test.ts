import { connect, type AddressInfo } from 'node:net'
import t from 'tap'
import { build } from '../helper.ts'

const LOCK = '/api/cloud/data-state/node/1'
const JSON_FIELDS = 'Content-Type: application/json\r\nConnection: close\r\n'

const fastify = await build(t, { RATE_LIMIT: '0' })
await fastify.listen({ host: '127.0.0.1', port: 0 })
const { port } = fastify.server.address() as AddressInfo

/** All that is answered to bytes. */
async function exchange(bytes: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
    .setEncoding('latin1')
    .on('error', () => {})
  socket.setTimeout(20_000, () => socket.destroy())
  socket.write(Buffer.from(bytes, 'latin1'))
  return (await socket.toArray()).join('')
}

const get = (target: string, host: string, version = '1.1', more = '') =>
  exchange(`GET ${target} HTTP/${version}\r\nHost: ${host}\r\nConnection: close\r\n${more}\r\n`)
const statuses = (text: string) => [...text.matchAll(/^HTTP\/1\.1 (\d{3}) /gm)].map(([, status]) => Number(status))

t.test('the host of a target in the absolute form counts, whatever Host says', async (t) => {
  const path = '/api/collections/daily?limit=0'
  const cases: Array<[target: string, host: string, status: number]> = [
    [`http://evil.example${path}`, 'localhost', 421],
    [`HTTP://evil.example:${port}${path}`, 'localhost', 421],
    [`http://localhost@evil.example${path}`, 'localhost', 421],
    [`http://${path}`, 'localhost', 400],
    [`http://localhost${path}`, 'evil.example', 400],
    [`https://127.0.0.1:${port}${path}`, 'evil.example', 400],
    [path, 'evil.example', 421],
    [path, 'localhost', 400]
  ]
  for (const [target, host, status] of cases) t.strictSame(statuses(await get(target, host)), [status], `${target} with Host ${host}`)
})

t.test('a Host that is none is 400', async (t) => {
  for (const host of [
    'a b',
    'localhost/x',
    'user@localhost',
    'localhost:80:80',
    'localhost:x',
    '[::1',
    'http://localhost',
    'localhost, localhost',
    'localhost?',
    'localhost#',
    '"localhost"',
    'l\\ocalhost',
    'löcalhost',
    '<x>'
  ]) {
    const text = await get('/health/live', host)
    t.match(text, /^HTTP\/1\.1 400 [^]*The header field Host is not a host with its port/, host)
  }
  for (const host of ['localhost', 'localhost:3000', 'localhost:', '127.0.0.1', '[::1]:80', 'a_b.example', 'xn--lcalhost-n4a', '']) {
    t.strictSame(statuses(await get('/health/live', host)), [200], host)
  }
})

t.test('transfer codings and versions that Quoin does not have are refused, and end the connection', async (t) => {
  const post = (version: string, fields: string, body: string) =>
    exchange(`POST ${LOCK} HTTP/${version}\r\nHost: localhost\r\nContent-Type: application/json\r\n${fields}\r\n${body}`)
  const chunks = '2\r\n{}\r\n0\r\n\r\nGET /health/live HTTP/1.1\r\nHost: x\r\n\r\n'
  for (const coding of ['gzip, chunked', 'GZIP,chunked', 'identity, chunked', 'chunked, chunked']) {
    const text = await post('1.1', `Transfer-Encoding: ${coding}\r\n`, chunks)
    t.match(statuses(text)[0], /400|501/, coding)
    t.equal(statuses(text).length, 1, `${coding}: nothing behind it is answered`)
  }
  t.match(
    await post('1.1', 'Transfer-Encoding: gzip, chunked\r\n', chunks),
    /^HTTP\/1\.1 501 [^]*The only transfer coding that is taken is chunked/
  )
  t.match(
    await post('1.1', 'Transfer-Encoding: Chunked\r\nConnection: close\r\n', '2\r\n{}\r\n0\r\n\r\n'),
    /^HTTP\/1\.1 400 [^]*body must have/,
    'chunked itself, in any case, is taken'
  )
  t.match(await post('1.0', 'Transfer-Encoding: chunked\r\n', chunks), /^HTTP\/1\.1 400 [^]*HTTP\/1\.0 has no Transfer-Encoding/)
  for (const version of ['0.9', '1.2', '2.0', '3.0']) {
    t.match(await get('/health/live', 'localhost', version), /^HTTP\/1\.1 505 [^]*HTTP\/1\.1 and HTTP\/1\.0/, version)
  }
  t.strictSame(statuses(await get('/health/live', 'localhost', '1.0')), [200])
})

t.test('a request that is refused anyway is not invited to send its body', async (t) => {
  const expecting = (target: string, fields: string) =>
    exchange(`POST ${target} HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n${fields}\r\n`)
  const refused: Array<[what: string, target: string, fields: string, status: number]> = [
    ['no such path', '/nowhere', `${JSON_FIELDS}Content-Length: 2\r\n`, 404],
    ['another method', '/health/live', `${JSON_FIELDS}Content-Length: 2\r\n`, 405],
    ['too large', LOCK, `${JSON_FIELDS}Content-Length: 5000000\r\n`, 413],
    ['another media type', LOCK, 'Content-Type: text/html\r\nConnection: close\r\nContent-Length: 2\r\n', 415],
    ['no media type', LOCK, 'Connection: close\r\nContent-Length: 2\r\n', 415],
    ['a query that is none', `${LOCK}?%zz`, `${JSON_FIELDS}Content-Length: 2\r\n`, 400]
  ]
  for (const [what, target, fields, status] of refused) t.strictSame(statuses(await expecting(target, fields)), [status], what)
  const socket = connect(port, '127.0.0.1').setEncoding('latin1')
  socket.write(`POST ${LOCK} HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n${JSON_FIELDS}Content-Length: 2\r\n\r\n`)
  let text = ''
  for await (const chunk of socket) {
    if (text === '') socket.write('{}')
    text += chunk
  }
  t.strictSame(statuses(text), [100, 400], 'one that may go well is')
  const chunked = await exchange(
    `POST ${LOCK} HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n${JSON_FIELDS}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`
  )
  t.strictSame(statuses(chunked), [100, 400], 'also in chunks')
})

t.test('a forbidden name in a body is named', async (t) => {
  for (const body of ['{"__proto__":{}}', '{"constructor":{"prototype":{}}}']) {
    const reply = await fastify.inject({ method: 'POST', url: '/api/collection', headers: { 'content-type': 'application/json' }, body })
    t.match([reply.statusCode, reply.json().message], [400, /a member __proto__ or constructor\.prototype/])
  }
})
