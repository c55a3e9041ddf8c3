import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { newspaper } from '../../dev/content.ts'
import { PLACED_PAGES } from '#lib/editions/list/placements.ts'
import { contentModel } from '#lib/editions/model.ts'
import { listModel } from '#lib/editions/site/list-site.ts'
import { emptyDirectory } from '../app/fixtures/processes.ts'
import { sample } from '../scope.ts'
import { openHostile } from './hostile-cms.ts'
import { basic, enlarged, failed, open, type Desk } from './site.ts'

const USERS = ['admin', 'editor', 'editor2', 'reader', undefined]

const idsOf = ({ body }: { body: any }) => body.data.map((row: any) => row.nid[0].value)

/** What core REST of the sample site shows a user of every article, newest first. */
async function restArticles({ url }: Desk, as: string | undefined): Promise<any[]> {
  const rest = (id: number) => fetch(`${url}/node/${id}?_format=json`, { headers: as === undefined ? {} : basic(as) })
  const answers = await Promise.all(Array.from({ length: 120 }, (_, index) => rest(120 - index)))
  return Promise.all(answers.filter(({ status }) => status === 200).map((answer) => answer.json()))
}

function modelFile(t: Test, model: object): { CONTENT_MODEL: string } {
  const CONTENT_MODEL = join(emptyDirectory(t), 'model.json')
  writeFileSync(CONTENT_MODEL, JSON.stringify(model))
  return { CONTENT_MODEL }
}

t.test('articles are listed, searched and read as core REST shows them to each user', async (t) => {
  const desk = await open(t)
  const { call } = desk
  for (const as of sample(USERS, 3)) {
    const rest = await restArticles(desk, as)
    const caller = as === undefined ? {} : { as }
    const list = (query: string) => call('GET', `/api/collections/article?${query}`, caller)
    t.strictSame((await list('limit=500')).body.data, rest, `${as}: the list is core REST's, newest first`)
    const page = await list('limit=7&offset=50&total=1')
    t.strictSame(page.body.data, rest.slice(50, 57), `${as}: a page of it`)
    t.strictSame(page.body.meta, { limit: 7, offset: 50, hasMore: true, total: rest.length }, `${as}: its place`)
    t.match(page.body.links.next, '/api/collections/article?limit=7&offset=57')
    for (const [query, isWanted] of [
      ['q=HARBOUR', ({ title }: any) => title[0].value.toLowerCase().includes('harbour')],
      ['status=1', ({ status }: any) => status[0].value],
      ['status=0', ({ status }: any) => !status[0].value],
      ['q=the&status=1', ({ title, status }: any) => title[0].value.toLowerCase().includes('the') && status[0].value]
    ] as Array<[string, (row: any) => boolean]>) {
      const found = await list(`${query}&limit=500&total=1`)
      t.strictSame(found.body.data, rest.filter(isWanted), `${as}: ${query}`)
      t.equal(found.body.meta.total, rest.filter(isWanted).length, `${as}: the total of ${query}`)
    }
    for (const article of sample(rest.slice(0, 12), 4)) {
      for (const id of [article.nid[0].value, article.uuid[0].value]) {
        t.strictSame((await call('GET', `/api/collections/article/${id}`, caller)).body, article, `${as}: article ${id}`)
      }
    }
  }
})

t.test('an article has an entity tag, and one that is not there or hidden is 404 or 403', async (t) => {
  const { call } = await open(t)
  const article = await call('GET', '/api/collections/article/7')
  const etag = String(article.headers['etag'])
  t.equal((await call('GET', '/api/collections/article/7', { headers: { 'if-none-match': etag } })).status, 304)
  t.equal((await call('GET', '/api/collections/article/7', { headers: { 'if-match': etag } })).status, 200)
  failed(
    t,
    'another state',
    await call('GET', '/api/collections/article/7', { headers: { 'if-match': '"x.y"' } }),
    412,
    'PRECONDITION_FAILED'
  )
  failed(t, 'no such article', await call('GET', '/api/collections/article/999'), 404, 'NOT_FOUND', 'There is no article 999')
  const hidden = (await call('GET', '/api/collections/article/20', { as: 'admin' })).body.uuid[0].value
  failed(t, 'a hidden one', await call('GET', `/api/collections/article/${hidden}`, { as: 'reader' }), 403, 'CMS_FORBIDDEN')
  failed(t, 'no list', await call('GET', '/api/collections/daily/7'), 404, 'NOT_FOUND', 'There is no list "daily"; there are article')
  failed(t, 'no list', await call('GET', '/api/collections/constructor/7'), 404, 'NOT_FOUND')
  t.match((await call('GET', '/api/collections/poem')).body.message, 'daily, special, article')
})

t.test('what only lists of editions have is refused on others, and the other way round', async (t) => {
  const { call } = await open(t)
  for (const name of ['type', 'key']) {
    const reply = await call('GET', `/api/collections/article?${name}=daily`)
    failed(t, name, reply, 400, 'BAD_REQUEST', `querystring/${name} is for lists of editions`)
    t.strictSame(
      reply.upstream.filter((line) => line.includes('/node/')),
      [],
      'before Drupal is asked'
    )
  }
  failed(
    t,
    'placed',
    await call('GET', '/api/collections/daily?placed=1'),
    400,
    'BAD_REQUEST',
    /is for lists of what editions are made of: article/
  )
  for (const query of ['placed=0', 'locks=2', 'locks=yes']) {
    t.equal((await call('GET', `/api/collections/article?${query}`)).status, 400, query)
  }
  const { body } = await call('GET', '/api/collections/article?placed=1&limit=500')
  t.equal(body.meta.limit, 50, 'such a page is a screen')
})

t.test('a list has the bundles and the entity type that the content model says', async (t) => {
  const lists = {
    article: { entityType: 'node', bundles: ['article', 'page'] },
    tag: { entityType: 'taxonomy_term', bundles: ['tags'] },
    term: { entityType: 'taxonomy_term' },
    cover: { entityType: 'file' },
    person: { entityType: 'user' },
    poem: { entityType: 'node', bundles: ['poem'] },
    daily: { entityType: 'node' },
    publisher_container: { entityType: 'node' }
  }
  const content = newspaper()
  content.entities.push({
    type: 'node--page',
    id: 500,
    uuid: 'a1c0ffee-0000-4000-8000-000000000500',
    fields: { title: 'Imprint', status: true, uid: 2 }
  })
  const { call, url } = await open(t, { content, env: modelFile(t, { lists }) })
  const list = (name: string) => call('GET', `/api/collections/${name}?limit=500`, { as: 'admin' })
  t.strictSame(idsOf(await list('article')).slice(0, 3), [500, 120, 119], 'several bundles in one order')
  const [tags, terms] = [(await list('tag')).body.data, (await list('term')).body.data]
  t.equal(tags.length, 4)
  t.ok(terms.length > tags.length)
  const rest = async (path: string) => (await fetch(`${url}${path}?_format=json`, { headers: basic('admin') })).json() as Promise<any>
  // Of a term without a description core REST shows an item of nulls, and JSON:API nothing.
  for (const term of terms) {
    t.strictSame(
      { ...term, description: null },
      { ...(await rest(`/taxonomy/term/${term.tid[0].value}`)), description: null },
      'a term as core REST shows it'
    )
  }
  t.strictSame((await list('person')).body.data[0].mail, (await rest('/user/4')).mail, 'a user')
  t.strictSame((await call('GET', '/api/collections/person?q=ADMIN', { as: 'admin' })).body.data[0].name, [{ value: 'admin' }])
  t.equal((await list('cover')).body.data.length, 6)
  failed(
    t,
    'of a bundle that is not there',
    await list('poem'),
    404,
    'NOT_FOUND',
    'The CMS exposes nothing of the list "poem" through JSON:API'
  )
  t.ok((await list('publisher_container')).body.data[0].field_publisher_edition_type, 'the entity type of editions has precedence too')
  t.ok((await list('daily')).body.data[0].field_key, 'a bundle of editions goes before a list')
})

t.test('the keys of a list are those of core, of the content model, or its own', (t) => {
  const model = contentModel({ idKeys: { story: 'sid' }, keys: { id: 'eid' }, timestampFields: ['opened'] })
  const of = (list: Parameters<typeof listModel>[0]) => listModel(list, model)
  t.match(of({ entityType: 'node' }), {
    bundleEntityType: 'node_type',
    keys: { id: 'nid', revision: 'vid', bundle: 'type', label: 'title' }
  })
  t.match(of({ entityType: 'node' }).timestampFields, ['created', 'changed', 'revision_timestamp'], 'whatever those of editions are called')
  t.ok(of({ entityType: 'node' }).timestampFields.includes('opened'))
  t.match(of({ entityType: 'taxonomy_term' }), {
    bundleEntityType: 'taxonomy_vocabulary',
    keys: { id: 'tid', bundle: 'vid', label: 'name' }
  })
  t.match(of({ entityType: 'story', bundleEntityType: 'story_kind', keys: { label: 'headline' } }), {
    bundleEntityType: 'story_kind',
    keys: { id: 'sid', label: 'headline' }
  })
  t.match(of({ entityType: 'thing' }), { bundleEntityType: 'thing_type', keys: { id: 'id' } })
  t.match(of({ entityType: 'publisher_container' }), { keys: { id: 'eid' } })
  t.end()
})

/** The editions that hold an article, newest first, by core REST of the sample site. */
async function holders({ url }: Desk, as: string): Promise<Map<number, any[]>> {
  const found = new Map<number, any[]>()
  for (let id = 60; id > 0; id--) {
    const answer = await fetch(`${url}/publisher_container/${id}?_format=json`, { headers: basic(as) })
    const edition: any = answer.status === 200 ? await answer.json() : { field_articles: [] }
    for (const article of new Set<number>(edition.field_articles.map(({ target_id: id }: any) => id))) {
      found.set(article, [
        ...(found.get(article) ?? []),
        {
          id: String(id),
          uuid: edition.uuid[0].value,
          bundle: edition.type[0].target_id,
          label: edition.title[0].value,
          published: edition.status[0].value
        }
      ])
    }
  }
  return found
}

for (const filterAccess of [true, false]) {
  t.test(`placed=1 says which editions hold each article, ${filterAccess ? 'by filters' : 'by a scan'}`, async (t) => {
    const content = newspaper()
    content.entities.push({
      type: 'node--article',
      id: 500,
      uuid: 'a1c0ffee-0000-4000-8000-000000000500',
      fields: { title: 'Placed nowhere', status: true, uid: 2 }
    })
    const desk = await open(t, { content, filterAccess })
    for (const as of ['editor', 'reader']) {
      const held = await holders(desk, as)
      const { body, upstream } = await desk.call('GET', '/api/collections/article?placed=1&limit=50', { as })
      t.strictSame(
        Object.keys(body.meta.placed),
        body.data.map(({ uuid }: any) => uuid[0].value),
        `${as}: every row is told of`
      )
      for (const { nid, uuid } of body.data) {
        t.strictSame(body.meta.placed[uuid[0].value], held.get(nid[0].value) ?? [], `${as}: article ${nid[0].value}`)
      }
      t.ok(body.data.some(({ uuid }: any) => body.meta.placed[uuid[0].value].length > 1))
      t.ok(body.data.some(({ uuid }: any) => body.meta.placed[uuid[0].value].length === 0))
      const again = await desk.call('GET', '/api/collections/article?placed=1&limit=50', { as })
      // A reader is shown no draft: for each bundle Quoin looks whether that is still so.
      t.ok(again.upstream.length <= (as === 'editor' ? 5 : 7), `${as}: ${upstream.length} requests, then ${again.upstream.length}`)
    }
    t.strictSame((await desk.call('GET', '/api/collections/article?placed=1&q=nothing+has+this')).body.meta.placed, {})
  })
}

t.test('an edition of which Drupal does not say whether it is published is placed with null', async (t) => {
  const { call, cms } = await openHostile(t)
  cms.behave = async ({ path }, honest) => {
    const answer = await honest()
    if (path.includes('/publisher_container/')) for (const { attributes } of [answer.body.data ?? []].flat()) attributes.status = '1'
    return answer
  }
  const { body } = await call('GET', '/api/collections/article?placed=1&limit=20', { as: 'editor' })
  const placements: Array<{ published: unknown }> = Object.values(body.meta.placed).flat() as never
  t.strictSame([placements.length > 0, [...new Set(placements.map(({ published }) => published))]], [true, [null]])
})

t.test('where the editions are more than Quoin looks at, placed=1 is 503', async (t) => {
  const content = enlarged(newspaper(), 2 * 50 * PLACED_PAGES)
  const desk = await open(t, { content, filterAccess: false })
  failed(
    t,
    'a scan',
    await desk.call('GET', '/api/collections/article?placed=1&limit=1', { as: 'editor' }),
    503,
    'PLACED_UNKNOWN',
    /grant JSON:API filter access/
  )
  t.equal((await desk.call('GET', '/api/collections/article?limit=1', { as: 'editor' })).status, 200)
  const filtering = await open(t, { content })
  t.equal(
    (await filtering.call('GET', '/api/collections/article?placed=1&limit=1', { as: 'editor' })).status,
    200,
    'Drupal finds the few that hold it'
  )
  const crowd = enlarged(newspaper(), 2 * 50 * PLACED_PAGES)
  for (const { type, fields } of crowd.entities) if (type === 'publisher_container--daily') fields!['field_articles'] = [{ target_id: 119 }]
  const crowded = await open(t, { content: crowd })
  failed(
    t,
    'a filter that finds too many',
    await crowded.call('GET', '/api/collections/article?placed=1&limit=50', { as: 'editor' }),
    503,
    'PLACED_UNKNOWN',
    /ask for a smaller limit/
  )
})

t.test('a bundle that has no such field holds nothing; a refusal of the field is told', async (t) => {
  const { call } = await open(t, { env: modelFile(t, { fields: { articles: ['field_articles', 'field_stories'] } }) })
  const { status, body } = await call('GET', '/api/collections/article?placed=1&limit=5&offset=100', { as: 'editor' })
  t.equal(status, 200)
  t.ok(Object.values(body.meta.placed).flat().length > 0)
  const content = newspaper()
  content.entities = content.entities.filter(({ type }) => type !== 'publisher_container--special')
  const bare = await open(t, { content, env: modelFile(t, { fields: { articles: ['field_stories'] } }) })
  t.strictSame(Object.values((await bare.call('GET', '/api/collections/article?placed=1&limit=2', { as: 'editor' })).body.meta.placed), [
    [],
    []
  ])
  const odd = await open(t, { env: modelFile(t, { fields: { articles: ['field_internal_note'] } }) })
  failed(t, 'as Drupal says', await odd.call('GET', '/api/collections/article?placed=1', { as: 'reader' }), 403, 'CMS_FORBIDDEN')
})

t.test('while the lock store is away a list says so, and is there', async (t) => {
  const { call } = await open(t)
  const { status, body } = await call('GET', '/api/collections/article?locks=1&limit=2')
  t.equal(status, 200)
  t.strictSame([body.data.length, body.meta.locks], [2, null])
})

t.test('a refused article ends the copies that show it', async (t) => {
  const { call, cms } = await open(t)
  const paths = ['/api/collections/article?limit=3', '/api/collections/article/119', '/api/collections/publisher_container?limit=3']
  for (const path of paths) await call('GET', path, { as: 'reader' })
  failed(t, 'gone', await call('GET', '/api/collections/article/20', { as: 'reader' }), 404, 'NOT_FOUND')
  await cms.close()
  for (const path of paths) t.equal((await call('GET', path, { as: 'reader' })).status, 200, `${path}: another article's refusal ends none`)
})

t.test('a caller to whom the CMS refuses its resource types sees no list, and no copy of it', async (t) => {
  const { app, cms } = await openHostile(t)
  cms.behave = ({ path }) => (path === '/jsonapi' ? { status: 403, body: { errors: [{ status: '403', title: 'Forbidden' }] } } : undefined)
  const reply = await app.inject({ url: '/api/collections/article', headers: basic('reader') })
  t.match([reply.statusCode, reply.json()], [403, { code: 'CMS_FORBIDDEN' }])
})

t.test('a list of articles is given as a copy while Drupal is down, but not with locks', async (t) => {
  const { call, cms } = await open(t)
  const paths = ['/api/collections/article?limit=3', '/api/collections/article/119']
  for (const path of paths) await call('GET', path, { as: 'reader' })
  await cms.close()
  for (const path of paths) {
    const { status, headers } = await call('GET', path, { as: 'reader' })
    t.equal(status, 200)
    t.match(headers['cache-status'], /^quoin;/)
  }
  failed(t, 'with locks', await call('GET', '/api/collections/article?limit=3&locks=1', { as: 'reader' }), 502, 'CMS_UNREACHABLE')
})
