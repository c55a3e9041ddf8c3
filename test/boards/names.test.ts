import { join } from 'node:path'
import type { FastifyInstance, InjectOptions } from 'fastify'
import t, { type Test } from 'tap'
import { newspaper } from '../../dev/content.ts'
import { contentModel } from '#lib/editions/model.ts'
import type { Failure } from '#lib/errors.ts'
import { checkLockName, inLanguage, lockNameOf } from '#lib/boards/names.ts'
import { createCms } from '../../packages/drupal-stand-in/cms.ts'
import { basic, editionsOf } from '../editions/site.ts'
import { build } from '../helper.ts'
import { engineNames, startEngine } from '../locks/fixtures/engines.ts'

const { id, uuid } = editionsOf(newspaper()).find(({ published, bundle }) => published && bundle === 'daily')!
const ENFORCE = { EDITION_LOCKS: 'enforce' }
const ACCOUNT = { CMS_AUTH: 'basic', CMS_USER: 'editor', CMS_PASSWORD: 'editor' }

type Method = NonNullable<InjectOptions['method']>

/** The application over the first engine that there is, with a content model. */
async function open(t: Test, env: Record<string, string>, model: object = {}) {
  const { endpoint } = await startEngine(t, engineNames.at(-1)!)
  const cms = createCms({ content: newspaper() })
  t.teardown(() => cms.close())
  const file = join(t.testdir({ 'model.json': JSON.stringify(model) }), 'model.json')
  const app: FastifyInstance = await build(t, {
    DYNAMODB_ENDPOINT: endpoint,
    CMS_URL: await cms.listen(),
    CONTENT_MODEL: file,
    heartbeatSeconds: '1',
    ...env
  })
  return async function send(method: Method, url: string, payload?: object, headers: Record<string, string> = {}) {
    const answer = await app.inject({ method, url, headers, ...(payload && { payload }) })
    return { status: answer.statusCode, body: answer.json() }
  }
}

const locksOf = (name: string | number, type = 'publisher_container') => `/api/cloud/data-state/${type}/${name}`
const lockBy = (uid: string, fieldName = 'title') => ({ fieldName, userData: { uid, name: `User ${uid}` }, payload: 'typed' })
const title = { title: [{ value: 'Saved over' }] }

t.test('with AUTH=drupal an entity is locked under one name: the other is refused with that one', async (t) => {
  const send = await open(t, { AUTH: 'drupal', ...ENFORCE }, { openTypes: ['layout'] })
  const [editor, editor2] = ['editor', 'editor2'].map(basic)
  const lock = { fieldName: 'title', payload: 'typed' }
  t.equal((await send('POST', locksOf(id), lock, editor)).status, 200)
  const refused: Array<[Method, string, object?]> = [
    ['POST', locksOf(uuid), lock],
    ['PUT', locksOf(uuid), lock],
    ['GET', locksOf(uuid)],
    ['GET', `${locksOf(uuid)}/events`],
    ['POST', `${locksOf(uuid)}/presence`, {}],
    ['POST', `${locksOf(uuid)}/requests`, { fieldName: 'title' }],
    ['POST', locksOf(uuid.toUpperCase()), lock]
  ]
  for (const [method, url, body] of refused) {
    t.match(
      await send(method, url, body, editor2),
      {
        status: 400,
        body: {
          error: {
            code: 'BAD_REQUEST',
            message: `Nothing was done: locks of publisher_container go by the integer id, here ${id} (lockIds of the content model)`
          }
        }
      },
      `${method} ${url}`
    )
  }
  t.equal((await send('PUT', locksOf(uuid, 'layout'), lock, editor)).status, 200, 'a type that Drupal does not know')
  t.match(
    await send('GET', `/api/collection/${uuid}/locks`, undefined, editor2),
    { status: 200, body: { meta: { count: 1 } } },
    'a board is found by either id'
  )
  t.match(await send('POST', `/api/collection/${uuid}`, title, editor2), { status: 423 })
  t.equal(
    (await send('DELETE', `${locksOf(uuid)}?fieldName=title`, undefined, editor)).status,
    200,
    'what was locked under another name before can be released'
  )
})

t.test('where locks go by uuids an integer id is refused, and a uuid in capitals', async (t) => {
  const send = await open(t, { AUTH: 'drupal' }, { lockIds: 'uuid', lockLanguages: ['es'] })
  const lock = { fieldName: 'title' }
  for (const name of [uuid, `${uuid}:es`]) t.equal((await send('POST', locksOf(name), lock, basic('editor'))).status, 200, name)
  for (const [name, own] of [
    [String(id), uuid],
    [uuid.toUpperCase(), uuid],
    [`${id}:es`, `${uuid}:es`]
  ] as const) {
    t.match(
      await send('POST', locksOf(name), lock, basic('editor')),
      {
        status: 400,
        body: {
          error: {
            message: `Nothing was done: locks of publisher_container go by the uuid, in lower case, here ${own} (lockIds of the content model)`
          }
        }
      },
      name
    )
  }
  t.equal((await send('POST', locksOf(`${uuid}:de`), lock, basic('editor'))).status, 404, 'a language that the content model does not name')
})

t.test('where Drupal is not asked the form of an id tells, if locks are enforced; else ids are texts', async (t) => {
  const enforced = await open(t, { ...ACCOUNT, ...ENFORCE })
  t.match(await enforced('POST', locksOf(uuid), lockBy('7')), {
    status: 400,
    body: { error: { message: /go by the integer id \(lockIds/ } }
  })
  t.equal((await enforced('POST', locksOf(uuid, 'node'), lockBy('7'))).status, 200, 'a save of an edition asks for no locks of articles')
  const free = await open(t, ACCOUNT)
  t.equal((await free('POST', locksOf(uuid), lockBy('7'))).status, 200)
})

t.test('a translated site locks by language and is seen', async (t) => {
  const send = await open(t, { ...ACCOUNT, ...ENFORCE }, { lockLanguages: ['en', 'es'] })
  const board = async () => (await send('GET', `/api/collection/${id}/locks`)).body
  const names = async () => (await board()).data.map(({ entityId, fieldName }: Record<string, string>) => `${entityId} ${fieldName}`)
  const save = () => send('POST', `/api/collection/${id}`, title, { 'x-user-uid': '8' })
  const readiness = async () =>
    (await send('GET', `/api/collection/${id}/readiness`, undefined, { 'x-user-uid': '8' })).body.blockers.flatMap(
      ({ lock }: { lock?: { entityId: string } }) => (lock ? [lock.entityId] : [])
    )
  const entities = (await board()).meta.entities

  await send('PUT', locksOf(`${id}:es`), lockBy('7'))
  t.strictSame(await names(), [`${id}:es title`], 'the board has it, with the language')
  t.equal((await board()).meta.entities, entities, 'which is no further entity')
  t.strictSame(await readiness(), [], "another language is in nobody's way")
  t.equal((await save()).status, 200, 'nor does it keep this one from being saved')

  await send('PUT', locksOf(`${id}:en`), lockBy('7'))
  t.strictSame(await readiness(), [`${id}:en`])
  t.match(await send('POST', `/api/collection/${id}`, { title: [{ value: 'Once more' }] }, { 'x-user-uid': '8' }), {
    status: 423,
    body: { locks: [{ entityId: `${id}:en`, fieldName: 'title', userData: { uid: '7' } }] }
  })

  await send('DELETE', `${locksOf(`${id}:en`)}?fieldName=title`)
  await send('PUT', locksOf(id), lockBy('7'))
  t.strictSame(await names(), [`${id} title`, `${id}:es title`])
  t.strictSame(await readiness(), [String(id)], 'a lock without a language is on all of them')
  t.match(await send('POST', `/api/collection/${id}`, { title: [{ value: 'Once more' }] }, { 'x-user-uid': '8' }), {
    status: 423,
    body: { locks: [{ entityId: String(id) }] }
  })

  const {
    body: { data }
  } = await send('GET', '/api/collections/article?limit=1')
  const article = { id: data[0].nid[0].value, uuid: data[0].uuid[0].value }
  await send('PUT', locksOf(`${article.id}:es`, 'node'), lockBy('7'))
  t.match(
    (await send('GET', '/api/collections/article?limit=1&locks=1')).body.meta.locks,
    { [article.uuid]: [{ entityId: `${article.id}:es` }] },
    'a list has them too'
  )
})

t.test('with AUTH=drupal a translation is locked by who may edit its entity, and its lock is shown to who may view it', async (t) => {
  const send = await open(t, { AUTH: 'drupal' }, { lockLanguages: ['es'] })
  t.equal((await send('POST', locksOf(`${id}:es`), { fieldName: 'title' }, basic('editor'))).status, 200)
  t.equal((await send('POST', locksOf(`${id}:es`), { fieldName: 'title' }, basic('reader'))).status, 403)
  t.match((await send('GET', `/api/collection/${id}/locks`, undefined, basic('reader'))).body, { data: [{ entityId: `${id}:es` }] })
  t.match(await send('GET', `/api/collection/${id}/journal`, undefined, basic('editor')), { status: 200 })
})

t.test('a takeover of a translation is in the journal of its edition', async (t) => {
  const send = await open(t, { AUTH: 'drupal' }, { lockLanguages: ['es'] })
  await send('POST', locksOf(`${id}:es`), { fieldName: 'title', payload: 'x' }, basic('editor'))
  await send('PUT', locksOf(`${id}:es`), { fieldName: 'title' }, basic('editor2'))
  t.match((await send('GET', `/api/collection/${id}/journal`, undefined, basic('editor'))).body.data, [
    { kind: 'takeover', by: { name: 'editor2' } }
  ])
})

t.test('names are taken apart and made as the content model says', async (t) => {
  const model = contentModel({ lockLanguages: ['es', 'pt-br'] })
  t.strictSame(
    ['42', '42:es', '42:pt-br', '42:de', ':es', 'a:b:es'].map((name) => lockNameOf(name, model)),
    [
      { id: '42' },
      { id: '42', language: 'es' },
      { id: '42', language: 'pt-br' },
      { id: '42:de' },
      { id: ':es' },
      { id: 'a:b', language: 'es' }
    ]
  )
  const namesIn = (language: string | undefined) => inLanguage({ type: 'node', id: '42' }, language, model).map(({ id }) => id)
  t.strictSame([namesIn('es'), namesIn('de'), namesIn(undefined)], [['42', '42:es'], ['42'], ['42']])
  const isTaken = (id: string, ids: { id: string; uuid: string } | undefined, isNamed: boolean, of = model) => {
    try {
      checkLockName({ type: 'node', id }, ids, isNamed, of)
      return true
    } catch (error) {
      return (error as Failure).code !== 'BAD_REQUEST'
    }
  }
  const byUuid = contentModel({ lockIds: 'uuid', lockLanguages: ['es'] })
  t.strictSame(
    ['42', '42:es', uuid, `${uuid}:es`, 'front'].map((name) => isTaken(name, undefined, true)),
    [true, true, false, false, true]
  )
  t.strictSame(
    ['42', '42:es', uuid, `${uuid}:es`, uuid.toUpperCase()].map((name) => isTaken(name, undefined, true, byUuid)),
    [false, false, true, true, false]
  )
  t.strictSame(
    [uuid, '42'].map((name) => isTaken(name, { id: '', uuid }, false)),
    [true, false],
    'a type without integer ids goes by uuids'
  )
  t.strictSame(
    [uuid, '42'].map((name) => isTaken(name, { id: '', uuid }, true)),
    [false, true],
    'an integer id that is hidden is there nevertheless'
  )
  t.ok(isTaken(uuid, undefined, false), 'of a type that nobody knows every id is a name')
})
