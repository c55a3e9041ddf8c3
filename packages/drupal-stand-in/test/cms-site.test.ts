import t, { type Test } from 'tap'
import { createCms, type CmsOptions } from '../cms.ts'
import { newspaper, singleBundleNewspaper } from '../../../dev/content.ts'
import fc from '../../../test/fixtures/property.ts'
import { runs } from '../../../test/scope.ts'

const daily = '/jsonapi/publisher_container/daily'

async function start(t: Test, options: Partial<CmsOptions> = {}) {
  const cms = createCms({ content: newspaper(), ...options })
  const origin = await cms.listen()
  t.after(() => cms.close())
  const send = async (
    path: string,
    {
      as = 'editor',
      method = 'GET',
      body,
      headers = {}
    }: {
      as?: string
      method?: string
      body?: unknown
      headers?: Record<string, string>
    } = {}
  ) => {
    const credentials: Record<string, string> =
      as === '' ? {} : { authorization: `Basic ${Buffer.from(as.includes(':') ? as : `${as}:${as}`).toString('base64')}` }
    const content: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/vnd.api+json' }
    const init = body === undefined ? {} : { body: JSON.stringify(body) }
    const answer = await fetch(origin + path, { method, headers: { ...credentials, ...content, ...headers }, ...init })
    const text = await answer.text()
    const isJson = /json/.test(answer.headers.get('content-type') ?? '')
    return { status: answer.status, headers: answer.headers, body: isJson && text !== '' ? JSON.parse(text) : text }
  }
  return { cms, origin, send }
}

const edition = (attributes: object) => ({ data: { type: 'publisher_container--daily', attributes } })

t.test('the sample paper has 60 editions in two bundles and 120 articles, some of it unpublished', async (t) => {
  const { entities } = newspaper()
  const of = (type: string) => entities.filter((one) => one.type.startsWith(type))
  t.equal(of('publisher_container--').length, 60)
  t.equal(of('publisher_container--daily').length, 45)
  t.equal(of('publisher_container--special').length, 15)
  t.equal(of('node--article').length, 120)
  t.equal(new Set(of('node--article').map((one) => one.fields?.title)).size, 120)
  t.ok(of('node--article').some((one) => one.fields?.status === false))
  t.ok(of('publisher_container--').some((one) => one.fields?.status === false))
  t.equal(new Set(entities.map((one) => one.uuid)).size, entities.length, 'uuids are unique')
  t.strictSame(newspaper(), newspaper(), 'and the same in every run')
})

t.test('the single-bundle paper tells its editions apart by the list field', async (t) => {
  const { send } = await start(t, { content: singleBundleNewspaper() })
  const all = '/jsonapi/publisher_container/publisher_container'
  const special = await send(`${all}?filter[field_publisher_edition_type]=special`)
  t.equal(special.body.data.length, 15)
  t.equal((await send(daily)).status, 404)
})

t.test('ids of both bundles come from one sequence and are never used again', async (t) => {
  const { send } = await start(t)
  const first = await send(daily, { method: 'POST', body: edition({ title: 'a', field_key: 'a' }) })
  t.equal(first.body.data.attributes.drupal_internal__id, 61)
  t.equal((await send(`${daily}/${first.body.data.id}`, { method: 'DELETE' })).status, 204)
  const second = await send(daily.replace('daily', 'special'), { method: 'POST', body: edition({ title: 'b', field_key: 'b' }) })
  t.equal(second.body.data.attributes.drupal_internal__id, 62)
})

t.test('the clock of the site stamps what is written', async (t) => {
  let now = Date.UTC(2026, 11, 1, 12)
  const { send } = await start(t, { now: () => now })
  const made = await send(daily, { method: 'POST', body: edition({ title: 'a', field_key: 'a' }) })
  t.equal(made.body.data.attributes.changed, '2026-12-01T12:00:00+00:00')
  now += 5000
  const { id } = made.body.data
  const patched = await send(`${daily}/${id}`, { method: 'PATCH', body: { data: { type: 'x', id, attributes: { title: 'b' } } } })
  t.equal(patched.body.data.attributes.changed, '2026-12-01T12:00:05+00:00')
  t.equal(patched.body.data.attributes.created, '2026-12-01T12:00:00+00:00')
  const stale = { data: { type: 'x', id, attributes: { title: 'c', changed: made.body.data.attributes.changed } } }
  const refused = await send(`${daily}/${id}`, { method: 'PATCH', body: stale })
  t.equal(refused.status, 403)
  t.equal(refused.body.errors[0].source.pointer, '/data/attributes/changed')
})

t.test('switches are turned while the site runs', async (t) => {
  const { cms, send } = await start(t)
  t.equal((await send(`${daily}?filter[status]=1`)).body.data.length > 0, true)
  cms.settings.filterAccess = false
  t.strictSame((await send(`${daily}?filter[status]=1`)).body.data, [], 'without the hook a filter finds nothing')
  t.equal((await send(`${daily}?filter[status]=1`, { as: 'admin' })).body.data.length > 0, true, 'but for an administrator')
  cms.settings.includeCount = true
  const counted = await send(`${daily}?page[limit]=10`)
  t.equal(counted.body.meta.count, 45)
  t.match(counted.body.links.last.href, /page%5Boffset%5D=40/)
  cms.settings.readOnly = true
  t.equal((await send(daily, { method: 'POST', body: edition({}) })).status, 405)
  cms.settings.maintenance = true
  t.equal((await send(daily)).status, 503)
})

t.test('a site below a path of its host names that path in its links', async (t) => {
  const { send, origin } = await start(t, { basePath: '/cms' })
  t.match(origin, /^http:\/\/127\.0\.0\.1:\d+\/cms$/)
  const page = await send(`${daily}?page[limit]=1`)
  t.equal(page.status, 200)
  t.ok(page.body.links.next.href.startsWith(`${origin}${daily}?`))
  t.equal(
    (await send(daily, { method: 'POST', body: edition({ title: 'a', field_key: 'a' }) })).headers
      .get('location')
      ?.startsWith(`${origin}${daily}/`),
    true
  )
})

t.test('answered requests are counted and named', async (t) => {
  const seen: string[] = []
  const { cms, send } = await start(t, { onRequest: ({ user, status }) => seen.push(`${user} ${status}`) })
  await send('/jsonapi')
  await send('/jsonapi/nosuch/type', { as: '' })
  t.equal(cms.requests, 2)
  t.strictSame(cms.requestLines, ['GET /jsonapi 200', 'GET /jsonapi/nosuch/type 404'])
  t.strictSame(seen, ['editor 200', ' 404'])
})

t.test('five wrong passwords lock the account for six hours, the right one included', async (t) => {
  let now = Date.UTC(2026, 11, 1)
  const { send } = await start(t, { now: () => now })
  const isKnown = async (as: string) => (await send('/jsonapi', { as })).body.meta !== undefined
  for (let i = 0; i < 5; i++) t.equal(await isKnown('editor:wrong'), false)
  t.equal(await isKnown('editor'), false)
  t.equal(await isKnown('editor2'), true, 'others are not locked')
  now += 6 * 3600 * 1000
  t.equal(await isKnown('editor'), true)
})

t.test('a session writes with its token and ends with its logout', async (t) => {
  const { send } = await start(t)
  const post = (path: string, body: unknown, headers: Record<string, string>) => send(path, { as: '', method: 'POST', body, headers })
  const login = await post('/user/login?_format=json', { name: 'editor', pass: 'editor' }, { 'content-type': 'application/json' })
  t.equal(login.status, 200)
  const cookie = login.headers.get('set-cookie')!.split(';')[0]!
  const token = login.body.csrf_token
  t.equal((await post(daily, edition({ title: 'a', field_key: 'a' }), { cookie })).status, 403)
  t.equal((await post(daily, edition({ title: 'a', field_key: 'a' }), { cookie, 'x-csrf-token': token })).status, 201)
  t.equal((await post(`/user/logout?_format=json&token=${login.body.logout_token}`, undefined, { cookie })).status, 204)
  t.equal((await post(daily, edition({ title: 'b', field_key: 'b' }), { cookie, 'x-csrf-token': token })).status, 403)
})

t.test('a reference to a deleted article stays, and is missing', async (t) => {
  const { send } = await start(t)
  const {
    data: [one]
  } = (await send(`${daily}?page[limit]=1`)).body
  const article = one.relationships.field_articles.data[0]
  t.equal((await send(`/jsonapi/node/article/${article.id}`, { method: 'DELETE' })).status, 204)
  const after = (await send(`${daily}/${one.id}`)).body.data.relationships.field_articles.data
  t.equal(after[0].id, 'missing')
  t.equal(after.length, one.relationships.field_articles.data.length)
  const rest = await send(`/publisher_container/${one.attributes.drupal_internal__id}?_format=json`)
  t.strictSame(rest.body.field_articles[0], { target_id: article.meta.drupal_internal__target_id })
})

t.test('an answer that includes what one user alone may see is not given to others of the same permissions', async (t) => {
  const edition = newspaper().entities.find(({ type, id }) => type === 'publisher_container--daily' && id === 60)!
  for (const include of ['field_articles', 'uid']) {
    const { send } = await start(t)
    const seen = async (as: string) => {
      const { body } = await send(`${daily}/${edition.uuid}?include=${include}`, { as })
      return body.included.map(({ id, attributes }: { id: string; attributes: object }) => [id, Object.keys(attributes)])
    }
    const [one, other] = [await seen('editor'), await seen('editor2')]
    t.strictNotSame(one, other, include)
    t.strictSame([await seen('editor2'), await seen('editor')], [other, one])
  }
})

t.test('no document makes the stand-in itself fail', async (t) => {
  const { send } = await start(t)
  const {
    data: [one]
  } = (await send(`${daily}?page[limit]=1`)).body
  const members = fc.dictionary(
    fc.constantFrom(...Object.keys(one.attributes), ...Object.keys(one.relationships), 'nosuch'),
    fc.jsonValue({ maxDepth: 2 }),
    { maxKeys: 3 }
  )
  const document = fc.record({
    data: fc.record(
      { type: fc.constant('publisher_container--daily'), id: fc.constant(one.id), attributes: members, relationships: members },
      { requiredKeys: ['type'] }
    )
  })
  await fc.assert(
    fc.asyncProperty(fc.oneof(document, fc.jsonValue()), fc.boolean(), async (body, isNew) => {
      const { body: answer } = await send(isNew ? daily : `${daily}/${one.id}`, { method: isNew ? 'POST' : 'PATCH', body })
      return answer.jsonapi !== undefined
    }),
    { numRuns: runs(200) }
  )
})

t.test('what is read through JSON:API is what core REST shows', async (t) => {
  const { send } = await start(t)
  const { data } = (await send(`${daily}?page[limit]=50&sort=drupal_internal__id`)).body
  for (const { id, attributes } of data) {
    const rest = (await send(`/publisher_container/${attributes.drupal_internal__id}?_format=json`)).body
    t.strictSame([rest.uuid[0].value, rest.title[0].value, rest.changed[0].value], [id, attributes.title, attributes.changed])
  }
})

t.test('values of other types are taken or refused as Drupal 10.6 was seen to', async (t) => {
  const { send } = await start(t)
  const primitive = 'This value should be of the correct primitive type.'
  const number = 'This value should be a valid number.'
  const cases: Array<[field: string, value: unknown, messages: string[], stored?: unknown]> = [
    ['status', '', [primitive]],
    ['field_featured', '', [primitive]],
    ['field_page_count', '007', [primitive]],
    ['field_page_count', '1e2', [primitive]],
    ['field_page_count', true, [number, number]],
    ['field_page_count', 'abc', [number, number, primitive]],
    ['field_page_count', '10001', ['Page count: the value may be no greater than 10000.']],
    ['field_page_count', false, [], null],
    ['field_page_count', ' +5', [], 5],
    ['field_price', '', [], null],
    ['field_price', true, [], '1']
  ]
  for (const [index, [field, value, messages, stored]] of cases.entries()) {
    const { status, body } = await send(daily, {
      method: 'POST',
      body: edition({ title: 'T', field_key: `types-${index}`, [field]: value })
    })
    t.equal(status, messages.length > 0 ? 422 : 201, `${field}: ${JSON.stringify(value)}`)
    if (messages.length > 0) {
      t.strictSame(
        body.errors.map((one: any) => one.detail),
        messages.map((message) => `${field}.0.value: ${message}`)
      )
    } else t.strictSame(body.data.attributes[field], stored)
  }
})
