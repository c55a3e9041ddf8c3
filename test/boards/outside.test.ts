import { createHmac } from 'node:crypto'
import { PutCommand } from '@aws-sdk/lib-dynamodb'
import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { newspaper } from '../../dev/content.ts'
import { openHostile, JSONAPI } from '../editions/hostile-cms.ts'
import { basic, editionsOf } from '../editions/site.ts'
import { openEvents } from '../fixtures/event-source.ts'
import { build } from '../helper.ts'
import { startEngine } from '../locks/fixtures/engines.ts'
import { model } from '../editions/fixtures.ts'
import { createJournal } from '#lib/saves/journal.ts'
import { createOutside } from '#lib/boards/outside.ts'
import { createModuleKey } from '#lib/auth/module-key.ts'
import { visibleBatch } from '#lib/boards/visible-locks.ts'
import { createJsonapi } from '#lib/drupal/client.ts'
import type { Http, HttpRequest } from '#lib/http/client.ts'
import { createTargetMemory } from '#lib/editions/site/targets.ts'
import { newCaller, type Caller } from '#lib/http/calls.ts'
import { fakeTime } from '../fixtures/time.ts'
import { MODULE_SECRET, outsideSave, signedBy } from './fixtures.ts'

const edition = editionsOf(newspaper()).find(({ published, bundle }) => published && bundle === 'daily')!
const entity = { id: String(edition.id), uuid: edition.uuid }
const path = `/api/collection/${edition.id}`
const ENV = { CMS_MODULE_SECRET: MODULE_SECRET }
const question = (more: object = {}) => ({ type: 'publisher_container', language: 'en', fields: ['title'], uid: '8', ...entity, ...more })

function tell(app: FastifyInstance, url: string, body: unknown, headers?: Record<string, string>) {
  const payload = JSON.stringify(body)
  return app.inject({ method: 'POST', url, payload, headers: headers ?? signedBy(MODULE_SECRET, payload) })
}

const check = (app: FastifyInstance, body: unknown, headers?: Record<string, string>) => tell(app, '/drupal/checks', body, headers)
const hear = (app: FastifyInstance, ...saves: object[]) => tell(app, '/drupal/saves', { saves })

/** Quoin with a table and a module, before a CMS. */
async function open(t: Test, env: Record<string, string> = {}) {
  const { endpoint, client } = await startEngine(t, 'dynalite')
  return { ...(await openHostile(t, { env: { DYNAMODB_ENDPOINT: endpoint, ...ENV, ...env } })), endpoint, client }
}

async function lock(app: FastifyInstance, name: string, fieldName: string, uid: string) {
  const url = `/api/cloud/data-state/${name}`
  const reply = await app.inject({ method: 'PUT', url, payload: { fieldName, userData: { uid, name: `User ${uid}` } } })
  if (reply.statusCode !== 200) throw new Error(reply.body)
}

t.test('without the secret of the module there is nothing to ask or to tell', async (t) => {
  const app = await build(t)
  for (const url of ['/drupal/checks', '/drupal/saves']) t.equal((await tell(app, url, {})).statusCode, 404)
})

t.test('only what the module has signed is taken, under any name of the host', async (t) => {
  const { app } = await open(t, { RATE_LIMIT: '1' })
  const body = question()
  const text = JSON.stringify(body)
  const digest = signedBy(MODULE_SECRET, text)
  const now = Math.floor(Date.now() / 1000)
  const refused: Array<[why: string, headers: Record<string, string>]> = [
    ['no token', { 'content-type': 'application/json' }],
    ['another secret', signedBy('x'.repeat(40), text)],
    ['a token that has expired', signedBy(MODULE_SECRET, text, { exp: now - 31 })],
    ['a token without an end', signedBy(MODULE_SECRET, text, { exp: undefined })],
    ['a token of the other direction', signedBy(MODULE_SECRET, text, { iss: 'quoin', aud: 'drupal' })],
    ['a token for no body', signedBy(MODULE_SECRET, text, { body: undefined })],
    ['a token for another body', signedBy(MODULE_SECRET, `${text} `)],
    ['no JWT', { ...digest, authorization: 'Bearer x' }]
  ]
  for (const [why, headers] of refused) {
    const reply = await check(app, body, headers)
    t.equal(reply.statusCode, 401, why)
    t.match(reply.headers, { 'www-authenticate': /Bearer/ })
    t.match(reply.json(), { code: 'UNAUTHENTICATED' })
  }
  for (let count = 0; count < 3; count++) {
    const reply = await check(app, body, { ...digest, host: 'quoin-behind-drupal' })
    t.strictSame([reply.statusCode, reply.json()], [200, { locks: [] }])
  }
})

t.test('what is wrong in a signed request is said, and changes nothing', async (t) => {
  const { app } = await open(t)
  const replies = [
    await check(app, question({ fields: 'title' })),
    await check(app, question({ id: 'x' })),
    await check(app, null),
    await hear(app),
    await hear(app, outsideSave(entity, { age: -1 })),
    await hear(app, ...Array.from({ length: 51 }, () => outsideSave(entity)))
  ]
  for (const reply of replies) t.match(reply.json(), { statusCode: 400, message: /^body/ })
  const headers = signedBy(MODULE_SECRET, '{')
  t.equal((await app.inject({ method: 'POST', url: '/drupal/saves', payload: '{', headers })).statusCode, 400)
  t.match((await hear(app, outsideSave(entity, { name: 'x'.repeat(1024 * 1024) }))).json(), { statusCode: 413 })
})

t.test('a save in Drupal is told whose locks are in its way', async (t) => {
  const { app, client } = await open(t)
  const name = `publisher_container/${entity.id}`
  await lock(app, name, 'title', '7')
  await lock(app, name, 'field_page_count', '8')
  await lock(app, name, 'field_articles', '9')
  await lock(app, 'node/4', 'title', '7')
  const ask = async (more: object) => (await check(app, question(more))).json().locks
  const seven = { fieldName: 'title', uid: '7', name: 'User 7' }
  t.strictSame(await ask({}), [seven])
  t.strictSame(await ask({ uid: '7' }), [], 'not their own')
  t.strictSame(await ask({ fields: ['field_page_count', 'status'] }), [])
  t.strictSame(await ask({ fields: ['status', 'title', 'field_articles'] }), [
    { fieldName: 'field_articles', uid: '9', name: 'User 9' },
    seven
  ])
  t.strictSame(await ask({ id: '999' }), [])
  t.strictSame(await ask({ type: 'node', id: '4' }), [seven], 'of whatever type')
  const Item = { env_entityType_entityId: `test-publisher_container-${entity.id}`, fieldName: 'status', timestamp: 5 }
  await client.send(new PutCommand({ TableName: 'DataState', Item }))
  t.strictSame(await ask({ fields: ['status'] }), [{ fieldName: 'status', uid: null, name: null }], 'nor who does not say who')
})

t.test('the locks of all languages count, and those of the language that is saved', async (t) => {
  const lockOn = (entityId: string, uid: string) => ({
    entityType: 'node',
    entityId,
    fieldName: 'title',
    timestamp: 1,
    userData: { uid, name: '' }
  })
  const asked: string[][] = []
  const { check } = createOutside({
    locks: {
      view: async (entities) => {
        asked.push(entities.map(({ type, id }) => `${type}/${id}`))
        return [lockOn('4:es', '7'), lockOn('4', '7')]
      }
    },
    journal: undefined,
    model: { ...model, lockLanguages: ['es', 'de'], lockTypes: { node: 'article' } },
    outdate() {},
    tell() {}
  })
  const locks = [{ fieldName: 'title', uid: '7', name: null }]
  t.strictSame(await check({ type: 'node', id: '4', uuid: entity.uuid, language: 'es', fields: ['title'], uid: '8' }), { locks })
  t.strictSame(asked, [['article/4', 'article/4:es']])
})

t.test('where locks go by uuids, so does the question', async (t) => {
  const asked: string[] = []
  const { check } = createOutside({
    locks: {
      view: async ([first]) => {
        asked.push(first!.id)
        return []
      }
    },
    journal: undefined,
    model: { ...model, lockIds: 'uuid' },
    outdate() {},
    tell() {}
  })
  await check({ type: 'node', id: '4', uuid: entity.uuid.toUpperCase(), language: 'es', fields: ['title'], uid: '8' })
  t.strictSame(asked, [entity.uuid])
})

t.test('while the store is away nobody is told that nothing is locked, and a notice has to come again', async (t) => {
  const app = await build(t, ENV)
  t.match((await check(app, question())).json(), { statusCode: 503, code: 'STORE_UNAVAILABLE' })
  t.match((await hear(app, outsideSave(entity))).json(), { statusCode: 503, code: 'STORE_UNAVAILABLE' })
  t.strictSame((await hear(app, outsideSave(entity, { kind: 'delete' }))).json(), { heard: 1 }, 'unless it has no entry')
  const off = await build(t, { ...ENV, JOURNAL_DAYS: '0' })
  t.strictSame((await hear(off, outsideSave(entity))).json(), { heard: 1 })
})

t.test('a save in Drupal has an entry in the journal, once, and at its time', async (t) => {
  const { app, call, cms } = await open(t)
  const read = async () => (await call('GET', `${path}/journal`, { as: 'editor' })).body.data
  const first = (await call('POST', path, { body: { title: [{ value: 'First' }] }, as: 'editor' })).body
  const changedAt = (edition: { changed: Array<{ value: string }> }) => Date.parse(edition.changed[0]!.value) / 1000
  await new Promise((resolve) => setTimeout(resolve, 1100))
  await fetch(`${cms.url}/jsonapi/publisher_container/daily/${entity.uuid}`, {
    method: 'PATCH',
    headers: { ...JSONAPI, ...basic('admin') },
    body: JSON.stringify({ data: { type: 'publisher_container--daily', id: entity.uuid, attributes: { title: 'Outside' } } })
  })
  const [since] = await read()
  t.match(since, { kind: 'outside', message: /^Changed outside Quoin since/, fields: {} }, 'before it is told')
  const second = (await call('GET', path, { as: 'editor' })).body
  const told = outsideSave(entity, {
    fields: ['title', 'field_hidden'],
    changed: { before: changedAt(first), after: changedAt(second) },
    age: 400
  })
  for (let count = 0; count < 2; count++) t.strictSame((await hear(app, told)).json(), { heard: 1 })
  const [entry, ...older] = await read()
  t.match(entry, { kind: 'outside', by: { uid: '8', name: 'Bob' }, fields: { title: {} }, outcome: 'saved', etag: null })
  t.match(entry, { message: 'Saved in Drupal, not through Quoin', id: /^[\w-]{16}$/ })
  t.notHas(entry.fields, 'field_hidden', 'no field that the reader does not see')
  t.strictSame(
    older.map(({ kind }: { kind: string }) => kind),
    ['update'],
    'with nothing unknown between them'
  )

  t.equal((await call('POST', path, { body: { title: [{ value: 'Third' }] }, as: 'editor' })).status, 200)
  const kinds = (await read()).map(({ kind }: { kind: string }) => kind)
  t.strictSame(kinds, ['update', 'outside', 'update'], 'nor after it')
  const late = outsideSave(entity, { age: 3_600_000, uid: '9' })
  await hear(app, late)
  t.match((await read()).at(-1), { kind: 'outside', by: { uid: '9' } }, 'one that comes late stands where it belongs')
  const { status, body } = await call('POST', `${path}/restore`, {
    body: { entry: entry.id, fields: ['title'], side: 'before' },
    as: 'editor'
  })
  t.match([status, body.message], [422, /has no value/])
  for (const more of [{ type: 'node' }, { kind: 'delete' }]) await hear(app, outsideSave(entity, more))
  t.equal((await read()).length, kinds.length + 1, 'of no other entity, and of no deleted edition')
})

t.test('where the content model names the bundles, entities of others are no editions', async (t) => {
  const [noted, outdated]: [string[], boolean[]] = [[], []]
  const { hear } = createOutside({
    locks: { view: async () => [] },
    journal: {
      async outside(uuid) {
        noted.push(uuid)
      }
    },
    model: { ...model, bundles: { daily: 'Daily' } },
    outdate: ({ isEdition }) => outdated.push(isEdition),
    tell() {}
  })
  const save = (more: object) => outsideSave(entity, more) as Parameters<typeof hear>[0][number]
  await hear([save({}), save({ bundle: 'page' }), save({ bundle: undefined })])
  t.strictSame(noted, [entity.uuid, entity.uuid])
  t.strictSame(outdated, [true, false, true])
})

t.test('an entry whose writing broke off is written when the notice comes again, at the same time', async (t) => {
  const { client } = await startEngine(t, 'dynalite')
  let now = Date.UTC(2026, 10, 23, 12)
  const journal = (keys = model.keys) =>
    createJournal({
      client,
      table: 'DataState',
      environment: 'test',
      days: 30,
      model: { ...model, keys },
      time: fakeTime({ now: () => now }),
      warn() {}
    })
  const at = now - 1000
  const save = { notice: entity.uuid, age: 5, by: {}, fields: ['title'], language: 'en', changed: { after: 5 } }
  const claim = { env_entityType_entityId: `test#notice-${entity.uuid}`, fieldName: 'notice', at, removeAt: at }
  await client.send(new PutCommand({ TableName: 'DataState', Item: claim }))
  now += 60_000
  await journal().outside('a', save)
  t.match(await journal().page('a', { limit: 2 }), [{ at, kind: 'outside', after: { changed: 5000 }, fields: { title: {} } }])
  await journal({ ...model.keys, changed: null }).outside('b', { ...save, notice: 'other' })
  const [entry] = await journal().page('b', { limit: 1 })
  t.notHas(entry, 'after', 'without a time of change there is nothing to compare')
})

t.test('who watches an entity hears of its save in Drupal at once, and once', async (t) => {
  const { app } = await open(t)
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  const { next, events } = await openEvents(t, `${address}/api/cloud/data-state/publisher_container/${entity.id}/events`)
  t.match(await next(), { event: 'snapshot' })
  const save = outsideSave(entity)
  await hear(app, save, outsideSave({ ...entity, id: '999' }))
  await hear(app, save)
  await hear(app, outsideSave(entity, { kind: 'delete', fields: [], uid: '0', name: '' }))
  t.match(await next(), { event: 'saved', data: { entityId: entity.id, etag: null, uid: '8', fields: ['title'] } })
  t.match(await next(), { event: 'saved', data: { uid: '0', fields: [] } })
  t.equal(events.length, 3)
})

t.test('no save rests on what was read before Drupal saved, and no read and no copy shows it', async (t) => {
  const { app, call, cms } = await open(t)
  const save = (title: string) => call('POST', path, { body: { title: [{ value: title }] }, as: 'editor' })
  await save('One')
  const rested = await save('Two')
  t.match(rested.upstream[0], /^PATCH/, 'a save rests on the one before')
  await hear(app, outsideSave(entity, { revision: 1 }))
  const anew = await save('Three')
  t.match(anew.upstream[0], /^GET/, 'not after a save in Drupal')

  await call('GET', path, { as: 'editor' })
  const begun = Promise.withResolvers<void>()
  const held = Promise.withResolvers<void>()
  let count = 0
  cms.behave = async (_asked, honest) => {
    const answer = await honest()
    begun.resolve()
    if (count++ === 0) await held.promise
    return answer
  }
  const early = call('GET', path, { as: 'editor' })
  await begun.promise
  await hear(app, outsideSave(entity))
  const late = await call('GET', path, { as: 'editor' })
  t.equal(late.status, 200, 'it does not wait for the read that began before')
  held.resolve()
  await early

  cms.behave = () => undefined
  await call('GET', path, { as: 'editor' })
  const isCopied = async () => {
    cms.behave = () => ({ status: 503, body: 'maintenance' })
    const { status } = await call('GET', path, { as: 'editor' })
    cms.behave = () => undefined
    return status === 200
  }
  t.ok(await isCopied())
  await hear(app, outsideSave({ id: '1', uuid: '00000000-0000-4000-8000-000000000000' }, { type: 'user' }))
  t.ok(await isCopied(), 'what is in no list ends no copy')
  await hear(app, outsideSave(entity))
  t.notOk(await isCopied())
})

t.test('the urls of what Drupal has saved are read again, for all callers', async (t) => {
  const memory = createTargetMemory({ urlsOf: () => () => '' })
  const callers = [newCaller(basic('editor')), newCaller(basic('reader'))] as const
  const article = { type: 'node--article', id: '5488028b-da9e-41aa-aa6a-f0b640c7436e' }
  const learn = (caller: Caller) => {
    const known = memory.of(caller)
    memory.learn(known, [article], { data: [], included: [{ ...article, attributes: { path: { alias: '/a' } } }] }, caller)
    return known
  }
  const isKnown = (caller: Caller) => memory.of(caller).targets.size > 0
  const early = callers.map(learn)[0]!
  memory.outdate('00000000-0000-4000-8000-000000000000')
  t.ok(callers.every(isKnown))
  memory.outdate(article.id.toUpperCase())
  t.notOk(callers.some(isKnown))
  memory.learn(early, [{ ...article, id: entity.uuid }], { data: [], included: [] }, callers[0])
  t.notOk(isKnown(callers[0]), 'what was learned before is not kept with what comes later')
})

t.test('each save that Quoin sends to Drupal is signed for it, and no read is', async (t) => {
  const { call, cms } = await open(t)
  t.equal((await call('POST', path, { body: { title: [{ value: 'Signed' }] }, as: 'editor' })).status, 200)
  const body = { type: [{ target_id: 'daily' }], title: [{ value: 'New' }], field_key: [{ value: 'new' }] }
  const made = await call('POST', '/api/collection', { body, as: 'editor' })
  t.ok(made.status < 300, JSON.stringify(made.body))
  const claimsOf = (token: string) => {
    const [header, payload, signature] = token.split('.') as [string, string, string]
    t.equal(createHmac('sha256', MODULE_SECRET).update(`${header}.${payload}`).digest('base64url'), signature)
    return JSON.parse(Buffer.from(payload, 'base64url').toString())
  }
  for (const { method, headers, body } of cms.asked) {
    const token = headers['quoin-save']
    t.equal(token !== undefined, method !== 'GET', method)
    if (token === undefined) continue
    const { iat, exp, ...claims } = claimsOf(String(token))
    const { id } = JSON.parse(body).data
    t.strictSame(claims, { iss: 'quoin', aud: 'drupal', ...(id !== undefined && { sub: id }) })
    t.equal(exp - iat, 60)
  }
})

t.test('a save whose entity has no uuid yet is signed for any', async (t) => {
  const sent: HttpRequest[] = []
  const { signSave } = createModuleKey(MODULE_SECRET)
  const http: Http = {
    async send(request) {
      sent.push(request)
      return { status: 403, headers: JSONAPI, body: Buffer.from('{"errors":[]}') }
    },
    async close() {}
  }
  const { request } = createJsonapi({ http, jsonapiPath: '/jsonapi', signSave })
  const caller = newCaller({})
  await request({ method: 'POST', path: '/node/article', body: { data: {} }, caller })
  await createJsonapi({ http, jsonapiPath: '/jsonapi' }).request({ method: 'POST', path: '/node/article', body: {}, caller })
  const [signed, unsigned] = sent.map(({ headers }) => headers!['quoin-save'])
  t.notHas(JSON.parse(Buffer.from(signed!.split('.')[1]!, 'base64url').toString()), 'sub')
  t.equal(unsigned, undefined)
})

t.test('a save is told to those who may view its entity', async (t) => {
  const saved = (entityId: string) => ({
    event: 'saved' as const,
    saved: { entityType: 'node', entityId, etag: null, uid: '8', fields: ['title'] }
  })
  const batch = [saved('1'), saved('2')]
  t.strictSame(await visibleBatch(batch, async ({ id }) => id === '2', model), [saved('2')])
  t.equal(await visibleBatch(batch, async () => false, model), undefined)
})
