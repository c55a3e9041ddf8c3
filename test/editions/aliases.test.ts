import t, { type Test } from 'tap'
import { createCms } from '../../dev/cms.ts'
import { newspaper } from '../../dev/content.ts'
import { createUserAliases } from '../../lib/editions/aliases.ts'
import { createEditions } from '../../lib/editions/editions.ts'
import { createHttp, createJsonapi, type Jsonapi } from '../../lib/jsonapi/client.ts'
import type { Document, Resource } from '../../lib/jsonapi/document.ts'
import { model } from './fixtures.ts'
import { basic, enlarged } from './site.ts'

/**
 * Editions of the sample site with Pathauto's field `path` on users, shown to administrators; what was asked of the site;
 * and a switch: which edition's author an answer leaves out, as if the edition were gone by then.
 */
async function openWithAliases (t: Test) {
  const cms = createCms({ content: enlarged(newspaper(), 0) })
  const url = await cms.listen()
  const http = createHttp({ url, timeoutMs: 5000 })
  t.teardown(async () => { await http.close(); await cms.close() })
  const jsonapi = createJsonapi({ http, jsonapiPath: '/jsonapi' })
  const asked: string[] = []
  const site = { alias: (uid: unknown): string | null => `/people/${uid}`, refuses: false }

  const request: Jsonapi['request'] = async (one) => {
    const query = new URLSearchParams([...one.query ?? []] as Array<[string, string]>)
    asked.push(`${one.path}?${decodeURIComponent(query.toString())}`)
    if (site.refuses && query.has('fields[publisher_container--daily]')) return { status: 404, document: { errors: [] } }
    const answer = await jsonapi.request(one)
    const included = answer.document.included?.map((resource) => resource.type === 'user--user' ? withPath(resource, one.caller['authorization']) : resource)
    return { ...answer, document: { ...answer.document, ...(included && { included }) } }
  }

  const names = new Map(newspaper().entities.filter(({ type }) => type === 'user--user').map(({ uuid, id }) => [uuid, id]))
  function withPath (resource: Resource, authorization: string | undefined): Resource {
    if (authorization !== basic('admin').authorization) return resource
    return { ...resource, attributes: { ...resource.attributes, path: { alias: site.alias(names.get(resource.id)) } } }
  }

  const editions = createEditions({ cms: { request }, model, cmsUrl: url, warn () {} })
  return { editions, site, asked: () => asked.splice(0) }
}

const author = (entity: any) => entity.uid[0].url
const search = { limit: 50, offset: 0, total: false }

t.test('the aliases of users come along once, and are not asked for again', async (t) => {
  const { editions, site, asked } = await openWithAliases(t)
  const admin = basic('admin')
  const { entity } = await editions.read('1', admin)
  const uid = entity['uid']![0]!['target_id']
  t.equal(author(entity), `/people/${uid}`)
  t.ok(asked().some((line) => /include=[^&]*\buid\b/.test(line)), 'with the edition')

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
  const admin = basic('admin')
  const { entity } = await editions.read('1', admin)
  asked()
  const { editions: listed } = await editions.search('daily', search, admin)
  const lines = asked()
  t.ok(new Set(listed.map(author)).size > 1, 'several authors')
  t.ok(listed.every((one: any) => author(one) === `/people/${one.uid[0].target_id}`))
  t.strictSame(lines.filter((line) => /fields\[publisher_container--daily\]=[\w,]*uid$/.test(line)).length, 1, 'the users alone')
  t.equal(lines.length, 2)

  await editions.search('daily', search, admin)
  t.equal(asked().length, 1, 'known')
  t.strictSame((await editions.read('1', admin)).entity, entity)
})

t.test('what one caller was told is not shown to another', async (t) => {
  const { editions } = await openWithAliases(t)
  const { entity } = await editions.read('1', basic('admin'))
  const { entity: seen } = await editions.read('1', basic('reader'))
  const uid = seen['uid']![0]!['target_id']
  t.equal(author(seen), `/user/${uid}`)
  t.equal(author(entity), `/people/${uid}`)
  t.equal(author((await editions.read('1', { ...basic('admin'), 'accept-language': 'fr' })).entity), `/people/${uid}`)
})

t.test('where the users cannot be asked for any more, their urls are the canonical ones', async (t) => {
  const { editions, site } = await openWithAliases(t)
  const admin = basic('admin')
  await editions.read('1', admin)
  site.refuses = true
  const { editions: listed } = await editions.search('daily', search, admin)
  t.ok(listed.some((one: any) => author(one) === `/user/${one.uid[0].target_id}`))
})

t.test('an alias is remembered for a minute from when it was asked for', (t) => {
  let now = 1000
  const aliases = createUserAliases(model, () => now)
  const caller = basic('admin')
  const edition = (...uuids: string[]): Resource[] => [{ type: 'publisher_container--daily', id: 'e', relationships: { uid: { data: uuids.map((id) => ({ type: 'user--user', id })) }, field_section: { data: null } } }]
  const document = (id: string, path?: object): Document => ({ included: [{ type: 'user--user', id, attributes: { ...path && { path } } }] })

  t.equal(aliases.of(caller), undefined)
  t.equal(aliases.age(caller), 0)
  t.equal(aliases.learn(caller, edition(), {}, 900).size, 0)
  t.equal(aliases.of(caller), undefined, 'nothing was told')
  aliases.learn(caller, edition('a'), document('a', { alias: '/people/a' }), 900)
  now = 2000
  aliases.learn(caller, edition('b', 'c'), document('b'), 1900)
  t.strictSame([...aliases.of(caller)!], [['a', '/people/a'], ['b', null], ['c', null]])
  t.equal(aliases.age(caller), 1100, 'as old as the oldest')
  t.equal(aliases.of(basic('editor')), undefined)
  now = 60_900
  t.equal(aliases.of(caller), undefined)
  t.end()
})
