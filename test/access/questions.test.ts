import { hash } from 'node:crypto'
import t, { type Test } from 'tap'
import { createCms, type Cms } from '../../packages/drupal-stand-in/cms.ts'
import { newspaper } from '../../dev/content.ts'
import type { Access, Right } from '#lib/access/access.ts'
import { createCmsAccess, type CmsAccessOptions } from '#lib/access/cms-access.ts'
import { createQuestions } from '#lib/access/questions.ts'
import { contentModel, type ContentModel } from '#lib/editions/model.ts'
import type { Failure } from '#lib/errors.ts'
import { createHttp } from '#lib/http/client.ts'
import { sortedJson } from '#lib/json-text.ts'
import { JSONAPI, startHostileCms, type Behaviour } from '../editions/hostile-cms.ts'
import { fakeTime } from '../fixtures/time.ts'
import { createAnswerMemory } from '#lib/http/answer-memory.ts'
import { inCall, newCaller } from '#lib/http/calls.ts'

const basic = (name: string) => ({ authorization: `Basic ${btoa(`${name}:${name}`)}` })
const editions = newspaper().entities.filter(({ type }) => type.startsWith('publisher_container--'))
const articles = newspaper().entities.filter(({ type }) => type === 'node--article')
const [published, other] = editions.filter(({ fields }) => fields!['status'] === true) as [(typeof editions)[0], (typeof editions)[0]]
const hidden = editions.find(({ fields }) => fields!['status'] === false)!

interface Options extends Partial<Omit<CmsAccessOptions, 'questions'>> {
  model?: Partial<ContentModel>
  jsonapiPath?: string
}

/** Access over a CMS at an address, with the test's clock. */
function accessOver(t: Test, url: string, { model = {}, jsonapiPath = '/jsonapi', ...options }: Options = {}) {
  const http = createHttp({ url, timeoutMs: 5000 })
  t.teardown(() => http.close())
  const clock = { now: 1_000_000 }
  const questions = createQuestions({ http, jsonapiPath, model: contentModel(model), cmsUrl: url, warn: () => {} })
  const access: Access = createCmsAccess({ questions, time: fakeTime({ monotonic: () => clock.now }), ...options })
  const may = (right: Right, type: string, id: string | number, caller: Record<string, string> = basic('editor'), uid = '2') =>
    access.demand(right, { type, id: String(id) }, { user: { uid, admin: false }, caller: newCaller(caller) }).then(
      () => 'yes',
      (failure: Failure) => failure.code
    )
  return { access, may, clock }
}

async function site(t: Test, options: Options = {}) {
  const cms: Cms = createCms({ content: newspaper() })
  t.teardown(() => cms.close())
  const url = await cms.listen()
  return { cms, url, ...accessOver(t, url, options) }
}

/** The session of a user, as Drupal's login gives it. */
async function login(url: string, name: string): Promise<{ cookie: string }> {
  const answer = await fetch(`${url}/user/login?_format=json`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name, pass: name })
  })
  return { cookie: answer.headers.get('set-cookie')!.split(';')[0]! }
}

t.test('every question counts towards the budget that its caller has', async (t) => {
  const { access, cms } = await site(t)
  const caller = newCaller(basic('editor'))
  let spent = 0
  await inCall(caller, { requests: 10, ms: 5000, lookUpMs: 5000, memory: createAnswerMemory() }, async () => {
    caller.budget!.spend = () => {
      spent++
    }
    await access.demand('edit', { type: 'publisher_container', id: String(published.id) }, { user: { uid: '2', admin: false }, caller })
  })
  t.equal(spent, cms.requests)
  t.match(cms.requestLines.at(-1), /^PATCH /, 'the last of them asks whether he may edit')
})

t.test('an entity is seen by who may view it, and locked by who may edit it, by integer id and by uuid', async (t) => {
  const { may, url } = await site(t)
  const cases: Array<[name: string, type: string, of: { id: number; uuid: string }, view: string, edit: string]> = [
    ['editor', 'publisher_container', published, 'yes', 'yes'],
    ['editor', 'publisher_container', hidden, 'yes', 'yes'],
    ['reader', 'publisher_container', published, 'yes', 'FORBIDDEN'],
    ['reader', 'publisher_container', hidden, 'NOT_FOUND', 'NOT_FOUND'],
    ['editor', 'node', articles[0]!, 'yes', 'yes'],
    ['reader', 'node', articles[0]!, 'yes', 'FORBIDDEN'],
    ['reader', 'node', articles[19]!, 'NOT_FOUND', 'NOT_FOUND'],
    [
      'editor',
      'taxonomy_term',
      { id: 1, uuid: newspaper().entities.find(({ type, id }) => type.startsWith('taxonomy_term--') && id === 1)!.uuid! },
      'yes',
      'FORBIDDEN'
    ],
    [
      'admin',
      'taxonomy_term',
      { id: 1, uuid: newspaper().entities.find(({ type, id }) => type.startsWith('taxonomy_term--') && id === 1)!.uuid! },
      'yes',
      'yes'
    ]
  ] as Array<[string, string, { id: number; uuid: string }, string, string]>
  const session = Object.fromEntries(await Promise.all(['editor', 'reader', 'admin'].map(async (name) => [name, await login(url, name)])))
  for (const [name, type, { id, uuid }, view, edit] of cases) {
    for (const given of [id, uuid, uuid.toUpperCase()]) {
      for (const caller of [basic(name), session[name]]) {
        t.equal(await may('view', type, given, caller), view, `${name} views ${type} ${given}`)
        t.equal(await may('edit', type, given, caller), edit, `${name} edits ${type} ${given}`)
      }
    }
  }
})

t.test('an entity type whose id key the content model does not name can be asked about too', async (t) => {
  const { may } = await site(t)
  t.equal(await may('view', 'node_type', articles[0]!.uuid!), 'NOT_FOUND')
})

t.test('asking changes nothing, and no answer lets in whom the CMS does not know', async (t) => {
  const { may, cms, url } = await site(t)
  const state = async () =>
    hash(
      'sha256',
      sortedJson(
        await Promise.all(
          ['publisher_container/daily', 'publisher_container/special', 'node/article'].map(
            async (path) => ((await (await fetch(`${url}/jsonapi/${path}`, { headers: basic('admin') })).json()) as { data: unknown }).data
          )
        )
      )
    )
  const before = await state()
  for (const name of ['admin', 'editor', 'reader']) {
    for (const id of [published.id!, published.uuid!, hidden.id!]) await may('edit', 'publisher_container', id, basic(name))
  }
  for (const caller of [basic('nobody'), { authorization: 'Bearer x' }, { cookie: 'SESSabc=ended' }]) {
    t.equal(await may('edit', 'publisher_container', published.id!, caller), 'FORBIDDEN')
    t.equal(await may('view', 'publisher_container', hidden.id!, caller), 'NOT_FOUND')
  }
  const patches = cms.requestLines.filter((line) => line.startsWith('PATCH '))
  t.ok(patches.length >= 9 && patches.every((line) => / 40[013]$/.test(line)), patches.join('\n'))
  t.equal(await state(), before)
})

t.test('what JSON:API does not have is hidden, unless the content model names its type', async (t) => {
  const { may, cms } = await site(t, { openTypes: ['layout'] })
  for (const type of ['nosuch', 'publisher', 'constructor', '__proto__']) t.equal(await may('view', type, 1), 'NOT_FOUND', type)
  t.equal(await may('view', 'publisher_container', 999_999), 'NOT_FOUND')
  t.equal(await may('view', 'publisher_container', '6c1d1b3e-0000-4000-8000-000000000000'), 'NOT_FOUND')
  const { requests } = cms
  for (const id of ['new', '1.5', '-1', '01.', '1:2', `${published.uuid}x`, '9'.repeat(19)]) {
    t.equal(await may('edit', 'publisher_container', id), 'NOT_FOUND', id)
  }
  for (const right of ['view', 'edit'] as const) {
    t.equal(await may(right, 'layout', 'anything'), 'yes')
  }
  t.equal(cms.requests, requests, 'the CMS was not asked')
  t.equal(await may('view', 'publisher_container', `0${published.id}`), 'NOT_FOUND', 'another spelling is another lock')
})

t.test('lock types and id keys are those of the content model', async (t) => {
  const { may } = await site(t, { model: { lockTypes: { taxonomy_term: 'story', node: 'story' }, idKeys: { taxonomy_term: 'term' } } })
  t.equal(await may('edit', 'story', articles[0]!.uuid!), 'yes', 'one of several entity types')
  const term = newspaper().entities.find(({ type }) => type.startsWith('taxonomy_term--'))!
  t.equal(await may('view', 'taxonomy_term', term.uuid!), 'NOT_FOUND', 'its id has another name, so no more than a label is known of it')
  t.equal(await (await site(t, { model: { lockTypes: { node: 'story' } } })).may('edit', 'story', articles[0]!.id!), 'yes')
  const bundled = await site(t, { model: { bundles: { special: 'Special' } } })
  const daily = editions.find(({ type, fields }) => type.endsWith('--daily') && fields!['status'])!
  t.equal(await bundled.may('view', 'publisher_container', daily.uuid!), 'NOT_FOUND', 'a bundle that the content model leaves out')
})

t.test('where filters find nothing an id is found all the same', async (t) => {
  const { may, cms } = await site(t)
  cms.settings.filterAccess = false
  t.equal(await may('edit', 'publisher_container', hidden.id!), 'yes')
  t.equal(await may('view', 'publisher_container', hidden.id!, basic('reader')), 'NOT_FOUND')
})

t.test('an entity type without languages is asked for as any other', async (t) => {
  const { may } = await site(t, { model: { keys: { ...contentModel({}).keys, langcode: null } } })
  t.strictSame(
    [await may('edit', 'publisher_container', published.id!), await may('edit', 'publisher_container', published.id!, basic('reader'))],
    ['yes', 'FORBIDDEN']
  )
})

t.test('an answer is remembered for a minute, and concurrent questions are one', async (t) => {
  const { may, cms, clock, url } = await site(t)
  const asked = async (...questions: Array<() => Promise<string>>) => {
    const { requests } = cms
    const answers = await Promise.all(questions.map((ask) => ask()))
    return [cms.requests - requests, ...new Set(answers)]
  }
  const edit = (caller?: Record<string, string>) => () => may('edit', 'publisher_container', published.uuid!, caller)
  const view = (caller?: Record<string, string>) => () => may('view', 'publisher_container', published.uuid!, caller)
  const { cookie } = await login(url, 'editor')
  // What the CMS has is asked for once a caller and minute, and of what field_published_at is once; from here on only what it
  // lets them do.
  for (const caller of [undefined, basic('reader'), { cookie }]) await may('view', 'publisher_container', hidden.uuid!, caller)
  await may('view', 'publisher_container', other.uuid!)
  t.strictSame(await asked(...Array.from({ length: 50 }, () => edit())), [2, 'yes'], 'the entity and the PATCH, once')
  t.strictSame(await asked(view(), edit()), [0, 'yes'])
  t.strictSame(await asked(...Array.from({ length: 50 }, () => edit(basic('reader')))), [2, 'FORBIDDEN'])
  t.strictSame(await asked(edit(basic('reader'))), [0, 'FORBIDDEN'])
  t.strictSame(await asked(view(basic('reader'))), [0, 'yes'])
  clock.now += 59_999
  t.strictSame(await asked(edit(), edit(basic('reader'))), [0, 'yes', 'FORBIDDEN'])
  clock.now += 1
  t.strictSame(await asked(edit()), [2, 'yes'])
  t.strictSame(await asked(edit(basic('reader'))), [2, 'FORBIDDEN'])
  t.strictSame(await asked(edit({ cookie })), [3, 'yes'], 'a session has its token asked for too')
})

t.test('the memory is bounded, and refusals push no permission out', async (t) => {
  const { may, cms } = await site(t, { most: 2 })
  await may('view', 'node', articles[0]!.uuid!)
  for (const { uuid } of articles.slice(19, 40).filter(({ fields }) => !fields!['status'])) {
    await may('view', 'node', uuid!, basic('reader'))
  }
  const { requests } = cms
  t.equal(await may('view', 'node', articles[0]!.uuid!), 'yes')
  t.equal(cms.requests, requests)
  for (const { uuid } of articles.slice(1, 4)) await may('view', 'node', uuid!)
  t.ok(cms.requests > requests)
  const before = cms.requests
  await may('view', 'node', articles[0]!.uuid!)
  t.ok(cms.requests > before)
})

t.test('while the CMS is away permissions of the last 15 minutes hold, and nothing else is known', async (t) => {
  const { access, may, cms, clock } = await site(t)
  await may('edit', 'publisher_container', published.id!)
  await may('edit', 'publisher_container', published.id!, basic('reader'))
  cms.settings.maintenance = true
  clock.now += 60_000
  t.equal(await may('edit', 'publisher_container', published.id!), 'yes')
  t.equal(await may('view', 'publisher_container', published.id!), 'yes')
  t.equal(await may('edit', 'publisher_container', published.id!, basic('reader')), 'AUTH_UNAVAILABLE', 'a refusal does not')
  t.equal(await may('view', 'publisher_container', hidden.id!), 'AUTH_UNAVAILABLE')
  await t.rejects(
    access.demand(
      'view',
      { type: 'publisher_container', id: String(hidden.id) },
      { user: { uid: '2', admin: false }, caller: newCaller(basic('editor')) }
    ),
    {
      statusCode: 503,
      message: 'The CMS cannot say whether you may see or edit this; try again',
      headers: { 'retry-after': /^\d+$/ },
      cause: { code: 'CMS_UNAVAILABLE' }
    }
  )
  clock.now += 14 * 60_000 - 1
  t.equal(await may('edit', 'publisher_container', published.id!), 'yes')
  clock.now += 10_001
  t.equal(await may('edit', 'publisher_container', published.id!), 'AUTH_UNAVAILABLE')
  cms.settings.maintenance = false
  t.equal(await may('edit', 'publisher_container', published.id!), 'yes')
  await cms.close()
  clock.now += 60_000
  t.equal(await may('view', 'publisher_container', published.id!), 'yes')
  t.equal(await may('view', 'publisher_container', hidden.id!), 'AUTH_UNAVAILABLE')
})

t.test('a JSON:API that takes no writes cannot be asked who may edit: that says so, and may be seen', async (t) => {
  const { access, may, cms } = await site(t)
  cms.settings.readOnly = true
  t.equal(await may('view', 'publisher_container', published.id!), 'yes')
  await t.rejects(
    access.demand(
      'edit',
      { type: 'publisher_container', id: String(published.id) },
      { user: { uid: '2', admin: false }, caller: newCaller(basic('editor')) }
    ),
    {
      code: 'CMS_READ_ONLY',
      statusCode: 502,
      message: /^Quoin cannot ask Drupal who may edit: Drupal's JSON:API accepts only read operations: .*read_only: false\)$/
    }
  )
})

t.test('what a strange CMS answers is no permission', async (t) => {
  const cms = await startHostileCms(t)
  const document = (type: string, id: string, attributes: object) => ({ data: { type, id, attributes } })
  const error = (status: number, detail = '') => ({ status, body: { errors: [{ title: 'x', status: String(status), detail }] } })
  const other = published.uuid === editions[0]!.uuid ? editions[1]! : editions[0]!
  const individual = /^\/jsonapi\/publisher_container\/\w+\/[\w-]+$/
  const whole = document('publisher_container--daily', published.uuid!, { drupal_internal__id: published.id, langcode: 'en' })
  const patched =
    (answer: ReturnType<Behaviour>): Behaviour =>
    ({ method }) =>
      method === 'PATCH' ? answer : undefined
  const cases: Array<[what: string, outcome: string, right: Right, id: string | number, behave: Behaviour]> = [
    [
      'another entity',
      'no',
      'view',
      published.uuid!,
      ({ path }) =>
        individual.test(path) ? { body: document('publisher_container--daily', other.uuid!, { drupal_internal__id: other.id }) } : undefined
    ],
    [
      'another entity of a list',
      'no',
      'view',
      published.id!,
      ({ path, query }) =>
        query.size > 0 && !individual.test(path) && path !== '/jsonapi'
          ? { body: { data: [document('publisher_container--daily', other.uuid!, { drupal_internal__id: other.id }).data] } }
          : undefined
    ],
    [
      'no more than a label',
      'NOT_FOUND',
      'view',
      published.uuid!,
      ({ path }) => (individual.test(path) ? { body: document('publisher_container--daily', published.uuid!, { title: 'x' }) } : undefined)
    ],
    [
      'a page',
      'AUTH_UNAVAILABLE',
      'view',
      published.uuid!,
      ({ path }) =>
        individual.test(path) ? { status: 403, headers: { 'content-type': 'text/html' }, body: '<html><title>Firewall' } : undefined
    ],
    ['a forbidden entry point', 'AUTH_UNAVAILABLE', 'view', published.uuid!, ({ path }) => (path === '/jsonapi' ? error(403) : undefined)],
    ['a change that was taken', 'AUTH_UNAVAILABLE', 'edit', published.uuid!, patched({ body: whole })],
    ['nothing', 'AUTH_UNAVAILABLE', 'edit', published.uuid!, patched('reset')],
    [
      'a firewall before writes',
      'AUTH_UNAVAILABLE',
      'edit',
      published.uuid!,
      patched({ status: 403, headers: { 'content-type': 'text/html' }, body: '<html>' })
    ],
    ['an error', 'AUTH_UNAVAILABLE', 'edit', published.uuid!, patched(error(500))],
    ['overload', 'AUTH_UNAVAILABLE', 'edit', published.uuid!, patched({ ...error(503), headers: { ...JSONAPI, 'retry-after': '7' } })],
    [
      'another language',
      'CMS_REFUSED',
      'edit',
      published.uuid!,
      patched(
        error(
          405,
          'The requested translation of the resource object does not exist, instead modify one of the translations that do exist: de.'
        )
      )
    ],
    ['another status', 'CMS_REFUSED', 'edit', published.uuid!, patched(error(418))],
    ['gone meanwhile', 'FORBIDDEN', 'edit', published.uuid!, patched(error(404))],
    ['not known any more', 'FORBIDDEN', 'edit', published.uuid!, patched(error(401))],
    [
      'a working copy',
      'yes',
      'edit',
      published.uuid!,
      patched(error(400, 'Updating a resource object that has a working copy is not yet supported.'))
    ],
    ['a conflict', 'yes', 'edit', published.uuid!, patched(error(409))],
    ['a violation', 'yes', 'edit', published.uuid!, patched(error(422))],
    [
      'an entity without a language',
      'yes',
      'view',
      published.uuid!,
      ({ path }) =>
        individual.test(path)
          ? { body: document('publisher_container--daily', published.uuid!, { drupal_internal__id: published.id }) }
          : undefined
    ]
  ]
  for (const [what, outcome, right, id, behave] of cases) {
    cms.behave = behave
    const { may } = accessOver(t, cms.url)
    const answer = await may(right, 'publisher_container', id)
    if (outcome === 'no') t.match(answer, /^(?:NOT_FOUND|AUTH_UNAVAILABLE)$/, what)
    else t.equal(answer, outcome, what)
  }
  cms.behave = ({ path }) =>
    path === '/session/token' ? { status: 200, headers: { 'content-type': 'text/html' }, body: '<html>Log in</html>' } : undefined
  const { may } = accessOver(t, cms.url)
  const { cookie } = await login(cms.url, 'editor')
  t.equal(await may('view', 'publisher_container', published.id!, { cookie }), 'yes')
  t.equal(await may('edit', 'publisher_container', published.id!, { cookie }), 'AUTH_UNAVAILABLE', 'no token')
  cms.behave = ({ path }) =>
    path === '/session/token'
      ? { status: 404, headers: { 'content-type': 'text/plain' }, body: 'a-token-of-a-good-length-but-404' }
      : undefined
  t.equal(await may('edit', 'publisher_container', published.id!, { cookie }), 'AUTH_UNAVAILABLE')
})

t.test('the PATCH has an empty document, the language that was shown, and nothing of the caller but credentials', async (t) => {
  const cms = await startHostileCms(t)
  const { may } = accessOver(t, cms.url)
  const { cookie } = await login(cms.url, 'editor')
  await may('edit', 'publisher_container', published.id!, { cookie, 'x-request-id': 'abc' })
  const patch = cms.asked.find(({ method }) => method === 'PATCH')!
  t.equal(patch.body, '{}')
  t.equal(
    patch.path,
    `/jsonapi/${published.type.replace('--', '/')}/${published.uuid}`.replace(/\/(?:daily|special)\//, `/${patch.path.split('/')[3]}/`)
  )
  t.match(patch.headers, {
    cookie,
    'x-csrf-token': /^[\w-]+$/,
    'accept-language': 'en',
    'content-type': 'application/vnd.api+json',
    'x-request-id': 'abc'
  })
  t.equal(cms.asked.filter(({ method }) => method === 'PATCH').length, 1, 'never sent twice')
})
