import { once } from 'node:events'
import { request, type ClientRequest, type IncomingMessage } from 'node:http'
import { json } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { buildLogged } from '../helper.ts'
import { REQUESTS } from '#lib/editions/limits.ts'
import { ignoresQueries, JSONAPI, openHostile, startHostileCms, type Behaviour, type Said } from './hostile-cms.ts'
import { basic, failed } from './site.ts'

const LIST = '/jsonapi/publisher_container/daily'
const as = 'editor'

interface Edition {
  type: string
  id: string
  attributes: Record<string, unknown>
}

/** As much of an edition as a list needs. */
function edition(id: unknown): Edition {
  return {
    type: 'publisher_container--daily',
    id: `00000000-0000-4000-8000-${String(id).slice(-12).padStart(12, '0')}`,
    attributes: { drupal_internal__id: id, title: `Edition ${id}` }
  }
}

/** A page of these editions; with another behind it. */
function page(ids: unknown[]): Said {
  return { headers: JSONAPI, body: { data: ids.map(edition), links: { next: { href: 'http://cms.example/next' } } } }
}

/** What the honest site does, but for its list of daily editions. */
function listing(said: (offset: number, limit: number) => Said | 'hang' | undefined): Behaviour {
  return ({ path, query }) => (path === LIST ? said(Number(query.get('page[offset]') ?? 0), Number(query.get('page[limit]'))) : undefined)
}

t.test('a list ends with 502 before pages that never get on, or that cannot be', async (t) => {
  const newest = (count: number, offset = 0) => Array.from({ length: count }, (_, index) => 90_000 - offset - index)
  const cases: Array<[what: string, said: (offset: number, limit: number) => Said, message: RegExp]> = [
    ['one page for ever, of one less than asked for', () => page(newest(20)), /same editions again and again: a cache/],
    ['one page for ever, of one edition', () => page(newest(1)), /same editions again and again/],
    ['one page after the first', (offset) => page(newest(10, Math.min(offset, 5))), /same editions again and again/],
    [
      'more than asked for',
      (offset, limit) => page(newest(limit + 1, offset)),
      /^The CMS answered with 22 editions where at most 21 were asked for: a cache/
    ],
    ['the oldest first', (offset, limit) => page(newest(limit, offset).reverse()), /not in the order asked for/],
    ['an edition twice', () => page([9, 8, 8, 7]), /not in the order asked for/],
    ...[null, 1.5, 'x', '', true, [], {}, 2 ** 60, '99999999999999999999'].map((id): [string, () => Said, RegExp] => [
      `the id ${JSON.stringify(id)}`,
      () => page([id]),
      /^The CMS answered with an id that is no integer/
    ])
  ]
  const { call, cms } = await openHostile(t)
  for (const [what, said, message] of cases) {
    cms.behave = listing(said)
    for (const query of ['limit=20', 'limit=20&total=1', 'limit=20&offset=9000']) {
      const reply = await call('GET', `/api/collections/daily?${query}`, { as })
      failed(t, `${what}, ${query}`, reply, 502, 'CMS_INVALID_RESPONSE', query === 'limit=20' ? message : /./)
      t.ok(reply.upstream.length <= 20, `${what}, ${query}: ${reply.upstream.length} requests`)
    }
  }
  cms.behave = ignoresQueries()
  const reply = await call('GET', '/api/collections/publisher_container?limit=50', { as })
  t.ok(reply.upstream.length < 20, `${reply.upstream.length} requests before a cache that ignores queries`)
})

t.test('editions whose label alone may be seen are hidden rows, and ids may be texts', async (t) => {
  const { call, cms } = await openHostile(t)
  cms.behave = listing((offset) => ({
    headers: JSONAPI,
    body: { data: offset === 0 ? [edition('9'), { ...edition(8), attributes: { title: 'Label' } }, edition(7)] : [] }
  }))
  const { body } = await call('GET', '/api/collections/daily', { as })
  t.strictSame(
    body.data.map(({ title }: { title: [{ value: string }] }) => title[0].value),
    ['Edition 9', 'Edition 7']
  )
})

t.test('rows that move while pages are read are no reason for a 502', async (t) => {
  const { call, cms } = await openHostile(t)
  let added = 0
  let pages = 0
  // A page is added with each of the first pages: the second is the first once more.
  const rows = () => Array.from({ length: 200 + added }, (_, index) => 1000 + added - index)
  cms.behave = listing((offset, limit) => {
    const said = page(rows().slice(offset, offset + limit))
    if (pages++ < 2) added += 50
    return said
  })
  const reply = await call('GET', '/api/collections/daily?limit=60', { as })
  t.equal(reply.status, 200)
  t.strictSame(
    reply.body.data.map(({ id }: { id: [{ value: number }] }) => id[0].value),
    rows().slice(0, 60)
  )
})

t.test('a list of hidden rows without end is answered 503 LIST_TOO_DEEP, which says how to narrow it', async (t) => {
  const { call, cms } = await openHostile(t)
  cms.behave = listing(() => page([]))
  const reply = await call('GET', '/api/collections/daily', { as })
  const most = REQUESTS + 10 + 1
  failed(
    t,
    'a list',
    reply,
    503,
    'LIST_TOO_DEEP',
    new RegExp(
      `^This takes more than ${most} requests to the CMS: .* search with q, status, type or key, ask for a smaller offset, leave out total=1`
    )
  )
  t.notOk('retry-after' in reply.headers)
  t.equal(reply.upstream.length, most)
})

t.test('a row that is searched for without filters is found, or the search ends', async (t) => {
  const trapped: Behaviour = ({ path, query }) =>
    path.startsWith('/jsonapi/publisher_container/') && [...query.keys()].some((name) => name.startsWith('filter'))
      ? { headers: JSONAPI, body: { data: [] } }
      : undefined
  const cases: Array<[what: string, said: (offset: number, limit: number) => Said, code: string, status: number]> = [
    ['one page for ever', () => page(Array.from({ length: 50 }, (_, index) => 90_000 - index)), 'CMS_INVALID_RESPONSE', 502],
    ['hidden rows after the first', (offset) => page(offset === 0 ? [90_000] : []), 'LIST_TOO_DEEP', 503]
  ]
  for (const [what, said, code, status] of cases) {
    const { call, cms } = await openHostile(t)
    cms.behave = async (asked, ...rest) => (await trapped(asked, ...rest)) ?? listing(said)(asked, ...rest)
    for (const path of ['/api/collection/5', '/api/collections/daily?q=nothing']) {
      const reply = await call('GET', path, { as })
      failed(t, `${what}: ${path}`, reply, status, code)
      t.ok(reply.upstream.length <= REQUESTS + 11, `${what}: ${path}: ${reply.upstream.length} requests`)
    }
  }
})

/** Something that is awaited elsewhere. */
async function until(t: Test, what: string, condition: () => boolean): Promise<void> {
  for (const deadline = Date.now() + 20_000; !condition(); await sleep(5)) {
    if (Date.now() > deadline) throw new Error(`in vain: ${what}`)
  }
  t.pass(what)
}

/** The application on a port, for callers who can hang up. */
async function listening(t: Test, options: Parameters<typeof openHostile>[1] = {}) {
  const desk = await openHostile(t, options)
  const url = await desk.app.listen({ host: '127.0.0.1', port: 0 })
  let gone = 0
  desk.app.server.on('request', (_request, response) =>
    response.on('close', () => {
      gone += response.writableFinished ? 0 : 1
    })
  )

  function open(path: string, user: string, body?: object): ClientRequest {
    const sent = request(url + path, {
      method: body ? 'POST' : 'GET',
      headers: { ...basic(user), ...(body && { 'content-type': 'application/json' }) }
    })
    sent.on('error', () => {})
    sent.end(body && JSON.stringify(body))
    return sent
  }

  return { ...desk, open, gone: () => gone }
}

t.test('who hangs up leaves no requests behind', async (t) => {
  const callers = Array.from({ length: 20 }, (_, index) => `caller-${index}`)
  const { cms, open, gone } = await listening(t)
  cms.behave = listing((offset, limit) => ({
    ...page(Array.from({ length: limit }, (_, index) => 90_000 - offset - index).filter((id) => id % 10)),
    delayMs: 20
  }))
  const sent = callers.map((user) => open('/api/collections/daily?offset=9000', user))
  const pages = (user: string) =>
    cms.asked.filter(({ path, headers }) => path === LIST && headers.authorization === basic(user).authorization).length
  await until(t, 'all are reading', () => callers.every((user) => pages(user) >= 3))
  for (const one of sent) one.destroy()
  await until(t, 'all have hung up', () => gone() === callers.length)
  const before = cms.asked.length
  await sleep(500)
  t.ok(cms.asked.length - before <= callers.length, `${cms.asked.length - before} requests after them`)
})

t.test('what is in flight for who hangs up is cancelled', async (t) => {
  const { cms, open } = await listening(t)
  cms.behave = listing(() => 'hang')
  const sent = open('/api/collections/daily', 'editor')
  const read = () => cms.asked.find(({ path }) => path === LIST)
  await until(t, 'the CMS is asked', () => read() !== undefined)
  sent.destroy()
  await until(t, 'the read is cancelled', () => read()!.aborted)
})

t.test('for who hangs up before the CMS is asked for anything, nothing is sent', async (t) => {
  const { cms, open, gone, app } = await listening(t, { env: { AUTH: 'drupal' } })
  let answer = () => {}
  const held = new Promise<undefined>((resolve) => {
    answer = () => resolve(undefined)
  })
  cms.behave = ({ path }) => (path === '/jsonapi' ? held : undefined)
  const sent = open('/api/collections/daily', 'editor')
  await until(t, 'Drupal is asked who calls', () => cms.asked.length === 1)
  sent.destroy()
  await until(t, 'the caller has hung up', () => gone() === 1)
  answer()
  await until(t, 'Drupal has said who calls', () => cms.asked.some(({ path }) => path.startsWith('/jsonapi/user/user/')))
  t.equal((await app.inject({ url: '/api/collection/5', headers: basic('editor') })).statusCode, 200, 'another call of the same user')
  t.notOk(cms.asked.some(({ path, query }) => path === LIST && query.has('sort')))
})

t.test('a read that callers share goes on while one of them is left', async (t) => {
  const { cms, open, app } = await listening(t)
  let answer = () => {}
  const held = new Promise<undefined>((resolve) => {
    answer = () => resolve(undefined)
  })
  cms.behave = ({ path }) => (path === LIST ? held : undefined)
  const reads = () => cms.asked.filter(({ path }) => path === LIST)
  let came = 0
  app.server.on('request', () => {
    came++
  })
  const callers = Array.from({ length: 3 }, () => open('/api/collections/daily?limit=1', 'editor'))
  await until(t, 'all have come', () => came === 3 && reads().length > 0)
  await sleep(50)
  callers[0]!.destroy()
  callers[2]!.destroy()
  await sleep(50)
  t.equal(reads().length, 1, 'one request')
  t.notOk(reads()[0]!.aborted)
  answer()
  const [response] = (await once(callers[1]!, 'response')) as [IncomingMessage]
  const body = (await json(response)) as { data: unknown[] }
  t.equal(body.data.length, 1)
})

t.test('a write goes on when its caller hangs up, and so does the look at what became of it', async (t) => {
  const { cms, open, gone } = await listening(t)
  let answer = () => {}
  const held = new Promise<void>((resolve) => {
    answer = resolve
  })
  cms.behave = async ({ method }, honest) => {
    if (method !== 'PATCH') return undefined
    await held
    await honest()
    return { status: 500, body: 'lost' }
  }
  const sent = open('/api/collection/5', 'editor', { title: [{ value: 'Saved all the same' }] })
  const write = () => cms.asked.findIndex(({ method }) => method === 'PATCH')
  await until(t, 'the write is sent', () => write() !== -1)
  sent.destroy()
  await until(t, 'the caller has hung up', () => gone() === 1)
  answer()
  await until(t, 'the outcome is looked up', () =>
    cms.asked.slice(write() + 1).some(({ method, path }) => method === 'GET' && path.startsWith('/jsonapi/publisher_container/'))
  )
  t.notOk(cms.asked.some(({ aborted }) => aborted))
})

t.test('the log tells of a circuit breaker that opens, not of each request that it refuses', async (t) => {
  const cms = await startHostileCms(t)
  for (const env of [{ staleSeconds: '0' }, {}, { AUTH: 'drupal' }] as Array<Record<string, string>>) {
    cms.behave = () => undefined
    const { app, logged } = await buildLogged(t, { CMS_URL: cms.url, ...env })
    const ask = () => app.inject({ url: '/api/collection/5', headers: basic('editor') })
    t.equal((await ask()).statusCode, 200)
    logged()
    cms.behave = () => ({ status: 500, body: 'down' })
    const strangers = Array.from({ length: 10 }, (_, index) =>
      app.inject({ url: '/api/collection/5', headers: basic(`stranger-${index}`) })
    )
    await Promise.all(strangers)
    const [told] = logged().filter(({ msg }) => /circuit breaker/.test(msg) && /is open/.test(msg))
    t.match(told, {
      level: 40,
      msg: /circuit breaker before the CMS is open: no requests are sent but one at a time to try it; 10 failures in a row, the last of them: status 500$/
    })
    // With AUTH it is another breaker that has opened.
    if (!env.AUTH) for (let time = 0; time < 5; time++) await ask()
    for (let time = 0; time < 5; time++) await app.inject({ url: '/api/collection/5', headers: basic('another') })
    t.strictSame(
      logged().filter(({ level }) => level > 30),
      [],
      'no line for what is refused'
    )
  }
})

t.test('saves of one edition wait for each other, and are refused where too many do', async (t) => {
  const { call, cms } = await openHostile(t)
  let answer = () => {}
  const held = new Promise<undefined>((resolve) => {
    answer = () => resolve(undefined)
  })
  cms.behave = ({ method }) => (method === 'PATCH' ? held : undefined)
  const saves = Array.from({ length: 18 }, (_, index) =>
    call('POST', '/api/collection/5', { as, body: { title: [{ value: `Save ${index}` }] } })
  )
  const refused = await Promise.race(saves)
  failed(t, 'the eighteenth', refused, 503, 'EDITION_BUSY', /^16 saves of this edition wait already\. Nothing of yours was sent/)
  t.equal(refused.headers['retry-after'], '5')
  answer()
  const statuses = (await Promise.all(saves)).map(({ status }) => status)
  t.strictSame(statuses.toSorted(), [...Array(17).fill(200), 503])
  t.equal(cms.asked.filter(({ method }) => method === 'PATCH').length, 17, 'nothing was sent for it')
})
