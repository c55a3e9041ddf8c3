import { connect, type AddressInfo } from 'node:net'
import t from 'tap'
import { jwtEnv } from '../auth/fixtures.ts'
import { build } from '../helper.ts'

const LOCK = '/api/cloud/data-state/node/1'
const EDITION = '/api/collection/1'
const DESK = 'https://desk.example'

/** What every answer tells a browser. */
const SECURED = {
  'content-security-policy': "default-src 'none';frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'private, no-store'
}

t.test('with AUTH=none a request by the name of another is answered 421, in the shape of its path, whatever it asks for', async (t) => {
  const fastify = await build(t, { HOSTS: 'quoin.example, other.example', DESK: 'on', CORS_ORIGINS: DESK })
  const foreign = [
    'evil.example',
    'evil.example:3000',
    'quoin.example.evil.example',
    'evil.quoin.example',
    'localhost.evil.example',
    'evillocalhost',
    '127.0.0.1.evil.example',
    '[evil]',
    '[::1',
    '1',
    '0x7f.1',
    ':3000',
    'a:b:c',
    'quoin.example@evil.example',
    `${'x'.repeat(300)}.example`
  ]
  for (const host of foreign) {
    for (const url of [LOCK, EDITION, '/api/collections/daily', '/desk', '/docs', '/docs/json', '/nowhere']) {
      const { statusCode, json, headers } = await fastify.inject({ url, headers: { host, origin: DESK } })
      const message = `This service does not go by the name ${JSON.stringify(host.slice(0, 255))}: call it by its address, or add the name to HOSTS`
      t.strictSame(
        [statusCode, json()],
        [
          421,
          url === LOCK
            ? { success: false, message: `Error: ${message}`, error: { name: 'MisdirectedRequestError', code: 'MISDIRECTED', message } }
            : { message, statusCode: 421, error: 'Misdirected Request', code: 'MISDIRECTED' }
        ],
        `${host} ${url}`
      )
      t.match(headers, SECURED, `${host} ${url}`)
    }
    const write = await fastify.inject({
      method: 'POST',
      url: LOCK,
      headers: { host, 'content-type': 'application/json' },
      payload: '{"half'
    })
    t.equal(write.statusCode, 421, `before a body is read: ${host}`)
    for (const url of ['/health/live', '/health/ready']) {
      t.not((await fastify.inject({ url, headers: { host } })).statusCode, 421, `a balancer asks ${url} as ${host}`)
    }
  }
})

t.test('with AUTH=none addresses, loopback names, HOST and HOSTS are names of the service', async (t) => {
  const fastify = await build(t, { HOST: 'newsroom.internal', HOSTS: 'quoin.example,Quoin' })
  for (const host of [
    'localhost',
    'LOCALHOST:3000',
    'quoin.localhost',
    'localhost.',
    '127.0.0.1',
    '127.0.0.1:3000',
    '192.0.2.7:80',
    '[::1]',
    '[::1]:3000',
    '[2001:db8::7]',
    'newsroom.internal',
    'quoin.example:443',
    'QUOIN.example.',
    'quoin'
  ]) {
    t.equal((await fastify.inject({ url: '/docs/json', headers: { host } })).statusCode, 200, host)
  }
})

t.test('a request without Host, as HTTP/1.0 may be, comes from no browser and is answered', async (t) => {
  const fastify = await build(t)
  await fastify.listen({ host: '127.0.0.1', port: 0 })
  const socket = connect((fastify.server.address() as AddressInfo).port, '127.0.0.1').setEncoding('latin1')
  socket.write('GET /nowhere HTTP/1.0\r\n\r\n')
  t.match((await socket.toArray()).join(''), /^HTTP\/1\.\d 404 /)
})

t.test('who calls is known with AUTH=jwt and drupal, so any name will do', async (t) => {
  for (const env of [jwtEnv(t), { AUTH: 'drupal' }]) {
    const fastify = await build(t, env)
    const statusOf = async (url: string) => (await fastify.inject({ url, headers: { host: 'anything.example' } })).statusCode
    t.strictSame([await statusOf(LOCK), await statusOf('/docs/json')], [401, 200])
  }
})

t.test('the answer to a URL that cannot be read has the header fields of every other', async (t) => {
  const fastify = await build(t, { CORS_ORIGINS: DESK })
  const readable = { 'access-control-allow-origin': DESK, 'access-control-allow-credentials': 'true', vary: 'Origin' }
  const known = await fastify.inject({ url: '/nowhere', headers: { origin: DESK } })
  for (const url of ['/%zz', `${LOCK}%ff`, `${EDITION}%?a=1`, `${LOCK}${'1'.repeat(5000)}`]) {
    const { statusCode, headers } = await fastify.inject({ url, headers: { origin: DESK } })
    t.equal(statusCode, url.length > 5000 ? 414 : 400, url.slice(0, 60))
    t.match(
      headers,
      { ...SECURED, ...readable, 'access-control-expose-headers': known.headers['access-control-expose-headers'], 'x-request-id': String },
      url.slice(0, 60)
    )
    const { date, 'content-length': _, 'x-request-id': __, ...rest } = headers
    const { date: ___, 'content-length': ____, 'x-request-id': _____, ...others } = known.headers
    t.strictSame(rest, others, `as every other failure: ${date}`)
  }
  for (const origin of ['https://evil.example', undefined]) {
    const { headers } = await fastify.inject({ url: '/%zz', headers: origin === undefined ? {} : { origin } })
    t.match(headers, { ...SECURED, 'access-control-allow-origin': undefined, vary: 'Origin' }, String(origin))
  }
  const bare = await build(t)
  t.match((await bare.inject({ url: '/%zz', headers: { origin: DESK } })).headers, {
    ...SECURED,
    'access-control-allow-origin': undefined,
    vary: undefined
  })
})

t.test('what is no HTTP is refused with the same header fields', async (t) => {
  const fastify = await build(t)
  await fastify.listen({ host: '127.0.0.1', port: 0 })
  const socket = connect((fastify.server.address() as AddressInfo).port, '127.0.0.1').setEncoding('latin1')
  socket.write('GET /\u0001 HTTP/1.1\r\nHost: x\r\n\r\n')
  const text = (await socket.toArray()).join('')
  t.match(text, /^HTTP\/1\.1 400 /)
  for (const [name, value] of Object.entries(SECURED)) t.ok(text.toLowerCase().includes(`\r\n${name}: ${value.toLowerCase()}\r\n`), name)
})

t.test('no window of another origin gets hold of the pages', async (t) => {
  const fastify = await build(t, { DESK: 'on' })
  for (const url of ['/desk', '/docs/']) {
    const { statusCode, headers } = await fastify.inject(url)
    t.match(
      { statusCode, headers },
      { statusCode: 200, headers: { 'content-type': /^text\/html/, 'cross-origin-opener-policy': 'same-origin' } },
      url
    )
  }
})
