import assert from 'node:assert/strict'
import t from 'tap'
import { splitType } from '#lib/editions/model.ts'
import { createPlans } from '#lib/editions/translate/plans.ts'
import { read } from '#lib/editions/translate/read.ts'
import type { EditionJson, FieldItem } from '#lib/editions/translate/edition-json.ts'
import { createShapes } from '#lib/editions/site/shapes.ts'
import { targetOf } from '#lib/editions/translate/urls.ts'
import { urlsOf } from '#lib/editions/translate/urls.ts'
import type { Resource } from '#lib/drupal/document.ts'
import fc from '../fixtures/property.ts'
import { runs } from '../scope.ts'
import { recording, recordings, versions } from '../fixtures/recordings.ts'
import { anyEdition, model, recordedEditions, recordedResources, withoutUrls } from './fixtures.ts'

const CMS = 'http://cms.example'

const told = (targets: Resource[]) =>
  new Map(
    [...Map.groupBy(targets, ({ type }) => type)].map(([type, same]) => [
      type,
      new Map(same.map(({ id, attributes }) => [id, targetOf(attributes)]))
    ])
  )

for (const version of versions) {
  t.test(`reading a JSON:API document of Drupal ${version} gives the body of its core REST, urls included`, async (t) => {
    // One member comes by `include` alone: the url of a reference whose target is a file or has an alias. Recorded documents of
    // the targets stand in for what `include` brings; where none is recorded (a file, and an article hidden from anonymous) the
    // url is left to test:drupal, which compares with a living site.
    const targets = recordedResources(undefined, version)
    const urlOf = urlsOf(told(targets), model, new URL(CMS))
    const recorded = new Set(targets.map(({ id }) => id))
    const comparable = ({ url, ...item }: FieldItem) =>
      url === undefined || (!recorded.has(String(item.target_uuid)) && !String(url).startsWith('/user/')) ? item : { ...item, url }
    const bodies = recordings(({ name, response }) => name.startsWith('rest-get') && response.body?.revision_id, version)
    const pairs = bodies.flatMap(({ name, request, response: { body } }) => {
      // What a user may see differs: editor2 has the editor's permissions, a wrong password makes anonymous.
      const user = name.includes('wrong-password') ? 'anonymous' : request.as.replace('2', '')
      const document = recordedEditions(user, version).find(
        (edition) =>
          edition.id === body.uuid[0].value &&
          edition.attributes!.drupal_internal__revision_id === body.revision_id[0].value &&
          edition.attributes!.changed === body.changed[0].value &&
          !JSON.stringify(edition).includes('"missing"')
      )
      return document ? [{ name, body, document }] : []
    })
    t.equal(pairs.length, 13, 'golden pairs')
    let urls = 0
    for (const { name, body, document } of pairs) {
      const entity = read(document, model, urlOf)
      t.strictSame(Object.keys(entity).sort(), Object.keys(body).sort(), `${name}: the same fields`)
      for (const [field, items] of Object.entries<FieldItem[]>(body)) {
        if (name === 'rest-get-after-referenced-article-deleted' && field === 'field_articles') continue
        urls += items.map(comparable).filter(({ url }) => url).length
        t.strictSame(entity[field]!.map(comparable), items.map(comparable), `${name}: ${field}`)
      }
    }
    t.ok(urls > 20, `${urls} urls compared`)
  })
}

for (const version of versions) {
  t.test(`of a reference to an entity that is gone only its place is left, before Drupal ${version}`, async (t) => {
    const { data } = recording('jsonapi-individual-include-dangling', version).response.body
    const rest = recording('rest-get-after-referenced-article-deleted', version).response.body
    const entity = read(data, model)
    const gone = rest.field_articles.findIndex((item: EditionJson) => !('target_type' in item))
    t.strictSame(entity.field_articles![gone], { target_id: null })
    t.equal(entity.field_articles!.length, rest.field_articles.length)
    t.strictSame(read({ ...data, relationships: { parent: { data: { type: 'taxonomy_term--sections', id: 'virtual' } } } }, model).parent, [
      { target_id: null }
    ])
  })
}

t.test('reading never throws and gives lists of objects, whatever comes (property 1)', async () => {
  const resource = fc.record(
    {
      type: fc.string(),
      id: fc.string(),
      attributes: fc.dictionary(fc.string(), fc.jsonValue()),
      relationships: fc.dictionary(fc.string(), fc.record({ data: fc.jsonValue() }))
    },
    { requiredKeys: ['type', 'id'] }
  )
  fc.assert(
    fc.property(resource, (resource) =>
      Object.values(read(resource as Resource, model)).every(
        (items) => Array.isArray(items) && items.every((item) => typeof item === 'object' && item !== null)
      )
    )
  )
})

t.test('flat and itemised values read the same (property 2)', async () => {
  fc.assert(
    fc.property(anyEdition, (edition) => {
      const itemised = Object.entries(edition.attributes!).map(([name, value]) => [
        name,
        value === null ? [] : [value].flat().map((item) => (typeof item === 'object' && item !== null ? item : { value: item }))
      ])
      assert.deepEqual(read({ ...edition, attributes: Object.fromEntries(itemised) }, model), read(edition, model))
    }),
    { numRuns: runs(50) }
  )
})

t.test('the names that JSON:API reserves are given back', async (t) => {
  const issue = { ...model, entityType: 'issue', keys: { ...model.keys, id: 'iid', revision: 'vid', bundle: 'bundle' } }
  const resource = {
    type: 'issue--weekly',
    id: 'u',
    attributes: { drupal_internal__iid: 3, drupal_internal__vid: 4, drupal_internal__nid: 5, issue_type: 'x' }
  }
  t.strictSame(read(resource, issue), {
    uuid: [{ value: 'u' }],
    iid: [{ value: 3 }],
    vid: [{ value: 4 }],
    drupal_internal__nid: [{ value: 5 }],
    issue_type: [{ value: 'x' }],
    bundle: [{ target_id: 'weekly', target_type: 'publisher_container_type' }]
  })
})

t.test('a field may be called as JavaScript calls the prototype', async (t) => {
  const resource = JSON.parse(
    '{"type":"publisher_container--daily","id":"u","attributes":{"__proto__":1},"relationships":{"constructor":{"data":{"type":"node--article","id":"v","meta":{"__proto__":2}}}}}'
  )
  t.equal(
    JSON.stringify(read(resource, model)),
    JSON.stringify({
      uuid: [{ value: 'u' }],
      ['__proto__']: [{ value: 1 }],
      constructor: [{ target_id: null, ['__proto__']: 2, target_type: 'node', target_uuid: 'v' }],
      type: [{ target_id: 'daily', target_type: 'publisher_container_type' }]
    })
  )
})

t.test('what resources show of a collection is learned from one after the other', async (t) => {
  const shapes = createShapes(model)
  const type = 'publisher_container--daily'
  const learned = (resource: Partial<Resource>) => {
    shapes.learn({ type, id: 'u', ...resource })
    return [...shapes.of(type)!].map(([field, { kind, many, sample }]) => [field, kind, many, sample?.id])
  }
  t.strictSame(learned({}), [])
  t.strictSame(learned({ relationships: { uid: { data: null }, field_articles: { data: [] } } }), [
    ['uid', 'relationship', false, undefined],
    ['field_articles', 'relationship', true, undefined]
  ])
  t.equal(learned({ relationships: { uid: { data: null }, field_articles: { data: [] } } }).length, 2)
  t.strictSame(learned({ attributes: { title: 'T' }, relationships: { uid: { data: { type: 'user--user', id: 'v' } } } }), [
    ['uid', 'relationship', false, 'v'],
    ['field_articles', 'relationship', true, undefined],
    ['title', 'attribute', false, undefined]
  ])
  shapes.forget(type)
  t.equal(shapes.of(type), undefined)
})

t.test('renamed resource types, raw fields and other main properties are read as the content model says', async (t) => {
  const own = {
    ...model,
    resourceTypes: { edition: { entityType: 'publisher_container', bundle: 'daily' } },
    rawFields: ['field_map'],
    mainProperty: { field_odd: 'code' }
  }
  const resource = {
    type: 'edition',
    id: 'u',
    attributes: { field_map: { a: [1] }, field_odd: 'x' },
    relationships: { uid: { data: { type: 'user--user', id: 'v' } } }
  }
  const entity = read(resource, own)
  t.strictSame(entity.type, [{ target_id: 'daily', target_type: 'publisher_container_type' }])
  t.strictSame(entity.field_map, [{ a: [1] }])
  const raw = (value: unknown) => read({ ...resource, attributes: { field_map: value } }, own).field_map
  t.strictSame(
    [raw([{ a: 1 }, { b: [] }]), raw([]), raw(['x', { a: 1 }]), raw(null)],
    [[{ a: 1 }, { b: [] }], [], [['x', { a: 1 }]], []],
    'a list of objects is one of items, any other is an item'
  )
  t.strictSame(entity.field_odd, [{ code: 'x' }])
  t.strictSame(entity.uid, [{ target_id: null, target_type: 'user', target_uuid: 'v' }])
})

t.test('a url is an alias, a file address or the canonical path, below the path Drupal lives under', async (t) => {
  const included: Resource[] = [
    { type: 'node--article', id: 'a', attributes: { path: { alias: '/articles/a' } } },
    { type: 'node--article', id: 'b', attributes: { path: { alias: null } } },
    { type: 'file--file', id: 'f', attributes: { uri: { url: '/cms/files/f.png' } } }
  ]
  const urlOf = urlsOf(told(included), model, new URL('https://news.example/cms'))
  const url = (type: string, id: string) => urlOf({ type, id, meta: { drupal_internal__target_id: 9 } }, type.split('--')[0]!)
  t.equal(url('node--article', 'a'), '/cms/articles/a')
  t.equal(url('node--article', 'b'), '/cms/node/9')
  t.equal(url('node--article', 'hidden'), '/cms/node/9')
  t.equal(url('file--file', 'f'), 'https://news.example/cms/files/f.png')
  t.equal(url('file--file', 'hidden'), undefined)
  t.equal(url('block_content--basic', 'x'), '/cms/admin/content/block/9')
  t.equal(url('menu_link_content--menu_link_content', 'x'), '/cms/admin/structure/menu/item/9/edit')
  t.equal(urlOf({ type: 'user--user', id: 'x' }, 'user'), undefined, 'no id, no path')
  t.strictSame(withoutUrls({ a: [{ url: 'x', value: 1 }] }), { a: [{ value: 1 }] })
})

t.test('of two targets with one uuid each reference has the url of its own', async (t) => {
  const target = (type: string, alias: string): Resource => ({ type, id: 'same', attributes: { path: { alias } } })
  const urlOf = urlsOf(
    told([
      target('node--article', '/first'),
      target('node--page', '/other'),
      target('node--article', '/last'),
      target('taxonomy_term--tags', '/tag')
    ]),
    model,
    new URL(CMS)
  )
  const url = (type: string) => urlOf({ type, id: 'same', meta: { drupal_internal__target_id: 9 } }, 'node')
  t.strictSame(['node--article', 'node--page', 'taxonomy_term--tags', 'node--story'].map(url), ['/last', '/other', '/tag', '/node/9'])
})

t.test('the address of a file is what a parser of URLs makes of it, whatever its path', async () => {
  const segment = fc.oneof(
    fc.constantFrom(
      '.',
      '..',
      '%2e',
      '.%2E',
      '%2E.',
      '',
      'a b.png',
      'ü',
      '~',
      "!$&'()*+,;=:@",
      '[',
      '|',
      '^',
      '"',
      '<',
      '\\',
      '%',
      '%zz',
      'x?y',
      'x#y',
      '\t'
    ),
    fc.string()
  )
  const paths = fc
    .array(segment, { minLength: 1 })
    .map((segments) => `/${segments.join('/')}`)
    .filter((path) => URL.canParse(path, CMS))
  fc.assert(
    fc.property(paths, (path) => {
      const urlOf = urlsOf(told([{ type: 'file--file', id: 'f', attributes: { uri: { url: path } } }]), model, new URL(`${CMS}/cms`))
      assert.equal(urlOf({ type: 'file--file', id: 'f' }, 'file'), new URL(path, CMS).href)
    }),
    { numRuns: runs(1000) }
  )
})

t.test('the absolute address of a file stays as Drupal writes it', async (t) => {
  for (const url of ['https://cdn.example.com/f/a%20b.png', 'https://CDN.example.com:443/a b.png?x=1', 'https://cdn.example.com']) {
    const urlOf = urlsOf(told([{ type: 'file--file', id: 'f', attributes: { uri: { url } } }]), model, new URL(CMS))
    t.equal(urlOf({ type: 'file--file', id: 'f' }, 'file'), url)
  }
})

t.test('an alias is a path of the CMS, however many slashes it begins with', async (t) => {
  const id = { type: 'node--article', id: 'a', meta: { drupal_internal__target_id: 9 } }
  const urlFor = (alias: unknown, site = CMS) =>
    urlsOf(told([{ type: id.type, id: id.id, attributes: { path: { alias } } }]), model, new URL(site))(id, 'node')
  const cases: Array<[alias: string, url: string]> = [
    ['//evil.example/x', '/evil.example/x'],
    ['///evil.example', '/evil.example'],
    ['//', '/'],
    ['/\\evil.example', '/%5Cevil.example'],
    ['/\t/evil.example', '/%09/evil.example'],
    ['/a//b', '/a//b']
  ]
  for (const [alias, url] of cases) {
    t.equal(urlFor(alias), url, alias)
    t.equal(new URL(urlFor(alias)!, CMS).origin, new URL(CMS).origin, alias)
    t.equal(urlFor(alias, `${CMS}/cms`), `/cms${url}`)
  }
  for (const odd of ['', 'javascript:alert(1)', 'https://evil.example', 5]) t.equal(urlFor(odd), '/node/9', `${odd} is no alias`)
  const atRoot = { ...model, canonicalPaths: { node: '/{id}' } }
  const odd = { ...id, meta: { drupal_internal__target_id: '/evil.example' } }
  t.equal(urlsOf(new Map(), atRoot, new URL(CMS))(odd, 'node'), '/evil.example')
})

t.test('the address of a file that is none of the web is not handed on', async (t) => {
  const urlFor = (url: string) =>
    urlsOf(
      told([{ type: 'file--file', id: 'f', attributes: { uri: { url } } }]),
      model,
      new URL(CMS)
    )({ type: 'file--file', id: 'f' }, 'file')
  for (const url of [
    'javascript:alert(1)',
    ' JavaScript:alert(1)',
    'java\nscript:alert(1)',
    'data:text/html,x',
    'ftp://x/y',
    'blob:https://x/y',
    'file:///etc/passwd',
    'private://x',
    'http://'
  ]) {
    t.equal(urlFor(url), undefined, url)
  }
  t.equal(urlFor('files/a b.png'), new URL('files/a%20b.png', CMS).href)
  t.equal(urlFor('//cdn.example/a.png'), new URL('//cdn.example/a.png', CMS).href, 'of another host, as Drupal says')
})

t.test('an edition reads the same after many others, with other fields, as alone', async (t) => {
  const editions = Array.from({ length: 40 }, (_, index): Resource => ({
    type: `publisher_container--${index % 3 ? 'daily' : 'special'}`,
    id: `u${index}`,
    attributes: Object.fromEntries(
      ['title', 'created', `field_${index % 20}`, ...(index % 2 ? ['status'] : [])].map((name) => [name, `${name} of ${index}`])
    ),
    ...(index % 4 && {
      relationships: {
        [`field_${index % 7}_too`]: { data: [{ type: 'node--article', id: `v${index}`, meta: { drupal_internal__target_id: index } }] }
      }
    })
  }))
  for (const edition of [...editions, ...editions]) {
    t.equal(JSON.stringify(read(edition, model)), JSON.stringify(read(edition, { ...model })))
  }
  const types = Array.from({ length: 2000 }, (_, index) => `node--bundle_${index}`)
  t.strictSame(
    [...types, ...types].map((type) => splitType(model, type).bundle),
    [...types, ...types].map((type) => type.slice(6))
  )
})

t.test('a plan is made once for resources of the same type and fields, and the oldest of many goes', async (t) => {
  const planFor = createPlans(model)
  const resources = Array.from({ length: 17 }, (_, index) => ({
    type: `publisher_container--b${index}`,
    id: 'u',
    attributes: { title: 'T' }
  }))
  const [first, ...others] = resources.map(planFor)
  t.equal(planFor(resources[16]!), others.at(-1))
  t.not(planFor(resources[0]!), first)
})
