import t, { type Test } from 'tap'
import { createCms } from '../../packages/drupal-stand-in/cms.ts'
import { newspaper } from '../../dev/content.ts'
import { createTargetMemory } from '#lib/editions/site/targets.ts'
import { targetOf } from '#lib/editions/translate/urls.ts'
import { createEditions } from '#lib/editions/editions.ts'
import { createSite } from '#lib/editions/site/site.ts'
import { splitType } from '#lib/editions/model.ts'
import type { EditionJson } from '#lib/editions/translate/edition-json.ts'
import type { EditionText } from '#lib/editions/translate/texts.ts'
import { urlsOf } from '#lib/editions/translate/urls.ts'
import { includeOf } from '#lib/editions/lookup/include.ts'
import { Failure } from '#lib/errors.ts'
import { createJsonapi, type Jsonapi } from '#lib/drupal/client.ts'
import { createAnswerMemory } from '#lib/http/answer-memory.ts'
import { inCall, newCaller } from '#lib/http/calls.ts'
import { createHttp } from '#lib/http/client.ts'
import { isObject, type Document, type Resource } from '#lib/drupal/document.ts'
import { createDocuments } from '#lib/drupal/documents.ts'
import { model, withoutUrls } from './fixtures.ts'
import { basic, enlarged, openNewspaper } from './site.ts'
import { fakeTime } from '../fixtures/time.ts'

/**
 * Editions of the sample site with Pathauto's field `path` on users and articles, shown to administrators; what was asked of
 * the site; and switches: what the aliases are, and whether an answer to a request for references alone is a refusal.
 */
async function openWithAliases(t: Test) {
  const cms = createCms({ content: enlarged(newspaper(), 0) })
  const url = await cms.listen()
  const http = createHttp({ url, timeoutMs: 5000 })
  t.teardown(async () => {
    await http.close()
    await cms.close()
  })
  const jsonapi = createJsonapi({ http, jsonapiPath: '/jsonapi' })
  const documents = createDocuments()
  const asked: string[] = []
  const site = {
    alias: (uid: unknown): string | null => `/people/${uid}`,
    article: (alias: unknown): unknown => alias,
    refuses: false,
    isElsewhere: false,
    failsAfterSave: false,
    isDraft: false
  }

  let isDown = false
  const request: Jsonapi['request'] = async (one) => {
    const query = new URLSearchParams([...(one.query ?? [])] as Array<[string, string]>)
    asked.push(`${one.path}?${decodeURIComponent(query.toString())}`)
    if (site.refuses && query.has('fields[publisher_container--daily]')) return { status: 404, document: { errors: [] } }
    if (isDown) throw new Failure('CMS_TIMEOUT', 'away')
    const answer = await jsonapi.request(one)
    isDown = site.failsAfterSave && one.method === 'PATCH'
    const included = answer.document.included?.map((resource) =>
      resource.type === 'user--user' ? withPath(resource, one.caller.headers['authorization']) : withAlias(resource)
    )
    const draft = site.isDraft && one.method === 'PATCH' && { data: { ...answer.document.data, links: { 'latest-version': { href: '' } } } }
    const text = JSON.stringify({ ...answer.document, ...draft, ...(included && { included }) })
    // What has not changed is the same object, as from lib/drupal/documents.ts.
    const isElsewhere = site.isElsewhere && one.method === 'PATCH'
    return {
      ...answer,
      isElsewhere,
      document: documents.read(`${asked.at(-1)} ${one.caller.headers['authorization']}`, Buffer.from(text))!
    }
  }

  const names = new Map(
    newspaper()
      .entities.filter(({ type }) => type === 'user--user')
      .map(({ uuid, id }) => [uuid, id])
  )
  function withPath(resource: Resource, authorization: string | undefined): Resource {
    if (authorization !== basic('admin').authorization) return resource
    return { ...resource, attributes: { ...resource.attributes, path: { alias: site.alias(names.get(resource.id)) } } }
  }

  function withAlias(resource: Resource): Resource {
    const path = resource.attributes?.['path']
    return isObject(path)
      ? { ...resource, attributes: { ...resource.attributes, path: { ...path, alias: site.article(path['alias']) } } }
      : resource
  }

  const { read, update, search, ...rest } = createEditions({ site: createSite({ cms: { request }, model, cmsUrl: url, warn() {} }) })
  const editions = {
    ...rest,
    read: async (...given: Parameters<typeof read>) => parsed(await read(...given)),
    update: async (...given: Parameters<typeof update>) => parsed(await update(...given)),
    async search(...given: Parameters<typeof search>) {
      const { editions, ...found } = await search(...given)
      return { ...found, editions: editions.map((json): EditionJson => JSON.parse(json)) }
    }
  }
  return { editions, site, asked: () => asked.splice(0) }
}

function parsed({ json, ...edition }: EditionText): Omit<EditionText, 'json'> & { entity: EditionJson } {
  return { ...edition, entity: JSON.parse(json) }
}

const author = (entity: any) => entity.uid[0].url
const articles = (entities: any[]): any[] => entities.flatMap(({ field_articles: items }) => items)
const search = { limit: 50, offset: 0, total: false }

t.test('the aliases of users come along once, and are not asked for again', async (t) => {
  const { editions, site, asked } = await openWithAliases(t)
  const admin = newCaller(basic('admin'))
  const { entity } = await editions.read('1', admin)
  const uid = entity['uid']![0]!['target_id']
  t.equal(author(entity), `/people/${uid}`)
  t.ok(
    asked().some((line) => /include=[^&]*\buid\b/.test(line)),
    'with the edition'
  )

  const again = await editions.read('1', admin)
  t.strictSame(again.entity, entity)
  const lines = asked()
  t.equal(lines.length, 1)
  t.match(lines[0], /include=(?!.*uid).*field_articles.*fields\[node--article\]=path,uri/, 'other references are included as ever')

  site.alias = () => null
  t.equal(author((await editions.read('1', admin)).entity), `/people/${uid}`, 'remembered')
  t.ok(editions.age(admin) > 0, 'and how old that is counts')
})

t.test('users that are not known yet cost a list one request more, whatever their number', async (t) => {
  const { editions, asked } = await openWithAliases(t)
  const admin = newCaller(basic('admin'))
  const { entity } = await editions.read('1', admin)
  asked()
  const { editions: listed } = await editions.search('daily', search, admin)
  const lines = asked()
  t.ok(new Set(listed.map(author)).size > 1, 'several authors')
  t.ok(listed.every((one: any) => author(one) === `/people/${one.uid[0].target_id}`))
  t.strictSame(
    lines.filter((line) => /fields\[publisher_container--daily\]=[\w,]*uid,drupal_internal__revision_id$/.test(line)).length,
    1,
    'the users alone'
  )
  t.equal(lines.length, 2)

  await editions.search('daily', search, admin)
  t.equal(asked().length, 1, 'known')
  t.strictSame((await editions.read('1', admin)).entity, entity)
})

t.test('what one caller was told is not shown to another', async (t) => {
  const { editions } = await openWithAliases(t)
  const { entity } = await editions.read('1', newCaller(basic('admin')))
  const { entity: seen } = await editions.read('1', newCaller(basic('reader')))
  const uid = seen['uid']![0]!['target_id']
  t.equal(author(seen), `/user/${uid}`)
  t.equal(author(entity), `/people/${uid}`)
  t.equal(author((await editions.read('1', newCaller({ ...basic('admin'), 'accept-language': 'fr' }))).entity), `/people/${uid}`)
})

t.test('where the users cannot be asked for any more, their urls are the canonical ones', async (t) => {
  const { editions, site } = await openWithAliases(t)
  const admin = newCaller(basic('admin'))
  await editions.read('1', admin)
  site.refuses = true
  const { editions: listed } = await editions.search('daily', search, admin)
  t.ok(listed.some((one: any) => author(one) === `/user/${one.uid[0].target_id}`))
})

t.test('a page of a list that is asked for again includes nothing, and has the urls that were told', async (t) => {
  const { editions, site, asked } = await openWithAliases(t)
  const admin = newCaller(basic('admin'))
  const first = await editions.search('daily', search, admin)
  t.match(asked().at(-1), /include=.*field_articles/)
  t.ok(
    articles(first.editions).some(({ url }) => !/^\/node\//.test(url)),
    'aliases'
  )

  site.article = () => '/moved'
  t.strictSame(await editions.search('daily', search, admin), first, 'remembered')
  t.strictSame(
    asked().map((line) => /include|fields/.test(line)),
    [false]
  )
  t.ok(editions.age(admin) > 0, 'and how old that is counts')

  await editions.search('daily', { ...search, limit: 3 }, admin)
  t.match(asked()[0], /include=(?!.*uid).*field_articles/, 'another page')
  t.ok(
    articles((await editions.search('daily', search, admin)).editions.slice(0, 3)).every(({ url }) => url === '/moved'),
    'what was told last counts'
  )

  const { entity } = await editions.read('1', admin)
  t.ok(
    articles([entity]).every(({ url }) => url === '/moved'),
    'one edition has them as they are'
  )
})

t.test('what has not changed is neither looked through nor translated again, but where the url of a reference has', async (t) => {
  let translated = 0
  let looked = 0
  const counted = {
    get value() {
      translated++
      return 1
    }
  }
  const site = { alias: '/first' }
  const [type, id] = ['publisher_container--daily', 'ceea8601-33e7-4005-8409-18a46e1916e1']
  const edition = (): Resource => ({
    type,
    id,
    attributes: { drupal_internal__id: 1, drupal_internal__revision_id: 1, changed: '2026-11-16T06:00:00+00:00', field_counted: counted },
    get relationships() {
      looked++
      return { field_articles: { data: [{ type: 'node--article', id: 'a', meta: { drupal_internal__target_id: 4 } }] } }
    }
  })
  const documents = new Map<string, Document>()
  const request: Jsonapi['request'] = async ({ path, query }) => {
    const include = [...(query ?? [])].some(([name]) => name === 'include')
    const key = `${path} ${include && site.alias}`
    if (path === '') {
      return {
        status: 200,
        document: {
          data: [],
          links: { self: { href: 'http://cms.example/jsonapi' }, [type]: { href: 'http://cms.example/jsonapi/daily' } }
        }
      }
    }
    const included = [{ type: 'node--article', id: 'a', attributes: { path: { alias: site.alias } } }]
    const document = documents.get(key) ?? { data: path === '/daily' ? [edition()] : edition(), ...(include && { included }) }
    documents.set(key, document)
    return { status: 200, document }
  }
  const editions = createEditions({ site: createSite({ cms: { request }, model, cmsUrl: 'http://cms.example', warn() {} }) })
  const caller = basic('editor')
  const list = async () => (await editions.search('daily', search, newCaller(caller))).editions[0]
  const read = async () => (await editions.read(id, newCaller(caller))).json
  /** The url of the article, and how often the edition was translated for it. */
  const seen = async (json: string | undefined) => [JSON.parse(json!).field_articles[0].url, translated]

  t.strictSame(await seen(await list()), ['/first', 1])
  t.strictSame(await seen(await read()), ['/first', 3], 'what is read alone once more, for its entity tag')
  t.strictSame(await seen(await list()), ['/first', 4], 'without what is included it is another page')
  t.strictSame(await seen(await list()), ['/first', 5], 'what came once was not kept')
  t.strictSame(await seen(await read()), ['/first', 7])
  looked = 0
  for (let time = 0; time < 3; time++) {
    t.strictSame(await seen(await list()), ['/first', 7])
    t.strictSame(await seen(await read()), ['/first', 7])
  }
  t.equal(looked, 0)
  site.alias = '/second'
  t.strictSame(await seen(await list()), ['/first', 7], 'remembered')
  t.strictSame(await seen(await read()), ['/second', 9])
  t.strictSame(await seen(await list()), ['/second', 10], 'the page is the same, the url is not')
  t.strictSame(await seen(await list()), ['/second', 10])
  site.alias = '/first'
  t.strictSame(await seen(await read()), ['/first', 12], 'and back, in a document that was seen before')
  t.strictSame(await seen(await list()), ['/first', 13])
})

t.test('rows that have come before are not looked through again in a page that has changed', async (t) => {
  let looked = 0
  const type = 'publisher_container--daily'
  const edition = (number: number): Resource => ({
    type,
    id: `ceea8601-33e7-4005-8409-18a46e19160${number}`,
    attributes: { drupal_internal__id: number, changed: '2026-11-16T06:00:00+00:00' },
    get relationships() {
      looked++
      return { field_articles: { data: [{ type: 'node--article', id: `a${number}`, meta: { drupal_internal__target_id: number } }] } }
    }
  })
  let rows = [edition(3), edition(1)]
  const request: Jsonapi['request'] = async ({ path, query }) => {
    const names = new Map<string, string>(query ?? [])
    const links = { self: { href: 'http://cms.example/jsonapi' }, [type]: { href: 'http://cms.example/jsonapi/daily' } }
    if (path === '') return { status: 200, document: { data: [], links } }
    const included = rows.map(({ id }) => ({
      type: 'node--article',
      id: `a${id.at(-1)}`,
      attributes: { path: { alias: `/${id.at(-1)}` } }
    }))
    return { status: 200, document: { data: [...rows], ...(names.has('include') && { included }) } }
  }
  const editions = createEditions({ site: createSite({ cms: { request }, model, cmsUrl: 'http://cms.example', warn() {} }) })
  const caller = basic('editor')
  const urls = async () =>
    articles((await editions.search('daily', search, newCaller(caller))).editions.map((json) => JSON.parse(json))).map(({ url }) => url)
  for (let time = 0; time < 3; time++) t.strictSame(await urls(), ['/3', '/1'])
  looked = 0
  t.strictSame(await urls(), ['/3', '/1'])
  t.equal(looked, 0)
  rows = [rows[0]!, edition(2), rows[1]!]
  t.strictSame(await urls(), ['/3', '/2', '/1'], 'what is new is asked for')
})

t.test('what has come into a page since costs one request more', async (t) => {
  const { editions, asked } = await openWithAliases(t)
  const admin = newCaller(basic('admin'))
  const { editions: daily }: { editions: any[] } = await editions.search('daily', search, admin)
  const known = new Set(articles(daily).map(({ target_id: id }) => id))
  const [newest] = daily
  const special = (await editions.search('special', search, newCaller(basic('editor')))).editions
  const other = articles(special).find(({ target_id: id }) => !known.has(id))
  await editions.update(String(newest.id[0].value), { field_articles: [{ target_id: other.target_id }] }, newCaller(basic('editor')))
  asked()

  const {
    editions: [changed]
  } = await editions.search('daily', search, admin)
  t.strictSame(
    articles([changed]).map(({ url }) => url),
    [other.url]
  )
  t.strictSame(
    asked().map((line) =>
      /include=field_articles&fields\[node--article\]=path,uri&fields\[node--page\]=path,uri&fields\[publisher_container--daily\]=field_articles,drupal_internal__revision_id$/.test(
        line
      )
    ),
    [false, true]
  )
})

t.test('an update, and what a board reads, include nothing', async (t) => {
  const { editions, asked } = await openWithAliases(t)
  const admin = newCaller(basic('admin'))
  const { entity } = await editions.read('1', admin)
  asked()
  const bare = await editions.bare('1', admin)
  t.strictSame(bare, withoutUrls(entity))
  await editions.update('1', { title: [{ value: 'Late edition' }] }, admin)
  t.strictSame(
    asked().map((line) => /include/.test(line)),
    [false, false, false, true],
    'the user whom the save has brought, who is the only one without a known url, is asked for afterwards'
  )
  await editions.update('1', { title: [{ value: 'Later edition' }] }, admin)
  t.notMatch(asked().join(), /include/, 'once')

  const { entity: same } = await editions.update('1', { title: [{ value: 'Later edition' }] }, admin)
  t.strictSame(same['field_articles'], entity['field_articles'], 'where nothing differs too')
})

t.test('the urls that a draft brings are asked for in its own version', async (t) => {
  const { editions, asked, site } = await openWithAliases(t)
  const admin = newCaller(basic('admin'))
  await editions.read('1', admin)
  site.isDraft = true
  asked()
  await editions.update('1', { title: [{ value: 'Draft' }] }, admin)
  t.match(
    asked().at(-1),
    /include=revision_uid.*resourceVersion=rel:latest-version|resourceVersion=rel:latest-version.*include=revision_uid/
  )
})

t.test('a save under the path of another language is saved, though the edition cannot be read afterwards', async (t) => {
  const { editions, asked, site } = await openWithAliases(t)
  const admin = newCaller(basic('admin'))
  const before = await editions.read('1', admin)
  const save = (title: string) => editions.update('1', { title: [{ value: title }] }, admin)
  site.isElsewhere = true
  t.match((await save('Read again')).entity, { title: [{ value: 'Read again' }], field_articles: before.entity['field_articles'] })
  site.failsAfterSave = true
  asked()
  t.match((await save('Not read again')).entity, { title: [{ value: 'Not read again' }] })
  t.match(asked().at(-1), /include=/, 'it was asked for')
})

t.test('no more than urls are made of is included, of whatever bundle it is, as far as that fits into a URL', (t) => {
  const collection = (resourceType: string) => ({ resourceType, path: `/${resourceType}`, ...splitType(model, resourceType) })
  const shape = new Map([['field_articles', { kind: 'relationship' as const, many: true, sample: { type: 'node--seen', id: 'a' } }]])
  const fields = (...exposed: string[]) => includeOf(shape, model, exposed.map(collection), 7500).query.slice(1)
  t.strictSame(fields('node--article', 'media--image', 'node--seen'), [
    ['fields[node--seen]', 'path,uri'],
    ['fields[node--article]', 'path,uri']
  ])
  const many = fields(...Array.from({ length: 500 }, (_, index) => `node--${index}`))
  t.ok(many.length > 150)
  t.ok(new URLSearchParams([['include', 'field_articles'], ...many]).toString().length <= 7500)
  t.end()
})

t.test('an alias is encoded as Drupal encodes it', (t) => {
  const aliases = {
    '/plain/a-b_c.d~1': '/plain/a-b_c.d~1',
    '/artikel/\u00fcber-uns': '/artikel/%C3%BCber-uns',
    '/a b': '/a%20b',
    '/was?': '/was%3F',
    '/a#b': '/a%23b',
    '/a%20b': '/a%2520b',
    "/it's(1)!*": '/it%27s%281%29%21%2A',
    '/a+b@c:d,e;f=g&h': '/a%2Bb%40c%3Ad%2Ce%3Bf%3Dg%26h',
    '/../a/./b': '/%2E%2E/a/%2E/b',
    '/.a/b..c': '/.a/b..c',
    '/half \ud83d': '/half%20%EF%BF%BD',
    '/': '/'
  }
  for (const [alias, url] of Object.entries(aliases)) t.strictSame(targetOf({ path: { alias } }), { alias: url })
  t.end()
})

t.test('where there is no alias a url is the canonical path', (t) => {
  const urlOf = urlsOf(new Map(), model, new URL('http://cms.example/site/'))
  const url = (entityType: string, id: number) => urlOf({ type: entityType, id: 'a', meta: { drupal_internal__target_id: id } }, entityType)
  t.strictSame(
    [url('node', 1), url('media', 2), url('publisher_container', 3), url('paragraph', 4)],
    ['/site/node/1', '/site/media/2/edit', '/site/publisher_container/3', undefined]
  )
  t.end()
})

t.test('where languages have prefixes a reference has that of its target, and of the default language where that is not shown', (t) => {
  const german = { ...model, languages: { de: '', en: 'en', fr: 'francais' } }
  const targets = {
    'node--a': {
      de: { langcode: 'de' },
      en: { langcode: 'en', alias: '/news' },
      fr: { langcode: 'fr' },
      und: { langcode: 'und' },
      hidden: {}
    }
  }
  const told = new Map(Object.entries(targets).map(([type, ofType]) => [type, new Map(Object.entries(ofType))]))
  const urls = (site: string, languages: typeof german) =>
    Object.keys(targets['node--a']).map((id) =>
      urlsOf(told, languages, new URL(site))({ type: 'node--a', id, meta: { drupal_internal__target_id: 5 } }, 'node')
    )
  t.strictSame(urls('http://cms.example', german), ['/node/5', '/en/news', '/francais/node/5', '/node/5', '/node/5'])
  const all = { ...german, languages: { de: 'de', en: 'en', fr: 'fr' } }
  t.strictSame(urls('http://cms.example/site/', all), [
    '/site/de/node/5',
    '/site/en/news',
    '/site/fr/node/5',
    '/site/de/node/5',
    '/site/de/node/5'
  ])
  const inFrench = urlsOf(told, all, new URL('http://cms.example'), '/fr/jsonapi')
  t.equal(
    inFrench({ type: 'node--a', id: 'und', meta: { drupal_internal__target_id: 5 } }, 'node'),
    '/fr/node/5',
    'without a language: that of the language asked for'
  )
  t.strictSame(targetOf({ path: {}, langcode: 'en' }), { langcode: 'en' })

  const shape = new Map([['field_articles', { kind: 'relationship' as const, many: true, sample: { type: 'node--a', id: 'u' } }]])
  t.strictSame(includeOf(shape, german, [], 7500).query.at(-1), ['fields[node--a]', 'path,uri,langcode,default_langcode'])
  t.strictSame(
    includeOf(shape, model, [], 7500).query.at(-1),
    ['fields[node--a]', 'path,uri'],
    'nobody asks for languages where there are no prefixes'
  )
  t.end()
})

t.test('a reference to another edition has the prefix of its language, whatever the key is called', (t) => {
  const { targets } = createSite({
    cms: {} as Jsonapi,
    model: { ...model, languages: { de: '', en: 'en' }, keys: { ...model.keys, langcode: 'tongue' } },
    cmsUrl: 'http://cms.example',
    warn() {}
  })
  const known = targets.of(newCaller())
  const edition = { type: 'publisher_container--daily', id: 'e' }
  const article = { type: 'node--article', id: 'a' }
  targets.learn(
    known,
    [edition, article],
    {
      included: [
        { ...edition, attributes: { tongue: 'en' } },
        { ...article, attributes: { tongue: 'de', langcode: 'en' } }
      ]
    },
    newCaller()
  )
  const url = (one: typeof edition, entityType: string) => known.urlOf({ ...one, meta: { drupal_internal__target_id: 3 } }, entityType)
  t.strictSame([url(edition, 'publisher_container'), url(article, 'node')], ['/en/publisher_container/3', '/en/node/3'])
  t.end()
})

/**
 * Editions of the sample site in German, of which article 10 is a French original with a German translation, and article 11 an
 * original that nobody may see, with one too; the requests for other languages; and what those are answered with.
 */
async function openTranslated(t: Test, languages: Record<string, string>) {
  const { cmsUrl, http } = await openNewspaper(t)
  const jsonapi = createJsonapi({ http, jsonapiPath: '/jsonapi' })
  const site = { asked: [] as string[], hasOthers: false, instead: undefined as (() => Promise<never>) | undefined }
  const articles = new Map(
    newspaper()
      .entities.filter(({ type }) => type === 'node--article')
      .map(({ uuid, id }) => [uuid, id])
  )
  const request: Jsonapi['request'] = async ({ language, ...one }) => {
    const isElsewhere = language !== undefined && one.method !== 'PATCH'
    if (isElsewhere) site.asked.push(language)
    if (isElsewhere && site.instead) return site.instead()
    const answer = await jsonapi.request(one)
    const { included = [], ...document } = structuredClone(answer.document)
    const shownOf = (targets: Resource[]) =>
      targets.flatMap((target) => {
        const id = articles.get(target.id)
        if (id === 11 && isElsewhere) return []
        const isFrench = language === 'fr' && isElsewhere
        if (id === 10) {
          return {
            ...target,
            attributes: {
              langcode: isFrench ? 'fr' : 'de',
              default_langcode: isFrench,
              path: { alias: isFrench ? '/le-port' : '/der-hafen' }
            }
          }
        }
        return { ...target, attributes: { ...target.attributes, langcode: 'de', default_langcode: id !== 11 } }
      })
    if (one.path === '/node/article') return { ...answer, document: { ...document, data: shownOf(document.data as Resource[]) } }
    const shown = shownOf(isElsewhere && site.hasOthers ? [] : included)
    return { ...answer, document: { ...document, included: shown } }
  }
  const { read, update } = createEditions({ site: createSite({ cms: { request }, model: { ...model, languages }, cmsUrl, warn() {} }) })
  const urls = ({ json }: EditionText) => JSON.parse(json).field_articles.map(({ url }: { url: string }) => url)
  const set = async (...ids: number[]) =>
    urls(await update('60', { field_articles: ids.map((id) => ({ target_id: id })) }, newCaller(basic('admin'))))
  return { site, set, read: async (caller = newCaller(basic('admin'))) => urls(await read('60', caller)) }
}

t.test('a target that is shown in a translation has the url of its original, which is asked for once a minute', async (t) => {
  const { site, set, read } = await openTranslated(t, { de: '', en: 'en', fr: 'fr' })
  t.strictSame(await set(10, 12), ['/fr/le-port', '/node/12'])
  t.strictSame(site.asked.splice(0), ['en', 'fr'], 'in one language after the other, but that which it was shown in')
  t.strictSame(await read(), ['/fr/le-port', '/node/12'])
  t.strictSame(site.asked, [], 'it is remembered')
  t.strictSame(await set(12, 10, 11), ['/node/12', '/fr/le-port', '/node/11'])
  t.strictSame(site.asked.splice(0), ['en', 'fr', 'en', 'fr'], 'by the page of the edition, then by the uuid of what that does not show')
  t.strictSame(await read(), ['/node/12', '/fr/le-port', '/node/11'])
  t.strictSame(site.asked, [], 'neither is one asked for again that nobody shows')
})

t.test('requests for originals count beside those that a call may make', async (t) => {
  const { set, read } = await openTranslated(t, { de: '', a: 'a', b: 'b', fr: 'fr' })
  await set(10)
  const caller = newCaller(basic('editor'))
  t.strictSame(await inCall(caller, { requests: 2, ms: 5000, lookUpMs: 5000, memory: createAnswerMemory() }, () => read(caller)), [
    '/fr/le-port'
  ])
})

t.test('where an original cannot be asked for a url stays that of the translation', async (t) => {
  const { site, set, read } = await openTranslated(t, { de: '', fr: 'fr' })
  site.instead = () => Promise.reject(new Error('there is no such path'))
  t.strictSame(await set(10), ['/der-hafen'])
  t.strictSame(await read(), ['/der-hafen'])
  t.strictSame(site.asked, ['fr', 'fr'])
})

t.test('of an edition that refers to others in another language the originals are asked for by their uuids', async (t) => {
  const { site, set, read } = await openTranslated(t, { de: '', en: 'en', fr: 'fr' })
  site.hasOthers = true
  t.strictSame(await set(10, 12), ['/fr/le-port', '/node/12'])
  t.strictSame(site.asked, ['en', 'fr', 'en', 'fr'])
  const caller = newCaller(basic('editor'))
  t.strictSame(
    await inCall(caller, { requests: 2, ms: 5000, lookUpMs: 5000, memory: createAnswerMemory() }, () => read(caller)),
    ['/fr/le-port', '/node/12'],
    'beside the requests that a call may make'
  )
})

t.test('of many languages the first five are asked, and where there is one there is nothing to ask', async (t) => {
  const many = await openTranslated(t, { de: '', a: 'a', b: 'b', c: 'c', d: 'd', fr: 'fr' })
  t.strictSame(await many.set(10), ['/der-hafen'])
  t.strictSame(many.site.asked, ['a', 'b', 'c', 'd', 'a', 'b', 'c', 'd'])
  const single = await openTranslated(t, { de: '' })
  t.strictSame(await single.set(10), ['/der-hafen'])
  t.strictSame(single.site.asked, [])
})

t.test('what is saved under the prefix of its own language has the urls of the language that is read in', async (t) => {
  const { cmsUrl, http } = await openNewspaper(t)
  const jsonapi = createJsonapi({ http, jsonapiPath: '/jsonapi' })
  const request: Jsonapi['request'] = async (one) => {
    const answer = await jsonapi.request(one)
    if (one.method !== 'PATCH') return answer
    const { included = [], ...document } = structuredClone(answer.document)
    return {
      ...answer,
      isElsewhere: true,
      document: {
        ...document,
        included: included.map((target) => ({ ...target, attributes: { path: { alias: '/in/another/language' } } }))
      }
    }
  }
  const editions = createEditions({ site: createSite({ cms: { request }, model, cmsUrl, warn() {} }) })
  const { json } = await editions.update(
    '60',
    { title: [{ value: 'Saved elsewhere' }], field_articles: [{ target_id: 10 }, { target_id: 11 }] },
    newCaller(basic('admin'))
  )
  t.match(JSON.parse(json), {
    title: [{ value: 'Saved elsewhere' }],
    field_articles: [
      { target_id: 10, url: /^\/articles\// },
      { target_id: 11, url: '/node/11' }
    ]
  })
})

t.test('targets are remembered for a minute from when the first was asked for', (t) => {
  let now = 1000
  const memory = createTargetMemory({ urlsOf: () => () => undefined, time: fakeTime({ monotonic: () => now }) })
  const caller = basic('admin')
  const user = (id: string) => ({ type: 'user--user', id })
  const path = { alias: '/people/a' }

  const told = memory.of(newCaller(caller))
  t.equal(memory.age(newCaller(caller)), 0)
  memory.learn(told, [], {}, newCaller(caller))
  t.not(memory.of(newCaller(caller)), told, 'nothing was told')
  now = 1100
  memory.learn(told, [user('a'), user('b')], { included: [{ ...user('a'), attributes: { path, other: 1 } }] }, newCaller(caller))
  now = 2000
  const { targets: known } = memory.of(newCaller(caller))
  t.strictSame(
    [...known.get('user--user')!],
    [
      ['a', { alias: '/people/a' }],
      ['b', {}]
    ]
  )
  memory.learn(memory.of(newCaller(caller)), [user('a')], {}, newCaller(caller))
  t.strictSame(known.get('user--user')!.get('a'), {}, 'hidden since')
  t.equal(memory.age(newCaller(caller)), 1000, 'as old as the oldest')
  t.equal(memory.of(newCaller(basic('editor'))).targets.size, 0)
  now = 61_000
  t.equal(memory.of(newCaller(caller)).targets.size, 0)
  t.equal(memory.age(newCaller(caller)), 0)
  t.end()
})

t.test('of more targets than are remembered those of whom asked longest ago are forgotten', (t) => {
  const memory = createTargetMemory({ urlsOf: () => () => undefined })
  const many = (of: string) => Array.from({ length: 40_000 }, (_, index) => ({ type: 'node--article', id: `${of}${index}` }))
  const names = ['anna', 'ben', 'cleo']
  for (const name of names) memory.learn(memory.of(newCaller(basic(name))), many(name), {}, newCaller(basic(name)))
  t.strictSame(
    names.map((name) => memory.of(newCaller(basic(name))).targets.get('node--article')?.size),
    [undefined, 40_000, 40_000]
  )
  memory.learn(memory.of(newCaller(basic('ben'))), many('of ben too '), {}, newCaller(basic('ben')))
  t.strictSame(
    names.map((name) => memory.of(newCaller(basic(name))).targets.get('node--article')?.size),
    [undefined, 80_000, undefined],
    'what is told later counts too'
  )
  for (let page = 0; page < 20_000; page++) {
    memory.learn(memory.of(newCaller(basic('ben'))), [], {}, newCaller(basic('ben')), `/daily?${page}`)
  }
  t.equal(memory.of(newCaller(basic('ben'))).pages.size, 20_000)
  memory.learn(memory.of(newCaller(basic('ben'))), [], {}, newCaller(basic('ben')), '/daily')
  t.strictSame(
    names.map((name) => memory.of(newCaller(basic(name))).targets.size),
    [0, 0, 0],
    'and so do pages'
  )
  t.end()
})
