import { join } from 'node:path'
import type { FastifyInstance, InjectOptions } from 'fastify'
import t, { type Test } from 'tap'
import { createCms, type Cms } from '../../packages/drupal-stand-in/cms.ts'
import { newspaper } from '../../dev/content.ts'
import { bearer, jwtEnv } from '../auth/fixtures.ts'
import { openEvents } from '../fixtures/event-source.ts'
import { build } from '../helper.ts'
import { needsDynoxide, startEngine } from '../locks/fixtures/engines.ts'
import { startFakeEngine } from '../locks/fixtures/fake-engine.ts'

const basic = (name: string) => ({ authorization: `Basic ${btoa(`${name}:${name}`)}` })
const [admin, editor, reader] = [basic('admin'), basic('editor'), basic('reader')]
const editions = newspaper().entities.filter(({ type }) => type.startsWith('publisher_container--'))
const published = String(editions.find(({ fields }) => fields!['status'] === true)!.id)
const hidden = String(editions.find(({ fields }) => fields!['status'] === false)!.id)
const pathOf = (id: string, type = 'publisher_container') => `/api/cloud/data-state/${type}/${id}`

/** A content model in a file. */
const modelFile = (t: Test, model: object) => join(t.testdir({ 'model.json': JSON.stringify(model) }), 'model.json')

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE' | 'HEAD'

async function open(t: Test, endpoint: string, env: Record<string, string> = {}) {
  const cms: Cms = createCms({ content: newspaper() })
  t.teardown(() => cms.close())
  const CMS_URL = await cms.listen()
  const start = async (more: Record<string, string> = {}) => {
    const app = await build(t, {
      AUTH: 'drupal',
      CMS_URL,
      DYNAMODB_ENDPOINT: endpoint,
      EVENTS_POLL_MS: '100',
      heartbeatSeconds: '1',
      ...env,
      ...more
    })
    return { app, send: sender(app) }
  }
  return { cms, CMS_URL, start, ...(await start()) }
}

function sender(app: FastifyInstance) {
  return async (headers: Record<string, string>, method: Method, url: string, body?: InjectOptions['payload']) => {
    const reply = await app.inject({ method, url, headers, ...(body !== undefined && { body }) })
    return { status: reply.statusCode, body: reply.body === '' ? undefined : reply.json() }
  }
}

t.test('a refusal costs the table no request, whatever is asked', async (t) => {
  const engine = await startFakeEngine(t)
  const { cms, send, start } = await open(t, engine.endpoint)
  const HIDDEN = {
    status: 404,
    body: {
      success: false,
      message: /^Error: There is no publisher_container \d+, or you may not see it$/,
      error: { name: 'NotFoundError', code: 'NOT_FOUND' }
    }
  }
  const LOOK = {
    status: 403,
    body: {
      success: false,
      message: /^Error: You may see publisher_container \d+ but not edit it, so you cannot lock it$/,
      error: { name: 'ForbiddenError', code: 'FORBIDDEN' }
    }
  }
  const lock = { fieldName: 'title', payload: 'x' }
  for (const method of ['POST', 'PUT'] as const) {
    t.match(await send(reader, method, pathOf(published), lock), LOOK, method)
    t.match(await send(reader, method, pathOf(hidden), lock), HIDDEN, method)
    t.match(await send(editor, method, pathOf('1', 'layout'), lock), { status: 404 }, 'a type that JSON:API does not have')
  }
  for (const path of ['', '?fieldName=title', '/events', '/events?x=1']) {
    t.match(await send(reader, 'GET', pathOf(hidden) + path), HIDDEN, `GET ${path}`)
  }
  t.match(await send(reader, 'POST', `${pathOf(hidden)}/presence`, {}), HIDDEN)
  t.match(await send(reader, 'HEAD', pathOf(hidden)), { status: 404 })
  for (const path of ['', '/events']) {
    t.match(
      await send(reader, 'GET', `/api/collection/${hidden}/locks${path}`),
      { status: 404, body: { code: 'NOT_FOUND', statusCode: 404 } },
      `the board${path}`
    )
  }
  const { send: byAdmin } = await start({ AUTH_ADMINS: '4' })
  t.match(await byAdmin(reader, 'DELETE', `${pathOf(published)}?uid=2`), LOOK, 'an administrator who may not edit')
  t.match(await byAdmin(reader, 'DELETE', `${pathOf(hidden)}?uid=2`), HIDDEN)
  t.match(await byAdmin(reader, 'DELETE', `${pathOf(hidden)}/presence?uid=2`), HIDDEN)
  t.match(await send(reader, 'DELETE', `${pathOf(published)}/presence?uid=2`), { status: 403, body: { error: { code: 'FORBIDDEN' } } })
  t.match(await byAdmin(reader, 'GET', `${pathOf(hidden)}/drafts?uid=2`), { status: 403, body: { error: { code: 'FORBIDDEN' } } })
  t.match(await byAdmin(reader, 'DELETE', `${pathOf(published)}/drafts?uid=2`), { status: 403, body: { error: { code: 'FORBIDDEN' } } })
  t.strictSame(engine.operations, [])
  t.match(await send(editor, 'POST', pathOf(hidden), { fieldName: '' }), { status: 400 }, 'what is wrong is said first')
  t.match(await send(editor, 'POST', pathOf(hidden), lock), { status: 200 })
  t.match(await send(reader, 'GET', pathOf(published)), { status: 200 })
  t.strictSame(engine.operations.toSorted(), ['PutItem', 'Query'])
  await cms.close()
  t.match(
    await byAdmin(reader, 'GET', `${pathOf('999')}/drafts?uid=2`),
    { status: 503, body: { error: { code: 'AUTH_UNAVAILABLE' } } },
    'what Drupal was not asked before it went away'
  )
})

t.test('a read-only JSON:API is told of, and the content model takes the place of questions', async (t) => {
  const engine = await startFakeEngine(t)
  const { cms, start, send } = await open(t, engine.endpoint)
  cms.settings.readOnly = true
  t.match(await send(editor, 'POST', pathOf(published), { fieldName: 'title' }), {
    status: 502,
    body: { success: false, error: { code: 'CMS_READ_ONLY', message: /^Error: Quoin cannot ask|read_only: false\)$/ } }
  })
  t.strictSame(engine.operations, [])
  const { send: named } = await start({ CONTENT_MODEL: modelFile(t, { openTypes: ['layout'] }) })
  t.equal((await named(reader, 'PUT', pathOf('front', 'layout'), { fieldName: 'title' })).status, 200)
  t.equal((await named(reader, 'GET', pathOf('front', 'layout'))).status, 200)
})

t.test('whoever loses the right to an entity keeps his own drafts and may release his own locks', needsDynoxide, async (t) => {
  const { endpoint } = await startEngine(t, 'dynoxide')
  const { start, send } = await open(t, endpoint)
  const { send: before } = await start({ CONTENT_MODEL: modelFile(t, { openTypes: ['publisher_container'] }) })
  const path = pathOf(hidden)
  const lock = (fieldName: string) => ({ fieldName, payload: `text of ${fieldName}` })
  for (const fieldName of ['a', 'b', 'c', 'd']) t.equal((await before(reader, 'POST', path, lock(fieldName))).status, 200)
  for (const fieldName of ['a', 'b']) t.equal((await send(editor, 'PUT', path, lock(fieldName))).status, 200)

  t.equal((await send(reader, 'GET', path)).status, 404)
  const drafts = async () =>
    (await send(reader, 'GET', `${path}/drafts`)).body.data.Items.map(
      ({ fieldName, payload }: { fieldName: string; payload: string }) => `${fieldName}: ${payload}`
    ).sort()
  t.strictSame(await drafts(), ['a: text of a', 'b: text of b'])
  t.match(await send(reader, 'GET', `${path}/drafts?uid=2`), { status: 403 })
  t.equal((await send(reader, 'DELETE', `${path}/drafts?fieldName=a`)).status, 200)
  t.strictSame(await drafts(), ['b: text of b'])
  const done = { status: 200, body: { success: true } }
  t.strictSame(await send(reader, 'DELETE', `${path}?fieldName=a`), done, "the editor's is not told of")
  t.strictSame(await send(reader, 'DELETE', `${path}?fieldName=nobodys`), done, 'which reads as if there were none')
  t.strictSame(await send(reader, 'DELETE', `${path}?fieldName=c`), done)
  t.strictSame(await send(reader, 'POST', `${path}/release`, { uid: '4' }), done)
  t.strictSame(
    (await send(editor, 'GET', path)).body.data.Items.map(({ fieldName }: { fieldName: string }) => fieldName),
    ['a', 'b']
  )
  t.match(await send(reader, 'DELETE', `${path}?fieldName=a&uid=2`), { status: 403 })

  t.equal((await before(reader, 'POST', pathOf(published), lock('title'))).status, 200)
  t.match(await send(editor, 'DELETE', `${pathOf(published)}?fieldName=title`), {
    status: 403,
    body: { error: { code: 'FORBIDDEN', lock: { fieldName: 'title', userData: { uid: '4', name: 'reader' } } } }
  })
  const { send: administered } = await start({ AUTH_ADMINS: '1, 2, 4' })
  t.match(await administered(reader, 'DELETE', `${path}?fieldName=a`), { status: 404 }, 'an administrator from whom the edition is hidden')
  t.strictSame((await administered(reader, 'GET', `${path}/drafts`)).body.data.Count, 1, 'has his own drafts')
  t.strictSame(await administered(admin, 'DELETE', `${path}?fieldName=a`), done)
  t.strictSame(await administered(admin, 'DELETE', `${path}?uid=2`), done)
  t.strictSame((await administered(admin, 'GET', `${path}/drafts`)).body.data.Count, 3)
})

t.test('the names in locks are those of Drupal', needsDynoxide, async (t) => {
  const { endpoint } = await startEngine(t, 'dynoxide')
  const { send } = await open(t, endpoint)
  for (const method of ['POST', 'PUT'] as const) {
    t.equal(
      (await send(editor, method, pathOf(published), { fieldName: 'title', userData: { uid: '2', name: 'Chief Editor', desk: 'news' } }))
        .status,
      200
    )
    t.match((await send(editor, 'GET', pathOf(published))).body.data.Items, [{ userData: { uid: '2', name: 'editor', desk: 'news' } }])
  }
})

t.test('a board leaves out what its reader may not see, and so do its events', needsDynoxide, async (t) => {
  const { endpoint } = await startEngine(t, 'dynoxide')
  const { app, cms, send, start } = await open(t, endpoint)
  const articles = newspaper().entities.filter(({ type }) => type === 'node--article')
  const secret = String(articles.find(({ fields }) => fields!['status'] === false)!.id)
  const open1 = String(articles.find(({ fields }) => fields!['status'] === true)!.id)
  const made = await send({ ...admin }, 'POST', '/api/collection', {
    type: [{ target_id: 'daily' }],
    title: [{ value: 'Board' }],
    field_key: [{ value: 'board' }],
    field_publisher_edition_type: [{ value: 'daily' }],
    status: [{ value: true }],
    field_articles: [{ target_id: Number(secret) }, { target_id: Number(open1) }]
  })
  t.equal(made.status, 201)
  const id = String(made.body.id[0].value)
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const events = await openEvents(t, `${url}/api/collection/${id}/locks/events`, reader)
  const all = await openEvents(t, `${url}/api/collection/${id}/locks/events`, admin)
  t.match([await events.next(), await all.next()], [{ event: 'snapshot', data: { data: [] } }, { event: 'snapshot' }])
  await send(admin, 'PUT', pathOf(secret, 'node'), { fieldName: 'title' })
  t.match(await all.next(), { event: 'locked', data: { entityId: secret } })
  t.equal((await send(admin, 'POST', `${pathOf(secret, 'node')}/presence`, {})).status, 202)
  t.match(await all.next(), { event: 'present', data: { entityId: secret, userData: { uid: '1', name: 'admin' } } })
  await send(admin, 'PUT', pathOf(open1, 'node'), { fieldName: 'title' })
  t.match(await events.next(), { event: 'locked', data: { entityType: 'node', entityId: open1 } }, 'the hidden one was passed over')
  const board = async (caller: Record<string, string>) => (await send(caller, 'GET', `/api/collection/${id}/locks`)).body
  t.match(await board(admin), { data: [{ entityId: secret }, { entityId: open1 }], meta: { entities: 3, count: 2 } })
  t.match(await board(reader), { data: [{ entityId: open1 }], meta: { count: 1 } })
  const again = await openEvents(t, `${url}/api/collection/${id}/locks/events`, reader)
  const {
    data: { data }
  } = await again.next()
  t.match(data, [{ entityId: open1 }])
  t.equal(data.length, 1)

  t.match(await all.next(), { event: 'locked', data: { entityId: open1 } })
  t.equal((await send(reader, 'POST', `${pathOf(id)}/presence`, {})).status, 202, 'who may see and not edit looks on')
  t.match(
    [await events.next(), await all.next()],
    [{ event: 'present', data: { entityId: id, userData: { name: 'reader' } } }, { event: 'present' }]
  )

  const account = await start({ CMS_AUTH: 'basic', CMS_USER: 'admin', CMS_PASSWORD: 'admin' })
  t.match(await account.send(reader, 'GET', `/api/collection/${hidden}/locks`), { status: 404 }, 'whatever a service account may see')
  t.equal((await account.send(reader, 'GET', `/api/collection/${published}/locks`)).status, 200)
  const single = await openEvents(t, `${url}${pathOf(id)}/events`, reader)
  t.match(await single.next(), { event: 'snapshot' })
  await cms.close()
  await send(admin, 'PUT', pathOf(secret, 'node'), { fieldName: 'body' })
  t.match(await all.next(), { event: 'locked', data: { entityId: secret, fieldName: 'body' } }, 'known rights outlast an outage')
  t.notOk(single.response.complete)
})

t.test('events end once the entity is hidden from who gets them, and not while that cannot be found out', async (t) => {
  const { now } = Date
  const monotonic = performance.now.bind(performance)
  let later = 0
  // Time passes on both clocks of the machine.
  t.intercept(Date, 'now', { value: () => now() + later })
  t.intercept(performance, 'now', { value: () => monotonic() + later })
  const engine = await startFakeEngine(t)
  const { app, cms, CMS_URL } = await open(t, engine.endpoint)
  const { type, uuid } = editions.find(({ id }) => String(id) === published)!
  const url = `${await app.listen({ host: '127.0.0.1', port: 0 })}${pathOf(published)}/events`
  const [ofReader, ofEditor] = [await openEvents(t, url, reader), await openEvents(t, url, editor)]
  t.match([await ofReader.next(), await ofEditor.next()], [{ event: 'snapshot' }, { event: 'snapshot' }])
  const beats = async (count: number) => {
    while (ofEditor.heartbeats.length < count) await new Promise((resolve) => setTimeout(resolve, 20))
  }
  cms.settings.maintenance = true
  later += 61_000
  await beats(ofEditor.heartbeats.length + 2)
  t.notOk(ofReader.response.complete)
  cms.settings.maintenance = false
  later += 61_000
  const { status } = await fetch(`${CMS_URL}/jsonapi/${type.replace('--', '/')}/${uuid}`, {
    method: 'PATCH',
    headers: { ...admin, 'content-type': 'application/vnd.api+json' },
    body: JSON.stringify({ data: { type, id: uuid, attributes: { status: false } } })
  })
  t.equal(status, 200)
  await ofReader.ended
  t.ok(ofReader.response.complete)
  t.notOk(ofEditor.response.complete)
})

t.test('with AUTH=jwt a claim says who may lock, and everybody may look', needsDynoxide, async (t) => {
  const { endpoint } = await startEngine(t, 'dynoxide')
  const settings = { ...jwtEnv(t), DYNAMODB_ENDPOINT: endpoint }
  const send = sender(await build(t, { ...settings, AUTH_LOCK_CLAIM: 'scope=quoin.lock' }))
  const anna = bearer({ sub: '7', name: 'Anna', scope: 'openid quoin.lock' })
  const ben = bearer({ sub: '8', name: 'Ben', scope: 'openid' })
  const lock = { fieldName: 'title', payload: 'x' }
  for (const method of ['POST', 'PUT'] as const) {
    t.strictSame(await send(anna, method, pathOf('1', 'node'), lock), { status: 200, body: { success: true } })
    t.match(await send(ben, method, pathOf('1', 'node'), lock), {
      status: 403,
      body: { message: 'Error: Your token lets you look at locks, but not lock', error: { code: 'FORBIDDEN' } }
    })
  }
  t.match(await send(ben, 'GET', pathOf('1', 'node')), {
    status: 200,
    body: { data: { Items: [{ payload: 'x', userData: { uid: '7', name: 'Anna' } }] } }
  })
  t.match(await send(ben, 'DELETE', `${pathOf('1', 'node')}?fieldName=title`), {
    status: 403,
    body: { error: { lock: { userData: { uid: '7' } } } }
  })
  t.equal(
    (await send(bearer({ sub: '8', scope: 'openid' }), 'DELETE', `${pathOf('1', 'node')}?uid=8`)).status,
    200,
    'his own he may release'
  )
  const open = sender(await build(t, settings))
  t.equal((await open(ben, 'PUT', pathOf('1', 'node'), lock)).status, 200, 'without the settings everybody may lock')
})
