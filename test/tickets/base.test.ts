import t, { type Test } from 'tap'
import { createEditions } from '#lib/editions/editions.ts'
import { createBases } from '#lib/editions/save/bases.ts'
import { createSite } from '#lib/editions/site/site.ts'
import { createHttp } from '#lib/http/client.ts'
import { createJsonapi, type Jsonapi } from '#lib/drupal/client.ts'
import { newCaller } from '#lib/http/calls.ts'
import { newspaper } from '../../dev/content.ts'
import type { CmsOptions } from '../../packages/drupal-stand-in/cms.ts'
import { openHostile, startHostileCms, JSONAPI, type Asked } from '../editions/hostile-cms.ts'
import { basic, editionsOf } from '../editions/site.ts'
import { model } from '../editions/fixtures.ts'
import { fakeTime } from '../fixtures/time.ts'
import { startEngine } from '../locks/fixtures/engines.ts'

const { id, uuid } = editionsOf(newspaper()).find(({ published, bundle }) => published && bundle === 'daily')!
const path = `/api/collection/${id}`
const value = (text: unknown) => [{ value: text }]
const title = (text: string) => ({ title: value(text) })

/** A desk whose editor was shown the edition, on a site whose clock stands still. */
async function openShown(t: Test, options: Partial<CmsOptions> = {}) {
  const { endpoint } = await startEngine(t, 'dynalite')
  const clock = { now: Date.UTC(2026, 10, 27, 12) }
  const { call, cms, app } = await openHostile(t, { env: { DYNAMODB_ENDPOINT: endpoint }, now: () => clock.now, ...options })
  const save = async (body: object, headers: Record<string, string> = {}) => {
    const { status, body: saved, upstream, headers: fields } = await call('POST', path, { body, as: 'editor', headers })
    return { status, saved, etag: String(fields['etag']), methods: upstream.map((line) => line.split(' ', 1)[0]).join(' ') }
  }
  const read = () => call('GET', path, { as: 'editor' })
  const entries = async () => {
    const { data } = (await call('GET', `${path}/journal`, { as: 'editor' })).body
    return data.filter(({ kind }: { kind: string }) => kind === 'update')
  }
  /** A save that does not go through Quoin. */
  const saveElsewhere = async (attributes: object) => {
    const answer = await fetch(`${cms.url}/jsonapi/publisher_container/daily/${uuid}`, {
      method: 'PATCH',
      headers: { ...basic('editor2'), ...JSONAPI },
      body: JSON.stringify({ data: { type: 'publisher_container--daily', id: uuid, attributes } })
    })
    t.equal(answer.status, 200)
  }
  await save(title('First'))
  await save(title('Second'))
  return { call, cms, app, clock, save, read, entries, saveElsewhere }
}

t.test('a save of who was shown the present state is one PATCH, guarded by changed', async (t) => {
  const { save, read, cms } = await openShown(t)
  const patches = () => cms.asked.filter(({ method }) => method === 'PATCH').map(({ body }: Asked) => JSON.parse(body).data.attributes)
  t.match(await save(title('Third')), { status: 200, methods: 'PATCH', saved: title('Third') })
  await read()
  t.match(await save(title('Fourth')), { status: 200, methods: 'PATCH', saved: title('Fourth') })
  t.strictSame(Object.keys(patches().at(-1)), ['title', 'changed'])
  t.match(await save(title('Fourth')), { status: 200, methods: 'GET GET' }, 'that nothing differs is read')
  t.match(await save(title('Fifth'), { 'idempotency-key': '"a"' }), { status: 200, methods: 'PATCH' })
})

t.test('a save elsewhere in another second is noticed, and its journal has one entry', async (t) => {
  const { clock, save, saveElsewhere, read, entries } = await openShown(t)
  const before = (await entries()).length
  clock.now += 1000
  await saveElsewhere({ field_key: 'elsewhere' })
  t.match(await save(title('Mine')), {
    status: 200,
    methods: 'PATCH GET PATCH',
    saved: { ...title('Mine'), field_key: value('elsewhere') }
  })
  clock.now += 1000
  await saveElsewhere({ title: 'Theirs' })
  t.match(await save(title('Mine again')), { status: 200, methods: 'PATCH GET PATCH', saved: title('Mine again') })
  const [last, first, ...others] = await entries()
  t.equal(others.length, before)
  t.match(last, { outcome: 'saved', fields: { title: { before: value('Theirs'), after: value('Mine again') } } })
  t.match(first, { outcome: 'saved', fields: { title: { before: value('Second') } } })
  clock.now += 1000
  await saveElsewhere({ title: 'Equal' })
  t.match(await save(title('Equal')), { status: 200, methods: 'PATCH GET GET' }, 'nothing differs then')
  t.equal((await entries()).length, before + 2)
  t.match((await read()).body, title('Equal'))
})

t.test('a save elsewhere in the second of the last save is not noticed, and loses no field that is not saved', async (t) => {
  const { save, saveElsewhere, read, entries } = await openShown(t)
  await saveElsewhere({ field_key: 'elsewhere' })
  t.match(await save(title('Mine')), { status: 200, methods: 'PATCH', saved: { ...title('Mine'), field_key: value('elsewhere') } })
  await saveElsewhere({ title: 'Theirs' })
  t.match(
    await save({ ...title('Mine'), field_key: value('mine') }),
    { methods: 'PATCH', saved: title('Theirs') },
    'what I had already stays theirs'
  )
  await saveElsewhere({ title: 'Theirs again' })
  t.match(await save(title('Mine again')), { methods: 'PATCH', saved: title('Mine again') })
  t.match((await entries())[0].fields.title, { before: value('Theirs') }, "the journal's before is what I was shown")
  t.match((await read()).body, title('Mine again'))
})

t.test('If-Match is compared with what is there now, whether or not changed has moved', async (t) => {
  const { clock, save, saveElsewhere } = await openShown(t)
  const { etag } = await save(title('Third'))
  t.match(await save(title('Fourth'), { 'if-match': etag }), { status: 200, methods: 'GET PATCH' })
  for (const ms of [0, 1000]) {
    const { etag } = await save(title(`After ${ms}`))
    clock.now += ms
    await saveElsewhere({ title: `Theirs ${ms}` })
    t.match(await save(title('Mine'), { 'if-match': etag }), { status: 412 })
  }
})

t.test('who saves through another instance, or as another user, is noticed whatever the second', async (t) => {
  const { call, save } = await openShown(t)
  t.equal((await call('POST', path, { body: title('Theirs'), as: 'editor2' })).status, 200)
  t.match(await save({ ...title('Second'), field_key: value('k') }), { methods: 'GET PATCH', saved: title('Second') })
})

t.test('without changed, in a translation, or beside a draft an update reads first', async (t) => {
  for (const alter of [
    (resource: any) => delete resource.attributes.changed,
    (resource: any) => {
      resource.attributes.default_langcode = false
    },
    (resource: any) => {
      resource.links = { ...resource.links, 'latest-version': { href: 'x' } }
    }
  ]) {
    const { save, cms } = await openShown(t)
    cms.behave = async (_asked, honest) => {
      const answer = await honest()
      if (answer.body?.data?.attributes) alter(answer.body.data)
      return answer
    }
    await save(title('Third'))
    t.match((await save(title('Fourth'))).methods, /^GET .*PATCH/)
  }
})

t.test('a save without a shared turn needs a read, and ends what was shown before it', async (t) => {
  const cms = await startHostileCms(t, { now: () => 0 })
  const http = createHttp({ url: cms.url, timeoutMs: 5000 })
  t.teardown(() => http.close())
  let isShared = true
  const turn = { isOutdated: false, isNext: true, confirm() {}, async end() {} }
  const editions = createEditions({
    site: createSite({ cms: createJsonapi({ http, jsonapiPath: '/jsonapi' }), model, cmsUrl: cms.url, warn() {} }),
    turns: { now: () => 0, take: async () => ({ ...turn, isShared }) }
  })
  const methods = async (text: string, as: string) => {
    cms.asked.splice(0)
    await editions.update(String(id), title(text), newCaller(basic(as)))
    return cms.asked.map(({ method }) => method).join(' ')
  }
  for (const text of ['First', 'Second']) await methods(text, 'editor')
  t.equal(await methods('Third', 'editor'), 'PATCH')
  isShared = false
  t.match(await methods('Fourth', 'editor2'), /GET .*PATCH/)
  isShared = true
  t.match(await methods('Fifth', 'editor'), /GET .*PATCH/)
  t.equal(await methods('Sixth', 'editor'), 'PATCH')
  isShared = false
  cms.behave = ({ method }) => (method === 'PATCH' ? { status: 503, headers: {}, body: '' } : undefined)
  await t.rejects(methods('Lost', 'editor2'))
  isShared = true
  cms.behave = () => undefined
  t.match(await methods('Seventh', 'editor'), /GET .*PATCH/, 'after one whose outcome is not known too')
})

t.test('an answer is no base after a quarter of an hour', (t) => {
  const clock = { now: 0 }
  const { cms, revisions } = createSite({ cms: {} as Jsonapi, model, cmsUrl: 'http://cms.example', warn() {} })
  const bases = createBases({ cms, model, revisions }, fakeTime({ monotonic: () => clock.now }))
  const caller = newCaller(basic('editor'))
  const resource = { type: 'publisher_container--daily', id: uuid.toUpperCase(), attributes: { changed: 'now', default_langcode: true } }
  bases.keep(resource, 10, caller, 1)
  t.equal(bases.of(uuid, caller)?.resource, resource, 'whatever the case of the uuid')
  t.equal(bases.of(uuid, newCaller(basic('editor2'))), undefined)
  clock.now = 900_000
  t.equal(bases.of(uuid, caller), undefined)
  t.end()
})

t.test('an id that has become another edition in the meantime is not saved, and is at the next try', async (t) => {
  const cms = await startHostileCms(t, { now: () => 0 })
  const http = createHttp({ url: cms.url, timeoutMs: 5000 })
  t.teardown(() => http.close())
  const jsonapi = createJsonapi({ http, jsonapiPath: '/jsonapi' })
  const other = editionsOf(newspaper()).find((edition) => edition.published && edition.bundle === 'daily' && edition.id !== id)!
  let swapped = new Map<unknown, number>()
  // A site that is set back gives ids anew.
  const request: Jsonapi['request'] = async ({ query = [], ...rest }) => {
    const asked = [...query].map(([name, value]) => [name, String(swapped.get(Number(value)) ?? value)] as const)
    const answer = structuredClone(await jsonapi.request({ ...rest, query: asked }))
    for (const { attributes = {} } of [answer.document.data ?? []].flat()) {
      attributes['drupal_internal__id'] = swapped.get(attributes['drupal_internal__id']) ?? attributes['drupal_internal__id']
    }
    return answer
  }
  const editions = createEditions({ site: createSite({ cms: { request }, model, cmsUrl: cms.url, warn() {} }) })
  const caller = newCaller(basic('editor'))
  t.equal((await editions.read(String(id), caller)).uuid, uuid)
  swapped = new Map([
    [id, other.id],
    [other.id, id]
  ])
  const save = () => editions.update(String(id), title('Mine'), caller, { ifMatch: '*' })
  await t.rejects(save(), { code: 'EDITION_BUSY', message: /has become another edition's/ })
  t.equal((await save()).uuid, other.uuid)
})
