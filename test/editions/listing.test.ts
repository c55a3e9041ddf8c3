import assert from 'node:assert/strict'
import t from 'tap'
import type { Source } from '#lib/editions/list/deep.ts'
import { list, type ListOptions } from '#lib/editions/list/listing.ts'
import { NEWEST_FIRST } from '#lib/editions/translate/order.ts'
import fc from '../fixtures/property.ts'
import { runs } from '../scope.ts'

const PAGE_MAX = 50

interface Row {
  id: number
}

/** A collection as Drupal pages it: the window is cut first, then the rows that may not be seen are taken out. */
function collection(
  rows: () => number[],
  {
    visible = () => true,
    counts = false,
    onRequest = () => {}
  }: { visible?: (id: number) => boolean; counts?: boolean; onRequest?: () => void } = {}
): Source<Row> {
  return async (offset, limit) => {
    onRequest()
    const raw = rows().toSorted((a, b) => b - a)
    return {
      rows: raw
        .slice(offset, offset + limit)
        .filter(visible)
        .map((id) => ({ id })),
      more: raw.length > offset + limit,
      ...(counts && { count: raw.length })
    }
  }
}

const options = (sources: Array<Source<Row>>, offset: number, limit: number, total = false): ListOptions<Row> => ({
  sources,
  offset,
  limit,
  total,
  order: NEWEST_FIRST,
  idOf: ({ id }) => id,
  changeTimeOf: () => NaN,
  pageMax: PAGE_MAX
})

/** Ids 1..n dealt to k collections at random, unevenly. */
const dealt = fc
  .record({
    sizes: fc.array(fc.integer({ min: 0, max: 300 }), { minLength: 1, maxLength: 5 }),
    seed: fc.integer(),
    hidden: fc.constantFrom(0, 0, 0.02, 0.5),
    offset: fc.oneof(fc.integer({ min: 0, max: 30 }), fc.integer({ min: 0, max: 900 })),
    limit: fc.oneof(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 1, max: 500 })),
    total: fc.boolean()
  })
  .map(({ sizes, seed, hidden, ...rest }) => {
    const random = generator(seed)
    const bag = sizes
      .flatMap((size, index) => Array<number>(size).fill(index))
      .map((index) => ({ index, key: random() }))
      .sort((a, b) => a.key - b.key)
    const collections = sizes.map((): number[] => [])
    bag.forEach(({ index }, id) => collections[index]!.push(id + 1))
    const hiddenIds = new Set(bag.map((_, id) => id + 1).filter(() => random() < hidden))
    return { collections, hiddenIds, ...rest }
  })

function generator(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

t.test('a list is a slice of all visible rows in order, for any number of collections and hidden rows (property 15)', async () => {
  await fc.assert(
    fc.asyncProperty(dealt, async ({ collections, hiddenIds, offset, limit, total }) => {
      let requests = 0
      const sources = collections.map((rows) =>
        collection(() => rows, {
          visible: (id) => !hiddenIds.has(id),
          onRequest: () => {
            requests++
          }
        })
      )
      const all = collections.flat().sort((a, b) => b - a)
      const visible = all.filter((id) => !hiddenIds.has(id))
      const result = await list(options(sources, offset, limit, total))
      const wanted = visible.slice(offset, offset + limit)

      assert.deepEqual(
        result.rows.map(({ id }) => id),
        wanted
      )
      assert.equal(result.hasMore, visible.length > offset + limit)
      if (total) assert.equal(result.total, visible.length)
      else assert.ok(result.total === null || result.total === visible.length)
      if (!result.hasMore && result.rows.length > 0 && hiddenIds.size === 0) {
        assert.equal(result.total, visible.length, 'at the end the total is known')
      }

      const last = wanted.length === limit ? all.indexOf(wanted.at(-1)!) + 1 : all.length
      const bound = Math.ceil((hiddenIds.size === 0 ? offset + limit : last + 1) / PAGE_MAX) + collections.length
      const again = hiddenIds.size === 0 ? 0 : Math.ceil(limit / 25) + collections.length
      if (!total) assert.ok(requests <= bound + again, `${requests} requests, at most ${bound} + ${again} for hidden rows`)
    }),
    { numRuns: runs(300) }
  )
})

t.test('a page of a two-bundle site costs no more requests than it must', async (t) => {
  const rows = Array.from({ length: 4000 }, (_, id) => id)
  for (const [offset, limit] of [
    [0, 20],
    [0, 50],
    [0, 500],
    [100, 20],
    [2000, 20],
    [3000, 500]
  ] as const) {
    let requests = 0
    const sources = [0, 1].map((bundle) =>
      collection(() => rows.filter((id) => id % 2 === bundle), {
        onRequest: () => {
          requests++
        }
      })
    )
    await list(options(sources, offset, limit))
    t.ok(requests <= Math.ceil((offset + limit) / PAGE_MAX) + 2, `offset ${offset}, limit ${limit}: ${requests}`)
  }
})

t.test('while rows come and go nothing comes twice, and a skip is followed by a new start (property 16)', async (t) => {
  let restarts = 0
  let moved = 0
  await fc.assert(
    fc.asyncProperty(dealt, fc.integer(), async ({ collections, offset, limit }, seed) => {
      const random = generator(seed)
      let next = collections.flat().length + 1
      let requests = 0
      let changes = 0
      const live = collections.map((rows) => [...rows])
      const untouched = new Set(live.flat())
      const sources = live.map((rows) =>
        collection(() => rows, {
          onRequest() {
            requests++
            if (random() > 0.2 || changes > 3) return
            changes++
            if (random() < 0.5) rows.push(next++)
            else if (rows.length > 0) untouched.delete(rows.splice(Math.floor(random() * rows.length), 1)[0]!)
          }
        })
      )
      const { rows } = await list(options(sources, offset, limit))
      const ids = rows.map(({ id }) => id)
      assert.equal(new Set(ids).size, ids.length, 'no row twice')
      assert.deepEqual(
        ids,
        ids.toSorted((a, b) => b - a),
        'in order'
      )
      const between = [...untouched].filter((id) => id <= ids[0]! && id >= ids.at(-1)!)
      if (between.some((id) => !ids.includes(id))) moved++
      if (requests > Math.ceil((offset + limit) / PAGE_MAX) + collections.length) restarts++
    }),
    { numRuns: runs(500), seed: 20261120 }
  )
  t.ok(restarts > 0, `${restarts} lists were started again`)
  t.equal(moved, 0, 'no row that stayed was skipped inside the window')
})

t.test('rows that keep moving end in the best answer there is, not in a loop', async (t) => {
  let requests = 0
  const rows = Array.from({ length: 1000 }, (_, id) => id)
  const source: Source<Row> = async (offset, limit) => {
    requests++
    const page = rows.toSorted((a, b) => b - a).slice(offset, offset + limit)
    rows.splice(rows.indexOf(page.at(-1)!), 1)
    return { rows: page.map((id) => ({ id })), more: true }
  }
  const { rows: found } = await list(options([source], 0, 100))
  t.equal(found.length, 100)
  t.equal(new Set(found.map(({ id }) => id)).size, 100)
  t.ok(requests < 20)
})

t.test('the count of a CMS that counts is the total, unless rows are hidden from the caller', async (t) => {
  const rows = Array.from({ length: 200 }, (_, id) => id)
  const total = async (more: Partial<ListOptions<Row>>, visible: (id: number) => boolean = () => true) =>
    (
      await list({
        ...options(
          [0, 1].map((bundle) => collection(() => rows.filter((id) => id % 2 === bundle), { counts: true, visible })),
          0,
          10
        ),
        ...more
      })
    ).total
  const asked: Array<[number, number]> = []
  t.equal(
    await total({
      isOwnCount: async (source, count) => {
        asked.push([source, count])
        return true
      }
    }),
    200
  )
  t.strictSame(
    asked,
    [
      [0, 100],
      [1, 100]
    ],
    'each count is checked'
  )
  t.equal(await total({ isOwnCount: async (source) => source === 0 }), null, 'nor where one of them counts what is hidden')
  t.equal(
    await total({ isOwnCount: async () => false, total: true }, (id) => id !== 5),
    199,
    'then it is found by reading on, if it is asked for'
  )
  t.equal(await total({}), null, 'where it cannot be known')
  t.equal(await total({ isOwnCount: async () => t.fail('not asked') }, (id) => id !== 199), null)
  t.equal((await list(options([collection(() => rows)], 0, 10))).total, null)
})

t.test('other errors of a source are passed on', async (t) => {
  await t.rejects(
    list(
      options(
        [
          async () => {
            throw new Error('down')
          }
        ],
        0,
        10
      )
    ),
    { message: 'down' }
  )
})
