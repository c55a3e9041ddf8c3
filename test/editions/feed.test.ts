import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { CmsContent, Seed } from '../../packages/drupal-stand-in/cms.ts'
import { newspaper } from '../../dev/content.ts'
import { UNPLACED_PAGES } from '#lib/editions/search.ts'
import { emptyDirectory } from '../app/fixtures/processes.ts'
import { openHostile } from './hostile-cms.ts'
import { enlarged, failed, open, type Desk } from './site.ts'

const ARTICLE = { entityType: 'node', bundles: ['article'] }

function withSection(t: Test, section = 'field_tags', more: object = {}): { CONTENT_MODEL: string } {
  const CONTENT_MODEL = join(emptyDirectory(t), 'model.json')
  writeFileSync(CONTENT_MODEL, JSON.stringify({ lists: { article: { ...ARTICLE, section, ...more }, plain: ARTICLE } }))
  return { CONTENT_MODEL }
}

const idsOf = ({ body }: { body: any }) => body.data.map((row: any) => row.nid[0].value)

/** Every article of the sample site that a user may see, newest first. */
async function allArticles({ call }: Desk, as: string): Promise<any[]> {
  return (await call('GET', '/api/collections/article?limit=500', { as })).body.data
}

/** Takes the articles out of all editions but the first. @returns the editions */
function emptied(content: CmsContent, first: number): Seed[] {
  const editions = content.entities.filter(({ type }) => type.startsWith('publisher_container--'))
  for (const { fields } of editions.slice(first)) delete fields!['field_articles']
  return editions
}

for (const filterAccess of [true, false]) {
  t.test(`articles are found by section and by time of change, ${filterAccess ? 'by filters' : 'without'}`, async (t) => {
    const desk = await open(t, { env: withSection(t), filterAccess })
    for (const as of ['admin', 'editor', 'reader']) {
      const all = await allArticles(desk, as)
      const tag = all[3].field_tags[0]
      const at = all[40].changed[0].value
      const from = new Date(at).getTime()
      const before = new Date(all[20].changed[0].value).getTime()
      const isTagged = (row: any) => row.field_tags.some((item: any) => item.target_uuid === tag.target_uuid)
      const changed = ({ changed }: any) => new Date(changed[0].value).getTime()
      const zoned = (time: number) => encodeURIComponent(new Date(time).toISOString())
      for (const [query, isWanted] of [
        [`section=${tag.target_uuid}`, isTagged],
        [`section=${tag.target_uuid}&sort=-changed`, isTagged],
        [`section=${tag.target_uuid}&status=0`, (row: any) => isTagged(row) && !row.status[0].value],
        [
          `section=${tag.target_uuid}&status=1&q=the`,
          (row: any) => isTagged(row) && row.status[0].value && /the/i.test(row.title[0].value)
        ],
        [`changedFrom=${encodeURIComponent(at)}`, (row: any) => changed(row) >= from],
        [`changedFrom=${zoned(from + 1)}`, (row: any) => changed(row) > from],
        [`changedBefore=${zoned(from)}`, (row: any) => changed(row) < from],
        [`changedFrom=${zoned(from)}&changedBefore=${zoned(before)}`, (row: any) => changed(row) >= from && changed(row) < before],
        ['section=00000000-0000-4000-8000-000000000000', () => false],
        ['section=', () => true]
      ] as Array<[string, (row: any) => boolean]>) {
        const found = await desk.call('GET', `/api/collections/article?${query}&limit=500&total=1`, { as })
        t.equal(found.status, 200, query)
        t.strictSame(
          idsOf(found),
          all.filter(isWanted).map(({ nid }) => nid[0].value),
          `${as}: ${query}`
        )
        t.equal(found.body.meta.total, all.filter(isWanted).length, `${as}: the total of ${query}`)
        const page = await desk.call('GET', `/api/collections/article?${query}&limit=2&offset=3&total=1`, { as })
        t.strictSame(
          [idsOf(page), page.body.meta.total],
          [
            all
              .filter(isWanted)
              .slice(3, 5)
              .map(({ nid }) => nid[0].value),
            found.body.meta.total
          ],
          `${as}: a page of ${query}`
        )
      }
    }
  })
}

t.test('a section that no reference can have is refused, and nothing is looked for', async (t) => {
  const { call } = await open(t, { env: withSection(t) })
  const answer = await call('GET', '/api/collections/article?section=politics', { as: 'editor' })
  failed(t, 'no uuid', answer, 400, 'BAD_REQUEST', 'querystring/section must be the uuid of a section')
})

t.test('Drupal filters by the section and the time, where it lets the user filter', async (t) => {
  const { call } = await open(t, { env: withSection(t) })
  const { body } = await call('GET', '/api/collections/article?limit=1', { as: 'admin' })
  const uuid = body.data[0].field_tags[0].target_uuid
  const { upstream } = await call('GET', `/api/collections/article?section=${uuid}&changedFrom=1970-01-02T00:00:00.001Z&limit=5`, {
    as: 'admin'
  })
  t.match(upstream.join('\n'), `filter[c0][condition][path]=field_tags.id`)
  t.match(upstream.join('\n'), `filter[c0][condition][value]=${uuid}`)
  t.match(upstream.join('\n'), 'filter[c1][condition][path]=changed')
  t.match(upstream.join('\n'), 'filter[c1][condition][value]=86401')
})

t.test('a section that is a text is compared exactly', async (t) => {
  const { call } = await open(t, { env: withSection(t, 'langcode') })
  const list = (section: string) => call('GET', `/api/collections/article?section=${section}&limit=3`, { as: 'editor' })
  t.equal((await list('en')).body.data.length, 3)
  t.equal((await list('EN')).body.data.length, 0)
  t.strictSame((await call('GET', '/api/collections/article/sections', { as: 'editor' })).body, {
    data: [{ id: 'en', label: 'en' }],
    meta: { isComplete: false }
  })
})

t.test('of a list without rows the section is not guessed', async (t) => {
  const content = newspaper()
  content.entities = content.entities.filter(({ type }) => !type.startsWith('node--'))
  const { call } = await open(t, { content, env: withSection(t) })
  const { status, body } = await call('GET', '/api/collections/article?section=x', { as: 'editor' })
  t.match({ status, body }, { status: 200, body: { data: [], meta: { hasMore: false, total: 0 } } })
  t.strictSame((await call('GET', '/api/collections/article/sections', { as: 'editor' })).body, { data: [], meta: { isComplete: true } })
})

t.test('what a site cannot be asked is refused, and says why', async (t) => {
  const { call } = await open(t, { env: withSection(t, 'field_desk', { keys: { changed: null } }) })
  const without = /content model names no field with the section/
  for (const [query, message] of [
    ['plain?section=x', without],
    ['plain/sections?', without],
    ['daily?section=x', /querystring\/section is for lists of what editions are made of: article, plain/],
    ['daily?unplaced=1', /querystring\/unplaced is for lists/],
    ['article?section=x', /querystring\/section cannot be answered: node has no field "field_desk", or you may not see it/],
    ['article?changedFrom=2026-11-18T00:00:00Z', /querystring\/changedFrom cannot be answered: node has no key changed/],
    ['article?changedBefore=2026-11-18T00:00:00Z', /querystring\/changedBefore cannot be answered/],
    ['article?sort=changed', /querystring\/sort cannot be answered/],
    ['plain?changedFrom=2026-13-45T00:00:00Z', /querystring\/changedFrom must be a time that there is/],
    ['plain?changedFrom=yesterday', /changedFrom/],
    ['plain?changedBefore=2026-11-18', /changedBefore/],
    ['plain?unplaced=1&total=1', /querystring\/total cannot be counted with unplaced=1/],
    ['plain?unplaced=2', /unplaced/]
  ] as const) {
    failed(t, query, await call('GET', `/api/collections/${query}`, { as: 'editor' }), 400, 'BAD_REQUEST', message)
  }
  failed(t, 'no list', await call('GET', '/api/collections/daily/sections', { as: 'editor' }), 404, 'NOT_FOUND')
  const watched = await call('GET', '/api/collections/article/events?unplaced=1', { as: 'editor' })
  t.match(watched, { status: 400, body: { message: /unplaced is for lists/ } })
})

t.test('editions are found by their time of change too', async (t) => {
  const { call } = await open(t)
  const { body } = await call('GET', '/api/collections/daily?limit=500', { as: 'editor' })
  const from = body.data[10].changed[0].value
  const found = await call('GET', `/api/collections/daily?limit=500&changedFrom=${encodeURIComponent(from)}`, { as: 'editor' })
  t.strictSame(
    found.body.data,
    body.data.filter(({ changed }: any) => new Date(changed[0].value) >= new Date(from))
  )
})

t.test('a row that does not show when it was changed is in no time', async (t) => {
  const { call, cms } = await openHostile(t)
  cms.behave = async ({ path }, honest) => {
    const answer = await honest()
    if (path.includes('/node/')) for (const { attributes } of [answer.body.data ?? []].flat()) delete attributes?.changed
    return answer
  }
  for (const name of ['changedFrom', 'changedBefore']) {
    const { body } = await call('GET', `/api/collections/article?${name}=2026-09-01T00:00:00Z`, { as: 'editor' })
    t.strictSame(body.data, [], name)
  }
})

t.test('the sections of a reference are the entities of its bundles', async (t) => {
  const desk = await open(t, { env: withSection(t) })
  const { body } = await desk.call('GET', '/api/collections/article/sections', { as: 'reader' })
  t.equal(body.meta.isComplete, true)
  t.equal(body.data.length, 10)
  const [article] = await allArticles(desk, 'reader')
  const { id, label } = body.data.find((one: any) => one.id === article.field_tags[0].target_uuid)
  t.ok(label)
  t.ok((await desk.call('GET', `/api/collections/article?section=${id}`, { as: 'reader' })).body.data.length > 0)
})

t.test('sections that are too many, or that Drupal does not list, are not said to be all', async (t) => {
  const content = newspaper()
  const [term] = content.entities.filter(({ type }) => type === 'taxonomy_term--tags')
  content.entities.push(
    ...Array.from({ length: 110 }, (_, index) => ({
      ...term!,
      id: 1000 + index,
      uuid: `a1c0ffee-0000-4000-8000-${String(index).padStart(12, '0')}`,
      fields: { ...term!.fields, name: `Tag ${index}` }
    }))
  )
  const { call } = await open(t, { content, env: withSection(t) })
  const many = (await call('GET', '/api/collections/article/sections', { as: 'editor' })).body
  t.equal(many.meta.isComplete, false)
  t.ok(many.data.length >= 100 && many.data.length < 120, `${many.data.length}`)

  const hostile = await openHostile(t, { env: withSection(t) })
  hostile.cms.behave = async ({ path }, honest) => {
    const answer = await honest()
    if (path.includes('/taxonomy_term/tags')) return { ...answer, status: 403 }
    if (path.includes('/taxonomy_term/sections')) for (const { attributes } of [answer.body.data ?? []].flat()) delete attributes?.name
    return answer
  }
  t.strictSame((await hostile.call('GET', '/api/collections/article/sections', { as: 'editor' })).body, {
    data: [],
    meta: { isComplete: false }
  })
  hostile.cms.behave = async ({ path }, honest) => {
    const answer = await honest()
    for (const { relationships } of path.includes('/node/') ? [answer.body.data ?? []].flat() : []) {
      for (const identifier of relationships?.field_tags?.data ?? []) identifier.type = 'desk--desk'
    }
    return answer
  }
  t.strictSame(
    (await hostile.call('GET', '/api/collections/article/sections', { as: 'admin' })).body,
    { data: [], meta: { isComplete: false } },
    'a type that JSON:API does not expose'
  )
  hostile.cms.behave = async ({ path }, honest) =>
    path.includes('/node/article') ? { ...(await honest()), status: 403, body: { errors: [{ detail: 'No' }] } } : honest()
  failed(t, 'rows', await hostile.call('GET', '/api/collections/article/sections', { as: 'reader' }), 403, 'CMS_FORBIDDEN')
})

t.test('articles that no edition holds come by pages, of as many rows as were looked at', async (t) => {
  const content = newspaper()
  emptied(content, 12)
  const desk = await open(t, { content })
  for (const as of ['editor', 'reader']) {
    const all = await allArticles(desk, as)
    const held = new Set<number>()
    for (let offset = 0; offset < all.length; offset += 50) {
      const { body } = await desk.call('GET', `/api/collections/article?placed=1&limit=50&offset=${offset}`, { as })
      for (const { nid, uuid } of body.data) if (body.meta.placed[uuid[0].value].length > 0) held.add(nid[0].value)
    }
    const found: number[] = []
    let next = '/api/collections/article?unplaced=1&limit=7'
    while (next) {
      const page = await desk.call('GET', next, { as })
      found.push(...idsOf(page))
      t.ok(page.body.data.length <= 7)
      t.equal(page.body.meta.hasMore, page.body.links.next !== undefined)
      t.equal(page.body.meta.total, null)
      t.notOk(page.body.links.prev)
      if (page.body.links.next) t.match(page.body.links.next, `offset=${page.body.meta.next}`)
      else t.equal(page.body.meta.next, null)
      next = page.body.links.next
    }
    t.strictSame(
      found,
      all.map(({ nid }) => nid[0].value).filter((id) => !held.has(id)),
      as
    )
    t.ok(found.length > 0 && held.size > 0)
  }
})

t.test('a page for what is not placed looks at so many rows and no more, and says placed with it', async (t) => {
  const content = newspaper()
  content.entities = content.entities.filter(({ type }) => type !== 'node--article' && !type.startsWith('publisher_container--special'))
  content.entities.push(
    ...Array.from({ length: 260 }, (_, index) => ({
      type: 'node--article',
      id: index + 1,
      uuid: `a1c0ffee-0000-4000-8000-${String(index).padStart(12, '0')}`,
      fields: { title: `Article ${index}`, status: true, uid: 2 }
    }))
  )
  const [daily] = emptied(content, 0)
  // All but the oldest 20.
  daily!.fields!['field_articles'] = Array.from({ length: 240 }, (_, index) => ({ target_id: index + 21 }))
  const { call } = await open(t, { content })
  const first = await call('GET', '/api/collections/article?unplaced=1&limit=500&placed=1', { as: 'editor' })
  t.match(first.body, { data: [], meta: { limit: 50, hasMore: true, next: 50 * UNPLACED_PAGES, placed: {} } })
  const second = await call('GET', first.body.links.next, { as: 'editor' })
  t.match(second.body.meta, { hasMore: false, next: null })
  t.strictSame(
    idsOf(second),
    Array.from({ length: 20 }, (_, index) => 20 - index)
  )
  t.strictSame(Object.values(second.body.meta.placed), Array(20).fill([]))
})

t.test('where nobody can say where articles stand, unplaced=1 is 503', async (t) => {
  const desk = await open(t, { content: enlarged(newspaper(), 2100), filterAccess: false })
  failed(t, 'a scan', await desk.call('GET', '/api/collections/article?unplaced=1&limit=1', { as: 'editor' }), 503, 'PLACED_UNKNOWN')
})
