import assert from 'node:assert/strict'
import t from 'tap'
import type { Source } from '#lib/editions/list/deep.ts'
import { list, type ListOptions } from '#lib/editions/list/listing.ts'
import { LIST_ORDERS, type Sort } from '#lib/editions/translate/order.ts'
import fc from '../fixtures/property.ts'
import { runs } from '../scope.ts'

const PAGE_MAX = 50
const SORTS = Object.keys(LIST_ORDERS) as Sort[]

/** A row: what Drupal sorts it by, and what it shows, which differ where its translations were changed at other times. */
interface Row {
  id: number
  changed: number
  shown: number
  isHidden?: boolean
}

/** Rows as Drupal sorts them. */
function sorted(rows: Row[], sort: Sort): Row[] {
  const sign = sort.startsWith('-') ? -1 : 1
  const value = (row: Row) => (sort.endsWith('id') ? row.id : row.changed)
  return rows.toSorted((a, b) => sign * (value(a) - value(b) || a.id - b.id))
}

const visible = (rows: Row[], sort: Sort) => idsOf(sorted(rows, sort).filter(({ isHidden }) => !isHidden))
const idsOf = (rows: Row[]) => rows.map(({ id }) => id)

/** A collection as Drupal pages it: the window is cut first, then the rows that may not be seen are taken out. */
function collection(rows: () => Row[], sort: Sort, onRequest = () => {}): Source<Row> {
  return async (offset, limit) => {
    onRequest()
    const window = sorted(rows(), sort).slice(offset, offset + limit)
    return { rows: window.filter(({ isHidden }) => !isHidden), more: rows().length > offset + limit }
  }
}

/** Collections whose rows stay in them. `onRequest` is called with the rows that a page is cut of. */
function sourcesOf(collections: Row[][], sort: Sort, onRequest: (rows: Row[]) => void = () => {}): Array<Source<Row>> {
  return collections.map((rows) =>
    collection(
      () => rows,
      sort,
      () => onRequest(rows)
    )
  )
}

const options = (sources: Array<Source<Row>>, sort: Sort, offset: number, limit: number): ListOptions<Row> => ({
  sources,
  order: LIST_ORDERS[sort],
  offset,
  limit,
  total: false,
  idOf: ({ id }) => id,
  changeTimeOf: ({ shown }) => shown,
  pageMax: PAGE_MAX
})

/** All pages of a list, one request after the other as a caller sends them. */
async function readInPages(sources: Array<Source<Row>>, sort: Sort, limit: number): Promise<number[]> {
  const ids: number[] = []
  for (let offset = 0; ; offset += limit) {
    const { rows, hasMore } = await list(options(sources, sort, offset, limit))
    ids.push(...idsOf(rows))
    if (!hasMore) return ids
  }
}

const site = fc.record({
  sizes: fc.array(fc.integer({ min: 0, max: 200 }), { minLength: 1, maxLength: 4 }),
  /** How many seconds the changes are spread over: few make ties. */
  seconds: fc.constantFrom(1, 3, 40, 100_000),
  hidden: fc.constantFrom(0, 0, 0.02, 0.5),
  seed: fc.integer(),
  sort: fc.constantFrom(...SORTS)
})
type Site = typeof site extends fc.Arbitrary<infer T> ? T : never

function generator(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

/** The rows of each collection, their ids dealt at random. */
function rowsOf({ sizes, seconds, hidden }: Site, random: () => number): Row[][] {
  const deck = sizes
    .flatMap((size, index) => Array<number>(size).fill(index))
    .map((index) => ({ index, key: random() }))
    .sort((a, b) => a.key - b.key)
  const collections = sizes.map((): Row[] => [])
  deck.forEach(({ index }, position) => {
    const changed = Math.floor(random() * seconds)
    collections[index]!.push({ id: position + 1, changed, shown: changed, isHidden: random() < hidden })
  })
  return collections
}

t.test('a list is a slice of all visible rows in each order, ties by id, for any number of collections and hidden rows', async () => {
  const window = fc.record({ offset: fc.integer({ min: 0, max: 500 }), limit: fc.integer({ min: 1, max: 300 }), total: fc.boolean() })
  await fc.assert(
    fc.asyncProperty(site, window, async (site, { offset, limit, total }) => {
      const { sort } = site
      const collections = rowsOf(site, generator(site.seed))
      let requests = 0
      const sources = sourcesOf(collections, sort, () => {
        requests++
      })
      const all = visible(collections.flat(), sort)
      const result = await list({ ...options(sources, sort, offset, limit), total })
      assert.deepEqual(idsOf(result.rows), all.slice(offset, offset + limit))
      assert.equal(result.hasMore, all.length > offset + limit)
      assert.ok(result.total === all.length || (!total && result.total === null))
      const bound = Math.ceil((offset + limit) / PAGE_MAX) + 2 * sources.length
      if (site.hidden === 0 && !total) assert.ok(requests <= bound + Math.ceil(limit / PAGE_MAX), `${requests} requests, at most ${bound}`)
    }),
    { numRuns: runs(300) }
  )
})

t.test('where translations were changed at other times, pages of any size are the same list, and lose and double no row', async () => {
  const sizes = fc.record({
    one: fc.integer({ min: 1, max: 60 }),
    other: fc.integer({ min: 1, max: 120 }),
    share: fc.constantFrom(0.01, 0.3, 1)
  })
  await fc.assert(
    fc.asyncProperty(site, sizes, async (site, { one, other, share }) => {
      const { sort } = site
      const random = generator(site.seed)
      const collections = rowsOf(site, random)
      const sign = sort.startsWith('-') ? -1 : 1
      for (const row of collections.flat()) if (random() < share) row.shown += sign * Math.floor(random() * site.seconds)
      const sources = sourcesOf(collections, sort)
      const ids = await readInPages(sources, sort, one)
      assert.deepEqual(ids, await readInPages(sources, sort, other))
      assert.deepEqual(
        ids.toSorted((a, b) => a - b),
        visible(collections.flat(), 'id')
      )
      if (share === 0.01) {
        const untranslated = collections.flat().filter(({ changed, shown }) => changed === shown)
        const exact = new Set(idsOf(untranslated))
        assert.deepEqual(
          ids.filter((id) => exact.has(id)),
          visible(untranslated, sort),
          'a few translations leave the others in their order'
        )
      }
      for (const rows of collections) {
        const own = new Set(idsOf(rows))
        assert.deepEqual(
          ids.filter((id) => own.has(id)),
          visible(rows, sort),
          "within a collection Drupal's order stands"
        )
      }
    }),
    { numRuns: runs(100) }
  )
})

t.test('a row that shows an earlier change than its translation does not hold back what comes after it', async (t) => {
  const row = (id: number, changed: number, shown = changed): Row => ({ id, changed, shown })
  const translated = Array.from({ length: 20 }, (_, index) => row(500 + index, 1000 - index, 1))
  const daily = [...translated, ...Array.from({ length: 60 }, (_, index) => row(400 + index, 900 - index))]
  const special = Array.from({ length: 100 }, (_, index) => row(index, 800 - index))
  const sources = sourcesOf([daily, special], '-changed')
  const { rows } = await list(options(sources, '-changed', 0, 200))
  t.strictSame(
    rows.map(({ id }) => id),
    idsOf(sorted([...daily, ...special], '-changed'))
  )

  const tied = sourcesOf([[row(200, 900, 1), row(300, 800)], [row(250, 800)]], '-changed')
  t.strictSame(idsOf((await list(options(tied, '-changed', 0, 10))).rows), [200, 300, 250], 'nor among ties')
})

t.test('two sources that have the same row give it once, wherever each has it', async (t) => {
  const rows = Array.from({ length: 120 }, (_, index): Row => ({ id: index, changed: index, shown: index % 7 === 0 ? 0 : index }))
  for (const sort of SORTS) {
    const sources = [0, 1].map((part) => collection(() => rows.filter(({ id }) => id % 3 !== part), sort))
    const result = await list({ ...options(sources, sort, 0, 500), total: true })
    t.equal(result.total, 120)
    t.strictSame(
      idsOf(result.rows).toSorted((a, b) => a - b),
      visible(rows, 'id')
    )
    t.equal((await list({ ...options(sources, sort, 0, 10), total: true })).total, 120, 'and counts it once')
  }
})

t.test('while rows are changed none comes twice, and none that is in the window all the time is left out', async (t) => {
  let restarts = 0
  await fc.assert(
    fc.asyncProperty(site, fc.constantFrom('-changed' as const, 'changed' as const), fc.integer(), async (site, sort, seed) => {
      const collections = rowsOf({ ...site, hidden: 0 }, generator(site.seed))
      const random = generator(seed)
      let now = site.seconds
      let requests = 0
      let changes = 0
      const sources = sourcesOf(collections, sort, (rows) => {
        requests++
        if (random() > 0.2 || changes > 1 || rows.length === 0) return
        changes++
        const row = rows[Math.floor(random() * rows.length)]!
        // Another object: an answer that was given stays as it was.
        rows.splice(rows.indexOf(row), 1, { ...row, changed: ++now, shown: now })
      })
      const all = collections.flat().length
      const { rows } = await list(options(sources, sort, 0, 1000))
      assert.equal(new Set(idsOf(rows)).size, rows.length, 'no row twice')
      assert.equal(rows.length, all, 'none is left out')
      if (requests > Math.ceil(all / PAGE_MAX) + 2 * sources.length) restarts++
    }),
    { numRuns: runs(300) }
  )
  t.ok(restarts > 0, `${restarts} lists were started again`)
})

t.test('a change is noticed too where a page is read ahead of the window', async (t) => {
  const row = (id: number): Row => ({ id, changed: id, shown: id })
  const daily = Array.from({ length: 200 }, (_, index) => row(1000 - index))
  let requests = 0
  const changing = collection(
    () => daily,
    '-changed',
    () => {
      if (++requests === 2) daily[60] = { ...daily[60]!, changed: 2000, shown: 2000 }
    }
  )
  const special = collection(() => [row(1), row(2)], '-changed')
  const { rows } = await list(options([changing, special], '-changed', 30, 100))
  t.strictSame(idsOf(rows), visible(daily, '-changed').slice(30, 130))
})

t.test('a page with a row twice is none, and rows that keep moving end in the best answer there is', async (t) => {
  const twice: Source<Row> = async () => ({ rows: [1, 2, 1].map((id) => ({ id, changed: 1, shown: 1 })), more: false })
  await t.rejects(list(options([twice], '-changed', 0, 10)), { code: 'CMS_INVALID_RESPONSE' })
  const ascending: Source<Row> = async () => ({ rows: [1, 2].map((id) => ({ id, changed: 1, shown: 1 })), more: false })
  await t.rejects(list(options([ascending], '-id', 0, 10)), { code: 'CMS_INVALID_RESPONSE' })
  t.strictSame(idsOf((await list(options([ascending], 'id', 0, 10))).rows), [1, 2])

  const rows = Array.from({ length: 300 }, (_, id): Row => ({ id, changed: id, shown: id }))
  let now = 300
  const moving = collection(
    () => rows,
    '-changed',
    () => {
      rows[0] = { ...rows[0]!, changed: ++now, shown: now }
      rows.push(rows.shift()!)
    }
  )
  const ids = idsOf((await list(options([moving], '-changed', 0, 200))).rows)
  t.strictSame([ids.length, new Set(ids).size], [200, 200])
})
