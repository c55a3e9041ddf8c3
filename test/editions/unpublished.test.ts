import t from 'tap'
import { HIDDEN_PAGES, pagesOfUnpublished, unpublishedContext } from '#lib/editions/list/unpublished.ts'
import type { Resource } from '#lib/drupal/document.ts'
import { LIST_ORDERS, type Sort } from '#lib/editions/translate/order.ts'
import { contentModel } from '#lib/editions/model.ts'
import { fakeTime } from '../fixtures/time.ts'
import { newCaller } from '#lib/http/calls.ts'

const collection = {
  resourceType: 'publisher_container--daily',
  entityType: 'publisher_container',
  bundle: 'daily',
  path: '/publisher_container/daily'
}

/** An id, positive where its row shows itself as published; 0 for a row that is hidden. */
type Row = number

const resourceOf = (id: Row): Resource =>
  Number.isNaN(id)
    ? { type: 'publisher_container--daily', id: 'x' }
    : { type: 'publisher_container--daily', id: String(id), attributes: { drupal_internal__id: Math.abs(id), status: id > 0 } }

const PATHS: Record<Sort, string> = {
  '-id': 'status,-drupal_internal__id',
  id: 'status,drupal_internal__id',
  '-changed': 'status,-changed,-drupal_internal__id',
  changed: 'status,changed,drupal_internal__id'
}

/** Reads all pages of a collection that Drupal has sorted. */
function open(rows: Row[]) {
  const clock = { now: 0 }
  const warnings: string[] = []
  let asked = 0
  const context = unpublishedContext({
    model: contentModel({}),
    warn: (message) => {
      warnings.push(message)
    },
    time: fakeTime({ monotonic: () => clock.now })
  })
  async function read(isCertain = false, sort?: Sort) {
    asked = 0
    const page = pagesOfUnpublished(context, {
      collection,
      caller: newCaller(),
      resourceOf,
      isCertain,
      ...(sort && { order: LIST_ORDERS[sort] }),
      read: async (query) => {
        asked++
        const { sort: paths, 'page[offset]': offset, 'page[limit]': limit } = Object.fromEntries(query)
        t.equal(paths, PATHS[sort ?? '-id'])
        const end = Number(offset) + Number(limit)
        return { rows: rows.slice(Number(offset), end).filter((id) => id !== 0), more: end < rows.length, count: 7 }
      }
    })
    const found: Row[] = []
    for (let offset = 0; ; offset += 50) {
      const { rows, more, count } = await page(offset, 50, 'rows')
      t.equal(count, undefined, 'the count of the CMS is that of all')
      found.push(...rows)
      if (!more) return { found, asked }
    }
  }
  return { read, clock, warnings }
}

const down = (from: number, count: number, sign = 1) => Array.from({ length: count }, (_, index) => sign * (from - index))
const hidden = (count: number) => Array.from({ length: count }, () => 0)

t.test('what is not published is read up to where it ends', async (t) => {
  const cases: Array<[what: string, rows: Row[], found: Row[], asked: number]> = [
    ['nothing', [], [], 1],
    ['published alone', down(500, 200), [], 1],
    ['some, then the ids begin anew', [-90, -80, ...down(500, 200)], [-90, -80], 1],
    ['they are the newest', [-900, -800, ...down(500, 200)], [-900, -800], 2],
    ['several pages', [...down(900, 70, -1), ...down(999, 200)], down(900, 70, -1), 2],
    ['a page ends with the last', [...down(900, 50, -1), ...down(999, 200)], down(900, 50, -1), 2],
    ['translations show themselves as published among them', [-900, 800, -700, 600, -500, ...down(999, 100)], [-900, -700, -500], 1],
    ['some are hidden', [...hidden(60), -90, ...hidden(60), -80, ...down(500, 200)], [-90, -80], 3]
  ]
  for (const [what, rows, found, asked] of cases) t.strictSame(await open(rows).read(), { found, asked }, what)
  t.equal((await open([-90, NaN, -70]).read()).found.length, 3, 'a label alone may be of one')
})

t.test('where none is shown that is remembered for ten minutes, but for the newest', async (t) => {
  const rows = [...hidden(120), ...down(500, 200)]
  const { read, clock, warnings } = open(rows)
  t.equal((await read()).asked, 3)
  t.equal((await read()).asked, 1)
  rows[3] = -700
  t.strictSame(await read(), { found: [-700], asked: 3 })
  rows[3] = 0
  t.equal((await read(true)).asked, 3, 'unless it has to be certain')
  clock.now = 10 * 60_000
  t.equal((await read()).asked, 3)
  t.strictSame(warnings, [])
})

t.test('beyond a thousand hidden ones Quoin takes it that none is shown, says so, and looks on where it has to be certain', async (t) => {
  const { read, clock, warnings } = open([...hidden(50 * HIDDEN_PAGES), -90, ...down(500, 200)])
  t.strictSame(await read(), { found: [], asked: HIDDEN_PAGES })
  t.strictSame(await read(), { found: [], asked: 1 })
  t.strictSame(await read(true), { found: [-90], asked: HIDDEN_PAGES + 1 })
  clock.now = 10 * 60_000
  t.equal((await read()).asked, HIDDEN_PAGES)
  t.strictSame(warnings, [
    'Drupal showed some users none of the newest 1000 publisher_container entities that are not published. Quoin takes it that it shows them none in lists that are searched'
  ])
})

t.test('it is read in other orders too', async (t) => {
  const up = (from: number, count: number) => Array.from({ length: count }, (_, index) => from + index)
  const cases: Array<[what: string, sort: Sort, rows: Row[], found: Row[], asked: number]> = [
    ['ascending ids begin anew', 'id', [-80, -90, ...up(5, 200)], [-80, -90], 1],
    ['they are the oldest', 'id', [-1, -2, ...up(5, 200)], [-1, -2], 2],
    ['several pages', 'id', [...up(-969, 70).map((id) => -1900 - id), ...up(1, 200)], up(-969, 70).map((id) => -1900 - id), 2],
    ['ids tell nothing of changes', '-changed', [-70, -90, -80, ...up(5, 200)], [-70, -90, -80], 2],
    ['translations among them', 'changed', [-70, 60, -90, ...up(5, 200)], [-70, -90], 2]
  ]
  for (const [what, sort, rows, found, asked] of cases) t.strictSame(await open(rows).read(false, sort), { found, asked }, what)
})

t.test('that none is shown at the start of one order says nothing of another', async (t) => {
  const { read, warnings } = open([...hidden(50 * HIDDEN_PAGES), -90, 20, 30, ...Array.from({ length: 200 }, (_, index) => 40 + index)])
  t.equal((await read()).asked, HIDDEN_PAGES)
  t.equal((await read(false, '-changed')).asked, HIDDEN_PAGES)
  t.equal((await read(false, '-changed')).asked, 1)
  t.strictSame(await read(false, 'id'), { found: [-90], asked: HIDDEN_PAGES + 1 }, 'what is new comes last')
  t.strictSame(await read(false, 'changed'), { found: [-90], asked: HIDDEN_PAGES + 2 })
  t.strictSame(
    warnings.map((warning) => /none of the (.*) 1000/.exec(warning)?.[1]),
    ['newest', 'last changed']
  )
})
