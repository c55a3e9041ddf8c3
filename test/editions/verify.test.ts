import t from 'tap'
import { newspaper } from '../../dev/content.ts'
import { openHostile, type Asked, type HostileDesk } from './hostile-cms.ts'
import { editionsOf, failed, writes, type Known } from './site.ts'

const [newest, second] = editionsOf(newspaper()).filter(({ bundle, published }) => bundle === 'daily' && published) as [Known, Known]
const change = { title: [{ value: 'Changed' }] }
const NOT_ASKED = /^The CMS was asked for .+ and answered with .+: a cache before it may ignore the query, or mix up its entries/

/** Answers to URLs without regard to their query, as a cache gives them that is set up so: the first answer to each path. */
function withoutQuery(cms: HostileDesk['cms'], from: (asked: Asked) => boolean = () => true): void {
  const answers = new Map<string, any>()
  cms.behave = async (asked, honest) => {
    if (asked.method !== 'GET' || !from(asked)) return undefined
    const answer = answers.get(asked.path) ?? (await honest())
    answers.set(asked.path, answer)
    return answer
  }
}

/** Answers to some requests with the answer to another one. */
function swapped(cms: HostileDesk['cms'], is: (asked: Asked) => boolean, other: (asked: Asked, body: any) => any): void {
  cms.behave = async (asked, honest) => {
    if (!is(asked)) return undefined
    const answer = await honest()
    return { ...answer, body: other(asked, answer.body) }
  }
}

const isWrite = ({ method }: Asked) => method !== 'GET'
const isIndividual = ({ path, method }: Asked) => method === 'GET' && /\/(?:daily|special)\/[\w-]{36}$/.test(path)

t.test('before a cache that ignores queries no other edition is read or written for the integer id asked for', async (t) => {
  const { call, cms } = await openHostile(t)
  withoutQuery(cms)
  t.equal((await call('GET', '/api/collections/daily?limit=1', { as: 'editor' })).status, 200, 'a list is a list')
  for (const [method, body] of [
    ['GET', undefined],
    ['POST', change]
  ] as const) {
    const reply = await call(method, '/api/collection/998', { as: 'editor', ...(body && { body }) })
    failed(t, method, reply, 502, 'CMS_INVALID_RESPONSE', NOT_ASKED)
    t.match(reply.body.message, /^The CMS was asked for edition 998 and answered with publisher_container--\w+ [\w-]{36}: /)
    t.strictSame(writes(reply.upstream), [], 'nothing is written')
  }
})

t.test('an answer with another edition is none, whatever the edition was asked for by', async (t) => {
  const { call, cms } = await openHostile(t)
  const other = (await (await fetch(`${cms.url}/jsonapi/publisher_container/daily/${second.uuid}`)).json()) as any
  await call('GET', `/api/collection/${newest.id}`, { as: 'editor' })
  cms.behave = (asked) => (isIndividual(asked) && asked.path.endsWith(newest.uuid) ? { body: other } : undefined)
  for (const id of [newest.uuid, newest.uuid.toUpperCase(), newest.id]) {
    for (const [method, body] of [
      ['GET', undefined],
      ['POST', change]
    ] as const) {
      const reply = await call(method, `/api/collection/${id}`, { as: 'editor', ...(body && { body }) })
      failed(
        t,
        `${method} ${id}`,
        reply,
        502,
        'CMS_INVALID_RESPONSE',
        new RegExp(`^The CMS was asked for edition ${newest.uuid} and answered with publisher_container--daily ${second.uuid}: `, 'i')
      )
      t.strictSame(writes(reply.upstream), [])
    }
  }
  failed(
    t,
    'its lock board',
    await call('GET', `/api/collection/${newest.uuid}/locks`, { as: 'editor' }),
    502,
    'CMS_INVALID_RESPONSE',
    NOT_ASKED
  )
  cms.behave = (asked) => (isIndividual(asked) ? { body: { data: { ...other.data, id: newest.uuid, type: 'node--article' } } } : undefined)
  failed(
    t,
    'of another entity type',
    await call('GET', `/api/collection/${newest.uuid}`, { as: 'editor' }),
    502,
    'CMS_INVALID_RESPONSE',
    NOT_ASKED
  )
  cms.behave = (asked) =>
    isIndividual(asked)
      ? {
          body: { data: { ...other.data, id: newest.uuid, attributes: { ...other.data.attributes, drupal_internal__id: { toString: 5 } } } }
        }
      : undefined
  failed(
    t,
    'with an integer id that is none',
    await call('GET', `/api/collection/${newest.uuid}`, { as: 'editor' }),
    502,
    'CMS_INVALID_RESPONSE',
    NOT_ASKED
  )
  cms.behave = (asked) => (isIndividual(asked) ? { body: { data: { ...other.data, id: newest.uuid, type: '<script>' } } } : undefined)
  failed(
    t,
    'with a name that is none',
    await call('GET', `/api/collection/${newest.uuid}`, { as: 'editor' }),
    502,
    'CMS_INVALID_RESPONSE',
    /and answered with something else: /
  )
})

t.test('an id that another edition has by now is looked up anew', async (t) => {
  const { call, cms } = await openHostile(t)
  await call('GET', `/api/collection/${newest.id}`, { as: 'editor' })
  swapped(
    cms,
    (asked) => isIndividual(asked) && asked.path.endsWith(newest.uuid),
    (_asked, { data, ...rest }) => ({ ...rest, data: { ...data, attributes: { ...data.attributes, drupal_internal__id: 4000 } } })
  )
  const { body, upstream } = await call('GET', `/api/collection/${newest.id}`, { as: 'editor' })
  t.equal(body.uuid[0].value, newest.uuid)
  t.match(upstream.at(-1), /filter/)
})

t.test('who may not filter is given no other edition than the one whose id a scan has found', async (t) => {
  const { call, cms } = await openHostile(t, { filterAccess: false })
  t.equal((await call('GET', `/api/collection/${newest.id}`, { as: 'reader' })).body.uuid[0].value, newest.uuid)
  swapped(
    cms,
    (asked) => isIndividual(asked) && asked.path.endsWith(second.uuid),
    (_asked, { data, ...rest }) => ({ ...rest, data: { ...data, attributes: { ...data.attributes, drupal_internal__id: 4000 } } })
  )
  failed(
    t,
    'scanned',
    await call('GET', `/api/collection/${second.id}`, { as: 'reader' }),
    502,
    'CMS_INVALID_RESPONSE',
    new RegExp(`^The CMS was asked for edition ${second.id} and`)
  )
})

t.test('a list has rows of the collection that it was asked for alone', async (t) => {
  const { call, cms } = await openHostile(t)
  cms.behave = async (asked, honest) => {
    if (!asked.path.endsWith('/daily')) return undefined
    const { body, ...answer } = await honest()
    return { ...answer, body: { ...body, data: body.data.map((row: object) => ({ ...row, type: 'publisher_container--special' })) } }
  }
  failed(
    t,
    'list',
    await call('GET', '/api/collections/daily', { as: 'editor' }),
    502,
    'CMS_INVALID_RESPONSE',
    /^The CMS was asked for rows of publisher_container--daily and answered with publisher_container--special/
  )
})

t.test('a save is answered with the edition that was saved, looked up where the CMS answers with another', async (t) => {
  const { call, cms } = await openHostile(t)
  const other = (await (await fetch(`${cms.url}/jsonapi/publisher_container/daily/${second.uuid}`)).json()) as any
  swapped(cms, isWrite, () => other)
  const changed = await call('POST', `/api/collection/${newest.id}`, { as: 'editor', body: change })
  t.match([changed.status, changed.body.title, changed.body.uuid], [200, change.title, [{ value: newest.uuid }]])
  const made = await call('POST', '/api/collection', {
    as: 'editor',
    body: { type: 'daily', ...change, field_key: [{ value: 'swapped' }] }
  })
  t.match([made.status, made.body.field_key], [201, [{ value: 'swapped' }]])
  t.not(made.body.uuid[0].value, second.uuid)
  t.equal(writes(made.upstream).length, 1)

  cms.behave = (asked) => (isWrite(asked) || isIndividual(asked) ? { body: other } : undefined)
  const lost = await call('POST', '/api/collection', { as: 'editor', body: { type: 'daily', ...change, field_key: [{ value: 'lost' }] } })
  failed(t, 'a create that nobody can look up', lost, 502, 'CMS_INVALID_RESPONSE', /whether your change was saved is not known/)
})

t.test('a reference is no other entity than the one whose integer id was sent', async (t) => {
  const { call, cms } = await openHostile(t)
  const body = (id: number) => ({
    type: 'daily',
    title: [{ value: 'T' }],
    field_key: [{ value: `reference-${id}` }],
    field_articles: [{ target_id: id }]
  })
  withoutQuery(cms, ({ path }) => path.endsWith('/node/article'))
  t.equal((await call('POST', '/api/collection', { as: 'editor', body: body(4) })).status, 201)
  const reply = await call('POST', '/api/collection', { as: 'editor', body: body(7) })
  failed(
    t,
    'another article',
    reply,
    502,
    'CMS_INVALID_RESPONSE',
    /^The CMS was asked for node 7 and answered with node--article [\w-]{36}: /
  )
  t.strictSame(writes(reply.upstream), [])
  swapped(
    cms,
    ({ path }) => path.endsWith('/node/article'),
    (_asked, { data, ...rest }) => ({ ...rest, data: data.map((row: object) => ({ ...row, type: 'node--page' })) })
  )
  failed(
    t,
    'another type',
    await call('POST', '/api/collection', { as: 'editor', body: body(8) }),
    502,
    'CMS_INVALID_RESPONSE',
    /^The CMS was asked for rows of node--article and/
  )
})

t.test('edition types are those of the field asked for, and labels those of what the edition refers to', async (t) => {
  const { call, cms } = await openHostile(t)
  const storage = (id: string) => ({
    data: [
      {
        type: 'field_storage_config--field_storage_config',
        id: 'a',
        attributes: { drupal_internal__id: id, settings: { allowed_values: { a: 'A' } } }
      }
    ]
  })
  cms.behave = ({ path }) =>
    path.endsWith('/field_storage_config/field_storage_config') ? { body: storage('node.field_kind') } : undefined
  failed(
    t,
    'of another field',
    await call('GET', '/api/publisher-edition/bundles', { as: 'admin' }),
    502,
    'CMS_INVALID_RESPONSE',
    /^The CMS was asked for field_storage_config publisher_container\.field_publisher_edition_type and/
  )
  cms.behave = ({ path }) =>
    path.endsWith('/field_storage_config/field_storage_config')
      ? { body: storage('publisher_container.field_publisher_edition_type') }
      : undefined
  t.strictSame((await call('GET', '/api/publisher-edition/bundles', { as: 'admin' })).body, { data: [{ id: 'a', label: 'A' }] })
  cms.behave = ({ path }) =>
    path.endsWith('/field_storage_config/field_storage_config')
      ? { body: { data: [{ type: 'field_storage_config--field_storage_config', id: 'a' }] } }
      : undefined
  t.match(
    (await call('GET', '/api/publisher-edition/bundles', { as: 'editor' })).body.data,
    [{ id: 'daily' }, { id: 'special' }],
    'of a field that is not shown the defaults'
  )
})

t.test('users that are asked for afterwards are those of the rows that were asked for', async (t) => {
  const { call, cms } = await openHostile(t)
  let swaps = 0
  const isRest = ({ query }: Asked) => query.has('include') && !query.get('include')!.includes('field_articles')
  t.equal((await call('GET', `/api/collection/${newest.id}`, { as: 'editor' })).status, 200)
  swapped(cms, isRest, (_asked, body) => {
    swaps++
    return { ...body, data: body.data.map((row: object) => ({ ...row, id: second.uuid.replace(/^../, '00') })) }
  })
  failed(t, 'list', await call('GET', '/api/collections/daily?limit=50', { as: 'editor' }), 502, 'CMS_INVALID_RESPONSE', NOT_ASKED)
  t.equal(swaps, 1)
})

t.test('labels are those of the edition asked for', async (t) => {
  const { call, cms } = await openHostile(t, { env: { DESK: 'on' } })
  t.equal((await call('GET', `/api/desk/labels/${newest.id}`, { as: 'editor' })).status, 200)
  const other = await (await fetch(`${cms.url}/jsonapi/publisher_container/daily/${second.uuid}?include=field_articles`)).json()
  cms.behave = (asked) => (isIndividual(asked) && asked.line.includes('display_name') ? { body: other } : undefined)
  failed(t, 'labels', await call('GET', `/api/desk/labels/${newest.id}`, { as: 'editor' }), 502, 'CMS_INVALID_RESPONSE', NOT_ASKED)
})
