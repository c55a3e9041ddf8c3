import { once } from 'node:events'
import { connect, type AddressInfo } from 'node:net'
import t from 'tap'
import { BODY_LIMIT } from '../../config/fastify.ts'
import { build } from '../helper.ts'

const CHUNK = Buffer.alloc(256 * 1024, ' ')
const CHUNKS = 2 * BODY_LIMIT / CHUNK.length

/** How a body can be framed. */
const framings: Array<[name: string, field: string, frame: (chunk: Buffer) => Buffer, end: string]> = [
  ['a length', `Content-Length: ${CHUNKS * CHUNK.length}`, (chunk) => chunk, ''],
  ['chunks', 'Transfer-Encoding: chunked', (chunk) => Buffer.concat([Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n')]), '0\r\n\r\n']
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
