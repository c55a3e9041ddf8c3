import t from 'tap'
import { createContents } from '#lib/editions/lookup/contents.ts'
import { contentModel } from '#lib/editions/model.ts'
import type { Collection } from '#lib/editions/site/catalog.ts'
import type { Jsonapi, JsonapiAnswer } from '#lib/drupal/client.ts'
import type { Resource } from '#lib/drupal/document.ts'
import { newCaller } from '#lib/http/calls.ts'

const collection = (entityType: string, bundle: string): Collection => ({
  resourceType: `${entityType}--${bundle}`,
  entityType,
  bundle,
  path: `/${entityType}/${bundle}`
})
const collections = [collection('publisher_container', 'daily'), collection('node', 'article'), collection('story', 'story')]
const reference = (type: string, id: string, target: number) => ({ type, id, meta: { drupal_internal__target_id: target } })
const edition: Resource = {
  type: 'publisher_container--daily',
  id: 'e',
  attributes: { title: 'Monday' },
  relationships: {
    field_articles: {
      data: [
        reference('node--article', 'a', 1),
        reference('node--article', 'b', 2),
        reference('node--article', 'c', 3),
        { type: 'unknown', id: 'missing', meta: {} }
      ]
    },
    field_stories: { data: [reference('story--story', 's', 4), reference('publisher_container--daily', 'other', 5)] }
  }
}
const included: Resource[] = [
  { type: 'node--article', id: 'a', attributes: { status: true } },
  { type: 'node--article', id: 'b', attributes: { status: false } },
  { type: 'story--story', id: 's', attributes: { live: false } },
  { type: 'publisher_container--daily', id: 'other', attributes: { status: false } }
]
const model = contentModel({
  fields: { articles: ['field_articles', 'field_stories', 'field_none'] },
  lists: { story: { entityType: 'story', keys: { published: 'live' } } }
})

/** Contents of a site that answers the requests in turn, and what it is asked. */
function over(...answers: JsonapiAnswer[]) {
  const asked: Array<Parameters<Jsonapi['request']>[0]> = []
  const cms: Jsonapi = {
    async request(one) {
      asked.push(one)
      return answers[asked.length - 1]!
    }
  }
  const catalog = { all: async () => collections, editions: async () => collections.slice(0, 1) }
  return { asked, contents: createContents({ cms, model, catalog: catalog as never }) }
}

const whole: JsonapiAnswer = { status: 200, document: { data: edition, included } }

t.test('one request that begins now has the state of every article', async (t) => {
  const { asked, contents } = over(whole)
  const { resource, articles } = await contents(edition, newCaller())
  t.equal(resource, edition)
  t.strictSame(
    articles.map(({ field, id, uuid, state }) => [field, id, uuid, state]),
    [
      ['field_articles', '1', 'a', 'published'],
      ['field_articles', '2', 'b', 'unpublished'],
      ['field_articles', '3', 'c', 'hidden'],
      ['field_articles', '', '', 'gone'],
      ['field_stories', '4', 's', 'unpublished'],
      ['field_stories', '5', 'other', 'unpublished']
    ]
  )
  t.match(asked, [{ path: '/publisher_container/daily/e', isFresh: true }])
  t.strictSame(
    asked[0]!.query,
    [
      ['include', 'field_articles,field_stories'],
      ['fields[node--article]', 'status'],
      ['fields[story--story]', 'live']
    ],
    'of the edition, and of other editions, all fields'
  )
})

t.test('an edition without articles includes nothing', async (t) => {
  const bare = { ...edition, relationships: {} }
  const { asked, contents } = over(
    { status: 200, document: { data: bare } },
    { status: 200, document: { data: { type: edition.type, id: 'e' } } }
  )
  t.strictSame((await contents(bare, newCaller())).articles, [])
  t.strictSame(asked[0]!.query, [])
  t.strictSame((await contents({ type: edition.type, id: 'e' }, newCaller())).articles, [])
})

t.test('what Drupal does not include is not seen', async (t) => {
  const refused: JsonapiAnswer = {
    status: 400,
    document: { errors: [{ status: '400', detail: '`field_stories` is not a valid relationship field name. Possible values: uid.' }] }
  }
  const { asked, contents } = over(refused, {
    status: 200,
    document: { data: edition, included: [{ type: 'node--article', id: 'a', attributes: { status: true } }] }
  })
  t.match(
    (await contents(edition, newCaller())).articles.map(({ state }) => state),
    ['published', 'hidden', 'hidden', 'gone', 'hidden', 'hidden']
  )
  t.strictSame([...asked[1]!.query!][0], ['include', 'field_articles'])
  await t.rejects(
    over({ status: 400, document: { errors: [{ detail: '`uid` is not a valid relationship field name.' }] } }).contents(
      edition,
      newCaller()
    ),
    { code: 'CMS_REFUSED' }
  )
})

t.test('an article that does not tell whether it is published is neither', async (t) => {
  const odd = [
    {},
    undefined,
    { status: {} },
    { status: '0' },
    { status: '1' },
    { status: 0 },
    { status: null },
    { title: 'Only the label' }
  ]
  const articles = odd.map((_, index) => reference('node--article', `a${index}`, index + 1))
  const resource = { ...edition, relationships: { field_articles: { data: articles } } }
  const shown = odd.map((attributes, index): Resource => ({ type: 'node--article', id: `a${index}`, ...(attributes && { attributes }) }))
  const { contents } = over({ status: 200, document: { data: resource, included: shown } })
  t.strictSame(
    (await contents(resource, newCaller())).articles.map(({ state }) => state),
    odd.map(() => 'unknown')
  )
})

t.test('the content model says where an article tells it, and which cannot be unpublished', async (t) => {
  const resource = {
    ...edition,
    relationships: { field_articles: { data: [reference('story--story', 's', 4), reference('issue--daily', 'other', 5)] } }
  }
  const shown = [
    { type: 'story--story', id: 's', attributes: {} },
    { type: 'issue--daily', id: 'other', attributes: { live: false, status: true } }
  ]
  const answer: JsonapiAnswer = { status: 200, document: { data: resource, included: shown } }
  const model = contentModel({
    entityType: 'issue',
    keys: { published: 'live' },
    lists: { story: { entityType: 'story', keys: { published: null } } }
  })
  const ofCore = over(answer)
  const ofModel = createContents({
    cms: { request: async () => answer },
    model,
    catalog: { all: async () => collections, editions: async () => collections.slice(0, 1) } as never
  })
  t.strictSame(
    (await ofModel(resource, newCaller())).articles.map(({ state }) => state),
    ['published', 'unpublished']
  )
  t.strictSame(
    (await ofCore.contents(resource, newCaller())).articles.map(({ state }) => state),
    ['unknown', 'published'],
    'by the names of Drupal core'
  )
})

t.test('a refusal is told, and another edition is no answer', async (t) => {
  await t.rejects(over({ status: 403, document: { errors: [] } }).contents(edition, newCaller()), { code: 'CMS_FORBIDDEN' })
  await t.rejects(over({ status: 200, document: { data: { ...edition, id: 'x' } } }).contents(edition, newCaller()), {
    code: 'CMS_INVALID_RESPONSE'
  })
  await t.rejects(over({ status: 200, document: { data: null } }).contents(edition, newCaller()), { code: 'CMS_INVALID_RESPONSE' })
})
