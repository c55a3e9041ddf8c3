import t from 'tap'
import { contentModel } from '../../lib/editions/model.ts'
import type { Collection } from '../../lib/editions/site/catalog.ts'
import { createFilters, filterAdvice, type Verdict } from '../../lib/editions/site/filters.ts'
import type { Jsonapi } from '../../lib/jsonapi/client.ts'

type Rows = string[]

/** What one collection shows: the visible rows of its first page, whether there are more, and what filters leave. */
interface Shown {
  rows: Rows
  more?: boolean
  filtered?: (ids: Rows | undefined) => Rows
}

const trap = () => []
const collection = (bundle: string): Collection => ({ resourceType: `publisher_container--${bundle}`, entityType: 'publisher_container', bundle, path: `/publisher_container/${bundle}` })
const many = (count: number) => Array.from({ length: count }, (_, index) => `row-${index}`)

/** Filters over collections that show this, by the test's clock. */
function filtersOver (shown: Record<string, Shown>) {
  const clock = { now: 0 }
  const warnings: string[] = []
  let asked = 0
  const cms: Jsonapi = {
    async request ({ path, query = [] }) {
      asked++
      const parameters = [...query]
      const ids = parameters.filter(([name]) => name.includes('[value]')).map(([, value]) => value)
      const { rows, more, filtered } = shown[path.split('/').at(-1)!]!
      const isFiltered = ids.length > 0
      const found = isFiltered ? filtered!(ids[0] === '0' ? undefined : ids) : rows
      return { status: 200, document: { data: found.map((id) => ({ type: 'publisher_container--x', id })), ...(more && !isFiltered && { links: { next: {} } }) } }
    }
  }
  const filters = createFilters({ cms, model: contentModel({}), warn: (message) => { warnings.push(message) }, now: () => clock.now })
  return { filters, clock, warnings, collections: Object.keys(shown).map(collection), asked: () => asked, shown }
}

const honest = (ids: Rows | undefined) => ids ?? ['another']

t.test('filters work only where one was seen to find what is there', async (t) => {
  const cases: Array<[what: string, shown: Record<string, Shown>, verdict: Verdict, requests: number]> = [
    ['a row is shown, and found', { daily: { rows: ['a'], filtered: honest } }, 'work', 2],
    ['it is not found', { daily: { rows: ['a'], filtered: trap } }, 'trap', 2],
    ['one of many is not found, as where unpublished ones are not among what may be filtered', { daily: { rows: many(50), filtered: (ids) => ids!.slice(1) } }, 'trap', 2],
    ['another row is found, as by a cache that ignores queries', { daily: { rows: ['a'], filtered: () => ['a', 'b'] } }, 'trap', 2],
    ['a wrong row is found', { daily: { rows: ['a'], filtered: () => ['b'] } }, 'trap', 2],
    ['none is shown, but there are more', { daily: { rows: [], more: true, filtered: trap } }, 'unknown', 2],
    ['none is shown, and a filter finds one', { daily: { rows: [], more: true, filtered: honest } }, 'work', 2],
    ['there is none', { daily: { rows: [] } }, 'empty', 1],
    ['one bundle has none', { daily: { rows: [] }, special: { rows: ['a'], filtered: honest } }, 'work', 3],
    ['of one bundle nothing is known', { daily: { rows: [], more: true, filtered: trap }, special: { rows: ['a'], filtered: honest } }, 'work', 4],
    ['of one bundle nothing is found', { daily: { rows: ['b'], filtered: trap }, special: { rows: ['a'], filtered: honest } }, 'trap', 4],
    ['of one bundle nothing is known, the other is empty', { daily: { rows: [], more: true, filtered: trap }, special: { rows: [] } }, 'unknown', 3],
    ['no bundle', {}, 'empty', 0]
  ]
  for (const [what, shown, verdict, requests] of cases) {
    const { filters, collections, asked, warnings } = filtersOver(shown)
    t.equal(filters.recall(collections, {}), undefined, what)
    t.equal(await filters.usable(collections, {}), verdict === 'work', what)
    t.equal(await filters.verdict(collections, {}), verdict, what)
    t.equal(filters.recall(collections, {}), { work: true, trap: false, unknown: false, empty: undefined }[verdict], what)
    t.equal(asked(), requests, `${what}: found out once`)
    t.strictSame(warnings, [filterAdvice(verdict, 'publisher_container')].filter(Boolean), what)
  }
  t.match(filterAdvice('trap', 'publisher_container'), /lets some users see publisher_container entities but not filter them.*hook_jsonapi_publisher_container_filter_access/)
  t.match(filterAdvice('unknown', 'publisher_container'), /^Drupal showed some users none of the first 50 .*hook_jsonapi_publisher_container_filter_access/)
})

t.test('what was found out is believed for ten minutes, that nothing was for one, and of each caller apart', async (t) => {
  const { filters, clock, collections, asked, shown, warnings } = filtersOver({ daily: { rows: [], more: true, filtered: trap } })
  const [ann, ben] = [{ authorization: 'ann' }, { authorization: 'ben' }]
  await filters.usable(collections, ann)
  clock.now = 59_999
  t.equal(filters.recall(collections, ann), false)
  t.equal(filters.recall(collections, ben), undefined)
  clock.now = 60_000
  t.equal(filters.recall(collections, ann), undefined)
  shown['daily'] = { rows: ['a'], filtered: honest }
  t.equal(await filters.usable(collections, ann), true, 'now one is shown')
  shown['daily'] = { rows: ['a'], filtered: trap }
  clock.now += 599_999
  t.equal(await filters.usable(collections, ann), true)
  clock.now += 1
  t.equal(await filters.usable(collections, ann), false)
  t.equal(await filters.usable(collections, ben), false)
  t.equal(asked(), 8)
  t.equal(warnings.length, 2, 'each is told once, whoever it is about')
})

t.test('those that are not published are tried first, where Drupal sorts by that', async (t) => {
  const sortsOf = async (published: string | null, status = 200) => {
    const sorts: unknown[] = []
    const cms: Jsonapi = {
      async request ({ query = [] }) {
        const { sort } = Object.fromEntries(query)
        sorts.push(sort)
        return sort === 'id' ? { status: 200, document: { data: [{ type: 'x', id: 'a' }] } } : { status, document: { data: [{ type: 'x', id: 'a' }] } }
      }
    }
    t.equal(await createFilters({ cms, model: contentModel({ keys: { published } }), warn: () => {} }).verdict([collection('daily')], {}), 'work')
    return sorts
  }
  t.strictSame(await sortsOf('status'), ['status,id', 'id'])
  t.strictSame(await sortsOf('status', 403), ['status,id', 'id', 'id'], 'to who may not see the status too')
  t.strictSame(await sortsOf(null), ['id', 'id'])
})

t.test('a CMS that refuses the question is no verdict', async (t) => {
  const filters = createFilters({ cms: { request: async () => ({ status: 403, document: {} }) }, model: contentModel({}), warn: () => {} })
  await t.rejects(filters.usable([collection('daily')], {}), { code: 'CMS_FORBIDDEN' })
  t.equal(filters.recall([collection('daily')], {}), undefined)
})
