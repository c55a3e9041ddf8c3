import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { newspaper } from '../../dev/content.ts'
import { contentModel } from '#lib/editions/model.ts'
import { etagOf } from '#lib/editions/translate/etag.ts'
import { createPlans } from '#lib/editions/translate/plans.ts'
import { createTexts } from '#lib/editions/translate/texts.ts'
import type { Resource } from '#lib/drupal/document.ts'
import { openHostile, type Behaviour } from './hostile-cms.ts'
import { basic, editionsOf, failed, open, writes } from './site.ts'

const value = (field: Array<{ value: unknown }>) => field[0]?.value
const title = (text: string) => ({ title: [{ value: text }] })
const { id, uuid } = editionsOf(newspaper()).find(({ published, bundle }) => published && bundle === 'daily')!
const path = `/api/collection/${id}`

function modelFile(t: Test, model: object): string {
  const file = join(t.testdir({}), 'model.json')
  writeFileSync(file, JSON.stringify(model))
  return file
}

/** The two parts of an edition's tag. */
function partsOf(etag: unknown): [fields: string, urls: string] {
  const [, fields, urls] = /^"([\w-]{16})\.([\w-]{16})"$/.exec(String(etag)) ?? []
  return [fields!, urls!]
}

/** The sample paper with bundles that make no revisions of their own accord. */
function withoutRevisions() {
  const content = newspaper()
  for (const { type, config } of content.entities) {
    if (type === 'publisher_container_type--publisher_container_type') Object.assign(config!, { new_revision: false })
  }
  return content
}

/** What saves without a new revision: Drupal's bundle setting through Quoin itself, and core REST, which never makes one. */
const saves: Array<
  [what: string, save: (site: { url: string; call: Awaited<ReturnType<typeof open>>['call'] }, text: string) => Promise<number>]
> = [
  [
    'through Quoin, in a bundle that makes no revisions',
    async ({ call }, text) => (await call('POST', path, { body: title(text), as: 'editor2' })).status
  ],
  [
    'through core REST',
    async ({ url }, text) => {
      const headers = { ...basic('editor2'), 'content-type': 'application/json' }
      return (
        await fetch(`${url}/publisher_container/${id}?_format=json`, {
          method: 'PATCH',
          headers,
          body: JSON.stringify({ type: 'daily', ...title(text) })
        })
      ).status
    }
  ]
]

for (const [what, save] of saves) {
  t.test(`of two saves within a second the second is not taken for the first, ${what}`, async (t) => {
    const now = Date.UTC(2026, 10, 20, 12)
    const site = await open(t, { content: withoutRevisions(), now: () => now })
    const { call } = site
    const tags = new Set()
    for (const text of ['One', 'Two', 'Three']) {
      t.equal(await save(site, `${text}, first`), 200)
      const before = await call('GET', path, { as: 'editor' })
      t.equal(await save(site, `${text}, second`), 200)
      const after = await call('GET', path, { as: 'editor' })
      t.strictSame(
        [after.body.revision_id, after.body.changed],
        [before.body.revision_id, before.body.changed],
        'neither revision nor changed tells them apart'
      )
      const late = await call('POST', path, {
        body: { ...title('Late'), field_page_count: [{ value: 7 }] },
        as: 'editor',
        headers: { 'if-match': String(before.headers.etag) }
      })
      failed(t, text, late, 412, 'PRECONDITION_FAILED', /^Somebody else has saved this edition since you read it/)
      t.strictSame(writes(late.upstream), [], 'nothing is sent')
      t.equal(late.headers.etag, after.headers.etag, 'the tag of the edition as it is')
      tags.add(before.headers.etag).add(after.headers.etag)
    }
    t.equal(tags.size, 6, 'each state has a tag of its own')
    const { etag } = (await call('GET', path, { as: 'editor' })).headers
    const inTime = await call('POST', path, { body: title('In time'), as: 'editor', headers: { 'if-match': String(etag) } })
    t.equal(inTime.status, 200)
    t.equal(
      (await call('GET', path, { as: 'editor' })).headers.etag,
      inTime.headers.etag,
      'a save is answered with the tag of the next read'
    )
  })
}

t.test('an edition that was read before another save ended is not taken for the present one', async (t) => {
  const now = Date.UTC(2026, 10, 20, 12)
  const { cms, call } = await openHostile(t, { content: withoutRevisions(), now: () => now })
  t.equal((await call('POST', path, { body: title('First'), as: 'editor' })).status, 200)
  // What is shown in one language is no base in another: who saves late looks before his turn.
  const { etag } = (await call('GET', path, { as: 'editor2', headers: { 'accept-language': 'en' } })).headers
  const options = (text: string, as: string) => ({ body: title(text), as, headers: { 'if-match': String(etag) } })
  const [isRead, mayGoOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  cms.behave = async ({ method }, honest) => {
    if (method !== 'GET') return undefined
    cms.behave = () => undefined
    const answer = await honest()
    isRead.resolve()
    await mayGoOn.promise
    return answer
  }
  const late = call('POST', path, options('Late', 'editor2'))
  await isRead.promise
  t.equal((await call('POST', path, options('In time', 'editor'))).status, 200)
  mayGoOn.resolve()
  t.equal((await late).status, 412)
  t.equal(value((await call('GET', path, { as: 'editor' })).body.title), 'In time')
})

t.test('an entity type with neither revision nor changed', async (t) => {
  const { call, cms } = await openHostile(t)
  cms.behave = stripped
  const [one, two] = await Promise.all([id, id - 1].map((id) => call('GET', `/api/collection/${id}`, { as: 'editor' })))
  t.notOk('revision_id' in one!.body || 'changed' in one!.body)
  t.not(one!.headers.etag, two!.headers.etag, 'two editions have two tags')
  const ifMatch = { 'if-match': String(one!.headers.etag) }
  const saved = await call('POST', path, { body: title('First'), as: 'editor', headers: ifMatch })
  t.equal(saved.status, 200, saved.body.message)
  failed(t, 'late', await call('POST', path, { body: title('Late'), as: 'editor', headers: ifMatch }), 412, 'PRECONDITION_FAILED')
  t.equal(value((await call('GET', path, { as: 'editor' })).body.title), 'First')
  const [bundle, key] = [{ type: 'daily' }, { field_key: ['no-revision'] }]
  const created = await call('POST', '/api/collection', { body: { ...bundle, ...key, ...title('New') }, as: 'editor' })
  const read = await call('GET', String(created.headers.location), { as: 'editor' })
  t.strictSame([created.status, read.headers.etag], [201, created.headers.etag])
})

/** A site whose editions have none of the fields that tell their states apart. */
const stripped: Behaviour = async ({ path }, honest) => {
  const answer = await honest()
  if (path.startsWith('/jsonapi/publisher_container/')) {
    for (const resource of [answer.body.data].flat()) {
      for (const name of ['drupal_internal__revision_id', 'revision_timestamp', 'changed']) delete resource.attributes?.[name]
    }
  }
  return answer
}

t.test('a new path alias of an article refuses no save, and is read at once', async (t) => {
  const { call, cms } = await openHostile(t)
  let alias = '/articles/old'
  cms.behave = async ({ path }, honest) => {
    const answer = await honest()
    if (path.startsWith('/jsonapi/publisher_container/')) {
      for (const { type, attributes } of answer.body.included ?? []) {
        if (type === 'node--article' && attributes.path) attributes.path = { ...attributes.path, alias }
      }
    }
    return answer
  }
  const before = await call('GET', path, { as: 'editor' })
  t.equal(before.body.field_articles[0].url, '/articles/old')
  alias = '/articles/new'
  const after = await call('GET', path, { as: 'editor', headers: { 'if-none-match': String(before.headers.etag) } })
  t.strictSame([after.status, after.body?.field_articles[0].url], [200, '/articles/new'], 'no 304 keeps the old url')
  const [[fields, urls], [sameFields, otherUrls]] = [partsOf(before.headers.etag), partsOf(after.headers.etag)]
  t.equal(sameFields, fields)
  t.not(otherUrls, urls)
  const saved = await call('POST', path, {
    body: title('Under the old url'),
    as: 'editor',
    headers: { 'if-match': String(before.headers.etag) }
  })
  t.equal(saved.status, 200)
  t.strictSame(
    [partsOf(saved.headers.etag)[0] === fields, partsOf(saved.headers.etag)[1]],
    [false, otherUrls],
    'a save changes the other part alone'
  )
})

t.test(
  'a database that pads decimals, as MySQL does, makes no other tag of what was saved, where the field is known as a decimal',
  async (t) => {
    const { call, cms } = await openHostile(t, { env: { CONTENT_MODEL: modelFile(t, { decimalFields: ['field_price'] }) } })
    const padded: Record<string, string> = { 2.5: '2.50', 12: '12.00', '-3.1': '-3.10' }
    cms.behave = async ({ method, path }, honest) => {
      const answer = await honest()
      if (method === 'GET' && path.startsWith('/jsonapi/publisher_container/')) {
        for (const { attributes } of [answer.body.data].flat()) {
          attributes.field_price = padded[attributes.field_price] ?? attributes.field_price
        }
      }
      return answer
    }
    const tags = new Set()
    for (const [price, read] of Object.entries(padded)) {
      const saved = await call('POST', path, { body: { field_price: [price] }, as: 'editor' })
      t.equal(value(saved.body.field_price), price)
      const next = await call('GET', path, { as: 'editor' })
      t.strictSame([value(next.body.field_price), next.headers.etag], [read, saved.headers.etag])
      tags.add(next.headers.etag)
    }
    t.equal(tags.size, 3)
  }
)

const tagOf = (attributes: Record<string, unknown>, model = contentModel({})) =>
  etagOf({ type: 'publisher_container--daily', id: 'a', attributes }, model)

t.test('whatever a text looks like, another one has another tag', (t) => {
  const pairs: Array<[string, string]> = [
    ['1.50', '1.5'],
    ['3.10', '3.1'],
    ['2026.10', '2026.1'],
    ['1.00', '1'],
    ['-0.10', '-0.1'],
    ['1.5.0', '1.5']
  ]
  for (const [one, other] of pairs) {
    t.not(tagOf({ title: one }), tagOf({ title: other }), one)
    t.not(
      tagOf({ title: one }, contentModel({ decimalFields: ['field_price'] })),
      tagOf({ title: other }, contentModel({ decimalFields: ['field_price'] })),
      one
    )
  }
  t.end()
})

t.test('of a decimal field the zeros that say nothing do not count', (t) => {
  const tag = (value: unknown) => tagOf({ field_price: value }, contentModel({ decimalFields: ['field_price'] }))
  const same: Array<[string, string]> = [
    ['1.50', '1.5'],
    ['1.00', '1'],
    ['-0.10', '-0.1'],
    ['100.10', '100.1'],
    ['0.50', '.5'],
    ['+2.0', '2'],
    ['-0.00', '0'],
    ['007.5', '7.5']
  ]
  for (const [one, other] of same) {
    t.equal(tag(one), tag(other), one)
    t.equal(tag([one, '3']), tag([other, '3']), 'of several')
    t.equal(tag({ number: one, currency_code: 'EUR' }), tag({ number: other, currency_code: 'EUR' }), 'with another property')
  }
  const others = [
    ['10', '1'],
    ['1.05', '1.5'],
    ['150', '15'],
    ['0.10', '0.01'],
    ['1.50 euros', '1.5 euros'],
    ['', '0'],
    ['.', '0'],
    ['-1', '1'],
    ['1e1', '10'],
    [null, '0']
  ]
  for (const [one, other] of others) t.not(tag(one), tag(other), String(one))
  const long = '0'.repeat(4_000_000)
  t.not(tag(`1.${long}`), tag('1'), 'nobody has decimals of this length')
  t.end()
})

t.test('a key or a title that gets a zero has another tag, within one second and without a new revision', async (t) => {
  const now = Date.UTC(2026, 10, 20, 12)
  const site = await open(t, { content: withoutRevisions(), now: () => now })
  const { call } = site
  for (const [field, one, other] of [
    ['title', '3.1', '3.10'],
    ['field_key', '2026.1', '2026.10']
  ] as const) {
    t.equal((await call('POST', path, { body: { [field]: [{ value: one }] }, as: 'editor' })).status, 200)
    const {
      headers: { etag }
    } = await call('GET', path, { as: 'editor2' })
    t.equal((await call('POST', path, { body: { [field]: [{ value: other }] }, as: 'editor' })).status, 200)
    t.equal((await call('GET', path, { as: 'editor2', headers: { 'if-none-match': String(etag) } })).status, 200, `${field}: no 304`)
    const late = await call('POST', path, { body: { [field]: [{ value: 'Late' }] }, as: 'editor2', headers: { 'if-match': String(etag) } })
    failed(t, field, late, 412, 'PRECONDITION_FAILED')
  }
})

t.test('the order in which Drupal lists the members makes no other tag', async (t) => {
  const { call, url } = await open(t)
  const order = async () =>
    Object.keys(
      (
        (await (await fetch(`${url}/jsonapi/publisher_container/daily/${uuid}`, { headers: basic('editor') })).json()) as {
          data: { attributes: object }
        }
      ).data.attributes
    )
  const first = await order()
  for (const text of ['One', 'Two', 'Three']) {
    const saved = await call('POST', path, { body: title(text), as: 'editor' })
    const sparse = await fetch(
      `${url}/jsonapi/publisher_container/daily/${uuid}?fields[publisher_container--daily]=title,field_section,changed`,
      { headers: basic('reader') }
    )
    t.equal(sparse.status, 200)
    t.not((await order()).join(), first.join(), 'what was asked for comes first')
    const again = await call('GET', path, { as: 'editor' })
    t.equal(again.headers.etag, saved.headers.etag)
    const next = await call('POST', path, {
      body: title(`${text} again`),
      as: 'editor',
      headers: { 'if-match': String(saved.headers.etag) }
    })
    t.equal(next.status, 200, next.body.message)
  }
})

t.test('nor does that of relationships, of their urls, or of the members of a value', (t) => {
  const relationships = { a: { data: [{ type: 'x', id: '1' }] }, b: { data: [{ type: 'x', id: '2', meta: { alt: 'A', width: 1 } }] } }
  const resource = {
    type: 'publisher_container--daily',
    id: 'a',
    attributes: { title: 'T', field_map: { x: 1, y: { z: [1, 2], w: 3 } } },
    relationships
  }
  const other = {
    ...resource,
    attributes: { field_map: { y: { w: 3, z: [1, 2] }, x: 1 }, title: 'T' },
    relationships: { b: { data: [{ type: 'x', id: '2', meta: { width: 1, alt: 'A' } }] }, a: relationships.a }
  }
  const texts = () => createTexts({ model: contentModel({}), planFor: createPlans(contentModel({})) })
  const tag = (resource: Resource) => texts().editionOf({ resource, urlOf: ({ id }) => `/${id}` }).etag
  t.equal(tag(other), tag(resource))
  t.not(
    tag({ ...resource, attributes: { ...resource.attributes, field_map: { x: 1, y: { z: [2, 1], w: 3 } } } }),
    tag(resource),
    'the order of a list is a value'
  )
  const { editionOf } = texts()
  const urlOf = () => '/x'
  const sameValues = {
    ...resource,
    attributes: { field_map: resource.attributes.field_map, title: 'T' },
    relationships: { b: relationships.b, a: relationships.a }
  }
  t.equal(editionOf({ resource: sameValues, urlOf }).json, editionOf({ resource, urlOf }).json, 'an instance lists the fields in one order')
  t.end()
})

t.test('who is shown other fields, or another language, has another tag', async (t) => {
  const { call, cms } = await openHostile(t)
  cms.behave = async ({ path, headers }, honest) => {
    const answer = await honest()
    if (headers['accept-language'] === 'de' && path.startsWith('/jsonapi/publisher_container/')) {
      for (const { attributes } of [answer.body.data].flat()) {
        Object.assign(attributes, { title: `${attributes.title} (de)`, langcode: 'de' })
      }
    }
    return answer
  }
  const tag = async (as: string, headers = {}) => String((await call('GET', path, { as, headers })).headers.etag)
  const etag = await tag('editor')
  t.equal(partsOf(await tag('editor2'))[0], partsOf(etag)[0], 'who is shown the same fields has the same first part')
  const others: Array<[what: string, etag: string]> = [
    ['a reader, who sees no internal note', await tag('reader')],
    ['another language', await tag('editor', { 'accept-language': 'de' })]
  ]
  for (const [what, other] of others) {
    t.not(partsOf(other)[0], partsOf(etag)[0], what)
    failed(
      t,
      what,
      await call('POST', path, { body: title('x'), as: 'editor', headers: { 'if-match': other } }),
      412,
      'PRECONDITION_FAILED'
    )
  }
})

t.test('the tag of an edition is the same however it is asked for', async (t) => {
  const { call } = await open(t)
  const { body, headers } = await call('GET', path, { as: 'editor' })
  await call('GET', '/api/collections/daily?limit=3', { as: 'editor' })
  for (const id of [value(body.uuid), String(value(body.uuid)).toUpperCase(), value(body.id)]) {
    t.equal((await call('GET', `/api/collection/${id}`, { as: 'editor' })).headers.etag, headers.etag)
  }
  t.equal((await call('POST', path, { body: {}, as: 'editor' })).headers.etag, headers.etag, 'a save that changes nothing')
})

t.test('a GET with If-None-Match or If-Match', async (t) => {
  const { app, call } = await open(t)
  const fresh = await app.inject({ url: path, headers: basic('editor') })
  const etag = String(fresh.headers.etag)
  const [fields, urls] = partsOf(etag)
  for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
    for (const method of ['GET', 'HEAD'] as const) {
      const reply = await app.inject({ method, url: path, headers: { ...basic('editor'), 'if-none-match': known } })
      t.match(
        [reply.statusCode, reply.body, reply.headers.etag, reply.headers['cache-control']],
        [304, '', etag, fresh.headers['cache-control']],
        `${method} ${known}`
      )
      t.notOk('content-type' in reply.headers)
      t.equal(
        reply.headers['content-length'],
        method === 'HEAD' ? fresh.headers['content-length'] : undefined,
        'if a length, that of the edition'
      )
    }
  }
  for (const other of ['"other"', `"${fields}.other"`, `"other.${urls}"`, fields, '']) {
    const reply = await app.inject({ url: path, headers: { ...basic('editor'), 'if-none-match': other } })
    t.strictSame([reply.statusCode, reply.body], [200, fresh.body], other)
  }
  const ifMatch = (tag: string, others = {}) => call('GET', path, { as: 'editor', headers: { 'if-match': tag, ...others } })
  for (const same of [etag, '*', `"other.x", ${etag}`, `"${fields}.other"`, `"${fields}.${urls}-gzip"`]) {
    t.strictSame((await ifMatch(same)).body, fresh.json(), same)
  }
  for (const other of ['"other"', `"other.${urls}"`, `W/${etag}`, '""', '".x"', '']) {
    const reply = await ifMatch(other)
    failed(t, other, reply, 412, 'PRECONDITION_FAILED', 'The edition is not in the state that If-Match names; ETag names the present one')
    t.equal(reply.headers.etag, etag)
  }
  t.equal((await ifMatch(etag, { 'if-none-match': etag })).status, 304)
  failed(t, 'If-Match comes first', await ifMatch('"other"', { 'if-none-match': etag }), 412, 'PRECONDITION_FAILED')
  failed(
    t,
    'what is not there',
    await call('GET', '/api/collection/999', { as: 'editor', headers: { 'if-none-match': '*' } }),
    404,
    'NOT_FOUND'
  )
})

t.test('a save with If-None-Match is refused, and nothing is sent', async (t) => {
  const { app, cms } = await open(t)
  const saves = [
    ['POST', path],
    ['POST', `${path}/articles`],
    ['POST', `${path}/close`],
    ['POST', `${path}/restore`],
    ['PUT', '/api/collections/daily/by-key/x']
  ] as const
  for (const [method, url] of saves) {
    const reply = await app.inject({
      method,
      url,
      headers: { ...basic('editor'), 'if-none-match': '*' },
      body: { title: [{ value: 'T' }] }
    })
    t.match(
      [reply.statusCode, reply.json().message],
      [400, 'headers/if-none-match is taken only by reads and by the POST that locks a field'],
      url
    )
  }
  t.strictSame(cms.requestLines, [])
})

t.test('a copy, while the CMS is down, has the tag that it had, also for who has it already', async (t) => {
  const { call, cms } = await openHostile(t)
  const {
    headers: { etag }
  } = await call('GET', path, { as: 'editor' })
  const known = { 'if-none-match': String(etag) }
  t.equal((await call('GET', path, { as: 'reader', headers: { 'if-none-match': '*' } })).status, 304)
  const list = (headers = {}) => call('GET', '/api/collections/daily?limit=1', { as: 'editor', headers })
  await list()
  cms.behave = () => ({ status: 500, body: {} })
  const ask = (headers = {}) => call('GET', path, { as: 'editor', headers })
  t.match(await ask(), { status: 200, headers: { etag, age: /^\d+$/ } })
  t.match(await ask(known), { status: 304, headers: { etag, age: /^\d+$/, 'cache-status': /^quoin; fwd=stale/ } })
  t.match(await ask({ 'if-match': etag }), { status: 200, headers: { etag } })
  t.match(await list({ 'if-match': '"other"' }), { status: 200, headers: { age: /^\d+$/ } }, 'a list has no tag to compare')
  t.match(
    await call('GET', path, { as: 'reader' }),
    { status: 200, body: { id: [{ value: id }] } },
    'a copy was kept of what was answered 304'
  )
  failed(t, 'whether it is in another state by now is not known', await ask({ 'if-match': '"other"' }), 502, 'CMS_FAILED')
})
