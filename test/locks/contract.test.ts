import { isDeepStrictEqual } from 'node:util'
import { GetCommand, PutCommand } from '@aws-sdk/lib-dynamodb'
import { Ajv } from 'ajv'
import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { LockRequest } from '#lib/locks/schemas.ts'
import { build } from '../helper.ts'
import { engineNames, startEngine } from './fixtures/engines.ts'

const ada = { uid: '7', name: 'Ada' }
const bob = { uid: '8', name: 'Bob' }
const held = { success: false, message: 'Error: Field is locked by another user' }

for (const engine of engineNames) {
  t.test(`the contract of the locks over ${engine}`, async (t) => {
    const { endpoint, client } = await startEngine(t, engine)
    const app = await build(t, { DYNAMODB_ENDPOINT: endpoint })
    const stored = async (id: string, fieldName: string, environment = 'test') =>
      withoutVersion(
        (
          await client.send(
            new GetCommand({ TableName: 'DataState', Key: { env_entityType_entityId: `${environment}-node-${id}`, fieldName } })
          )
        ).Item
      )

    t.test('POST stores the record of the contract and answers exactly {"success":true}', async (t) => {
      const reply = await send(app, 'POST', 'create', { fieldName: 'title', userData: ada, payload: 'Water found', timestamp: 1700000000 })
      t.equal(reply.statusCode, 200)
      t.equal(reply.body, '{"success":true}')
      t.match(reply.headers['content-type'], /^application\/json/)
      t.strictSame(await stored('create', 'title'), {
        env_entityType_entityId: 'test-node-create',
        fieldName: 'title',
        timestamp: 1700000000,
        userData: ada,
        payload: 'Water found'
      })
    })

    t.test('POST answers 423 with the holder, never the payload, when another user holds the field', async (t) => {
      await send(app, 'POST', 'held', {
        fieldName: 'title',
        userData: { ...ada, avatar: 'a.png' },
        payload: 'secret',
        timestamp: 1700000000
      })
      const reply = await send(app, 'POST', 'held', { fieldName: 'title', userData: bob, payload: 'mine' })
      t.equal(reply.statusCode, 423)
      t.strictSame(reply.json(), {
        ...held,
        error: {
          name: 'ConditionalCheckFailedException',
          code: 'FIELD_LOCKED',
          message: 'Field is locked by another user',
          lock: { fieldName: 'title', timestamp: 1700000000, userData: { ...ada, avatar: 'a.png' } }
        }
      })
      t.match(await stored('held', 'title'), { payload: 'secret', userData: ada }, 'the refused one wrote nothing')
      t.equal((await send(app, 'POST', 'held', { fieldName: 'body', userData: bob })).statusCode, 200, 'another field is free')
      t.equal((await send(app, 'POST', 'other', { fieldName: 'title', userData: bob })).statusCode, 200, 'so is that of another entity')
    })

    t.test('POST of the same user replaces the record, the uid being a number or a string', async (t) => {
      await send(app, 'POST', 'renew', { fieldName: 'title', userData: { uid: 7, tab: 1 }, payload: 'first', timestamp: 1 })
      t.strictSame((await stored('renew', 'title'))?.['userData'], { uid: '7', tab: 1 })
      const reply = await send(app, 'POST', 'renew', { fieldName: 'title', userData: { uid: '7' }, timestamp: 2 })
      t.strictSame(reply.json(), { success: true })
      t.strictSame(await stored('renew', 'title'), {
        env_entityType_entityId: 'test-node-renew',
        fieldName: 'title',
        timestamp: 2,
        userData: { uid: '7' }
      })
    })

    t.test("timestamp is the server's clock in seconds unless it is given", async (t) => {
      const before = Math.floor(Date.now() / 1000)
      await send(app, 'POST', 'clock', { fieldName: 'a', userData: ada })
      await send(app, 'PUT', 'clock', { fieldName: 'b', userData: ada, timestamp: 0 })
      const { timestamp } = (await stored('clock', 'a')) as { timestamp: number }
      t.ok(Number.isInteger(timestamp) && timestamp >= before && timestamp <= Date.now() / 1000)
      t.equal((await stored('clock', 'b'))?.['timestamp'], 0)
    })

    t.test('other top-level members are ignored, all members of userData are kept', async (t) => {
      const userData = {
        uid: '7',
        name: '',
        nothing: null,
        yes: true,
        no: false,
        list: [1, [], {}, 'a'],
        rate: -0.25,
        big: 9007199254740991,
        small: 1e-100,
        'ключ 🔑': '✓',
        constructor: 'C',
        toString: 't',
        hasOwnProperty: 1,
        length: 2,
        __type: 'x',
        $metadata: {},
        S: 's',
        N: 'n',
        M: { L: [{ constructor: { name: 'Set' } }] }
      }
      const reply = await send(app, 'POST', 'members', {
        fieldName: 'title',
        userData,
        colour: 'red',
        version: 3,
        env_entityType_entityId: 'x',
        constructor: 1
      })
      t.strictSame(reply.json(), { success: true })
      const { timestamp, ...record } = (await stored('members', 'title')) as { timestamp: number }
      const kept = JSON.parse(JSON.stringify(userData))
      // Not tap's comparison, which asks an object's member `constructor` for its class.
      t.ok(isDeepStrictEqual(record, { env_entityType_entityId: 'test-node-members', fieldName: 'title', userData: kept }))
      t.ok(isDeepStrictEqual((await list(app, 'members')).Items.map(withoutVersion), [{ ...record, timestamp }]), 'GET gives it back whole')
      const refusal = await send(app, 'POST', 'members', { fieldName: 'title', userData: bob })
      t.ok(isDeepStrictEqual(refusal.json().error.lock, { fieldName: 'title', timestamp, userData: kept }), 'and so does a refusal')
    })

    t.test('PUT replaces the record, whoever holds it', async (t) => {
      const {
        headers: { etag }
      } = await send(app, 'POST', 'put', { fieldName: 'title', userData: ada, payload: 'of Ada' })
      const reply = await send(app, 'PUT', 'put', { fieldName: 'title', userData: bob, timestamp: 5 })
      t.equal(reply.statusCode, 200)
      t.equal(reply.body, '{"success":true}')
      const { replaced, ...record } = (await stored('put', 'title'))!
      t.strictSame(record, { env_entityType_entityId: 'test-node-put', fieldName: 'title', timestamp: 5, userData: bob })
      t.equal(`"${replaced}"`, etag, 'and names the version that was there')
      t.equal((await send(app, 'PUT', 'put', { fieldName: 'new', userData: bob })).body, '{"success":true}', 'and makes one where none is')
      t.match((await send(app, 'POST', 'put', { fieldName: 'title', userData: ada })).json(), held)
    })

    t.test('GET lists the records of the entity in the order of their field names', async (t) => {
      for (const fieldName of ['b', 'ä', 'a', 'B']) {
        await send(app, 'POST', 'list', { fieldName, userData: ada, timestamp: 1, payload: 'p' })
      }
      await send(app, 'POST', 'list', { fieldName: 'c', userData: bob, timestamp: 1 })
      const reply = await send(app, 'GET', 'list')
      t.equal(reply.statusCode, 200)
      const record = { env_entityType_entityId: 'test-node-list', timestamp: 1, userData: ada, payload: 'p' }
      const { payload, ...without } = record
      const { success, data } = reply.json()
      t.strictSame(
        { success, data: { ...data, Items: data.Items.map(withoutVersion) } },
        {
          success: true,
          data: {
            Items: [
              { ...record, fieldName: 'B' },
              { ...record, fieldName: 'a' },
              { ...record, fieldName: 'b' },
              { ...without, fieldName: 'c', userData: bob },
              { ...record, fieldName: 'ä' }
            ],
            Count: 5,
            ScannedCount: 5
          }
        }
      )
    })

    t.test("GET leaves out the records of excludeUid, and ignores it where a field's record is asked for", async (t) => {
      await send(app, 'POST', 'exclude', { fieldName: 'a', userData: ada })
      await send(app, 'POST', 'exclude', { fieldName: 'b', userData: bob })
      t.match(await list(app, 'exclude', '?excludeUid=7'), { Items: [{ fieldName: 'b' }], Count: 1, ScannedCount: 2 })
      t.match(await list(app, 'exclude', '?excludeUid=9'), { Count: 2, ScannedCount: 2 })
      t.match(await list(app, 'exclude', '?excludeUid='), { Count: 2 }, 'nobody is left out where nobody is named')
      t.match(await list(app, 'exclude', '?fieldName=a'), { Items: [{ fieldName: 'a' }], Count: 1, ScannedCount: 1 })
      t.match(await list(app, 'exclude', '?fieldName=a&excludeUid=7&_=1700000000'), { Items: [{ fieldName: 'a' }], Count: 1 })
    })

    t.test('GET of what is not there gives no items', async (t) => {
      const nothing = { Items: [], Count: 0, ScannedCount: 0 }
      t.strictSame(await list(app, 'absent'), nothing)
      t.strictSame(await list(app, 'absent', '?fieldName=a'), nothing)
    })

    t.test('GET gives records written by others as they are', async (t) => {
      const record = { env_entityType_entityId: 'test-node-foreign', fieldName: 'a', timestamp: '2020-01-01', extra: { n: 1 } }
      await client.send(new PutCommand({ TableName: 'DataState', Item: record }))
      t.strictSame(await list(app, 'foreign'), { Items: [record], Count: 1, ScannedCount: 1 })
      t.strictSame(await list(app, 'foreign', '?excludeUid=7'), { Items: [record], Count: 1, ScannedCount: 1 })
      const reply = await send(app, 'POST', 'foreign', { fieldName: 'a', userData: ada })
      t.equal(reply.statusCode, 423, 'a record without an owner is not free')
      t.equal(reply.json().error.lock.timestamp, '2020-01-01')
    })

    t.test('DELETE with a field deletes its record, whoever holds it', async (t) => {
      await send(app, 'POST', 'delete', { fieldName: 'a', userData: ada })
      await send(app, 'POST', 'delete', { fieldName: 'b', userData: ada })
      const reply = await send(app, 'DELETE', 'delete?fieldName=a')
      t.equal(reply.statusCode, 200)
      t.equal(reply.body, '{"success":true}')
      t.match(await list(app, 'delete'), { Items: [{ fieldName: 'b' }], Count: 1 })
      t.equal((await send(app, 'DELETE', 'delete?fieldName=a')).body, '{"success":true}', 'and succeeds where nothing is')
    })

    t.test("DELETE with a field and a uid leaves another's lock alone", async (t) => {
      await send(app, 'POST', 'mine', { fieldName: 'a', userData: ada })
      t.equal((await send(app, 'DELETE', 'mine?fieldName=a&uid=8')).body, '{"success":true}')
      t.equal((await list(app, 'mine')).Count, 1)
      t.equal((await send(app, 'DELETE', 'mine?fieldName=a&uid=7')).body, '{"success":true}')
      t.equal((await list(app, 'mine')).Count, 0)
    })

    t.test("DELETE with a uid deletes that user's records of the entity and no others", async (t) => {
      for (const fieldName of ['a', 'b', 'c']) await send(app, 'POST', 'all', { fieldName, userData: ada })
      await send(app, 'POST', 'all', { fieldName: 'd', userData: bob })
      await send(app, 'POST', 'all-2', { fieldName: 'a', userData: ada })
      t.equal((await send(app, 'DELETE', 'all?uid=7&_=1')).body, '{"success":true}')
      t.match(await list(app, 'all'), { Items: [{ fieldName: 'd' }], Count: 1 })
      t.equal((await list(app, 'all-2')).Count, 1)
      t.equal((await send(app, 'DELETE', 'all?uid=7')).body, '{"success":true}', 'and succeeds where nothing is')
    })

    t.test('DELETE with neither answers 400 and deletes nothing', async (t) => {
      await send(app, 'POST', 'neither', { fieldName: 'a', userData: ada })
      const reply = await send(app, 'DELETE', 'neither')
      t.equal(reply.statusCode, 400)
      t.match(reply.json(), { success: false, message: 'Error: querystring must have fieldName or uid', error: { code: 'BAD_REQUEST' } })
      t.equal((await list(app, 'neither')).Count, 1)
    })

    t.test('environments that share a table do not see each other', async (t) => {
      const staging = await build(t, { DYNAMODB_ENDPOINT: endpoint, ENVIRONMENT: 'staging' })
      await send(app, 'POST', 'shared', { fieldName: 'a', userData: ada })
      t.equal((await send(staging, 'POST', 'shared', { fieldName: 'a', userData: bob })).statusCode, 200)
      t.match(await stored('shared', 'a', 'staging'), { env_entityType_entityId: 'staging-node-shared', userData: bob })
      t.match(await stored('shared', 'a'), { userData: ada })
    })

    t.test('the table can have another name, and readiness tells whether it answers', async (t) => {
      const ready = await app.inject('/health/ready')
      t.match(ready.json(), { dependencies: { store: { status: 'ok' } } })
      const lost = await build(t, { DYNAMODB_ENDPOINT: endpoint, DATA_STATE_TABLE: 'Elsewhere' })
      t.match((await lost.inject('/health/ready')).json().dependencies.store, { status: 'unavailable', message: /^The lock store/ })
      const reply = await send(lost, 'POST', '1', { fieldName: 'a', userData: ada })
      t.equal(reply.statusCode, 500)
      t.strictSame(reply.json(), {
        success: false,
        message: 'Error: Server error',
        error: { name: 'InternalServerError', code: 'STORE_FAILED', message: 'The lock store could not do what was asked' }
      })
    })
  })
}

t.test('the OpenAPI has each operation with a summary, every status it answers, and examples that hold', async (t) => {
  const app = await build(t)
  const { paths, components } = (await app.inject('/docs/json')).json()
  const operations = paths['/api/cloud/data-state/{type}/{id}']
  const ajv = new Ajv({ strict: false })
  for (const [name, schema] of Object.entries<object>(components.schemas)) ajv.addSchema(schema, `#/components/schemas/${name}`)
  for (const name of ['Done', 'Holder', 'Listed', 'LockFailure', 'LockList', 'LockRecord']) t.ok(components.schemas[name], name)
  t.strictSame(Object.keys(operations).sort(), ['delete', 'get', 'post', 'put'])
  const statuses = {
    post: ['200', '400', '405', '412', '413', '415', '421', '423', '428', '429', '500', '503'],
    put: ['200', '400', '403', '405', '412', '413', '415', '421', '500', '503'],
    get: ['200', '304', '400', '405', '413', '421', '500', '503'],
    delete: ['200', '400', '405', '412', '413', '415', '421', '428', '500', '503']
  }
  for (const [method, expected] of Object.entries(statuses)) {
    const { summary, tags, responses, requestBody } = operations[method]
    t.ok(summary)
    t.strictSame(tags, ['locks'])
    t.strictSame(Object.keys(responses), expected, method)
    if (requestBody) t.ok(ajv.validate(LockRequest, requestBody.content['application/json'].example))
    for (const [status, { description, content }] of Object.entries<any>(responses)) {
      t.ok(description)
      t.equal(content === undefined, status === '304', `${method} ${status} has a body`)
      if (!content) continue
      const { schema, example, examples } = content['application/json']
      const [shown] = Object.values<any>(examples ?? {})
      t.ok(
        ajv.validate(schema, example ?? shown?.value ?? components.schemas[schema.$ref.split('/').at(-1)].examples[0]),
        `${method} ${status}: ${ajv.errorsText()}`
      )
    }
  }
})

/** A record without the version that every write gives it. */
function withoutVersion({ version, ...record }: Record<string, any> = {}): Record<string, any> {
  return record
}

function send(app: FastifyInstance, method: 'POST' | 'PUT' | 'GET' | 'DELETE', id: string, body?: object) {
  return app.inject({ method, url: `/api/cloud/data-state/node/${id}`, ...(body && { body }) })
}

async function list(app: FastifyInstance, id: string, query = '') {
  return (await send(app, 'GET', id + query)).json().data
}
