import t from 'tap'
import { createDocuments } from '../../lib/jsonapi/documents.ts'

const bodyOf = (document: object) => Buffer.from(JSON.stringify(document))

t.test('the same bytes under the same key are the same document, others another', (t) => {
  const documents = createDocuments()
  const [monday, tuesday] = [{ data: [{ type: 'a', id: 'monday' }] }, { data: [{ type: 'a', id: 'tuesday' }] }]
  const first = documents.read('a', bodyOf(monday))
  t.strictSame(first, monday)
  t.equal(documents.read('a', bodyOf(monday)), first)
  t.not(documents.read('b', bodyOf(monday)), first, 'who else asks has his own')
  t.strictSame(documents.read('a', bodyOf(tuesday)), tuesday)
  const again = documents.read('a', bodyOf(monday))
  t.strictSame(again, monday)
  t.not(again, first, 'the last one alone is remembered')
  t.not(documents.read('a', Buffer.from(`${JSON.stringify(monday)}\n`)), again, 'every byte counts')
  t.end()
})

t.test('what is no document is not remembered, and ends no memory', (t) => {
  const documents = createDocuments()
  const first = documents.read('a', bodyOf({ data: null }))
  for (const body of ['', '<html>', '[]', '{"data":5}', '{"data":null']) t.equal(documents.read('a', Buffer.from(body)), undefined, body)
  t.equal(documents.read('a', bodyOf({ data: null })), first)
  t.strictSame(documents.read('b', Buffer.from('\uFEFF{"data":null}')), { data: null }, 'a byte order mark is passed over')
  t.end()
})

t.test('of more than 16 MiB those are forgotten that were asked for longest ago', (t) => {
  const documents = createDocuments()
  const body = bodyOf({ data: null, meta: { text: 'x'.repeat(5 * 1024 * 1024) } })
  const read = (key: string) => documents.read(key, body)
  const [a, b, c] = [read('a'), read('b'), read('c')]
  t.strictSame([read('a'), read('c')].map((document, index) => document === [a, c][index]), [true, true])
  read('d')
  t.equal(read('a'), a)
  t.not(read('b'), b)
  const huge = bodyOf({ data: null, meta: { text: 'x'.repeat(17 * 1024 * 1024) } })
  t.not(documents.read('e', huge), documents.read('e', huge), 'what is larger than all of it is not remembered')
  t.equal(read('a'), a)

  const small = Array.from({ length: 20_000 }, (_, index) => documents.read(`${index}`, bodyOf({ data: null })))
  t.not(documents.read('0', bodyOf({ data: null })), small[0], 'a short one takes a KiB')
  t.equal(documents.read('19999', bodyOf({ data: null })), small[19_999])
  t.end()
})
