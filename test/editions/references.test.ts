import t from 'tap'
import { createCms } from '../../packages/drupal-stand-in/cms.ts'
import { newspaper } from '../../dev/content.ts'
import type { Catalog, Collection } from '#lib/editions/site/catalog.ts'
import { createEditions } from '#lib/editions/editions.ts'
import { createSite } from '#lib/editions/site/site.ts'
import type { Filters } from '#lib/editions/site/filters.ts'
import { createRowMemory } from '#lib/editions/site/row-memory.ts'
import { createReferences } from '#lib/editions/lookup/references.ts'
import { shapeOf } from '#lib/editions/translate/shape.ts'
import { create, normalize, unresolvedReferences } from '#lib/editions/translate/write.ts'
import { createJsonapi, type JsonapiAnswer, type JsonapiRequest } from '#lib/drupal/client.ts'
import { createAnswerMemory } from '#lib/http/answer-memory.ts'
import { inCall, newCaller } from '#lib/http/calls.ts'
import { createHttp } from '#lib/http/client.ts'
import type { Resource } from '#lib/drupal/document.ts'
import { model } from './fixtures.ts'
import { basic, failed, open } from './site.ts'

const minimal = (key: string) => ({ type: 'daily', title: [{ value: 'T' }], field_key: [{ value: key }] })
const line = (delta: number, text: string) =>
  `Unprocessable Entity: validation failed.\n${[text]
    .flat()
    .map((message) => `field_articles.${delta}.target_id: ${message}\n`)
    .join('')}`
const primitive = 'This value should be of the correct primitive type.'

t.test('references are refused as core REST was seen to refuse them', async (t) => {
  const { call } = await open(t, { content: newspaper() })
  const create = (articles: unknown, more: object = {}) =>
    call('POST', '/api/collection', { body: { ...minimal('refused'), field_articles: articles, ...more }, as: 'editor' })
  const refused = async (what: string, articles: unknown, message: string, more?: object) =>
    failed(t, what, await create(articles, more), 422, 'UNPROCESSABLE', message)
  const nobody = '00000000-0000-4000-8000-000000000000'

  await refused('an empty id', [{ target_id: '' }], line(0, primitive))
  const long = '9'.repeat(30_000)
  await refused(
    'a number as long as no URL may be',
    [{ target_id: long }],
    line(0, `The referenced entity (node: ${long}) does not exist.`)
  )
  await refused(
    'a word',
    [{ target_id: 4 }, { target_id: 'abc' }],
    line(1, 'The referenced entity (node: abc) does not exist.') + `field_articles.1.target_id: ${primitive}\n`
  )
  await refused(
    'an unknown uuid, at its place',
    [{ target_id: 4 }, { target_uuid: nobody }],
    `No "" entity found with UUID "${nobody}" for field "1".`
  )
  await refused(
    'with its entity type',
    [{ target_id: 4 }, { target_uuid: nobody, target_type: 'node' }],
    `No "node" entity found with UUID "${nobody}" for field "1".`
  )
  await refused('with it, no text', [{ target_uuid: 5, target_type: 'node' }], 'No "node" entity found with UUID "5" for field "0".')
  await refused(
    'an object that is not to be made a text of',
    [{ target_uuid: { toString: 1 }, target_type: null }],
    'No "" entity found with UUID "{"toString":1}" for field "0".'
  )
  await refused('a uuid that is no text', [{ target_id: 4 }, { target_uuid: 5 }], 'No "" entity found with UUID "5" for field "1".')
  await refused('an empty uuid', [{ target_id: 4 }, { target_uuid: '' }], 'If provided "target_uuid" cannot be empty for field "1".')
  await refused(
    'in the order of the fields',
    [{ target_id: 99999 }],
    line(0, 'The referenced entity (node: 99999) does not exist.') +
      'field_section.0.target_id: The referenced entity (taxonomy_term: 9999) does not exist.\n',
    { field_section: [{ target_id: 9999 }] }
  )

  const { body: edition } = await call('GET', '/api/collection/1', { as: 'editor' })
  const { target_uuid: author } = edition.uid[0]
  const update = await call('POST', '/api/collection/1', { body: { field_articles: [{ target_uuid: author }] }, as: 'editor' })
  failed(
    t,
    'the uuid of an entity of another type',
    update,
    422,
    'UNPROCESSABLE',
    `No "" entity found with UUID "${author}" for field "0".`
  )
})

t.test('a list may be an object with the keys of one, and a time without a zone is never the present one', async (t) => {
  const { call } = await open(t, { content: newspaper() })
  const update = (body: object) => call('POST', '/api/collection/1', { body, as: 'editor' })
  t.strictSame((await update({ field_labels: { 0: { value: 'x' }, 1: { value: 'y' } } })).body.field_labels, [
    { value: 'x' },
    { value: 'y' }
  ])
  const {
    body: { created }
  } = await call('GET', '/api/collection/1', { as: 'editor' })
  failed(
    t,
    'no zone',
    await update({ created: [{ value: created[0].value.slice(0, 19) }] }),
    422,
    'UNPROCESSABLE',
    /is not in an accepted format/
  )
  failed(t, 'changed emptied', await update({ changed: [] }), 403, 'CMS_FORBIDDEN', "Access denied on updating field 'changed'.")
})

t.test('one body cannot keep the CMS busy looking up ids', async (t) => {
  const { call } = await open(t, { content: newspaper() })
  const made = (count: number) => Array.from({ length: count }, (_, index) => ({ target_id: 900_001 + index }))
  const { status, upstream } = await call('POST', '/api/collection', {
    body: { ...minimal('many'), field_articles: made(1000) },
    as: 'editor'
  })
  t.equal(status, 422, 'none of them exists')
  t.equal(upstream.filter((line) => line.includes('[path]=drupal_internal__nid')).length, 40)
  const fields = Object.fromEntries(made(1001).map(({ target_id: id }) => [`field_${id}`, [{ target_id: 900_001, target_type: 'node' }]]))
  for (const body of [{ field_articles: made(1001) }, { field_articles: made(900), field_section: made(101) }, fields]) {
    for (const path of ['/api/collection', '/api/collection/1']) {
      const reply = await call('POST', path, { body: { ...minimal('more'), ...body }, as: 'editor' })
      failed(
        t,
        path,
        reply,
        400,
        'BAD_REQUEST',
        'body names 1001 references by integer ids that have to be looked up; at most 1000 are, name others by target_uuid'
      )
      t.notOk(
        reply.upstream.some((line) => line.includes('target_id') || line.includes('drupal_internal__nid')),
        'and nothing is'
      )
    }
  }
})

t.test('an article that was deleted since its id was looked up does not exist', async (t) => {
  const content = newspaper()
  const { call, url } = await open(t, { content })
  const articles = [{ target_id: 4 }, { target_id: 3 }]
  const bodies = [
    ['/api/collection', { ...minimal('second'), field_articles: articles }],
    ['/api/collection/60', { field_articles: articles }]
  ] as const
  t.equal((await call('POST', '/api/collection', { body: { ...minimal('first'), field_articles: articles }, as: 'editor' })).status, 201)
  const { uuid } = content.entities.find(({ type, id }) => type === 'node--article' && id === 3)!
  t.equal((await fetch(`${url}/jsonapi/node/article/${uuid}`, { method: 'DELETE', headers: basic('admin') })).status, 204)
  for (const [path, body] of bodies) {
    failed(
      t,
      path,
      await call('POST', path, { body, as: 'editor' }),
      422,
      'UNPROCESSABLE',
      line(1, 'The referenced entity (node: 3) does not exist.')
    )
  }
  const reply = await call('POST', '/api/collection', {
    body: { ...minimal('third'), field_articles: [{ target_uuid: uuid }] },
    as: 'editor'
  })
  failed(t, 'by its uuid', reply, 422, 'UNPROCESSABLE', `No "" entity found with UUID "${uuid}" for field "0".`)
})

t.test('an id that another entity has since the site was set back is looked up anew', async (t) => {
  const content = newspaper()
  const before = content.entities.find(({ type, id }) => type === 'node--article' && id === 4)!
  const after = newspaper()
  const entities = after.entities.map((entity) =>
    entity.uuid === before.uuid ? { ...entity, uuid: '00000000-0000-4000-8000-000000000004' } : entity
  )
  const [first, second] = [createCms({ content }), createCms({ content: { ...after, entities } })]
  t.teardown(() => Promise.all([first.close(), second.close()]))
  const cmsUrl = await first.listen()
  const [http, other] = [createHttp({ url: cmsUrl, timeoutMs: 5000 }), createHttp({ url: await second.listen(), timeoutMs: 5000 })]
  t.teardown(() => Promise.all([http.close(), other.close()]))
  let present = createJsonapi({ http, jsonapiPath: '/jsonapi' })
  const editions = createEditions({ site: createSite({ cms: { request: (one) => present.request(one) }, model, cmsUrl, warn() {} }) })
  const create = async (key: string) =>
    JSON.parse((await editions.create({ ...minimal(key), field_articles: [{ target_id: 4 }] }, newCaller(basic('editor')))).json)
  t.match(await create('a'), { field_articles: [{ target_uuid: before.uuid }] })
  present = createJsonapi({ http: other, jsonapiPath: '/jsonapi' })
  t.match(await create('b'), { field_articles: [{ target_id: 4, target_uuid: '00000000-0000-4000-8000-000000000004' }] })
})

t.test('what a reference field refers to is told by any edition in which it is not empty', async (t) => {
  const section = { field_section: [{ target_id: 2 }] }
  const wanted = { field_section: [{ target_id: 2, target_type: 'taxonomy_term' }] }
  /** A site, and a service that knows nothing of it, where of the daily editions only the oldest few have a section. */
  async function site(few: number) {
    const content = newspaper()
    const dailies = content.entities
      .filter(({ type }) => type === 'publisher_container--daily')
      .sort((one, other) => Number(one.id) - Number(other.id))
    for (const { fields } of dailies.slice(few)) delete fields!.field_section
    const cms = createCms({ content })
    const cmsUrl = await cms.listen()
    const http = createHttp({ url: cmsUrl, timeoutMs: 5000 })
    t.teardown(async () => {
      await http.close()
      await cms.close()
    })
    const editions = createEditions({
      site: createSite({ cms: createJsonapi({ http, jsonapiPath: '/jsonapi' }), model: { ...model, references: {} }, cmsUrl, warn() {} })
    })
    const create = async (key: string, fields: object) =>
      JSON.parse((await editions.create({ ...minimal(key), ...fields }, newCaller(basic('editor')))).json)
    const update = async (fields: Record<string, unknown>) =>
      JSON.parse((await editions.update(String(dailies.at(-1)!.id), fields, newCaller(basic('editor')))).json)
    const asked = () =>
      cms.requestLines
        .splice(0)
        .map(decodeURIComponent)
        .filter((line) => line.includes('IS+NOT+NULL')).length
    return { create, update, asked }
  }

  const one = await site(1)
  t.match(await one.create('new', section), wanted, 'a new edition')
  t.equal(one.asked(), 1)
  t.match(await one.update(section), wanted, 'one in which it is empty')
  t.equal(one.asked(), 0, 'what was told is remembered')
  const other = await site(1)
  t.match(await other.update(section), wanted, 'one in which it is empty, at first')
  t.equal(other.asked(), 1)

  const none = await site(0)
  for (const write of [() => none.create('new', section), () => none.update(section)]) {
    await t.rejects(write(), {
      code: 'UNPROCESSABLE',
      message: 'The field "field_section" needs the property "target_type": no edition seen so far tells what it refers to'
    })
  }
  none.asked()
  t.match(await none.create('told', wanted), wanted, 'an item may tell it')
  t.equal(none.asked(), 0)
})

t.test(
  'a config entity that the caller may not see is found where an edition refers to it, or else is to be named by its uuid',
  async (t) => {
    const collections: Collection[] = [
      ['publisher_container', 'daily'],
      ['user_role', 'user_role'],
      ['taxonomy_vocabulary', 'taxonomy_vocabulary']
    ].map(([entityType, bundle]) => ({
      resourceType: `${entityType}--${bundle}`,
      entityType: entityType!,
      bundle: bundle!,
      path: `/${entityType}/${bundle}`
    }))
    const edition: Resource = {
      type: 'publisher_container--daily',
      id: 'e',
      relationships: {
        field_role: { data: { type: 'user_role--user_role', id: 'uuid-of-editor', meta: { drupal_internal__target_id: 'editor' } } }
      }
    }
    const asked: string[] = []
    const request = async ({ path, query = [] }: JsonapiRequest): Promise<JsonapiAnswer> => {
      const text = [...query].join('&')
      asked.push(`${path} ${text}`)
      if (path === collections[0]!.path) return { status: 200, document: { data: text.includes('editor') ? [edition] : [] } }
      // It shows none, and their id is no "id".
      return text.includes('filter')
        ? { status: 400, document: { errors: [{ detail: 'Invalid nested filtering.' }] } }
        : { status: 200, document: { data: [] } }
    }
    const { resolver } = createReferences({
      cms: { request },
      catalog: { all: async () => collections, editions: async () => collections.slice(0, 1) } as unknown as Catalog,
      filters: { reach: async () => 'all' } as unknown as Filters,
      rows: createRowMemory(),
      model
    })
    const shape = new Map([...shapeOf(edition, model), ['field_articles', { kind: 'relationship', many: true }]] as const)
    const resolved = async (body: Record<string, unknown>) => {
      const resolve = await resolver(unresolvedReferences(normalize(body, model), shape, model), newCaller())
      return create(normalize(body, model), edition.type, shape, model, resolve).relationships
    }
    t.match(await resolved({ field_role: [{ target_id: 'editor' }] }), { field_role: { data: { id: 'uuid-of-editor' } } })
    const hidden = (type: string, id: string) =>
      `The referenced entity (${type}: ${id}) does not exist, or is not shown to you: then name it by target_uuid.`
    await t.rejects(
      resolved({ field_role: [{ target_id: 'nosuch' }], field_vocab: [{ target_id: 'tags', target_type: 'taxonomy_vocabulary' }] }),
      {
        code: 'UNPROCESSABLE',
        details: {
          violations: [
            { path: 'field_vocab.0.target_id', message: hidden('taxonomy_vocabulary', 'tags') },
            { path: 'field_role.0.target_id', message: hidden('user_role', 'nosuch') }
          ]
        }
      }
    )
  }
)

t.test('ids are looked up in batches, and never again', async (t) => {
  const { call } = await open(t, { content: newspaper() })
  const create = async (key: string, count: number) => {
    const articles = Array.from({ length: count }, (_, index) => ({ target_id: index + 1 }))
    const { status, upstream } = await call('POST', '/api/collection', { body: { ...minimal(key), field_articles: articles }, as: 'admin' })
    t.equal(status, 201)
    return upstream.filter((line) => line.includes('drupal_internal__nid')).length
  }
  t.equal(await create('first', 60), 4, 'for each fifty a request to each of the two bundles of nodes')
  t.equal(await create('second', 60), 0)
  t.equal(await create('third', 110), 2, 'only what is new')

  const read = async () => (await call('GET', '/api/collections/publisher_container?limit=20', { as: 'admin' })).upstream.length
  await read()
  t.equal(await read(), 2, 'a list takes a page of each bundle, whatever its editions refer to')
})

t.test('where the caller may not filter, what other editions refer to is found in their newest pages, once', async (t) => {
  const collection: Collection = {
    resourceType: 'publisher_container--daily',
    entityType: 'publisher_container',
    bundle: 'daily',
    path: '/daily'
  }
  const edition = (id: number): Resource => ({
    type: 'publisher_container--daily',
    id: `e${id}`,
    relationships: {
      field_author: {
        data:
          id === 0 ? { type: 'user--user', id: 'missing' } : { type: 'user--user', id: `u${id}`, meta: { drupal_internal__target_id: id } }
      }
    }
  })
  const offsets: number[] = []
  const request = async ({ path, query = [] }: JsonapiRequest): Promise<JsonapiAnswer> => {
    const offset = new Map(query).get('page[offset]')
    if (path !== '/daily' || offset === undefined) return { status: 200, document: { data: [] } }
    offsets.push(Number(offset))
    const data = Array.from({ length: 50 }, (_, index) => edition(Number(offset) + index))
    return { status: 200, document: { data, ...(Number(offset) < 5000 && { links: { next: {} } }) } }
  }
  const { resolver } = createReferences({
    cms: { request },
    catalog: { all: async () => [collection], editions: async () => [collection] } as unknown as Catalog,
    filters: { reach: async () => 'none' } as unknown as Filters,
    rows: createRowMemory(),
    model
  })
  const find = (id: string, caller = newCaller()) =>
    resolver([{ field: 'field_author', delta: 0, entityType: 'user', id, isNamed: false }], caller).then(
      (resolve) => resolve({ entityType: 'user', id, field: 'field_author', delta: 0 }).id
    )
  t.equal(await find('120'), 'u120')
  t.strictSame(offsets, [0, 50, 100], 'no more pages than it takes')
  t.equal(await find('7'), 'u7')
  t.equal(offsets.length, 3, 'what was seen is remembered')
  await t.rejects(find('4999', newCaller({ authorization: 'x' })), { code: 'UNPROCESSABLE', message: /\(user: 4999\) does not exist/ })
  t.equal(offsets.length, 23, 'after twenty pages it is enough')
  await t.rejects(find('4998', newCaller({ authorization: 'x' })), { code: 'UNPROCESSABLE' })
  t.equal(offsets.length, 23, 'and within a minute they are not read again')
  const caller = newCaller({ authorization: 'y' })
  let allowed = 0
  await t.rejects(
    inCall(caller, { requests: 5, ms: 10_000, lookUpMs: 10_000, memory: createAnswerMemory() }, async () => {
      const call = caller.budget!
      call.allow = (requests) => {
        allowed += requests
      }
      return find('4997', caller)
    }),
    { code: 'UNPROCESSABLE' }
  )
  t.ok(allowed >= 20, 'the pages are allowed beside what a call may cost')
})
