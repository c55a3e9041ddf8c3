import assert from 'node:assert/strict'
import t from 'tap'
import { newspaper, singleBundleNewspaper } from '../../dev/content.ts'
import type { JsonapiAnswer, JsonapiRequest } from '#lib/drupal/client.ts'
import type { Source } from '#lib/editions/list/deep.ts'
import { list, type ListOptions } from '#lib/editions/list/listing.ts'
import { isAllVisible } from '#lib/editions/list/visibility.ts'
import { NEWEST_FIRST } from '#lib/editions/translate/order.ts'
import fc from '../fixtures/property.ts'
import { model } from './fixtures.ts'
import { editionsOf, enlarged, open } from './site.ts'
import { newCaller } from '#lib/http/calls.ts'

const PAGE_MAX = 50

/** How ids are listed. */
const NEWEST = { order: NEWEST_FIRST, idOf: (id: number) => id, changeTimeOf: () => NaN, pageMax: PAGE_MAX }

/** How the ids of a site may be spread over its collections. */
const spreads = {
  even: (id: number, k: number) => id % k,
  random: (_id: number, k: number, random: () => number) => Math.floor(random() * k),
  skewed: (_id: number, k: number, random: () => number) => (random() < 0.95 ? 0 : Math.floor(random() * k)),
  one_after_the_other: (id: number, k: number, _random: () => number, n: number) => Math.floor(((id - 1) * k) / n),
  blocks: (id: number, k: number) => Math.floor(id / 333) % k,
  drifting: (id: number, k: number, random: () => number, n: number) => (random() < (id / n) ** 3 ? 0 : Math.floor(random() * k))
}

function generator(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

/** Ids, newest first, by collection; every so often some are missing. */
function spread(kind: keyof typeof spreads, n: number, k: number, random: () => number, gaps = 0): number[][] {
  const collections = Array.from({ length: k }, (): number[] => [])
  for (let id = n; id > 0; id--) if (random() >= gaps) collections[Math.min(k - 1, spreads[kind](id, k, random, n))]!.push(id)
  return collections
}

interface Site {
  collections: number[][]
  isVisible?: (id: number) => boolean
  /** What of the visible rows a filter leaves. */
  passesFilter?: (id: number) => boolean
  beforeRequest?: (count: number) => void
}

/** Collections as Drupal pages them, and how many requests were made. */
function site({ collections, isVisible = () => true, passesFilter = () => true, beforeRequest = () => {} }: Site) {
  let requests = 0
  const asked = () => beforeRequest(++requests)
  const sources = collections.map((rows): Source<number> => async (offset, limit) => {
    asked()
    return { rows: rows.slice(offset, offset + limit).filter(isVisible), more: rows.length > offset + limit }
  })
  async function nothingHidden(source: number, position: number, id: number): Promise<boolean> {
    asked()
    return collections[source]!.filter((id) => isVisible(id) && passesFilter(id))[position] === id
  }
  const listed = (offset: number, limit: number, more: Partial<ListOptions<number>> = {}) =>
    list({ ...NEWEST, sources, offset, limit, total: false, nothingHidden, ...more })
  return { listed, requests: () => requests }
}

const anySite = fc.record({
  kind: fc.constantFrom(...(Object.keys(spreads) as Array<keyof typeof spreads>)),
  n: fc.integer({ min: 0, max: 6000 }),
  k: fc.integer({ min: 1, max: 5 }),
  gaps: fc.constantFrom(0, 0.3, 0.95),
  seed: fc.integer(),
  offset: fc.integer({ min: 251, max: 6500 }),
  limit: fc.integer({ min: 1, max: 120 }),
  total: fc.boolean()
})

t.test('a deep page is a slice of all rows in order, however they are spread', async () => {
  await fc.assert(
    fc.asyncProperty(anySite, async ({ kind, n, k, gaps, seed, offset, limit, total }) => {
      const collections = spread(kind, n, k, generator(seed), gaps)
      const all = collections.flat().sort((a, b) => b - a)
      const { listed, requests } = site({ collections })
      const found = await listed(offset, limit, { total })
      assert.deepEqual(found.rows, all.slice(offset, offset + limit))
      assert.equal(found.hasMore, all.length > offset + limit)
      if (total || !found.hasMore) assert.equal(found.total, all.length)
      const lazily = Math.ceil(Math.min(all.length, offset + limit) / PAGE_MAX) + k
      if (!total) {
        assert.ok(
          requests() <= Math.min(12 * k, lazily) + 8 * k + Math.ceil(limit / PAGE_MAX),
          `${requests()} requests; ${lazily} when read lazily`
        )
      }
    }),
    { numRuns: 400 }
  )
})

t.test('hidden rows anywhere leave a deep page what it was, be they seen on the way or not', async () => {
  const hidden = fc.record({ share: fc.constantFrom(0.0002, 0.001, 0.02, 0.5), strictness: fc.constantFrom(0, 0, 0.001, 1) })
  await fc.assert(
    fc.asyncProperty(anySite, hidden, async ({ kind, n, k, gaps, seed, offset, limit, total }, { share, strictness }) => {
      const random = generator(seed)
      const collections = spread(kind, n, k, random, gaps)
      const all = collections.flat().sort((a, b) => b - a)
      const hiddenIds = new Set(all.filter(() => random() < share))
      const unfilterable = new Set(all.filter(() => random() < strictness))
      const visible = all.filter((id) => !hiddenIds.has(id))
      const { listed } = site({ collections, isVisible: (id) => !hiddenIds.has(id), passesFilter: (id) => !unfilterable.has(id) })
      const found = await listed(offset, limit, { total })
      assert.deepEqual(found.rows, visible.slice(offset, offset + limit))
      assert.equal(found.hasMore, visible.length > offset + limit)
      assert.ok(found.total === visible.length || (!total && found.total === null))
    }),
    { numRuns: 400 }
  )
})

t.test('offset 10 000 takes two bundles a dozen requests, and not many more where rows are spread badly', async (t) => {
  const most = { even: 10, random: 14, skewed: 14, one_after_the_other: 20, blocks: 20, drifting: 20 }
  for (const kind of Object.keys(spreads) as Array<keyof typeof spreads>) {
    const { listed, requests } = site({ collections: spread(kind, 40_000, 2, generator(1)) })
    await listed(10_000, 20)
    t.ok(requests() <= most[kind], `${kind}: ${requests()}`)
  }
})

t.test('an offset that is not deep is read lazily', async (t) => {
  const { listed, requests } = site({ collections: spread('even', 4000, 2, generator(1)) })
  await listed(480, 20)
  t.equal(requests(), 11)
})

t.test('while rows come and go a deep page is a slice of what there was at some time, or after it', async (t) => {
  let restarts = 0
  await fc.assert(
    fc.asyncProperty(anySite, fc.integer({ min: 1, max: 20 }), fc.boolean(), async ({ kind, k, seed, limit }, when, comes) => {
      const random = generator(seed)
      const collections = spread(kind, 4000, k, random)
      const states = [collections.flat().sort((a, b) => b - a)]
      const { listed, requests } = site({
        collections,
        beforeRequest(count) {
          if (count !== when) return
          const rows = collections[Math.floor(random() * k)]!
          if (comes) rows.unshift(4001)
          else rows.splice(Math.floor(random() * Math.min(rows.length, 1000)), 1)
          states.push(collections.flat().sort((a, b) => b - a))
        }
      })
      const { rows } = await listed(1500, limit)
      assert.ok(
        states.some((state) => String(state.slice(1500, 1500 + limit)) === String(rows)),
        `${when} of ${requests()}`
      )
      if (requests() > 25 * k) restarts++
    }),
    { numRuns: 400, seed: 20261121 }
  )
  t.ok(restarts > 0, `${restarts} lists were started again`)
})

t.test('pages that contradict each other end in the lazy merge', async (t) => {
  let requests = 0
  const never: Source<number> = async (offset, limit) => {
    requests++
    return { rows: Array.from({ length: limit }, (_, index) => 1_000_000 - offset - index - requests * 7), more: true }
  }
  const found = await list({
    sources: [never, never],
    offset: 1000,
    limit: 5,
    total: false,
    ...NEWEST,
    nothingHidden: async () => true
  })
  t.equal(found.rows.length, 5)
  t.ok(requests < 200, `${requests}`)
})

for (const [name, content] of [
  ['two bundles', newspaper],
  ['one bundle', singleBundleNewspaper]
] as const) {
  t.test(`deep pages of a whole site, with ${name}`, async (t) => {
    const big = enlarged(content(), 900)
    const all = editionsOf(big)
    const published = all.filter(({ published }) => published)
    const { call } = await open(t, { content: big })
    const page = async (query: string, as?: string) => {
      const { body, upstream } = await call('GET', `/api/collections/publisher_container?limit=20&${query}`, as === undefined ? {} : { as })
      return { ids: body.data.map((row: any) => row.id[0].value), requests: upstream.length }
    }
    const ids = (rows: typeof all, offset: number) => rows.slice(offset, offset + 20).map(({ id }) => id)
    await page('', 'editor')

    for (const offset of [600, 940, 5000]) {
      for (const as of ['editor', 'admin']) {
        const { ids: found, requests } = await page(`offset=${offset}`, as)
        t.strictSame(found, ids(all, offset), `${as}, offset ${offset}`)
        t.ok(requests <= 20, `${as}, offset ${offset}: ${requests} requests`)
      }
      for (const as of ['reader', undefined]) {
        t.strictSame(
          (await page(`offset=${offset}`, as)).ids,
          ids(published, offset),
          `${as}, offset ${offset}, from whom unpublished ones are hidden`
        )
      }
      t.strictSame((await page(`offset=${offset}&status=1`, 'editor')).ids, ids(published, offset), `filtered, offset ${offset}`)
    }
  })
}

t.test('whether there is more than a page is looked up without the fields of what is not shown', async (t) => {
  const { call } = await open(t, { content: enlarged(newspaper(), 60) })
  await call('GET', '/api/collections/daily', { as: 'editor' })
  const { body, upstream } = await call('GET', '/api/collections/daily?limit=50', { as: 'editor' })
  t.equal(body.data.length, 50)
  t.equal(body.meta.hasMore, true)
  t.strictSame(
    upstream.map((line) => line.includes('fields[publisher_container--daily]')),
    [false, true]
  )
})

t.test('without filter access, and where there are translations, deep pages are read lazily', async (t) => {
  const big = enlarged(newspaper(), 900)
  const translated = {
    ...big,
    entities: big.entities.map((seed) =>
      seed.fields?.field_key === 'extra-61' ? { ...seed, fields: { ...seed.fields, default_langcode: false } } : seed
    )
  }
  for (const [what, options] of [
    ['no filter access', { content: big, filterAccess: false }],
    ['translations', { content: translated }]
  ] as const) {
    const { call } = await open(t, options)
    for (const time of ['first', 'second']) {
      const { body, upstream } = await call('GET', '/api/collections/publisher_container?limit=20&offset=700', { as: 'editor' })
      t.strictSame(
        body.data.map((row: any) => row.id[0].value),
        editionsOf(big)
          .slice(700, 720)
          .map(({ id }) => id),
        `${what}, the ${time} time`
      )
      t.ok(upstream.filter((line) => !line.includes('filter')).length > 14, what)
    }
  }
})

t.test('that nothing is hidden is believed only where Drupal says so', async (t) => {
  const row = (id: number) => ({ type: 'x', id: 'u', attributes: { drupal_internal__id: id } })
  const none = { status: 200, document: { data: [] } }
  const cases: Array<[what: string, filtered: JsonapiAnswer, translated: JsonapiAnswer, believed: boolean]> = [
    ['the row at its place, no translation', { status: 200, document: { data: [row(7)] } }, none, true],
    [
      'the row at its place, no such field as default_langcode',
      { status: 200, document: { data: [row(7)] } },
      { status: 400, document: { errors: [] } },
      true
    ],
    ['another row', { status: 200, document: { data: [row(6)] } }, none, false],
    ['no row', none, none, false],
    ['a translation', { status: 200, document: { data: [row(7)] } }, { status: 200, document: { data: [row(3)] } }, false],
    [
      'a hidden translation',
      { status: 200, document: { data: [row(7)] } },
      { status: 200, document: { data: [], meta: { omitted: {} } } },
      false
    ],
    ['translations may not be asked for', { status: 200, document: { data: [row(7)] } }, { status: 403, document: { errors: [] } }, false]
  ]
  const collection = {
    resourceType: 'publisher_container--daily',
    entityType: 'publisher_container',
    bundle: 'daily',
    path: '/publisher_container/daily'
  }
  for (const [what, filtered, translated, believed] of cases) {
    const cms = {
      request: async ({ query = [] }: JsonapiRequest) =>
        [...query].some(([, value]) => value === 'default_langcode') ? translated : filtered
    }
    t.equal(await isAllVisible({ cms, model }, collection, 100, 7, newCaller()), believed, what)
  }
  const refuses = { request: async () => ({ status: 403, document: { errors: [{ detail: 'no' }] } }) }
  await t.rejects(isAllVisible({ cms: refuses, model }, collection, 100, 7, newCaller()), { code: 'CMS_FORBIDDEN' })
})
