import assert from 'node:assert/strict'
import t from 'tap'
import { createEditions, type Editions } from '#lib/editions/editions.ts'
import { createSite } from '#lib/editions/site/site.ts'
import { createJsonapi } from '#lib/drupal/client.ts'
import fc from '../fixtures/property.ts'
import { model } from './fixtures.ts'
import { basic, openNewspaper } from './site.ts'
import { newCaller } from '#lib/http/calls.ts'

const id = fc.constantFrom('1', '60')
const callers = { editor: basic('editor'), editor2: basic('editor2'), nobody: {} }
const anybody = fc.constantFrom(...(Object.keys(callers) as Array<keyof typeof callers>))

/** Few of each, so that much is asked again. */
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ does: fc.constant('read' as const), id, as: anybody }) },
  {
    weight: 3,
    arbitrary: fc.record({
      does: fc.constant('list' as const),
      bundle: fc.constantFrom('daily', 'publisher_container'),
      limit: fc.constant(5),
      as: anybody
    })
  },
  {
    weight: 1,
    arbitrary: fc.record({
      does: fc.constant('change' as const),
      id,
      // By this service, or past it.
      by: fc.constantFrom('itself' as const, 'another' as const),
      body: fc.oneof(
        fc.constantFrom('One', 'Two').map((value) => ({ title: [{ value }] })),
        fc
          .uniqueArray(fc.integer({ min: 1, max: 12 }), { maxLength: 4 })
          .map((articles) => ({ field_articles: articles.map((target) => ({ target_id: target })) })),
        fc.boolean().map((value) => ({ status: [{ value }] }))
      )
    })
  }
)

/** An answer without the order of its members: a service shows them as Drupal did first, and Drupal's order changes. */
function dataOf(answer: unknown): unknown {
  return JSON.parse(JSON.stringify(answer), (_name, value) =>
    typeof value === 'string' && value.startsWith('{') ? JSON.parse(value) : value
  )
}

t.test('whatever was asked and changed before, an answer is that of a service that has just started', async (t) => {
  const { cmsUrl, http } = await openNewspaper(t)
  const start = () =>
    createEditions({ site: createSite({ cms: createJsonapi({ http, jsonapiPath: '/jsonapi' }), model, cmsUrl, warn() {} }) })
  // Whoever may not see an edition is told 404 until the service has met it, then 403 or 401 (docs/core-rest.md).
  const outcome = (answer: Promise<unknown>) =>
    answer.catch(({ code }) => (/^CMS_(?:FORBIDDEN|UNAUTHORIZED)$/.test(code) ? 'NOT_FOUND' : (code as string)))
  let compared = 0

  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 40, maxLength: 60, size: 'max' }), async (steps) => {
      const service = start()
      for (const one of steps) {
        if (one.does === 'change') {
          await (one.by === 'itself' ? service : start()).update(one.id, one.body, newCaller(callers.editor))
          continue
        }
        const ask = (editions: Editions) =>
          one.does === 'read'
            ? editions.read(one.id, newCaller(callers[one.as]))
            : editions.search(one.bundle, { limit: one.limit, offset: 0, total: false }, newCaller(callers[one.as]))
        assert.deepEqual(dataOf(await outcome(ask(service))), dataOf(await outcome(ask(start()))))
        compared++
      }
    }),
    { numRuns: 10 }
  )
  t.ok(compared > 200, `${compared} answers`)
})
