import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { busAdvice, checkBus } from '../doctor/bus.ts'
import { line } from '../diagnosis.ts'
import { startFakeRedis } from '../../../test/bus/fixtures/fake-redis.ts'

/** What the doctor says of a bus, by its address. */
async function found(url: string, counts?: string): Promise<string[]> {
  const lines: string[] = []
  for await (const finding of checkBus({ url, channel: 'quoin:DataState:test', counts })) {
    lines.push(
      line(finding)
        .replace(/127\.0\.0\.1:\d+/g, 'HOST')
        .replace(/\d+ ms/, 'N ms')
    )
  }
  return lines
}

/** A server that does with a connection as told; its port. */
async function serving(t: Test, handler: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    handler(socket.on('error', () => {}))
  }).listen(0, '127.0.0.1')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

/** A server that answers each command with the next text, and the last one for ever. */
function saying(t: Test, ...answers: string[]): Promise<number> {
  let count = 0
  return serving(t, (socket) => socket.on('data', () => socket.write(answers[Math.min(count++, answers.length - 1)]!)))
}

const info = (text: string) => `$${text.length}\r\n${text}\r\n`

t.test('a bus that is right is named with its version, its way and a message that came back', async (t) => {
  const { url } = await startFakeRedis(t)
  t.strictSame(await found(url, 'quoin:test:requests:'), [
    '-    bus: a password: EVENTS_BUS_URL has none, so whoever reaches it may read and write there',
    'ok   bus: redis://HOST is Redis 7.0.15',
    'ok   bus: a message comes back (N ms)',
    'ok   bus: counts requests for all instances (RATE_LIMIT)'
  ])
  t.equal((await found(url)).length, 3, 'without RATE_LIMIT nothing is counted')
})

t.test('each obstacle is one line that says what to do, without the password', async (t) => {
  const correct = 'correct EVENTS_BUS_URL, or check the bus and the network from here'
  const refused = (reason: string) =>
    `!    bus: redis://HOST refuses the password (${reason}): correct the name and the password in EVENTS_BUS_URL`
  const failing = (reason: string, protocol = 'redis:') =>
    `!    bus: ${protocol}//HOST does not answer as it should (${reason}): ${correct}`
  const at = (port: number, protocol = 'redis:') => found(`${protocol}//quoin:SECRET@127.0.0.1:${port}`)

  t.strictSame(await at(1), [failing('connect ECONNREFUSED HOST')])
  t.strictSame(await at(await saying(t, '-WRONGPASS invalid username-password pair or user is disabled.\r\n')), [
    refused('WRONGPASS invalid username-password pair or user is disabled.')
  ])
  t.strictSame(await at(await saying(t, '-NOAUTH Authentication required.\r\n')), [refused('NOAUTH Authentication required.')])
  t.match(await at(await serving(t, (socket) => socket.destroy())), [
    /; a port with TLS does this where EVENTS_BUS_URL begins with redis:\)/
  ])
  t.match(await at(await serving(t, (socket) => socket.once('data', () => socket.resetAndDestroy()))), [
    /; a port with TLS does this where EVENTS_BUS_URL begins with redis:\)/
  ])
  t.strictSame(await at(await serving(t, () => {}), 'rediss:'), [
    failing('connect ETIMEDOUT; a port without TLS does this where EVENTS_BUS_URL begins with rediss:', 'rediss:')
  ])
  t.strictSame(
    await at(
      await saying(t, '+OK\r\n', info('redis_version:7.0.15\r\n'), "-NOPERM this user has no permissions to run the 'info' command\r\n")
    ),
    [
      "!    bus: NOPERM this user has no permissions to run the 'info' command: give its user the rights that docs/operations.md names for a bus"
    ]
  )
})

t.test('a certificate that nobody vouches for, and a closed port, are named', async (t) => {
  t.strictSame(
    line(
      busAdvice(Object.assign(new Error('self-signed certificate'), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' }), 'rediss://:SECRET@bus:6379')
    ),
    '!    bus: rediss://bus:6379 cannot be trusted (self-signed certificate): name the authority that signed it: NODE_EXTRA_CA_CERTS=<file>'
  )
  t.match(
    line(busAdvice(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }), 'rediss://bus:6379')),
    '(connect ECONNREFUSED)'
  )
  for (const message of ['Connection is closed.', 'read ECONNRESET', 'write EPIPE']) {
    t.match(
      line(busAdvice(Object.assign(new Error(message), { code: message.split(' ')[1] }), 'redis://bus:6379')),
      'a port with TLS does this'
    )
  }
})

t.test('a client library that is not installed is named, with how to install it', async (t) => {
  t.equal(
    line(busAdvice(Object.assign(new Error("Cannot find package 'ioredis'"), { code: 'ERR_MODULE_NOT_FOUND' }), 'redis://bus:6379')),
    '!    bus: the package ioredis is not installed: run npm run install:optional'
  )
})

t.test('a message that does not come back is told', async (t) => {
  const answers: Record<string, string> = {
    INFO: info('redis_version:7.0.15\r\n'),
    SUBSCRIBE: '*3\r\n$9\r\nsubscribe\r\n$1\r\nx\r\n:1\r\n*3\r\n$7\r\nmessage\r\n$1\r\nx\r\n$5\r\nother\r\n',
    PUBLISH: ':0\r\n'
  }
  const port = await serving(t, (socket) =>
    socket.on('data', (bytes) =>
      socket.write(Object.entries(answers).find(([name]) => bytes.toString('latin1').toUpperCase().includes(`\r\n${name}\r\n`))![1])
    )
  )
  t.strictSame(await found(`redis://0.0.0.0:${port}`), [
    '-    bus: a password: EVENTS_BUS_URL has none, so whoever reaches it may read and write there',
    '-    bus: TLS: redis: has none; beyond a private network write rediss: in EVENTS_BUS_URL',
    `ok   bus: redis://0.0.0.0:${port} is Redis 7.0.15`,
    `!    bus: redis://0.0.0.0:${port} does not answer as it should (a message did not come back within N ms): correct EVENTS_BUS_URL, or check the bus and the network from here`
  ])
})

t.test('what it is, is taken from what it says', async (t) => {
  const first = async (text: string) =>
    (await found(`redis://quoin:SECRET@127.0.0.1:${await saying(t, '+OK\r\n', info(text), info(text), '-ERR enough\r\n')}`))[0]
  t.strictSame(
    await first('redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.1.3\r\n'),
    'ok   bus: redis://HOST is Valkey 8.1.3'
  )
  t.strictSame(
    await first('redis_version:6.2.14\r\n'),
    '!    bus: redis://HOST is Redis 6.2.14: run a Redis or Valkey of version 7 or later'
  )
  t.strictSame(await first('role:master\r\n'), '-    bus: its version: redis://HOST does not tell it')
})
