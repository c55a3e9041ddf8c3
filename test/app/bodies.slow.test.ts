import { connect, type AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import Fastify from 'fastify'
import t from 'tap'
import jsonBody from '../../plugins/app/json-body.ts'

const MiB = 1024 * 1024
const SIZE = MiB / 2

t.test('a body in chunks of one byte takes about its size', async (t) => {
  const fastify = Fastify()
  t.teardown(() => fastify.close())
  await fastify.register(jsonBody)
  let mostBytes = 0
  fastify.post('/', async ({ body }) => {
    mostBytes = process.memoryUsage().rss
    return `${(body as string).length} characters`
  })
  await fastify.listen({ host: '127.0.0.1', port: 0 })
  const socket = connect((fastify.server.address() as AddressInfo).port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  socket.write('POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n')
  const bytes = Buffer.from(`1\r\n"\r\n${'1\r\nx\r\n'.repeat(SIZE)}1\r\n"\r\n0\r\n\r\n`)
  const before = process.memoryUsage().rss
  socket.write(bytes)
  t.match(await text(socket), `${SIZE} characters`)
  t.ok(mostBytes - before < 128 * MiB, `${Math.round((mostBytes - before) / MiB)} MiB`)
})
