import nock from 'nock'
import t, { type Test } from 'tap'
import { invalid, isStale, lostReference, notIncludable, refusal, unknownProperties } from '#lib/editions/translate/failures.ts'
import { failures } from '#lib/errors.ts'
import type { JsonapiAnswer } from '#lib/drupal/client.ts'
import { callerOf } from '#lib/drupal/credentials.ts'
import { isDocument } from '#lib/drupal/document.ts'
import { recording, recordings, versions, type Version } from '../fixtures/recordings.ts'
import { build } from '../helper.ts'
import { failed, serve, type Reply } from './site.ts'

const CMS = 'http://cms.example'
const JSONAPI = { 'content-type': 'application/vnd.api+json' }
const entryPoint = recording('jsonapi-entrypoint-anonymous').response.body
const individual = recording('jsonapi-individual-daily-editor').response.body
const daily = '/jsonapi/publisher_container/daily'
const uuid: string = individual.data.id
const body = { title: [{ value: 'Changed' }] }

nock.disableNetConnect()
nock.enableNetConnect('127.0.0.1')
nock.emitter.on('no match', ({ url }: Request) => {
  if (!url.startsWith('http://127.0.0.1:')) t.fail(`the CMS was asked what no test expects: ${url}`)
})
t.teardown(() => nock.cleanAll())

const app = await build(t, { staleSeconds: '0' })

interface Operation {
  send: () => Promise<Reply>
  /** The request whose answer is odd. */
  method: 'get' | 'post' | 'patch'
  path: string
}

const operations: Record<string, Operation> = {
  read: { send: () => ask('GET', `/api/collection/${uuid}`), method: 'get', path: `${daily}/${uuid}` },
  list: { send: () => ask('GET', '/api/collections/daily'), method: 'get', path: daily },
  create: { send: () => ask('POST', '/api/collection', { type: 'daily', ...body }), method: 'post', path: daily },
  update: { send: () => ask('POST', `/api/collection/${uuid}`, body), method: 'patch', path: `${daily}/${uuid}` }
}

async function ask(method: 'GET' | 'POST', url: string, payload?: object, headers: Record<string, string> = {}): Promise<Reply> {
  const answer = await app.inject({ method, url, headers, ...(payload && { payload }) })
  return { status: answer.statusCode, headers: answer.headers, body: answer.json(), upstream: [] }
}

/** A CMS in health, one of whose requests may have another answer; what was set up before is forgotten. */
function healthy(odd?: (cms: nock.Scope) => nock.Scope): void {
  nock.cleanAll()
  const cms = nock(CMS).persist()
  odd?.(cms)
  cms
    .get('/jsonapi')
    .reply(200, entryPoint, JSONAPI)
    .get('/jsonapi/field_storage_config/field_storage_config')
    .query(true)
    .reply(200, recording('jsonapi-config-field-storage-without').response.body, JSONAPI)
    .get(`${daily}/${uuid}`)
    .query(true)
    .reply(200, individual, JSONAPI)
    .get(/\/daily\/[0-9a-f-]{36}/)
    .query(true)
    .reply(404, errors(404, 'not converted'), JSONAPI)
    .get(/\/publisher_container\/\w+/)
    .query(true)
    .reply(
      200,
      ({ url }: Request) => ({
        data: [{ ...individual.data, type: `publisher_container--${/publisher_container\/(\w+)/.exec(url)![1]}` }]
      }),
      JSONAPI
    )
    .post(daily)
    .query(true)
    .reply(201, (request: Request) => created(request), JSONAPI)
    .patch(`${daily}/${uuid}`)
    .query(true)
    .reply(200, individual, JSONAPI)
}

/** A new edition with these data, and the uuid that was sent. */
async function created(request: Request, data: object = individual.data): Promise<{ data: object }> {
  const {
    data: { id }
  } = (await request.json()) as { data: { id: string } }
  return { data: { ...data, id } }
}

async function works(t: Test): Promise<void> {
  healthy()
  for (const [name, { send }] of Object.entries(operations)) t.ok((await send()).status < 300, `then ${name} works`)
}

/** Things that are the CMS's own business, as they come in its answers. */
const INTERNALS =
  'SQLSTATE[42S02]: SELECT base_table.id FROM users; PHP Fatal error in /var/www/html/core/lib/Drupal.php at http://10.1.2.3:8080/ secret'
const LEAK = /SQLSTATE|SELECT|PHP|Drupal\.php|var\/www|10\.1\.2\.3|secret|<html|cms\.example/

const errors = (status: number, detail: string, pointer?: string) => ({
  errors: [
    {
      title: 'T',
      status: String(status),
      detail,
      links: { via: { href: 'http://10.1.2.3:8080/' } },
      ...(pointer && { source: { pointer } })
    }
  ]
})
const html = `<!DOCTYPE html><html><body>${INTERNALS}</body></html>`
const HTML = { 'content-type': 'text/html; charset=UTF-8' }

t.test('a write-protected JSON:API answers 502 and names the setting, whoever writes', async (t) => {
  for (const name of ['jsonapi-readonly-post-405', 'jsonapi-readonly-patch-405', 'jsonapi-readonly-post-anonymous']) {
    const { response } = recording(name)
    for (const operation of ['create', 'update'] as const) {
      const { send, method, path } = operations[operation]!
      healthy((cms) => cms[method](path).query(true).reply(405, response.body, JSONAPI))
      const reply = await send()
      failed(
        t,
        name,
        reply,
        502,
        'CMS_READ_ONLY',
        /^Drupal's JSON:API accepts only read operations: .*\/admin\/config\/services\/jsonapi .*read_only: false/
      )
      t.notMatch(reply.body.message, LEAK)
    }
  }
  await works(t)
})

t.test('a draft that is not published, and an edition saved between reading and writing, are conflicts', async (t) => {
  const { path } = operations.update!
  const refuse = (status: number, document: object) => healthy((cms) => cms.patch(path).query(true).reply(status, document, JSONAPI))
  refuse(
    400,
    errors(
      400,
      'Updating a resource object that has a working copy is not yet supported. See https://www.drupal.org/project/drupal/issues/2795279.'
    )
  )
  failed(
    t,
    'draft',
    await operations.update!.send(),
    409,
    'CONFLICT',
    /^This edition has a newer draft .*: publish or delete the draft in Drupal/
  )

  const others = errors(
    405,
    'The requested translation of the resource object does not exist, instead modify one of the translations that do exist: fr, de.'
  )
  healthy((cms) => cms.patch(path).query(true).reply(405, others, JSONAPI).patch(`/en${path}`).query(true).reply(404, html, HTML))
  failed(
    t,
    'another language',
    await operations.update!.send(),
    502,
    'CMS_REFUSED',
    /\(fr, de\): name the prefixes of the site's languages in the content model \(languages\)$/
  )

  const stale = recording('jsonapi-patch-stale-changed-after-editor2-edit').response
  refuse(stale.status, stale.body)
  const { changed } = individual.data.attributes
  failed(
    t,
    'with changed',
    await ask('POST', `/api/collection/${uuid}`, { ...body, changed: [{ value: changed }] }),
    409,
    'STALE_EDIT',
    /^Somebody else has saved this edition, after you opened it/
  )
  failed(
    t,
    'with If-Match',
    await ask('POST', `/api/collection/${uuid}`, body, { 'if-match': '*' }),
    412,
    'PRECONDITION_FAILED',
    /^Somebody else has saved this edition/
  )
  failed(t, 'with neither', await operations.update!.send(), 403, 'CMS_FORBIDDEN', "Access denied on updating field 'changed'.")
  refuse(403, errors(403, "The 'update publisher_container' permission is required."))
  failed(t, 'forbidden, If-Match or not', await ask('POST', `/api/collection/${uuid}`, body, { 'if-match': '*' }), 403, 'CMS_FORBIDDEN')
  await works(t)
})

t.test('an edition is changed in its own language, in which Drupal showed it, whatever the caller would rather read', async (t) => {
  const sent: unknown[] = []
  let langcode: unknown
  const url = await serve(t, (request, response) => {
    if (request.method === 'PATCH') sent.push(request.headers['accept-language'])
    const links = { self: { href: `${url}/jsonapi` }, 'publisher_container--daily': { href: `${url}${daily}` } }
    const data = { ...individual.data, attributes: { ...individual.data.attributes, langcode } }
    request
      .resume()
      .on('end', () => response.writeHead(200, JSONAPI).end(JSON.stringify(request.url === '/jsonapi' ? { data: [], links } : { data })))
  })
  const app = await build(t, { CMS_URL: url })
  for (langcode of ['de', 'not a language', 5]) {
    for (const headers of [{ 'accept-language': 'fr, en;q=0.5' }, {}]) {
      t.equal((await app.inject({ method: 'POST', url: `/api/collection/${uuid}`, headers, payload: body })).statusCode, 200)
    }
  }
  t.strictSame(sent, ['de', 'de', 'fr, en;q=0.5', undefined, 'fr, en;q=0.5', undefined])
})

t.test('an answer without the edition that was saved, or to another question, is not taken for one', async (t) => {
  for (const operation of ['create', 'update'] as const) {
    for (const data of [null, []]) {
      const { send, method, path } = operations[operation]!
      healthy((cms) => cms[method](path).query(true).reply(200, { data }, JSONAPI))
      failed(
        t,
        operation,
        await send(),
        502,
        'CMS_INVALID_RESPONSE',
        /^The CMS did not answer with the edition that it was to save; nothing was saved$/
      )
    }
  }
  healthy((cms) => cms.get(operations.read!.path).query(true).reply(200, { data: null }, JSONAPI))
  failed(t, 'read', await operations.read!.send(), 404, 'NOT_FOUND', `There is no edition ${uuid}`)
  await works(t)
})

t.test('a write that failed while somebody else saved is not told to be either', async (t) => {
  const { path, send } = operations.update!
  nock.cleanAll()
  const { data } = individual
  nock(CMS)
    .get(path)
    .query(true)
    .reply(200, individual, JSONAPI)
    .patch(path)
    .query(true)
    .reply(500, html, HTML)
    .get(path)
    .query(true)
    .reply(200, { data: { ...data, attributes: { ...data.attributes, title: 'Theirs', changed: '2030-01-01T00:00:00+00:00' } } }, JSONAPI)
  failed(
    t,
    'update',
    await send(),
    502,
    'CMS_FAILED',
    'The CMS failed to answer; whether your change was saved is not known: load the edition again before you repeat it'
  )
})

t.test('an edition of which Drupal shows nothing but the label, or not even that, may not be seen, as in core REST', async (t) => {
  const bare = { type: individual.data.type, id: uuid }
  healthy((cms) =>
    cms
      .get(operations.read!.path)
      .query(true)
      .reply(200, { data: { ...bare, attributes: [], relationships: { uid: { data: null }, nothing: {} } } }, JSONAPI)
  )
  for (const { send } of [operations.read!, operations.update!]) {
    failed(t, 'by uuid', await send(), 403, 'CMS_FORBIDDEN', 'You may see only the label of this edition')
  }
  healthy((cms) =>
    cms
      .get(daily)
      .query((query) => JSON.stringify(query).includes('filter'))
      .reply(200, { data: [] }, JSONAPI)
      .get(daily)
      .query(true)
      .reply(200, { data: [bare] }, JSONAPI)
  )
  const {
    status,
    body: { data }
  } = await ask('GET', '/api/collections/daily?status=1', undefined, { authorization: 'Basic bare' })
  t.strictSame([status, data], [200, []], 'what has no integer id has no place in the order')
  healthy((cms) =>
    cms
      .get(daily)
      .query(true)
      .reply(200, { data: [{ ...bare, attributes: { title: 'T' } }] }, JSONAPI)
  )
  failed(t, 'by integer id', await ask('GET', '/api/collection/424243'), 403, 'CMS_FORBIDDEN')
})

t.test('who has saved what he may not see has saved it all the same', async (t) => {
  healthy((cms) =>
    cms
      .post(daily)
      .query(true)
      .reply(201, (request: Request) => created(request, { type: individual.data.type, attributes: { title: 'T' } }), JSONAPI)
  )
  const { status, headers, body } = await operations.create!.send()
  t.strictSame([status, headers['location'], body.title], [201, `/api/collection/${body.uuid[0].value}`, [{ value: 'T' }]])

  const gone = '00000000-0000-4000-8000-000000000001'
  const relationships = { field_unheard: { data: { type: 'node--article', id: gone, meta: { drupal_internal__target_id: 4 } } } }
  healthy((cms) =>
    cms
      .post(daily)
      .query(true)
      .reply(
        201,
        (request: Request) =>
          created(request, { type: individual.data.type, attributes: { drupal_internal__id: 99, title: 'T' }, relationships }),
        JSONAPI
      )
  )
  const late = await operations.create!.send()
  t.match(
    [late.status, late.body.field_unheard],
    [201, [{ target_id: 4, target_uuid: gone }]],
    'be it deleted again before it could be read'
  )
})

t.test('a caller who may not filter, or not read, is told so', async (t) => {
  const forbidden = errors(
    403,
    'The current user is not authorized to filter by the `drupal_internal__id` field, given in the path `drupal_internal__id`.'
  )
  healthy((cms) => cms.get(daily).query(true).reply(403, forbidden, JSONAPI))
  failed(
    t,
    'by integer id',
    await ask('GET', '/api/collection/424242'),
    403,
    'CMS_FORBIDDEN',
    /^The current user is not authorized to filter/
  )
  healthy((cms) =>
    cms
      .get(daily)
      .query(({ sort, filter: _, ...query }) => /\bid$/.test(String(sort)) && !('filter[id]' in query))
      .twice()
      .reply(403, forbidden, JSONAPI)
      .get(/\/publisher_container\/\w+/)
      .query(true)
      .reply(200, { data: [] }, JSONAPI)
  )
  failed(
    t,
    'by integer id, nothing being found',
    await ask('GET', '/api/collection/424242', undefined, { authorization: 'Basic other' }),
    403,
    'CMS_FORBIDDEN',
    /^The current user is not authorized to filter/
  )
})

t.test('an entry point that is odd fails every endpoint alike, and is asked again by the next request', async (t) => {
  const cases: Array<[what: string, status: number, document: object, wanted: number, code: string, message?: RegExp]> = [
    [
      'no editions',
      200,
      { data: [], links: { self: { href: `${CMS}/jsonapi` }, 'node--article': { href: `${CMS}/jsonapi/node/article` } } },
      502,
      'CMS_INVALID_RESPONSE',
      /^The CMS exposes no resource type publisher_container--\* through JSON:API$/
    ],
    ['no links', 200, { data: [] }, 502, 'CMS_INVALID_RESPONSE'],
    [
      'links that are none',
      200,
      { data: [], links: { self: 'http://[', 'publisher_container--daily': { href: 'http://[' } } },
      502,
      'CMS_INVALID_RESPONSE'
    ],
    [
      'links of another site',
      200,
      { data: [], links: { self: `${CMS}/jsonapi`, 'publisher_container--daily': `${CMS}/elsewhere`, x: 5 } },
      502,
      'CMS_INVALID_RESPONSE'
    ],
    ['refused', 403, errors(403, 'The access content permission is required.'), 403, 'CMS_FORBIDDEN'],
    ['failed', 500, errors(500, INTERNALS), 502, 'CMS_FAILED']
  ]
  for (const [what, status, document, wanted, code, message] of cases) {
    nock.cleanAll()
    const fresh = await build(t)
    nock(CMS).persist().get('/jsonapi').reply(status, document, JSONAPI)
    for (const [method, url, payload] of [
      ['GET', `/api/collection/${uuid}`],
      ['GET', '/api/collections/daily'],
      ['POST', '/api/collection', { type: 'daily' }],
      ['POST', '/api/collection/5', body],
      ['GET', '/api/collection/bundles']
    ] as const) {
      const reply = await fresh.inject({ method, url, ...(payload && { payload }) })
      failed(
        t,
        `${what}: ${method} ${url}`,
        { status: reply.statusCode, headers: reply.headers, body: reply.json() },
        wanted,
        code,
        message
      )
      t.notMatch(reply.body, LEAK)
    }
    if (status !== 200) {
      healthy()
      t.equal((await fresh.inject(`/api/collection/${uuid}`)).statusCode, 200, `${what}: then it works`)
    }
  }
})

t.test('the entry point refuses one caller and not who asks at the same time', async (t) => {
  const fresh = await build(t)
  healthy((cms) =>
    cms
      .get('/jsonapi')
      .matchHeader('authorization', 'Bearer over')
      .delay(20)
      .reply(401, errors(401, 'The access token has expired.'), JSONAPI)
  )
  const answers = await Promise.all(
    ['over', 'good', 'over', 'good'].map((token) =>
      fresh.inject({ url: `/api/collection/${uuid}`, headers: { authorization: `Bearer ${token}` } })
    )
  )
  t.strictSame(
    answers.map(({ statusCode }) => statusCode),
    [401, 200, 401, 200]
  )
})

t.test('bundles and edition types do without what the CMS refuses to show', async (t) => {
  const odd = (status: number, body: string | object, headers: Record<string, string>) =>
    healthy((cms) =>
      ['publisher_container_type', 'field_storage_config'].reduce(
        (cms, type) => cms.get(`/jsonapi/${type}/${type}`).query(true).reply(status, body, headers),
        cms
      )
    )
  odd(403, errors(403, INTERNALS), JSONAPI)
  const {
    body: { data }
  } = await ask('GET', '/api/collection/bundles')
  t.strictSame(
    data.filter(({ id }: any) => id !== 'publisher_container'),
    [
      { id: 'daily', label: 'Daily Editions' },
      { id: 'special', label: 'Special Editions' }
    ]
  )
  const as = (user: string) => ({ authorization: `Basic ${user}` })
  t.strictSame((await ask('GET', '/api/publisher-edition/bundles', undefined, as('one'))).body, {
    data: [
      { id: 'daily', label: 'Daily Editions' },
      { id: 'special', label: 'Special Editions' }
    ]
  })
  odd(500, html, HTML)
  failed(t, 'bundles', await ask('GET', '/api/collection/bundles'), 502, 'CMS_FAILED')
  failed(t, 'types', await ask('GET', '/api/publisher-edition/bundles', undefined, as('two')), 502, 'CMS_FAILED')
})

t.test('a CMS that refuses connections', async (t) => {
  const app = await build(t, { CMS_URL: 'http://127.0.0.1:1' })
  for (const [method, url, payload] of [
    ['GET', '/api/collection/5'],
    ['GET', '/api/collections/daily'],
    ['POST', '/api/collection', { type: 'daily' }],
    ['POST', '/api/collection/5', body]
  ] as const) {
    const reply = await app.inject({ method, url, ...(payload && { payload }) })
    failed(
      t,
      `${method} ${url}`,
      { status: reply.statusCode, headers: reply.headers, body: reply.json() },
      502,
      'CMS_UNREACHABLE',
      'The CMS could not be reached'
    )
  }
  t.match((await app.inject('/health/ready')).json().dependencies.cms, { status: 'unavailable', message: 'The CMS could not be reached' })
})

t.test('readiness asks the CMS', async (t) => {
  healthy()
  t.match((await app.inject('/health/ready')).json().dependencies.cms, { status: 'ok' })
  healthy((cms) => cms.get('/jsonapi').reply(503, html, HTML))
  await t.rejects(app.probes.get('cms')!(), { message: /maintenance/ })
})

for (const version of versions) {
  t.test(`refusals of Drupal ${version} have its core REST's own text wherever both were recorded`, async (t) => {
    const twins: Array<[rest: string, ...jsonapi: string[]]> = [
      ['rest-get-unpublished-anonymous', 'jsonapi-individual-unpublished-anonymous-401'],
      ['rest-get-unpublished-reader-403', 'jsonapi-individual-unpublished-reader-403', 'session-invalid-cookie-get-unpublished'],
      ['rest-get-unpublished-wrong-password', 'jsonapi-individual-unpublished-wrong-password'],
      ['rest-delete-anonymous', 'jsonapi-delete-anonymous-401'],
      ['rest-delete-reader-403', 'jsonapi-delete-reader-403'],
      ['rest-patch-anonymous', 'jsonapi-patch-anonymous-401'],
      [
        'rest-patch-changed-older',
        'jsonapi-patch-changed-older',
        'jsonapi-patch-changed-older-admin',
        'jsonapi-patch-stale-changed-after-editor2-edit'
      ],
      ['rest-patch-id-different-403', 'jsonapi-patch-internal-id-different-403'],
      ['rest-patch-internal-note-403', 'jsonapi-patch-internal-note-editor-403'],
      ['rest-patch-list-bad-422', 'jsonapi-patch-list-bad-value-422'],
      ['rest-patch-reader-403', 'jsonapi-patch-reader-403'],
      ['rest-patch-title-emptied-422', 'jsonapi-patch-title-empty-422', 'jsonapi-patch-title-null-422'],
      ['rest-patch-two-errors-422', 'jsonapi-patch-two-errors-422'],
      ['rest-post-anonymous', 'jsonapi-post-anonymous-401'],
      ['rest-post-changed-given', 'jsonapi-post-changed-given'],
      ['rest-post-created-bad', 'jsonapi-post-created-garbage'],
      ['rest-post-date-bad-422', 'jsonapi-post-publication-date-garbage'],
      [
        'rest-post-description-format-forbidden-422',
        'jsonapi-post-description-format-full_html-forbidden',
        'jsonapi-post-description-format-unknown'
      ],
      ['rest-post-duplicate-key-422', 'jsonapi-post-key-duplicate-422', 'jsonapi-patch-key-duplicate-422'],
      ['rest-post-integer-bad', 'jsonapi-post-integer-string-abc'],
      ['rest-post-internal-note-403', 'jsonapi-post-internal-note-editor-403'],
      ['rest-post-internal-note-empty-list', 'jsonapi-post-internal-note-editor-403'],
      ['rest-post-list-bad-value-422', 'jsonapi-post-list-field-bad-value-422'],
      [
        'rest-post-missing-title-422',
        'jsonapi-post-missing-title-422',
        'jsonapi-post-title-null-422',
        'jsonapi-post-title-empty-string-422',
        'jsonapi-error-verbose-422'
      ],
      ['rest-post-missing-title-and-key-422', 'jsonapi-post-missing-title-and-key-422'],
      ['rest-post-reader-403', 'jsonapi-post-reader-403'],
      [
        'rest-post-reference-missing-uuid',
        'jsonapi-post-ref-missing-uuid',
        'jsonapi-post-ref-missing-uuid-single',
        'jsonapi-post-ref-one-missing-one-good',
        'jsonapi-patch-relationships-missing-uuid-404'
      ],
      [
        'rest-post-reference-unpublished-422',
        'jsonapi-post-ref-unpublished-article-editor',
        'jsonapi-patch-relationships-unpublished-article-422'
      ],
      ['rest-post-title-two-values-422', 'jsonapi-post-title-array-two-scalars'],
      ['rest-post-two-errors-422', 'jsonapi-patch-two-errors-422'],
      ['rest-post-with-id-403', 'jsonapi-post-attribute-drupal_internal__id'],
      ['rest-post-without-format-missing-title-422', 'jsonapi-post-missing-title-422'],
      ['rest-post-wrong-password', 'jsonapi-post-wrong-password-403', 'session-invalid-cookie-post'],
      ['session-rest-patch-without-csrf-403', 'session-jsonapi-patch-without-csrf-403', 'session-jsonapi-post-without-csrf-403']
    ]
    for (const [rest, ...names] of twins) {
      const { response } = recording(rest, version)
      for (const name of names) {
        const failure = refusal(answered(name, version))
        t.strictSame(
          { status: failure.statusCode, message: failure.message },
          { status: response.status, message: response.body.message },
          `${name} as ${rest}`
        )
      }
    }
    const other = refusal(answered('jsonapi-post-boolean-string-true', version))
    t.equal(other.message.replace('field_featured', 'status'), recording('rest-post-boolean-word', version).response.body.message)

    // Core REST's other refusals: their twins are texts of another layer, which are this service's own to word.
    const own: Record<string, [code: string, message?: RegExp]> = {
      'jsonapi-individual-unpublished-article-reader-403': [
        'CMS_FORBIDDEN',
        /^The current user is not allowed to GET the selected resource\.$/
      ],
      'jsonapi-individual-404-unknown-uuid': ['NOT_FOUND', /^There is no such edition$/],
      'jsonapi-post-client-id-duplicate-409': ['CONFLICT', /^Conflict: Entity already exists\.$/],
      'jsonapi-post-ref-id-integer': ['UNPROCESSABLE', /^No "" entity found with UUID "4" for field "0"\.$/],
      'jsonapi-patch-resend-reference-id-missing': ['UNPROCESSABLE', /^No "" entity found with UUID "missing"/],
      'jsonapi-readonly-patch-405': ['CMS_READ_ONLY'],
      'jsonapi-individual-put-405': ['CMS_REFUSED']
    }
    for (const [name, [code, message = /./]] of Object.entries(own)) {
      const failure = refusal(answered(name, version))
      t.equal(failure.code, code, name)
      t.match(failure.message, message, name)
    }
  })
}

for (const version of versions) {
  t.test(`every refusal of Drupal ${version} becomes a failure with a message, whatever it says`, async (t) => {
    const refused = recordings(
      ({ response: { status, body } }) => status >= 400 && status < 500 && typeof body === 'object' && body !== null && !body.__non_json__,
      version
    )
    t.ok(refused.length >= 150, `${refused.length} recordings`)
    const same = [401, 403, 409, 422]
    const wrong = refused.filter(({ response }) => {
      const { code, message, statusCode } = refusal({ status: response.status, document: response.body })
      return (
        !isDocument(response.body) ||
        message.length === 0 ||
        !(code in failures) ||
        /http:|SQL/.test(message) ||
        (same.includes(response.status) && statusCode !== response.status)
      )
    })
    t.strictSame(
      wrong.map(({ name }) => name),
      []
    )
  })
}

t.test('violations keep path and text apart, also where there is no path or the text has colons and lines', async (t) => {
  const violation = (detail: unknown) =>
    refusal({ status: 422, document: { errors: [{ detail: detail as string, source: { pointer: '/data/attributes/x' } }] } }).details
      .violations
  t.strictSame(violation('title.0.value: Title: may not be\nlonger: 255'), [
    { path: 'title.0.value', message: 'Title: may not be\nlonger: 255' }
  ])
  t.strictSame(violation('Entity is not valid: No: not so'), [{ path: '', message: 'No: not so' }])
  t.strictSame(
    violation('Entity is not valid: <em class="placeholder">A</em> &amp; &#039;B&#x27; &lt;b&gt; &amp;lt; 1 < 2 &hellip; &#x110000;'),
    [{ path: '', message: "A & 'B' <b> &lt; 1 < 2 &hellip; &#x110000;" }],
    'of a whole edition Drupal tells in HTML'
  )
  t.strictSame(violation('title: 1 &lt; <b>2</b>'), [{ path: 'title', message: '1 &lt; <b>2</b>' }], 'of a field in plain text')
  t.strictSame(violation('Not a path: at all'), [{ path: '', message: 'Not a path: at all' }])
  t.strictSame(violation(undefined), [{ path: '', message: '' }])
  t.strictSame(violation(5), [{ path: '', message: '5' }])
  t.match(
    invalid([
      { path: 'a', message: 'b' },
      { path: 'c', message: 'd' }
    ]),
    { message: 'Unprocessable Entity: validation failed.\na: b\nc: d\n', statusCode: 422 }
  )
})

for (const version of versions) {
  t.test(
    `a stale edit before Drupal ${version} is one that was refused for its changed, and unknown properties are named with their field`,
    async (t) => {
      t.ok(isStale(answered('jsonapi-patch-changed-older', version), 'changed'))
      t.notOk(isStale(answered('jsonapi-patch-internal-note-editor-403', version), 'changed'))
      t.notOk(isStale(answered('jsonapi-patch-reader-403', version), 'changed'))
      t.notOk(isStale({ status: 403, document: {} }, 'changed'))
      t.notOk(isStale({ status: 422, document: errors(422, 'x', '/data/attributes/changed') }, 'changed'))
      t.ok(
        isStale(
          {
            status: 422,
            document: errors(
              422,
              'Entity is not valid: The content has either been modified by another user, or you have already submitted modifications. As a result, your changes cannot be saved.',
              '/data'
            )
          },
          'changed'
        )
      )
      t.notOk(isStale({ status: 422, document: { errors: [{}] } }, 'changed'))
      t.ok(isDocument({ data: { type: 'a', id: 'b', attributes: [], relationships: [] } }))
      t.notOk(isDocument({ data: { type: 'a', id: 'b', attributes: [1] } }))
      t.strictSame(unknownProperties(answered('jsonapi-post-cover-meta-unknown-property', version)), {
        field: 'field_cover',
        properties: ['nosuch']
      })
      t.strictSame(unknownProperties(answered('jsonapi-post-ref-duplicate-entries-with-arity', version)), {
        field: 'field_articles',
        properties: ['arity']
      })
      t.equal(unknownProperties(answered('jsonapi-post-unknown-attribute-422', version)), undefined)
      t.equal(unknownProperties({ status: 422, document: {} }), undefined)
      t.equal(unknownProperties({ status: 403, document: errors(403, "The property 'x' does not exist on the 'y' field") }), undefined)
    }
  )
}

t.test('a reference that is not found, and a relationship that is not included, are told by what Drupal says', (t) => {
  const said = (status: number, detail: string): JsonapiAnswer => ({ status, document: errors(status, detail) })
  const lost = 'The resource identified by `node--article:a-uuid` (given as a relationship item) could not be found.'
  const gone = '`field_cover` is not a valid relationship field name. Possible values: uid.'
  t.strictSame([said(404, lost), said(400, lost), said(404, gone), { status: 404, document: {} }].map(lostReference), [
    'a-uuid',
    undefined,
    undefined,
    undefined
  ])
  t.strictSame([said(400, gone), said(404, gone), said(400, lost), { status: 400, document: {} }].map(notIncludable), [
    'field_cover',
    undefined,
    undefined,
    undefined
  ])
  t.end()
})

t.test('of a caller only credentials, language and request id are made out', async (t) => {
  const headers = {
    authorization: 'Bearer x',
    cookie: 'SESSa=b',
    'x-csrf-token': 'c',
    'accept-language': 'de',
    host: 'h',
    'x-forwarded-for': '10.0.0.1'
  }
  const common = { 'x-request-id': 'r', 'accept-language': 'de' }
  t.strictSame(callerOf(headers, 'r', true).headers, { ...common, authorization: 'Bearer x' })
  t.strictSame(callerOf({ ...headers, authorization: '' }, 'r', true).headers, { ...common, cookie: 'SESSa=b', 'x-csrf-token': 'c' })
  t.strictSame(callerOf({ cookie: 'SESSa=b', 'x-csrf-token': ['c', 'd'] }, 'r', true).headers, { 'x-request-id': 'r', cookie: 'SESSa=b' })
  t.strictSame(callerOf({ 'x-csrf-token': 'c' }, 'r', true).headers, { 'x-request-id': 'r' })
  t.strictSame(callerOf(headers, 'r', false).headers, common)
})

t.test("of a caller's cookies only Drupal's session cookies are credentials, and those that a setting names", async (t) => {
  const cookies: Array<[cookie: string, sent: string | undefined, names?: string[]]> = [
    ['_ga=1; SESS12ca17b4=s;theme=dark', 'SESS12ca17b4=s'],
    ['SSESS12ca17b4=s; SESS12ca17b4=t; SESS12ca17b4=u', 'SSESS12ca17b4=s; SESS12ca17b4=t; SESS12ca17b4=u'],
    ['_ga=1; theme=dark', undefined],
    ['SESSION=java; SESSIONID=1; PHPSESSID=2; XSESSa=3; SESS=; SESSa; SESSa=; =SESSa=1', undefined],
    ['saml=1; SESSa=b; Saml=2; saml2=3', 'saml=1; SESSa=b', ['saml', 'other']],
    ['saml=1', 'saml=1', ['saml']]
  ]
  for (const [cookie, sent, names] of cookies) {
    const headers = { cookie, 'x-csrf-token': 'c' }
    t.strictSame(
      callerOf(headers, 'r', true, names).headers,
      { 'x-request-id': 'r', ...(sent !== undefined && { cookie: sent, 'x-csrf-token': 'c' }) },
      cookie
    )
    t.strictSame(callerOf(headers, 'r', false, names).headers, { 'x-request-id': 'r' }, 'none of them beside a service account')
  }
})

function answered(name: string, version?: Version): JsonapiAnswer {
  const { status, body } = recording(name, version).response
  return { status, document: body }
}
