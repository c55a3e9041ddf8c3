import t from 'tap'
import { createRoom, fitting, isTooLong } from '#lib/editions/lookup/room.ts'
import { createCatalog } from '#lib/editions/site/catalog.ts'
import { createShapes } from '#lib/editions/site/shapes.ts'
import { createSite } from '#lib/editions/site/site.ts'
import { publicName } from '#lib/editions/model.ts'
import { createPlans } from '#lib/editions/translate/plans.ts'
import { createTexts } from '#lib/editions/translate/texts.ts'
import type { Jsonapi } from '#lib/drupal/client.ts'
import { Failure } from '#lib/errors.ts'
import { model } from './fixtures.ts'
import { fakeTime } from '../fixtures/time.ts'
import { newCaller } from '#lib/http/calls.ts'
import { everything } from '../scope.ts'

t.test('a URL that is refused for its length halves the room for ten minutes, down to none', async (t) => {
  let time = 0
  const room = createRoom(fakeTime({ monotonic: () => time }))
  const left = () => room.beside('', [])
  t.equal(left(), 7500)
  t.equal(room.beside('/a', [['b', 'c d']]), 7493)
  t.equal(room.beside('', [['b', 'x'.repeat(8000)]]), 0)
  const halves = Array.from({ length: 4 }, () => [room.shorten(), left()])
  t.strictSame(halves, [
    [true, 3750],
    [true, 1875],
    [true, 937.5],
    [true, 0]
  ])
  t.equal(room.shorten(), false, 'there is nothing left to leave out')
  time = 600_000
  t.equal(left(), 7500)
})

t.test('a URL counts as too long where the answer, or the failure, has the status for that', async (t) => {
  const failed = (status: number) => new Failure('CMS_INVALID_RESPONSE', '', { cause: Object.assign(new Error(''), { status }) })
  t.strictSame(
    [414, 431, 400, 502].map((status) => isTooLong(failed(status))),
    [true, true, true, false]
  )
  t.strictSame(
    [414, 431, 400].map((status) => isTooLong({ status })),
    [true, true, false],
    'Drupal says 400 to what it does not know'
  )
  t.equal(isTooLong(new Failure('CMS_TIMEOUT', '')), false)
  t.strictSame(
    fitting(
      [
        ['a', 'b'],
        ['c', 'd'],
        ['e', 'f']
      ],
      8
    ),
    [
      ['a', 'b'],
      ['c', 'd']
    ]
  )
})

t.test('ever new names of fields are not remembered for ever', async (t) => {
  const shapes = createShapes(model)
  const resource = (round: number, count: number) => ({
    type: 'a--b',
    id: 'u',
    attributes: Object.fromEntries(Array.from({ length: count }, (_, index) => [`field_${round}_${index}`, { value: 1 }])),
    relationships: { field_r: { data: { type: 'c--d', id: 'v', meta: { drupal_internal__target_id: 'x'.repeat(100_000), other: 'y' } } } }
  })
  for (let round = 0; round < 12; round++) shapes.learn(resource(round, 1000))
  const { size } = shapes.of('a--b')!
  t.ok(size > 1000 && size <= 10_000, String(size))
  t.ok(shapes.of('a--b')!.has('field_11_0'), 'the last ones are known')
  t.strictSame(
    shapes.of('a--b')!.get('field_r')!.sample,
    { type: 'c--d', id: 'v', meta: { drupal_internal__target_id: null } },
    'of a sample no more than is looked at'
  )
  for (let type = 0; type < 100; type++) shapes.learn({ ...resource(0, 500), type: `a--${type}` })
  t.equal(shapes.of('a--b'), undefined, 'those least recently used go')
  t.ok(shapes.of('a--99'))
})

t.test('plans for ever new members are few, and those for many members fewer', async (t) => {
  const planFor = createPlans(model)
  const resource = (round: number) => ({
    type: 'a--b',
    id: 'u',
    attributes: Object.fromEntries(Array.from({ length: 9000 }, (_, index) => [`f${round}_${index}`, 0]))
  })
  const plans = [0, 1, 2].map((round) => planFor(resource(round)))
  t.equal(planFor(resource(2)), plans[2])
  t.equal(planFor(resource(1)), plans[1])
  t.not(planFor(resource(0)), plans[0])
})

t.test('what targets, collections and edition types are called counts, however few they are', async (t) => {
  const { targets, ids } = createSite({ cms: {} as Jsonapi, model, cmsUrl: 'http://cms.example', warn() {} })
  const long = (kib: number) => ({
    type: 'node--a',
    id: 'u',
    attributes: { path: { alias: `/${'x'.repeat(kib * 1024)}` }, langcode: 'en' }
  })
  const known = () => targets.of(newCaller()).targets.get('node--a')?.size
  const learn = (kib: number) =>
    targets.learn(targets.of(newCaller()), [{ type: 'node--a', id: 'u' }], { included: [long(kib)] }, newCaller())
  learn(1)
  t.equal(known(), 1)
  learn(26 * 1024)
  t.equal(known(), undefined, 'an alias of 26 MiB leaves no room for the caller')
  ids.learn({ type: 'a', id: 'u', attributes: { [publicName(model, model.keys.id)]: 'x'.repeat(300) } })
  t.strictSame(ids.get('u'), { type: 'a', uuid: 'u' })
  t.equal(ids.get('x'.repeat(300)), undefined)
})

t.test('one long url that many references share makes no endless answer', async (t) => {
  const texts = createTexts({ model, planFor: createPlans(model) })
  const references = Array.from({ length: 50 }, () => ({ type: 'node--a', id: 'u', meta: { drupal_internal__target_id: 1 } }))
  const resource = { type: 'a--b', id: 'u', relationships: { field_articles: { data: references } } }
  const jsonOf = (length: number) => texts.jsonOf({ resource, urlOf: () => 'x'.repeat(length) })
  t.ok(jsonOf(80_000).length > 4_000_000)
  t.throws(() => jsonOf(90_000), { code: 'CMS_INVALID_RESPONSE', message: /urls of more than 4194304 characters together$/ })
})

if (everything) {
  t.test('collections of callers who are shown different ones are not remembered without end', async (t) => {
    let asked = 0
    const request: Jsonapi['request'] = async () => {
      asked++
      const links = Object.fromEntries(
        Array.from({ length: 9000 }, (_, index) => [
          `a${asked}--b${index}`,
          { href: `http://cms.example/jsonapi/a/b${index}${index === 0 ? 'x'.repeat(2000) : ''}` }
        ])
      )
      return { status: 200, document: { data: [], links: { self: { href: 'http://cms.example/jsonapi' }, ...links } } }
    }
    const catalog = createCatalog({ cms: { request }, model })
    const caller = (index: number) => ({ authorization: `Basic ${index}` })
    for (let index = 0; index < 20; index++) {
      t.equal((await catalog.all(newCaller(caller(index)))).length, 8999, 'without the one whose path is too long')
    }
    t.equal(asked, 20)
    await catalog.all(newCaller(caller(19)))
    t.equal(asked, 20)
    await catalog.all(newCaller(caller(0)))
    t.equal(asked, 21)
  })
}
