import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import Fastify from 'fastify'
import t, { type Test } from 'tap'
import { standalone } from '../../app.ts'
import { fastifyOptions } from '../../config/fastify.ts'
import { serving } from '../fixtures/loopback.ts'
import { testConfig } from '../helper.ts'
import { emptyDirectory, ROOT, runNode, TUNED, type Running } from './fixtures/processes.ts'

const PATH = process.env['PATH']

/** The service before a CMS that answers when it is told to. */
async function startBeforeSlowCms(t: Test, env: Record<string, string> = {}) {
  const waiting: ServerResponse[] = []
  const CMS_URL = await serving(t, (_request, response) => {
    waiting.push(response)
  })
  const service = runNode(t, TUNED, {
    env: { PORT: '0', HOSTS: 'x', ENVIRONMENT: 'test', CMS_URL, DYNAMODB_ENDPOINT: 'http://127.0.0.1:9', ...env }
  })
  const [, port] = await service.says(/listening at http:\/\/127\.0\.0\.1:(\d+)/)
  const asked = async () => {
    while (waiting.length === 0) await sleep(5)
  }
  return {
    ...service,
    port: Number(port),
    asked,
    answer: () => waiting.splice(0).forEach((response) => response.writeHead(503, { 'retry-after': '1' }).end())
  }
}

/** A connection over which nothing has been sent but this. */
async function connected(t: Test, port: number, bytes = ''): Promise<Socket> {
  const socket = connect(port, '127.0.0.1').on('error', () => {})
  t.teardown(() => socket.destroy())
  await once(socket, 'connect')
  if (bytes) socket.write(bytes)
  return socket
}

/** All that comes over a connection until it is closed. */
async function textOf(socket: Socket): Promise<string> {
  return (await socket.setEncoding('utf8').toArray()).join('')
}

/** Milliseconds until a process has ended, and how. */
async function ending({ child, ended }: Pick<Running, 'child' | 'ended'>): Promise<{ code: number | string; ms: number }> {
  const started = performance.now()
  child.kill('SIGTERM')
  return { code: await ended, ms: performance.now() - started }
}

t.test('no connection without a request holds the exit', async (t) => {
  const { port, child, ended, output } = await startBeforeSlowCms(t)
  const agent = new Agent({ keepAlive: true })
  t.teardown(() => agent.destroy())
  const sent = request({ host: '127.0.0.1', port, path: '/health/live', agent }).end()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  await response.resume().toArray()
  await connected(t, port)
  await connected(t, port, 'GET /health/live HTT')
  await sleep(50)
  const { code, ms } = await ending({ child, ended })
  t.equal(code, 0)
  t.ok(ms < 5000, `after ${ms} ms`)
  t.equal(output().stderr, '')
})

t.test('a running request is finished first, and then its connection', async (t) => {
  const { port, child, ended, asked, answer, says } = await startBeforeSlowCms(t, { LOG_LEVEL: 'debug' })
  const socket = await connected(t, port, 'GET /api/collection/1 HTTP/1.1\r\nHost: x\r\n\r\n')
  const pipelined = await connected(
    t,
    port,
    'GET /api/collection/1 HTTP/1.1\r\nHost: x\r\n\r\nGET /health/live HTTP/1.1\r\nHost: x\r\n\r\n'
  )
  const texts = Promise.all([textOf(socket), textOf(pipelined)])
  await says(/incoming request[^]*incoming request/)
  await asked()
  child.kill('SIGTERM')
  await says(/"msg":"SIGTERM: running requests have 10000 ms to finish"/)
  answer()
  t.equal(await ended, 0)
  const [single, double] = await texts
  t.match(
    single,
    /^HTTP\/1\.1 503 .*\r\nconnection: close\r\n.*"code":"CMS_UNAVAILABLE"\}$/is,
    'the caller is told to send nothing more over it'
  )
  t.match(
    double,
    /^HTTP\/1\.1 503 .*"code":"CMS_UNAVAILABLE"\}HTTP\/1\.1 200 .*\{"status":"ok"\}$/is,
    'two that were sent at once have both been answered'
  )
})

t.test('what comes over a standing connection while the service closes is answered as ever', async (t) => {
  const fastify = Fastify({ ...fastifyOptions, logger: false })
  await fastify.register(standalone, { config: testConfig() })
  let first: ServerResponse | undefined
  fastify.get('/first', (_request, reply) => {
    reply.hijack()
    first = reply.raw.writeHead(200, { 'content-length': 5 })
    first.write('first')
  })
  await fastify.listen({ host: '127.0.0.1', port: 0 })
  const socket = await connected(t, (fastify.server.address() as AddressInfo).port, 'GET /first HTTP/1.1\r\nHost: x\r\n\r\n')
  const text = textOf(socket)
  await once(socket, 'data')
  const closed = fastify.close()
  await sleep(20)
  socket.write('GET /api/cloud/data-state/a/1?fieldName= HTTP/1.1\r\nHost: x\r\n\r\n')
  await sleep(20)
  first!.end()
  t.match(await text, /^HTTP\/1\.1 200 .*firstHTTP\/1\.1 400 .*\r\nconnection: close\r\n.*\{"success":false,/is)
  await closed
})

t.test('a request that takes longer than the grace is cut off, and the exit code says so', async (t) => {
  const { port, child, ended, asked, output } = await startBeforeSlowCms(t, { graceMs: '300' })
  await connected(t, port, 'GET /api/collection/1 HTTP/1.1\r\nHost: x\r\n\r\n')
  await asked()
  const { code, ms } = await ending({ child, ended })
  t.equal(code, 1)
  t.ok(ms >= 300 && ms < 5000, `after ${ms} ms`)
  t.match(output().stdout, /"level":50,.*"msg":"killed by timeout \(300ms\)"/)
})

t.test('a second SIGTERM ends it at once', async (t) => {
  const { port, child, ended, asked, says } = await startBeforeSlowCms(t)
  await connected(t, port, 'GET /api/collection/1 HTTP/1.1\r\nHost: x\r\n\r\n')
  await asked()
  child.kill('SIGTERM')
  await says(/"msg":"SIGTERM/)
  const { code, ms } = await ending({ child, ended })
  t.equal(code, 1)
  t.ok(ms < 5000, `after ${ms} ms`)
})

t.test('SIGTERM to npm ends the service itself', async (t) => {
  const child = spawn('npm', ['run', 'dev'], {
    cwd: ROOT,
    env: { PATH, HOME: emptyDirectory(t), PORT: '0', DATA_DIR: emptyDirectory(t), LOG_LEVEL: 'warn' },
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true
  })
  t.teardown(() => {
    try {
      process.kill(-child.pid!, 'SIGKILL')
    } catch {
      // Nobody of its group is left, as it should be.
    }
  })
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
  })
  let address: string | undefined
  while (!(address = /^Quoin listens on (http:\S+) /m.exec(text)?.[1])) await once(child.stdout, 'data')
  t.equal((await fetch(`${address}/health/live`)).status, 200)
  child.kill('SIGTERM')
  await once(child, 'exit')
  await t.rejects(fetch(`${address}/health/live`), 'its port is free')
})
