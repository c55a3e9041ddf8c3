import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { createCms, type Cms, type CmsContent, type CmsOptions, type Seed } from '../../drupal-stand-in/cms.ts'
import { newspaper } from '../../../dev/content.ts'
import { checkCms } from '../doctor/cms.ts'
import { contentModel } from '../../../lib/editions/model.ts'
import { report } from '../diagnosis.ts'
import { basicAccount, oauthAccount, sessionAccount, type Account } from '../../../lib/drupal/accounts.ts'
import { createHttp } from '../../../lib/http/client.ts'
import model from '../../../config/content-model.json' with { type: 'json' }
import manifest from '../../../package.json' with { type: 'json' }
import { recordedSite } from '../../../test/fixtures/site.ts'
import { enlarged, serve, writes } from '../../../test/editions/site.ts'

// The doctor guesses that a site has the time zone of its own machine.
process.env.TZ = 'UTC'

type Kind = 'basic' | 'session' | 'oauth'

interface Visit {
  url: string
  /** The service account; its password is the name unless given. */
  as?: { kind: Kind; user: string; password?: string }
  jsonapiPath?: string
  timeoutMs?: number
  model?: object
}

async function lines(t: Test, { url, as, jsonapiPath = '/jsonapi', timeoutMs = 5000, model: changed = {} }: Visit): Promise<string[]> {
  const http = createHttp({ url, timeoutMs })
  t.teardown(() => http.close())
  const account = as && accountOf(as, { http, jsonapiPath })
  const found: string[] = []
  const right = await report(
    checkCms({ http, url, jsonapiPath, model: contentModel({ ...model, ...changed }), ...(account && { account }) }),
    (text) => found.push(text)
  )
  t.equal(right, !found.some((text) => text.startsWith('!')), 'the outcome is that of the lines')
  t.notOk(
    found.some((text) => !/^(?:ok {3}|! {4}|- {4})\S/.test(text)),
    'each line says ok, ! or -'
  )
  return found
}

function accountOf({ kind, user, password = user }: NonNullable<Visit['as']>, options: Parameters<typeof basicAccount>[0]): Account {
  return { basic: basicAccount, session: sessionAccount, oauth: oauthAccount }[kind](options, user, password)
}

async function open(t: Test, options: Partial<CmsOptions> = {}): Promise<{ cms: Cms; url: string }> {
  const cms = createCms({ content: newspaper(), ...options })
  t.teardown(() => cms.close())
  return { cms, url: await cms.listen() }
}

/** The lines that begin with one of these, as `fields of`. */
function about(found: string[], ...topics: string[]): string[] {
  return found.filter((text) => topics.some((topic) => text.slice(5).startsWith(topic)))
}

/** A site's content with other roles or entities. */
function changed(
  content: CmsContent,
  { roles = {}, more = [], keep = () => true }: { roles?: Record<string, string[]>; more?: Seed[]; keep?: (seed: Seed) => boolean }
): CmsContent {
  return { ...content, roles: { ...content.roles, ...roles }, entities: [...content.entities.filter(keep), ...more] }
}

const storage = (name: string, type: string): Seed => ({
  type: 'field_storage_config--field_storage_config',
  id: `publisher_container.${name}`,
  config: {
    field_name: name,
    entity_type: 'publisher_container',
    field_storage_config_type: type,
    drupal_internal__id: `publisher_container.${name}`
  }
})

t.test('an administrator sees that everything is right, and nothing was changed', async (t) => {
  const { cms, url } = await open(t, { content: changed(newspaper(), { more: [storage('field_expires', 'timestamp')] }) })
  const before = await countOf(url)
  t.strictSame(await lines(t, { url, as: { kind: 'session', user: 'admin' } }), [
    `ok   CMS: ${url}/jsonapi answers as JSON:API 1.0`,
    'ok   CMS account: Drupal takes it for the user admin',
    'ok   CMS account: its roles are authenticated',
    'ok   editions: publisher_container with the bundles daily, special',
    'ok   writing: JSON:API takes writes',
    'ok   writing: admin may create daily',
    'ok   writing: admin may create special',
    "ok   module: the site does not have Quoin's Drupal module, which is optional",
    'ok   editions of daily: admin sees 45 on the first page',
    'ok   editions of special: admin sees 15 on the first page',
    'ok   filters: admin finds what there is',
    'ok   fields of daily: id, title, status, changed, field_key, field_publisher_edition_type',
    'ok   fields of special: id, title, status, changed, field_key, field_publisher_edition_type',
    'ok   references: revision_uid, uid, field_articles, field_cover, field_section',
    'ok   labels of bundles: Daily Edition, Special Edition',
    'ok   labels of edition types: Daily Editions, Special Editions',
    'ok   lists.article.image: field_image of article',
    'ok   lists.article.section: field_tags of article',
    'ok   content model: as the site shows it in entityType, keys.id, keys.revision, keys.uuid, keys.bundle, bundleEntityType, keys.label, keys.published, keys.changed, ' +
      'keys.langcode, keys.defaultLangcode, fields.key, fields.editionType, editionTypes, fields.articles, references, mainProperty, rawFields, decimalFields, bundles, timestampFields, idKeys, canonicalPaths',
    'ok   core REST: Quoin shows edition 1 of daily as it does',
    'ok   core REST: Quoin shows edition 2 of special as it does'
  ])
  t.strictSame(
    writes(cms.requestLines).map((one) => one.replace(/\/jsonapi\/\w+/, '')),
    ['POST /user/login?_format=json 200', 'POST /daily 400', 'POST /special 400'],
    'one login, and no write that could succeed'
  )
  t.equal(await countOf(url), before)
})

t.test("the doctor tells the version of Quoin's module", async (t) => {
  const { version } = manifest
  const { cms, url } = await open(t)
  cms.settings.module = version
  t.strictSame(about(await lines(t, { url }), 'module:'), [`ok   module: the site has Quoin's module ${version}`])
  cms.settings.module = '0.0.1'
  const [old] = about(await lines(t, { url }), 'module:')
  t.match(
    old,
    `!    module: the site has Quoin's module 0.0.1, and this is Quoin ${version}: copy the module of Quoin ${version} to the site`
  )
})

async function countOf(url: string): Promise<number> {
  const { data } = (await (
    await fetch(`${url}/jsonapi/publisher_container/daily`, { headers: { authorization: `Basic ${btoa('admin:admin')}` } })
  ).json()) as { data: unknown[] }
  return data.length
}

t.test('an editor is told what an editor cannot see', async (t) => {
  for (const kind of ['basic', 'session'] as const) {
    const { url } = await open(t)
    const found = await lines(t, { url, as: { kind, user: 'editor' } })
    t.strictSame(
      found.filter((text) => !text.startsWith('ok')),
      [
        '-    roles of the CMS account: Drupal does not show them to the user itself',
        '-    labels of bundles: editor may not see them; name them in the content model (bundles), else machine names may be shown',
        '-    labels of edition types: editor may not see them; name them in the content model (editionTypes), else machine names may be shown'
      ]
    )
    t.strictSame(about(found, 'filters'), ['ok   filters: editor finds what there is'])
    t.match(
      about(await lines(t, { url, as: { kind, user: 'editor' }, model: { timestampFields: ['field_expires'] } }), 'timestampFields'),
      [
        /^! {4}timestampFields: the content model lacks revision_timestamp, created, changed \(.*\): correct timestampFields in the content model$/
      ],
      'this needs no sight of field storages'
    )
  }
})

t.test('with passthrough the doctor asks as anonymous and says what that leaves open', async (t) => {
  const { url } = await open(t)
  const found = await lines(t, { url })
  t.match(about(found, 'CMS account'), [
    /^- {4}CMS account: CMS_AUTH is passthrough, .*; CMS_AUTH=basic CMS_USER=<name> CMS_PASSWORD=<password> npm run doctor asks as one of your users$/
  ])
  t.strictSame(about(found, 'writing', 'editions of'), [
    'ok   writing: JSON:API takes writes',
    '-    writing: who may create daily: anonymous may not, others were not asked',
    '-    writing: who may create special: anonymous may not, others were not asked',
    'ok   editions of daily: anonymous sees 38 on the first page, 7 more are hidden',
    'ok   editions of special: anonymous sees 15 on the first page'
  ])
  t.notOk(found.some((text) => text.startsWith('!')))
})

t.test('a user who may not create or view editions is told which permission is missing', async (t) => {
  const { url } = await open(t)
  t.match(about(await lines(t, { url, as: { kind: 'basic', user: 'reader' } }), 'writing'), [
    'ok   writing: JSON:API takes writes',
    /^! {4}writing: reader may not create daily \(The following permissions are required: .* 'create publisher_container'\.\): give the user the permission/,
    /^! {4}writing: reader may not create special/
  ])
  const blind = await open(t, { content: changed(newspaper(), { roles: { anonymous: [], authenticated: ['access content'] } }) })
  const found = await lines(t, { url: blind.url, as: { kind: 'basic', user: 'reader' } })
  t.strictSame(about(found, 'editions of', 'fields of daily', 'references', 'filters'), [
    '!    editions of daily: reader sees 0 on the first page, 45 more are hidden: give the user the permission to view them',
    '!    editions of special: reader sees 0 on the first page, 15 more are hidden: give the user the permission to view them',
    '-    filters: no edition can be seen'
  ])
  t.strictSame(
    about(await lines(t, { url: blind.url }), 'editions of'),
    [
      '-    editions of daily: anonymous sees 0 on the first page, 45 more are hidden: so their fields were not checked',
      '-    editions of special: anonymous sees 0 on the first page, 15 more are hidden: so their fields were not checked'
    ],
    'to anonymous that may be as it should be'
  )
})

t.test('a site without editions is not wrong', async (t) => {
  const { url } = await open(t, { content: changed(newspaper(), { keep: ({ type }) => !type.startsWith('publisher_container--') }) })
  const found = await lines(t, { url, as: { kind: 'session', user: 'admin' } })
  t.strictSame(about(found, 'editions of', 'filters'), [
    '-    editions of daily: admin sees 0 on the first page: so their fields were not checked',
    '-    editions of special: admin sees 0 on the first page: so their fields were not checked',
    '-    filters: no edition can be seen'
  ])
  t.notOk(found.some((text) => text.startsWith('!')))
})

t.test('more pages are told, and a site with one more bundle', async (t) => {
  const { url } = await open(t, { content: recordedSite() })
  t.strictSame(about(await lines(t, { url, as: { kind: 'session', user: 'cfgtype' } }), 'editions of', 'labels of bundles'), [
    'ok   editions of daily: cfgtype sees 45 on the first page, 5 more are hidden, and there are more pages',
    'ok   editions of publisher_container: cfgtype sees 45 on the first page, 5 more are hidden, and there are more pages',
    'ok   editions of special: cfgtype sees 18 on the first page, 2 more are hidden',
    'ok   labels of bundles: Daily, Publisher container, Special'
  ])
})

t.test('JSON:API that only reads, and filters that find nothing, are each one line with the remedy', async (t) => {
  const { url } = await open(t, { content: enlarged(newspaper(), 400), readOnly: true, filterAccess: false })
  const found = await lines(t, { url, as: { kind: 'basic', user: 'editor' } })
  t.strictSame(about(found, 'writing'), [
    "!    writing: Drupal's JSON:API accepts only read operations: allow all operations at /admin/config/services/jsonapi (jsonapi.settings, read_only: false)"
  ])
  t.match(about(found, 'filters'), [
    /^! {4}filters: they do not find editions that can be seen \(unpublished of others.*; proven: none\): Drupal lets some users see .*; let a module implement hook_jsonapi_publisher_container_filter_access\(\).*\. Without it the first search reads \d+ pages, about \d\.\d s; with it 2, about 0\.\d s$/
  ])
  t.ok(
    found.includes('ok   fields of daily: id, title, status, changed, field_key, field_publisher_edition_type'),
    'the rest is checked all the same'
  )

  const content = newspaper()
  const special = content.entities.find(({ type }) => type === 'publisher_container--special')!
  const hidden = Array.from({ length: 60 }, (_, index): Seed => ({
    ...special,
    id: 500 + index,
    uuid: `00000000-0000-4000-8000-${500 + index}`.padEnd(36, '0'),
    fields: { ...special.fields, status: false }
  }))
  content.entities = [
    ...content.entities.filter(({ type, fields }) => type !== 'publisher_container--daily' && fields?.status !== false),
    ...hidden,
    { ...special, id: 900, uuid: 'ffffffff-0000-4000-8000-000000000900' }
  ]
  const crowded = await open(t, { content, filterAccess: false })
  t.match(about(await lines(t, { url: crowded.url, as: { kind: 'basic', user: 'reader' } }), 'filters'), [
    /^- {4}filters: Drupal showed some users none of the first 50 publisher_container entities/
  ])
})

t.test('the doctor names the kinds of editions that filters find', async (t) => {
  const about = async (user: string, filterAccess: boolean | 'own') =>
    (await lines(t, { url: (await open(t, { filterAccess })).url, as: { kind: 'basic', user } })).filter((line) => line.includes('filters'))
  t.strictSame(await about('reader', true), [
    '-    filters: proven for published of others, own published, not for unpublished of others, own unpublished: reader is shown none of the latter, or too few; Quoin looks for them without a filter each time'
  ])
  t.match(await about('editor', 'own'), [
    /^! {4}filters: they do not find editions that can be seen \(unpublished of others; proven: published of others, own unpublished, own published\): Drupal lets some users see/
  ])
})

t.test('of an entity type that holds articles too the bundles have to be named', async (t) => {
  const page: Seed = { type: 'node--page', id: 9000, fields: { title: 'A page' } }
  const { url: upstream } = await open(t, { content: changed(newspaper(), { more: [page] }) })
  // The stand-in has the same fields for all bundles.
  const url = await serve(t, async (request, response) => {
    const { authorization, 'content-type': type } = request.headers
    const answer = await fetch(upstream + request.url, {
      method: request.method!,
      headers: { ...(authorization && { authorization }), ...(type && { 'content-type': type }) },
      ...(request.method !== 'GET' && { body: await text(request) })
    })
    const body = (await answer.text()).replaceAll(/^\/jsonapi\/node\/page/.test(request.url!) ? '"comment"' : 'none', '"other"')
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'text/plain' }).end(body)
  })
  const model = {
    entityType: 'node',
    bundleEntityType: 'node_type',
    keys: { id: 'nid', revision: 'vid' },
    fields: { key: 'comment', editionType: null, articles: [] }
  }
  const found = await lines(t, { url, as: { kind: 'basic', user: 'admin' }, model })
  t.match(about(found, 'bundles', 'fields of'), [
    /^ok {3}fields of article: nid, title, status, changed, comment$/,
    "!    fields of page: comment is not there: other bundles have it: take page out of the content model's bundles if it holds no editions, or let this user view the field, or correct fields.key (null where editions have no key)",
    '-    bundles: Quoin takes all of article, page for editions: name those that are editions in the content model (bundles): no node that can be seen refers to any number of another bundle'
  ])
})

t.test('a content model that does not fit is told member by member', async (t) => {
  const { url } = await open(t, {
    content: changed(newspaper(), { more: [storage('field_expires', 'timestamp'), storage('field_other', 'string')] })
  })
  const admin = { kind: 'session', user: 'admin' } as const
  const cases: Array<[model: object, topics: string[], expected: Array<string | RegExp>]> = [
    [
      { entityType: 'issue' },
      ['CMS:', 'the rest'],
      [
        /^ok/,
        "!    CMS: The CMS exposes no resource type issue--* through JSON:API: correct CMS_URL, CMS_JSONAPI_PATH and CONTENT_MODEL, and turn Drupal's module jsonapi on",
        '-    the rest of the CMS: correct the above first'
      ]
    ],
    [
      { bundles: { daily: 'Täglich' } },
      ['editions:', 'labels of bundles'],
      ['ok   editions: publisher_container with the bundles daily', 'ok   labels of bundles: the content model has them']
    ],
    [{ bundles: { weekly: 'Weekly' } }, ['CMS:'], [/^ok/, /^! {4}CMS: .*publisher_container--weekly/]],
    [
      { fields: { key: 'field_code' } },
      ['fields of special'],
      [
        '!    fields of special: field_code is not there: correct fields.key in the content model (null where editions have no key), or let this user view the field'
      ]
    ],
    [
      { fields: { editionType: 'field_kind' } },
      ['fields of daily'],
      [
        '!    fields of daily: field_kind is not there: correct fields.editionType in the content model (null where the bundle alone tells the type), or let this user view the field'
      ]
    ],
    [
      { fields: { editionType: null } },
      ['fields of daily', 'labels of edition types'],
      [
        'ok   fields of daily: id, title, status, changed, field_key',
        'ok   labels of edition types: the content model has them, or the bundles are the types'
      ]
    ],
    [
      { editionTypes: { daily: 'Täglich' } },
      ['labels of edition types'],
      ['ok   labels of edition types: the content model has them, or the bundles are the types']
    ],
    [
      { keys: { label: 'name', changed: 'saved' } },
      ['fields of daily'],
      [/name is not there: correct keys\.label in/, /saved is not there: correct keys\.changed in/]
    ],
    [
      {
        lists: {
          article: { entityType: 'node', bundles: ['article'], image: 'field_tags', section: 'field_desk' },
          gallery: { entityType: 'node', bundles: ['gallery'], image: 'field_image' },
          all: { entityType: 'node' }
        }
      },
      ['lists'],
      [
        '!    lists.article.image: field_tags of article leads to taxonomy_term--sections, taxonomy_term--tags, which shows no address of a file: correct image of the list in the content model',
        '!    lists.article.section: field_desk of article is not there: correct section of the list in the content model, or let admin view the field',
        '!    lists.gallery: JSON:API exposes nothing of it: correct entityType and bundles of the list in the content model'
      ]
    ],
    [
      { timestampFields: ['created', 'changed'] },
      ['timestampFields'],
      [/^! {4}timestampFields: the content model lacks revision_timestamp, field_expires \(/]
    ],
    [
      { timestampFields: [...model.timestampFields, 'field_published_at'] },
      ['timestampFields'],
      [
        '!    timestampFields: field_published_at hold dates, and are not of the types timestamp, created or changed: take them out of timestampFields in the content model'
      ]
    ],
    [{ timestampFields: [...model.timestampFields, 'login'] }, ['timestampFields'], []],
    [
      { keys: { ...model.keys, bundle: 'kind', revision: 'vid' } },
      ['keys'],
      [
        /^- {4}keys.revision: the site has revision_id, not vid: not certain: JSON:API marks both ids/,
        '!    keys.bundle: the site has type, not kind (core REST shows it): correct keys.bundle in the content model'
      ]
    ],
    [
      { keys: { ...model.keys, uuid: 'guid' } },
      ['writing: Drupal', 'keys.uuid'],
      [
        /^! {4}writing: Drupal's JSON:API cannot create daily, as the key uuid of its entity type is called guid: let/,
        /cannot create special/,
        '!    keys.uuid: the site has uuid, not guid (core REST shows it): correct keys.uuid in the content model'
      ]
    ],
    [
      { fields: { articles: ['field_stories'] } },
      ['fields.articles'],
      [/^- {4}fields.articles: the content model lacks field_articles: not certain: it is the one field that holds any number of articles$/]
    ],
    [
      { references: { ...model.references, field_section: 'node' } },
      ['references:'],
      [/^ok/, /^! {4}references: field_section is taxonomy_term there, not node \(/]
    ],
    [
      { bundles: { daily: 'D', weekly: 'W' } },
      ['bundles'],
      [/^! {4}bundles: the site does not have weekly \(the entry point of JSON:API has the others\): correct bundles/]
    ],
    [
      { languages: { en: '', de: 'de' } },
      ['content model', 'languages'],
      [/^ok/, '-    content model: languages: the site does not show it, or has no such thing; npm run model says what would show it']
    ],
    [{ references: { ...model.references, type: 'publisher_container_type' } }, ['references'], [/^ok {3}references: /]],
    [
      { references: { ...model.references, field_gone: 'node' } },
      ['references'],
      ['-    references field_gone: the content model names them, but no edition seen has such a field']
    ],
    [
      { bundleEntityType: null, keys: { bundle: null, published: null } },
      ['fields of daily', 'labels of bundles'],
      [
        'ok   fields of daily: id, title, changed, field_key, field_publisher_edition_type',
        /^ok {3}labels of bundles: .*there are no bundles$/
      ]
    ],
    [{ bundleEntityType: 'kind' }, ['labels of bundles'], [/^- {4}labels of bundles: admin may not see them/]]
  ]
  for (const [changes, topics, expected] of cases) {
    const found = about(await lines(t, { url, as: admin, model: changes }), ...topics)
    t.equal(found.length, expected.length, JSON.stringify(changes))
    t.match(found, expected, JSON.stringify(changes))
  }
})

t.test('a reference that no edition has and the content model does not name is told', async (t) => {
  const bare = newspaper()
  for (const { type, fields } of bare.entities) if (type.startsWith('publisher_container--')) delete fields!.field_cover
  const { url } = await open(t, { content: bare })
  const as = { kind: 'session', user: 'admin' } as const
  t.strictSame(about(await lines(t, { url, as, model: { references: { field_articles: 'node' } } }), 'references'), [
    '-    references field_cover: no edition seen has one, so what they hold is not known; name it in the content model (references)'
  ])
  t.strictSame(about(await lines(t, { url, as }), 'references'), [
    'ok   references: revision_uid, uid, field_articles, field_cover, field_section'
  ])
})

t.test('a refused account is tried once, and what cannot be known without it is said', async (t) => {
  for (const kind of ['basic', 'session', 'oauth'] as const) {
    const { cms, url } = await open(t)
    const found = await lines(t, { url, as: { kind, user: 'editor', password: 'wrong-secret' } })
    t.match(
      found,
      kind === 'oauth'
        ? [/^ok {3}CMS: /, /^! {4}CMS: /, '-    the rest of the CMS: correct the above first']
        : [
            /^ok {3}CMS: /,
            /^! {4}CMS account: the CMS refused the service account's user name and password .*: correct the account; after five wrong tries/,
            '-    the rest of the CMS: correct the above first'
          ]
    )
    t.notMatch(found.join('\n'), /wrong-secret/)
    t.equal(cms.requests, 2, 'one look without the account, one try with it')
  }
})

t.test('whom Drupal takes an account for, as far as it tells', async (t) => {
  const { cms, url } = await open(t)
  /** The site as oauth sees it: a token stands for a user's Basic credentials, and answers may be changed on their way. */
  const front = (user: string | undefined, change: (path: string, document: any) => void = () => {}) =>
    serve(t, async (request, response) => {
      if (request.url === '/oauth/token') return response.end(JSON.stringify({ access_token: 'TOKEN', expires_in: 300 }))
      const authorization =
        request.headers.authorization === 'Bearer TOKEN' && user ? { authorization: `Basic ${btoa(`${user}:${user}`)}` } : undefined
      const upstream = await fetch(url + request.url, {
        method: request.method!,
        headers: { 'content-type': 'application/vnd.api+json', ...authorization },
        ...(request.method === 'POST' && { body: '{}' })
      })
      const type = upstream.headers.get('content-type') ?? 'text/plain'
      if (!type.includes('json')) return response.writeHead(upstream.status, { 'content-type': type }).end(await upstream.text())
      const document = (await upstream.json()) as object
      change(request.url!, document)
      response.writeHead(upstream.status, { 'content-type': type }).end(JSON.stringify(document))
    })
  const as = { kind: 'oauth', user: 'client' } as const
  t.strictSame(about(await lines(t, { url: await front('editor'), as }), 'CMS account', 'roles'), [
    'ok   CMS account: Drupal takes it for the user editor',
    '-    roles of the CMS account: Drupal does not show them to the user itself'
  ])
  t.match(about(await lines(t, { url: await front(undefined), as }), 'CMS account', 'the rest'), [
    /^! {4}CMS account: the CMS refused the service account's token, which it takes for nobody's .*: have the web server hand on Authorization and cookies \(Apache: CGIPassAuth On\)/,
    '-    the rest of the CMS: correct the above first'
  ])
  const nameless = await front('editor', (_path, document) => {
    if (document.meta?.links?.me) document.meta.links.me = { href: 'x' }
  })
  t.match(about(await lines(t, { url: nameless, as }), 'CMS account', 'filters'), [
    '!    CMS account: Drupal accepts it, but its entry point does not say who it is (meta.links.me): see which module changes it',
    /^- {4}filters: The publisher_container entities do not show some users whose they are/
  ])
  const roles = await front('admin', (path, document) => {
    if (path.includes('/user/user/')) {
      document.data.relationships.roles = {
        data: [
          { type: 'user_role--user_role', id: 'u1', meta: { drupal_internal__target_id: 'administrator' } },
          { type: 'user_role--user_role', id: 'u2' }
        ]
      }
    }
  })
  t.ok((await lines(t, { url: roles, as })).includes('ok   CMS account: its roles are authenticated, administrator, u2'))
  const names: Array<[attributes: object | undefined, name: RegExp]> = [
    [{ display_name: 'Anna\u001b[31m\n!    evil' }, /user Anna \[31m !/],
    [{ name: 'anna' }, /user anna$/],
    [{}, /user [0-9a-f-]{36}$/]
  ]
  for (const [attributes, name] of names) {
    const named = await front('admin', (path, document) => {
      if (path.includes('/user/user/')) document.data.attributes = attributes
    })
    t.match((await lines(t, { url: named, as }))[1], name)
  }
  const hidden = await front('admin', (path, document) => {
    if (path === '/jsonapi') delete document.links['user--user']
  })
  t.match(
    (await lines(t, { url: hidden, as }))[1],
    /^ok {3}CMS account: Drupal takes it for the user [0-9a-f-]{36}$/,
    'a site that does not expose its users'
  )
  cms.settings.readOnly = true
  t.match(await lines(t, { url: await front('editor'), as }), [
    /^ok/,
    /^ok/,
    /^-/,
    /^ok/,
    /^! {4}writing: Drupal's JSON:API accepts only read operations/
  ])
})

t.test('a CMS that is not there, or something else, is one line that says what to do', async (t) => {
  const { cms, url } = await open(t)
  const answers = (status: number, type: string, body: string) =>
    serve(t, (_request, response) => response.writeHead(status, { 'content-type': type }).end(body))
  const json = 'application/json'
  const cases: Array<[what: string, visit: Visit, expected: RegExp]> = [
    [
      'nothing listens',
      { url: 'http://127.0.0.1:9' },
      /^! {4}CMS: http:\/\/127\.0\.0\.1:9 cannot be reached \(connect ECONNREFUSED 127\.0\.0\.1:9\): correct CMS_URL, or check the network from here$/
    ],
    [
      'it does not answer',
      { url: await serve(t, () => {}), timeoutMs: 1000 },
      /^! {4}CMS: The CMS did not answer within 1000 ms: see why it is slow, or raise CMS_TIMEOUT_MS$/
    ],
    [
      'another path',
      { url, jsonapiPath: '/api' },
      /^! {4}CMS: The CMS answered something that is not JSON:API: a page of HTML \(status 404, "Page not found"\) \(the CMS answered 404: Page not found\): correct CMS_URL, CMS_JSONAPI_PATH and CONTENT_MODEL/
    ],
    [
      'HTML',
      { url: await answers(200, 'text/html', '<h1>hello</h1>') },
      /not JSON:API: a page of HTML \(status 200\) \(the CMS answered 200: hello\): correct CMS_URL/
    ],
    [
      'other JSON',
      { url: await answers(200, json, '{"data":[]}') },
      /^! {4}CMS: The CMS answered JSON, but not as Drupal's JSON:API does \(the CMS answered 200\)/
    ],
    [
      'JSON that is an error',
      { url: await answers(404, json, '{"message":"no"}') },
      /^! {4}CMS: The CMS answered JSON, but not as Drupal's JSON:API does \(the CMS answered 404\)/
    ],
    [
      'a failure',
      { url: await answers(500, 'text/plain', 'SQLSTATE secret') },
      /^! {4}CMS: The CMS failed to answer \(the CMS answered 500\): Drupal's own log says why$/
    ],
    ['overload', { url: await answers(429, 'text/plain', '') }, /^! {4}CMS: it takes no requests at the moment \(the CMS answered 429\)/]
  ]
  for (const [what, visit, expected] of cases) {
    const before = cms.requests
    const found = await lines(t, { ...visit, as: { kind: 'session', user: 'admin', password: 'hunter2' } })
    t.match(found, [expected, '-    the rest of the CMS: correct the above first'], what)
    t.equal(found.length, 2, what)
    t.notMatch(found.join('\n'), /hunter2|SQLSTATE/, what)
    t.ok(cms.requests - before <= 1, 'no login is tried at what may be the wrong place')
  }
  cms.settings.maintenance = true
  t.match(await lines(t, { url }), [/^! {4}CMS: it takes no requests at the moment \(the CMS answered 503\): end its maintenance/, /^-/])
})

t.test('a site that shows JSON:API to those it knows alone is checked with the account', async (t) => {
  const { url } = await open(t)
  const closed = await serve(t, async ({ url: path, method, headers: { authorization } }, response) => {
    const type = { 'content-type': 'application/vnd.api+json' }
    if (!authorization) {
      return response.writeHead(401, type).end('{"errors":[{"status":"401","detail":"No authentication credentials provided."}]}')
    }
    const upstream = await fetch(url + path, {
      method: method!,
      headers: { authorization, ...type },
      ...(method === 'POST' && { body: '{}' })
    })
    response.writeHead(upstream.status, type).end(await upstream.text())
  })
  const found = await lines(t, { url: closed, as: { kind: 'basic', user: 'editor' } })
  t.equal(found[0], `ok   CMS: ${closed}/jsonapi answers as JSON:API, to those it knows`)
  t.ok(found.includes('ok   filters: editor finds what there is'))
  t.match(await lines(t, { url: closed }), [
    /^ok/,
    /^- {4}CMS account/,
    /^! {4}CMS: access is denied \(No authentication credentials provided\.\): give those who use Quoin/,
    /^-/
  ])
})

t.test('single answers that are not as they should be', async (t) => {
  const { url } = await open(t)
  /** The site, but for the answers to what matches. */
  const odd = (pattern: RegExp, status: number, body: object, from = 0) => {
    let seen = 0
    return serve(t, async (request, response) => {
      const type = { 'content-type': 'application/vnd.api+json' }
      const { authorization = '' } = request.headers
      const matched = pattern.test(`${request.method} ${decodeURIComponent(request.url!)} ${authorization && 'known'}`) && seen++ >= from
      if (matched) return response.writeHead(status, type).end(JSON.stringify(body))
      const upstream = await fetch(url + request.url, {
        method: request.method!,
        headers: { ...type, ...(authorization && { authorization }) },
        ...(request.method === 'POST' && { body: '{}' })
      })
      response.writeHead(upstream.status, type).end(await upstream.text())
    })
  }
  const editor = { kind: 'basic', user: 'editor' } as const
  const refused = { errors: [{ status: '403', detail: 'No.' }] }
  t.match(
    await lines(t, { url: await odd(/^GET \/jsonapi known/, 403, refused, 1), as: editor }),
    [/^ok/, /^! {4}CMS: access is denied \(No\.\)/, /^-/],
    'the entry point, after the login'
  )
  t.match(about(await lines(t, { url: await odd(/^POST .*special/, 418, refused), as: editor }), 'writing', 'CMS: The'), [
    /^ok {3}writing/,
    /^ok {3}writing: editor may create daily/,
    /^! {4}CMS: The CMS refused the request with status 418: Drupal's own log says why/
  ])
  t.match(
    about(await lines(t, { url: await odd(/^GET .*special.*page\[offset\]/, 403, refused), as: editor }), 'editions of', 'CMS: access'),
    [/^ok {3}editions of daily/, /^! {4}CMS: access is denied/]
  )
  t.match(about(await lines(t, { url: await odd(/^GET .*field_storage_config/, 403, refused), as: editor }), 'labels of edition types'), [
    /^- {4}/
  ])
})

t.test('an edition of each bundle is compared with core REST', async (t) => {
  const { url } = await open(t)
  const as = { kind: 'basic', user: 'editor' } as const
  const change = (alter: (edition: Record<string, unknown>) => object, status?: number, pattern = /^\/publisher_container\/1\?/) =>
    serve(t, async (request, response) => {
      const { authorization, 'content-type': type } = request.headers
      const upstream = await fetch(url + request.url, {
        method: request.method!,
        headers: { ...(authorization && { authorization }), ...(type && { 'content-type': type }) },
        ...(request.method !== 'GET' && { body: '{}' })
      })
      const body = await upstream.text()
      const isAltered = pattern.test(request.url!) && upstream.status === 200
      response
        .writeHead(isAltered ? (status ?? 200) : upstream.status, { 'content-type': upstream.headers.get('content-type') ?? 'text/plain' })
        .end(isAltered ? JSON.stringify(alter(JSON.parse(body))) : body)
    })
  const core = async (site: string, model = {}) => about(await lines(t, { url: site, as, model }), 'core REST')
  // Urls of files have the host that was asked.
  const second = /^- {4}core REST: edition 2 of special differs in field_cover: /
  const times = ['created', 'changed', 'revision_timestamp']
  t.match(await core(url, { timestampFields: times }), [
    /^! {4}core REST: field_expires of edition 1 of daily hold time stamps, which the content model does not name: add them to timestampFields/,
    /^! {4}core REST: field_expires of edition 2 of special/
  ])
  const other = Object.fromEntries(Array.from({ length: 12 }, (_, index) => [`field_${index}`, [{ value: index }]]))
  t.match(await core(await change((edition) => ({ ...edition, ...other }))), [
    /^- {4}core REST: edition 1 of daily differs in field_cover, field_0, .*, field_8 and 3 more: docs\/core-rest\.md has what JSON:API cannot say/,
    second
  ])
  const emptied: string[] = []
  const withEmptyItems = (edition: Record<string, unknown>) =>
    Object.fromEntries(
      Object.entries(edition).map(([field, items]) => {
        if ((items as object[]).length > 0) return [field, items]
        emptied.push(field)
        return [field, [{ value: null, format: null, processed: '' }]]
      })
    )
  t.match(await core(await change(withEmptyItems)), [/^- {4}core REST: edition 1 of daily differs in field_cover: /, second])
  t.ok(emptied.length > 0, 'JSON:API shows no item of an empty base field')
  t.match(await core(await change((edition) => ({ ...edition, field_articles: [{ target_id: 99 }] }))), [
    /^- {4}core REST: edition 1 of daily differs in .*field_articles/,
    second
  ])
  t.match(await core(await change(() => ({ message: 'No.' }), 403)), [
    /^- {4}core REST: edition 1 of daily: Drupal does not show it at \/publisher_container\/1\?_format=json, or not to this account/,
    second
  ])
  t.match(await core(await change(() => ({ errors: [] }), 500, /^\/jsonapi\/publisher_container\/daily\/[^?]/)), [
    /^- {4}core REST: edition [0-9a-f-]{36} of daily: Drupal does not show it/,
    /^- {4}core REST: edition [0-9a-f-]{36} of special: Drupal does not show it/
  ])
})

t.test('the languages of a content model are held to the prefixes that the site has', async (t) => {
  const { url } = await open(t)
  const languages: Record<string, string> = { '/jsonapi?_format=json': 'en', '/de/jsonapi?_format=json': 'de' }
  const multilingual = await serve(t, async (request, response) => {
    const language = languages[request.url!]
    if (language) return response.writeHead(406, { 'content-language': language }).end()
    const upstream = await fetch(url + request.url)
    response.writeHead(upstream.status, { 'content-type': upstream.headers.get('content-type') ?? 'text/plain' }).end(await upstream.text())
  })
  const of = async (named?: object) => about(await lines(t, { url: multilingual, model: named ? { languages: named } : {} }), 'languages')
  t.strictSame(await of({ en: '', de: 'de' }), [])
  t.match(await of({ en: 'en', de: 'de', it: 'it' }), [
    /^- {4}languages: the site does not have it: not certain: found by trying/,
    /^- {4}languages: en is "" there, not en: not certain/
  ])
  languages['/de/jsonapi?_format=json'] = 'fr'
  t.strictSame(await of(), [])
  Object.assign(languages, { '/en/jsonapi?_format=json': 'en' })
  t.match(await of(), [/^- {4}languages: the content model has none, the site {"en":"en"}: not certain/])
})

t.test('a defect of the doctor is not taken for one of the site', async (t) => {
  const http = {
    send: async () => {
      throw new TypeError('a defect')
    },
    close: async () => {}
  }
  await t.rejects(
    report(checkCms({ http, url: 'http://cms.example', jsonapiPath: '/jsonapi', model: contentModel({}) }), () => {}),
    { message: 'a defect' }
  )

  const { url } = await open(t)
  const sound = createHttp({ url, timeoutMs: 5000 })
  t.teardown(() => sound.close())
  const http2: typeof sound = {
    ...sound,
    send: async (request) => {
      if (request.method === 'GET' && /\/daily\/[^/?]+/.test(request.path)) throw new TypeError('another defect')
      return sound.send(request)
    }
  }
  await t.rejects(
    report(checkCms({ http: http2, url, jsonapiPath: '/jsonapi', model: contentModel(model) }), () => {}),
    {
      message: 'another defect'
    }
  )
})
