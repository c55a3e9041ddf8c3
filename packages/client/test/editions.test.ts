import { EventSource } from 'eventsource'
import t, { type Test } from 'tap'
import { createCms, type Cms } from '../../drupal-stand-in/cms.ts'
import { newspaper } from '../../../dev/content.ts'
import { createClient, type Client, type LockView, type Saved } from '../src/client.ts'
import { build } from '../../../test/helper.ts'
import { startEngine } from '../../../test/locks/fixtures/engines.ts'
import { createEditions } from '../src/editions.ts'
import { createFeed } from '../src/feed.ts'
import { createHttp } from '../src/http.ts'
import { anna, ben, createTime, createWire, failureOf, until, type Fate } from './fixtures.ts'

/** The application in front of a sample CMS, and its clients. */
async function newsroom(
  t: Test,
  env: Record<string, string> = {}
): Promise<{ cms: Cms; url: string; seat: (user?: { uid: string; name: string }) => Client }> {
  const { endpoint } = await startEngine(t, 'dynalite')
  const cms = createCms({ content: newspaper() })
  t.teardown(() => cms.close())
  const app = await build(t, {
    DYNAMODB_ENDPOINT: endpoint,
    CMS_URL: await cms.listen(),
    CMS_AUTH: 'basic',
    CMS_USER: 'editor',
    CMS_PASSWORD: 'editor',
    EVENTS_POLL_MS: '100',
    ...env
  })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  return { cms, url, seat: (user) => createClient({ url, EventSource, ...(user && { user }) }) }
}

const monday = (key: string) => ({
  title: [{ value: 'Monday' }],
  field_key: [{ value: key }],
  field_publisher_edition_type: [{ value: 'daily' }],
  field_articles: [{ target_id: 4 }]
})

t.test('editions are created, read, changed and listed', async (t) => {
  const { seat, url } = await newsroom(t)
  const { editions } = seat()
  const made = await editions.create('daily', monday('one'))
  t.match(made, { edition: { type: [{ target_id: 'daily' }], title: [{ value: 'Monday' }] }, etag: /^(?:W\/)?".+"$/, age: undefined })
  const id = String(made.edition['id']![0]!['value'])
  t.strictSame(await editions.read(id), made)
  t.strictSame(await editions.read(String(made.edition['uuid']![0]!['value'])), made)
  const late = await editions.update(id, { title: [{ value: 'Monday, late' }] }, { ifMatch: made.etag })
  t.match(late.edition, { title: [{ value: 'Monday, late' }] })
  t.match(await failureOf(editions.update(id, { title: [{ value: 'x' }] }, { ifMatch: made.etag })), {
    name: 'QuoinError',
    status: 412,
    code: 'PRECONDITION_FAILED'
  })
  t.match(await editions.update(id, { title: [{ value: 'Monday, later' }] }), { edition: { title: [{ value: 'Monday, later' }] } })
  t.match(await failureOf(editions.update(id, { field_page_count: [{ value: -1 }] })), {
    status: 422,
    code: 'UNPROCESSABLE',
    message: /field_page_count/,
    body: { violations: [{ path: 'field_page_count.0.value' }] }
  })
  const behindProxy = createClient({
    url,
    fetch: async (input, init) => {
      const { body, status, headers } = await fetch(input, init)
      return new Response(body, { status, headers: { ...Object.fromEntries(headers), etag: `W/${headers.get('etag')}` } })
    }
  })
  const { etag } = await behindProxy.editions.read(id)
  t.match(
    await behindProxy.editions.update(id, { title: [{ value: 'Monday, latest' }] }, { ifMatch: etag }),
    { edition: { title: [{ value: 'Monday, latest' }] } },
    'a proxy that compresses makes it weak'
  )
  const stripped = createClient({ url, fetch: async (input, init) => new Response((await fetch(input, init)).body) })
  t.match(await stripped.editions.read(id), { etag: undefined }, 'where a proxy leaves it out')
  t.match(await failureOf(editions.read(999999)), { status: 404, code: 'NOT_FOUND' })
  t.match(await editions.bundles(), [{ id: 'daily', label: 'Daily Editions' }, { id: 'special' }])
  t.match(await editions.types(), [{ id: 'daily' }, { id: 'special' }])
})

t.test('articles are inserted, moved and removed', async (t) => {
  const { seat } = await newsroom(t)
  const { editions } = seat()
  const {
    edition: { id: [id] = [] }
  } = await editions.create('daily', monday('order'))
  const number = Number(id!['value'])
  const both = await editions.arrange(number, [
    { op: 'insert', article: { target_id: 7 }, before: { target_id: 4 } },
    { op: 'remove', article: { target_id: 9 } }
  ])
  t.match(both, {
    edition: { field_articles: [{ target_id: 7 }, { target_id: 4 }] },
    etag: String,
    operations: [{ outcome: 'done' }, { outcome: 'already' }]
  })
  const swap = [{ op: 'move' as const, article: { target_id: 7 }, at: 'end' as const }]
  const { etag } = await editions.arrange(number, swap, { field: 'field_articles', ifMatch: both.etag })
  t.not(etag, both.etag)
  t.match(await failureOf(editions.arrange(number, swap, { ifMatch: both.etag })), { status: 412, code: 'PRECONDITION_FAILED' })
  t.match(await failureOf(editions.arrange(number, [{ op: 'move', article: { target_id: 9 }, at: 'start' }])), {
    status: 409,
    code: 'ORDER_CONFLICT',
    body: { order: [{ target_id: 4 }, { target_id: 7 }] }
  })
})

t.test('articles that no edition holds are read to the end, by pages of unequal length', async (t) => {
  const { seat } = await newsroom(t)
  const { editions } = seat()
  const pages = []
  for await (const page of editions.search({ bundle: 'article', unplaced: true, limit: 2 })) pages.push(page)
  t.equal(pages.at(-1)!.next, null)
  t.strictSame(
    pages.slice(1).map(({ offset }) => offset),
    pages.slice(0, -1).map(({ next }) => next)
  )
  const { sections, isComplete } = await editions.sections('article')
  t.strictSame([sections.find(({ label }) => label === 'Sports')?.label, isComplete], ['Sports', true])
  t.match(await failureOf(editions.sections('daily')), { status: 404 })
})

t.test('a search is read page by page, as far as it is wanted', async (t) => {
  const { cms, seat } = await newsroom(t)
  const { editions } = seat()
  const pages = []
  for await (const page of editions.search({ bundle: 'daily', q: 'november', limit: 5, total: true })) pages.push(page)
  const found = pages.flatMap(({ editions }) => editions)
  t.equal(found.length, pages[0]!.total)
  t.ok(pages.length > 1 && found.length > 5, `${found.length} on ${pages.length} pages`)
  t.equal(new Set(found.map(({ id }) => id![0]!['value'])).size, found.length)
  t.ok(found.every(({ title }) => /november/i.test(String(title![0]!['value']))))
  t.match(
    pages.map(({ offset, limit, hasMore }) => [offset, limit, hasMore]),
    [
      [0, 5, true],
      [5, 5, true]
    ]
  )
  t.equal(pages.at(-1)!.hasMore, false)
  const { value: page } = await editions.search().next()
  t.match(page, { editions: { length: 20 }, limit: 20, offset: 0, hasMore: true })
  // The first search of a bundle also looks whether its filters find all.
  await editions.search({ limit: 1, status: 1 }).next()
  const before = cms.requests
  const published = editions.search({ limit: 1, offset: 1, status: 1 })
  for (const offset of [1, 2]) t.match((await published.next()).value, { offset, editions: [{ status: [{ value: true }] }] })
  t.ok(cms.requests - before <= 4, 'what is not wanted is not asked for')
  t.match(await failureOf(editions.search({ bundle: 'weekly' }).next()), { status: 404 })
  t.match(await failureOf(editions.search({ limit: 0 }).next()), { status: 400, message: /limit/ })
  t.match((await editions.search({ limit: 501 }).next()).value, { limit: 500 })
  t.match((await editions.search({ limit: 1, sort: 'id' }).next()).value, { editions: [{ id: [{ value: 1 }] }] })
})

t.test('pages that hold fewer than were asked for follow each other all the same', async (t) => {
  const asked: string[] = []
  const { editions } = createClient({
    url: 'http://quoin.example',
    fetch: async (url) => {
      const { searchParams } = new URL(String(url))
      asked.push(`${searchParams.get('offset')}`)
      const offset = Number(searchParams.get('offset'))
      return Response.json({
        data: [],
        meta: { limit: 500, offset, hasMore: offset < 1000, total: null },
        links: { ...(offset < 1000 && { next: '/next' }) }
      })
    }
  })
  for await (const page of editions.search({ limit: 2000 })) t.equal(page.limit, 500)
  t.strictSame(asked, ['0', '500', '1000'], 'none is left out')
})

t.test('a search without a bundle asks for all editions under the name that the site has for them', async (t) => {
  const { url, seat } = await newsroom(t)
  t.ok((await seat().editions.search({ limit: 1 }).next()).value!.editions.length)
  const asked: string[] = []
  const elsewhere = createClient({
    url,
    entityType: 'newspaper_issue',
    fetch: async (input) => {
      asked.push(new URL(String(input)).pathname)
      return Response.json({ data: [], meta: { limit: 20, offset: 0, hasMore: false, total: null }, links: {} })
    }
  })
  await elsewhere.editions.search().next()
  await elsewhere.editions.search({ bundle: 'daily' }).next()
  t.strictSame(asked, ['/api/collections/newspaper_issue', '/api/collections/daily'])
})

t.test('a search that is given up ends with the reason', async (t) => {
  const { editions } = (await newsroom(t)).seat()
  const typing = new AbortController()
  const page = failureOf(editions.search({ signal: typing.signal }).next())
  typing.abort()
  t.match(await page, { name: 'AbortError' })
  const error = new Error('enough')
  t.equal(await failureOf(editions.read(1, { signal: AbortSignal.abort(error) })), error)
})

t.test('a copy that is given while the CMS is down is marked with its age', async (t) => {
  const { cms, seat } = await newsroom(t)
  const { editions } = seat()
  const [fresh, page] = [await editions.read(1), (await editions.search({ limit: 2 }).next()).value]
  t.notOk('age' in fresh || 'age' in page!)
  cms.settings.maintenance = true
  t.match(await editions.read(1), { ...fresh, age: Number })
  t.match((await editions.search({ limit: 2 }).next()).value, { ...page, age: Number })
  t.match(await failureOf(editions.update(1, { title: [{ value: 'x' }] })), { status: 503, code: 'CMS_UNAVAILABLE', retryAfter: Number })
})

t.test('the lock board is read, and followed', async (t) => {
  const { seat } = await newsroom(t)
  const { editions } = seat()
  const { edition } = await editions.create('daily', monday('board'))
  const id = Number(edition['id']![0]!['value'])
  t.strictSame(await editions.locks(id), { locks: [], entities: 2, count: 0 })
  const heard: LockView[][] = []
  const told: Saved[] = []
  t.teardown(
    editions.subscribe(id, {
      locks: (locks) => {
        heard.push(locks)
      },
      saved: (saved) => {
        told.push(saved)
      }
    })
  )
  await until(() => heard.length)
  const held = await seat(anna).locks.acquire({ type: 'node', id: '4', fieldName: 'title' })
  await until(() => heard.length === 2)
  await held.release()
  await until(() => heard.length === 3)
  t.match(heard, [{ length: 0 }, [{ entityType: 'node', entityId: '4', fieldName: 'title', userData: anna }], { length: 0 }])
  const { etag } = await seat(anna).editions.update(id, { title: [{ value: 'Another' }] })
  await until(() => told.length)
  t.match(told, [{ entityType: 'publisher_container', entityId: String(id), etag, uid: anna.uid, fields: ['title'] }])
})

t.test('a page of a search is followed', async (t) => {
  const { seat } = await newsroom(t, { heartbeatSeconds: '1' })
  const { editions } = seat()
  const heard: LockView[][] = []
  const told: Saved[] = []
  const stop = editions.watch(
    { q: 'followed', limit: 5 },
    {
      locks: (locks) => {
        heard.push(locks)
      },
      saved: (saved) => {
        told.push(saved)
      }
    }
  )
  t.teardown(stop)
  await until(() => heard.length)
  const { edition } = await editions.create('daily', { ...monday('followed'), title: [{ value: 'The followed one' }] })
  const id = String(edition['id']![0]!['value'])
  await until(() => heard.length === 2)
  await seat(anna).locks.acquire({ type: 'publisher_container', id, fieldName: 'title' })
  await until(() => heard.length === 3)
  t.match(heard, [{ length: 0 }, { length: 0 }, [{ entityType: 'publisher_container', entityId: id, fieldName: 'title', userData: anna }]])
  await editions.update(id, { field_page_count: [{ value: 3 }] })
  await until(() => told.length)
  t.match(told, [{ entityId: id, fields: ['field_page_count'] }])
  stop()
})

t.test('a save over a field that somebody else has locked is refused, with the locks', async (t) => {
  const { seat } = await newsroom(t, { EDITION_LOCKS: 'enforce' })
  const [first, second] = [seat(anna), seat(ben)]
  const field = { type: 'publisher_container', id: '1', fieldName: 'title' }
  await first.locks.acquire(field)
  t.match(await failureOf(second.editions.update(1, { title: [{ value: "Ben's" }] })), {
    status: 423,
    code: 'FIELD_LOCKED',
    message: 'Nothing was saved: title is locked by Anna',
    lock: undefined,
    locks: [{ fieldName: 'title', userData: anna }]
  })
  t.match(await first.editions.update(1, { title: [{ value: "Anna's" }] }), { edition: { title: [{ value: "Anna's" }] } })
  t.match(
    await failureOf(seat({ uid: 'Bénédicte', name: '' }).editions.update(1, { title: [{ value: 'x' }] })),
    { status: 423 },
    'a uid that no header field can carry is nobody'
  )
})

t.test('a create whose outcome is not known is sent again with the same key, and makes one edition', async (t) => {
  const { cms, url } = await newsroom(t)
  const answer = (status: number, body: string, headers: Record<string, string> = {}) => new Response(body, { status, headers })
  const unknown = (status: number) => answer(status, JSON.stringify({ message: 'x', code: 'CMS_FAILED', uuid: 'u' }))
  const fates: Array<[what: string, fates: Fate[], pauses: number]> = [
    ['the answer is lost', ['deaf'], 1],
    ['nothing arrives', ['down', 'down'], 2],
    ['something before Quoin answers', [answer(502, '<html>'), answer(200, '<html>')], 2],
    ['Quoin does not know', [unknown(502), unknown(504)], 2],
    ['Quoin is still at it', [answer(409, JSON.stringify({ message: 'x', code: 'IDEMPOTENCY_KEY_BUSY' }))], 1]
  ]
  for (const [what, waiting, pauses] of fates) {
    const { time, wire, editions } = retrying(url)
    wire.fates.push(...waiting)
    const made = editions.create('daily', monday(what))
    for (let pause = 1; pause <= pauses; pause++) {
      await until(() => time.waits().length)
      t.equal(wire.sent.length, pause, `${what}: not before the pause is over`)
      t.ok(time.waits()[0]! >= 500 && time.waits()[0]! <= 2000)
      time.pass(2000)
    }
    t.match(await made, { edition: { field_key: [{ value: what }] } })
    t.equal(new Set(wire.sent.map(({ body, headers }) => JSON.stringify([body, headers['idempotency-key']]))).size, 1, 'the same each time')
    t.equal((await editions.search({ key: what }).next()).value!.editions.length, 1)
  }
  t.equal(cms.requestLines.filter((line) => / 201$/.test(line)).length, fates.length)
})

t.test('a create is given up after three tries, and after one where the outcome is known', async (t) => {
  const { url } = await newsroom(t)
  {
    const { time, wire, editions } = retrying(url)
    wire.fates.push(
      'down',
      'down',
      new Response('{"code":"CMS_UNAVAILABLE","message":"x","uuid":"u"}', { status: 503, headers: { 'retry-after': '7' } })
    )
    const made = failureOf(editions.create('daily', monday('lost'), { idempotencyKey: 'mine' }))
    for (let pause = 0; pause < 2; pause++) {
      await until(() => time.waits().length)
      time.pass(2000)
    }
    t.match(await made, { status: 503, code: 'CMS_UNAVAILABLE', retryAfter: 7, uuid: 'u' })
    t.equal(wire.sent.length, 3)
    for (const { headers } of wire.sent) t.equal(headers['idempotency-key'], '"mine"')
  }
  const { time, wire, editions } = retrying(url)
  wire.fates.push(new Response('{"code":"CMS_UNAVAILABLE","message":"x","uuid":"u"}', { status: 503, headers: { 'retry-after': '7' } }))
  const late = editions.create('daily', monday('late'))
  await until(() => time.waits().length)
  t.equal(time.waits()[0], 7000, 'Retry-After is kept')
  time.pass(7000)
  t.match(await late, { edition: { field_key: [{ value: 'late' }] } })
  const certain: Fate[] = [
    new Response('{"code":"CMS_UNAVAILABLE","message":"x"}', { status: 503 }),
    new Response('{"code":"UNPROCESSABLE","message":"x"}', { status: 422 }),
    new Response('<html>', { status: 404 })
  ]
  for (const fate of certain) {
    const { wire, editions } = retrying(url)
    wire.fates.push(fate)
    t.match(await failureOf(editions.create('daily', monday('known'))), { name: 'QuoinError', uuid: undefined })
    t.equal(wire.sent.length, 1)
  }
})

t.test('every save is sent again under its key, and saved once', async (t) => {
  const { cms, url } = await newsroom(t)
  const { editions: desk } = createClient({ url })
  const {
    edition: { id: [id] = [] }
  } = await desk.create('daily', { ...monday('often'), status: [{ value: false }] })
  const number = Number(id!['value'])
  const keys = new Set<string>()
  for (const save of [
    (editions: ReturnType<typeof createEditions>) => editions.update(number, { title: [{ value: 'Late' }] }),
    (editions: ReturnType<typeof createEditions>) => editions.arrange(number, [{ op: 'insert', article: { target_id: 9 }, at: 'end' }]),
    (editions: ReturnType<typeof createEditions>) => editions.upsert('daily', 'often', { title: [{ value: 'Later' }] }),
    (editions: ReturnType<typeof createEditions>) => editions.close(number)
  ]) {
    const { time, wire, editions } = retrying(url)
    wire.fates.push('deaf')
    const before = cms.requestLines.length
    const saved = save(editions)
    await until(() => time.waits().length)
    time.pass(2000)
    t.match(await saved, { edition: { field_key: [{ value: 'often' }] } })
    t.equal(cms.requestLines.slice(before).filter((line) => /^PATCH .* 200$/.test(line)).length, 1)
    for (const { headers } of wire.sent) keys.add(headers['idempotency-key']!)
  }
  t.equal(keys.size, 4, 'each has a key of its own')
})

t.test('while the lock store is away a save goes without a key, once', async (t) => {
  const away: Fate = new Response('{"code":"STORE_UNAVAILABLE","message":"x"}', { status: 503 })
  const { url } = await newsroom(t)
  const { wire, editions } = retrying(url)
  wire.fates.push(away)
  t.match(await editions.update(1, { title: [{ value: 'Late' }] }), { edition: { title: [{ value: 'Late' }] } })
  t.strictSame(
    wire.sent.map(({ headers }) => headers['idempotency-key'] === undefined),
    [false, true]
  )
  wire.fates.push(new Response('{"code":"STORE_UNAVAILABLE","message":"x"}', { status: 503 }), 'down')
  t.match(await failureOf(editions.update(1, { title: [{ value: 'Later' }] })), { code: 'UNREACHABLE' })
  t.equal(wire.sent.length, 4)
})

t.test('a create that is aborted is not sent again', async (t) => {
  const { url } = await newsroom(t)
  const reason = new Error('not wanted any more')
  const { time, wire, editions } = retrying(url)
  const page = new AbortController()
  wire.fates.push('down')
  const made = failureOf(editions.create('daily', monday('aborted'), { signal: page.signal }))
  await until(() => time.waits().length)
  page.abort(reason)
  t.equal(await made, reason, 'at once, not when its pause is over')
  time.pass(2000)
  t.equal(wire.sent.length, 1)
  t.equal(await failureOf(editions.create('daily', monday('aborted'), { signal: page.signal })), reason)
  t.equal((await editions.search({ key: 'aborted' }).next()).value!.editions.length, 0)
})

t.test('every call that is aborted ends with the reason', async (t) => {
  const { seat } = await newsroom(t)
  const { editions, locks } = seat(anna)
  const reason = new Error('not wanted any more')
  const options = { signal: AbortSignal.abort(reason) }
  const entity = { type: 'node', id: '42' }
  const field = { ...entity, fieldName: 'title' }
  const calls = [
    locks.acquire(field, options),
    locks.overwrite(field, options),
    locks.release(field, options),
    locks.list(entity, options),
    locks.drafts(entity, options),
    locks.discard(entity, options),
    editions.update(60, { title: [{ value: 'x' }] }, options),
    editions.read(60, options),
    editions.bundles(options),
    editions.types(options),
    editions.locks(60, options)
  ]
  for (const failure of await Promise.all(calls.map((call) => failureOf(call)))) t.equal(failure, reason)
  t.strictSame(await locks.list(entity), [])
})

/** Editions of a client whose requests may get lost, and whose time is the test's. */
function retrying(url: string) {
  const time = createTime()
  const wire = createWire()
  const http = createHttp({ url, fetch: wire.fetch })
  return { time, wire, editions: createEditions({ http, feed: createFeed({ http, EventSource, later: time.later }), later: time.later }) }
}
