import { setTimeout as sleep } from 'node:timers/promises'
import { DeleteCommand, ScanCommand } from '@aws-sdk/lib-dynamodb'
import t, { type Test } from 'tap'
import { newspaper } from '../../dev/content.ts'
import { createEditions } from '#lib/editions/editions.ts'
import { createSite } from '#lib/editions/site/site.ts'
import { createHttp } from '#lib/http/client.ts'
import { createJsonapi } from '#lib/drupal/client.ts'
import { createTickets } from '#lib/saves/tickets.ts'
import { model } from '../editions/fixtures.ts'
import { openHostile, startHostileCms, type HostileCms, type Said } from '../editions/hostile-cms.ts'
import { basic, editionsOf, open } from '../editions/site.ts'
import { build } from '../helper.ts'
import { startEngine } from '../locks/fixtures/engines.ts'
import { asClient, memoryStore } from '../locks/fixtures/memory-store.ts'
import { fakeTime } from '../fixtures/time.ts'
import { newCaller } from '#lib/http/calls.ts'

const { id, uuid } = editionsOf(newspaper()).find(({ published, bundle }) => published && bundle === 'daily')!
const path = `/api/collection/${id}`
const title = (text: string) => ({ title: [{ value: text }] })

/** Holds the answer to the next read, as it is now, until it may go on. */
function holdNextRead(cms: HostileCms) {
  const [hasLooked, mayGoOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  cms.behave = async ({ method }, honest) => {
    if (method !== 'GET') return undefined
    cms.behave = () => undefined
    const answer = await honest()
    hasLooked.resolve()
    await mayGoOn.promise
    return answer
  }
  return { hasLooked, mayGoOn }
}

/**
 * An edition is looked at through one instance, saved through another, and only then saved through the first, each with
 * the tag that both have read. Who is late looks before his turn: he was not shown the edition in this language.
 */
async function race(t: Test, env: Record<string, string>) {
  // Drupal itself tells two saves apart only where seconds lie between them.
  const now = Date.now()
  const { call, cms } = await openHostile(t, { env, now: () => now })
  const other = await build(t, { CMS_URL: cms.url, ...env })
  // What is shown in one language is no base in another.
  const elsewhere = { as: 'editor', headers: { 'accept-language': 'en' } }
  await call('POST', path, { body: title('First'), ...elsewhere })
  const { etag } = (await call('GET', path, elsewhere)).headers
  const { hasLooked, mayGoOn } = holdNextRead(cms)
  const late = call('POST', path, { body: title('Late'), as: 'editor', headers: { 'if-match': String(etag) } })
  await hasLooked.promise
  const inTime = await other.inject({
    method: 'POST',
    url: path,
    headers: { ...basic('editor2'), 'if-match': String(etag) },
    payload: title('In time')
  })
  mayGoOn.resolve()
  const { status, headers } = await late
  const [{ value }] = (await call('GET', path, { as: 'editor' })).body.title
  return { inTime: [inTime.statusCode, inTime.headers['edition-turn']], late: [status, headers['edition-turn']], title: value }
}

t.test('of two saves through two instances the one that looked too early is refused', async (t) => {
  const { endpoint } = await startEngine(t, 'dynalite')
  t.strictSame(await race(t, { DYNAMODB_ENDPOINT: endpoint }), { inTime: [200, undefined], late: [412, undefined], title: 'In time' })
})

t.test('without a table that both share a save is lost, and Edition-Turn says that it may be', async (t) => {
  t.strictSame(await race(t, {}), { inTime: [200, 'instance'], late: [200, 'instance'], title: 'Late' })
})

t.test('who was shown an edition has the turn while he reads it again, and the others wait', async (t) => {
  const { endpoint } = await startEngine(t, 'dynalite')
  const now = Date.now()
  const { call, cms } = await openHostile(t, { env: { DYNAMODB_ENDPOINT: endpoint }, now: () => now })
  const other = await build(t, { CMS_URL: cms.url, DYNAMODB_ENDPOINT: endpoint })
  const ifMatch = { 'if-match': String((await call('GET', path, { as: 'editor' })).headers.etag) }
  const { hasLooked, mayGoOn } = holdNextRead(cms)
  const first = call('POST', path, { body: title('First'), as: 'editor', headers: ifMatch })
  await hasLooked.promise
  const second = other.inject({ method: 'POST', url: path, headers: { ...basic('editor2'), ...ifMatch }, payload: title('Second') })
  t.equal(await Promise.race([second.then(() => 'answered'), sleep(300, 'waits')]), 'waits')
  mayGoOn.resolve()
  t.strictSame([(await first).status, (await second).statusCode], [200, 412])
  t.equal((await call('GET', path, { as: 'editor' })).body.title[0].value, 'First')
})

t.test('a save whose turn has come takes no part in a read that began before', async (t) => {
  const { endpoint } = await startEngine(t, 'dynalite')
  // Drupal itself tells two saves apart only where seconds lie between them.
  const now = Date.now()
  const { call, cms } = await openHostile(t, { env: { DYNAMODB_ENDPOINT: endpoint }, now: () => now })
  const other = await build(t, { CMS_URL: cms.url, DYNAMODB_ENDPOINT: endpoint })
  const insert = (article: number) => ({ operations: [{ op: 'insert', article: { target_id: article }, at: 'end' }] })
  // Who was not shown the edition reads it before he has a turn.
  const arrange = (article: number, as = 'admin') => call('POST', `${path}/articles`, { body: insert(article), as })
  const arrangeThroughOther = (article: number) =>
    other.inject({ method: 'POST', url: `${path}/articles`, headers: basic('editor2'), payload: insert(article) })
  t.strictSame([(await arrange(101, 'editor')).status, (await arrangeThroughOther(102)).statusCode], [200, 200])

  const [isSaving, maySave] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const [hasRead, readsAgain, mayAnswer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let reads = 0
  cms.behave = async ({ method, path, headers }, honest) => {
    const isOthers = headers.authorization !== basic('admin').authorization
    if (method === 'PATCH' && isOthers) {
      isSaving.resolve()
      await maySave.promise
    }
    if (method !== 'GET' || isOthers || !path.endsWith(uuid)) return undefined
    const answer = await honest()
    if (++reads === 1) hasRead.resolve()
    if (reads === 2) {
      readsAgain.resolve()
      await mayAnswer.promise
    }
    return answer
  }
  const first = arrangeThroughOther(103)
  await isSaving.promise
  const second = arrange(104)
  await hasRead.promise
  await sleep(100)
  // This one reads what was there before the first save, and has its answer late.
  const third = arrange(105)
  await readsAgain.promise
  maySave.resolve()
  t.equal((await first).statusCode, 200)
  await Promise.race([second, sleep(2000)])
  mayAnswer.resolve()
  t.strictSame([(await second).status, (await third).status], [200, 200])
  const { body } = await call('GET', path, { as: 'editor' })
  t.strictSame(
    body.field_articles.slice(-5).map(({ target_id: id }: { target_id: number }) => id),
    [101, 102, 103, 104, 105]
  )
})

t.test('a save whose turn comes at once has not looked by a read that began before another save', async (t) => {
  // Drupal itself tells two saves apart only where seconds lie between them.
  const now = Date.now()
  const cms = await startHostileCms(t, { now: () => now })
  const clock = { now }
  const store = asClient(memoryStore())
  const instance = () => {
    const http = createHttp({ url: cms.url, timeoutMs: 60_000 })
    t.teardown(() => http.close())
    const site = createSite({ cms: createJsonapi({ http, jsonapiPath: '/jsonapi' }), model, cmsUrl: cms.url, warn() {} })
    const turns = createTickets({
      client: store,
      table: 'DataState',
      environment: 'test',
      time: fakeTime({ now: () => clock.now, ready: () => undefined }),
      warn: ({ message }) => t.fail(message)
    })
    return createEditions({ site, turns })
  }
  const [one, other] = [instance(), instance()]
  const insert = (article: number) => ({ operations: [{ op: 'insert' as const, article: { target_id: article }, at: 'end' as const }] })
  const [editor, editor2] = [basic('editor'), basic('editor2')]
  await one.arrange(String(id), insert(101), newCaller(editor))
  await other.arrange(String(id), insert(102), newCaller(editor2))

  const [hasRead, mayAnswer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  cms.behave = async ({ method, path }, honest) => {
    if (method !== 'GET' || !path.endsWith(uuid)) return undefined
    cms.behave = () => undefined
    const answer = await honest()
    hasRead.resolve()
    await mayAnswer.promise
    return answer
  }
  const slowRead = one.bare(uuid, newCaller(editor))
  await hasRead.promise
  await other.arrange(String(id), insert(103), newCaller(editor2))
  // From here on the save counts as one that every look must have seen.
  clock.now += 2001
  const arranged = one.arrange(String(id), insert(104), newCaller(editor))
  await Promise.race([arranged, sleep(2000)])
  mayAnswer.resolve()
  await Promise.all([arranged, slowRead])
  const { field_articles: articles } = await one.bare(uuid, newCaller(editor))
  t.strictSame(
    articles!.slice(-4).map(({ target_id: article }) => article),
    [101, 102, 103, 104]
  )
})

for (const seconds of [0, 5]) {
  t.test(`an earlier state that Drupal keeps showing loses no insert, ${seconds} s after the save that it lacks`, async (t) => {
    const { endpoint } = await startEngine(t, 'dynalite')
    let now = Date.now()
    const { call, cms } = await openHostile(t, { env: { DYNAMODB_ENDPOINT: endpoint }, now: () => now })
    const arrange = (article: number) =>
      call('POST', `${path}/articles`, {
        body: { operations: [{ op: 'insert', article: { target_id: article }, at: 'end' }] },
        as: 'editor'
      })
    t.equal((await arrange(101)).status, 200)
    let earlier: Said | undefined
    cms.behave = async ({ method, path, query }, honest) => {
      if (method !== 'GET' || !path.endsWith(uuid) || query.has('resourceVersion')) return undefined
      earlier ??= await honest()
      return earlier
    }
    t.equal((await arrange(102)).status, 200)
    now += 1000 * seconds
    t.equal((await arrange(103)).status, 200)
    cms.behave = () => undefined
    const { body } = await call('GET', path, { as: 'editor' })
    t.strictSame(
      body.field_articles.slice(-3).map(({ target_id: id }: { target_id: number }) => id),
      [101, 102, 103]
    )
  })
}

t.test('a save that timed out keeps its turn, and one that failed gives it back', async (t) => {
  const { endpoint, client } = await startEngine(t, 'dynalite')
  // Enforcing locks it saves nothing without a ticket, however slow the engine is.
  const { call, cms } = await openHostile(t, { env: { DYNAMODB_ENDPOINT: endpoint, EDITION_LOCKS: 'enforce', CMS_TIMEOUT_MS: '2000' } })
  const tickets = async () => (await client.send(new ScanCommand({ TableName: 'DataState' }))).Items
  for (const [fault, status, held] of [
    ['hang', 504, true],
    [{ status: 500, body: 'The website encountered an unexpected error.' }, 502, false]
  ] as const) {
    cms.behave = ({ method }) => (method === 'PATCH' ? fault : undefined)
    t.equal((await call('POST', path, { body: title(`Late ${status}`), as: 'editor' })).status, status)
    const [ticket] = (await tickets())!
    t.equal(ticket!['leaseUntil'] > 0, held, String(status))
    await client.send(
      new DeleteCommand({ TableName: 'DataState', Key: { env_entityType_entityId: ticket!['env_entityType_entityId'], fieldName: 'save' } })
    )
  }
})

t.test('with EDITION_LOCKS=enforce nothing is saved while the store is away', async (t) => {
  const { call, cms } = await open(t, { env: { EDITION_LOCKS: 'enforce' } })
  const reply = await call('POST', path, { body: title('Late'), as: 'editor' })
  t.match([reply.status, reply.body.code, reply.headers['retry-after']], [503, 'STORE_UNAVAILABLE', '1'])
  t.notOk(cms.requestLines.some((line) => line.startsWith('PATCH')))
})

t.test('what nine editors add through three instances is all there', async (t) => {
  const { endpoint } = await startEngine(t, 'dynalite')
  const { app, url } = await open(t, { env: { DYNAMODB_ENDPOINT: endpoint } })
  const instances = [
    app,
    await build(t, { CMS_URL: url, DYNAMODB_ENDPOINT: endpoint }),
    await build(t, { CMS_URL: url, DYNAMODB_ENDPOINT: endpoint })
  ]
  const statuses = new Map<number, number>()
  const marks = Array.from({ length: 9 }, (_, index) => `<${index}>`)
  await Promise.all(
    marks.map(async (mark, index) => {
      const instance = instances[index % 3]!
      const headers = basic(index % 2 ? 'editor' : 'editor2')
      for (let status = 0; status !== 200;) {
        const {
          headers: { etag },
          body
        } = await instance.inject({ url: path, headers })
        const [{ value }] = JSON.parse(body).title
        const reply = await instance.inject({
          method: 'POST',
          url: path,
          headers: { ...headers, 'if-match': String(etag) },
          payload: title(value + mark)
        })
        status = reply.statusCode
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
      }
    })
  )
  const [{ value }] = (await app.inject({ url: path, headers: basic('editor') })).json().title
  for (const mark of marks) t.equal(value.split(mark).length, 2, mark)
  t.strictSame(
    [...statuses.keys()].filter((status) => ![200, 412, 503].includes(status)),
    []
  )
  t.equal(statuses.get(200), 9)
})
