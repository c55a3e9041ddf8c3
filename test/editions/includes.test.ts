import t, { type Test } from 'tap'
import { createEditions } from '#lib/editions/editions.ts'
import { createSite } from '#lib/editions/site/site.ts'
import { createJsonapi, type Jsonapi, type JsonapiAnswer } from '#lib/drupal/client.ts'
import { oneResource, resources } from '#lib/drupal/document.ts'
import { model } from './fixtures.ts'
import { basic, openNewspaper } from './site.ts'
import { newCaller } from '#lib/http/calls.ts'

const editor = newCaller(basic('editor'))
const search = { limit: 5, offset: 0, total: false }

/**
 * The sample site, on which one reference field can stop to be one that Drupal includes: since it is gone from the editions, or
 * since what it may refer to has no bundle, or by a whim. As in Drupal, what was to be saved is saved before that is found.
 */
async function open(t: Test) {
  const { cms, cmsUrl, http } = await openNewspaper(t)
  const jsonapi = createJsonapi({ http, jsonapiPath: '/jsonapi' })
  const site = { why: undefined as 'gone' | 'empty' | 'whim' | undefined }

  const request: Jsonapi['request'] = async (one) => {
    const query = [...(one.query ?? [])]
    const answer = await jsonapi.request(one)
    const isRefused = query.some(([name, value]) => name === 'include' && value.split(',').includes('field_articles'))
    return !site.why ? answer : isRefused ? refused : shown(structuredClone(answer))
  }
  const refused: JsonapiAnswer = {
    status: 400,
    document: { errors: [{ status: '400', detail: '`field_articles` is not a valid relationship field name. Possible values: uid.' }] }
  }

  function shown(answer: JsonapiAnswer): JsonapiAnswer {
    for (const { relationships = {} } of [oneResource(answer.document) ?? resources(answer.document)].flat()) {
      if (site.why === 'gone') delete relationships['field_articles']
      if (site.why === 'empty' && relationships['field_articles']) relationships['field_articles'] = { data: [] }
    }
    return answer
  }

  const warnings: string[] = []
  const editions = createEditions({
    site: createSite({
      cms: { request },
      model,
      cmsUrl,
      warn: (message) => {
        warnings.push(message)
      }
    })
  })
  const asked = () => cms.requestLines.splice(0).map(decodeURIComponent)
  await editions.read('1', editor)
  asked()
  return { editions, site, warnings, asked }
}

t.test('a write that was saved is not taken for refused where a reference field has gone meanwhile', async (t) => {
  for (const does of ['create', 'update'] as const) {
    const { editions, site, warnings, asked } = await open(t)
    site.why = 'gone'
    const { json } =
      does === 'create'
        ? await editions.create({ type: 'daily', title: [{ value: 'New' }], field_key: [{ value: 'new' }] }, editor)
        : await editions.update('1', { title: [{ value: 'New' }] }, editor)
    t.match(JSON.parse(json), { title: [{ value: 'New' }], field_articles: undefined })
    const writes = asked().filter((line) => /^(?:POST|PATCH)/.test(line))
    t.equal(writes.length, 1, 'written once')
    t.notMatch(writes[0], /include/, 'Drupal refuses a wrong include only after it has saved')
    t.strictSame(warnings, [])
  }
})

t.test('what Drupal does not include is asked for once', async (t) => {
  for (const [why, articles] of [
    ['gone', undefined],
    ['empty', 0],
    ['whim', 1]
  ] as const) {
    const { editions, site, asked } = await open(t)
    site.why = why
    for (let time = 0; time < 2; time++) {
      const entity = JSON.parse((await editions.read('1', editor)).json)
      t.equal(articles ? Math.min(entity.field_articles.length, 1) : entity.field_articles?.length, articles, why)
      t.equal((await editions.search('daily', search, editor)).editions.length, 5)
      t.equal(asked().filter((line) => /include=[^&]*field_articles/.test(line)).length, time === 0 ? 1 : 0)
    }
    await editions.read('1', editor)
    t.equal(asked().length, 1)
  }
})
