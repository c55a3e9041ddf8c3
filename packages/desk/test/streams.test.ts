import { mock } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Listener, Subscribe } from '../../client/src/client.ts'
import { createStreamPort } from '../page/stream-port.ts'
import { createStreams, type Need, type News, type Port, type WindowState } from '../page/streams.ts'
import { createTime } from '../../client/test/fixtures.ts'

/** What has the streams of windows, with the streams that it has open. */
function open() {
  const time = createTime()
  let now = 0
  const open: Array<{ path: string; query: unknown; listener: Listener; headers: () => Record<string, string>; of: string }> = []
  const serve = createStreams({
    feedOf: (of, headers): Subscribe => {
      // As the client does, which shares streams: one for each that is followed.
      return (path, listener, query) => {
        const stream = { path, query, listener, headers, of }
        open.push(stream)
        return () => open.splice(open.indexOf(stream), 1)
      }
    },
    hiddenMs: 60_000,
    later: time.later,
    now: () => now
  })
  const pass = (ms: number) => {
    now += ms
    time.pass(ms)
  }
  let lastWant = 0
  function window(uid = 'anna') {
    const told: News[] = []
    const port: Port<News, WindowState> = { postMessage: (news) => told.push(news), onmessage: null }
    serve(port)
    const state: WindowState = { uid, url: 'http://quoin.example', headers: {}, need: 'seen', isMultiplexed: false, wants: [] }
    const say = (more: Partial<WindowState>) => {
      Object.assign(state, more)
      port.onmessage!({ data: structuredClone(state) })
      // The next word of another window is later.
      pass(1)
    }
    return {
      say,
      want: (...paths: string[]) => say({ wants: paths.map((path) => ({ id: ++lastWant, path, query: {} })) }),
      need: (need: Need) => say({ need }),
      told: () => told.splice(0).filter((news) => news.length > 0),
      answers: () => told.splice(0).filter((news) => news.length === 0).length
    }
  }
  return { window, pass, waits: time.waits, streams: open, paths: () => [...new Set(open.map(({ path }) => path))].sort().join('') }
}

t.test('what a stream tells goes to the window that wants it', (t) => {
  const { window, streams } = open()
  const [first, second] = [window(), window('ben')]
  first.say({ headers: { authorization: 'Bearer old' }, wants: [{ id: 4, path: '/a', query: { limit: 5 } }] })
  second.want('/a')
  t.equal(streams.length, 2, 'users share none')
  t.match(streams[0], { path: '/a', query: { limit: 5 }, of: 'http://quoin.example' })
  first.say({ headers: { authorization: 'Bearer new' } })
  t.equal(streams.length, 2)
  t.strictSame(streams[0]!.headers(), { authorization: 'Bearer new' }, 'a stream is opened again with the newest token')
  const { locks, down, saved, requested, present, proposed } = streams[0]!.listener as any
  locks([], false, true)
  for (const tell of [down, saved, requested, present, proposed]) tell('x')
  t.strictSame(first.told(), [
    [4, 'locks', [], false, true],
    [4, 'down', 'x'],
    [4, 'saved', 'x'],
    [4, 'requested', 'x'],
    [4, 'present', 'x'],
    [4, 'proposed', 'x']
  ])
  t.strictSame(second.told(), [])
  second.want()
  t.strictSame([streams.length, second.answers()], [1, 1], 'every word is answered')
  t.end()
})

t.test('four streams are open: those that are seen, then of windows with locks, then of those hidden last', (t) => {
  const { window, paths, streams } = open()
  const windows = ['a', 'b', 'c', 'd', 'e', 'f'].map((path) => {
    const one = window()
    one.want(path)
    return one
  })
  const [a, b, c, , e, f] = windows as [any, any, any, any, any, any]
  t.equal(paths(), 'cdef')
  t.match(a.told(), [[Number, 'down']], 'the others are told')
  const again = window()
  again.want('a')
  t.equal(paths(), 'adef')
  t.equal(streams.length, 5, 'two windows want the same')
  again.want()
  e.need('hidden')
  t.equal(paths(), 'bcdf', 'b is seen, and e is not')
  t.strictSame(e.told().at(-1).slice(1), ['down'])
  for (const one of [a, b, c]) one.need('hidden')
  t.equal(paths(), 'bcdf', 'those hidden last keep theirs while there is room')
  a.need('holds')
  t.equal(paths(), 'acdf')
  f.want()
  t.equal(paths(), 'abcd', 'what was ended comes back when there is room')
  for (let number = 0; number < 40; number++) {
    const one = window()
    one.say({ isMultiplexed: true, wants: [{ id: 1, path: ` ${number}`, query: {} }] })
  }
  t.equal(streams.length, 32, 'by HTTP/2 there is room for more')
  t.end()
})

t.test('a hidden window keeps its streams for a while, and has them again when it is seen', (t) => {
  const { window, pass, paths, waits } = open()
  const [first, second] = [window(), window()]
  first.want('a')
  second.want('b')
  first.need('hidden')
  pass(30_000)
  second.need('holds')
  // All go on saying what they want.
  const beat = () => [first, second].forEach((one) => one.say({}))
  beat()
  t.equal(paths(), 'ab')
  pass(30_000)
  t.equal(paths(), 'b')
  t.match(first.told(), [[Number, 'down']])
  for (let minutes = 0; minutes < 10; minutes++) {
    beat()
    pass(60_000)
  }
  t.equal(paths(), 'b', 'one with a lock keeps them')
  first.need('seen')
  t.equal(paths(), 'ab')
  t.equal(waits().filter((ms) => ms < 60_000).length, 0, 'nothing else is to come')
  t.end()
})

t.test('a window that says nothing any more is closed or frozen: its streams end, until it says something', (t) => {
  const { window, pass, paths } = open()
  const [first, second] = [window(), window()]
  first.want('a')
  second.want('b')
  for (let beats = 0; beats < 8; beats++) {
    pass(20_000)
    second.say({})
  }
  t.equal(paths(), 'b')
  first.say({})
  t.equal(paths(), 'ab')
  t.end()
})

/** A window's side, with what it has posted at each of its connections. */
function openPort(t: Test, more: Partial<Parameters<typeof createStreamPort>[0]> = {}) {
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  const ports: Array<Port<WindowState, News> & { posted: WindowState[] }> = []
  const side = createStreamPort({
    connect() {
      const posted: WindowState[] = []
      const port = { posted, postMessage: (state: WindowState) => posted.push(structuredClone(state)), onmessage: null }
      ports.push(port)
      return port
    },
    uid: 'anna',
    url: 'http://quoin.example',
    headers: () => ({}),
    need: () => 'seen',
    isMultiplexed: true,
    ...more
  })
  const told: unknown[][] = []
  const listener: Listener = {
    locks: (...news) => {
      told.push(['locks', ...news])
    },
    down: () => {
      told.push(['down'])
    }
  }
  return { ...side, ports, listener, told: () => told.splice(0), hear: (...data: News) => ports.at(-1)!.onmessage!({ data }) }
}

t.test('a window says all that it wants, once for all changes of a moment, and hears for each', async (t) => {
  const { subscribe, ports, listener, told, hear } = openPort(t, { headers: async () => ({ authorization: 'Bearer x' }) })
  const aborter = new AbortController()
  const stop = subscribe('/a', listener)
  subscribe('/b', listener, { limit: 5, signal: aborter.signal } as object)
  subscribe('/c', listener, { signal: AbortSignal.abort() })()
  await turn()
  const [{ posted }] = ports as [(typeof ports)[0]]
  const [a, b] = [
    { id: 1, path: '/a', query: {} },
    { id: 2, path: '/b', query: { limit: 5 } }
  ]
  const state = { uid: 'anna', url: 'http://quoin.example', headers: { authorization: 'Bearer x' }, need: 'seen', isMultiplexed: true }
  t.strictSame(posted.splice(0), [{ ...state, wants: [a, b] }])
  hear(1, 'locks', [], false, true)
  hear(2, 'down')
  hear(1, 'saved', {})
  hear(9, 'locks', [])
  hear()
  t.strictSame(told(), [['locks', [], false, true], ['down']])
  stop()
  stop()
  await turn()
  aborter.abort()
  await turn()
  t.strictSame(
    posted.map(({ wants }) => wants),
    [[b], []]
  )
  hear(1, 'down')
  t.strictSame(told(), [])
})

t.test('a window that closes wants nothing, at once, and the same again when it is shown again', async (t) => {
  const { subscribe, say, leave, ports, listener } = openPort(t)
  leave()
  subscribe('/a', listener)
  await turn()
  leave()
  t.strictSame(
    ports[0]!.posted.map(({ wants }) => wants.length),
    [1, 0]
  )
  await say()
  t.equal(ports[0]!.posted.at(-1)!.wants.length, 1)
})

t.test('where nobody answers any more, the window says that it is down, and asks another', async (t) => {
  const { subscribe, reconnect, ports, listener, told, hear } = openPort(t, {
    headers: () => {
      throw new Error('no token')
    }
  })
  mock.timers.tick(20_000)
  await turn()
  t.equal(ports[0]!.posted.length, 0, 'without a want there is nothing to say')
  subscribe('/a', listener)
  await turn()
  const beat = async () => {
    mock.timers.tick(20_000)
    await turn()
  }
  await beat()
  await beat()
  hear()
  for (let beats = 0; beats < 3; beats++) await beat()
  t.strictSame([ports.length, ports[0]!.posted.length, told()], [1, 6, []])
  await beat()
  t.strictSame([ports.length, told()], [2, [['down']]])
  t.match(ports[1]!.posted, [{ headers: {}, wants: [{ path: '/a' }] }])
  t.equal(ports[0]!.onmessage, null, 'the former is not heard any more')
  reconnect()
  await turn()
  t.strictSame([ports.length, ports[2]!.posted.length], [3, 1])
})
