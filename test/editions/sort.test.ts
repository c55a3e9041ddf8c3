import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { CmsContent } from '../../packages/drupal-stand-in/cms.ts'
import { newspaper, singleBundleNewspaper } from '../../dev/content.ts'
import { sample, variants } from '../scope.ts'
import { JSONAPI, openHostile } from './hostile-cms.ts'
import { editionsOf, enlarged, failed, open, type Known } from './site.ts'

const SORTS = ['-id', 'id', '-changed', 'changed'] as const
type Sort = (typeof SORTS)[number]

const ids = (rows: any[]) => rows.map((row) => row.id[0].value)

/** When an edition was changed, in seconds: 23 times for all of them. */
const changeOf = (id: number) => 1_790_000_000 + ((id * 7919) % 23) * 60

/** The content with such times, or others. */
function dated(content: CmsContent, timesOf: (id: number) => unknown = changeOf, type = 'publisher_container'): CmsContent {
  return {
    ...content,
    entities: content.entities.map((seed) =>
      seed.type.startsWith(`${type}--`) ? { ...seed, fields: { ...seed.fields, changed: timesOf(Number(seed.id)) } } : seed
    )
  }
}

function sorted<T extends { id: number }>(rows: T[], sort: Sort): T[] {
  const sign = sort.startsWith('-') ? -1 : 1
  const value = ({ id }: T) => (sort.endsWith('id') ? id : changeOf(id))
  return rows.toSorted((a, b) => sign * (value(a) - value(b) || a.id - b.id))
}

/** A content model of which some members differ from the defaults. */
function modelled(t: Test, members: object): Record<string, string> {
  const path = join(t.testdir(), 'content-model.json')
  writeFileSync(path, JSON.stringify(members))
  return { CONTENT_MODEL: path }
}

for (const [name, content] of variants<[string, () => CmsContent]>([
  ['two bundles', newspaper],
  ['one bundle', singleBundleNewspaper]
])) {
  t.test(`lists are sorted as asked for, whatever Drupal lets filter, with ${name}`, async (t) => {
    const big = dated(enlarged(content(), 90))
    const all = editionsOf(big)
    const cases: Array<[query: string, selected: (edition: Known) => boolean]> = [
      ['publisher_container?', () => true],
      ['daily?', ({ type }) => type === 'daily'],
      ['publisher_container?type=special&', ({ type }) => type === 'special'],
      ['publisher_container?status=1&', ({ published }) => published],
      ['publisher_container?status=0&', ({ published }) => !published],
      ['publisher_container?q=extra&', ({ title }) => title.startsWith('Extra')],
      ['publisher_container?key=extra-90&', ({ key }) => key === 'extra-90']
    ]
    for (const [turn, filterAccess] of ([true, 'published', 'own', false] as const).entries()) {
      const { call } = await open(t, { content: big, filterAccess })
      const table = cases.flatMap(([query, selected]) =>
        SORTS.flatMap((sort) => ['editor', undefined].map((as) => ({ query, selected, sort, as })))
      )
      // Each kind of access takes another third: a list of all rows takes some 40 ms.
      const third = table.filter((_row, index) => index % 3 === turn % 3)
      for (const { query, selected, sort, as } of sample(third, 7)) {
        const rows = all.filter((edition) => selected(edition) && (edition.published || as === 'editor'))
        const { status, body } = await call('GET', `/api/collections/${query}sort=${sort}&limit=500&total=1`, as ? { as } : {})
        const what = `${query}sort=${sort} as ${as}, filters: ${filterAccess}`
        if (!t.equal(status, 200, what)) continue
        t.strictSame(
          ids(body.data),
          sorted(rows, sort).map(({ id }) => id),
          what
        )
        t.equal(body.meta.total, rows.length, what)
      }
    }
  })

  t.test(`links followed to the end keep the order and give every edition once, with ${name}`, async (t) => {
    const big = dated(enlarged(content(), 90))
    const all = editionsOf(big)
    const { call } = await open(t, { content: big, filterAccess: 'published' })
    const lists: Array<[query: string, selected: (edition: Known) => boolean]> = [
      ['', () => true],
      ['q=e&', ({ title }) => title.toLowerCase().includes('e')]
    ]
    const pages = [
      ['-changed', 17],
      ['id', 23],
      ['changed', 50],
      ['-changed', 49]
    ] as const
    const table = pages.flatMap((page) => lists.flatMap((list) => ['editor', 'reader'].map((as) => [...page, ...list, as] as const)))
    for (const [sort, limit, query, selected, as] of sample(table, 3)) {
      const found: number[] = []
      let next: string | undefined = `/api/collections/publisher_container?${query}sort=${sort}&limit=${limit}`
      while (next) {
        const { body } = await call('GET', next, { as })
        found.push(...ids(body.data))
        next = body.links.next
        t.ok(!next || next.includes(`sort=${sort}`))
      }
      const rows = all.filter((edition) => selected(edition) && (edition.published || as === 'editor'))
      t.strictSame(
        found,
        sorted(rows, sort).map(({ id }) => id),
        `${query}sort=${sort}, limit ${limit}, as ${as}`
      )
    }
  })
}

t.test('Drupal sorts by the id last, and a list that names no order asks for nothing else than before', async (t) => {
  const { call } = await open(t, { content: dated(newspaper()) })
  await call('GET', '/api/collections/daily', { as: 'editor' })
  const asked = async (query: string) => {
    const { upstream } = await call('GET', `/api/collections/daily?limit=20${query}`, { as: 'editor' })
    return upstream.map((line) => /[?&](sort=[^&]*)/.exec(line)?.[1])
  }
  t.strictSame(await asked(''), ['sort=-drupal_internal__id'])
  t.strictSame(await asked('&sort='), ['sort=-drupal_internal__id'])
  t.strictSame(await asked('&sort=-id'), ['sort=-drupal_internal__id'])
  t.strictSame(await asked('&sort=id'), ['sort=drupal_internal__id'])
  t.strictSame(await asked('&sort=-changed'), ['sort=-changed,-drupal_internal__id'])
  t.strictSame(await asked('&sort=changed'), ['sort=changed,drupal_internal__id'])
})

t.test('a list of what editions are made of is sorted too, with what else it tells', async (t) => {
  const content = dated(newspaper(), changeOf, 'node')
  const articles = content.entities
    .filter(({ type, fields }) => type === 'node--article' && fields?.status)
    .map(({ id }) => ({ id: Number(id) }))
  const { call } = await open(t, { content })
  for (const sort of SORTS) {
    const { body } = await call('GET', `/api/collections/article?sort=${sort}&limit=50&placed=1`, { as: 'editor' })
    t.strictSame(
      body.data.map((row: any) => row.nid[0].value),
      sorted(articles, sort)
        .slice(0, 50)
        .map(({ id }) => id),
      sort
    )
    t.equal(Object.keys(body.meta.placed).length, 50)
  }
})

t.test('a deep page is read on to in every order', async (t) => {
  const big = dated(enlarged(newspaper(), 900))
  const { call } = await open(t, { content: big })
  for (const sort of SORTS) {
    const { body } = await call('GET', `/api/collections/publisher_container?sort=${sort}&offset=700&limit=20`, { as: 'editor' })
    t.strictSame(
      ids(body.data),
      sorted(editionsOf(big), sort)
        .slice(700, 720)
        .map(({ id }) => id),
      sort
    )
  }
})

t.test('an edition with translations stands where Drupal sorts it, and shows the change of one', async (t) => {
  // The first value is shown, those of translations stand behind it.
  const timesOf = (id: number) => (id % 5 === 0 ? [changeOf(id), changeOf(id) + 2000, changeOf(id) - 2000] : changeOf(id))
  const content = dated(enlarged(newspaper(), 90), timesOf)
  const { call } = await open(t, { content })
  const times = (id: number) => [timesOf(id)].flat()
  for (const sort of ['-changed', 'changed'] as const) {
    const isDescending = sort === '-changed'
    const value = (id: number) => (isDescending ? Math.max(...times(id)) : Math.min(...times(id)))
    const sign = isDescending ? -1 : 1
    const truth = (bundle: string) =>
      editionsOf(content)
        .filter((edition) => edition.bundle === bundle)
        .map(({ id }) => id)
        .sort((a, b) => sign * (value(a) - value(b) || a - b))
    const all: number[] = []
    let next: string | undefined = `/api/collections/publisher_container?sort=${sort}&limit=11`
    while (next) {
      const { body } = await call('GET', next, { as: 'editor' })
      all.push(...ids(body.data))
      next = body.links.next
    }
    t.equal(new Set(all).size, 150)
    for (const bundle of ['daily', 'special']) {
      const { body } = await call('GET', `/api/collections/${bundle}?sort=${sort}&limit=500`, { as: 'editor' })
      t.strictSame(ids(body.data), truth(bundle), `${bundle}, ${sort}`)
      t.strictSame(
        all.filter((id) => truth(bundle).includes(id)),
        truth(bundle),
        `${bundle} among all, ${sort}`
      )
    }
  }
})

t.test('a saved edition is the first of what was changed last', async (t) => {
  const { call } = await open(t, { content: dated(newspaper()), now: () => 1_800_000_000_000 })
  const list = async () =>
    ids((await call('GET', '/api/collections/publisher_container?sort=-changed&limit=3', { as: 'editor' })).body.data)
  const before = await list()
  await call('POST', '/api/collection/5', { as: 'editor', body: { title: [{ value: 'Anew' }] } })
  t.strictSame(await list(), [5, ...before.slice(0, 2)])
})

t.test('an order that is not known, or that the site cannot give, is refused', async (t) => {
  const list = (call: Awaited<ReturnType<typeof open>>['call'], query: string, as = 'editor') =>
    call('GET', `/api/collections/${query}`, { as })
  const { call } = await open(t, { content: dated(newspaper()) })
  for (const sort of ['title', '-created', '+id', 'id,changed', '-changed ', 'constructor', 'ID']) {
    const reply = await list(call, `daily?sort=${encodeURIComponent(sort)}`)
    failed(t, sort, reply, 400, 'BAD_REQUEST', 'querystring/sort must be "-id" or "id" or "-changed" or "changed"')
  }
  failed(t, 'two', await list(call, 'daily?sort=id&sort=changed'), 400, 'BAD_REQUEST', 'querystring/sort must be string')

  const cannot = 'querystring/sort cannot be answered: '
  const none = await open(t, { content: dated(newspaper()), env: modelled(t, { keys: { changed: null } }) })
  for (const sort of ['changed', '-changed']) {
    const lacks = `${cannot}publisher_container has no key changed in the content model`
    failed(t, sort, await list(none.call, `daily?sort=${sort}`), 400, 'BAD_REQUEST', lacks)
  }
  t.equal((await list(none.call, 'daily?sort=id')).status, 200)

  const lists = { article: { entityType: 'node', bundles: ['article'], keys: { changed: null } } }
  const articles = await open(t, { env: modelled(t, { lists }) })
  const lacks = `${cannot}node has no key changed in the content model`
  failed(t, 'a list', await list(articles.call, 'article?sort=changed'), 400, 'BAD_REQUEST', lacks)

  for (const [changed, as, why] of [
    ['field_nosuch', 'editor', 'no such field'],
    ['field_internal_note', 'reader', 'one that the caller may not see'],
    ['field_link', 'editor', 'one of several properties']
  ] as const) {
    const odd = await open(t, { content: dated(newspaper()), env: modelled(t, { keys: { changed } }) })
    for (const query of ['daily?', 'publisher_container?status=1&', 'publisher_container?q=e&']) {
      const reply = await list(odd.call, `${query}sort=-changed`, as)
      const message =
        /^querystring\/sort cannot be answered: Drupal does not sort publisher_container--(?:daily|special) by "field_\w+", the key changed in the content model\. There is no such field, or you may not see it$/
      failed(t, `${why}, ${query}`, reply, 400, 'BAD_REQUEST', message)
    }
  }
})

t.test('a row that does not show its change is not taken for the oldest', async (t) => {
  const oldest = editionsOf(newspaper()).find(({ bundle }) => bundle === 'daily')!
  const { call } = await open(t, { content: dated(newspaper(), (id) => (id === oldest.id ? null : changeOf(id))) })
  const reply = await call('GET', '/api/collections/publisher_container?sort=-changed&limit=500', { as: 'editor' })
  const message = `querystring/sort cannot be answered: Drupal does not show when publisher_container--daily ${oldest.uuid} was changed`
  failed(t, 'null', reply, 400, 'BAD_REQUEST', message)
  t.equal((await call('GET', '/api/collections/publisher_container?sort=id&limit=500', { as: 'editor' })).status, 200)
})

t.test('a bundle without the field keeps its rows: the list is refused, not shortened', async (t) => {
  const { call, cms } = await openHostile(t, { content: dated(newspaper()) })
  const refusals = [
    [400, 'Invalid nested filtering. The field `changed`, given in the path `changed`, does not exist.'],
    [403, 'The current user is not authorized to filter by the `changed` field, given in the path `changed`. No.']
  ] as const
  for (const [status, detail] of refusals) {
    cms.behave = ({ path, query }) =>
      path.endsWith('/special') && query.get('sort')?.includes('changed')
        ? { status, headers: JSONAPI, body: { errors: [{ status: String(status), detail }] } }
        : undefined
    const list = (query: string) => call('GET', `/api/collections/${query}`, { as: 'editor' })
    for (const query of ['publisher_container?sort=changed', 'publisher_container?key=x&sort=-changed']) {
      failed(t, query, await list(query), 400, 'BAD_REQUEST', /does not sort publisher_container--special by "changed"/)
    }
    t.equal((await list('daily?sort=changed')).status, 200)
    t.equal((await list('publisher_container?sort=id')).status, 200)
  }
  cms.behave = ({ query }) =>
    query.get('sort')?.includes('changed')
      ? { status: 400, headers: JSONAPI, body: { errors: [{ status: '400', detail: 'No.' }] } }
      : undefined
  failed(t, 'no reason', await call('GET', '/api/collections/daily?sort=changed', { as: 'editor' }), 502, 'CMS_REFUSED')
})
