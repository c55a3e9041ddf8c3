import t from 'tap'
import { DEADLINES, REQUESTS } from '#lib/editions/limits.ts'
import { ignoresQueries, JSONAPI, openHostile, type Behaviour, type Said } from './hostile-cms.ts'
import { failed } from './site.ts'

const as = 'editor'
const COLLECTION = /^\/jsonapi\/(?:publisher_container|node)\/\w+$/
const nothing: Said = { headers: JSONAPI, body: { data: [], links: { next: { href: 'http://cms.example/next' } } } }

/** CMSs that make work, each made anew for a request: all but the last two answer at once. */
const hostile: Record<string, () => Behaviour> = {
  'hidden rows without end':
    () =>
    ({ path }) =>
      COLLECTION.test(path) ? nothing : undefined,
  'a cache that ignores queries': ignoresQueries,
  'one page for ever': () => {
    const pages = new Map<string, Said>()
    return async ({ path }, honest) => {
      if (!COLLECTION.test(path)) return undefined
      const { status, headers, body } = await honest()
      pages.set(path, pages.get(path) ?? { status, headers, body: { ...body, links: { next: { href: 'http://cms.example/next' } } } })
      return pages.get(path)
    }
  },
  'a gateway that fails every other time': () => {
    let count = 0
    return ({ method, path }) => {
      if (method === 'GET' && count++ % 2 === 0) return { status: 502, body: 'gateway' }
      return COLLECTION.test(path) ? nothing : undefined
    }
  },
  'filters that find nothing, and hidden rows':
    () =>
    ({ path, query }) => {
      if (!COLLECTION.test(path)) return undefined
      if ([...query.keys()].some((name) => name.startsWith('filter'))) return { headers: JSONAPI, body: { data: [] } }
      return Number(query.get('page[offset]') ?? 0) > 0 ? nothing : undefined
    },
  'answers that take most of a deadline':
    () =>
    ({ path }) =>
      COLLECTION.test(path) ? { ...nothing, delayMs: 400 } : undefined,
  'no answer': () => () => 'hang'
}

const TIMEOUT_MS = 500
/** The sample site has two collections of editions. */
const COLLECTIONS = 2

/** Rows of the table in docs/limits.md: how many requests each may take. Nobody may wait ten times as long as is said there. */
const rows: Array<[what: string, method: 'GET' | 'POST', path: string, body: object | undefined, requests: number, deadlines: number]> = [
  ['a read by id', 'GET', '/api/collection/5', undefined, REQUESTS, DEADLINES],
  ['a read by uuid', 'GET', '/api/collection/00000000-0000-4000-8000-000000000005', undefined, REQUESTS, DEADLINES],
  ['a lock board', 'GET', '/api/collection/5/locks', undefined, REQUESTS, DEADLINES],
  ['a list', 'GET', '/api/collections/publisher_container', undefined, REQUESTS + 10 * COLLECTIONS + 1, DEADLINES],
  [
    'a search by change',
    'GET',
    '/api/collections/publisher_container?q=x&sort=changed',
    undefined,
    REQUESTS + 10 * COLLECTIONS + 1,
    DEADLINES
  ],
  ['a search with its total', 'GET', '/api/collections/daily?q=x&total=1', undefined, REQUESTS + 10 + 1, DEADLINES],
  [
    'the last page that there may be',
    'GET',
    '/api/collections/publisher_container?offset=100000&limit=500',
    undefined,
    REQUESTS + 10 * COLLECTIONS + 2010,
    DEADLINES
  ],
  ['the bundles', 'GET', '/api/collection/bundles', undefined, REQUESTS, DEADLINES],
  ['the edition types', 'GET', '/api/publisher-edition/bundles', undefined, REQUESTS, DEADLINES],
  [
    'a create',
    'POST',
    '/api/collection',
    { type: 'daily', title: 'New', field_key: 'new', field_articles: [{ target_id: 777_777 }, { target_id: 888_888 }] },
    REQUESTS + 16 * 2,
    DEADLINES + 2
  ],
  ['an update', 'POST', '/api/collection/5', { title: 'Changed' }, REQUESTS, DEADLINES + 2]
]

for (const [cms, behaviour] of Object.entries(hostile)) {
  t.test(`the worst cost of each request: ${cms}`, async (t) => {
    for (const [what, method, path, body, requests, deadlines] of rows) {
      const desk = await openHostile(t, { env: { CMS_TIMEOUT_MS: String(TIMEOUT_MS), staleSeconds: '0' } })
      desk.cms.behave = behaviour()
      const start = performance.now()
      const { status, upstream } = await desk.call(method, path, { as, body })
      const elapsed = performance.now() - start
      t.ok(
        upstream.length <= requests,
        `${what}: ${upstream.length} requests, at most ${requests}; ${status} after ${Math.round(elapsed)} ms`
      )
      t.ok(elapsed < 10 * deadlines * TIMEOUT_MS, `${what}: in time`)
      t.not(status, 500, what)
      await desk.app.close()
    }
  })
}

t.test('a call ends with its deadline, however quick each answer is', async (t) => {
  const { cms, call } = await openHostile(t, { env: { CMS_TIMEOUT_MS: '2000', staleSeconds: '0' } })
  cms.behave = ({ path }) => (COLLECTION.test(path) ? { ...nothing, delayMs: 200 } : undefined)
  const reply = await call('GET', '/api/collections/daily', { as })
  failed(t, 'a list', reply, 504, 'CMS_TIMEOUT', `The CMS is too slow to answer this within ${DEADLINES * 2000} ms`)
  t.ok(reply.upstream.length <= 2 + (DEADLINES * 2000) / 200, `${reply.upstream.length} requests`)
})
