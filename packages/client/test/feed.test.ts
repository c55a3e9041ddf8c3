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
  const { seat } = await open(t, { watchersMax: '1' })
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

t.test('all who follow the same share one stream, and who comes later is told at once what the others know', async (t) => {
  const { streams, url } = await streaming(t)
  const { later } = createTime()
  const subscribe = createFeed({ http: createHttp({ url }), EventSource, later })
  /** What a listener was told, with its first argument. */
  const follow = (options?: { signal?: AbortSignal; limit?: number }, onLocks = () => {}) => {
    const told: unknown[][] = []
    const note =
      (name: string) =>
      (...news: any[]) => {
        told.push([name, ...news])
      }
    const stop = subscribe(
      '/events',
      {
        locks(views, ...more) {
          note('locks')(views.map(({ fieldName }) => fieldName).join(), ...more)
          onLocks()
        },
        down: note('down'),
        saved: note('saved'),
        requested: ({ userData, until }) => note('requested')(userData.uid, until),
        present: ({ userData, until }) => note('present')(userData.uid, until),
        proposed: ({ id, until }) => note('proposed')(id, until)
      },
      options
    )
    t.teardown(stop)
    return { told: () => told.splice(0), stop }
  }
  const send = (event: string, data: object = {}) => streams.at(-1)!.response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
  const of = (fieldName: string, { uid } = anna, until = 9) => ({ entityType: 'node', entityId: '42', fieldName, userData: { uid }, until })

  const first = follow()
  const second = follow()
  await until(() => streams.length === 1)
  send('snapshot', { data: [of('title')] })
  send('present', of('', anna))
  send('present', of('', ben))
  send('present', of('', ben, 0))
  send('requested', of('title', ben))
  send('proposed', { ...of('title', ben), id: 'x' })
  send('proposed', { ...of('title', ben), id: 'y' })
  send('proposed', { ...of('title', ben, 0), id: 'x' })
  send('locked', of('lead'))
  const all = [
    ['locks', 'title', false, true],
    ['present', '7', 9],
    ['present', '8', 9],
    ['present', '8', 0],
    ['requested', '8', 9],
    ['proposed', 'x', 9],
    ['proposed', 'y', 9],
    ['proposed', 'x', 0],
    ['locks', 'title,lead', false, undefined]
  ]
  const heard = first.told()
  await until(() => heard.push(...first.told()) === all.length)
  t.strictSame([heard, second.told()], [all, all])
  const late = follow()
  t.strictSame(late.told(), [], 'not before it can stop')
  await until(() => heard.push(...late.told()) === all.length + 4)
  t.strictSame(
    heard.splice(all.length),
    [
      ['locks', 'title,lead', false, true],
      ['present', '7', 9],
      ['requested', '8', 9],
      ['proposed', 'y', 9]
    ],
    'what is over is not told'
  )

  t.test('one that throws, or stops, keeps nobody else from hearing', async (t) => {
    const caught = Promise.withResolvers<void>()
    process.once('uncaughtException', () => caught.resolve())
    const bad = follow({}, () => {
      throw new Error('a listener')
    })
    await caught.promise
    bad.stop()
    late.stop()
    send('saved', { etag: '"x"' })
    await until(() => heard.push(...first.told()) > all.length)
    t.strictSame([heard.splice(all.length), second.told(), late.told()], [[['saved', { etag: '"x"' }]], [['saved', { etag: '"x"' }]], []])
  })

  t.test('while it is down, that is told after what was known', async (t) => {
    send('stale')
    await until(() => first.told().length)
    const during = follow()
    const heard: unknown[] = []
    await until(() => heard.push(...during.told()) === 5)
    t.strictSame([heard[0], heard[4]], [['locks', 'title,lead', true, true], ['down']])
    during.stop()
  })

  t.test('the last who stops ends it, once', async (t) => {
    const aborter = new AbortController()
    follow({ signal: aborter.signal })
    first.stop()
    second.stop()
    second.stop()
    await new Promise((resolve) => setTimeout(resolve, 30))
    t.equal(streams[0]!.response.destroyed, false)
    aborter.abort()
    const again = follow()
    second.stop()
    const shared = follow()
    await until(() => streams[0]!.response.destroyed && streams.length === 2)
    send('snapshot', { data: [] })
    await until(() => again.told().length + shared.told().length === 2)
    follow({ limit: 5 })
    await until(() => streams.length === 3)
    t.match(streams[2]!.response.req.url, '/events?limit=5', 'another query is another stream')
    follow({ signal: AbortSignal.abort() })
    await new Promise((resolve) => setTimeout(resolve, 30))
    t.equal(streams.length, 3)
  })
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

t.test('something else may follow the streams', async (t) => {
  const followed: unknown[] = []
  const { locks, editions } = createClient({
    subscribe(path, _listener, options) {
      followed.push([path, options])
      return () => followed.push('stop')
    }
  })
  const { heard, ...listener } = ears()
  locks.subscribe(node, listener)()
  editions.subscribe(12, listener)
  editions.watch({ bundle: 'daily', limit: 5 }, listener)
  t.strictSame(followed, [
    ['/api/cloud/data-state/node/42/events', undefined],
    'stop',
    ['/api/collection/12/locks/events', undefined],
    ['/api/collections/daily/events', { limit: 5 }]
  ])
  t.strictSame(heard, [])
})

t.test('without an EventSource that is said', async (t) => {
  t.intercept(globalThis as never, 'EventSource' as never, { configurable: true, value: undefined as never })
  t.throws(() => createClient({ url: 'http://127.0.0.1:9' }).locks.subscribe(node, ears()), { name: 'TypeError', message: /EventSource/ })
})

t.test('an event that arrives after the end is told to nobody', async (t) => {
  const handlers = new Map<string, (event: { data: string }) => void>()
  class Late {
    readyState = 1
    addEventListener(type: string, handler: (event: { data: string }) => void) {
      handlers.set(type, handler)
    }
    close() {}
  }
  const { later, waits } = createTime()
  const { heard, ...listener } = ears()
  const stop = createFeed({ http: createHttp({ url: 'http://127.0.0.1:9' }), EventSource: Late, later })('/events', listener)
  await until(() => handlers.has('snapshot'))
  const send = () => handlers.get('snapshot')!({ data: '{"data":[]}' })
  send()
  await until(() => heard.length === 1)
  stop()
  send()
  await new Promise((resolve) => setTimeout(resolve, 20))
  t.strictSame([heard, waits()], [[{}], []])
})
