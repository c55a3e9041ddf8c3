import { createHash } from 'node:crypto'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { newspaper } from '../../../dev/content.ts'
import type { Catalog } from '../../../lib/editions/site/catalog.ts'
import { createLabels } from '../../../lib/editions/lookup/labels.ts'
import { createListLooks } from '../../../lib/editions/lookup/list-looks.ts'
import { createSamples } from '../../../lib/editions/lookup/samples.ts'
import type { EditionJson } from '../../../lib/editions/translate/edition-json.ts'
import type { LoadedEdition } from '../../../lib/editions/translate/read.ts'
import { LANGUAGES } from '../server/built-page.ts'
import { buildPage } from '../server/build-page.ts'
import { openSources, readSources } from '../server/sources.ts'
import { contentModel } from '../../../lib/editions/model.ts'
import type { Load } from '../../../lib/editions/lookup/finder.ts'
import type { Jsonapi } from '../../../lib/drupal/client.ts'
import { emptyDirectory, ROOT } from '../../../test/app/fixtures/processes.ts'
import { bearer, jwtEnv } from '../../../test/auth/fixtures.ts'
import { de } from '../page/texts-de.ts'
import { en } from '../page/texts-en.ts'
import { fr } from '../page/texts-fr.ts'
import { de as hereDe } from '../page/texts-journal-de.ts'
import { en as hereEn } from '../page/texts-journal-en.ts'
import { fr as hereFr } from '../page/texts-journal-fr.ts'
import { open } from '../../../test/editions/site.ts'
import { build } from '../../../test/helper.ts'
import { newCaller } from '../../../lib/http/calls.ts'

const ON = { DESK: 'on' }
const fastify = await build(t, ON)
const get = (url: string, headers: Record<string, string> = {}) => fastify.inject({ url, headers })

const page = await get('/desk')
/** What the page asks for, and what that does; by path. */
const asked = new Map<string, string>()
for (const text of [page.body, ...asked.values()]) {
  for (const [, address] of text.matchAll(/(?:href|src)="(desk\/[^"#]+)/g)) {
    const { pathname } = new URL(address!, 'http://quoin.example/desk')
    if (!asked.has(pathname)) asked.set(pathname, (await get(pathname)).body)
  }
}
const script = [...asked].find(([path]) => path.endsWith('.js'))!

t.test('caches tell answers of the desk apart by origin too, where pages of other origins may call', async (t) => {
  const { inject } = await build(t, { ...ON, CORS_ORIGINS: 'https://ui.example' })
  t.strictSame((await inject('/desk')).headers['vary'], 'Origin, accept-language')
  t.strictSame((await inject(script[0])).headers['vary'], 'Origin, accept-encoding')
})

t.test('the page may load nothing but its own files and the covers of the CMS, and has one script inline', async (t) => {
  const [, inline] = /<script>([^<]+)<\/script>\s*<link rel="stylesheet"/.exec(page.body)!
  t.equal(page.statusCode, 200)
  t.equal(page.headers['content-type'], 'text/html; charset=utf-8')
  t.equal(
    page.headers['content-security-policy'],
    "default-src 'none'; base-uri 'none'; connect-src 'self'; form-action 'none'; frame-ancestors 'none'; " +
      `img-src 'self' data: http://cms.example; script-src 'self' 'sha256-${createHash('sha256').update(inline!).digest('base64')}'; style-src 'self'; worker-src 'self'; require-trusted-types-for 'script'; trusted-types lit-html quoin-worker`
  )
  t.match(page.headers, { 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer', 'x-frame-options': 'DENY' })
  t.notMatch(
    page.body.replace(/ data-settings="[^"]*"/, '').replace(`<script>${inline}`, ''),
    /<script(?![^>]* src=)|<style|\sstyle=|\son\w+=|https?:/,
    'no other inline scripts, no styles, no other hosts'
  )
  for (const path of globSync('packages/desk/page/*.ts', { cwd: ROOT })) {
    t.notMatch(readFileSync(join(ROOT, path), 'utf8'), /\sstyle="|\bunsafeHTML\b|\.innerHTML\b|https?:\/\//, path)
  }
})

t.test('the worker of the event streams may call the service, and nothing else', async (t) => {
  const [name] = /worker-[A-Za-z0-9]{12}\.js/.exec(script[1])!
  const { statusCode, headers } = await get(`/desk/files/${name}`)
  t.match([statusCode, headers['content-security-policy']], [200, "default-src 'none'; connect-src 'self'"])
  t.equal((await get(script[0])).headers['content-security-policy'], "default-src 'none';frame-ancestors 'none'")
})

t.test('the page is one script and one style sheet, small and for ever', async (t) => {
  t.strictSame(
    [...asked.keys()].map((path) => path.replace(/-[A-Za-z0-9]{12}\./, '-hash.')).sort(),
    ['desk-hash.css', 'desk-hash.js'].map((name) => `/desk/files/${name}`)
  )
  const types: Record<string, string> = { js: 'text/javascript; charset=utf-8', css: 'text/css; charset=utf-8' }
  let bytes = 0
  for (const [path, text] of asked) {
    for (const accepted of ['gzip', 'br;q=1.0, gzip;q=0.5', 'GZIP ; q=1']) {
      const { statusCode, headers, rawPayload } = await get(path, { 'accept-encoding': accepted })
      t.match(
        [statusCode, headers],
        [
          200,
          {
            'content-type': types[path.split('.').at(-1)!],
            'content-encoding': 'gzip',
            'cache-control': 'public, max-age=31536000, immutable',
            vary: /accept-encoding/i
          }
        ],
        path
      )
      t.equal(gunzipSync(rawPayload).toString(), text)
      if (accepted === 'gzip') bytes += rawPayload.length
    }
    for (const accepted of ['identity', 'gzip;q=0', 'gzip; q=0.000', 'br, not-gzip']) {
      const { headers, body } = await get(path, { 'accept-encoding': accepted })
      t.strictSame([headers['content-encoding'], body], [undefined, text], accepted)
    }
  }
  t.comment(`${bytes} bytes`)
  t.comment(`${page.rawPayload.length} bytes of the page itself`)
  t.ok(bytes < 64 * 1024 && page.rawPayload.length < 4096)
  for (const one of ['@license', 'Lucide Icons and Contributors']) t.match(script[1], one, 'whose code it is')
  const symbols = new Set([...script[1].matchAll(/<symbol id="icon-([^"]+)"/g)].map(([, id]) => id))
  const used = globSync('packages/desk/page/*.ts', { cwd: ROOT }).flatMap((path) =>
    [...readFileSync(join(ROOT, path), 'utf8').matchAll(/\bicon\('([^']+)'\)/g)].map(([, name]) => name)
  )
  t.ok(used.length > 10)
  t.notMatch(script[1], /<use href="(?!#)/, 'an icon is in the page, so that none is missing where a request fails')
  for (const name of used) t.ok(symbols.has(name), `the icon ${name} is there`)
})

t.test('a browser gets the page in a language that it wishes for, with the texts of that one alone', async (t) => {
  const scripts = new Map<string, string>()
  for (const [wish, language] of [
    ['de-AT,de;q=0.9,en;q=0.8', 'de'],
    ['es, fr;q=0.5, de;q=0.4', 'fr'],
    ['es', 'en'],
    ['fr;q=0, *', 'en'],
    ['', 'en'],
    ['no such thing', 'en']
  ] as const) {
    const { statusCode, headers, body } = await get('/desk', { 'accept-language': wish })
    t.match([statusCode, headers['vary']], [200, /accept-language/i], wish)
    t.match(body, `lang="${language}"`, wish)
    const [, script] = /<script type="module" src="([^"]+)/.exec(body)!
    t.equal(scripts.get(language) ?? script, script, wish)
    scripts.set(language, script!)
  }
  t.equal(new Set(scripts.values()).size, 3)
  const lines = Object.entries({ de: de.saveChanges, en: en.saveChanges, fr: fr.saveChanges })
  const later = Object.entries({ de: hereDe.isOff, en: hereEn.isOff, fr: hereFr.isOff })
  for (const [language, path] of scripts) {
    const { body } = await get(`/${path}`)
    t.strictSame(
      lines.filter(([, line]) => body.includes(line)).map(([name]) => name),
      [language]
    )
    const { body: journal } = await get(`/desk/files/${/import\("\.\/(journal-view-[A-Za-z0-9]{12}\.js)"\)/.exec(body)![1]}`)
    t.strictSame(
      later.filter(([, line]) => journal.includes(line)).map(([name]) => name),
      [language],
      'later, too'
    )
  }
  const [english, german] = await Promise.all(['en', 'de'].map((wish) => get('/desk', { 'accept-language': wish })))
  t.not(english!.headers.etag, german!.headers.etag)
})

t.test('what the page loads later is immutable too, and takes all that it shares from the script of the page', async (t) => {
  const name = /import\("\.\/(journal-view-[A-Za-z0-9]{12}\.js)"\)/.exec(script[1])![1]!
  const { statusCode, headers, body } = await get(`/desk/files/${name}`, { 'accept-encoding': 'identity' })
  t.match(
    [statusCode, headers],
    [200, { 'content-type': 'text/javascript; charset=utf-8', 'cache-control': 'public, max-age=31536000, immutable' }]
  )
  t.strictSame(
    [...body.matchAll(/from"([^"]+)"/g)].map(([, from]) => from),
    [`./${script[0].split('/').at(-1)}`]
  )
  t.notMatch(body, /createPolicy|localStorage/, 'nothing of the page comes twice')
  t.notMatch(script[1], /"\.\/(?:chunk|main)[^"]*\.js"/, 'and the page asks for nothing else')
})

t.test('a page that was built before is the page that is built when somebody asks', async (t) => {
  const path = join(emptyDirectory(t), 'page.json')
  writeFileSync(path, JSON.stringify(await buildPage()))
  const [before, now] = [await openSources(path), await readSources()]
  t.strictSame([...before.files].sort(), [...now.files].sort())
  t.strictSame([before.icon, before.inlineHash], [now.icon, now.inlineHash])
  for (const language of LANGUAGES) t.strictSame(before.page(language, {}), now.page(language, {}))
})

t.test('who has only the address of the service gets to the desk, or to the documentation', async (t) => {
  const without = await build(t)
  for (const [app, url, to] of [
    [fastify, '/', '/desk'],
    [fastify, '/?as=anna', '/desk?as=anna'],
    [fastify, '/desk/', '/desk'],
    [fastify, '/desk/?as=ben', '/desk?as=ben'],
    [fastify, '/favicon.ico', `/desk/files/${(await readSources()).icon}`],
    [without, '/', '/docs']
  ] as const) {
    const { statusCode, headers } = await app.inject(url)
    t.equal(statusCode, 302, url)
    const { pathname, search } = new URL(headers.location as string, `http://quoin.example${url}`)
    const target = pathname + search
    t.equal(target, to, url)
    t.equal((await app.inject(target)).statusCode, 200, target)
  }
  for (const url of ['/desk/', '/favicon.ico']) t.equal((await without.inject(url)).statusCode, 404, url)
})

t.test('a browser that has the page asks again and is told that nothing has changed', async (t) => {
  const { headers } = await get('/desk')
  t.match(headers, { etag: /^"\w{10,22}"$/, 'cache-control': 'no-cache' })
  const { statusCode, body, headers: again } = await get('/desk', { 'if-none-match': headers.etag as string })
  t.strictSame({ statusCode, body, etag: again.etag }, { statusCode: 304, body: '', etag: headers.etag })
  const head = await fastify.inject({ method: 'HEAD', url: '/desk', headers: { 'if-none-match': '*' } })
  t.strictSame(
    [head.statusCode, head.headers['content-length']],
    [304, headers['content-length']],
    'HEAD tells the length of the whole page'
  )
  t.equal(
    (await get('/desk', { 'if-none-match': `W/"other", W/${headers.etag}` })).statusCode,
    304,
    'among others, and made weak on the way'
  )
  t.equal((await get('/desk', { 'if-none-match': '"other"' })).statusCode, 200)
})

t.test('what is not there, and another method, are answered as everywhere', async (t) => {
  for (const path of [
    '/desk/none',
    '/desk/files/',
    '/desk/files/none.js',
    '/desk/files/desk.js',
    '/desk/files/package.json',
    '/desk/files/desk/main.ts',
    '/desk/files/../../package.json',
    '/desk/files/..%2fpackage.json'
  ]) {
    const reply = await get(path)
    t.equal(reply.statusCode, 404, path)
    t.match(reply.json(), { statusCode: 404, code: 'NOT_FOUND' }, path)
  }
  const post = await fastify.inject({ method: 'POST', url: '/desk' })
  t.match([post.statusCode, post.headers['allow'], post.json().code], [405, 'GET, HEAD', 'METHOD_NOT_ALLOWED'])
  t.equal((await fastify.inject({ method: 'HEAD', url: '/desk' })).statusCode, 200)
})

t.test('with DESK=off, the default, there is none of it, and it is never in the documentation of the API', async (t) => {
  const off = await build(t)
  for (const path of ['/desk', ...asked.keys(), '/api/desk/me', '/api/desk/names', '/api/desk/labels/1', '/api/desk/looks/article']) {
    t.equal((await off.inject({ url: path })).statusCode, 404, path)
  }
  const { paths } = (await get('/docs/json')).json<{ paths: object }>()
  t.strictSame(Object.keys(paths), Object.keys((await off.inject({ url: '/docs/json' })).json<{ paths: object }>().paths))
})

t.test('the settings tell the page how callers are known, and the names of the site, but no secret', async (t) => {
  const settingsIn = ({ body }: { body: string }) =>
    JSON.parse(/ data-settings="([^"]+)"/.exec(body)![1]!.replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&amp;', '&'))
  t.match(settingsIn(page), {
    auth: 'none',
    model: { entityType: 'publisher_container', keys: { label: 'title' }, fields: { articles: ['field_articles'] }, lockIds: 'id' }
  })
  t.strictSame((await get('/api/desk/me')).json(), { user: null })

  const jwt = await build(t, { ...ON, ...jwtEnv(t) })
  const drupal = await build(t, { ...ON, AUTH: 'drupal', CMS_AUTH: 'basic', CMS_USER: 'quoin', CMS_PASSWORD: 'hunter2' })
  for (const [app, auth] of [
    [jwt, 'jwt'],
    [drupal, 'drupal']
  ] as const) {
    const desk = await app.inject({ url: '/desk' })
    t.equal(desk.statusCode, 200, 'the page itself is open')
    t.equal(settingsIn(desk).auth, auth)
    t.strictSame(Object.keys(settingsIn(desk)), ['auth', 'cms', 'model'])
    t.notMatch(desk.body, /hunter2|PUBLIC KEY/)
    t.match((await app.inject({ url: '/api/desk/me' })).json(), { statusCode: 401, code: 'UNAUTHENTICATED' })
  }
  t.strictSame((await jwt.inject({ url: '/api/desk/me', headers: bearer() })).json(), { user: { uid: '7', name: 'Anna' } })
  t.strictSame((await jwt.inject({ url: '/api/desk/me', headers: bearer({ name: undefined }) })).json(), { user: { uid: '7' } })
})

t.test('with AUTH=drupal the session tells who sits there', async (t) => {
  const { app, url } = await open(t, { env: { ...ON, AUTH: 'drupal' } })
  const login = await fetch(`${url}/user/login?_format=json`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'editor', pass: 'editor' })
  })
  const cookie = login.headers.get('set-cookie')!.split(';')[0]!
  t.strictSame((await app.inject({ url: '/api/desk/me', headers: { cookie } })).json(), { user: { uid: '2', name: 'editor' } })
})

t.test('the names of edition types and bundles come in one request, and stay while the CMS is away', async (t) => {
  const { call, cms } = await open(t, { env: { ...ON, staleSeconds: '60' } })
  const { status, body } = await call('GET', '/api/desk/names', { as: 'editor' })
  t.match(
    [status, body],
    [200, { types: [{ id: 'daily', label: 'Daily Editions' }, { id: 'special' }], bundles: [{ id: 'daily' }, { id: 'special' }] }]
  )
  cms.settings.maintenance = true
  t.match(await call('GET', '/api/desk/names', { as: 'editor' }), { status: 200, body })
})

t.test('what an empty field holds in other editions comes in small pieces, as far as the caller may see them', async (t) => {
  const { call, cms } = await open(t, { env: ON })
  const { body: newest } = await call('GET', '/api/collections/daily?limit=20', { as: 'editor' })
  const {
    id: [{ value: id }]
  } = (
    await call('POST', '/api/collection', {
      as: 'editor',
      body: {
        type: [{ target_id: 'daily' }],
        title: [{ value: 'Bare' }],
        field_key: [{ value: 'bare' }],
        field_publisher_edition_type: [{ value: 'daily' }]
      }
    })
  ).body
  const { body: edition } = await call('GET', `/api/collection/${id}`, { as: 'editor' })
  const { status, body } = await call('GET', `/api/desk/samples/${id}`, { as: 'editor' })
  t.equal(status, 200)
  const names = Object.keys(edition).filter((name) => edition[name].length === 0)
  t.ok(names.length > 5)
  t.strictSame(
    Object.keys(body).sort(),
    names.filter((name) => newest.data.some((other: Record<string, unknown[]>) => other[name]!.length > 0)).sort()
  )
  t.ok(Object.values<object[]>(body).flat().length > Object.keys(body).length, 'more than one item where a field has more')
  t.ok(JSON.stringify(body).length < 4096)
  t.strictSame((await call('GET', `/api/desk/samples/${id}`, { as: 'editor' })).body, body)
  t.equal((await call('GET', '/api/desk/samples/99999', { as: 'editor' })).status, 404)
  t.equal((await call('GET', '/api/desk/samples/nonsense', { as: 'editor' })).status, 400)
  cms.settings.maintenance = true
  t.equal((await call('GET', '/api/desk/samples/60', { as: 'editor' })).status, 503)
})

t.test('of long texts a sample has the beginning, and that there are several lines', async (t) => {
  const resource = { type: 'publisher_container--daily', id: 'u' }
  const loaded = { resource } as LoadedEdition
  const jsonOf = ({ resource }: LoadedEdition): EditionJson =>
    resource === loaded.resource
      ? { a: [], b: [], c: [], d: [{ value: 1 }], e: [] }
      : { a: [{ value: `${'x'.repeat(200)}\n` }], b: [{ value: 'y'.repeat(200), format: 'html' }], c: [], d: [{ value: 2 }] }
  const asked: unknown[] = []
  const samples = createSamples({
    model: contentModel({}),
    load: async () => loaded,
    jsonOf,
    newest: async (...question) => {
      asked.push(question)
      return [{ resource: { ...resource } } as LoadedEdition]
    }
  })
  const caller = newCaller()
  t.strictSame(await samples('1', caller), {
    a: [{ value: `${'x'.repeat(100)}\n` }],
    b: [{ value: 'y'.repeat(100), format: 'html' }]
  })
  t.strictSame(asked, [['daily', 20, caller]])
  t.strictSame(
    await createSamples({
      model: contentModel({}),
      load: async () => loaded,
      jsonOf: () => ({ d: [{ value: 1 }] }),
      newest: () => {
        throw new Error('not asked')
      }
    })('1', caller),
    {},
    'nothing is asked where nothing is empty'
  )
})

t.test('what an edition refers to is told by name, as far as the caller may see it', async (t) => {
  const { call, cms } = await open(t, { env: ON })
  const edition = (await call('GET', '/api/collection/59', { as: 'editor' })).body
  const { status, body } = await call('GET', '/api/desk/labels/59', { as: 'editor' })
  t.equal(status, 200)
  const named = (field: string, labels = body.data) => edition[field].map(({ target_uuid: uuid }: { target_uuid: string }) => labels[uuid])
  t.match(
    named('field_articles'),
    ['Second division: the surprising leader', 'Children design the new playground fountain', String, undefined, String],
    'one is not published'
  )
  t.strictSame(named('field_section'), ['Science & Tech'])
  t.match(named('uid'), ['editor'], 'a user by its display name')

  const admin = (await call('GET', '/api/desk/labels/59', { as: 'admin' })).body
  t.type(named('field_articles', admin.data)[3], 'string', 'who may see it is told')
  t.equal((await call('GET', '/api/desk/labels/99999', { as: 'editor' })).status, 404)
  t.equal((await call('GET', '/api/desk/labels/nonsense', { as: 'editor' })).status, 400)

  cms.settings.maintenance = true
  const stale = await call('GET', '/api/desk/labels/59', { as: 'editor' })
  t.strictSame(stale.body, body, 'and while the CMS is away a copy is')
  t.match(stale.headers, { 'cache-status': /^quoin; / })
  t.equal((await call('GET', '/api/desk/labels/60', { as: 'editor' })).status, 503)
})

t.test('an edition that refers to nothing has no labels', async (t) => {
  const content = newspaper()
  const seed = content.entities.find(({ type, id }) => type === 'publisher_container--daily' && id === 60)!
  for (const name of ['field_articles', 'field_section', 'field_cover', 'uid', 'revision_uid']) delete seed.fields![name]
  const { call } = await open(t, { env: ON, content })
  t.strictSame((await call('GET', '/api/desk/labels/60', { as: 'editor' })).body, { data: {}, published: {}, images: {}, sections: {} })
})

t.test('labels are given of what Drupal includes where it does not include another field, and of editions of the same type', async (t) => {
  const [daily, article, section] = [
    { type: 'issue--daily', id: 'd' },
    { type: 'node--article', id: 'b' },
    { type: 'term--x', id: 's' }
  ]
  const resource = {
    type: 'issue--daily',
    id: 'a',
    relationships: { field_articles: { data: [article] }, field_related: { data: [daily] }, field_section: { data: section } }
  }
  const asked: string[] = []
  const request = async ({ query }: { query: Array<[string, string]> }) => {
    asked.push(query.map((parameter) => parameter.join('=')).join('&'))
    const names = query[0]![1].split(',')
    const gone = ['field_section', 'field_related'].find((name) => names.includes(name) && asked.length < 3)
    if (gone) {
      return {
        status: 400,
        document: { errors: [{ detail: `\`${gone}\` is not a valid relationship field name. Possible values: uid.` }] }
      }
    }
    return { status: 200, document: { included: [{ ...article, attributes: { title: 'B', status: true } }] } }
  }
  const options = {
    cms: { request } as unknown as Jsonapi,
    catalog: {
      editions: async () => [{ resourceType: 'issue--daily', entityType: 'issue', bundle: 'daily', path: '/issue/daily' }]
    } as unknown as Catalog,
    origin: 'https://cms.example',
    model: contentModel({ entityType: 'issue', references: { field_related: 'issue', field_section: 'term' } })
  }
  const load: Load = async () => ({ resource, urlOf: () => undefined })
  t.strictSame(await createLabels(options, load)('a', newCaller()), {
    labels: { b: 'B' },
    published: { b: true },
    images: {},
    sections: {}
  })
  t.strictSame(
    asked.map((query) => query.split('&')),
    [
      [
        'include=field_articles,field_related,field_section',
        'fields[node--article]=title,name,display_name,status',
        'fields[issue--daily]=title,name,display_name,status,field_articles,field_related,field_section',
        'fields[term--x]=title,name,display_name,status'
      ],
      [
        'include=field_articles,field_related',
        'fields[node--article]=title,name,display_name,status',
        'fields[issue--daily]=title,name,display_name,status,field_articles,field_related'
      ],
      ['include=field_articles', 'fields[node--article]=title,name,display_name,status', 'fields[issue--daily]=field_articles']
    ],
    'a query has each name once: of two PHP takes the last'
  )
})

t.test('whether something is published is looked up where the content model says, and told only where Drupal tells it', async (t) => {
  const articles = ['b', 'c', 'd'].map((id) => ({ type: 'story--x', id }))
  const others = [{ type: 'term--x', id: 's' }]
  const resource = { type: 'issue--daily', id: 'a', relationships: { field_articles: { data: articles }, field_section: { data: others } } }
  const queries: Array<Array<[string, string]>> = []
  const included = [
    { ...articles[0], attributes: { name: 'B', live: false, status: true } },
    { ...articles[1], attributes: { name: 'C', status: true } },
    { ...others[0], attributes: { name: 'S', status: true } }
  ]
  const labels = await createLabels(
    {
      cms: {
        async request({ query }: { query: Array<[string, string]> }) {
          queries.push(query)
          return { status: 200, document: { included } }
        }
      } as unknown as Jsonapi,
      catalog: {
        editions: async () => [{ resourceType: 'issue--daily', entityType: 'issue', bundle: 'daily', path: '/issue/daily' }]
      } as unknown as Catalog,
      origin: 'https://cms.example',
      model: contentModel({
        entityType: 'issue',
        references: { field_section: 'term' },
        lists: { story: { entityType: 'story', keys: { published: 'live' } }, term: { entityType: 'term', keys: { published: null } } }
      })
    },
    async () => ({ resource, urlOf: () => undefined })
  )('a', newCaller())
  t.strictSame(labels.published, { b: false })
  t.match(queries[0], [
    ['include', String],
    ['fields[story--x]', 'title,name,display_name,live'],
    ['fields[term--x]', 'title,name,display_name']
  ])
})

t.test('labels are what the CMS includes, and its refusal is passed on', async (t) => {
  const resource = { type: 'issue--daily', id: 'a', relationships: { field_articles: { data: [{ type: 'node--article', id: 'b' }] } } }
  const labels = (answer: object) =>
    createLabels(
      {
        cms: { request: async () => answer } as unknown as Jsonapi,
        catalog: {
          editions: async () => [{ resourceType: 'issue--daily', entityType: 'issue', bundle: 'daily', path: '/issue/daily' }]
        } as unknown as Catalog,
        origin: 'https://cms.example',
        model: contentModel({ entityType: 'issue' })
      },
      async () => ({ resource, urlOf: () => undefined })
    )('a', newCaller())
  const included = [
    { type: 'node--article', id: 'b' },
    { type: 'node--article', id: 'c', attributes: { title: 'C' } }
  ]
  t.strictSame(await labels({ status: 200, document: { included } }), { labels: { c: 'C' }, published: {}, images: {}, sections: {} })
  t.strictSame(
    await labels({ status: 200, document: {} }),
    { labels: {}, published: {}, images: {}, sections: {} },
    'nothing that the caller may see'
  )
  await t.rejects(labels({ status: 404, document: { errors: [{ status: '404', detail: 'gone' }] } }), { name: 'NotFoundError' })
  await t.rejects(
    labels({ status: 400, document: { errors: [{ status: '400', detail: '`field_else` is not a valid relationship field name.' }] } }),
    /refused the request with status 400/,
    'what was not asked for cannot be left out'
  )
})

t.test(
  'articles have their image and section from the one request with labels, and without a path that Drupal does not include',
  async (t) => {
    const identifier = (type: string, id: string) => ({ data: { type, id } })
    const article = (id: string, attributes: object, picture: string, section = 'sport') => ({
      type: 'node--article',
      id,
      attributes: { title: id, ...attributes },
      relationships: { field_media: identifier('media--image', picture), field_section: identifier('taxonomy_term--sections', section) }
    })
    const picture = (id: string, url: unknown) => [
      { type: 'media--image', id, relationships: { field_image: identifier('file--file', `file of ${id}`) } },
      { type: 'file--file', id: `file of ${id}`, attributes: { uri: url } }
    ]
    const included = [
      article('a', {}, 'near'),
      article('b', {}, 'far'),
      article('c', { field_section: ['Culture'] }, 'long', 'hidden'),
      article('d', {}, 'odd', 'hidden'),
      article('e', {}, 'none'),
      ...picture('near', { url: '/sites/default/files/a.jpg' }),
      ...picture('far', { url: 'https://elsewhere.example/a.jpg' }),
      ...picture('long', { url: `/${'a'.repeat(2048)}` }),
      ...picture('odd', 'a.jpg'),
      ...picture('none', { url: 'blob:https://cms.example/a' }),
      { type: 'taxonomy_term--sections', id: 'sport', attributes: { name: 'S'.repeat(300) } }
    ]
    const resource = {
      type: 'issue--daily',
      id: 'i',
      relationships: {
        field_articles: { data: ['a', 'b', 'c', 'd', 'e'].map((id) => ({ type: 'node--article', id })) },
        uid: { data: { type: 'user--user', id: 'u' } }
      }
    }
    const asked: Array<Array<[string, string]>> = []
    const refusals = ['field_articles.field_section']
    const labels = createLabels(
      {
        cms: {
          async request({ query }: { query: Array<[string, string]> }) {
            asked.push(query)
            const gone = refusals.find((path) => query[0]![1].split(',').includes(path))
            return gone
              ? {
                  status: 400,
                  document: {
                    errors: [
                      { detail: `\`${gone}\` is not a valid include path. \`field_section\` is not a valid relationship field name.` }
                    ]
                  }
                }
              : { status: 200, document: { included } }
          }
        } as unknown as Jsonapi,
        catalog: {
          editions: async () => [{ resourceType: 'issue--daily', entityType: 'issue', bundle: 'daily', path: '/issue/daily' }]
        } as unknown as Catalog,
        origin: 'https://cms.example',
        model: contentModel({
          entityType: 'issue',
          references: { uid: 'user' },
          lists: {
            other: { entityType: 'node', bundles: ['page'], image: 'field_other' },
            article: { entityType: 'node', image: 'field_media.field_image', section: 'field_section' }
          }
        })
      },
      async () => ({ resource, urlOf: () => undefined })
    )
    const { images, sections } = await labels('i', newCaller())
    t.strictSame(images, { a: 'https://cms.example/sites/default/files/a.jpg' }, 'of the origin of the CMS alone')
    t.strictSame(sections, { a: 'S'.repeat(255), b: 'S'.repeat(255), c: 'Culture', e: 'S'.repeat(255) })
    t.strictSame(
      asked.map(([include]) => include),
      [
        ['include', 'field_articles,uid,field_articles.field_media.field_image,field_articles.field_section'],
        ['include', 'field_articles,uid,field_articles.field_media.field_image']
      ]
    )
    await labels('i', newCaller())
    t.equal(asked.length, 3, 'what Drupal does not include is remembered')
    t.match(asked[2], [asked[1]![0], ['fields[node--article]', 'title,name,display_name,status,uri,field_media,field_image,field_section']])
    t.strictSame(
      asked[2]!.slice(1).map(([name]) => name),
      ['node--article', 'user--user', 'file--file', 'media--image', 'taxonomy_term--sections', 'issue--daily'].map(
        (type) => `fields[${type}]`
      ),
      'and types that were seen are asked for with few fields'
    )
  }
)

t.test('a refused path is asked for again after a while', async (t) => {
  const asked: string[] = []
  const request = async ({ query }: { query: Array<[string, string]> }) => {
    asked.push(query[0]![1])
    return query[0]![1].includes('.')
      ? {
          status: 400,
          document: {
            errors: [
              { detail: '`field_articles.field_image` is not a valid include path. `field_image` is not a valid relationship field name.' }
            ]
          }
        }
      : { status: 200, document: {} }
  }
  const labels = createLabels(
    {
      cms: { request } as unknown as Jsonapi,
      catalog: { editions: async () => [{ resourceType: 'issue--daily', path: '/issue/daily' }] } as unknown as Catalog,
      origin: 'https://cms.example',
      model: contentModel({ entityType: 'issue', lists: { article: { entityType: 'node', image: 'field_image' } } })
    },
    async () => ({
      resource: { type: 'issue--daily', id: 'i', relationships: { field_articles: { data: [{ type: 'node--article', id: 'a' }] } } },
      urlOf: () => undefined
    }),
    50
  )
  for (const pause of [0, 0, 100]) {
    await new Promise((resolve) => setTimeout(resolve, pause))
    await labels('i', newCaller())
  }
  const [both, alone] = ['field_articles,field_articles.field_image', 'field_articles']
  t.strictSame(asked, [both, alone, alone, both, alone])
})

t.test('however many types of images and sections there are, a request names the fields of 20', async (t) => {
  const types = Array.from({ length: 30 }, (_, index) => `media--m${index}`)
  const asked: number[] = []
  const labels = createLabels(
    {
      cms: {
        request: async ({ query }: { query: unknown[] }) => {
          asked.push(query.length)
          return { status: 200, document: { included: types.map((type) => ({ type, id: type })) } }
        }
      } as unknown as Jsonapi,
      catalog: { editions: async () => [{ resourceType: 'issue--daily', path: '/issue/daily' }] } as unknown as Catalog,
      origin: 'https://cms.example',
      model: contentModel({ entityType: 'issue', lists: { article: { entityType: 'node', image: 'field_image' } } })
    },
    async () => ({
      resource: { type: 'issue--daily', id: 'i', relationships: { field_articles: { data: [{ type: 'node--article', id: 'a' }] } } },
      urlOf: () => undefined
    })
  )
  await labels('i', newCaller())
  await labels('i', newCaller())
  t.strictSame(asked, [4, 23], 'include, those two types, and files or 20')
})

t.test('the articles of the sample site have images and sections', async (t) => {
  const { call, cms } = await open(t, { env: { ...ON, CONTENT_MODEL: 'config/content-model.json' } })
  const { body } = await call('GET', '/api/desk/labels/58', { as: 'editor' })
  t.ok(Object.values(body.images).length > 0)
  for (const url of Object.values<string>(body.images)) t.equal((await fetch(url)).status, 200, url)
  t.ok(Object.values(body.sections).length > 0)
  const query = cms.requestLines.find((line) => line.includes('field_articles.field_image'))
  t.match(query, / 200$/)
})

t.test('rows of a list get their image and section in one request, and those that a filter does not find in one each', async (t) => {
  const { call, cms, url } = await open(t, { env: { ...ON, CONTENT_MODEL: 'config/content-model.json', staleSeconds: '60' } })
  const { data } = (await call('GET', '/api/collections/article?limit=8', { as: 'editor' })).body
  const looksOf = (rows: Array<Record<string, any>>, as = 'editor') =>
    call('GET', `/api/desk/looks/article?uuids=${rows.map(({ uuid }) => uuid[0].value).join(',')}`, { as })
  const published = data.filter((row: Record<string, any>) => row.status[0].value)
  const { status, body, upstream } = await looksOf(published)
  t.equal(status, 200)
  t.equal(upstream.length, 1)
  const { data: sections } = (await (await fetch(`${url}/jsonapi/taxonomy_term/sections`)).json()) as {
    data: Array<{ id: string; attributes: { name: string } }>
  }
  const terms = new Map(sections.map(({ id, attributes }) => [id, attributes.name]))
  t.strictSame(
    published.map(({ uuid }: any) => body.sections[uuid[0].value]),
    published.map(({ field_tags: [tag] }: any) => terms.get(tag.target_uuid))
  )
  t.strictSame(
    published.map(({ uuid }: any) => body.images[uuid[0].value]),
    published.map(({ field_image: [image] }: any) => image?.url)
  )

  const [hidden] = (await call('GET', '/api/collections/article?status=0&limit=1', { as: 'admin' })).body.data
  const mine = await looksOf([published[0], hidden], 'editor')
  t.strictSame(
    [mine.upstream.length, Object.keys(mine.body.sections).length],
    [2, hidden.uid[0].target_id === 2 ? 2 : 1],
    'Drupal shows editors their own alone'
  )
  t.strictSame(Object.keys((await looksOf([hidden], 'reader')).body.sections), [])
  t.equal((await looksOf([{ uuid: [{ value: '00000000-0000-4000-8000-000000000000' }] }])).status, 200)
  for (const [path, code] of [
    ['article', 400],
    ['article?uuids=', 400],
    ['article?uuids=x', 400],
    [`article?uuids=${Array(21).fill(hidden.uuid[0].value).join(',')}`, 400],
    [`none?uuids=${hidden.uuid[0].value}`, 404],
    [`daily?uuids=${hidden.uuid[0].value}`, 404]
  ] as const) {
    t.equal((await call('GET', `/api/desk/looks/${path}`, { as: 'editor' })).status, code, path)
  }
  cms.settings.maintenance = true
  t.strictSame((await looksOf(published)).body, body, 'while the CMS is away a copy is')
  t.equal((await looksOf([published[1]])).status, 503)
})

/** Looks of a list of nodes of two bundles, from a CMS that answers as the test has it. */
function listLooks(
  answer: (path: string, include: string | undefined, query: Array<[string, string]>) => object,
  names: object = { image: 'field_media.field_image', section: 'field_section' }
) {
  const asked: string[] = []
  const looks = createListLooks(
    {
      cms: {
        async request({ path, query }: { path: string; query: Array<[string, string]> }) {
          const include = query.find(([name]) => name === 'include')?.[1]
          asked.push(`${path} ${include}`)
          return { status: 200, document: {}, ...answer(path, include, query) }
        }
      } as unknown as Jsonapi,
      catalog: {
        editions: async () =>
          ['article', 'brief'].map((bundle) => ({ resourceType: `node--${bundle}`, entityType: 'node', bundle, path: `/node/${bundle}` }))
      } as unknown as Catalog,
      noun: 'story',
      origin: 'https://cms.example'
    },
    { entityType: 'node', ...names }
  )
  return { asked, looks }
}

t.test('a path that Drupal does not include of one bundle is left out for that one', async (t) => {
  const node = (bundle: string, id: string) => ({
    type: `node--${bundle}`,
    id,
    attributes: {},
    relationships: { field_section: { data: { type: 'term--s', id: 's' } }, field_media: { data: { type: 'media--m', id: 'm' } } }
  })
  const included = [
    { type: 'term--s', id: 's', attributes: { name: 'Sport' } },
    { type: 'media--m', id: 'm', relationships: { field_image: { data: { type: 'file--file', id: 'f' } } } },
    { type: 'file--file', id: 'f', attributes: { uri: { url: '/a.jpg' } } }
  ]
  const refused = {
    status: 400,
    document: {
      errors: [{ detail: '`field_media.field_image` is not a valid include path. `field_media` is not a valid relationship field name.' }]
    }
  }
  const queries: string[][] = []
  const { asked, looks } = listLooks((path, include = '', query) => {
    queries.push(query.map(([name, value]) => `${name}=${value}`))
    if (path === '/node/article') return { document: { data: [node('article', 'A')], included } }
    if (path === '/node/brief') {
      return include.includes('field_media') ? refused : { document: { data: [node('brief', 'b')], included: included.slice(0, 1) } }
    }
    if (include.includes('field_media')) return refused
    return { document: { data: node('brief', 'c'), included: included.slice(0, 1) } }
  })
  const all = { images: { A: 'https://cms.example/a.jpg' }, sections: { A: 'Sport', b: 'Sport', c: 'Sport' } }
  t.strictSame(await looks(['a', 'b', 'c'], newCaller()), all)
  const both = 'field_media.field_image,field_section'
  t.strictSame(asked.splice(0), [
    `/node/article ${both}`,
    `/node/brief ${both}`,
    '/node/brief field_section',
    `/node/article/c ${both}`,
    '/node/article/c field_section'
  ])
  t.strictSame(await looks(['a', 'b', 'c'], newCaller()), all)
  t.strictSame(asked.slice(0, 2), [`/node/article ${both}`, '/node/brief field_section'], 'what Drupal does not include is remembered')
  t.match(
    queries.findLast(([first]) => first === 'include=field_section'),
    ['include=field_section']
  )
  t.match(queries[0]!.at(-1), 'fields[node--article]=field_media,field_section')
  t.ok(
    queries.at(-2)!.includes('fields[media--m]=title,name,display_name,uri,field_image'),
    'types that were seen are asked for with few fields'
  )
})

t.test('of a list without image and section nothing is asked, and what Drupal does not show of a row is left out', async (t) => {
  const { asked, looks } = listLooks(() => ({}), {})
  t.strictSame([await looks(['a'], newCaller()), asked], [{ images: {}, sections: {} }, []])
  for (const status of [401, 403, 404]) {
    const { looks } = listLooks((path) => (path.endsWith('/a') ? { status } : {}), { section: 'field_section' })
    t.strictSame(await looks(['a'], newCaller()), { images: {}, sections: {} }, String(status))
  }
  const { asked: questions, looks: without } = listLooks(
    (_path, include) =>
      include === undefined
        ? {}
        : { status: 400, document: { errors: [{ detail: '`field_section` is not a valid relationship field name.' }] } },
    { section: 'field_section' }
  )
  t.strictSame(await without(['a'], newCaller()), { images: {}, sections: {} })
  t.equal(questions.at(-1), '/node/article/a undefined', 'of a text nothing is to be included')
})

t.test('refusals are passed on, and an answer to another question is none', async (t) => {
  const row = (id: string) => ({ type: 'node--article', id })
  const cases: Array<[answer: (path: string) => object, failure: { code?: string; message?: RegExp }]> = [
    [() => ({ status: 403, document: { errors: [{ status: '403', detail: 'No' }] } }), { code: 'CMS_FORBIDDEN' }],
    [
      (path) => (path.endsWith('/a') ? { status: 400, document: { errors: [{ status: '400', detail: 'Odd' }] } } : {}),
      { message: /refused the request with status 400/ }
    ],
    [
      (path) => (path === '/node/article' ? { document: { data: [row('other')] } } : {}),
      { code: 'CMS_INVALID_RESPONSE', message: /rows of story/ }
    ],
    [
      (path) => (path === '/node/brief' ? { document: { data: [row('a')] } } : {}),
      { code: 'CMS_INVALID_RESPONSE', message: /rows of node--brief/ }
    ],
    [(path) => (path.endsWith('/a') ? { document: { data: row('other') } } : {}), { code: 'CMS_INVALID_RESPONSE', message: /story a/ }]
  ]
  for (const [answer, failure] of cases) await t.rejects(listLooks(answer).looks(['a'], newCaller()), failure as unknown as Error)
})

t.test('the covers of the sample site are pictures', async (t) => {
  const { url, call } = await open(t)
  const { body } = await call('GET', '/api/collection/59', { as: 'editor' })
  const cover = await fetch(body.field_cover[0].url)
  t.equal(cover.status, 200)
  t.equal(cover.headers.get('content-type'), 'image/svg+xml')
  t.match(await cover.text(), /^<svg .*<\/svg>$/)
  t.equal((await fetch(`${url}/sites/default/files/covers/cover%2099.jpg`)).status, 404)
})
