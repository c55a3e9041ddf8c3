import t from 'tap'
import fc from '../../../test/fixtures/property.ts'
import { fittingRows, overviewOf, pathTo, portionOf, shortened, sizeOf, sizeUpTo, valueAt, type Rest } from '../server/answer-size.ts'

const jsonSize = (value: unknown) => Buffer.byteLength(JSON.stringify(value))

const text = fc.string({ unit: 'binary', maxLength: 300 })
const values = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    text,
    fc.constantFrom(null, true, 1.5, -3),
    fc.array(tie('value'), { maxLength: 12 }),
    fc.dictionary(fc.string({ unit: 'binary', maxLength: 8 }), tie('value'), { maxKeys: 12 })
  )
})).value

/** Reads a value to its end, as an agent does that follows `more`, and puts it together. */
function readOn(value: unknown, room: number): { whole: unknown; answers: number; largest: number } {
  const root = { v: value }
  const whole: Record<string, unknown> = {}
  const waiting: Rest[] = [{ field: 'v', from: 0 }]
  let [answers, largest] = [0, 0]
  for (let next = waiting.shift(); next; next = waiting.shift()) {
    const { field, from } = next
    const portion = portionOf(valueAt(root, field), { path: field, from, room })
    answers++
    largest = Math.max(largest, jsonSize(portion.value) + (portion.rest.length && jsonSize(portion.rest)))
    put(whole, field, portion.value)
    waiting.unshift(...portion.rest)
    if (answers > 5000) throw new Error('it does not end')
  }
  return { whole: whole['v'], answers, largest }
}

function put(whole: object, path: string, piece: unknown): void {
  const present = valueAt(whole, path)
  if (Array.isArray(present)) present.push(...(piece as unknown[]))
  else if (typeof present === 'object' && present !== null) {
    for (const [name, value] of Object.entries(piece as object)) set(present, name, value)
  } else {
    const end = path.lastIndexOf('/')
    const parent = end < 0 ? whole : (valueAt(whole, path.slice(0, end)) as object)
    const name = path
      .slice(end + 1)
      .replaceAll('~1', '/')
      .replaceAll('~0', '~')
    set(parent, name, typeof present === 'string' ? present + (piece as string) : structuredClone(piece))
  }
}

function set(object: object, name: string, value: unknown): void {
  Object.defineProperty(object, name, { value, enumerable: true, writable: true, configurable: true })
}

t.test('a value that is read in parts is the whole value, and each part fits', async () => {
  fc.assert(
    fc.property(values, fc.integer({ min: 400, max: 3000 }), (value, room) => {
      const json = JSON.parse(JSON.stringify(value)) as unknown
      const { whole, largest } = readOn(json, room)
      return JSON.stringify(whole) === JSON.stringify(json) && largest <= room
    }),
    { numRuns: 400 }
  )
})

t.test('a text of a million characters is read in parts, and no part divides a character', async (t) => {
  const long = '\u0001"😀\u2028ß'.repeat(30_000)
  const { whole, answers, largest } = readOn([{ value: long, format: 'basic_html' }], 15_000)
  t.strictSame(whole, [{ value: long, format: 'basic_html' }])
  t.ok(answers < 50, `${answers} answers`)
  t.ok(largest <= 15_000)
  const { value, rest } = portionOf('😀'.repeat(20), { path: 'v', from: 0, room: 47 })
  t.ok((value as string).isWellFormed())
  t.equal(rest[0]!.from % 2, 0)
})

t.test('there is progress however little room there is, and an end however far one reads on', async (t) => {
  t.strictSame(portionOf('😀😀', { path: 'v', from: 0, room: 1 }), { value: '😀', rest: [{ field: 'v', from: 2 }] })
  t.strictSame(portionOf('abc', { path: 'v', from: 9, room: 100 }), { value: '', rest: [] })
  t.strictSame(portionOf([1, 2], { path: 'v', from: 9, room: 100 }), { value: [], rest: [] })
  t.strictSame(portionOf(7, { path: 'v', from: 1, room: 100 }), { value: 7, rest: [] })
})

t.test('sizes are those of the JSON in bytes, and a large value is not read to its end', async (t) => {
  fc.assert(
    fc.property(values, (value) => {
      const json = JSON.parse(JSON.stringify(value)) as unknown
      return sizeOf(json) >= jsonSize(json) && sizeOf(json) <= jsonSize(json) + 1 + commasIn(json)
    })
  )
  t.equal(sizeOf({ a: undefined, b: 1 }), 2 + 3 + 2 + 1, 'a member that is undefined takes nothing')
  t.ok(sizeUpTo(Array(1e6).fill('x'), 100) < 200)
})

/** A comma is counted behind the last member too. */
function commasIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  return Object.values(value).reduce<number>((sum, member) => sum + commasIn(member), 1)
}

t.test('rows are taken whole, from the first on', async (t) => {
  const rows = ['a'.repeat(10), 'b'.repeat(10), 'c'.repeat(10)]
  t.strictSame(fittingRows(rows, 100), rows)
  t.strictSame(fittingRows(rows, 30), rows.slice(0, 2))
  t.strictSame(fittingRows(rows, 5), [])
})

t.test('an overview has whole members alone, and says which are left', async (t) => {
  const members = { a: 'x', 'l/b': 'y'.repeat(500), c: 'z'.repeat(100), d: 1 }
  t.strictSame(overviewOf(members, { from: 0, room: 1000, memberMax: 200 }), {
    members: { a: 'x', c: 'z'.repeat(100), d: 1 },
    more: [{ field: 'l~1b', from: 0 }]
  })
  t.strictSame(overviewOf(members, { from: 0, room: 100, memberMax: 200 }), {
    members: { a: 'x' },
    more: [{ field: 'l~1b', from: 0 }, { from: 2 }]
  })
  t.strictSame(overviewOf(members, { from: 2, room: 1000, memberMax: 200 }).more, [])
})

t.test('paths find members whatever their names are, and nothing that is inherited', async (t) => {
  const root = { 'a/b~c': [{ '': 5 }] }
  const path = pathTo(pathTo(pathTo('', 'a/b~c'), '0'), '')
  t.equal(valueAt(root, path), 5)
  for (const path of ['constructor', 'a~1b~0c/length/x', 'a~1b~0c/0/toString', 'a~1b~0c/7']) t.equal(valueAt(root, path), undefined, path)
})

t.test('a long text of a row ends in …, and no character is divided', async (t) => {
  t.equal(shortened('abc', 3), 'abc')
  t.equal(shortened('abcd', 3), 'ab…')
  t.equal(shortened('a😀bc', 3), 'a…')
})
