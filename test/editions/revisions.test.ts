import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { PutCommand, ScanCommand, type DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import t, { type Test } from 'tap'
import { newspaper } from '../../dev/content.ts'
import { createRevisions } from '#lib/editions/site/revisions.ts'
import { startFakeRedis } from '../bus/fixtures/fake-redis.ts'
import { until } from '../bus/fixtures/redis-tests.ts'
import { build } from '../helper.ts'
import { startEngine } from '../locks/fixtures/engines.ts'
import { model } from './fixtures.ts'
import { JSONAPI, openHostile, type HostileDesk } from './hostile-cms.ts'
import { basic, editionsOf } from './site.ts'

const { id, uuid } = editionsOf(newspaper()).find(({ published, bundle }) => published && bundle === 'daily')!
const path = `/api/collection/${id}`
const title = (text: string) => ({ title: [{ value: text }] })
const insert = (article: number) => ({ operations: [{ op: 'insert', article: { target_id: article }, at: 'end' }] })
const articlesOf = ({ body }: { body: any }): number[] =>
  body.field_articles.map(({ target_id: article }: { target_id: number }) => article)
const versionsIn = (upstream: string[]) => upstream.flatMap((line) => /resourceVersion=([^&]+)/.exec(line)?.[1] ?? [])

/** A desk before a Drupal that goes on to show the edition as it was before the first save. */
function openLate(t: Test, env: Record<string, string> = {}): Promise<HostileDesk> {
  // Drupal itself tells two saves apart only where seconds lie between them.
  const now = Date.now()
  return openHostile(t, { env, now: () => now, lateReads: true })
}

t.test('a reader is shown the last save where Drupal still shows what was before', async (t) => {
  const { call } = await openLate(t)
  await call('GET', path, { as: 'editor' })
  for (const text of ['First', 'Second']) {
    t.equal((await call('POST', path, { body: title(text), as: 'editor' })).status, 200)
    const { body, headers, upstream } = await call('GET', path, { as: 'editor' })
    t.equal(body.title[0].value, text)
    t.strictSame(versionsIn(upstream), [`id:${body.revision_id[0].value}`], 'by its id, and nothing else twice')
    const byUuid = await call('GET', `/api/collection/${uuid}`, { as: 'editor' })
    t.strictSame([byUuid.body, byUuid.headers.etag], [body, headers.etag])
  }
})

t.test('so is a reader of a list, in up to ten rows', async (t) => {
  const { call } = await openLate(t)
  const titles = async () => {
    const { body, upstream } = await call('GET', '/api/collections/daily?limit=50', { as: 'editor' })
    return {
      titles: body.data.filter(({ title: [{ value }] }: any) => value.startsWith('Now ')).length,
      versions: versionsIn(upstream).length
    }
  }
  t.strictSame(await titles(), { titles: 0, versions: 0 })
  const daily = editionsOf(newspaper())
    .filter(({ published, bundle }) => published && bundle === 'daily')
    .slice(-11)
  for (const [index, { id }] of daily.entries()) {
    t.equal((await call('POST', `/api/collection/${id}`, { body: title(`Now ${id}`), as: 'editor' })).status, 200)
    t.strictSame(await titles(), { titles: Math.min(index + 1, 10), versions: Math.min(index + 1, 10) })
  }
})

t.test('without a revision in the content model the reader is shown what was before', async (t) => {
  const file = join(t.testdir({ 'model.json': JSON.stringify({ keys: { revision: null } }) }), 'model.json')
  const { call } = await openLate(t, { CONTENT_MODEL: file })
  t.equal((await call('POST', path, { body: title('First'), as: 'editor' })).status, 200)
  t.not((await call('GET', path, { as: 'editor' })).body.title[0].value, 'First')
})

t.test('operations are applied to the order of the last save, also that of another instance', async (t) => {
  const { endpoint } = await startEngine(t, 'dynalite')
  const { call, cms } = await openLate(t, { DYNAMODB_ENDPOINT: endpoint })
  const other = await build(t, { CMS_URL: cms.url, DYNAMODB_ENDPOINT: endpoint })
  const before = articlesOf(await call('GET', path, { as: 'editor' }))
  const arrange = (article: number) => call('POST', `${path}/articles`, { body: insert(article), as: 'editor' })
  const arrangeThroughOther = async (article: number) =>
    (await other.inject({ method: 'POST', url: `${path}/articles`, headers: basic('editor2'), payload: insert(article) })).statusCode
  t.equal((await arrange(101)).status, 200)
  t.equal(await arrangeThroughOther(102), 200)
  t.strictSame(await Promise.all([arrangeThroughOther(103), arrangeThroughOther(104)]), [200, 200])
  t.equal((await arrange(105)).status, 200)
  const order = articlesOf(await call('GET', path, { as: 'editor' }))
  t.strictSame([order.slice(0, before.length), order.slice(before.length).sort()], [before, [101, 102, 103, 104, 105]])
})

t.test('what another instance has saved is shown as soon as the bus tells of it', async (t) => {
  const { url } = await startFakeRedis(t)
  const { call, cms, app } = await openLate(t, { EVENTS_BUS_URL: url })
  const other = await build(t, { CMS_URL: cms.url, EVENTS_BUS_URL: url })
  for (const each of [app, other]) await each.listen({ host: '127.0.0.1', port: 0 })
  await until(() => [app, other].every((each) => each.readings.get('quoin_bus_up')!.read() === 1), 'the bus')
  t.equal((await call('POST', path, { body: title('First'), as: 'editor' })).status, 200)
  const titleThere = async () => (await other.inject({ url: path, headers: basic('editor2') })).json().title[0].value
  for (const end = performance.now() + 20_000; (await titleThere()) !== 'First' && performance.now() < end;) await sleep(20)
  t.equal(await titleThere(), 'First')
})

t.test('the look after a save without an answer is not misled', async (t) => {
  const { call, cms } = await openLate(t)
  await call('POST', path, { body: title('First'), as: 'editor' })
  cms.site.settings.lateReads = false
  cms.behave = async ({ method }, honest) => {
    if (method !== 'PATCH') return undefined
    await honest()
    cms.site.settings.lateReads = true
    return { status: 502, headers: { 'content-type': 'text/html' }, body: 'Bad Gateway' }
  }
  const { status, body } = await call('POST', path, { body: title('Second'), as: 'editor' })
  t.strictSame([status, body.title[0].value], [200, 'Second'])
})

/** The ticket of the edition tells a revision that the site does not have: it was set back to an earlier state, say. */
async function tellOf(client: DynamoDBDocumentClient, revision: unknown): Promise<void> {
  const { Items = [] } = await client.send(new ScanCommand({ TableName: 'DataState' }))
  const ticket = Items.find(({ env_entityType_entityId: key }) => String(key).endsWith(`#save-${uuid}`))!
  const version = String(ticket.version).replace(/.$/, (last) => (last === '0' ? '1' : '0'))
  await client.send(new PutCommand({ TableName: 'DataState', Item: { ...ticket, version, revision } }))
}

t.test('a revision that Drupal does not have is forgotten', async (t) => {
  const { client, endpoint } = await startEngine(t, 'dynalite')
  const { call } = await openHostile(t, { env: { DYNAMODB_ENDPOINT: endpoint } })
  t.equal((await call('POST', path, { body: title('First'), as: 'editor' })).status, 200)
  for (const revision of [999_999, 'x', -1]) {
    await tellOf(client, revision)
    const { status, upstream } = await call('POST', path, { body: title(`After ${String(revision)}`), as: 'editor' })
    t.equal(status, 200)
    t.equal(
      versionsIn(upstream).some((version) => version === `id:${String(revision)}`),
      revision === 999_999
    )
    const read = await call('GET', path, { as: 'editor' })
    t.strictSame([read.body.title[0].value, versionsIn(read.upstream)], [`After ${String(revision)}`, []])
  }
})

t.test('where somebody has saved in Drupal since, what Drupal shows is shown', async (t) => {
  for (const as of ['editor', 'admin']) {
    const { call, cms } = await openLate(t)
    const shown = (await call('GET', path, { as })).body.title
    t.equal((await call('POST', path, { body: title('First'), as: 'editor' })).status, 200)
    const form = await fetch(`${cms.url}/jsonapi/publisher_container/daily/${uuid}`, {
      method: 'PATCH',
      headers: { ...basic('editor2'), ...JSONAPI },
      body: JSON.stringify({ data: { type: 'publisher_container--daily', id: uuid, attributes: { title: 'In the form' } } })
    })
    t.equal(form.status, 200)
    const { status, body } = await call('GET', path, { as })
    t.strictSame([status, body.title], [200, shown], as)
  }
})

t.test('where Drupal does not answer with the newest revision, that is told, and nothing is saved', async (t) => {
  const { call, cms } = await openLate(t)
  t.equal((await call('POST', path, { body: title('First'), as: 'editor' })).status, 200)
  cms.behave = async ({ query }) => (query.get('resourceVersion')?.startsWith('id:') ? { status: 503, body: 'x' } : undefined)
  t.equal((await call('GET', path, { as: 'editor' })).status, 503)
  const { status, upstream } = await call('POST', path, { body: title('Second'), as: 'editor' })
  t.strictSame([status, upstream.some((line) => line.startsWith('PATCH'))], [503, false])
})

t.test('revisions are remembered for one edition whatever the case of its uuid, and drafts are none', async (t) => {
  const revisions = createRevisions(model)
  const resource = (revision: unknown, links = {}) => ({
    type: 'publisher_container--daily',
    id: uuid,
    attributes: { drupal_internal__revision_id: revision },
    links
  })
  t.equal(revisions.newerThan(resource(1)), undefined)
  revisions.learn(uuid.toUpperCase(), 7)
  revisions.learnFrom(resource(6))
  revisions.learnFrom(resource(9, { 'latest-version': { href: 'x' } }))
  t.strictSame(
    [revisions.of(uuid), revisions.newerThan(resource(6)), revisions.newerThan(resource(7)), revisions.newerThan(resource(undefined))],
    [7, 7, undefined, undefined]
  )
  revisions.learnFrom(resource(8))
  t.equal(revisions.of(uuid), 8)
  revisions.forget(uuid.toUpperCase())
  t.equal(revisions.of(uuid), undefined)
})

/**
 * A desk before a Drupal that goes on to show everybody the edition as it was, unless they name a version, after somebody has
 * saved another state in Drupal's own form.
 */
async function openOld(t: Test, { env = {}, ...changes }: { attributes?: object; relationships?: object; env?: Record<string, string> }) {
  const desk = await openHostile(t, { env })
  const { call, cms } = desk
  const latest = `${cms.url}/jsonapi/publisher_container/daily/${uuid}?resourceVersion=rel:latest-version`
  const truth = async () => ((await (await fetch(latest, { headers: basic('editor') })).json()) as { data: any }).data
  const before = await call('GET', path, { as: 'editor' })
  const old = await truth()
  const form = await fetch(`${cms.url}/jsonapi/publisher_container/daily/${uuid}`, {
    method: 'PATCH',
    headers: { ...basic('editor2'), ...JSONAPI },
    body: JSON.stringify({ data: { type: 'publisher_container--daily', id: uuid, ...changes } })
  })
  if (form.status !== 200) throw new Error(await form.text())
  cms.behave = async ({ method, path, query }, honest) => {
    if (method !== 'GET' || !path.endsWith(uuid) || query.has('resourceVersion')) return undefined
    const answer = await honest()
    return { ...answer, body: { ...answer.body, data: old } }
  }
  return { ...desk, before, truth }
}

const sentIn = (upstream: string[]) => upstream.filter((line) => /^PATCH .*(?<! \{\})$/.test(line)).length

t.test('a save of what Drupal still shows is sent where the latest version has something else', async (t) => {
  const { call, before, truth } = await openOld(t, { attributes: { title: 'New' } })
  const saved = await call('POST', path, { body: { title: before.body.title }, as: 'editor' })
  t.strictSame([saved.status, sentIn(saved.upstream), (await truth()).attributes.title], [200, 1, before.body.title[0].value])
  const again = await call('POST', path, { body: { title: before.body.title }, as: 'editor' })
  t.strictSame(
    [again.status, sentIn(again.upstream), versionsIn(again.upstream).length > 0],
    [200, 0, true],
    'what the latest version has is not'
  )
})

t.test('so are operations on the running order, and a close', async (t) => {
  const desk = await openHostile(t)
  const [first, ...others] = (await desk.call('GET', path, { as: 'editor' })).body.field_articles
  const relationships = {
    field_articles: { data: others.map(({ target_uuid: id }: { target_uuid: string }) => ({ type: 'node--article', id })) }
  }
  const order = await openOld(t, { relationships })
  const put = await order.call('POST', `${path}/articles`, {
    body: { operations: [{ op: 'insert', article: { target_id: first.target_id }, at: 'start' }] },
    as: 'editor'
  })
  t.strictSame([put.status, put.body.meta?.operations, sentIn(put.upstream)], [200, [{ outcome: 'done' }], 1])
  t.equal((await order.truth()).relationships.field_articles.data[0].id, first.target_uuid)

  const { endpoint } = await startEngine(t, 'dynalite')
  const file = join(t.testdir({ 'model.json': JSON.stringify({ closing: { blockers: [] } }) }), 'model.json')
  const closing = await openOld(t, { attributes: { status: false }, env: { DYNAMODB_ENDPOINT: endpoint, CONTENT_MODEL: file } })
  const closed = await closing.call('POST', `${path}/close`, { body: {}, as: 'editor' })
  t.strictSame([closed.status, sentIn(closed.upstream), (await closing.truth()).attributes.status], [200, 1, true])
})

t.test('an upsert of what Drupal still shows is sent too, and one of what the latest version has takes its turn and is not', async (t) => {
  const { endpoint } = await startEngine(t, 'dynalite')
  const { app, before, truth, cms } = await openOld(t, { attributes: { title: 'New' }, env: { DYNAMODB_ENDPOINT: endpoint } })
  const {
    body: {
      field_key: [{ value: key }],
      title: [{ value: old }]
    }
  } = before
  const push = async () => {
    const from = cms.asked.length
    const { statusCode } = await app.inject({
      method: 'PUT',
      url: `/api/collections/daily/by-key/${key}`,
      headers: basic('editor'),
      payload: title(old)
    })
    return [statusCode, sentIn(cms.asked.slice(from).map(({ line }) => line))]
  }
  t.strictSame(await push(), [200, 1])
  t.equal((await truth()).attributes.title, old)
  t.strictSame(await push(), [200, 0])
})

t.test('an upsert of what both states have is not sent, and answered with the edition as it is then', async (t) => {
  const { endpoint } = await startEngine(t, 'dynalite')
  const { app, before, cms } = await openOld(t, { attributes: { field_page_count: 77 }, env: { DYNAMODB_ENDPOINT: endpoint } })
  const {
    field_key: [{ value: key }],
    title: [{ value: old }]
  } = before.body
  const from = cms.asked.length
  const pushed = await app.inject({
    method: 'PUT',
    url: `/api/collections/daily/by-key/${key}`,
    headers: basic('editor'),
    payload: title(old)
  })
  const lines = cms.asked.slice(from).map(({ line }) => line)
  t.strictSame([pushed.statusCode, sentIn(lines)], [200, 0], pushed.body)
})

t.test('of a type without revisions there is no further request', async (t) => {
  const file = join(t.testdir({ 'model.json': JSON.stringify({ keys: { revision: null } }) }), 'model.json')
  const { endpoint } = await startEngine(t, 'dynalite')
  const { app, call, before, cms } = await openOld(t, {
    attributes: { title: 'New' },
    env: { CONTENT_MODEL: file, DYNAMODB_ENDPOINT: endpoint }
  })
  const from = cms.asked.length
  const url = `/api/collections/daily/by-key/${before.body.field_key[0].value}`
  const pushed = await app.inject({ method: 'PUT', url, headers: basic('editor'), payload: { title: before.body.title } })
  const lines = cms.asked.slice(from).map(({ line }) => line)
  t.strictSame([pushed.statusCode, sentIn(lines), versionsIn(lines)], [200, 0, []])
  const saved = await call('POST', path, { body: { title: before.body.title }, as: 'editor' })
  t.strictSame([saved.status, sentIn(saved.upstream), versionsIn(saved.upstream)], [200, 0, []], 'nobody can ask for the latest version')
})
