import t, { type Test } from 'tap'
import type { Seed } from '../../packages/drupal-stand-in/cms.ts'
import { newspaper } from '../../dev/content.ts'
import { startEngine } from '../locks/fixtures/engines.ts'
import { basic, open } from './site.ts'

/** The user `editor` of the sample site, and another one. */
const EDITOR = 2
const COLLEAGUE = 3

const uuidOf = (id: number) => `00000000-0000-4000-8000-${String(id).padStart(12, '0')}`

function edition(id: number, uid: number, isPublished: boolean): Seed {
  return {
    type: 'publisher_container--daily',
    id,
    uuid: uuidOf(id),
    fields: {
      title: `Made ${id}`,
      status: isPublished,
      uid,
      field_key: `K-${id}`,
      field_publisher_edition_type: 'daily',
      field_articles: [{ target_id: 5 }]
    }
  }
}

/** A site with these editions alone, which all are in one bundle. */
function siteWith(editions: Seed[]) {
  const content = newspaper()
  return { ...content, entities: [...content.entities.filter(({ type }) => !type.startsWith('publisher_container--')), ...editions] }
}

const published = (from: number, count: number, uid = COLLEAGUE) =>
  Array.from({ length: count }, (_, index) => edition(from + index, uid, true))
const drafts = (from: number, count: number, uid = EDITOR) => Array.from({ length: count }, (_, index) => edition(from + index, uid, false))

/** What an editor of a newsroom sees of it, who may view all drafts and filter only among the published editions and his own. */
async function newsroom(t: Test, editions: Seed[], filterAccess: boolean | 'published' | 'own' = 'own') {
  const { endpoint } = await startEngine(t, 'dynalite')
  const desk = await open(t, { content: siteWith(editions), filterAccess, env: { DYNAMODB_ENDPOINT: endpoint } })
  const list = async (query: string, as = 'editor') => {
    const { status, body, upstream } = await desk.call('GET', `/api/collections/daily?limit=100&total=1&${query}`, { as })
    return { status, total: body.meta?.total, ids: body.data?.map(({ id }: any) => id[0].value), requests: upstream.length }
  }
  const put = async (key: string, body: object) => {
    const answer = await desk.app.inject({
      method: 'PUT',
      url: `/api/collections/daily/by-key/${key}`,
      headers: basic('editor'),
      payload: body
    })
    return { status: answer.statusCode, body: answer.json() }
  }
  return { ...desk, list, put, created: () => desk.cms.requestLines.filter((line) => /^POST .* 201$/.test(line)).length }
}

/** The oldest drafts are the editor's own, as are the first by uuid; then come those of a colleague, and published ones. */
const CROWD = [...drafts(1, 12), ...drafts(13, 2, COLLEAGUE), ...published(20, 5)]

for (const own of [12, 60]) {
  t.test(`an edition of somebody else's is found, where the first ${own} drafts are one's own`, async (t) => {
    const others = drafts(own + 1, 2, COLLEAGUE)
    const { call, list, put, created } = await newsroom(t, [...drafts(1, own), ...others, ...published(200, 5)])
    const [id] = others.map(({ id }) => id)
    t.match(await list(`key=K-${id}`), { total: 1, ids: [id] })
    t.match(await list(`q=made ${id}`), { total: 1, ids: [id] })
    t.match(await call('GET', `/api/collection/${id}`, { as: 'editor' }), { status: 200, body: { id: [{ value: id }] } })
    t.match(await put(`K-${id}`, { title: [{ value: 'Changed' }] }), { status: 200, body: { id: [{ value: id }] } })
    t.equal(created(), 0, 'and not made twice')
    t.strictSame((await list('q=made')).total, own + 2 + 5 - 1)
  })
}

t.test('a draft is found, where the first ones are found by a translation that is not shown', async (t) => {
  const publishedTranslation: Seed['fields'] = { status: [false, true] }
  const ownTranslation: Seed['fields'] = { uid: [COLLEAGUE, EDITOR] }
  for (const [fields, filterAccess] of [
    [publishedTranslation, 'published'],
    [ownTranslation, 'own']
  ] as const) {
    const translated = drafts(1, 12, COLLEAGUE).map((draft) => ({ ...draft, fields: { ...draft.fields, ...fields } }))
    const { call, list, put, created } = await newsroom(t, [...translated, ...drafts(13, 2, COLLEAGUE), ...published(20, 5)], filterAccess)
    t.strictSame((await list('status=0')).ids, [14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1], filterAccess)
    t.match(await list('key=K-13'), { total: 1, ids: [13] })
    t.match(await list('q=made'), { total: 14 + 5 })
    t.match(await call('GET', '/api/collection/13', { as: 'editor' }), { status: 200, body: { id: [{ value: 13 }] } })
    t.match(await put('K-13', { title: [{ value: 'Changed' }] }), { status: 200, body: { id: [{ value: 13 }] } })
    t.equal(created(), 0, 'and not made twice')
  }
})

t.test('a search by text reads only those pages of drafts whole that have some of what it looks for', async (t) => {
  const named = (draft: Seed, title: string): Seed => ({ ...draft, fields: { ...draft.fields, title } })
  const many = drafts(1, 120, COLLEAGUE).map((draft, index) => (index < 60 ? named(draft, `Early ${index}`) : draft))
  const { list, call } = await newsroom(t, [...many, ...published(200, 5)])
  await list('status=0')
  const pages = async (query: string) => {
    const { upstream } = await call('GET', `/api/collections/daily?${query}`, { as: 'editor' })
    const ofDrafts = upstream.filter((line) => line.includes('sort=status,'))
    return ofDrafts.map((line) => {
      const offset = /offset]=(\d+)/.exec(line)![1]
      return `${offset} ${line.includes('fields[publisher_container--daily]') ? 'compared' : 'whole'}`
    })
  }
  t.strictSame(await pages('key=none'), ['0 compared', '50 compared', '100 compared'])
  t.strictSame(await pages('key=K-110'), ['0 compared', '0 whole', '49 compared', '98 compared'])
  t.strictSame(await pages('q=early&limit=60'), ['0 compared', '50 compared', '50 whole', '99 whole'], 'so is the page after one with many')
  t.strictSame(await pages('status=0&limit=120'), ['0 whole', '49 whole', '98 whole'])
  t.strictSame(await pages('status=0&limit=2&total=1'), ['0 whole', '50 compared', '100 compared'], 'none to be counted')
})

t.test('two lists of one site say the same', async (t) => {
  const { list } = await newsroom(t, CROWD)
  const plain = await list('')
  for (const query of ['q=made', 'type=daily']) t.strictSame((await list(query)).ids, plain.ids, query)
  t.strictSame((await list('status=0')).ids, [14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1])
  t.strictSame((await list('status=1')).ids, [24, 23, 22, 21, 20])
})

t.test('what is made a moment ago is found, by whoever and whichever way', async (t) => {
  for (const filterAccess of ['published', 'own'] as const) {
    const { call, list, put, created, url } = await newsroom(t, published(1, 5), filterAccess)
    t.strictSame((await list('q=made')).ids, [5, 4, 3, 2, 1], 'nothing else is there')
    const fields = {
      type: 'publisher_container--daily',
      attributes: { title: 'Made here', status: false, field_key: 'K-own', field_publisher_edition_type: 'daily' }
    }
    const made = await call('POST', '/api/collection', {
      as: 'editor',
      body: { type: [{ target_id: 'daily' }], title: [{ value: 'Made here' }], status: [{ value: false }], field_key: [{ value: 'K-new' }] }
    })
    t.match(made, { status: 201, body: { status: [{ value: false }] } })
    t.match(await list('key=K-new'), { total: 1 }, `${filterAccess}: saved through Quoin`)
    const elsewhere = await fetch(`${url}/jsonapi/publisher_container/daily`, {
      method: 'POST',
      headers: { ...basic('editor2'), 'content-type': 'application/vnd.api+json' },
      body: JSON.stringify({ data: fields })
    })
    t.equal(elsewhere.status, 201)
    t.match(await list('key=K-own'), { total: 1 }, `${filterAccess}: saved elsewhere`)
    t.equal((await list('q=made')).total, 7)
    const before = created()
    t.equal((await put('K-own', { title: [{ value: 'Changed' }] })).status, 200)
    t.equal(created(), before)
  }
})

t.test('what there is not is 404, and created by its key, after a look without a filter', async (t) => {
  const { call, put } = await newsroom(t, CROWD)
  for (const id of [15, 19, 1000]) {
    const { status, upstream } = await call('GET', `/api/collection/${id}`, { as: 'editor' })
    t.equal(status, 404)
    t.ok(
      upstream.some((line) => !line.includes('filter') && line.includes('sort=-drupal_internal__id')),
      'it is looked for among all'
    )
  }
  t.match(await put('K-15', { title: [{ value: 'New' }], status: [{ value: false }] }), { status: 201 })
  t.match(await put('K-15', { title: [{ value: 'Newer' }] }), { status: 200 })
})

t.test('where all kinds are proven nothing costs more', async (t) => {
  const { call, list, put } = await newsroom(t, CROWD, true)
  await list('key=K-13')
  await put('K-13', { title: [{ value: 'First' }] })
  t.equal((await list('key=K-13')).requests, 1)
  t.equal((await list('q=made')).requests, 1)
  for (const [id, requests] of [
    [14, 1],
    [1000, 2]
  ] as const) {
    await call('GET', `/api/collection/${id}`, { as: 'editor' })
    t.equal((await call('GET', `/api/collection/${id}`, { as: 'editor' })).upstream.length, requests, `${id}`)
  }
})

t.test('lists of articles and what holds them are whole for an editor of nodes with moderation', async (t) => {
  const content = siteWith([...drafts(1, 12), ...drafts(13, 2, COLLEAGUE), ...published(20, 5)])
  const article = (id: number, uid: number): Seed => ({
    type: 'node--article',
    id,
    uuid: uuidOf(id),
    fields: { title: `Article ${id}`, status: false, uid }
  })
  content.entities.push(...Array.from({ length: 12 }, (_, index) => article(500 + index, EDITOR)), article(600, COLLEAGUE))
  const roles = { ...content.roles, editor: [...content.roles['editor']!, 'view any unpublished content'] }
  const { call } = await open(t, { content: { ...content, roles }, filterAccess: 'own' })
  const ids = ({ body }: { body: any }) => body.data.map(({ nid }: any) => nid[0].value)
  t.strictSame(ids(await call('GET', '/api/collections/article?q=article%20600', { as: 'editor' })), [600])
  t.match(await call('GET', '/api/collections/article/600', { as: 'editor' }), { status: 200, body: { nid: [{ value: 600 }] } })
  const { body } = await call('GET', '/api/collections/article?placed=1&limit=50&q=Article', { as: 'editor' })
  const holding = Object.values(body.meta.placed)
    .flat()
    .map(({ id }: any) => Number(id))
  t.strictSame(new Set(holding), new Set())
  const placed = await call('GET', '/api/collections/article?placed=1&limit=50&offset=100', { as: 'editor' })
  const five = placed.body.data.find(({ nid }: any) => nid[0].value === 5)
  t.strictSame(
    placed.body.meta.placed[five.uuid[0].value].map(({ id }: any) => Number(id)),
    [24, 23, 22, 21, 20, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1]
  )
})

t.test('a reader is shown published editions alone, whatever is hidden', async (t) => {
  const { list } = await newsroom(t, [...drafts(1, 120), ...published(200, 60)], true)
  const first = await list('q=made', 'reader')
  t.match(first, { total: 60 })
  const again = await list('q=made', 'reader')
  t.match(again, { total: 60 })
  t.ok(
    again.requests < first.requests,
    `${first.requests} requests, then ${again.requests}: it is remembered that he is shown nothing else`
  )
})
