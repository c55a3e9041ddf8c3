import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { EventSource } from 'eventsource'
import t, { type Test } from 'tap'
import { createClient, type LockView } from '../src/client.ts'
import { createFeed } from '../src/feed.ts'
import { createHttp } from '../src/http.ts'
import { bearer, jwtEnv } from '../../../test/auth/fixtures.ts'
import { anna, ben, createTime, open, title, until } from './fixtures.ts'

const node = { type: 'node', id: '42' }

/** A listener, and what it heard: the holders by field, or that the stream is down. */
function ears() {
  const heard: Array<Record<string, string> | 'down'> = []
  return {
    heard,
    locks: (locks: LockView[]) => {
      heard.push(Object.fromEntries(locks.map(({ fieldName, userData }) => [fieldName, userData.uid])))
    },
    down: () => {
      heard.push('down')
    }
  }
}

t.test('who edits what is told as it changes', async (t) => {
  const { seat } = await open(t)
  const { locks } = seat(anna)
  await locks.acquire(title)
  const { heard, ...listener } = ears()
  const stop = seat(ben).locks.subscribe(node, listener)
  t.teardown(stop)
  await until(() => heard.length === 1)
  const lead = await locks.acquire({ ...title, fieldName: 'lead' })
  await until(() => heard.length === 2)
  await seat(ben).locks.overwrite(title)
  await until(() => heard.length === 3)
  await lead.release()
  await until(() => heard.length === 4)
  t.strictSame(heard, [{ title: '7' }, { title: '7', lead: '7' }, { title: '8', lead: '7' }, { title: '8' }])
  stop()
  await seat(ben).locks.release(title)
  await new Promise((resolve) => setTimeout(resolve, 300))
  t.equal(heard.length, 4, 'and no more, once nobody wants to know')
})

t.test('a stream that is refused is opened again, later each time, until there is room', async (t) => {
  const { seat } = await open(t, { EVENTS_WATCHERS_MAX: '1' })
  const first = ears()
  const stop = seat(anna).locks.subscribe(node, first)
  await until(() => first.heard.length)
  const { locks, time } = seat(ben)
  const { heard, ...listener } = ears()
  const stopSecond = locks.subscribe(node, listener)
  for (const [least, most] of [
    [500, 1000],
    [1000, 2000],
    [2000, 4000]
  ] as const) {
    await until(() => time.waits().length)
    const wait = time.waits()[0]!
    t.ok(wait >= least && wait <= most, `${wait} ms`)
    time.pass(wait)
  }
  t.strictSame(heard, ['down'], 'which is told once')
  await until(() => time.waits().length)
  const { locks: third, time: thirdTime } = seat(ben)
  const stopThird = third.subscribe(node, { locks: () => t.fail('there is no room') })
  await until(() => thirdTime.waits().length)
  stopThird()
  t.strictSame(thirdTime.waits(), [], 'who stops meanwhile is not connected again')
  stop()
  await until(async () => {
    time.pass(30_000)
    await new Promise((resolve) => setTimeout(resolve, 20))
    return heard.length === 2
  })
  t.strictSame(heard, ['down', {}])
  stopSecond()
})

/** A server of event streams under the test's hand. */
async function streaming(t: Test) {
  const streams: Array<{ response: ServerResponse; lastEventId: unknown }> = []
  const server = createServer((request, response) => {
    streams.push({ response, lastEventId: request.headers['last-event-id'] })
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('retry: 10\n\n')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { streams, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

t.test('a stream that broke off and comes back without news tells again what is there', async (t) => {
  const { streams, url } = await streaming(t)
  const { later, waits } = createTime()
  const { heard, ...listener } = ears()
  const stop = createFeed({ http: createHttp({ url }), EventSource, later })('/events', listener)
  t.teardown(stop)
  await until(() => streams.length === 1)
  streams[0]!.response.write(
    `event: snapshot\nid: a\ndata: ${JSON.stringify({ data: [{ entityType: 'node', entityId: '42', fieldName: 'title', userData: anna }] })}\n\n`
  )
  await until(() => heard.length === 1)
  streams[0]!.response.destroy()
  await until(() => streams.length === 2)
  t.equal(streams[1]!.lastEventId, 'a')
  streams[1]!.response.write('event: heartbeat\ndata: {"seconds":0}\n\n')
  await until(() => heard.length === 3)
  t.strictSame(heard, [{ title: '7' }, 'down', { title: '7' }])
  t.strictSame(waits(), [], 'the platform did it')
  stop()
})

t.test('while the service cannot read the locks the stream is down, and what expires goes', async (t) => {
  const { streams, url } = await streaming(t)
  const { later } = createTime()
  const heard: unknown[] = []
  const listener = {
    locks: (locks: LockView[], isStale: boolean) => {
      heard.push([locks.map(({ fieldName }) => fieldName).join(), isStale])
    },
    down: () => {
      heard.push('down')
    }
  }
  t.teardown(createFeed({ http: createHttp({ url }), EventSource, later })('/events', listener))
  const send = (event: string, data: object = {}) =>
    streams.at(-1)!.response.write(`event: ${event}\nid: a\ndata: ${JSON.stringify(data)}\n\n`)
  const [title, lead] = ['title', 'lead'].map((fieldName) => ({ entityType: 'node', entityId: '42', fieldName, userData: anna }))
  await until(() => streams.length === 1)
  send('snapshot', { data: [title, lead] })
  send('stale')
  send('released', lead)
  send('heartbeat', { seconds: 1 })
  send('live')
  send('snapshot', { data: [title] })
  await until(() => heard.length === 4)
  t.strictSame(heard.splice(0), [['title,lead', false], 'down', ['title', true], ['title', false]])
  streams[0]!.response.destroy()
  await until(() => streams.length === 2)
  send('stale')
  send('snapshot', { data: [title] })
  await until(() => heard.length === 2)
  streams[1]!.response.destroy()
  await until(() => streams.length === 3)
  send('heartbeat', { seconds: 0 })
  await until(() => heard.length === 3)
  t.strictSame(heard, ['down', ['title', true], ['title', false]], 'once it is resumed it is live')
})

t.test('a stream that falls silent without breaking off is opened anew', async (t) => {
  const { streams, url } = await streaming(t)
  const { later, waits, pass } = createTime()
  const { heard, ...listener } = ears()
  const stop = createFeed({ http: createHttp({ url }), EventSource, later })('/events', listener)
  t.teardown(stop)
  const send = (event: string, data: object) => streams.at(-1)!.response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
  const lock = { entityType: 'node', entityId: '42', fieldName: 'title', userData: anna }
  await until(() => streams.length === 1)
  send('snapshot', { data: [] })
  send('heartbeat', { seconds: 0 })
  send('released', lock)
  await until(() => heard.length === 2)
  t.strictSame(waits(), [], 'nobody knows yet how long to wait')
  send('heartbeat', { seconds: 15 })
  await until(() => waits().length)
  pass(40_000)
  send('locked', lock)
  await until(() => heard.length === 3)
  pass(40_000)
  t.equal(streams.length, 1, 'whatever comes is a sign of life')
  t.strictSame(waits(), [5000])
  pass(5000)
  await until(() => streams.length === 2)
  t.strictSame(heard, [{}, {}, { title: '7' }, 'down'])
  t.strictSame(waits(), [45_000], 'the new one may be silent from the start')
  send('snapshot', { data: [] })
  await until(() => heard.length === 5)
  t.strictSame(heard.at(-1), {})
  stop()
  t.strictSame(waits(), [])
})

t.test('a stream that is refused after a silence is tried again later, not at once', async (t) => {
  const { streams, url } = await streaming(t)
  const { later, waits, pass } = createTime()
  const { heard, ...listener } = ears()
  let isRefused = false
  const fetch = (...request: Parameters<typeof globalThis.fetch>) =>
    isRefused ? Promise.resolve(new Response(null, { status: 503 })) : globalThis.fetch(...request)
  class Refusable extends EventSource {
    constructor(address: string) {
      super(address, { fetch })
    }
  }
  t.teardown(createFeed({ http: createHttp({ url }), EventSource: Refusable, later })('/events', listener))
  await until(() => streams.length === 1)
  streams[0]!.response.write('event: heartbeat\ndata: {"seconds":15}\n\n')
  await until(() => waits().length)
  isRefused = true
  pass(45_000)
  await until(() => waits()[0]! < 45_000)
  t.equal(waits().length, 1)
  t.strictSame(heard, ['down'])
})

t.test('a stream whose credentials cannot be had is tried again', async (t) => {
  const { streams, url } = await streaming(t)
  const { later, waits, pass } = createTime()
  let has = false
  const http = createHttp({
    url,
    headers() {
      if (!has) throw new Error('logged out')
      return { authorization: 'Bearer abc' }
    }
  })
  const { heard, ...listener } = ears()
  const subscribe = createFeed({ http, EventSource, later })
  const stop = subscribe('/events', listener)
  await until(() => waits().length)
  t.strictSame(heard, ['down'])
  has = true
  pass(waits()[0]!)
  await until(() => streams.length)
  t.equal(streams[0]!.response.req.url, '/events?access_token=abc')
  stop()
  subscribe('/events', listener)()
  await new Promise((resolve) => setTimeout(resolve, 20))
  t.equal(streams.length, 1, 'who stops at once is not connected')
})

t.test('a stream carries the token of who calls', async (t) => {
  const { seat } = await open(t, jwtEnv(t))
  const { heard, ...listener } = ears()
  t.teardown(seat(undefined, { headers: () => bearer() }).locks.subscribe(node, listener))
  await until(() => heard.length)
  t.strictSame(heard, [{}])
})

t.test('without an EventSource that is said', async (t) => {
  t.intercept(globalThis as never, 'EventSource' as never, { configurable: true, value: undefined as never })
  t.throws(() => createClient({ url: 'http://127.0.0.1:9' }).locks.subscribe(node, ears()), { name: 'TypeError', message: /EventSource/ })
})
