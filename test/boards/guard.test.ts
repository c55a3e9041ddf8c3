import { PutCommand } from '@aws-sdk/lib-dynamodb'
import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { createCms } from '../../packages/drupal-stand-in/cms.ts'
import { newspaper } from '../../dev/content.ts'
import { bearer, jwtEnv } from '../auth/fixtures.ts'
import { openHostile } from '../editions/hostile-cms.ts'
import { build } from '../helper.ts'
import { engineNames, startEngine } from '../locks/fixtures/engines.ts'

const EDITOR = { CMS_AUTH: 'basic', CMS_USER: 'editor', CMS_PASSWORD: 'editor' }
const ada = { 'x-user-uid': '7' }
const bob = { 'x-user-uid': '8' }

type Item = Record<string, any>

/** The application before a stand-in CMS that counts what is written. */
async function guarded(t: Test, env: Record<string, string>) {
  const writes: string[] = []
  const cms = createCms({
    content: newspaper(),
    onRequest: ({ method, url, status }) => {
      if (method !== 'GET' && status !== 400) writes.push(`${method} ${url.split('?')[0]} ${status}`)
    }
  })
  t.teardown(() => cms.close())
  const app = await build(t, { CMS_URL: await cms.listen(), ...EDITOR, ...env })
  return { app, writes }
}

function save(app: FastifyInstance, body: object, headers: Record<string, string> = {}, id = '1') {
  return app.inject({ method: 'POST', url: `/api/collection/${id}`, body, headers })
}

async function lock(
  app: FastifyInstance,
  fieldName: string,
  uid: string,
  { entity = 'publisher_container/1', method = 'PUT' as 'PUT' | 'DELETE' } = {}
) {
  const url = `/api/cloud/data-state/${entity}`
  const reply =
    method === 'PUT'
      ? await app.inject({ method, url, body: { fieldName, userData: { uid, name: `User ${uid}` }, timestamp: 5 } })
      : await app.inject({ method, url: `${url}?uid=${uid}` })
  if (reply.statusCode !== 200) throw new Error(reply.body)
}

/** An editor saves a new article into an edition while another locks its fields, as soon as the CMS is asked about the article. */
async function raceOver(t: Test, env: Record<string, string>) {
  const { app, cms, call } = await openHostile(t, { env: { EDITION_LOCKS: 'enforce', ...env } })
  cms.behave = async ({ method, path }) => {
    if (method !== 'GET' || !path.startsWith('/jsonapi/node/article')) return undefined
    cms.behave = () => undefined
    await lock(app, 'title', '7')
    return undefined
  }
  const { status, body, upstream } = await call('POST', '/api/collection/1', {
    body: { title: [{ value: 'By Bob' }], field_articles: [{ target_id: 50, target_type: 'node' }] },
    as: 'editor',
    headers: bob
  })
  return { status, body, written: upstream.some((line) => /^PATCH .*(?<! \{\})$/.test(line)) }
}

for (const engine of engineNames) {
  t.test(`saves that respect locks, over ${engine}`, async (t) => {
    const { endpoint, client } = await startEngine(t, engine)
    const { app, writes } = await guarded(t, { DYNAMODB_ENDPOINT: endpoint, EDITION_LOCKS: 'enforce' })
    await lock(app, 'title', '7')

    t.test('a change of a field that another holds is refused with 423 and the lock, and nothing is written', async (t) => {
      for (const headers of [bob, {}]) {
        const reply = await save(app, { title: [{ value: 'By Bob' }], field_page_count: [{ value: 77 }] }, headers)
        t.equal(reply.statusCode, 423)
        t.match(reply.json(), {
          message: 'Nothing was saved: title is locked by User 7',
          statusCode: 423,
          error: 'Locked',
          code: 'FIELD_LOCKED',
          locks: [
            {
              entityType: 'publisher_container',
              entityId: '1',
              fieldName: 'title',
              timestamp: 5,
              userData: { uid: '7', name: 'User 7' },
              version: String
            }
          ]
        })
        t.equal(reply.json().locks.length, 1)
      }
      t.strictSame(writes, [])
    })

    t.test("a record of others, which may not say whose it is, is another's too", async (t) => {
      const Item = { env_entityType_entityId: 'test-publisher_container-2', fieldName: 'title', timestamp: 5 }
      await client.send(new PutCommand({ TableName: 'DataState', Item }))
      for (const headers of [bob, {}]) {
        const reply = await save(app, { title: [{ value: 'By Bob' }] }, headers, '2')
        t.equal(reply.statusCode, 423)
        t.match(reply.json(), { message: 'Nothing was saved: title is locked by somebody', locks: [{ fieldName: 'title', timestamp: 5 }] })
      }
      t.strictSame(writes, [])
    })

    t.test('the uid of such a record is text in the answer, whatever the other program wrote', async (t) => {
      const Item = { env_entityType_entityId: 'test-publisher_container-2', fieldName: 'title', timestamp: 5, userData: { uid: 7 } }
      await client.send(new PutCommand({ TableName: 'DataState', Item }))
      const reply = await save(app, { title: [{ value: 'By Bob' }] }, bob, '2')
      const { message, locks } = reply.json()
      t.equal(message, 'Nothing was saved: title is locked by user 7')
      t.strictSame(locks[0].userData, { uid: '7' })
      t.strictSame(writes, [])
    })

    t.test('the holder saves', async (t) => {
      t.equal((await save(app, { title: [{ value: 'By Ada' }] }, ada)).statusCode, 200)
      t.strictSame(writes.splice(0).length, 1)
    })

    t.test("a field that is sent as it is, or is locked elsewhere, is in nobody's way", async (t) => {
      await lock(app, 'field_page_count', '7', { entity: 'publisher_container/2' })
      await lock(app, 'field_page_count', '7', { entity: 'node/1' })
      const reply = await save(app, { title: [{ value: 'By Ada' }], field_page_count: [{ value: 78 }] }, bob)
      t.equal(reply.statusCode, 200)
      t.match(reply.json(), { field_page_count: [{ value: 78 }] })
      t.equal((await save(app, { title: [{ value: 'By Ada' }] }, bob)).statusCode, 200, 'nor is a save that changes nothing')
      t.strictSame(writes.splice(0).length, 1)
    })

    t.test('every locked field is named', async (t) => {
      await app.inject({
        method: 'PUT',
        url: '/api/cloud/data-state/publisher_container/1',
        body: { fieldName: 'field_page_count', userData: { uid: 9 } }
      })
      await lock(app, 'status', '8')
      const reply = await save(app, { title: [{ value: 'x' }], field_page_count: [{ value: 1 }], status: [{ value: false }] }, bob)
      t.equal(reply.json().message, 'Nothing was saved: field_page_count is locked by user 9, title is locked by User 7')
      t.strictSame(
        reply.json().locks.map(({ fieldName }: Item) => fieldName),
        ['field_page_count', 'title']
      )
      t.strictSame(writes, [])
    })

    t.test('once it is released the field can be saved', async (t) => {
      await lock(app, '', '7', { method: 'DELETE' })
      t.equal((await save(app, { title: [{ value: 'By Bob' }] }, bob)).statusCode, 200)
      t.strictSame(writes.splice(0).length, 1)
    })

    t.test("other refusals come first, and a new edition is nobody's yet", async (t) => {
      await lock(app, 'title', '7')
      t.equal((await save(app, { title: [{ value: 'x' }] }, { ...bob, 'if-match': '"other"' })).statusCode, 412)
      t.equal((await save(app, { title: 5 }, bob)).statusCode, 422)
      t.equal((await save(app, { title: [{ value: 'x' }] }, bob, '999999')).statusCode, 404)
      t.equal((await save(app, { title: [{ value: 'x' }] }, { 'x-user-uid': '' })).statusCode, 400)
      const created = await app.inject({
        method: 'POST',
        url: '/api/collection',
        headers: bob,
        body: {
          type: 'daily',
          title: [{ value: 'New' }],
          field_key: [{ value: 'new' }],
          field_publisher_edition_type: [{ value: 'daily' }]
        }
      })
      t.equal(created.statusCode, 201)
    })
  })
}

for (const engine of engineNames) {
  t.test(`a lock that is taken before the save is sent is not saved over, over ${engine}`, async (t) => {
    const { endpoint } = await startEngine(t, engine)
    t.match(await raceOver(t, { DYNAMODB_ENDPOINT: endpoint }), {
      status: 423,
      body: { message: 'Nothing was saved: title is locked by User 7', locks: [{ fieldName: 'title', userData: { uid: '7' } }] },
      written: false
    })
  })
}

t.test('without the check such a lock is saved over', async (t) => {
  const { endpoint } = await startEngine(t, 'dynalite')
  t.match(await raceOver(t, { DYNAMODB_ENDPOINT: endpoint, EDITION_LOCKS: 'off' }), { status: 200, written: true })
})

t.test("an expired lock is in nobody's way", async (t) => {
  const { endpoint } = await startEngine(t, 'dynalite')
  const { app } = await guarded(t, { DYNAMODB_ENDPOINT: endpoint, EDITION_LOCKS: 'enforce', LOCK_LEASE_SECONDS: '1' })
  await lock(app, 'title', '7')
  t.equal((await save(app, { title: [{ value: 'x' }] }, bob)).statusCode, 423)
  await new Promise((resolve) => setTimeout(resolve, 2100))
  t.equal((await save(app, { title: [{ value: 'x' }] }, bob)).statusCode, 200)
})

t.test('without EDITION_LOCKS=enforce an edition is saved whoever holds its fields, the store away or not', async (t) => {
  const { endpoint } = await startEngine(t, 'dynalite')
  const { app } = await guarded(t, { DYNAMODB_ENDPOINT: endpoint })
  await lock(app, 'title', '7')
  t.equal((await save(app, { title: [{ value: 'By Bob' }] }, bob)).statusCode, 200)
  const { app: alone } = await guarded(t, {})
  t.equal((await save(alone, { title: [{ value: 'By Bob' }] }, bob)).statusCode, 200)
})

t.test('with it nothing is saved while the store cannot be asked', async (t) => {
  const { app, writes } = await guarded(t, { EDITION_LOCKS: 'enforce' })
  const reply = await save(app, { title: [{ value: 'By Bob' }] }, bob)
  t.equal(reply.statusCode, 503)
  t.equal(reply.headers['retry-after'], '1')
  t.match(reply.json(), { message: /lock store/, statusCode: 503, code: 'STORE_UNAVAILABLE' })
  t.strictSame(writes, [])
  t.equal((await app.inject('/api/collection/1')).statusCode, 200, 'reading goes on')
})

t.test("with AUTH=jwt the token says whose locks are in nobody's way, and X-User-Uid for whom the save is meant", async (t) => {
  const { endpoint } = await startEngine(t, 'dynalite')
  const { app } = await guarded(t, { DYNAMODB_ENDPOINT: endpoint, EDITION_LOCKS: 'enforce', ...jwtEnv(t), ...EDITOR })
  const url = '/api/cloud/data-state/publisher_container/1'
  t.equal((await app.inject({ method: 'PUT', url, headers: bearer({ sub: '7' }), body: { fieldName: 'title' } })).statusCode, 200)
  t.equal((await save(app, { title: [{ value: 'By Ben' }] }, { ...bearer({ sub: '8' }), ...bob })).statusCode, 423)
  t.equal((await save(app, { title: [{ value: 'By Ada' }] }, { ...bearer({ sub: '7' }), ...bob })).json().code, 'USER_CHANGED')
  t.equal((await save(app, { title: [{ value: 'By Ada' }] }, bearer({ sub: '7' }))).statusCode, 200)
})
