import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { newspaper } from '../../dev/content.ts'
import { createClosing } from '#lib/boards/closing.ts'
import { ARTICLES_MAX } from '#lib/boards/readiness.ts'
import type { Inspection } from '#lib/editions/inspect.ts'
import { contentModel, FINDING_CODES } from '#lib/editions/model.ts'
import { Failure } from '#lib/errors.ts'
import { createCms, type Cms } from '../../packages/drupal-stand-in/cms.ts'
import { emptyDirectory } from '../app/fixtures/processes.ts'
import { openHostile } from '../editions/hostile-cms.ts'
import { writes } from '../editions/site.ts'
import { build } from '../helper.ts'
import { engineNames, startEngine } from '../locks/fixtures/engines.ts'
import { newCaller } from '#lib/http/calls.ts'

const ada = { uid: '7', name: 'Ada' }
const bob = { uid: '8', name: 'Bob' }
const EDITOR = { CMS_AUTH: 'basic', CMS_USER: 'editor', CMS_PASSWORD: 'editor' }

type Item = Record<string, any>

interface Desk {
  app: FastifyInstance
  cms: Cms
  send: (
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    url: string,
    body?: object,
    headers?: Record<string, string>
  ) => Promise<{ status: number; body: any; headers: Record<string, any> }>
  lock: (entity: string, fieldName: string, userData: object, payload?: string) => Promise<void>
  /** The id of a new edition that is not closed yet. */
  edition: (articles: number[], more?: object) => Promise<string>
}

async function desk(t: Test, env: Record<string, string> = {}): Promise<Desk> {
  const { endpoint } = await startEngine(t, engineNames.at(-1)!)
  const content = newspaper()
  // An editor may not see article 20, and there is no article 999.
  content.entities.push({
    type: 'publisher_container--daily',
    id: 900,
    uuid: 'a1c0ffee-0000-4000-8000-000000000900',
    fields: {
      title: 'Odd',
      status: false,
      uid: 2,
      field_key: 'odd',
      field_publisher_edition_type: 'daily',
      field_articles: [20, 6, 999, 6].map((id) => ({ target_id: id }))
    }
  })
  const cms = createCms({ content })
  t.teardown(() => cms.close())
  const app = await build(t, { DYNAMODB_ENDPOINT: endpoint, CMS_URL: await cms.listen(), ...EDITOR, ...env })
  let count = 0
  const send: Desk['send'] = async (method, url, body, headers = {}) => {
    const answer = await app.inject({ method, url, headers, ...(body && { body }) })
    return { status: answer.statusCode, body: answer.body === '' ? undefined : answer.json(), headers: answer.headers }
  }
  return {
    app,
    cms,
    send,
    async lock(entity, fieldName, userData, payload) {
      const { status } = await send('PUT', `/api/cloud/data-state/${entity}`, { fieldName, userData, payload })
      if (status !== 200) throw new Error(`${entity} was not locked`)
    },
    async edition(articles, more) {
      const { body } = await send('POST', '/api/collection', {
        type: [{ target_id: 'daily' }],
        title: [{ value: 'Monday' }],
        status: [{ value: false }],
        field_key: [{ value: `closing-${++count}` }],
        field_publisher_edition_type: [{ value: 'daily' }],
        field_articles: articles.map((id) => ({ target_id: id })),
        ...more
      })
      return String(body.id[0].value)
    }
  }
}

const codes = (findings: Item[]) =>
  findings.map(({ code, entityType, entityId, fieldName }) => [code, `${entityType}/${entityId}`, fieldName].filter(Boolean).join(' '))

t.test('open proposals for an edition and its articles are counted, and neither block nor warn', async (t) => {
  const { send, edition } = await desk(t)
  const id = await edition([4, 5])
  const look = () => send('GET', `/api/collection/${id}/readiness`)
  const { headers } = await look()
  for (const [index, entity] of [`publisher_container/${id}`, 'node/4', 'node/4', 'node/6'].entries()) {
    const body = { fieldName: 'title', userData: ada, payload: `Text ${index}` }
    t.equal((await send('POST', `/api/cloud/data-state/${entity}/proposals`, body)).status, 201)
  }
  const after = await look()
  t.strictSame(after.body, { ready: true, blockers: [], warnings: [], proposals: 3 })
  t.not(after.headers['etag'], headers['etag'])
})

t.test('an edition is ready, or what speaks against it is told', async (t) => {
  const { send, lock, edition, cms } = await desk(t)
  const id = await edition([4, 5])
  const look = async (of = id, headers = {}) => send('GET', `/api/collection/${of}/readiness`, undefined, headers)

  const clean = await look()
  t.strictSame(clean.body, { ready: true, blockers: [], warnings: [], proposals: 0 })
  const before = cms.requests
  t.equal((await look(id, { 'if-none-match': clean.headers['etag'] })).status, 304)
  t.equal(cms.requests - before, 2, 'two requests to the CMS, whatever the edition holds')

  await lock('node/4', 'title', ada, 'typed')
  await lock('node/5', 'body', bob)
  await lock(`publisher_container/${id}`, 'field_articles', bob)
  const { body, headers } = await look(id)
  t.not(headers['etag'], clean.headers['etag'])
  t.strictSame(
    codes(body.blockers),
    [`LOCKED publisher_container/${id} field_articles`, 'LOCKED node/4 title'],
    'an order that is open blocks without a text'
  )
  t.strictSame(codes(body.warnings), ['LOCK_IDLE node/5 body'])
  t.equal(body.blockers[1].message, 'Ada is editing title of node 4')
  t.equal(body.warnings[0].message, 'Bob has opened body of node 5 and typed nothing yet')
  t.match(body.blockers[1].lock, { fieldName: 'title', userData: ada })
  t.notMatch(JSON.stringify(body), 'typed"', 'without texts')
  t.strictSame(codes((await look(id, { 'x-user-uid': '8' })).body.blockers), ['LOCKED node/4 title'], "one's own locks are in nobody's way")

  await lock('node/4', 'title', bob)
  await send('DELETE', '/api/cloud/data-state/node/4?uid=8')
  const kept = (await look(id, { 'x-user-uid': '8' })).body
  t.strictSame([kept.ready, codes(kept.warnings)], [true, ['DRAFT_KEPT node/4 title']])
  t.equal(kept.warnings[0].message, 'A text that Ada typed into title of node 4 is kept: restore or discard it')
  t.match(kept.warnings[0].draft, { userData: ada, displacedBy: bob })
  t.equal(kept.warnings[0].draft.payload, undefined)

  const found = (await look('900')).body
  t.strictSame(
    [codes(found.blockers), codes(found.warnings)],
    [['ARTICLE_HIDDEN node/20', 'ARTICLE_GONE publisher_container/900 field_articles'], ['ARTICLE_TWICE node/6']]
  )
  t.strictSame(
    codes((await look(await edition([]))).body.blockers).map((line) => line.split(' ')[0]),
    ['ORDER_EMPTY']
  )
  t.equal((await look('99999')).status, 404)
})

t.test('an article that is not published is told to those who may see it', async (t) => {
  const { send } = await desk(t, { CMS_USER: 'admin', CMS_PASSWORD: 'admin' })
  const { body } = await send('GET', '/api/collection/900/readiness')
  t.strictSame(codes(body.blockers), ['ARTICLE_UNPUBLISHED node/20', 'ARTICLE_GONE publisher_container/900 field_articles'])
  t.equal(body.blockers[0].message, 'Node 20 is not published')
})

t.test('the content model says what blocks, what may not be empty and what closes', async (t) => {
  const CONTENT_MODEL = join(emptyDirectory(t), 'model.json')
  writeFileSync(
    CONTENT_MODEL,
    JSON.stringify({
      closing: { field: 'field_featured', value: true, required: ['field_section', 'field_labels'], blockers: ['FIELD_EMPTY', 'LOCK_IDLE'] }
    })
  )
  const { send, lock, edition } = await desk(t, { CONTENT_MODEL })
  const id = await edition([4, 5, 5], { field_labels: [{ value: 'print' }] })
  await lock('node/4', 'title', ada)
  const { body } = await send('GET', `/api/collection/${id}/readiness`)
  t.strictSame(codes(body.blockers), ['LOCK_IDLE node/4 title', `FIELD_EMPTY publisher_container/${id} field_section`])
  t.strictSame(codes(body.warnings), ['ARTICLE_TWICE node/5'])
  const refused = await send('POST', `/api/collection/${id}/close`, {})
  t.equal(refused.status, 409)
  await send('DELETE', '/api/cloud/data-state/node/4?fieldName=title')
  await send('POST', `/api/collection/${id}`, { field_section: [{ target_id: 1 }] })
  const closed = await send('POST', `/api/collection/${id}/close`, {})
  t.strictSame([closed.status, closed.body.data.field_featured, closed.body.data.status], [200, [{ value: true }], [{ value: false }]])
})

t.test('of many reasons not to close the first three are in the message, all of them in the answer', async (t) => {
  const { send, lock, edition } = await desk(t)
  const id = await edition([4, 5, 6, 7, 8])
  for (const article of [4, 5, 6, 7, 8]) await lock(`node/${article}`, 'title', ada, 'x')
  const { status, body } = await send('POST', `/api/collection/${id}/close`, {})
  t.match(
    [status, body.message, body.details?.blockers ?? body.blockers],
    [409, /^The edition is not ready and was not closed: [^;]+; [^;]+; [^;]+; and 2 more$/, { length: 5 }]
  )
})

t.test('an edition that is not ready is not closed; one that is ready is', async (t) => {
  const { send, lock, edition, cms } = await desk(t)
  const id = await edition([4, 5])
  await lock('node/4', 'title', ada, 'typed')
  const written = () => cms.requestLines.filter((line) => /^PATCH .* 200$/.test(line)).length
  const refused = await send('POST', `/api/collection/${id}/close`, {})
  t.strictSame(
    [refused.status, refused.body.code, codes(refused.body.blockers), refused.body.warnings],
    [409, 'NOT_READY', ['LOCKED node/4 title'], []]
  )
  t.equal(refused.body.message, 'The edition is not ready and was not closed: Ada is editing title of node 4')
  t.equal(written(), 0)
  const {
    headers: { etag }
  } = await send('GET', `/api/collection/${id}`)
  const stale = await send('POST', `/api/collection/${id}/close`, {}, { 'if-match': '"x.y"', 'x-user-uid': '7' })
  t.strictSame([stale.status, stale.body.code], [412, 'PRECONDITION_FAILED'])
  const before = cms.requests
  const closed = await send('POST', `/api/collection/${id}/close`, undefined, { 'if-match': etag, 'x-user-uid': '7' })
  t.strictSame([closed.status, closed.body.data.status, closed.body.meta], [200, [{ value: true }], { since: [] }])
  t.comment(`a close takes ${cms.requests - before} requests to the CMS`)
  t.equal(closed.headers['etag'], (await send('GET', `/api/collection/${id}`)).headers['etag'])
  t.equal(written(), 1)
  t.equal((await send('POST', `/api/collection/${id}/close`, {}, { 'x-user-uid': '7' })).status, 200, 'closed already')
  t.equal(written(), 1)
})

const clean: Inspection = {
  edition: { id: [{ value: 1 }], uuid: [{ value: 'u' }], title: [{ value: 'Monday' }] },
  etag: '"a.b"',
  articles: [{ field: 'field_articles', entityType: 'node', id: '4', uuid: 'u4', state: 'published' }]
}
const nothing = { survey: async () => ({ Items: [], proposals: 0 }), drafts: { list: async () => ({ Items: [], Count: 0 }) } }
const record = { env_entityType_entityId: 'x', fieldName: 'title', timestamp: 5, userData: ada, payload: 'typed', version: 'v' }
const everybody = { uid: undefined, mayView: async () => true }

t.test('what comes between the check and the save is told, and a second look that fails is no failure', async (t) => {
  let locked = false
  const { payload: _payload, version: _version, ...idle } = record
  const held = (type: string) => (type === 'node' ? (locked ? [record] : []) : [idle])
  const locks = {
    survey: async ({ type }: { type: string }) => ({ Items: held(type), proposals: 0 }),
    drafts: { list: async () => ({ Items: [{ ...record, id: 'd', displacedAt: 1 }], Count: 1 }) }
  }
  const closing = createClosing({
    locks: locks as never,
    model: contentModel({ closing: { blockers: ['LOCKED'] } }),
    editions: {
      async close(_id: string, _caller: object, { check, again }: any) {
        const odd = { ...clean, articles: [...clean.articles, { ...clean.articles[0], id: '5', state: 'unpublished' }] }
        const before = await check(odd)
        locked = true
        return { json: '{}', etag: '"a"', id: '1', isShared: true, before, after: await again(odd).catch(() => null) }
      }
    } as never
  })
  t.strictSame(
    (await closing.close('1', newCaller(), everybody)).since?.map(({ code }) => code),
    ['LOCKED', 'LOCKED']
  )
  locked = false
  const blind = {
    ...everybody,
    async mayView() {
      if (locked) throw new Failure('AUTH_UNAVAILABLE', 'away')
      return true
    }
  }
  t.equal((await closing.close('1', newCaller(), blind)).since, null)
})

t.test('the entity tag of a readiness is a weak one, the same in whatever order an engine reads the members of a lock', async (t) => {
  const etagOf = async (userData: object) => {
    const locks = { survey: async () => ({ Items: [{ ...record, userData }], proposals: 0 }), drafts: nothing.drafts }
    return (
      await createClosing({ locks: locks as never, model: contentModel({}), editions: { inspect: async () => clean } as never }).readiness(
        '1',
        newCaller(),
        everybody
      )
    ).etag
  }
  const etag = await etagOf({ uid: '7', name: 'Ada' })
  t.match(etag, /^W\/"[\w-]{22}"$/)
  t.equal(await etagOf({ name: 'Ada', uid: '7' }), etag)
  t.not(await etagOf({ name: 'Bob', uid: '7' }), etag)
})

t.test('what is hidden from the caller blocks without names', async (t) => {
  const locks = {
    survey: async ({ type }: { type: string }) => ({
      Items:
        type === 'node'
          ? [record, { ...record, fieldName: 'body', userData: undefined }, { ...record, fieldName: 'teaser', userData: { uid: '5' } }]
          : [],
      Count: 0,
      ScannedCount: 0
    }),
    drafts: {
      list: async ({ type }: { type: string }) => ({ Items: type === 'node' ? [{ ...record, id: 'd', displacedAt: 1 }] : [], Count: 0 })
    }
  }
  const of = (articles: Inspection['articles'], mayView = async () => false) =>
    createClosing({
      locks: locks as never,
      model: contentModel({ lockIds: 'uuid' }),
      editions: { inspect: async () => ({ ...clean, articles }) } as never
    }).readiness('1', newCaller(), { uid: '9', mayView })
  const { blockers, warnings } = await of(clean.articles)
  t.strictSame(
    blockers.map(({ code, message, lock }) => [code, message, lock]),
    [1, 2, 3].map(() => ['LOCKED', 'Somebody is editing node u4, which you may not see', undefined])
  )
  t.strictSame(
    warnings.map(({ message, draft }) => [message, draft]),
    [['A text that somebody typed into node u4, which you may not see, is kept', undefined]]
  )
  t.match(
    (await of(clean.articles, async () => true)).blockers.map(({ message }) => message),
    ['Ada is editing title of node u4', 'Somebody is editing body of node u4', 'User 5 is editing teaser of node u4']
  )
  t.match((await of([{ field: 'field_articles', entityType: 'node', id: '', uuid: '', state: 'gone' }])).blockers, [
    { code: 'ARTICLE_GONE', entityId: 'u', fieldName: 'field_articles', message: 'An article of field_articles is gone: take it out' }
  ])
  await t.rejects(of(Array.from({ length: ARTICLES_MAX + 1 }, () => clean.articles[0]!)), { code: 'TOO_LARGE' })
})

t.test('an article of which something is not known blocks', async (t) => {
  const of = (article: Partial<Inspection['articles'][number]>, model = contentModel({})) =>
    createClosing({
      locks: nothing as never,
      model,
      editions: { inspect: async () => ({ ...clean, articles: [{ ...clean.articles[0]!, ...article }] }) } as never
    }).readiness('1', newCaller(), everybody)
  const unknown = await of({ state: 'unknown' })
  t.match(
    [unknown.ready, unknown.blockers],
    [false, [{ code: 'ARTICLE_HIDDEN', entityType: 'node', entityId: '4', message: 'You are not shown whether node 4 is published' }]]
  )
  const nameless = await of({ id: '' })
  t.match(
    [nameless.ready, nameless.blockers],
    [
      false,
      [
        {
          code: 'ARTICLE_HIDDEN',
          entityId: '1',
          fieldName: 'field_articles',
          message: 'You are not shown the number of the article u4, so its locks are not known'
        }
      ]
    ]
  )
  t.ok((await of({ id: '' }, contentModel({ lockIds: 'uuid' }))).ready, 'its locks go by its uuid')
})

t.test('an edition is not closed while Drupal does not say of an article whether it is published', async (t) => {
  const { endpoint } = await startEngine(t, engineNames.at(-1)!)
  const { call, cms } = await openHostile(t, { env: { DYNAMODB_ENDPOINT: endpoint } })
  const {
    body: {
      id: [{ value: id }]
    }
  } = await call('POST', '/api/collection', {
    as: 'editor',
    body: {
      type: 'daily',
      title: [{ value: 'Monday' }],
      status: [{ value: false }],
      field_key: [{ value: 'unsaid' }],
      field_articles: [{ target_id: 4 }]
    }
  })
  const statuses: object[] = [{}, { status: {} }, { status: '0' }]
  for (const status of statuses) {
    cms.behave = async (_asked, honest) => {
      const answer = await honest()
      for (const article of answer.body.included ?? []) if (article.type === 'node--article') article.attributes = status
      return answer
    }
    const look = await call('GET', `/api/collection/${id}/readiness`, { as: 'editor' })
    t.match(look.body, { ready: false, blockers: [{ code: 'ARTICLE_HIDDEN', entityId: '4' }] }, JSON.stringify(status))
    const refused = await call('POST', `/api/collection/${id}/close`, { body: {}, as: 'editor' })
    t.match([refused.status, refused.body.code, writes(refused.upstream)], [409, 'NOT_READY', []])
  }
  cms.behave = () => undefined
  t.equal((await call('POST', `/api/collection/${id}/close`, { body: {}, as: 'editor' })).status, 200)
})

t.test('a field with any kind of value is not empty', async (t) => {
  const edition = {
    ...clean.edition,
    j: [{ value: {} }],
    k: [{ value: [] }],
    l: [{ value: { x: 1 } }],
    a: [{ value: 0 }],
    b: [{ value: false }],
    c: [{ target_id: 5 }],
    d: [{ uri: 'https://x' }],
    e: [{ value: '' }],
    f: [],
    g: [{ value: null }],
    h: [{ target_id: null }]
  }
  const model = contentModel({
    fields: { articles: [] },
    closing: { required: ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l'] }
  })
  const { blockers } = await createClosing({
    locks: nothing as never,
    model,
    editions: { inspect: async () => ({ ...clean, edition, articles: [] }) } as never
  }).readiness('1', newCaller(), { ...everybody, uid: '7' })
  t.strictSame(
    blockers.map(({ fieldName }) => fieldName),
    ['e', 'f', 'g', 'h', 'i', 'j', 'k']
  )
  t.ok(blockers.every(({ code }) => FINDING_CODES.includes(code)))
})

t.test('a look asks for the locks and the drafts of each entity once', async (t) => {
  for (const count of [10, 60, 300]) {
    const asked = { locks: 0, drafts: 0 }
    const locks = {
      async survey() {
        asked.locks++
        return { Items: [], Count: 0, ScannedCount: 0 }
      },
      drafts: {
        async list() {
          asked.drafts++
          return { Items: [], Count: 0 }
        }
      }
    }
    const articles = Array.from({ length: count }, (_, index): Inspection['articles'][number] => ({
      ...clean.articles[0]!,
      id: String(index + 2),
      uuid: `u${index}`
    }))
    const { ready } = await createClosing({
      locks: locks as never,
      model: contentModel({}),
      editions: { inspect: async () => ({ ...clean, articles }) } as never
    }).readiness('1', newCaller(), everybody)
    t.strictSame([ready, asked], [true, { locks: count + 1, drafts: count + 1 }])
  }
})
