import t from 'tap'
import { JSON_LIMITS, measureJson, type JsonLimits } from '#lib/json-shape.ts'
import { objectIn, weightOf } from '#lib/drupal/document.ts'

const limits: JsonLimits = { values: 20, names: 5, depth: 4 }
const look = (text: string, at = limits) => measureJson(Buffer.from(text), at)

/** Counts as measureJson() does, in a parsed value: each value but the first is a comma, or the first of an object or list that opens. */
function count(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const members = Object.values(value)
  return Math.max(0, members.length - 1) + 1 + members.reduce<number>((sum, member) => sum + count(member), 0)
}

t.test('values, names and levels are counted, and what stands in strings is not', async (t) => {
  t.equal(look('[1,[2,3],{"a":"[[[[[{,,,,,,,,,,,,,,,,,,,,,,:::::"}]').excess, undefined)
  t.equal(look(`[${'0,'.repeat(30)}0]`).excess, 'more than 20 values')
  t.equal(look(`[${'[],'.repeat(30)}0]`).excess, 'more than 20 values')
  t.equal(look('[[[[]]]]').excess, undefined)
  t.equal(look('[[[{"a":[]}]]]').excess, 'more than 4 levels of values: they are nested too deep')
  t.equal(look('{"a":1,"b":1,"c":1,"d":1,"e":{"a":1}}').excess, undefined)
  t.equal(look('{"a":1,"b":1,"c":1,"d":1,"e":1,"f" \n: 1}').excess, 'more than 5 names of members')
  t.equal(look('{"aaaa1":1,"aaaa2":1,"aaaa3":1,"aaaa4":1,"aaaa5":1,"aaaa6":1}').excess, 'more than 5 names of members')
})

t.test('a string ends where it does for JSON.parse(), whatever is escaped in it and wherever it lies', async (t) => {
  const strings = [
    '',
    'x',
    '"',
    '\\',
    '\\"',
    'abc"',
    'abcd\\',
    'a\\\\"b',
    '€"€',
    '\u0001',
    '"'.repeat(9),
    '\\'.repeat(9),
    `${'x'.repeat(7)}"${'y'.repeat(6)}`
  ]
  const wide = { values: 1e6, names: 1e6, depth: 1e6 }
  for (const one of strings) {
    for (const other of strings) {
      for (const value of [[one, [other], 1], { [one]: { [other]: one } }, [[one], '[{,', other]]) {
        const json = JSON.stringify(value)
        t.equal(look(json, wide).values, count(value) + 1, json)
      }
    }
  }
})

t.test('any bytes are looked at to their end', async (t) => {
  for (const text of ['', '"', '"\\', '"abcd', '"abc\\', ']]]]', ':::', '{"a', '\u0000', '"\\"']) {
    t.ok(look(text).values >= 1, JSON.stringify(text))
  }
})

t.test('a page of 50 editions with 600 articles each is within the limits, and their beyonds are not', async (t) => {
  const article = { type: 'node--article', id: '0'.repeat(36), meta: { drupal_internal__target_id: 5 } }
  const included = { type: 'node--article', id: '0'.repeat(36), attributes: { path: { alias: '/a', pid: 1, langcode: 'en' } } }
  const page = {
    data: Array.from({ length: 50 }, () => ({
      type: 'a--b',
      id: 'x',
      relationships: { field_articles: { data: Array(600).fill(article) } }
    })),
    included: Array(30_000).fill(included)
  }
  t.equal(measureJson(Buffer.from(JSON.stringify(page))).excess, undefined)
  t.match(measureJson(Buffer.from(`[${'[],'.repeat(JSON_LIMITS.values)}0]`)).excess, /500000 values/)
  t.match(
    measureJson(Buffer.from(JSON.stringify(Object.fromEntries(Array.from({ length: 12_000 }, (_, index) => [`field_${index}`, 0])))))
      .excess,
    /10000 names/
  )
})

t.test('many short values weigh more than their bytes', async (t) => {
  const lists = objectIn(Buffer.from(JSON.stringify({ a: Array(1000).fill([]) })))!
  t.ok(weightOf(lists) > 24_000)
  const text = Buffer.from(JSON.stringify({ a: 'x'.repeat(1000) }))
  t.equal(weightOf(objectIn(text)!), text.length)
  t.throws(() => objectIn(Buffer.from('{"a":'.repeat(600) + '1' + '}'.repeat(600)), 'The issuer'), {
    code: 'CMS_INVALID_RESPONSE',
    message: 'The issuer answered with more than 500 levels of values: they are nested too deep'
  })
})
