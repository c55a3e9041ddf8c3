import t from 'tap'
import { createDocuments } from '#lib/drupal/documents.ts'

const bodyOf = (document: object) => Buffer.from(JSON.stringify(document))

t.test('what comes again and again under one key is one document, from the second time on', (t) => {
  const documents = createDocuments()
  const [monday, tuesday] = [{ data: [{ type: 'a', id: 'monday' }] }, { data: [{ type: 'a', id: 'tuesday' }] }]
  const read = (document: object, key = 'a') => documents.read(key, bodyOf(document))
  const first = read(monday)
  t.strictSame(first, monday)
  const second = read(monday)
  t.not(second, first, 'what came once was not kept')
  t.strictSame([second, read(monday) === second, read(monday) === second], [monday, true, true])
  t.not(read(monday, 'b'), second, 'who else asks has his own')

  t.strictSame(read(tuesday), tuesday)
  t.strictSame(read(monday), monday)
  const again = read(monday)
  t.not(again, second, 'the last one alone is remembered')
  t.equal(read(monday), again)
  t.not(documents.read('a', Buffer.from(`${JSON.stringify(monday)}\n`)), again, 'every byte counts')
  t.end()
})

t.test('what is remembered does not hang on the memory that an answer came in', (t) => {
  const documents = createDocuments()
  const received = Buffer.alloc(100)
  const read = (id: string) => documents.read('a', received.subarray(0, bodyOf({ data: { type: 'a', id } }).copy(received)))
  read('monday')
  read('monday')
  t.match(read('friday'), { data: { id: 'friday' } })
  t.end()
})

t.test('what is no document is not remembered, and ends no memory', (t) => {
  const documents = createDocuments()
  const read = () => documents.read('a', bodyOf({ data: null }))
  read()
  const known = read()
  for (const body of ['', '<html>', '[]', '{"data":5}', '{"data":null']) {
    for (let time = 0; time < 3; time++) t.equal(documents.read('a', Buffer.from(body)), undefined, body)
  }
  t.equal(read(), known)
  t.strictSame(documents.read('b', Buffer.from('\uFEFF{"data":null}')), { data: null }, 'a byte order mark is passed over')
  t.end()
})

t.test('of more than 16 MiB those are forgotten that were asked for longest ago', (t) => {
  const documents = createDocuments()
  const large = bodyOf({ data: null, meta: { text: 'x'.repeat(5 * 1024 * 1024) } })
  const twice = (key: string, body = large) => [documents.read(key, body), documents.read(key, body)][1]
  const [a, b, c] = [twice('a'), twice('b'), twice('c')]
  t.strictSame([documents.read('a', large) === a, documents.read('c', large) === c], [true, true])
  twice('d')
  t.equal(documents.read('a', large), a)
  t.not(documents.read('b', large), b)
  const huge = bodyOf({ data: null, meta: { text: 'x'.repeat(17 * 1024 * 1024) } })
  t.not(twice('e', huge), documents.read('e', huge), 'what is larger than all of it is not remembered')
  t.equal(documents.read('a', large), a)

  const short = bodyOf({ data: null })
  const all = Array.from({ length: 20_000 }, (_, index) => twice(`${index}`, short))
  t.not(documents.read('0', short), all[0], 'a short one takes a KiB')
  t.equal(documents.read('19999', short), all[19_999])
  t.end()
})
