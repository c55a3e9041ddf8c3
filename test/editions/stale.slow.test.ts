import { once } from 'node:events'
import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { newspaper } from '../../dev/content.ts'
import { createCatalog } from '#lib/editions/site/catalog.ts'
import { createStaleCache, type Copy } from '#lib/editions/stale-cache.ts'
import { createEditions } from '#lib/editions/editions.ts'
import { createSite } from '#lib/editions/site/site.ts'
import { createJsonapi, type Jsonapi } from '#lib/drupal/client.ts'
import { createHttp } from '#lib/http/client.ts'
import fc from '../fixtures/property.ts'
import { startFakeEngine } from '../locks/fixtures/fake-engine.ts'
import { build, buildLogged } from '../helper.ts'
import { model } from './fixtures.ts'
import { daily, errors, individual, JSONAPI, say, startScriptedCms, uuid, type Script } from './scripted-cms.ts'
import { basic, editionsOf, failed, open, type Known } from './site.ts'
import { fakeTime } from '../fixtures/time.ts'
import { newCaller } from '#lib/http/calls.ts'

const [first, second] = editionsOf(newspaper()).filter(({ published, bundle }) => published && bundle === 'daily') as Known[] as [
  Known,
  Known
]
const paths = [
  `/api/collection/${first.id}`,
  `/api/collection/${first.uuid}`,
  '/api/collections/daily?limit=2',
  '/api/collections/publisher_container?status=1&total=1',
  '/api/collection/bundles',
  '/api/publisher-edition/bundles'
]

/** The sample site behind something that can keep the service from it. */
async function behind(t: Test, env: Record<string, string> = {}) {
  const desk = await open(t)
  const state: { fault: Script | undefined; write: Script | undefined; afterWrite: Script | undefined } = {
    fault: undefined,
    write: undefined,
    afterWrite: undefined
  }
  const proxy: Server = createServer((incoming, response) => {
    if (state.fault) return state.fault(response, incoming.resume())
    const { method = '', url = '', headers } = incoming
    if (state.write && method !== 'GET') return state.write(response, incoming.resume())
    const outgoing = request(desk.url + url, { method, headers }, (answer) => {
      if (method !== 'GET') state.fault = state.afterWrite
      answer.pipe(response.writeHead(answer.statusCode!, answer.headers))
    })
    return incoming.pipe(outgoing)
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  t.teardown(() => {
    proxy.closeAllConnections()
    proxy.close()
  })
  const { app, logged } = await buildLogged(t, {
    CMS_URL: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    CMS_TIMEOUT_MS: '10000',
    ...env
  })
  const get = async (url: string, headers: Record<string, string> = basic('editor')) => {
    const reply = await app.inject({ url, headers })
    return { status: reply.statusCode, text: reply.body, headers: reply.headers, body: reply.body ? reply.json() : undefined }
  }
  const save = (id: number, title: string) =>
    app.inject({ method: 'POST', url: `/api/collection/${id}`, headers: basic('editor'), payload: { title: [{ value: title }] } })
  return { ...desk, app, logged, get, save, state }
}

const resets: Script = (response) => response.socket!.resetAndDestroy()
const status =
  (code: number, headers = {}): Script =>
  (response) =>
    say(response, code, '<html>PDOException', { 'content-type': 'text/html', ...headers })

t.test('a read that was answered before is answered with a marked copy while the CMS is down', async (t) => {
  const { app, get, state, logged } = await behind(t, { CMS_TIMEOUT_MS: '5000' })
  const before = await Promise.all(paths.map((path) => get(path)))
  t.ok(
    before.every(({ status, headers }) => status === 200 && !('age' in headers) && !('cache-status' in headers)),
    'a fresh answer has no mark'
  )
  const faults: Array<[what: string, fault: Script, mark: RegExp, urls?: string[]]> = [
    ['reset', resets, /^quoin; fwd=stale; ttl=-\d+; detail=CMS_UNREACHABLE$/],
    ['slow', () => {}, /^quoin; fwd=stale; ttl=-\d+; detail=CMS_TIMEOUT$/, paths.slice(0, 2)],
    [
      'maintenance',
      (response) => say(response, 503, errors(503, 'maintenance')),
      /^quoin; fwd=stale; fwd-status=503; ttl=-\d+; detail=CMS_UNAVAILABLE$/
    ],
    ['failing', status(500), /^quoin; fwd=stale; fwd-status=500; ttl=-\d+; detail=CMS_FAILED$/, paths.slice(0, 4)]
  ]
  for (const [what, fault, mark, urls = paths.slice(0, 5)] of faults) {
    state.fault = fault
    logged()
    for (const [index, copy] of (await Promise.all(urls.map((url) => get(url)))).entries()) {
      const url = urls[index]!
      const fresh = before[paths.indexOf(url)]!
      t.strictSame(
        [copy.status, copy.text, copy.headers.etag, copy.headers['content-type']],
        [200, fresh.text, fresh.headers.etag, fresh.headers['content-type']],
        `${what}: ${url}`
      )
      t.match([copy.headers.age, copy.headers['cache-status']], [/^\d+$/, mark])
    }
    const lines = logged().filter(({ level }) => level >= 40)
    t.equal(lines.filter(({ msg }) => /answered with a copy$/.test(msg)).length, urls.length, `${what}: each is logged`)
    t.ok(lines.every(({ level }) => level === 40))
    state.fault = undefined
    const well = await get(paths[0]!)
    t.notOk('age' in well.headers, 'afterwards answers are fresh')
  }

  state.fault = resets
  const head = await app.inject({ method: 'HEAD', url: paths[0]!, headers: basic('editor') })
  t.match(
    [head.statusCode, head.body, head.headers['content-length'], head.headers.age],
    [200, '', String(Buffer.byteLength(before[0]!.text)), /^\d+$/]
  )
  for (const [what, url, headers] of [
    ['what was not asked before', `/api/collection/${second.id}`, basic('editor')],
    ['another caller', paths[0]!, basic('reader')],
    ['nobody', paths[0]!, {}],
    ['another language', paths[0]!, { ...basic('editor'), 'accept-language': 'de' }]
  ] as const) {
    failed(t, what, await get(url, headers as Record<string, string>), 502, 'CMS_UNREACHABLE')
  }
})

t.test('while the circuit breaker is open, reads get copies, and the others fail at once', async (t) => {
  const { app, get, save, state, cms } = await behind(t)
  const fresh = await get(paths[0]!)
  await get(paths[4]!)
  state.fault = status(500)
  for (let time = 0; time < 10; time++) failed(t, 'failing', await get(`/api/collection/${second.id}`, basic('reader')), 502, 'CMS_FAILED')
  t.match((await app.inject('/health/ready')).json().dependencies.cms, { status: 'unavailable', message: /circuit breaker open/ })
  state.fault = undefined
  const before = cms.requests
  const copy = await get(paths[0]!)
  t.strictSame([copy.status, copy.text], [200, fresh.text])
  t.match(copy.headers['cache-status'], /^quoin; hit; ttl=-\d+; detail=CMS_UNAVAILABLE$/)
  const create = await app.inject({
    method: 'POST',
    url: '/api/collection',
    headers: basic('editor'),
    payload: { type: 'daily', title: ['T'], field_key: ['while-down'] }
  })
  for (const reply of [await save(first.id, 'Not now'), create]) {
    failed(
      t,
      'a write',
      { status: reply.statusCode, headers: reply.headers, body: reply.json() },
      503,
      'CMS_UNAVAILABLE',
      /nothing is sent to it, and so nothing saved, until it is tried again in [1-5] s$/
    )
    t.match(reply.headers['retry-after'], /^[1-5]$/)
  }
  t.equal(cms.requests, before, 'the CMS is asked nothing')
  t.strictSame((await get(paths[0]!)).text, fresh.text, 'a write that was not sent ends no copy')
})

t.test('an update works on what the CMS says now, or not at all', async (t) => {
  const { get, save, state, cms } = await behind(t)
  await get(paths[0]!)
  for (const fault of [resets, status(500), status(503)]) {
    state.fault = fault
    const reply = await save(first.id, 'On an old copy')
    t.ok(reply.statusCode >= 502, reply.body)
    t.match((await get(paths[0]!)).headers['age'], /^\d+$/, 'while there is a copy')
  }
  t.notOk(cms.requestLines.some((line) => /^(?:POST|PATCH)/.test(line)))
  state.fault = undefined
  t.notMatch((await get(paths[0]!)).text, 'On an old copy')
})

t.test('what was saved is not followed by a copy from before', async (t) => {
  const { app, get, save, state } = await behind(t)
  const urls = [...paths, `/api/collection/${second.id}`]
  await Promise.all(urls.map((url) => get(url)))
  await get(paths[1]!, basic('reader'))
  t.equal((await save(first.id, 'Saved')).statusCode, 200)
  state.fault = resets
  const ages = await Promise.all(urls.slice(0, 5).map(async (url) => (await get(url)).status))
  t.strictSame(ages, [502, 502, 502, 502, 502], 'neither the edition nor a list')
  t.equal((await get(paths[1]!, basic('reader'))).status, 502, 'to nobody')
  t.match(await get(urls[6]!), { status: 200, headers: { age: /./ } }, 'another edition is what it was')

  state.fault = undefined
  await Promise.all(urls.map((url) => get(url)))
  const created = await app.inject({
    method: 'POST',
    url: '/api/collection',
    headers: basic('editor'),
    payload: { type: 'daily', title: ['New'], field_key: ['new-one'] }
  })
  t.equal(created.statusCode, 201)
  state.fault = resets
  t.strictSame([(await get(paths[2]!)).status, (await get(paths[0]!)).status], [502, 200], 'a new edition changes lists only')

  state.fault = undefined
  await Promise.all(urls.map((url) => get(url)))
  state.write = resets
  t.match((await save(first.id, 'Perhaps')).json(), { statusCode: 502, message: /whether your change was saved is not known/ })
  state.fault = resets
  t.equal((await get(paths[0]!)).status, 502, 'nor what may have been saved')
})

t.test('a read that was under way during a save leaves no copy', async (t) => {
  const cms = await startScriptedCms(t)
  const app = await build(t, { CMS_URL: cms.url })
  const path = `/api/collection/${uuid}`
  const save = () => app.inject({ method: 'POST', url: path, payload: { title: [{ value: 'Saved meanwhile' }] } })
  await app.inject(path)
  let release = () => {}
  cms.odd = {
    is: (line) => line.startsWith(`GET ${daily}/${uuid}`),
    script: (response) => {
      cms.odd = undefined
      release = () => say(response, 200, individual)
    }
  }
  const read = app.inject({ url: path, headers: { 'accept-language': 'de' } })
  while (cms.odd) await sleep(2)
  t.equal((await save()).statusCode, 200)
  release()
  t.equal((await read).statusCode, 200)
  await cms.down()
  t.equal((await app.inject({ url: path, headers: { 'accept-language': 'de' } })).statusCode, 502)
})

t.test('what the CMS refuses is refused, and ends the copy', async (t) => {
  for (const [code, reply] of [
    [401, 401],
    [403, 403],
    [404, 404]
  ] as const) {
    const cms = await startScriptedCms(t)
    const app = await build(t, { CMS_URL: cms.url })
    const read = async () => (await app.inject({ url: `/api/collection/${uuid}`, headers: basic('editor') })).statusCode
    t.equal(await read(), 200)
    cms.odd = { is: (line) => line.includes(uuid), script: (response) => say(response, code, errors(code, 'x')) }
    t.equal(await read(), reply)
    await cms.down()
    t.equal(await read(), 502, `${code}: no copy is left`)
  }
  const cms = await startScriptedCms(t)
  const app = await build(t, { CMS_URL: cms.url })
  const read = async () => (await app.inject(`/api/collection/${uuid}`)).statusCode
  t.equal(await read(), 200)
  for (const [script, code] of [
    [status(429, { 'retry-after': '3' }), 503],
    [status(200), 502],
    [status(302, { location: '/' }), 502]
  ] as const) {
    cms.odd = { is: (line) => line.includes(uuid), script }
    t.equal(await read(), code, 'nor is what is no outage covered up')
  }
})

t.test('with an age of 0 there are no copies', async (t) => {
  const cms = await startScriptedCms(t)
  const app = await build(t, { CMS_URL: cms.url, staleSeconds: '0' })
  t.equal((await app.inject(`/api/collection/${uuid}`)).statusCode, 200)
  await cms.down()
  t.equal((await app.inject(`/api/collection/${uuid}`)).statusCode, 502)
})

t.test('an answer is as old as the oldest thing in it', async (t) => {
  const cms = await startScriptedCms(t)
  const app = await build(t, { CMS_URL: cms.url })
  await app.inject({ url: '/api/collection/bundles', headers: basic('editor') })
  await sleep(1100)
  t.equal((await app.inject({ url: '/api/collection/bundles', headers: basic('editor') })).statusCode, 200)
  await cms.down()
  t.ok(
    Number((await app.inject({ url: '/api/collection/bundles', headers: basic('editor') })).headers.age) >= 2,
    'the resource types were asked for by an earlier request'
  )

  const http = createHttp({ url: cms.url, timeoutMs: 2000 })
  t.teardown(() => http.close())
  await cms.up()
  const clock = { now: 1_000_000 }
  const catalog = createCatalog({
    cms: createJsonapi({ http, jsonapiPath: '/jsonapi' }),
    model,
    time: fakeTime({ monotonic: () => clock.now })
  })
  const caller = basic('editor')
  t.equal(catalog.age(newCaller(caller)), 0)
  await catalog.editionTypes(newCaller(caller))
  clock.now += 40_000
  await catalog.editionTypes(newCaller(basic('reader')))
  t.strictSame(
    [catalog.age(newCaller(caller)), catalog.age(newCaller(basic('reader')))],
    [40_000, 0],
    'what another caller was told is not made use of'
  )
  clock.now += 30_000
  t.strictSame(
    [catalog.age(newCaller(caller)), catalog.age(newCaller(basic('reader')))],
    [70_000, 30_000],
    'collections serve for two minutes'
  )
  clock.now += 50_000
  t.strictSame([catalog.age(newCaller(caller)), catalog.age(newCaller(basic('reader')))], [0, 80_000], 'what is too old is asked for anew')
})

t.test('copies are bounded in age, number and size', async (t) => {
  const clock = { now: 0 }
  const copies = createStaleCache({ seconds: 10, model, time: fakeTime({ monotonic: () => clock.now }) })
  const copy = (payload: string, at = clock.now): Copy => ({ payload, etag: undefined, at, isEdition: true })
  copies.keep('a', copy('x'), 0, newCaller())
  for (const [now, age] of [
    [0, 0],
    [1, 1],
    [9001, 10],
    [10_000, 10],
    [10_001, undefined]
  ] as const) {
    clock.now = now
    t.equal(copies.find('a')?.age, age, `after ${now} ms`)
  }
  clock.now = 0
  for (let index = 0; index < 5001; index++) copies.keep(`n${index}`, copy('x'), 0, newCaller(basic(`caller ${index % 20}`)))
  t.strictSame([copies.find('n0'), copies.find('n5000')?.copy.payload], [undefined, 'x'], 'the one least asked for makes room')
  const megabytes = 'x'.repeat(10 * 1024 * 1024)
  for (let index = 0; index < 4; index++) copies.keep(`m${index}`, copy(megabytes), 0, newCaller())
  t.strictSame(
    [0, 1, 2, 3].map((index) => copies.find(`m${index}`) !== undefined),
    [false, true, true, true]
  )
  copies.keep('huge', copy('x'.repeat(33 * 1024 * 1024)), 0, newCaller())
  t.equal(copies.find('huge'), undefined)
  t.ok(copies.find('m3'), 'and what does not fit at all drives nothing out')
})

t.test('no answer, shared, kept or fresh, is ever that of another caller', async (t) => {
  let down = false
  const cms = await startScriptedCms(t)
  // Who is asking, as the CMS sees it, becomes the title.
  cms.odd = {
    is: (line) => line !== 'GET /jsonapi',
    script(response, { headers: { authorization, cookie, 'accept-language': language }, url }) {
      if (down) return say(response, 503, errors(503, 'maintenance'))
      const data = {
        ...individual.data,
        attributes: { ...individual.data.attributes, title: JSON.stringify([authorization, cookie, language]) }
      }
      setTimeout(() => say(response, 200, { data: url!.includes(uuid) ? data : [data] }), 3)
    }
  }
  const header = fc.constantFrom(undefined, 'a', 'b', 'a, b', 'Basic YTpi', 'SESSa=1', 'SESSa=1; b=2', '1', 'a\tb')
  const who = fc.record({ authorization: header, cookie: header, 'accept-language': header, 'x-csrf-token': header })
  const asks = fc.array(fc.record({ who, url: fc.constantFrom(`/api/collection/${uuid}`, '/api/collections/daily'), wait: fc.boolean() }), {
    minLength: 2,
    maxLength: 12
  })
  let stale = 0
  const app = await build(t, { CMS_URL: cms.url })
  await fc.assert(
    fc.asyncProperty(asks, asks, async (well, ill) => {
      for (const [isDown, list] of [
        [false, well],
        [true, [...well, ...ill]]
      ] as const) {
        down = isDown
        const pending: Array<Promise<void>> = []
        for (const { who, url, wait } of list) {
          pending.push(check(url, who))
          if (wait) await pending.at(-1)
        }
        await Promise.all(pending)
      }
    }),
    { numRuns: 30 }
  )
  t.ok(stale > 50, `${stale} copies among them`)

  async function check(url: string, who: Record<string, string | undefined>): Promise<void> {
    const headers = Object.fromEntries(Object.entries(who).filter(([, value]) => value !== undefined)) as Record<string, string>
    const reply = await app.inject({ url, headers })
    if (reply.statusCode !== 200) return
    if (reply.headers.age !== undefined) stale++
    const body = reply.json()
    const { authorization, cookie, 'accept-language': language } = headers
    const session = cookie
      ?.split('; ')
      .filter((pair) => pair.startsWith('SESS'))
      .join('; ')
    const own = [
      authorization?.trim() || undefined,
      authorization?.trim() ? undefined : session || undefined,
      language?.trim() || undefined
    ]
    const seen = JSON.parse((body.data?.[0] ?? body).title[0].value).map((value: string | null) => value || undefined)
    t.strictSame(
      seen,
      JSON.parse(JSON.stringify(own)).map((value: string | null) => value ?? undefined),
      JSON.stringify(headers)
    )
  }
})

t.test('an unrelated cookie makes nobody another caller: not for what is under way, not for copies', async (t) => {
  const cms = await startScriptedCms(t)
  const heard: Array<string | undefined> = []
  let answer = () => {}
  const app = await build(t, { CMS_URL: cms.url, CMS_COOKIES: 'saml' })
  const read = (cookie: string) => app.inject({ url: `/api/collection/${uuid}`, headers: { cookie } })
  await read('SESSa=1')
  cms.odd = {
    is: (line) => line.includes(uuid),
    script: (response, { headers }) => {
      heard.push(headers.cookie)
      answer = () => say(response, 200, individual)
    }
  }
  const replies = ['SESSa=1', '_ga=1; SESSa=1', 'SESSa=1; _ga=2; theme=dark'].map(read)
  while (heard.length === 0) await sleep(2)
  for (let turn = 0; turn < 20; turn++) await sleep(1)
  t.strictSame(heard, ['SESSa=1'], 'one request for all, without what is not for Drupal')
  answer()
  t.strictSame(
    (await Promise.all(replies)).map(({ statusCode }) => statusCode),
    [200, 200, 200]
  )
  await cms.down()
  t.match(await read('_ga=3; SESSa=1'), { statusCode: 200, headers: { age: /./ } }, 'whatever other software has set since')
  for (const other of ['SESSa=2', 'SESSa=1; saml=1', 'saml=1', '_ga=1']) {
    t.equal((await read(other)).statusCode, 502, `${other} is another caller`)
  }
})

t.test('what is shared is changed by nobody', async (t) => {
  const { url } = await open(t)
  const http = createHttp({ url, timeoutMs: 5000 })
  t.teardown(() => http.close())
  const jsonapi = createJsonapi({ http, jsonapiPath: '/jsonapi' })
  const frozen: Jsonapi = { request: async (request) => deepFreeze(await jsonapi.request(request)) }
  const editions = createEditions({ site: createSite({ cms: frozen, model, cmsUrl: url, warn: () => {} }) })
  const caller = basic('editor')
  const { json, id } = await editions.create(
    { type: 'daily', title: ['T'], field_key: ['frozen'], field_articles: [{ target_id: 4, nonsense: 1 }] },
    newCaller(caller)
  )
  const updated = await editions.update(id, { ...JSON.parse(json), title: [{ value: 'U' }] }, newCaller(caller), { ifMatch: '*' })
  t.equal(JSON.parse(updated.json).title[0].value, 'U')
  t.ok((await editions.search('daily', { limit: 60, offset: 0, total: true, q: 'a' }, newCaller(caller))).editions.length > 0)
  t.ok((await editions.bundles(newCaller(caller))).length > 0 && (await editions.types(newCaller(caller))).length > 0)
})

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    Object.values(value).forEach(deepFreeze)
  }
  return value
}

t.test('a save stands although the CMS is away before its answer could be completed', async (t) => {
  const { app, state, call } = await behind(t)
  state.afterWrite = resets
  const body = { title: ['T'], field_key: ['half-way'], type: 'special', field_articles: [{ target_id: 4 }] }
  const reply = await app.inject({ method: 'POST', url: '/api/collection', headers: basic('editor'), payload: body })
  t.match([reply.statusCode, reply.json().field_key], [201, [{ value: 'half-way' }]])
  t.equal((await call('GET', '/api/collections/special?key=half-way', { as: 'editor' })).body.data.length, 1)
})

t.test('editions go on while the lock store is down, and locks while the CMS is', async (t) => {
  const cms = await startScriptedCms(t)
  const engine = await startFakeEngine(t)
  const locks = '/api/cloud/data-state/node/1'
  const body = { fieldName: 'title', userData: { uid: '7' }, payload: 'x' }
  const app = await build(t, { CMS_URL: cms.url, DYNAMODB_ENDPOINT: engine.endpoint, staleSeconds: '0', CMS_TIMEOUT_MS: '1500' })
  const statuses = (requests: Array<{ method: 'GET' | 'POST' | 'PUT' | 'DELETE'; url: string; payload?: object }>) =>
    Promise.all(requests.map(async (request) => (await app.inject(request)).statusCode))
  const editionRequests = [
    { method: 'GET', url: `/api/collection/${uuid}` },
    { method: 'GET', url: '/api/collections/daily' },
    { method: 'POST', url: `/api/collection/${uuid}`, payload: { title: ['T'] } }
  ] as const
  const lockRequests = [
    { method: 'POST', url: locks, payload: body },
    { method: 'PUT', url: locks, payload: body },
    { method: 'GET', url: locks },
    { method: 'DELETE', url: `${locks}?uid=7` }
  ] as const
  const well = engine.script

  engine.script = (_operation, _input, response) => {
    response.destroy()
  }
  const pending = statuses([...lockRequests])
  for (let time = 0; time < 5; time++) t.strictSame(await statuses([...editionRequests]), [200, 200, 200])
  t.strictSame(await pending, [503, 503, 503, 503])
  t.match((await app.inject('/health/ready')).json(), {
    status: 'unavailable',
    dependencies: { store: { status: 'unavailable' }, cms: { status: 'ok' } }
  })
  engine.script = well

  for (const fault of [() => {}, resets]) {
    cms.odd = { is: () => true, script: fault }
    const away = statuses([...editionRequests, ...editionRequests, ...editionRequests, ...editionRequests])
    for (let time = 0; time < 5; time++) t.strictSame(await statuses([...lockRequests]), [200, 200, 200, 200])
    t.ok((await away).every((code) => code >= 502))
  }
  await sleep(1000)
  t.match((await app.inject('/health/ready')).json(), {
    status: 'unavailable',
    dependencies: { store: { status: 'ok' }, cms: { status: 'unavailable' } }
  })
})

t.test('the CMS hears of a caller, and the caller of the CMS, what each may', async (t) => {
  const seen: Array<Record<string, unknown>> = []
  const cms = await startScriptedCms(t)
  const foreign = {
    ...JSONAPI,
    server: 'Apache',
    'x-powered-by': 'PHP/8.2',
    'x-drupal-cache': 'HIT',
    'x-generator': 'Drupal 10',
    via: '1.1 varnish',
    connection: 'close, x-hop',
    'x-hop': '1',
    'keep-alive': 'timeout=9',
    upgrade: 'h2c',
    'proxy-authenticate': 'Basic',
    location: 'http://10.1.2.3/',
    link: '<x>',
    etag: '"theirs"',
    'cache-control': 'public, max-age=900',
    age: '100',
    'set-cookie': 'other=1',
    'access-control-allow-origin': '*'
  }
  cms.odd = {
    is: (line) => line.includes(uuid),
    script: (response, { headers }) => {
      seen.push(headers)
      say(response, 200, individual, foreign)
    }
  }
  const app = await build(t, { CMS_URL: cms.url })
  const hops = {
    connection: 'keep-alive, X-Own, Accept-Language',
    'x-own': '1',
    'keep-alive': 'timeout=5',
    te: 'trailers',
    trailer: 'x',
    upgrade: 'h2c',
    'proxy-authorization': 'Basic x',
    'proxy-connection': 'keep-alive'
  }
  const reply = await app.inject({
    url: `/api/collection/${uuid}`,
    headers: { ...hops, 'accept-language': 'de', cookie: 'SESSa=1', 'x-request-id': 'r' }
  })
  t.strictSame(Object.keys(seen[0]!).sort(), ['accept', 'accept-encoding', 'connection', 'cookie', 'host', 'x-request-id'])
  t.equal(seen[0]!['connection'], 'keep-alive', 'which is our own')
  t.strictSame(Object.keys(reply.headers).sort(), [
    'cache-control',
    'connection',
    'content-length',
    'content-security-policy',
    'content-type',
    'cross-origin-resource-policy',
    'date',
    'etag',
    'referrer-policy',
    'x-content-type-options',
    'x-frame-options',
    'x-request-id'
  ])
  t.notMatch(reply.headers, { etag: '"theirs"' })
})
