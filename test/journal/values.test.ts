import t from 'tap'
import { boundFields, ENTRY_MAX, pack, unpack, VALUE_MAX } from '#lib/saves/journal-values.ts'

const text = (length: number) => [{ value: 'x'.repeat(length) }]

t.test('a value that is too large is left out, and so named', async (t) => {
  const fields = boundFields({
    title: { before: text(3), after: [] },
    body: { before: text(VALUE_MAX), after: text(3) },
    made: { before: undefined, after: text(1) }
  })
  t.strictSame(fields, {
    fields: { title: { before: text(3), after: [] }, body: { after: text(3), leftOut: ['before'] }, made: { after: text(1) } }
  })
  t.strictSame(boundFields({ body: { before: text(VALUE_MAX), after: text(VALUE_MAX) } }), {
    fields: { body: { leftOut: ['before', 'after'] } }
  })
})

t.test('an entry is bounded as a whole, whatever its fields are called', async (t) => {
  const half = VALUE_MAX - 100
  const { fields, more } = boundFields({ a: { before: text(half), after: text(half) }, b: { before: text(half), after: text(9) } })
  t.strictSame([Object.keys(fields), fields['b'], more], [['a', 'b'], { leftOut: ['before'], after: text(9) }, undefined])
  const many = boundFields(Object.fromEntries(Array.from({ length: 2000 }, (_, index) => [`${index}`.padStart(200, 'f'), { after: [] }])))
  t.ok(many.more! > 1000 && Object.keys(many.fields).length + many.more! === 2000)
  t.ok(JSON.stringify(many).length < 2 * ENTRY_MAX)
})

t.test('fields are kept small and come back as they were', async (t) => {
  const order = (count: number) =>
    Array.from({ length: count }, (_, index) => ({ target_id: index, target_type: 'node', target_uuid: crypto.randomUUID() }))
  const before = order(60)
  const fields = { fields: { field_articles: { before, after: before.toSpliced(30, 1) } } }
  const kept = await pack(fields)
  t.ok(kept.length < 3500, `${JSON.stringify(fields).length} bytes of JSON are ${kept.length}`)
  t.strictSame(await unpack(kept), fields)
  const short = { fields: { title: { before: text(3), after: [] } } }
  t.equal(await pack(short), JSON.stringify(short), 'short fields are kept as they are')
  t.strictSame(await unpack(await pack(short)), short)
  t.strictSame(await unpack('no such thing'), { fields: {} })
  t.strictSame(await unpack('{'), { fields: {} })
  const random = {
    fields: {
      body: { after: [{ value: Array.from(crypto.getRandomValues(new Uint8Array(VALUE_MAX / 4)), (byte) => byte.toString(36)).join('') }] }
    }
  }
  t.ok((await pack(random)).length < 2 * ENTRY_MAX)
})
