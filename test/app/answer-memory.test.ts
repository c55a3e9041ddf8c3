import { once } from 'node:events'
import { connect } from 'node:http2'
import { text } from 'node:stream/consumers'
import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify'
import t from 'tap'
import { createAnswerMemory, LARGE_ANSWER } from '#lib/http/answer-memory.ts'
import answerMemory from '../../plugins/app/answer-memory.ts'
import { openLarge, SIZE } from './fixtures/large-answer.ts'
import { readSlowly } from './fixtures/slow-reader.ts'

const PATIENT = { graceMs: 60_000, bytesPerSecond: 1 }

t.test('a large answer counts until its caller has it', async (t) => {
  const { socket, until } = await openLarge(t, PATIENT)
  let length = 0
  socket
    .on('data', (chunk: Buffer) => {
      length += chunk.length
    })
    .resume()
  await until(false)
  t.ok(length > SIZE / 2, 'what is still on its way is at the system')
})

t.test('the connection of a caller who takes nothing is closed, as soon as is promised', async (t) => {
  const began = performance.now()
  const { until } = await openLarge(t, { graceMs: 300, bytesPerSecond: 1024 * 1024 * 1024 })
  await until(false)
  const ms = performance.now() - began
  t.ok(ms >= 295 && ms < 5000, `${ms} ms`)
})

t.test('the connection of a caller who takes a little now and then is closed', async (t) => {
  const { port, socket, until } = await openLarge(t, { graceMs: 300, bytesPerSecond: 1024 * 1024 * 1024 })
  socket.destroy()
  const reader = readSlowly(t, port, { path: '/large', bytesPerSecond: 1_000_000, everyMs: 10 })
  await once(reader.socket, 'end')
  t.ok(reader.taken() < SIZE)
  await until(false)
})

t.test('a large answer says its length, whatever its letters, also to HEAD and over HTTP/2', async (t) => {
  const value = 'é'.repeat(LARGE_ANSWER)
  for (const http2 of [false, true]) {
    const fastify = Fastify({ ...(http2 && { http2 }) } as FastifyServerOptions) as unknown as FastifyInstance
    t.teardown(() => fastify.close())
    await fastify.register(answerMemory, { memory: createAnswerMemory() })
    fastify.get('/large', async () => value)
    const url = await fastify.listen({ host: '127.0.0.1', port: 0 })
    const length = String(2 * LARGE_ANSWER)
    if (http2) {
      const session = connect(url)
      const stream = session.request({ ':path': '/large' })
      const [{ 'content-length': said }] = await once(stream, 'response')
      t.equal(said, length)
      t.equal(await text(stream), value)
      session.close()
      continue
    }
    for (const method of ['GET', 'HEAD']) {
      const response = await fetch(`${url}/large`, { method })
      t.equal(response.headers.get('content-length'), length, method)
      t.equal(response.headers.get('transfer-encoding'), null)
      t.equal(await response.text(), method === 'GET' ? value : '')
    }
  }
})
