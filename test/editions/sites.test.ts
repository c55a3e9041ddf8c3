import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { newspaper, singleBundleNewspaper } from '../../dev/content.ts'
import { bundleLabel, createCatalog, type Catalog, type Collection } from '#lib/editions/site/catalog.ts'
import { contentModel, publicName } from '#lib/editions/model.ts'
import { createReferences } from '#lib/editions/lookup/references.ts'
import { createRowMemory } from '#lib/editions/site/row-memory.ts'
import type { JsonapiRequest } from '#lib/drupal/client.ts'
import type { Resource } from '#lib/drupal/document.ts'
import { variants } from '../scope.ts'
import { editionsOf, enlarged, failed, open, type Known } from './site.ts'
import { newCaller } from '#lib/http/calls.ts'

const ids = (rows: any[]) => rows.map((row) => row.id[0].value)

/** A content model of which some members differ from the defaults. */
function modelled(t: Test, members: object): Record<string, string> {
  const path = join(t.testdir(), 'content-model.json')
  writeFileSync(path, JSON.stringify(members))
  return { CONTENT_MODEL: path }
}

for (const [name, content] of variants([
  ['two bundles', newspaper],
  ['one bundle', singleBundleNewspaper]
] as const)) {
  t.test(`where Drupal lets nobody filter editions, everything is found all the same, with ${name}`, async (t) => {
    const big = enlarged(content(), 70)
    const { call } = await open(t, { content: big, filterAccess: false })
    for (const as of ['editor', 'reader', 'admin']) {
      const visible = editionsOf(big).filter(({ published }) => published || as !== 'reader')
      for (const { id } of [visible[0]!, visible.at(-1)!, visible[60]!]) {
        t.equal((await call('GET', `/api/collection/${id}`, { as })).body.id?.[0].value, id, `${as} reads ${id}`)
      }
      failed(t, 'unknown', await call('GET', '/api/collection/9999', { as }), 404, 'NOT_FOUND', 'There is no edition 9999')
      const cases: Array<[query: string, selected: (one: Known) => boolean]> = [
        ['q=MONDAY', ({ title }) => title.startsWith('Monday')],
        ['q=extra&status=1', ({ title, published }) => title.startsWith('Extra') && published],
        ['status=0', ({ published }) => !published],
        ['type=special', ({ type }) => type === 'special'],
        ['key=extra-70', ({ key }) => key === 'extra-70'],
        ['q=extra-70', ({ key }) => key === 'extra-70'],
        ['q=EXTRA-70', () => false],
        ['key=EXTRA-70', () => false]
      ]
      for (const [query, selected] of cases) {
        const wanted = visible.filter(selected).map(({ id }) => id)
        const whole = (await call('GET', `/api/collections/publisher_container?${query}&limit=500&total=1`, { as })).body
        t.strictSame([ids(whole.data), whole.meta.total], [wanted, wanted.length], `${as}: ${query}`)
        const page = (await call('GET', `/api/collections/publisher_container?${query}&limit=5&offset=3`, { as })).body
        t.strictSame([ids(page.data), page.meta.hasMore], [wanted.slice(3, 8), wanted.length > 8], `${as}: a page of ${query}`)
      }
    }
    const ready = (await call('GET', '/health/ready')).body.dependencies.cms
    t.match(ready, { status: 'ok', message: /hook_jsonapi_publisher_container_filter_access/ }, 'and the operator is told')
  })
}

t.test('where there was no edition to be seen yet, nothing is known of filters', async (t) => {
  const content = newspaper()
  content.entities = content.entities.filter(({ type }) => !type.startsWith('publisher_container--'))
  const { call } = await open(t, { content, filterAccess: false, env: { CMS_AUTH: 'basic', CMS_USER: 'editor', CMS_PASSWORD: 'editor' } })
  t.match((await call('GET', '/health/ready')).body.dependencies.cms, { status: 'ok', message: undefined })
  t.strictSame((await call('GET', '/api/collections/daily?q=first')).body.data, [])
  await call('POST', '/api/collection', { body: { type: 'daily', title: [{ value: 'The first' }], field_key: [{ value: 'first' }] } })
  t.equal((await call('GET', '/api/collection/1')).status, 200)
  t.strictSame(ids((await call('GET', '/api/collections/daily?q=first')).body.data), [1])
})

t.test('where there is no key, or none that the caller may see, the title alone is searched', async (t) => {
  const monday = editionsOf(newspaper())
    .filter(({ title, published }) => title.startsWith('Monday') && published)
    .map(({ id }) => id)
  for (const [key, as, refusals] of [
    ['field_nosuch', 'editor', 400],
    ['field_internal_note', 'reader', 403]
  ] as const) {
    const { call } = await open(t, { env: modelled(t, { fields: { key } }) })
    const { body, upstream } = await call('GET', '/api/collections/publisher_container?q=monday&status=1&limit=500', { as })
    t.strictSame(ids(body.data), monday, key)
    t.equal(upstream.filter((line) => line.endsWith(` ${refusals}`)).length, 2, 'each collection refuses once')
    const refused = await call('GET', '/api/collections/publisher_container?q=monday&key=x', { as })
    t.ok(refused.status >= 400, 'a key that is asked for as such is refused')
  }
})

t.test('bundles and edition types of the content model are the only ones', async (t) => {
  const { call } = await open(t, {
    env: modelled(t, { bundles: { special: 'Beilagen', daily: 'Tageszeitung' }, editionTypes: { daily: 'Täglich' } })
  })
  t.strictSame((await call('GET', '/api/collection/bundles')).body.data, [
    { id: 'special', label: 'Beilagen' },
    { id: 'daily', label: 'Tageszeitung' }
  ])
  t.strictSame((await call('GET', '/api/publisher-edition/bundles')).body.data, [{ id: 'daily', label: 'Täglich' }])
  failed(
    t,
    'a type left out',
    await call('GET', '/api/collections/publisher_container?type=special'),
    400,
    'BAD_REQUEST',
    'querystring/type must be "daily"'
  )
  const special = newspaper().entities.find(({ type }) => type === 'publisher_container--special')!
  const { call: ask } = await open(t, { env: modelled(t, { bundles: { daily: 'Daily' } }) })
  for (const id of [special.id, special.uuid]) {
    failed(
      t,
      'an edition left out',
      await ask('GET', `/api/collection/${id}`, { as: 'editor' }),
      404,
      'NOT_FOUND',
      `There is no edition ${id}`
    )
    failed(
      t,
      'nor is it changed',
      await ask('POST', `/api/collection/${id}`, { as: 'editor', body: { title: [{ value: 'New' }] } }),
      404,
      'NOT_FOUND',
      `There is no edition ${id}`
    )
  }
  const other = await open(t, { env: modelled(t, { bundles: { weekly: 'Weekly' } }) })
  failed(
    t,
    'none of them there',
    await other.call('GET', '/api/collection/bundles'),
    502,
    'CMS_INVALID_RESPONSE',
    'The CMS exposes no resource type publisher_container--weekly through JSON:API'
  )
})

t.test('without a field that tells the edition type, bundles are the types', async (t) => {
  const { call } = await open(t, { env: modelled(t, { fields: { editionType: null } }) })
  t.strictSame((await call('GET', '/api/publisher-edition/bundles', { as: 'admin' })).body.data, [
    { id: 'daily', label: 'Daily Edition' },
    { id: 'special', label: 'Special Edition' }
  ])
  const special = editionsOf(newspaper())
    .filter(({ type, published }) => type === 'special' && published)
    .map(({ id }) => id)
  for (const path of ['special', 'publisher_container?type=special', 'special?type=special']) {
    t.strictSame(ids((await call('GET', `/api/collections/${path}${path.includes('?') ? '&' : '?'}limit=500`)).body.data), special, path)
  }
  t.strictSame((await call('GET', '/api/collections/daily?type=special')).body.data, [])
  failed(
    t,
    'no bundle',
    await call('POST', '/api/collection', { body: { field_publisher_edition_type: ['daily'] } }),
    422,
    'UNPROCESSABLE',
    /^Could not determine entity type bundle/
  )
})

t.test('what an entity type does not have cannot be searched for, and is not invented', async (t) => {
  const none = {
    bundleEntityType: null,
    keys: { revision: null, bundle: null, label: null, published: null, changed: null, langcode: null, defaultLangcode: null },
    fields: { key: null, editionType: null }
  }
  const { call } = await open(t, { content: singleBundleNewspaper(), env: modelled(t, none) })
  const list = (query: string) => call('GET', `/api/collections/publisher_container?${query}`, { as: 'editor' })
  for (const [query, lacks] of [
    ['status=1', 'no key published'],
    ['key=x', 'no field key'],
    ['q=x', 'neither a key label nor a field key']
  ] as const) {
    failed(
      t,
      query,
      await list(query),
      400,
      'BAD_REQUEST',
      `querystring/${query.split('=')[0]} cannot be answered: publisher_container has ${lacks} in the content model`
    )
  }
  t.match(await list('limit=500&total=1'), { status: 200, body: { meta: { total: 60 } } })
  t.match(await list('offset=300&total=1'), { status: 200, body: { meta: { total: 60 } } }, 'nobody asks for translations')
  t.strictSame((await call('GET', '/api/collection/bundles')).body.data, [{ id: 'publisher_container', label: 'publisher_container' }])

  const made = await call('POST', '/api/collection', { as: 'editor', body: { title: [{ value: 'New' }], field_key: [{ value: 'new' }] } })
  t.equal(made.status, 201, 'it takes no bundle')
  t.notOk('type' in made.body)
  const { etag } = made.headers
  const change = (headers: Record<string, string>, title: string) =>
    call('POST', `/api/collection/${made.body.id[0].value}`, { as: 'editor', headers, body: { title: [{ value: title }] } })
  const changed = await change({ 'if-match': String(etag) }, 'Newer')
  t.match(changed, { status: 200, body: { title: [{ value: 'Newer' }] } })
  failed(t, 'an earlier state', await change({ 'if-match': String(etag) }, 'Newest'), 412, 'PRECONDITION_FAILED')
  failed(
    t,
    'closing it',
    await call('POST', `/api/collection/${made.body.id[0].value}/close`, {
      as: 'editor',
      headers: { 'if-match': String(changed.headers.etag) },
      body: {}
    }),
    400,
    'BAD_REQUEST',
    /name the field that closes an edition/
  )
})

t.test('titles or keys alone are searched where there is nothing else', async (t) => {
  const { key, title } = editionsOf(newspaper())[5]!
  for (const [members, q] of [
    [{ keys: { label: null } }, key],
    [{ fields: { key: null } }, title.toUpperCase()]
  ] as const) {
    for (const filterAccess of [true, false]) {
      const { call } = await open(t, { filterAccess, env: modelled(t, members) })
      const { body } = await call('GET', `/api/collections/publisher_container?q=${encodeURIComponent(q)}&limit=500`, { as: 'editor' })
      t.equal(body.data.length, 1, q)
    }
  }
})

t.test('a search finds the same whether the caller may filter or not, in every case of every letter', async (t) => {
  const content = enlarged(newspaper(), 3)
  const titles = ['Über alles: ÖL', 'ÜBER', 'Unter', 'Été', 'Ёлка', 'Ёлки', '𐐀𐐁𐐂𐐃']
  for (const [index, title] of titles.entries()) content.entities.at(index - titles.length)!.fields!.title = title
  const cases: Array<[q: string, found: string[]]> = [
    ['über', ['ÜBER', 'Über alles: ÖL']],
    ['ÜBER ALLES', ['Über alles: ÖL']],
    ['öl', ['Über alles: ÖL']],
    ['ü', ['ÜBER', 'Über alles: ÖL']],
    ['uber', []],
    ['été', ['Été']],
    ['ÉTÉ', ['Été']],
    ['ёлка', ['Ёлка']],
    ['ЛКА', ['Ёлка']],
    ['𐐨𐐩𐐪𐐫', ['𐐀𐐁𐐂𐐃']]
  ]
  for (const filterAccess of [true, false]) {
    const { call } = await open(t, { content, filterAccess })
    for (const [q, found] of cases) {
      const { body } = await call('GET', `/api/collections/publisher_container?q=${encodeURIComponent(q)}&limit=500&total=1`, {
        as: 'admin'
      })
      t.strictSame([body.data.map(({ title }: any) => title[0].value), body.meta.total], [found, found.length], `${q}, ${filterAccess}`)
    }
  }
})

t.test('the first search already finds what the caller may see but not filter', async (t) => {
  const found = await Promise.all(
    ([true, 'published', false] as const).map(async (filterAccess) => {
      const { call } = await open(t, { filterAccess })
      const { body } = await call('GET', '/api/collections/publisher_container?q=2026&limit=500&total=1', { as: 'editor' })
      return [body.meta.total, ...body.data.map(({ id, status }: any) => [id[0].value, status[0].value])]
    })
  )
  t.ok(found[0]!.some((row) => row[1] === false) && found[0]!.some((row) => row[1] === true))
  t.strictSame(found[1], found[0], 'unpublished ones are not among what may be filtered')
  t.strictSame(found[2], found[0])
})

t.test('bundles have labels, whatever the names of their keys', (t) => {
  t.strictSame(bundleLabel({ drupal_internal__type: 'page', langcode: 'de', name: 'Seite' }), ['page', 'Seite'])
  t.strictSame(bundleLabel({ langcode: 'de', drupal_internal__code: 'page', status: true, caption: 'Seite' }), ['page', 'Seite'])
  t.strictSame(bundleLabel({ drupal_internal__id: 'page', label: '' }), ['page', 'page'])
  t.end()
})

t.test('a site that shows no configuration at all has bundles by their names', async (t) => {
  const { call } = await open(t, { env: modelled(t, { bundleEntityType: 'unheard_of' }) })
  t.strictSame((await call('GET', '/api/collection/bundles')).body.data, [
    { id: 'daily', label: 'Daily Editions' },
    { id: 'special', label: 'Special Editions' }
  ])
})

t.test('allowed values are understood in every form that Drupal stores them in', async (t) => {
  const forms: Array<[values: unknown, wanted: object[]]> = [
    [
      { daily: 'D', x: 'X' },
      [
        { id: 'daily', label: 'D' },
        { id: 'x', label: 'X' }
      ]
    ],
    [
      ['zero', 'one'],
      [
        { id: '0', label: 'zero' },
        { id: '1', label: 'one' }
      ]
    ],
    [[{ value: 'daily', label: 'D' }], [{ id: 'daily', label: 'D' }]]
  ]
  for (const [values, wanted] of forms) {
    const content = newspaper()
    for (const { type, config } of content.entities) {
      if (type.startsWith('field_storage_config')) Object.assign(config!, { settings: { allowed_values: values } })
    }
    const { call } = await open(t, { content })
    t.strictSame((await call('GET', '/api/publisher-edition/bundles', { as: 'admin' })).body.data, wanted)
  }
  for (const values of [[], {}, undefined]) {
    const content = newspaper()
    for (const { type, config } of content.entities) {
      if (type.startsWith('field_storage_config')) {
        Object.assign(config!, { settings: { allowed_values: values, allowed_values_function: 'types' } })
      }
    }
    const { call } = await open(t, { content })
    t.strictSame(
      (await call('GET', '/api/publisher-edition/bundles', { as: 'admin' })).body.data,
      [
        { id: 'daily', label: 'Daily Editions' },
        { id: 'special', label: 'Special Editions' }
      ],
      'those of a function are nowhere to be read'
    )
  }
  const weekly = newspaper()
  Object.assign(weekly.entities.findLast(({ type }) => type === 'publisher_container--special')!.fields!, {
    field_publisher_edition_type: 'weekly'
  })
  const desk = await open(t, { content: weekly })
  t.strictSame(
    (await desk.call('GET', '/api/publisher-edition/bundles')).body.data.at(-1),
    { id: 'weekly', label: 'weekly' },
    'where they are not shown, editions tell them'
  )
  const { call } = await open(t, { env: modelled(t, { fields: { editionType: 'field_labels' } }) })
  t.strictSame(
    (await call('GET', '/api/publisher-edition/bundles')).body.data,
    [],
    'of a field of another name and form nothing is guessed'
  )
})

t.test('each language has its own labels of edition types', async (t) => {
  const type = 'field_storage_config--field_storage_config'
  const request = async ({ path, caller }: JsonapiRequest) => ({
    status: 200,
    document:
      path === ''
        ? { data: [], links: { self: { href: 'http://cms.example/jsonapi' }, [type]: { href: 'http://cms.example/jsonapi/fields' } } }
        : {
            data: [
              { type, id: 'a', attributes: { settings: { allowed_values: { daily: `Daily in ${caller.headers['accept-language']}` } } } }
            ]
          }
  })
  const catalog = createCatalog({ cms: { request }, model: contentModel({}) })
  for (const language of ['de', 'en', 'de']) {
    t.strictSame(await catalog.editionTypes(newCaller({ 'accept-language': language })), [{ id: 'daily', label: `Daily in ${language}` }])
  }
})

t.test('a content model that is none is refused by name of the member', async (t) => {
  t.throws(() => contentModel(5), { message: /^its member \/ is not right/ })
  t.throws(() => contentModel({ timeZone: 'Berlin' }), { message: 'its member /timeZone is not right: Berlin is not an IANA time zone' })
  t.equal(contentModel({ timeZone: 'Europe/Berlin' }).timeZone, 'Europe/Berlin')
  t.throws(() => contentModel({ keys: { id: 5 } }), { message: /^its member \/keys\/id is not right/ })
  const model = contentModel({ keys: { bundle: 'bundle' } })
  t.strictSame(
    ['id', 'revision_id', 'type', 'title', 'bundle'].map((field) => publicName(model, field)),
    ['drupal_internal__id', 'drupal_internal__revision_id', 'publisher_container_type', 'title', 'bundle']
  )
  t.equal(publicName(contentModel({ keys: { id: 'iid' } }), 'id'), 'publisher_container_id')
})

t.test('references by integer id are found where nobody may filter them, under whatever name the id has', async (t) => {
  const model = contentModel({})
  const collection = (entityType: string): Collection => ({
    resourceType: `${entityType}--x`,
    entityType,
    bundle: 'x',
    path: `/${entityType}/x`
  })
  const row = (id: number): Resource => ({
    type: 'own--x',
    id: `uuid-${id}`,
    attributes: { drupal_internal__oid: id, drupal_internal__vid: 7 }
  })
  const asked: string[] = []
  let refused: 'sort' | 'filter' | undefined
  const cms = {
    async request({ path, query = [] }: JsonapiRequest) {
      const parameters = Object.fromEntries(query)
      asked.push(`${path} ${Object.keys(parameters).join()}`)
      if (refused && Object.keys(parameters).some((name) => name.startsWith(refused!))) return { status: 403, document: {} }
      const isFiltered = Object.keys(parameters).some((name) => name.startsWith('filter'))
      const offset = Number(parameters['page[offset]'] ?? 0)
      if (isFiltered && path === '/bare/x') return { status: 200, document: { data: [{ type: 'bare--x', id: 'without-attributes' }] } }
      const rows =
        isFiltered || path !== '/own/x' ? [] : Array.from({ length: 120 }, (_, index) => row(120 - index)).slice(offset, offset + 50)
      return { status: 200, document: { data: rows, ...(offset + 50 < 120 && !isFiltered && { links: { next: {} } }) } }
    }
  }
  const catalog = { all: async () => ['own', 'bare'].map(collection), editions: async () => [] } as unknown as Catalog
  const references = createReferences({
    cms,
    catalog,
    filters: {
      recall: () => undefined,
      reach: async () => 'none',
      findings: async () => ({ verdict: 'trap', proven: new Set(), missed: new Set(), areSorted: true }),
      doubt() {}
    },
    rows: createRowMemory(),
    model
  })
  const wanted = (entityType: string, id: string) => [{ field: 'field_own', delta: 0, entityType, id, isNamed: false }]
  const resolve = await references.resolver(wanted('own', '3'), newCaller())
  t.strictSame(resolve({ entityType: 'own', id: '3', field: 'field_own', delta: 0 }), { type: 'own--x', id: 'uuid-3' })
  const before = asked.length
  await references.resolver(wanted('own', '3'), newCaller())
  t.equal(asked.length, before, 'once found, remembered')
  await references.resolver(wanted('own', '4'), newCaller())
  for (const [entityType, id] of [
    ['own', '121'],
    ['own', 'x'],
    ['bare', '5'],
    ['nowhere', '5']
  ] as const) {
    await t.rejects(references.resolver(wanted(entityType, id), newCaller()), {
      code: 'UNPROCESSABLE',
      message: new RegExp(
        `^Unprocessable Entity: validation failed\\.\nfield_own\\.0\\.target_id: The referenced entity \\(${entityType}: ${id}\\) does not exist\\.\n`
      )
    })
  }
  for (const parameter of ['sort', 'filter'] as const) {
    refused = parameter
    await t.rejects(references.resolver(wanted('own', '5'), newCaller()), { code: 'CMS_FORBIDDEN' })
  }
  t.strictSame((await references.resolver([], newCaller()))({ entityType: 'own', uuid: 'u', field: 'f', delta: 0 }), {
    type: 'own--x',
    id: 'u'
  })
  t.strictSame((await references.resolver([], newCaller()))({ entityType: 'nowhere', uuid: 'u', field: 'f', delta: 0 }), {
    type: 'nowhere--nowhere',
    id: 'u'
  })
})
