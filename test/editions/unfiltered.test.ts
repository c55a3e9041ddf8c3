import assert from 'node:assert/strict'
import t from 'tap'
import { createSearch, type Search } from '#lib/editions/list/search.ts'
import type { Resources } from '#lib/editions/lookup/resources.ts'
import type { Collection } from '#lib/editions/site/catalog.ts'
import { createRevisions } from '#lib/editions/site/revisions.ts'
import { createRowMemory } from '#lib/editions/site/row-memory.ts'
import type { Site } from '#lib/editions/site/site.ts'
import type { Page, Parameters } from '#lib/editions/translate/query.ts'
import type { LoadedEdition } from '#lib/editions/translate/read.ts'
import { Failure } from '#lib/errors.ts'
import { newCaller } from '#lib/http/calls.ts'
import fc from '../fixtures/property.ts'
import { fakeTime } from '../fixtures/time.ts'
import { runs } from '../scope.ts'
import { newspaper } from '../../dev/content.ts'
import { model } from './fixtures.ts'
import { enlarged, open } from './site.ts'

/** A row of a collection. Who saves it moves `changed` on, in seconds. */
interface Row {
  id: number
  title: string
  key?: string
  changed: number | undefined
  revision?: number
  isHidden?: boolean
}

const BUNDLES = ['daily', 'special']
const uuidOf = (id: number) => `00000000-0000-4000-8000-${String(id).padStart(12, '0')}`
const BEGIN = 1_700_000_000

/** A site whose filters find nothing, and what it was asked for. */
function siteOf(rows: Row[]) {
  const asked: string[] = []
  const clock = { ahead: 0 }
  const state = {
    rows,
    now: BEGIN,
    asked,
    clock,
    showsNoneWhole: false,
    onPage: (_line: string): void => {},
    refuses: /^$/,
    refusedPath: 'title'
  }
  const bundleOf = (id: number) => BUNDLES[id % 3 === 0 ? 1 : 0]!
  const resourceOf = ({ id, title, key, changed, revision = 1 }: Row): LoadedEdition => ({
    resource: {
      type: `publisher_container--${bundleOf(id)}`,
      id: uuidOf(id),
      attributes: {
        drupal_internal__id: id,
        drupal_internal__revision_id: revision,
        title,
        status: true,
        field_key: key,
        ...(changed !== undefined && { changed: new Date(changed * 1000).toISOString() })
      }
    },
    urlOf: () => undefined
  })
  function pageOf({ bundle }: Collection, query: Parameters, kind: string): Page<LoadedEdition> {
    const { sort, ...rest } = Object.fromEntries(query)
    const [offset, limit] = [Number(rest['page[offset]']), Number(rest['page[limit]'])]
    const line = `${kind} ${bundle} ${sort} ${offset}`
    asked.push(line)
    if (state.refuses.test(line)) {
      throw new Failure('CMS_REFUSED', 'no', { cause: { refusedPath: state.refusedPath } })
    }
    state.onPage(line)
    const ofBundle = state.rows.filter(({ id }) => bundleOf(id) === bundle)
    const sorted = sort!.startsWith('-changed')
      ? ofBundle.toSorted((a, b) => (b.changed ?? 0) - (a.changed ?? 0) || b.id - a.id)
      : ofBundle.toSorted((a, b) => b.id - a.id)
    return {
      rows: sorted
        .slice(offset, offset + limit)
        .filter(({ isHidden }) => !isHidden && !(state.showsNoneWhole && kind === 'whole'))
        .map(resourceOf),
      more: sorted.length > offset + limit
    }
  }
  const resources = {
    page: async (collection: Collection, query: Parameters) => pageOf(collection, query, 'whole'),
    sparsePage: async (collection: Collection, query: Parameters) => pageOf(collection, query, 'sparse'),
    async individual(_: Collection, { uuid }: { uuid: string }) {
      asked.push(`one ${uuid}`)
      if (state.refuses.test('one')) throw new Failure('CMS_TIMEOUT', 'no')
      const row = state.rows.find(({ id }) => uuidOf(id) === uuid)
      if (row?.isHidden || state.showsNoneWhole) throw new Failure('CMS_FORBIDDEN', 'no')
      return row && resourceOf(row)
    },
    newest: async (rows: LoadedEdition[]) => rows
  } as unknown as Resources
  const revisions = createRevisions(model)
  const collections = BUNDLES.map((bundle) => ({
    resourceType: `publisher_container--${bundle}`,
    entityType: 'publisher_container',
    bundle,
    path: `/publisher_container/${bundle}`
  }))
  const site = {
    model,
    revisions,
    rows: createRowMemory(fakeTime({ monotonic: () => performance.now() + clock.ahead })),
    catalog: { editions: async () => collections },
    filters: { recall: () => 'none', reach: async () => 'none' },
    warn() {}
  } as unknown as Site
  const find = createSearch(site, resources)
  async function search(query: Partial<Search>, caller = newCaller()) {
    asked.length = 0
    const { rows, ...rest } = await find('publisher_container', { limit: 20, offset: 0, total: false, ...query }, caller)
    return { ids: rows.map(({ resource }) => Number(resource.attributes!.drupal_internal__id)), ...rest, requests: asked.length }
  }
  return { ...state, state, revisions, search }
}

/** Rows with the ids 1 to a number, each saved a minute after the one before it. */
function rowsUpTo(count: number, titleOf = (id: number) => `Edition ${id}`): Row[] {
  return Array.from({ length: count }, (_, index) => ({ id: index + 1, title: titleOf(index + 1), changed: BEGIN + 60 * index }))
}

t.test('what a search has read need not be read for the next one', async (t) => {
  const { search, asked } = siteOf(rowsUpTo(1200))
  const first = await search({ q: 'Edition 77' })
  t.match(first, { ids: [779, 778, 777, 776, 775, 774, 773, 772, 771, 770, 77], hasMore: false, total: 11 })
  t.equal(asked.filter((line) => line.startsWith('sparse')).length, 24, 'all pages after the first ones have little of each row')
  const again = await search({ q: 'Edition 77' })
  t.strictSame(again.ids, first.ids)
  t.ok(again.requests <= first.requests / 5, `${again.requests} requests after ${first.requests}`)
  t.equal(again.total, null, 'nobody has counted again')
  t.strictSame(await search({ key: 'none' }), { ids: [], hasMore: false, total: null, requests: 2 })
  t.match(await search({ q: 'Edition 77', total: true }), { total: 11, ids: first.ids }, 'a total is counted')
  t.ok(asked.length > 24)
  t.match(await search({ key: 'none', isCertain: true }), { ids: [], total: 0 }, 'and so is what has to be certain')
  t.ok(asked.length > 24)
  t.match(await search({ q: 'Edition 77' }, newCaller({ authorization: 'another' })), { total: 11 }, 'and what another caller is shown')
})

t.test('a deep page goes on from what the page before it has read', async (t) => {
  const { search } = siteOf(rowsUpTo(1200))
  const first = await search({ offset: 800 })
  t.match(first, { ids: Array.from({ length: 20 }, (_, index) => 400 - index), hasMore: true, total: null })
  const next = await search({ offset: 820 })
  t.match(next, { ids: Array.from({ length: 20 }, (_, index) => 380 - index), hasMore: true, total: null })
  t.ok(first.requests > 17 && next.requests <= 6, `${first.requests}, ${next.requests} requests`)
  t.match(await search({ offset: 1190 }), { ids: [10, 9, 8, 7, 6, 5, 4, 3, 2, 1], hasMore: false }, 'the scan is read on')
})

t.test('a search finds what others have saved since, and shows nothing that is hidden or gone', async (t) => {
  const site = siteOf(rowsUpTo(700, (id) => (id % 300 === 0 ? `Rare ${id}` : `Edition ${id}`)))
  const { search, state } = site
  const find = async () => (await search({ q: 'rare' })).ids
  t.strictSame(await find(), [600, 300])
  const now = BEGIN + 60 * 701
  state.rows.push({ id: 701, title: 'A rare one', changed: now })
  state.rows[9]!.title = 'Rare as well'
  state.rows[9]!.changed = now
  t.strictSame(await find(), [701, 600, 300, 10], 'a new one, and one with another title')
  state.rows[299]!.isHidden = true
  t.strictSame(await find(), [701, 600, 10], 'hidden')
  state.rows = state.rows.filter(({ id }) => id !== 600)
  t.strictSame(await find(), [701, 10], 'deleted')
  Object.assign(state.rows[9]!, { title: 'Common', changed: now + 1 })
  t.strictSame(await find(), [701], 'renamed')
  state.rows[299]!.isHidden = false
  state.rows[299]!.changed = now + 2
  t.strictSame(await find(), [701, 300], 'shown again')
  state.rows[299]!.title = 'Common'
  state.rows[299]!.changed = BEGIN
  t.strictSame(await find(), [701], 'renamed, and Drupal has not noted when')
  state.rows.push({ id: 5000, title: 'Rare', changed: BEGIN })
  t.strictSame(await find(), [701], 'but not what an import writes with an earlier time')
  site.clock.ahead += 10 * 60_000
  t.strictSame(await find(), [5000, 701], 'until ten minutes have passed')
})

t.test('what has been read is forgotten where it does not tell all', async (t) => {
  await t.test('after more changes than four pages have', async (t) => {
    const { search, state } = siteOf(rowsUpTo(900))
    await search({ q: 'Edition 77' })
    for (const row of state.rows) row.changed = BEGIN + 60 * 1000
    t.match(await search({ q: 'Edition 77' }), { ids: [779, 778, 777, 776, 775, 774, 773, 772, 771, 770, 77], total: 11 })
  })
  await t.test('where rows do not show when they were changed', async (t) => {
    const { search } = siteOf(rowsUpTo(600).map((row) => ({ ...row, changed: undefined })))
    await search({ q: 'Edition 177' })
    t.match(await search({ q: 'Edition 177' }), { ids: [177], total: 1 })
  })
  await t.test('where Drupal does not sort by it', async (t) => {
    const { search, state } = siteOf(rowsUpTo(600))
    Object.assign(state, { refuses: /-changed/, refusedPath: 'changed' })
    await search({ q: 'Edition 177' })
    t.match(await search({ q: 'Edition 177' }), { ids: [177], total: 1 })
  })
  await t.test('where a collection is short', async (t) => {
    const { search } = siteOf(rowsUpTo(100))
    await search({ q: 'Edition 77' })
    t.match(await search({ q: 'Edition 77' }), { ids: [77], total: 1 })
  })
  await t.test('where most rows of a page are hidden, so that one that moves is not noticed', async (t) => {
    const { search } = siteOf(rowsUpTo(600).map((row) => ({ ...row, isHidden: row.id > 200 && row.id < 400 })))
    await search({ q: 'Edition 177' })
    t.match(await search({ q: 'Edition 177' }), { ids: [177], total: 1 })
  })
  await t.test('where rows have moved before it is read on', async (t) => {
    const { search, state } = siteOf(rowsUpTo(900))
    await search({ offset: 510 })
    state.rows = state.rows.filter(({ id }) => id < 600 || id > 800)
    t.match(await search({ q: 'Edition 5', limit: 200 }), { hasMore: false, total: 111 })
  })
  await t.test('where rows move again and again', async (t) => {
    const { search, state } = siteOf(rowsUpTo(900))
    let gone = 899
    state.onPage = (line) => {
      if (!/daily .*id [1-9]/.test(line) || gone < 800) return
      state.rows = state.rows.filter(({ id }) => id !== gone)
      gone -= 3
    }
    t.ok((await search({ q: 'Edition 17' })).ids.length >= 10, 'the best answer there is')
    state.onPage = () => {}
    t.strictSame((await search({ q: 'Edition 17' })).ids, [179, 178, 177, 176, 175, 174, 173, 172, 171, 170, 17])
  })
  await t.test('where more rows are gone than an answer has', async (t) => {
    const { search, state } = siteOf(rowsUpTo(900))
    await search({ q: 'none' })
    state.rows = state.rows.filter(({ id }) => id <= 100)
    t.match(await search({ q: 'Edition 8', limit: 10 }), { ids: [89, 88, 87, 86, 85, 84, 83, 82, 81, 80], hasMore: true })
  })
  await t.test('where many rows are hidden at once', async (t) => {
    const { search, state } = siteOf(rowsUpTo(900))
    await search({ q: 'Edition 8', limit: 10 })
    await search({ q: 'none' })
    for (const row of state.rows) row.isHidden = row.id > 100
    t.match(await search({ q: 'Edition 8', limit: 10 }), { ids: [89, 88, 87, 86, 85, 84, 83, 82, 81, 80], hasMore: true })
    t.match(await search({ q: 'Edition 8', limit: 20 }), { ids: [89, 88, 87, 86, 85, 84, 83, 82, 81, 80, 8], hasMore: false })
  })
})

t.test('rows are read again of which a newer revision was seen', async (t) => {
  const { search, state, revisions } = siteOf(rowsUpTo(600))
  await search({ q: 'new title' })
  Object.assign(state.rows[99]!, { title: 'New title', revision: 7 })
  state.rows.splice(49, 1)
  revisions.learn(uuidOf(100), 7)
  revisions.learn(uuidOf(50), 3)
  t.match(await search({ q: 'new title' }), { ids: [100], total: null })
  for (let id = 100; id < 160; id++) revisions.learn(uuidOf(id), 9)
  t.match(await search({ q: 'new title' }), { ids: [100], total: 1 }, 'beyond ten of them all rows are')
})

t.test('editions that lists show and that cannot be read end a search', async (t) => {
  const { search, state } = siteOf(rowsUpTo(600, (id) => (id % 30 === 0 ? 'Rare' : 'Edition')))
  state.showsNoneWhole = true
  await t.rejects(search({ q: 'rare', offset: 1, limit: 2 }), { code: 'CMS_INVALID_RESPONSE' })
})

t.test('an edition that cannot be read makes a search fail, and one that is shown again comes last', async (t) => {
  const { search, state } = siteOf(rowsUpTo(600))
  state.rows[0]!.isHidden = true
  await search({ q: 'none' })
  state.refuses = /one/
  await t.rejects(search({ q: 'Edition 170' }), { code: 'CMS_TIMEOUT' })
  state.refuses = /^$/
  Object.assign(state.rows[0]!, { isHidden: false, title: 'Edition 170', changed: BEGIN + 60 * 601 })
  t.strictSame((await search({ q: 'Edition 170' })).ids, [170, 1])
})

t.test('a search that has failed goes on where it ended', async (t) => {
  const { search, state, asked } = siteOf(rowsUpTo(1200))
  state.refuses = /daily -drupal_internal__id [67]\d\d/
  await t.rejects(search({ q: 'Edition 17' }), { code: 'CMS_REFUSED' })
  state.refuses = /special -changed/
  await t.rejects(search({ q: 'Edition 17' }), { code: 'CMS_REFUSED' })
  state.refuses = /^$/
  t.match(await search({ q: 'Edition 17' }), { ids: [179, 178, 177, 176, 175, 174, 173, 172, 171, 170, 17] })
  t.equal(asked.filter((line) => /^sparse \w+ -drupal_internal__id [1-5]\d\d/.test(line)).length, 0, 'it reads no page again')
})

t.test('any history of saves leads to what a new instance would answer', async () => {
  const change = fc.record({
    what: fc.constantFrom('create', 'rename', 'delete', 'hide', 'show'),
    pick: fc.nat(),
    title: fc.constantFrom('red', 'green', 'blue'),
    seconds: fc.integer({ min: 0, max: 900 })
  })
  const step = fc.record({
    changes: fc.array(change, { maxLength: 12 }),
    q: fc.constantFrom('red', 'green', 'blue', 'e', 'black'),
    limit: fc.constantFrom(1, 5, 20, 120)
  })
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 700 }), fc.array(step, { minLength: 2, maxLength: 6 }), async (count, steps) => {
      const { search, state } = siteOf(rowsUpTo(count, (id) => ['red', 'green', 'blue', 'grey'][id % 4]!))
      let [nextId, now] = [count + 1, BEGIN + 60 * count]
      for (const { changes, q, limit } of steps) {
        for (const { what, pick, title, seconds } of changes) {
          now += seconds
          const row = state.rows[pick % Math.max(1, state.rows.length)]
          if (what === 'create') state.rows.push({ id: nextId++, title, changed: now })
          else if (!row) continue
          else if (what === 'delete') state.rows = state.rows.filter((other) => other !== row)
          else Object.assign(row, { changed: now }, what === 'rename' ? { title } : { isHidden: what === 'hide' })
        }
        const wanted = state.rows
          .filter(({ title, isHidden }) => !isHidden && title.includes(q))
          .map(({ id }) => id)
          .sort((a, b) => b - a)
        const { ids, hasMore, total } = await search({ q, limit })
        assert.deepEqual(ids, wanted.slice(0, limit))
        assert.equal(hasMore, wanted.length > limit)
        assert.ok(total === null || total === wanted.length)
      }
    }),
    { numRuns: runs(100) }
  )
})

t.test('where an id is to be looked for is told by the pages around it', async (t) => {
  const memory = createRowMemory()
  const [collection] = [{ path: '/publisher_container/daily' }] as Collection[]
  const caller = newCaller()
  const guess = (id: number) => memory.guessPosition(collection!, caller, id)
  t.equal(guess(5), 0, 'nothing is known')
  memory.learnPage(collection!, caller, 100, [900, 851])
  memory.learnPage(collection!, caller, 300, [700, 651])
  memory.learnPage(collection!, caller, 500, [])
  t.strictSame([1000, 900, 860, 776, 700, 651, 3].map(guess), [0, 100, 100, 199, 300, 300, 350])
  memory.learnPage(collection!, caller, 110, [890, 860])
  t.strictSame([895, 870].map(guess), [0, 110], 'the last page that had an id tells')
  const other = newCaller({ cookie: 'SESSx=1' })
  for (let position = 0; position < 30_000; position += 50) {
    memory.learnPage(collection!, other, position, [100_000 - position, 99_951 - position])
  }
  t.equal(memory.guessPosition(collection!, other, 70_010), 25_000, '500 pages are remembered')
})

/** What docs/lists.md says of 2500 editions in two bundles. */
const REQUESTS: Array<[what: string, path: string, requests: number]> = [
  ['a search for a title', '/api/collections/publisher_container?q=Extra+1234', 66],
  ['the same again', '/api/collections/publisher_container?q=Extra+1234', 3],
  ['another, which finds eleven editions', '/api/collections/publisher_container?q=Extra+77', 6],
  ['a search that finds nothing', '/api/collections/publisher_container?q=nowhere', 2],
  ['a key', '/api/collections/publisher_container?key=extra-700', 3],
  ['offset 2000', '/api/collections/publisher_container?offset=2000', 4],
  ['the page after it', '/api/collections/publisher_container?offset=2020', 5],
  ['an id never seen', '/api/collection/1500', 3],
  ['the same id', '/api/collection/1500', 1],
  ['an id that no edition has', '/api/collection/999999', 2],
  ['a search with its total', '/api/collections/publisher_container?q=Extra+77&total=1', 58]
]

/** The same of a new instance, which also asks for the collections and tries filters. */
const FIRST_REQUESTS: typeof REQUESTS = [
  ['offset 2000 first of all', '/api/collections/publisher_container?offset=2000', 53],
  ['an id first of all', '/api/collection/1500', 15]
]

t.test('what searches cost where filters do not work', async (t) => {
  const content = enlarged(newspaper(), 2440)
  for (const { type, id, fields } of content.entities) {
    if (type.startsWith('publisher_container--')) fields!.changed = BEGIN + 60 * Number(id)
  }
  const site = { content, filterAccess: false, env: { staleSeconds: '0' } }
  const { call } = await open(t, site)
  for (const [what, path, requests] of REQUESTS) {
    const { status, upstream } = await call('GET', path, { as: 'editor' })
    t.equal(status, path.endsWith('999999') ? 404 : 200, what)
    t.equal(upstream.length, requests, what)
  }
  for (const [what, path, requests] of FIRST_REQUESTS) {
    const { call } = await open(t, site)
    t.equal((await call('GET', path, { as: 'editor' })).upstream.length, requests, what)
  }
})
