import t from 'tap'
import { documentIn, resources, weightOf, type Document } from '#lib/drupal/document.ts'
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

const row = (id: string, title = id) => ({
  type: 'node--article',
  id: id.repeat(36),
  links: { self: { href: `https://cms.example/jsonapi/node/article/${id.repeat(36)}?resourceVersion=id%3A1` } },
  attributes: { title }
})
const page = (...rows: object[]) => ({ jsonapi: { version: '1.0' }, data: rows, links: { self: { href: '/' } } })

t.test('of a page that has changed, the rows that have not are the same objects, from the second time on', (t) => {
  const documents = createDocuments()
  const read = (...rows: object[]) => {
    const document = documents.read('a', bodyOf(page(...rows)))!
    t.strictSame(document, page(...rows))
    return resources(document)
  }
  const [a, b, c, d] = [row('a'), row('b'), row('c'), row('d')]
  read(a, b, c)
  const second = read(a, b, row('c', 'changed'))
  const third = read(a, row('b', 'changed'), c)
  t.equal(third[0], second[0])
  t.not(third[1], second[1])
  t.equal(read(d, a)[1], second[0], 'wherever it stands')
  t.not(documents.read('b', bodyOf(page(a)))!.data, second[0], 'who else asks has his own')

  const single = (text: string) => documents.read('c', Buffer.from(JSON.stringify({ data: a }) + text))!.data
  const [, again] = [single(''), single(' ')]
  t.equal(single('\n'), again, 'a single one too')
  t.end()
})

t.test('links of relationships are left out, and no others', (t) => {
  const links = { self: { href: '/"[{' } }
  const resource = (relationship: object, attribute = {}) => ({
    type: 'a',
    id: 'a',
    links,
    attributes: { map: { links, field: { links } }, ...attribute },
    relationships: { field: relationship }
  })
  const data = [{ type: 'b', id: 'b', meta: { links, x: { y: 1, links } } }]
  const read = (one: object) => resources(createDocuments().read('a', bodyOf(page(one)))!)
  t.strictSame(read(resource({ data, links, lines: links, meta: { links } })), [resource({ data, lines: links, meta: { links } })])
  t.strictSame(read(resource({ links, data })), [resource({ links, data })], 'where they come first they stay')
  t.strictSame(read(resource({ data, links: [] })), [resource({ data })])
  t.strictSame(read(resource({ data, links: null })), [resource({ data, links: null })])
  t.end()
})

t.test('what is written in another way than Drupal writes it is read as a whole, with the same result', (t) => {
  const a = JSON.stringify(row('a'))
  const bodies = [
    `{"data":[]}`,
    `{"data":[ ${a}]}`,
    `{"data":[${a} ,${a}]}`,
    `{"data":[${a},]}`,
    `{"data":[${a}`,
    `{"data":[${a.slice(0, -1)}`,
    `{"data":[${a}]`,
    `{"data":[${a}]}}`,
    `{"data":[${a},5]}`,
    `{"data":[{"type":1,"id":"a"}]}`,
    `{"data":[{"type":"a","id":"a"]]}`,
    `{"data":{"type":"a",,"id":"a"}}`,
    `{"data":${a}}`,
    `{"data":${a},"errors":5}`,
    `{"data":0.5}`,
    `{"meta":{"data":[${a}]}}`,
    `{"meta":{"data":[${a}]},"data":[]}`,
    `{"meta":{"data":${a}},"data":${a}}`,
    `{"x\\"data":[${a}],"data":[${a}]}`,
    `{"data":[${a}],"data":[]}`,
    `[{"data":[${a}]}]`,
    `\uFEFF{"data":[${a}]}`,
    `{"data":[${Array(101).fill(a).join()}]}`,
    `{"data":[${JSON.stringify(row('a', '\u00e9€\ud83d\ude00'))}]}`,
    `{"data":[${JSON.stringify(row('a', 'x'.repeat(100_000)))},${a}]}`
  ]
  for (const text of bodies) {
    const documents = createDocuments()
    const body = Buffer.from(text)
    const read = (): Document | undefined => documents.read('a', body)
    const whole = documentIn(body)
    t.strictSame([read(), read(), read()], [whole, whole, whole], text.slice(0, 100))
  }
  t.equal(createDocuments().read('a', Buffer.from(`{"data":[{"type":"a","id":"\xff"}]}`, 'latin1')), undefined, 'no UTF-8')
  t.end()
})

t.test('a page of rows has the limits of any answer', (t) => {
  const read = (...rows: object[]) => createDocuments().read('a', bodyOf(page(...rows)))!
  const wide = (from: number) => ({
    ...row('a'),
    attributes: Object.fromEntries(Array.from({ length: 6000 }, (_, index) => [`f${from + index}`, 0]))
  })
  t.throws(() => read(wide(0), wide(6000)), { code: 'CMS_INVALID_RESPONSE', message: /10000 names/ })
  t.strictSame(read(wide(0), wide(0)), page(wide(0), wide(0)), 'each name counts once')
  const deep = Buffer.from(`{"data":[{"type":"a","id":"a","attributes":${'{"a":'.repeat(500)}1${'}'.repeat(500)}}]}`)
  t.throws(() => createDocuments().read('a', deep), { code: 'CMS_INVALID_RESPONSE', message: /500 levels/ })

  const many = page({ ...row('a'), attributes: { list: Array(1000).fill([]) } }, row('b'))
  t.ok(weightOf(read(...many.data)) >= weightOf(documentIn(bodyOf(many))!), 'short values weigh more than their bytes')
  t.end()
})
