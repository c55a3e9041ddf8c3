import { setTimeout as sleep } from 'node:timers/promises'
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { standalone } from '../../app.ts'
import { fastifyOptions } from '../../config/fastify.ts'
import { openEvents } from '../fixtures/event-source.ts'
import { build, testConfig } from '../helper.ts'
import { engineNames, startEngine } from './fixtures/engines.ts'
import { fails, say, startFakeEngine, works } from './fixtures/fake-engine.ts'

const ada = { uid: '7', name: 'Ada' }
const bob = { uid: '8', name: 'Bob' }

/** The application, listening. */
async function listening(t: Test, env: Record<string, string>): Promise<{ app: FastifyInstance; url: string }> {
  const app = await build(t, env)
  return { app, url: `${await app.listen({ host: '127.0.0.1', port: 0 })}/api/cloud/data-state` }
}

for (const engine of engineNames) {
  t.test(`event streams over ${engine}`, async (t) => {
    const { endpoint } = await startEngine(t, engine)
    const here = await listening(t, { DYNAMODB_ENDPOINT: endpoint, EVENTS_POLL_MS: '100' })
    const there = await listening(t, { DYNAMODB_ENDPOINT: endpoint, EVENTS_POLL_MS: '100' })
    const send = (method: 'POST' | 'PUT' | 'DELETE', url: string, body?: object) =>
      here.app.inject({ method, url: `/api/cloud/data-state${url}`, ...(body && { body }) })

    t.test('a stream has the headers that keep proxies from holding it back', async (t) => {
      const { response, next } = await openEvents(t, `${here.url}/node/headers/events`)
      t.equal(response.statusCode, 200)
      t.match(response.headers, { 'content-type': 'text/event-stream', 'cache-control': 'private, no-store', 'x-accel-buffering': 'no' })
      t.match(await next(), { event: 'snapshot', id: String, data: { data: [] } })
    })

    t.test('both instances tell of a lock, a takeover and a release, without the text', async (t) => {
      await send('POST', '/node/1', { fieldName: 'title', userData: ada, payload: 'SECRET', timestamp: 5 })
      const streams = [await openEvents(t, `${here.url}/node/1/events`), await openEvents(t, `${there.url}/node/1/events`)]
      const all = () => Promise.all(streams.map(({ next }) => next()))
      const [first, second] = await all()
      const lock = { entityType: 'node', entityId: '1', fieldName: 'title', timestamp: 5, userData: ada, version: String }
      t.match(first, { event: 'snapshot', data: { data: [lock] } })
      t.equal(first!.id, second!.id, 'one state has one id')
      await send('PUT', '/node/1', { fieldName: 'title', userData: bob, payload: 'SECRET', timestamp: 6 })
      for (const event of await all()) t.match(event, { event: 'locked', id: String, data: { ...lock, timestamp: 6, userData: bob } })
      await send('DELETE', '/node/1?uid=8')
      for (const event of await all()) t.match(event, { event: 'released', id: String, data: { ...lock, timestamp: 6, userData: bob } })
      t.notMatch(JSON.stringify(streams.map(({ events }) => events)), 'SECRET')
    })

    t.test('a uid that was sent as a number is told as it is stored', async (t) => {
      const { next } = await openEvents(t, `${here.url}/node/number/events`)
      await next()
      await send('POST', '/node/number', { fieldName: 'title', userData: { uid: 8 } })
      t.strictSame((await next()).data.userData, { uid: '8' })
    })

    t.test('a release by /release is told too', async (t) => {
      await send('POST', '/node/2', { fieldName: 'title', userData: ada })
      const { next } = await openEvents(t, `${here.url}/node/2/events`)
      await next()
      await send('POST', '/node/2/release', { uid: '7' })
      t.match(await next(), { event: 'released', data: { fieldName: 'title', userData: ada } })
    })

    t.test('a change while the connection was broken is not missed, at another instance either', async (t) => {
      const before = await openEvents(t, `${here.url}/node/3/events`)
      const { id } = await before.next()
      before.close()
      const unchanged = await openEvents(t, `${there.url}/node/3/events`, { 'last-event-id': id! })
      await send('POST', '/node/3', { fieldName: 'title', userData: ada })
      t.match(await unchanged.next(), { event: 'locked' }, 'nothing has changed: no snapshot')
      const changed = await openEvents(t, `${there.url}/node/3/events`, { 'last-event-id': id! })
      t.match(await changed.next(), { event: 'snapshot', data: { data: [{ fieldName: 'title' }] } })
    })

    t.test('text in userData cannot break out of its event', async (t) => {
      await send('POST', '/node/4', {
        fieldName: 'title\n\nevent: released',
        userData: { uid: '7\r\nid: 1', name: 'a\u2028\r\n\r\ndata: {}' }
      })
      const { next, events } = await openEvents(t, `${here.url}/node/4/events`)
      t.match(await next(), {
        event: 'snapshot',
        data: { data: [{ fieldName: 'title\n\nevent: released', userData: { uid: '7\r\nid: 1', name: 'a\u2028\r\n\r\ndata: {}' } }] }
      })
      await sleep(50)
      t.equal(events.length, 1)
    })
  })
}

t.test('with one engine', async (t) => {
  const { endpoint } = await startEngine(t, 'dynalite')

  t.test('a resumed stream is opened at once, and heartbeats follow', async (t) => {
    const { url } = await listening(t, { DYNAMODB_ENDPOINT: endpoint, heartbeatSeconds: '2' })
    const first = await openEvents(t, `${url}/node/1/events`)
    const { id } = await first.next()
    const started = performance.now()
    const { heartbeats, events } = await openEvents(t, `${url}/node/1/events`, { 'last-event-id': id! })
    t.ok(performance.now() - started < 1800, 'the header did not wait for a heartbeat')
    for (const deadline = Date.now() + 10_000; heartbeats.length < 2 && Date.now() < deadline;) await sleep(20)
    t.ok(performance.now() - started >= 2000, 'the second came when it was time')
    t.strictSame(
      { events: events.length, heartbeats },
      { events: 0, heartbeats: [{ seconds: 0 }, { seconds: 2 }] },
      'and says how long to wait for the next'
    )
  })

  t.test('a closed connection frees its place, and beyond the limit there is 503', async (t) => {
    const { url } = await listening(t, { DYNAMODB_ENDPOINT: endpoint, watchersMax: '1' })
    const first = await openEvents(t, `${url}/node/1/events`)
    await first.next()
    const refused = await fetch(`${url}/node/2/events`)
    t.equal(refused.status, 503)
    t.equal(refused.headers.get('retry-after'), '30')
    t.match(await refused.json(), {
      success: false,
      message: /^Error: This instance serves 1 event streams/,
      error: { code: 'TOO_MANY_WATCHERS', name: 'ServiceUnavailableError' }
    })
    first.close()
    for (const deadline = Date.now() + 10_000; Date.now() < deadline; await sleep(10)) {
      const second = await openEvents(t, `${url}/node/2/events`)
      if (second.response.statusCode === 200) return t.match(await second.next(), { event: 'snapshot' })
    }
    return t.fail('the place was not freed')
  })

  t.test('closing the service ends its streams', async (t) => {
    const { app, url } = await listening(t, { DYNAMODB_ENDPOINT: endpoint })
    const streams = await Promise.all([1, 2, 3].map(() => openEvents(t, `${url}/node/1/events`)))
    await Promise.all(streams.map(({ next }) => next()))
    const started = performance.now()
    await app.close()
    await Promise.all(streams.map(({ ended }) => ended))
    t.ok(
      streams.every(({ response }) => response.complete),
      'whole, not broken off'
    )
    t.ok(performance.now() - started < 5000)
  })

  t.test('bad requests are refused before anything is watched', async (t) => {
    const { url } = await listening(t, { DYNAMODB_ENDPOINT: endpoint })
    for (const [method, path, status, code] of [
      ['GET', '/no-de/1/events', 400, 'BAD_REQUEST'],
      ['GET', `/node/${'x'.repeat(129)}/events`, 400, 'BAD_REQUEST'],
      ['POST', '/node/1/events', 405, 'METHOD_NOT_ALLOWED'],
      ['DELETE', '/node/1/events', 405, 'METHOD_NOT_ALLOWED'],
      ['GET', '/node/1/events/2', 404, 'NOT_FOUND']
    ] as const) {
      const reply = await fetch(url + path, { method })
      t.equal(reply.status, status, `${method} ${path}`)
      t.match(await reply.json(), { success: false, error: { code } })
    }
    t.match(await fetch(`${url}/node/1/events`, { method: 'HEAD' }), { status: 405 })
    t.equal((await fetch(`${url}/node/1/events`, { method: 'POST' })).headers.get('allow'), 'GET')
  })
})

t.test('a stream that cannot be filled is stale, not refused, and is filled when the store answers', async (t) => {
  const engine = await startFakeEngine(t)
  engine.script = fails('ValidationException')
  const { url } = await listening(t, { DYNAMODB_ENDPOINT: engine.endpoint })
  const { response, next } = await openEvents(t, `${url}/node/1/events`, { 'last-event-id': 'any' })
  t.equal(response.statusCode, 200)
  t.match(await next(), { event: 'stale', id: undefined, data: {} })
  engine.script = works
  t.match(await next(), { event: 'live', id: undefined, data: {} })
  t.match(await next(), { event: 'snapshot', id: String, data: { data: [] } })
})

t.test('a caller has so many streams, be they on other entities', async (t) => {
  const { endpoint } = await startEngine(t, 'dynalite')
  const { url } = await listening(t, { DYNAMODB_ENDPOINT: endpoint, watchersPerCaller: '2' })
  const streams = await Promise.all([1, 2].map((id) => openEvents(t, `${url}/node/${id}/events`)))
  const refused = await fetch(`${url}/node/3/events`)
  t.equal(refused.status, 429)
  t.equal(refused.headers.get('retry-after'), '30')
  t.match(await refused.json(), {
    success: false,
    message: 'Error: You have 2 event streams open here, the most allowed for one caller; close one, or poll',
    error: { code: 'TOO_MANY_REQUESTS' }
  })
  streams[0]!.close()
  for (const deadline = Date.now() + 10_000; Date.now() < deadline; await sleep(10)) {
    const { response } = await openEvents(t, `${url}/node/3/events`)
    if (response.statusCode === 200) return
  }
  t.fail('the place was not freed')
})

t.test('a store that fails under an open stream is logged, and the stream goes on when it is back', async (t) => {
  const engine = await startFakeEngine(t)
  const lines: string[] = []
  const app = Fastify({ ...fastifyOptions, logger: { level: 'warn', stream: { write: (line: string) => lines.push(line) } } })
  t.teardown(() => app.close())
  await app.register(standalone, { config: testConfig({ DYNAMODB_ENDPOINT: engine.endpoint, EVENTS_POLL_MS: '100' }) })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const { next } = await openEvents(t, `${url}/api/cloud/data-state/node/1/events`)
  await next()
  engine.script = fails('ValidationException')
  while (lines.length === 0) await sleep(10)
  await sleep(300)
  t.strictSame(
    lines.map((line) => JSON.parse(line).msg),
    ['event streams are not up to date: the store does not answer']
  )
  t.match(JSON.parse(lines[0]!).err, { code: 'STORE_FAILED' })
  t.match(await next(), { event: 'stale' })
  const Items = [
    {
      env_entityType_entityId: { S: 'test-node-1' },
      fieldName: { S: 'title' },
      timestamp: { N: '1' },
      userData: { M: { uid: { S: '7' } } },
      version: { S: 'v' }
    }
  ]
  engine.script = (_operation, _input, response) => say(response, 200, { Items, Count: 1, ScannedCount: 1 })
  t.match(await next(), { event: 'live' })
  t.match(await next(), { event: 'snapshot', data: { data: [{ fieldName: 'title' }] } })
})
