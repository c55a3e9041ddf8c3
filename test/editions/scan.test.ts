import assert from 'node:assert/strict'
import t from 'tap'
import { findById } from '#lib/editions/lookup/find-by-id.ts'
import { matchesSelection } from '#lib/editions/list/selection.ts'
import fc from '../fixtures/property.ts'
import { runs } from '../scope.ts'
import { model } from './fixtures.ts'

t.test('a row is found by its id in a few pages, whatever ids are missing and rows hidden', async () => {
  const collection = fc.record({
    ids: fc.uniqueArray(fc.integer({ min: 1, max: 20_000 }), { maxLength: 3000 }),
    step: fc.constantFrom(0, 2, 7),
    pick: fc.nat()
  })
  await fc.assert(
    fc.asyncProperty(collection, async ({ ids, step, pick }) => {
      const rows = ids.toSorted((a, b) => b - a)
      const hidden = (id: number) => step > 0 && id % step === 0
      let requests = 0
      const page = async (offset: number) => {
        requests++
        return { rows: rows.slice(offset, offset + 50).filter((id) => !hidden(id)), more: rows.length > offset + 50 }
      }
      const id = pick % 2 === 0 && rows.length > 0 ? rows[pick % rows.length]! : pick % 25_000
      assert.equal(await findById(id, page, (row) => row), rows.includes(id) && !hidden(id) ? id : undefined)
      assert.ok(requests <= 16, `${requests} requests for ${rows.length} rows`)
    }),
    { numRuns: runs(300) }
  )
})

t.test('a long run of hidden rows is walked over', async (t) => {
  const rows = Array.from({ length: 1000 }, (_, index) => 1000 - index)
  const page = async (offset: number) => ({
    rows: rows.slice(offset, offset + 50).filter((id) => id > 900 || id < 100),
    more: rows.length > offset + 50
  })
  for (const id of [1000, 901, 99, 1]) t.equal(await findById(id, page, (row) => row), id)
  for (const id of [1001, 900, 500, 100, 0]) t.equal(await findById(id, page, (row) => row), undefined)
})

t.test('what is selected here is what a filter selects', async (t) => {
  const attributes = { title: 'Straße "100 %" & more', status: true, field_publisher_edition_type: 'daily', field_key: 'k-1' }
  const is = (selection: Parameters<typeof matchesSelection>[0]) => matchesSelection(selection, { attributes }, model)
  t.ok(is({}))
  t.ok(is({ q: '' }))
  t.ok(is({ q: 'STRASSE' }) === false && is({ q: 'straße' }) && is({ q: '"100 %" &' }))
  t.ok(is({ q: 'k-1' }) && !is({ q: 'K-1' }) && !is({ q: 'k-' }), 'a key is found whole')
  t.ok(is({ status: 1 }) && !is({ status: 0 }))
  t.ok(is({ types: ['daily'] }) && !is({ types: ['daily', 'special'] }))
  t.ok(is({ key: 'k-1' }) && !is({ key: 'K-1' }))
  t.ok(matchesSelection({ key: '32' }, { attributes: { field_key: 32 } }, model), 'a key that is a number')
  t.notOk(matchesSelection({ key: 'k-1' }, {}, model))
  t.notOk(matchesSelection({ q: 'x' }, {}, model), 'a title that may not be seen contains nothing')
  t.ok(matchesSelection({ types: ['daily'] }, {}, { ...model, fields: { ...model.fields, editionType: null } }))
})

t.test('a database that ignores case in keys, or accents, finds no more than one that does not', async (t) => {
  const finds = (q: string, title: string, key: unknown) => matchesSelection({ q }, { attributes: { title, field_key: key } }, model)
  t.ok(finds('k-1', 'T', 'k-1'))
  t.notOk(finds('k-1', 'T', 'K-1') || finds('uber', 'Über', 'x') || finds('strasse', 'Straße', 'x'))
  t.ok(finds('k-1', 'All of K-1', 'K-1'), 'by its title too')
  t.ok(finds('ÜBER', 'Es geht über alles', 'x'), 'in any case')
})
