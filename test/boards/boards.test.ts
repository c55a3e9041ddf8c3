import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { createCms, type Cms } from '../../packages/drupal-stand-in/cms.ts'
import { newspaper } from '../../dev/content.ts'
import { createBoards } from '#lib/boards/boards.ts'
import { entitiesOf, lockedAs } from '#lib/boards/entities.ts'
import { contentModel } from '#lib/editions/model.ts'
import { Failure } from '#lib/errors.ts'
import { createLocks } from '#lib/locks/locks.ts'
import { openEvents } from '../fixtures/event-source.ts'
import { build } from '../helper.ts'
import { engineNames, startEngine } from '../locks/fixtures/engines.ts'
import { fails, startFakeEngine, works } from '../locks/fixtures/fake-engine.ts'
import { asClient, memoryStore } from '../locks/fixtures/memory-store.ts'
import { newCaller } from '#lib/http/calls.ts'

const ada = { uid: '7', name: 'Ada' }
const bob = { uid: '8', name: 'Bob' }
const EDITOR = { CMS_AUTH: 'basic', CMS_USER: 'editor', CMS_PASSWORD: 'editor' }

type Item = Record<string, any>
type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

function send(app: FastifyInstance, method: Method, url: string, body?: object, headers: Record<string, string> = {}) {
  return app.inject({ method, url, headers, ...(body && { body }) })
}

async function lock(app: FastifyInstance, entity: string, fieldName: string, userData: object, payload?: string): Promise<void> {
  const { statusCode } = await send(app, 'PUT', `/api/cloud/data-state/${entity}`, { fieldName, userData, payload, timestamp: 5 })
  if (statusCode !== 200) throw new Error(`${entity} ${fieldName} was not locked`)
}

/** A stand-in CMS, and an edition in it with some articles. */
async function site(t: Test): Promise<{ cms: Cms; CMS_URL: string }> {
  const cms = createCms({ content: newspaper() })
  t.teardown(() => cms.close())
  return { cms, CMS_URL: await cms.listen() }
}

/** The integer id of a new edition with these articles. */
async function edition(app: FastifyInstance, key: string, articles: number[]): Promise<string> {
  const body = {
    type: [{ target_id: 'daily' }],
    title: [{ value: 'Monday' }],
    field_key: [{ value: key }],
    field_publisher_edition_type: [{ value: 'daily' }],
    field_articles: articles.map((id) => ({ target_id: id }))
  }
  return String((await send(app, 'POST', '/api/collection', body)).json<Item>().id[0].value)
}

for (const engine of engineNames) {
  t.test(`lock boards over ${engine}`, async (t) => {
    const { endpoint } = await startEngine(t, engine)
    const { cms, CMS_URL } = await site(t)
    const app = await build(t, { DYNAMODB_ENDPOINT: endpoint, CMS_URL, ...EDITOR, EVENTS_POLL_MS: '100', heartbeatSeconds: '1' })
    const url = await app.listen({ host: '127.0.0.1', port: 0 })
    const id = await edition(app, 'board', [4, 2, 9])

    t.test('a board has the locks of the edition, then those of its articles in their order, without texts', async (t) => {
      t.strictSame((await send(app, 'GET', `/api/collection/${id}/locks`)).json(), { data: [], meta: { entities: 4, count: 0 } })
      await lock(app, 'node/2', 'title', ada, 'SECRET')
      await lock(app, 'node/4', 'title', bob, 'SECRET')
      await lock(app, 'node/4', 'body', { ...ada, desk: 'news' }, 'SECRET')
      await lock(app, `publisher_container/${id}`, 'field_articles', ada, 'SECRET')
      await lock(app, 'node/5', 'title', ada)
      await lock(app, 'publisher_container/1', 'title', ada)
      const before = cms.requests
      const reply = await send(app, 'GET', `/api/collection/${id}/locks`)
      t.equal(reply.statusCode, 200)
      const { data, meta } = reply.json<{ data: Item[]; meta: Item }>()
      t.strictSame(meta, { entities: 4, count: 4 })
      const expected = [
        { entityType: 'publisher_container', entityId: id, fieldName: 'field_articles', timestamp: 5, userData: ada },
        { entityType: 'node', entityId: '4', fieldName: 'body', timestamp: 5, userData: { ...ada, desk: 'news' } },
        { entityType: 'node', entityId: '4', fieldName: 'title', timestamp: 5, userData: bob },
        { entityType: 'node', entityId: '2', fieldName: 'title', timestamp: 5, userData: ada }
      ]
      t.strictSame(
        data.map(({ version, ...rest }) => rest),
        expected
      )
      t.ok(data.every(({ version }) => typeof version === 'string'))
      t.notMatch(reply.body, 'SECRET')
      t.equal(cms.requests - before, 1, 'one read of the edition')
      const { uuid } = (await send(app, 'GET', `/api/collection/${id}`)).json<Item>()
      t.strictSame((await send(app, 'GET', `/api/collection/${uuid[0].value}/locks`)).json().data, data, 'and by uuid')
    })

    t.test('a list has the locks of each row, without texts', async (t) => {
      await lock(app, 'node/119', 'title', ada, 'SECRET')
      await lock(app, 'node/119', 'body', bob, 'SECRET')
      const reply = await send(app, 'GET', '/api/collections/article?locks=1&placed=1&limit=500')
      const { data, meta } = reply.json()
      t.equal(data.length, 50)
      t.equal(meta.limit, 50)
      t.notMatch(reply.body, 'SECRET')
      const uuidOf = (nid: number) => data.find((row: Item) => row.nid[0].value === nid).uuid[0].value
      t.strictSame(
        meta.locks[uuidOf(119)].map(({ version, ...rest }: Item) => rest),
        [
          { entityType: 'node', entityId: '119', fieldName: 'body', timestamp: 5, userData: bob },
          { entityType: 'node', entityId: '119', fieldName: 'title', timestamp: 5, userData: ada }
        ]
      )
      t.strictSame(meta.locks[uuidOf(118)], [])
      t.strictSame(
        Object.keys(meta.locks),
        data.map((row: Item) => row.uuid[0].value)
      )
      const editions = (await send(app, 'GET', '/api/collections/daily?locks=1')).json()
      t.match(editions.meta.locks[editions.data[0].uuid[0].value], [
        { entityType: 'publisher_container', entityId: id, fieldName: 'field_articles' }
      ])
      t.notOk((await send(app, 'GET', '/api/collections/daily')).json().meta.locks)
    })

    t.test('a live list tells the locks on its rows, their saves, and which rows have come and gone', async (t) => {
      const { response, next, close } = await openEvents(t, `${url}/api/collections/daily/events?q=live&limit=1000&total=1`)
      t.match(response.headers, { 'content-type': 'text/event-stream' })
      t.match(await next(), { event: 'snapshot', data: { data: [], meta: { entities: 0, count: 0 } } })
      const row = await edition(app, 'live', [4])
      t.match(await next(), { event: 'snapshot', data: { data: [], meta: { entities: 1, count: 0 } } })
      await lock(app, `publisher_container/${row}`, 'title', bob)
      t.match(await next(), { event: 'locked', data: { entityType: 'publisher_container', entityId: row, userData: bob } })
      await send(app, 'DELETE', `/api/cloud/data-state/publisher_container/${row}?uid=8`)
      t.match(await next(), { event: 'released' })
      await send(app, 'POST', `/api/collection/${row}`, { field_page_count: [{ value: 2 }] })
      t.match(await next(), { event: 'saved', data: { entityId: row, fields: ['field_page_count'] } })
      await send(app, 'POST', `/api/collection/${row}`, { field_key: [{ value: 'elsewhere' }] })
      t.equal((await next()).event, 'saved')
      t.match(await next(), { event: 'snapshot', data: { meta: { entities: 0 } } })
      close()
      const all = await openEvents(t, `${url}/api/collections/article/events?limit=1000`)
      t.match(await all.next(), { event: 'snapshot', data: { meta: { entities: 50 } } }, 'as many rows as a list with locks has')
      for (const [path, status] of [
        ['/api/collections/nothing/events', 404],
        ['/api/collections/daily/events?status=2', 400],
        ['/api/collections/daily/events?offset=x', 400],
        ['/api/collections/daily/events?sort=title', 400]
      ] as const) {
        t.equal((await send(app, 'GET', path)).statusCode, status, path)
      }
    })

    t.test('live lists in different orders have different rows', async (t) => {
      await lock(app, 'node/1', 'title', ada)
      const watch = (query: string) => openEvents(t, `${url}/api/collections/article/events?limit=1${query}`)
      const [newest, oldest] = [await watch(''), await watch('&sort=id')]
      t.match(await newest.next(), { event: 'snapshot', data: { data: [{ entityId: '119' }, { entityId: '119' }] } })
      t.match(await oldest.next(), { event: 'snapshot', data: { data: [{ entityId: '1' }] } })
      await send(app, 'DELETE', '/api/cloud/data-state/node/1?uid=7')
    })

    t.test('the live board begins with the whole board and goes on with each lock', async (t) => {
      const { response, next } = await openEvents(t, `${url}/api/collection/${id}/locks/events`)
      t.match(response.headers, { 'content-type': 'text/event-stream' })
      t.match(await next(), { event: 'snapshot', id: String, data: { data: { length: 4 }, meta: { entities: 4, count: 4 } } })
      await lock(app, 'node/9', 'title', bob, 'SECRET')
      t.match(await next(), { event: 'locked', id: String, data: { entityType: 'node', entityId: '9', fieldName: 'title', userData: bob } })
      await send(app, 'DELETE', '/api/cloud/data-state/node/9?uid=8')
      t.match(await next(), { event: 'released', data: { entityType: 'node', entityId: '9', fieldName: 'title', userData: bob } })
      await Promise.all(['lead', 'caption'].map((fieldName) => lock(app, 'node/9', fieldName, bob)))
      t.strictSame([await next(), await next()].map(({ data }) => data.fieldName).sort(), ['caption', 'lead'])
      await send(app, 'DELETE', '/api/cloud/data-state/node/9?uid=8')
      t.strictSame([await next(), await next()].map(({ data }) => data.fieldName).sort(), ['caption', 'lead'])
    })

    t.test('when the articles have changed there is a new snapshot, and the new articles are watched', async (t) => {
      const { next, close } = await openEvents(t, `${url}/api/collection/${id}/locks/events`)
      const { id: before } = await next()
      await send(app, 'POST', `/api/collection/${id}`, { field_articles: [{ target_id: 2 }, { target_id: 7 }] }, { 'x-user-uid': '7' })
      const { etag } = (await send(app, 'GET', `/api/collection/${id}`)).headers
      t.match(
        await next(),
        {
          event: 'saved',
          id: undefined,
          data: { entityType: 'publisher_container', entityId: id, etag, uid: '7', fields: ['field_articles'] }
        },
        'who watches learns of the save'
      )
      const { event, data, id: after } = await next()
      t.match({ event, data }, { event: 'snapshot', data: { meta: { entities: 3, count: 2 } } })
      await lock(app, 'node/7', 'title', ada)
      t.match(await next(), { event: 'locked', data: { entityId: '7' } })
      close()

      const resumed = await openEvents(t, `${url}/api/collection/${id}/locks/events`, { 'last-event-id': before! })
      t.match(await resumed.next(), { event: 'snapshot', data: { meta: { entities: 3, count: 3 } } })
      t.not(before, after)
    })

    t.test('a save of operations on the running order tells them to who is shown it', async (t) => {
      const path = `/api/collection/${id}`
      const board = await openEvents(t, `${url}${path}/locks/events`)
      const alone = await openEvents(t, `${url}/api/cloud/data-state/publisher_container/${id}/events`)
      const list = await openEvents(t, `${url}/api/collections/daily/events`)
      for (const { next } of [board, alone, list]) t.match(await next(), { event: 'snapshot' })
      const fieldsIn = (tag: unknown) => String(tag).split('.')[0]!
      const before = fieldsIn((await send(app, 'GET', path)).headers['etag'])
      const operations = [{ op: 'move', article: { target_id: 7 }, at: 'start' }]
      const { etag } = (await send(app, 'POST', `${path}/articles`, { operations })).headers
      t.match(await board.next(), { event: 'saved', data: { from: RegExp(`^${before}\\.`), etag, operations, fields: ['field_articles'] } })
      for (const { next } of [alone, list]) {
        const { event, data } = await next()
        t.match({ event, data }, { event: 'saved', data: { etag, from: undefined, operations: undefined } })
      }
      await send(app, 'POST', `${path}/articles`, { operations: [{ op: 'move', article: { target_id: 7 }, at: 'end' }] })
    })

    t.test('a live board that is resumed without a change begins with no snapshot', async (t) => {
      const first = await openEvents(t, `${url}/api/collection/${id}/locks/events`)
      const { id: lastEventId } = await first.next()
      const resumed = await openEvents(t, `${url}/api/collection/${id}/locks/events`, { 'last-event-id': lastEventId! })
      await lock(app, 'node/2', 'lead', ada)
      t.match(await resumed.next(), { event: 'locked', data: { fieldName: 'lead' } })
    })

    t.test('while the CMS is away a live board goes on, and when its reader is shut out it ends', async (t) => {
      const stream = await openEvents(t, `${url}/api/collection/${id}/locks/events`)
      await stream.next()
      cms.settings.maintenance = true
      for (const { length } = stream.heartbeats; stream.heartbeats.length < length + 2;) {
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
      await lock(app, 'node/2', 'caption', ada)
      t.match(await stream.next(), { event: 'locked', data: { fieldName: 'caption' } })
      cms.settings.maintenance = false
      const gone = await edition(app, 'gone', [])
      const { next, ended, response } = await openEvents(t, `${url}/api/collection/${gone}/locks/events`)
      await next()
      await send(app, 'POST', `/api/collection/${gone}`, { status: [{ value: false }] })
      await fetch(`${CMS_URL}/publisher_container/${gone}?_format=json`, {
        method: 'DELETE',
        headers: { authorization: `Basic ${btoa('admin:admin')}` }
      })
      await ended
      t.ok(response.complete)
    })
  })
}

t.test('an edition that is not there, or not to be seen, has no board', async (t) => {
  const { endpoint } = await startEngine(t, 'dynalite')
  const { cms, CMS_URL } = await site(t)
  const app = await build(t, { DYNAMODB_ENDPOINT: endpoint, CMS_URL })
  for (const path of ['locks', 'locks/events']) {
    t.match(await send(app, 'GET', `/api/collection/999999/${path}`), { statusCode: 404, body: /"code":"NOT_FOUND"/ }, path)
    t.match(await send(app, 'GET', `/api/collection/x/${path}`), { statusCode: 400, body: /"code":"BAD_REQUEST"/ }, path)
    t.match(await send(app, 'POST', `/api/collection/1/${path}`), { statusCode: 405, headers: { allow: /GET/ } }, path)
  }
  const without = await build(t, { CMS_URL })
  t.match(await send(without, 'GET', '/api/collection/1/locks'), {
    statusCode: 503,
    headers: { 'retry-after': '1' },
    body: /"statusCode":503.*"code":"STORE_UNAVAILABLE"/
  })
  cms.settings.maintenance = true
  t.match(await send(app, 'GET', '/api/collection/1/locks'), { statusCode: 503, body: /"code":"CMS_UNAVAILABLE"/ })
  cms.settings.maintenance = false
  const full = await build(t, { DYNAMODB_ENDPOINT: endpoint, CMS_URL, watchersMax: '0' })
  t.match(await send(full, 'GET', '/api/collection/1/locks/events'), { statusCode: 503, body: /"code":"TOO_MANY_WATCHERS"/ })
})

t.test('a live board says that its new articles cannot be read, and goes on when they can', async (t) => {
  const engine = await startFakeEngine(t)
  const { CMS_URL } = await site(t)
  const app = await build(t, { DYNAMODB_ENDPOINT: engine.endpoint, CMS_URL, ...EDITOR, heartbeatSeconds: '1' })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const id = await edition(app, 'broken', [4])
  const { next, heartbeats } = await openEvents(t, `${url}/api/collection/${id}/locks/events`)
  const until = async (name: string, ...before: string[]): Promise<void> => {
    const { event } = await next()
    if (event === name) return
    t.ok(before.includes(String(event)), `${event} before ${name}`)
    await until(name, ...before)
  }
  await next()
  engine.script = fails('ValidationException')
  await send(app, 'POST', `/api/collection/${id}`, { field_articles: [{ target_id: 5 }, { target_id: 6 }] })
  await until('stale', 'saved')
  // The edition is read again at a heartbeat.
  for (const { length } = heartbeats; heartbeats.length < length + 2;) await new Promise((resolve) => setTimeout(resolve, 20))
  engine.script = works
  // While only some of the locks can be read again, the board tells a snapshot that is still stale.
  await until('live', 'saved', 'stale', 'snapshot')
  t.match(await next(), { event: 'snapshot', data: { data: [], meta: { entities: 3 } } })
})

t.test('a live board watches its present articles alone, however often they change', async (t) => {
  const locks = createLocks({ client: asClient(memoryStore()), table: 'DataState', environment: 'test', feed: { heartbeatMs: 20 } })
  t.teardown(locks.feed.close)
  let article = 1
  const editions = { bare: async () => ({ id: [{ value: 1 }], field_articles: [{ target_id: article, target_type: 'node' }] }) }
  const watcher = await createBoards({ locks, editions, model: contentModel({}) }).watch('1', newCaller())
  for (; article <= 3; article++) {
    // On a slow machine heartbeats may come before it.
    let batch = await watcher.next()
    while (batch?.[0]?.event === 'heartbeat') batch = await watcher.next()
    t.match(batch, [{ event: 'snapshot', entities: 2 }])
    t.strictSame(locks.feed.counts(), { watchers: 1, entities: 2 })
  }
})

t.test('a live board turns to new articles as soon as they are saved', async (t) => {
  const locks = createLocks({ client: asClient(memoryStore()), table: 'DataState', environment: 'test' })
  t.teardown(locks.feed.close)
  const model = contentModel({})
  let [reads, articles]: [number, number[] | Failure] = [0, [4]]
  let field = 'field_articles'
  const moved = { entityType: model.entityType, entityId: '1', etag: '"y"', uid: '7', fields: ['field_articles'] }
  const editions = {
    async bare() {
      reads++
      if (articles instanceof Failure) throw articles
      return { id: [{ value: 1 }], [field]: articles.map((id) => ({ target_id: id, target_type: 'node' })) }
    }
  }
  const boards = createBoards({ locks, editions, model })
  const watchers = await Promise.all([1, 2].map(() => boards.watch('1', newCaller())))
  const all = () => Promise.all(watchers.map((watcher) => watcher.next()))
  const save = (...fields: string[]) => locks.feed.saved({ entityType: model.entityType, entityId: '1', etag: '"x"', uid: '7', fields })
  await all()
  articles = [4, 5]
  const before = reads
  save('title')
  for (const batch of await all()) t.match(batch, [{ event: 'saved' }])
  save('field_articles')
  for (const batch of await all()) t.match(batch, [{ event: 'saved' }])
  t.equal(reads, before, 'a save of another field is no reason to look')
  for (const batch of await all()) t.match(batch, [{ event: 'snapshot', entities: 3 }])
  t.equal(reads, before + 1, 'and once for all who watch')
  locks.feed.saved({ ...moved, from: '"x"', operations: [{ op: 'move' }] })
  for (const batch of await all()) t.match(batch, [{ event: 'saved', saved: { operations: [{ op: 'move' }] } }])
  field = 'field_other'
  save('field_articles')
  await all()
  await all()
  locks.feed.saved({ ...moved, from: '"x"', operations: [{ op: 'move' }] })
  for (const batch of await all()) {
    t.strictSame(batch, [{ event: 'saved', saved: moved }], 'who is not shown the running order is told no operations')
  }
  articles = new Failure('NOT_FOUND', 'gone')
  save('field_articles')
  await all()
  t.strictSame(
    [await all(), locks.feed.counts()],
    [[undefined, undefined], { watchers: 0, entities: 0 }],
    'who may not see it any more is shut out'
  )
})

t.test('of changes that come together a live board tells those that its reader may see', async (t) => {
  const lock = (entityId: string) => ({
    entityType: 'node',
    entityId,
    fieldName: 'title',
    timestamp: 1,
    userData: { uid: '7' },
    version: 'a'
  })
  const locked = (entityId: string) => ({ event: 'locked', lock: lock(entityId) })
  const requested = (entityId: string) => ({
    event: 'requested',
    petition: { entityType: 'node', entityId, fieldName: 'title', userData: { uid: '8' }, until: 1 }
  })
  const present = (entityId: string) => ({ event: 'present', presence: { entityType: 'node', entityId, userData: { uid: '8' }, until: 1 } })
  const proposed = (entityId: string) => ({
    event: 'proposed',
    proposal: { entityType: 'node', entityId, fieldName: 'title', id: 'x', userData: { uid: '8' }, until: 1 }
  })
  const stale = { event: 'stale' }
  const cases: Array<[batch: object[], told: object[] | undefined]> = [
    [[stale], [stale]],
    [[locked('4')], [locked('4')]],
    [[locked('5')], undefined],
    [
      [locked('5'), stale, locked('4')],
      [stale, locked('4')]
    ],
    [
      [{ event: 'snapshot', locks: [lock('4'), lock('5')] }, stale],
      [{ event: 'snapshot', locks: [lock('4')] }, stale]
    ],
    [
      [requested('5'), locked('4'), requested('4')],
      [locked('4'), requested('4')]
    ],
    [[present('4'), present('5')], [present('4')]],
    [[proposed('5'), proposed('4')], [proposed('4')]]
  ]
  const batches = cases.map(([batch]) => batch)
  const locks = { feed: { watch: async () => ({ heartbeatMs: 1000, next: async () => batches.shift(), leave() {} }) } }
  const editions = { bare: async () => ({ id: [{ value: 1 }] }) }
  const watcher = await createBoards({ locks: locks as never, editions, model: contentModel({}) }).watch('1', newCaller(), {
    mayView: async ({ id }) => id !== '5'
  })
  for (const [, told] of cases) if (told) t.strictSame(await watcher.next(), told)
})

t.test('a live board that is left while the edition is read again leaves nothing watched', async (t) => {
  const store = memoryStore()
  const locks = createLocks({ client: asClient(store), table: 'DataState', environment: 'test', feed: { heartbeatMs: 100 } })
  t.teardown(locks.feed.close)
  const model = contentModel({})
  const of = (...articles: number[]) => ({
    id: [{ value: 1 }],
    field_articles: articles.map((id) => ({ target_id: id, target_type: 'node' }))
  })
  for (const change of [of(4), of(5), new Failure('NOT_FOUND', 'gone'), new Failure('CMS_TIMEOUT', 'slow')]) {
    const [asked, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let reads = 0
    const editions = {
      async bare() {
        if (++reads === 1) return of(4)
        asked.resolve()
        await answered.promise
        if (change instanceof Failure) throw change
        return change
      }
    }
    const watcher = await createBoards({ locks, editions, model }).watch('1', newCaller())
    t.match(await watcher.next(), [{ event: 'snapshot' }])
    const pending = watcher.next()
    await asked.promise
    watcher.leave()
    answered.resolve()
    t.equal(await pending, undefined)
    t.strictSame(locks.feed.counts(), { watchers: 0, entities: 0 })
  }
})

t.test('the content model says what the locks of editions and articles are called', async (t) => {
  const uuid = (n: number) => `00000000-0000-4000-8000-00000000000${n}`
  const of = (n: number, type = 'node') => ({ target_id: n, target_type: type, target_uuid: uuid(n) })
  const one = {
    id: [{ value: 12 }],
    uuid: [{ value: uuid(1) }],
    field_articles: [of(4), of(2), { target_id: null }, of(4)],
    field_lead: [of(2), of(2, 'media')]
  }
  const named = (json: object) => entitiesOf(one, contentModel(json)).map(({ type, id }) => `${type}/${id}`)
  t.strictSame(named({}), ['publisher_container/12', 'node/4', 'node/2'], 'each once; what is gone has none')
  t.strictSame(named({ lockTypes: { node: 'article', publisher_container: 'edition' } }), ['edition/12', 'article/4', 'article/2'])
  t.strictSame(named({ lockIds: 'uuid' }), [`publisher_container/${uuid(1)}`, `node/${uuid(4)}`, `node/${uuid(2)}`])
  t.strictSame(named({ fields: { articles: ['field_lead', 'field_articles'] } }), ['publisher_container/12', 'node/2', 'media/2', 'node/4'])
  t.strictSame(named({ fields: { articles: [] } }), ['publisher_container/12'])
  t.strictSame(named({ fields: { articles: ['constructor', 'nothing'] } }), ['publisher_container/12'])
  t.strictSame(lockedAs(one, contentModel({})), { type: 'publisher_container', id: '12' })
  t.throws(() => contentModel({ lockTypes: { node: 'no-de' } }), /\/lockTypes\/node is not right/)
  t.throws(() => contentModel({ lockIds: 'nid' }), /\/lockIds is not right/)
})

t.test('the locks of rows: named as the content model says, seen by those who may, null without the store', async (t) => {
  const rows = [
    { id: '4', uuid: 'u-4' },
    { id: '5', uuid: 'u-5' }
  ]
  const view = async (entities: Array<{ type: string; id: string }>) =>
    entities.map(({ type, id }) => ({ entityType: type, entityId: id, fieldName: 'title', timestamp: 5, userData: ada }))
  const boardsOf = (model: object, view: object) =>
    createBoards({ locks: { view, feed: {} } as never, editions: {} as never, model: contentModel(model) })
  const byUuid = await boardsOf({ lockIds: 'uuid', lockTypes: { node: 'story' } }, view).ofRows({ entityType: 'node', rows })
  t.match(byUuid, { 'u-4': [{ entityType: 'story', entityId: 'u-4' }], 'u-5': [{ entityId: 'u-5' }] })
  const some = await boardsOf({}, view).ofRows({ entityType: 'node', rows }, async ({ id }) => id === '5')
  t.match(some, { 'u-4': [], 'u-5': [{ entityType: 'node', entityId: '5' }] })
  t.equal(
    await boardsOf({}, async () => {
      throw new Failure('STORE_UNAVAILABLE', 'away')
    }).ofRows({ entityType: 'node', rows }),
    null
  )
  await t.rejects(
    boardsOf({}, async () => {
      throw new Failure('STORE_FAILED', 'broken')
    }).ofRows({ entityType: 'node', rows }),
    { code: 'STORE_FAILED' }
  )
})
