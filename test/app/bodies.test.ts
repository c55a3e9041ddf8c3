import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { connect, type AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify'
import t, { type Test } from 'tap'
import { BODY_LIMIT } from '../../config/fastify.ts'
import { createBodyMemory, forget, grow, LARGE_BODY, openBody, settle } from '#lib/http/body-memory.ts'
import { watchPace } from '#lib/http/pace.ts'
import jsonBody from '../../plugins/app/json-body.ts'
import { build } from '../helper.ts'
import { sendSlowly } from './fixtures/slow-sender.ts'

const JSON_TYPE = { 'content-type': 'application/json' }
const MiB = 1024 * 1024

/** Ten times the real pace, so that the test need not wait. */
const PACE = { graceMs: 300, bytesPerSecond: 80 * 1024 }

/** Waits for what comes soon, and fails later where it does not. */
async function until(isTrue: () => boolean): Promise<void> {
  for (const end = performance.now() + 5000; !isTrue() && performance.now() < end;) await sleep(1)
}

/** A route that answers how large the text of its body is. */
async function start(
  t: Test,
  options: FastifyServerOptions = {},
  plugin: object = {}
): Promise<{ fastify: FastifyInstance; port: number }> {
  const fastify = Fastify(options) as unknown as FastifyInstance
  t.teardown(() => fastify.close())
  await fastify.register(jsonBody, { pace: PACE, ...plugin })
  fastify.post('/api/collection', { bodyLimit: 40 * MiB }, async ({ body }) => `${(body as string).length} characters`)
  await fastify.listen({ host: '127.0.0.1', port: 0 })
  return { fastify, port: (fastify.server.address() as AddressInfo).port }
}

t.test('callers who announce large bodies and send one byte shut out nobody', async (t) => {
  const fastify = await build(t)
  await fastify.listen({ host: '127.0.0.1', port: 0 })
  const { port } = fastify.server.address() as AddressInfo
  const arrived: unknown[] = []
  fastify.server.on('request', (request) => arrived.push(request))
  for (let index = 0; index < 20; index++) {
    const framing = index % 2 ? 'Transfer-Encoding: chunked' : `Content-Length: ${BODY_LIMIT}`
    sendSlowly(t, port, { framing, piece: index % 2 ? '1\r\n"\r\n' : '"', pauseMs: 60_000 })
  }
  await until(() => arrived.length === 20)
  for (const size of [LARGE_BODY - 1, LARGE_BODY, BODY_LIMIT]) {
    const { statusCode } = await fastify.inject({
      method: 'POST',
      url: '/api/collection',
      headers: JSON_TYPE,
      body: JSON.stringify('x'.repeat(size - 2))
    })
    t.equal(statusCode, 400, `${size} bytes were read`)
  }
})

t.test('a body that arrives too slowly is answered 408, however it is framed', async (t) => {
  const { port } = await start(t)
  const senders = [
    { framing: `Content-Length: ${BODY_LIMIT}`, piece: '"', pauseMs: 20 },
    { framing: 'Transfer-Encoding: chunked', piece: '1\r\n"\r\n', pauseMs: 20 },
    { framing: `Content-Length: ${BODY_LIMIT}`, piece: 'x'.repeat(MiB), pauseMs: 60_000 }
  ]
  await Promise.all(
    senders.map(async ({ framing, piece, pauseMs }) => {
      const began = performance.now()
      const { answer } = sendSlowly(t, port, { framing, piece, pauseMs })
      t.match(await answer, /^HTTP\/1\.1 408 [^]*connection: close[^]*arrives too slowly/i, `${framing}, ${piece.length} bytes`)
      t.ok(performance.now() - began >= PACE.graceMs - 5)
    })
  )
})

t.test('a body over HTTP/2 needs no length, and has to keep the pace too', async (t) => {
  const { fastify, port } = await start(t, { http2: true } as FastifyServerOptions)
  const session = connectHttp2(`http://127.0.0.1:${port}`)
  t.teardown(() => session.destroy())
  const open = () => session.request({ ':method': 'POST', ':path': '/api/collection', ...JSON_TYPE }).on('error', () => {})
  const slow = open()
  slow.write('"')
  const [{ ':status': status }] = await once(slow, 'response')
  t.equal(status, 408)
  const whole = open()
  whole.end(JSON.stringify('x'.repeat(100_000)))
  t.equal(await text(whole), '100000 characters')
  const gone = open()
  gone.write('"')
  await once(fastify.server, 'request')
  gone.close()
  await once(gone, 'close')
  await sleep(PACE.graceMs)
  t.equal((await fastify.inject({ method: 'POST', url: '/api/collection', headers: JSON_TYPE, body: '"x"' })).statusCode, 200)
})

t.test('a caller who keeps the least pace is served, also with pauses, and however small the pieces are', async (t) => {
  const { port } = await start(t)
  const value = JSON.stringify('é'.repeat(20_000))
  const bytes = Buffer.from(value)
  const send = async (piece: number, pauseMs: number) => {
    const socket = connect(port, '127.0.0.1')
    t.teardown(() => socket.destroy())
    socket.write(
      `POST /api/collection HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${bytes.length}\r\n\r\n`
    )
    for (let at = 0; at < bytes.length; at += piece) {
      socket.write(bytes.subarray(at, at + piece))
      await sleep(pauseMs)
    }
    return text(socket)
  }
  const answers = await Promise.all([send(bytes.length, 0), send(10_000, 60), send(15_000, 150), send(997, 1)])
  for (const answer of answers) t.match(answer, /^HTTP\/1\.1 200 [^]*\r\n20000 characters$/)
})

t.test('where memory runs out, a body that has been arriving for long makes room', async (t) => {
  const memory = createBodyMemory(0)
  const { fastify, port } = await start(t, {}, { memory, pace: { graceMs: 60_000, bytesPerSecond: 1 } })
  const { socket } = sendSlowly(t, port, { framing: `Content-Length: ${33 * MiB}`, piece: `"${'x'.repeat(31 * MiB)}`, pauseMs: 60_000 })
  const answer = once(socket, 'data')
  await until(() => memory.large.taken > 31 * MiB)
  const body = JSON.stringify('x'.repeat(2 * MiB))
  t.equal((await fastify.inject({ method: 'POST', url: '/api/collection', headers: JSON_TYPE, body })).statusCode, 200)
  const [head] = await answer
  t.match(head, /^HTTP\/1\.1 503 [^]*other requests/i)
  socket.destroy()
  await until(() => memory.large.taken === 0)
  t.equal(memory.small.taken + memory.large.taken + memory.small.arriving.size + memory.large.arriving.size, 0, 'nothing is left behind')
})

t.test('a body that breaks off, or is not as long as it says, leaves nothing behind', async (t) => {
  const memory = createBodyMemory()
  const { fastify, port } = await start(t, {}, { memory, pace: { graceMs: 60_000, bytesPerSecond: 1 } })
  const { socket } = sendSlowly(t, port, { framing: 'Content-Length: 9', piece: '"', pauseMs: 60_000 })
  await until(() => memory.small.taken === 1)
  socket.destroy()
  await until(() => memory.small.arriving.size === 0)
  const headers = { ...JSON_TYPE, 'content-length': '9' }
  t.equal((await fastify.inject({ method: 'POST', url: '/api/collection', headers, body: '"x"' })).statusCode, 400)
  await until(() => memory.small.taken === 0)
  t.strictSame([memory.small.taken, memory.small.arriving.size], [0, 0])
})

t.test('a body that a hook of the host cannot read is refused', async (t) => {
  const fastify = Fastify() as unknown as FastifyInstance
  t.teardown(() => fastify.close())
  await fastify.register(jsonBody)
  const preParsing = async () =>
    new Readable({
      read() {
        this.destroy(new Error('It cannot be unpacked'))
      }
    })
  fastify.post('/', { preParsing }, async () => 'read')
  const { statusCode, body } = await fastify.inject({ method: 'POST', url: '/', headers: JSON_TYPE, body: '"x"' })
  t.equal(statusCode, 400)
  t.match(body, 'It cannot be unpacked')
})

t.test('bodies of their first seconds are left alone, so the one that is too much is refused', async (t) => {
  const memory = createBodyMemory(60_000)
  const refused: string[] = []
  const open = (name: string) =>
    openBody(memory, ({ code }) => {
      refused.push(`${name} ${code}`)
    })
  const [first, second, small, late] = [open('first'), open('second'), open('small'), open('late')]
  grow(memory, first, 31 * MiB)
  settle(first)
  grow(memory, second, MiB)
  grow(memory, small, LARGE_BODY - 1)
  t.strictSame(refused, [], 'as much as there is, and a small one beside it')
  grow(memory, late, LARGE_BODY)
  t.strictSame(refused, ['late OVERLOADED'])
  forget(first)
  grow(memory, second, 30 * MiB)
  t.strictSame(refused.length, 1, 'a request that is over gives back what its body took')
  for (let count = 0; count < (16 * MiB) / (LARGE_BODY - 1); count++) grow(memory, open('many'), LARGE_BODY - 1)
  t.strictSame([...new Set(refused)], ['late OVERLOADED', 'many OVERLOADED'], 'thousands of small ones have a bound too')
  for (const each of [second, small, ...memory.small.arriving]) forget(each)
  t.equal(memory.small.taken + memory.large.taken, 0)
})

t.test('a pace does not count the time in which the process itself was busy', async (t) => {
  const ends: string[] = []
  const busy = watchPace({ graceMs: 20, bytesPerSecond: 1000 }, () => ends.push('busy'))
  const silent = watchPace({ graceMs: 20, bytesPerSecond: 1000 }, () => ends.push('silent'))
  const over = watchPace({ graceMs: 20, bytesPerSecond: 1000 }, () => ends.push('over'))
  // What arrived meanwhile is read after the timers.
  setTimeout(() => {
    ends.push('it is read')
    busy.moved(1_000_000)
    over.end()
  }, 20)
  for (const end = performance.now() + 60; performance.now() < end;);
  for (const end = performance.now() + 5000; ends.length < 3 && performance.now() < end;) await sleep(5)
  const [first, ...others] = ends
  t.equal(first, 'it is read')
  t.strictSame(others.sort(), ['busy', 'silent'], 'and nobody saves up more than the grace')
  silent.end()
})
