import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Fastify from 'fastify'
import t from 'tap'
import { BODY_LIMIT } from '../../config/fastify.ts'
import connections from '../../plugins/app/connections.ts'
import { build } from '../helper.ts'

const CHUNK = Buffer.alloc(256 * 1024, ' ')
const CHUNKS = (2 * BODY_LIMIT) / CHUNK.length

/** How a body can be framed. */
const framings: Array<[name: string, field: string, frame: (chunk: Buffer) => Buffer, end: string]> = [
  ['a length', `Content-Length: ${CHUNKS * CHUNK.length}`, (chunk) => chunk, ''],
  [
    'chunks',
    'Transfer-Encoding: chunked',
    (chunk) => Buffer.concat([Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n')]),
    '0\r\n\r\n'
  ]
]

t.test('a body that is too large is answered 413, not reset, when the client reads only after it has sent everything', async (t) => {
  const fastify = await build(t)
  await fastify.listen({ host: '127.0.0.1', port: 0 })
  const { port } = fastify.server.address() as AddressInfo
  for (const [name, field, frame, end] of framings) {
    const socket = connect(port, '127.0.0.1').setEncoding('latin1')
    t.teardown(() => socket.destroy())
    socket.pause()
    socket.write(`POST /api/cloud/data-state/node/1 HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${field}\r\n\r\n`)
    for (let count = 0; count < CHUNKS; count++) {
      if (!socket.write(frame(CHUNK))) await once(socket, 'drain')
    }
    socket.write(`${end}GET /health/live HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
    let text = ''
    for await (const chunk of socket) text += chunk
    t.strictSame(text.match(/(?<=HTTP\/1\.1 )\d{3}/g), ['413', '200'], `${name}: the connection goes on`)
  }
})

t.test('a connection is closed where the rest of a refused body does not come, and stays open where it does', async (t) => {
  const restMs = 100
  const fastify = Fastify()
  t.teardown(() => fastify.close())
  await fastify.register(connections, { restMs })
  fastify.post('/', { onRequest: async (_request, reply) => reply.code(403).send('no') }, async () => 'yes')
  await fastify.listen({ host: '127.0.0.1', port: 0 })
  const { port } = fastify.server.address() as AddressInfo
  const begin = async () => {
    const socket = connect(port, '127.0.0.1').setEncoding('latin1')
    t.teardown(() => socket.destroy())
    socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 4\r\n\r\nnu')
    const [answer] = await once(socket, 'data')
    t.match(answer, / 403 /)
    return socket
  }
  const [whole, half] = await Promise.all([begin(), begin()])
  whole.write('ll')
  await once(half, 'close')
  await sleep(2 * restMs)
  whole.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  const [answer] = await once(whole, 'data')
  t.match(answer, / 404 /)
})

t.test('a connection is closed whose caller asks and asks and takes none of the answers, however small they are', async (t) => {
  const fastify = Fastify()
  t.teardown(() => fastify.close())
  await fastify.register(connections, { stalledMs: 200, lookMs: 20 })
  fastify.get('/', async () => 'x'.repeat(60_000))
  await fastify.listen({ host: '127.0.0.1', port: 0 })
  const { port } = fastify.server.address() as AddressInfo
  const accepted = new Set<Socket>()
  fastify.server.on('connection', (socket: Socket) => {
    accepted.add(socket)
    socket.once('close', () => accepted.delete(socket))
  })
  const sockets = [connect(port, '127.0.0.1'), connect(port, '127.0.0.1')]
  for (const socket of sockets) t.teardown(() => socket.destroy())
  const [stalled, quick] = sockets as [Socket, Socket]
  quick.on('data', () => {}).write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  stalled
    .on('error', () => {})
    .pause()
    .write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(1000))
  const until = async (count: number) => {
    for (const end = Date.now() + 10_000; accepted.size !== count && Date.now() < end;) await sleep(20)
    t.equal(accepted.size, count)
  }
  await until(2)
  await until(1)
  quick.write('GET /none HTTP/1.1\r\nHost: x\r\n\r\n')
  const [answer] = await once(quick, 'data')
  t.match(String(answer), / 404 /, 'one that has taken its answer may go on idly')
})

t.test('callers take half of the file descriptors at most, and the log says so', async (t) => {
  const limits = join(t.testdir(), 'limits')
  const start = async (text?: string) => {
    const lines: string[] = []
    const fastify = Fastify({
      logger: {
        level: 'warn',
        stream: {
          write(line: string) {
            lines.push(JSON.parse(line).msg)
          }
        }
      }
    })
    t.teardown(() => fastify.close())
    if (text !== undefined) writeFileSync(limits, text)
    await fastify.register(connections, { limits: text === undefined ? join(limits, 'missing') : limits })
    await fastify.listen({ host: '127.0.0.1', port: 0 })
    return { fastify, lines }
  }
  const limitOf = (files: string) =>
    `Limit                     Soft Limit           Hard Limit           Units\nMax open files            ${files.padEnd(20)} ${files.padEnd(20)} files\n`
  for (const [text, most] of [
    [undefined, 10_000],
    [limitOf('unlimited'), 10_000],
    [limitOf('20000'), 10_000]
  ] as const) {
    const { fastify, lines } = await start(text)
    t.equal(fastify.server.maxConnections, most)
    t.strictSame(lines, [])
  }

  const { fastify, lines } = await start(limitOf('5'))
  const { port } = fastify.server.address() as AddressInfo
  const sockets = Array.from({ length: 4 }, () =>
    connect(port, '127.0.0.1')
      .on('error', () => {})
      .resume()
  )
  t.teardown(() => sockets.forEach((socket) => socket.destroy()))
  for (const end = Date.now() + 5000; sockets.filter(({ closed }) => closed).length < 2 && Date.now() < end;) await sleep(10)
  t.equal(sockets.filter(({ closed }) => closed).length, 2)
  t.strictSame(lines, [
    'this process may have 5 files open, so it holds 2 connections instead of 10000: raise ulimit -n to 20000',
    '2 connections are open, as many as this process holds: others are closed unread'
  ])
})
