import t, { type Test } from 'tap'
import { createDrupalModule } from '#lib/drupal/module.ts'
import { newspaper } from '../../dev/content.ts'
import { openHostile, JSONAPI, type Asked, type Behaviour } from '../editions/hostile-cms.ts'
import { basic, editionsOf } from '../editions/site.ts'
import { fakeTime } from '../fixtures/time.ts'
import { startEngine } from '../locks/fixtures/engines.ts'

const { id, uuid } = editionsOf(newspaper()).find(({ published, bundle }) => published && bundle === 'daily')!
const path = `/api/collection/${id}`
const value = (text: unknown) => [{ value: text }]
const title = (text: string) => ({ title: value(text) })

/** How the module refuses a save whose entity somebody else has saved since it began. */
const OVERLAPPED = {
  status: 422,
  headers: JSONAPI,
  body: {
    errors: [
      {
        status: '422',
        detail:
          'The content has either been modified by another user, or you have already submitted modifications. As a result, your changes cannot be saved.'
      }
    ]
  }
}

/** A desk on a site with the module, whose clock stands still, and whose editor has saved twice. */
async function openSaved(t: Test) {
  const { endpoint } = await startEngine(t, 'dynalite')
  const now = Date.UTC(2026, 10, 27, 12)
  const { call, cms } = await openHostile(t, { env: { DYNAMODB_ENDPOINT: endpoint }, now: () => now, module: '0.1.0' })
  const save = async (body: object, etag?: string) => {
    const headers: Record<string, string> = etag === undefined ? {} : { 'if-match': etag }
    const { status, body: saved, upstream, headers: fields } = await call('POST', path, { body, as: 'editor', headers })
    return { status, saved, etag: String(fields['etag']), methods: upstream.map((line) => line.split(' ', 1)[0]).join(' ') }
  }
  const read = async () => String((await call('GET', path, { as: 'editor' })).headers['etag'])
  /** A save that does not go through Quoin, in the same second as all others. */
  const saveElsewhere = async (attributes: object) => {
    const answer = await fetch(`${cms.url}/jsonapi/publisher_container/daily/${uuid}`, {
      method: 'PATCH',
      headers: { ...basic('editor2'), ...JSONAPI },
      body: JSON.stringify({ data: { type: 'publisher_container--daily', id: uuid, attributes } })
    })
    t.equal(answer.status, 200)
  }
  /** The same by core REST, which makes no revision. */
  const saveInPlace = async (body: object) => {
    const answer = await fetch(`${cms.url}/publisher_container/${id}?_format=json`, {
      method: 'PATCH',
      headers: { ...basic('editor2'), 'content-type': 'application/json' },
      body: JSON.stringify({ type: [{ target_id: 'daily' }], ...body })
    })
    t.equal(answer.status, 200)
  }
  const patches = () => cms.asked.filter(({ method }) => method === 'PATCH')
  await save(title('First'))
  const { etag } = await save(title('Second'))
  return { call, cms, save, read, saveElsewhere, saveInPlace, patches, etag }
}

t.test('with the module a save with If-Match is one PATCH, which names the revision', async (t) => {
  const { save, saveElsewhere, patches, read, etag } = await openSaved(t)
  const third = await save(title('Third'), etag)
  t.match(third, { status: 200, methods: 'PATCH' })
  const { headers, body } = patches().at(-1)!
  t.match(headers['quoin-revision'], /^[1-9]\d*$/)
  t.ok(JSON.parse(body).data.attributes.changed, 'and `changed`, should the module be gone')
  t.match(await save(title('Fourth'), await read()), { status: 200, methods: 'PATCH' })
  t.match(await save(title('Fifth'), etag), { status: 412, methods: 'GET GET' }, 'a 412 is decided on what is there')
  const { etag: fifth } = await save(title('Fifth'))
  await saveElsewhere({ field_key: 'elsewhere' })
  t.match(await save(title('Sixth'), fifth), { status: 412, methods: 'PATCH GET GET' }, 'whatever the second')
})

t.test('with the module a save elsewhere in the second of the last save is noticed', async (t) => {
  const { call, save, saveElsewhere } = await openSaved(t)
  await saveElsewhere({ title: 'Theirs' })
  t.match(await save(title('Mine')), { status: 200, methods: 'PATCH GET PATCH', saved: title('Mine') })
  const { data } = (await call('GET', `${path}/journal`, { as: 'editor' })).body
  t.match(data[0], { outcome: 'saved', fields: { title: { before: value('Theirs') } } })
})

t.test('with the module a translation is a base, and so is an edition whose changed is hidden', async (t) => {
  for (const alter of [
    (attributes: any) => {
      attributes.default_langcode = false
    },
    (attributes: any) => delete attributes.changed
  ]) {
    const { cms, save } = await openSaved(t)
    cms.behave = altered(alter)
    await save({ ...title('Third') })
    const { etag } = await save(title('Fourth'))
    t.match(await save(title('Fifth')), { status: 200, methods: 'PATCH' })
    t.match(await save(title('Sixth')), { status: 200, methods: 'PATCH' })
    t.match(await save(title('Seventh'), etag), { status: 412 })
  }
})

t.test('a revision that was saved again names no state, so changed guards its save', async (t) => {
  const { save, saveInPlace, read, patches, etag } = await openSaved(t)
  await saveInPlace(title('In place'))
  t.match(await save(title('Mine'), etag), { status: 412, methods: 'PATCH GET GET' })
  const present = await read()
  t.match(await save(title('Mine'), present), { status: 200, methods: 'GET PATCH' })
  t.equal(patches().at(-1)!.headers['quoin-revision'], undefined)
  const { etag: next } = await save(title('Next'))
  t.match(await save(title('Exact'), next), { status: 200, methods: 'PATCH' }, 'until there is a new one')
})

t.test('a save that reads first goes on where the module says that its revision was saved again', async (t) => {
  const { call, cms, saveInPlace } = await openSaved(t)
  await saveInPlace(title('In place'))
  const reply = await call('POST', path, { body: title('Mine'), as: 'editor2', headers: { 'if-match': '*' } })
  t.equal(reply.status, 200)
  t.strictSame(
    cms.asked.slice(-3).map(({ method, headers }: Asked) => [method, headers['quoin-revision'] !== undefined]),
    [
      ['PATCH', true],
      ['PATCH', false],
      ['GET', false]
    ]
  )
})

t.test('operations on the running order are applied again to what somebody saves in between', async (t) => {
  const { call, cms, saveElsewhere, patches } = await openSaved(t)
  let isFirst = true
  cms.behave = async ({ method }) => {
    if (method !== 'PATCH' || !isFirst) return undefined
    isFirst = false
    cms.behave = () => undefined
    await saveElsewhere({ title: 'Theirs' })
    return undefined
  }
  const operations = [{ op: 'insert', article: { target_id: 9 }, at: 'start' }]
  const reply = await call('POST', `${path}/articles`, { body: { operations }, as: 'editor' })
  t.match([reply.status, reply.body.data.title], [200, value('Theirs')])
  const named = patches().map(({ headers }) => headers['quoin-revision'])
  t.not(named.at(-1), named.at(-3), 'over the revision that is there then')
})

t.test('a save that names no state goes on over what somebody else saves at the same moment', async (t) => {
  const { call, cms } = await openSaved(t)
  const save = async (body: object, refusals: number) => {
    const before = cms.asked.length
    let left = refusals
    cms.behave = ({ method }) => (method === 'PATCH' && left-- > 0 ? OVERLAPPED : undefined)
    const { status, body: answer } = await call('POST', path, { body, as: 'editor2' })
    const methods = cms.asked.slice(before).map(({ method }) => method)
    return { status, answer, patches: methods.filter((method) => method === 'PATCH').length }
  }
  t.match(await save(title('Mine'), 1), { status: 200, patches: 2, answer: title('Mine') })
  cms.site.settings.module = undefined
  await call('GET', path, { as: 'editor' })
  const { body: read } = await call('GET', path, { as: 'editor2' })
  t.match(await save({ ...title('Third'), changed: read.changed }, 1), { status: 409, patches: 1 }, 'one that names it does not')
  const again = await openSaved(t)
  again.cms.behave = ({ method }) => (method === 'PATCH' ? OVERLAPPED : undefined)
  const refused = await again.call('POST', path, { body: title('Mine'), as: 'editor2' })
  t.match([refused.status, refused.body.message], [422, /modified by another user/], 'it is sent twice at most')
  t.equal(again.patches().length, 4)
})

t.test('a save that makes no revision leaves none to name', async (t) => {
  const { cms, save, etag } = await openSaved(t)
  let revision: unknown
  cms.behave = altered((attributes) => {
    revision ??= attributes['drupal_internal__revision_id']
    attributes['drupal_internal__revision_id'] = revision
  })
  const third = await save(title('Third'))
  t.equal(third.status, 200)
  const fourth = await save(title('Fourth'))
  t.match(await save(title('Fifth'), fourth.etag), { status: 200, methods: 'GET PATCH' })
  t.not(etag, fourth.etag)
})

t.test('a module that has gone is not counted on again', async (t) => {
  const { cms, save, etag } = await openSaved(t)
  cms.site.settings.module = undefined
  const third = await save(title('Third'), etag)
  t.match(third, { status: 200, methods: 'PATCH' }, 'Quoin learns it from the answer')
  t.match(await save(title('Fourth'), third.etag), { status: 200, methods: 'GET PATCH' })
})

t.test('the module is known by an answer of the last quarter of an hour that is not from a cache', (t) => {
  const clock = { now: 0 }
  const module = createDrupalModule(fakeTime({ monotonic: () => clock.now }))
  t.equal(module.version(), undefined)
  module.learn({ 'quoin-module': '0.1.0', age: '5' })
  t.equal(module.version(), undefined)
  module.learn({ 'quoin-module': '0.1.0' })
  t.equal(module.version(), '0.1.0')
  module.learn({ age: '5' })
  t.equal(module.version(), '0.1.0')
  clock.now = 900_000
  t.equal(module.version(), undefined)
  module.learn({ 'quoin-module': '0.1.0' })
  module.learn({})
  t.equal(module.version(), undefined)
  t.end()
})

/** A site that answers editions with other attributes than it has. */
function altered(alter: (attributes: any) => void): Behaviour {
  return async (_asked, honest) => {
    const answer = await honest()
    if (answer.body?.data?.attributes) alter(answer.body.data.attributes)
    return answer
  }
}
