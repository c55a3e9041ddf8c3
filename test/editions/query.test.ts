import assert from 'node:assert/strict'
import t from 'tap'
import { LIST_ORDERS } from '#lib/editions/translate/order.ts'
import { filterQuery, idQuery, pageQuery } from '#lib/editions/translate/query.ts'
import fc from '../fixtures/property.ts'
import { runs } from '../scope.ts'
import { model } from './fixtures.ts'

/** Reads a query string as PHP does: brackets make nested arrays. */
function parse(encoded: string): any {
  const root: any = {}
  for (const [name, value] of new URLSearchParams(encoded)) {
    const path = [
      name.slice(0, name.includes('[') ? name.indexOf('[') : undefined),
      ...[...name.matchAll(/\[([^\]]*)\]/g)].map(([, key]) => key!)
    ]
    const last = path.pop()!
    let place = root
    for (const key of path) place = place[key] ??= {}
    place[last] = value
  }
  return root
}

/** As SQLite compares. */
const fold = (text: string) => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase())

const encode = (query: Array<[string, string]>) => new URLSearchParams(query).toString()

t.test('a filter says what was meant, whatever the text, and stays short (property 14)', async (t) => {
  const q = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 255 })
  const selection = fc.record(
    {
      q: fc.oneof(q, fc.constantFrom('%', '_', '\\', '[]', '&a=b', '+', '#', '\'"', 'ü%26', '日本')),
      status: fc.constantFrom(0 as const, 1 as const),
      types: fc.array(q, { maxLength: 2 }),
      key: q
    },
    { requiredKeys: [] }
  )
  fc.assert(
    fc.property(selection, (selection) => {
      for (const byKey of [true, false]) {
        const { filter: { either, ...filter } = {} } = parse(encode(filterQuery(selection, model, byKey)))
        const all = Object.values<any>(filter).map(({ condition }) => [
          condition.path,
          condition.operator,
          condition.value,
          condition.memberOf
        ])
        const [titles, conditions] = [
          all.filter(([, operator]) => operator === 'CONTAINS'),
          all.filter(([, operator]) => operator !== 'CONTAINS')
        ]
        for (const title of selection.q ? [selection.q, selection.q.toLowerCase(), selection.q.toUpperCase()] : []) {
          assert.ok(
            titles.some(([path, , value, group]) => path === 'title' && fold(title).includes(fold(value)) && group === 'either'),
            `${title} is found by ${titles}`
          )
        }
        assert.ok(!/^[ -~]+$/.test(selection.q ?? '') || titles[0]![2] === selection.q, 'a text of ASCII is looked for as it is')
        assert.deepEqual(conditions, [
          ...(selection.q && byKey ? [['field_key', '=', selection.q, 'either']] : []),
          ...(selection.status === undefined ? [] : [['status', '=', String(selection.status), undefined]]),
          ...(selection.types ?? []).map((type) => ['field_publisher_edition_type', '=', type, undefined]),
          ...(selection.key === undefined ? [] : [['field_key', '=', selection.key, undefined]])
        ])
        assert.deepEqual(
          either,
          selection.q ? { group: { conjunction: 'OR' } } : undefined,
          'a group is there where it is named, and nowhere else'
        )
      }
    }),
    { numRuns: runs(200) }
  )
  for (const letter of ['日', 'ж', 'ა']) {
    const longest = filterQuery({ q: letter.repeat(255), status: 1, types: ['special'], key: 'daily-2026-01-01' }, model)
    t.ok(encode(longest).length < 8000, `${encode(longest).length} characters at the longest text`)
  }
})

t.test('fifty ids fit into one request', async (t) => {
  const ids = Array.from({ length: 50 }, (_, index) => String(10_000_000 + index))
  const encoded = encode(idQuery('drupal_internal__nid', ids))
  t.ok(encoded.length < 8000)
  t.strictSame(Object.values(parse(encoded).filter.ids.condition.value), ids)
  t.equal(parse(encoded).filter.ids.condition.operator, 'IN')
})

t.test('every page ends its order with the unique id', async (t) => {
  const page = { offset: '100', limit: '50' }
  t.strictSame(parse(encode(pageQuery(100, 50, model))), { sort: '-drupal_internal__id', page })
  const renamed = { ...model, keys: { ...model.keys, id: 'iid', changed: 'modified' } }
  const sorts = Object.values(LIST_ORDERS).map((order) => parse(encode(pageQuery(100, 50, renamed, order))).sort)
  t.strictSame(sorts, ['-drupal_internal__iid', 'drupal_internal__iid', '-modified,-drupal_internal__iid', 'modified,drupal_internal__iid'])
})

t.test('where no field tells the edition type there is nothing to filter by', async (t) => {
  t.strictSame(filterQuery({ types: ['daily'] }, { ...model, fields: { ...model.fields, editionType: null } }), [])
  t.strictSame(filterQuery({ q: '' }, model), [], 'every title contains nothing')
})
