import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { build, buildLogged } from '../helper.ts'
import { fails, say, startFakeEngine, works, type Script } from './fixtures/fake-engine.ts'

const url = '/api/cloud/data-state/node/1'
const body = { fieldName: 'title', userData: { uid: '7' }, payload: 'SECRET-PAYLOAD' }
const calls = [
  { method: 'POST', url, body },
  { method: 'PUT', url, body },
  { method: 'GET', url },
  { method: 'GET', url: `${url}?fieldName=title` },
  { method: 'DELETE', url: `${url}?fieldName=title` },
  { method: 'DELETE', url: `${url}?uid=7` },
  { method: 'POST', url: `${url}/release`, body: { uid: '7' } },
  { method: 'GET', url: `${url}/drafts?uid=7` },
  { method: 'DELETE', url: `${url}/drafts?uid=7` }
] as const

const unavailable = {
  name: 'ServiceUnavailableError',
  code: 'STORE_UNAVAILABLE',
  message: 'The lock store cannot be reached or is too slow; try again'
}
const failed = { name: 'InternalServerError', code: 'STORE_FAILED', message: 'The lock store could not do what was asked' }

const never: Script = () => {}
const hangsUp: Script = (_operation, _input, response) => {
  response.destroy()
}
const html: Script = (_operation, _input, response) => say(response, 200, '<html>SECRET</html>')
const halfAnAnswer: Script = (_operation, _input, response) => {
  response.writeHead(200, { 'content-length': '100' })
  response.write('{')
}

const cases: Array<[what: string, script: Script, error: typeof unavailable | typeof failed]> = [
  ['throttles the table', fails('ProvisionedThroughputExceededException'), unavailable],
  ['throttles the account', fails('ThrottlingException', 400, 'com.amazon.coral.availability'), unavailable],
  ['throttles in another word', fails('RequestLimitExceeded'), unavailable],
  ['is out of service', fails('ServiceUnavailable', 503), unavailable],
  ['sits behind a gateway that cannot reach it', (_operation, _input, response) => say(response, 502, '<html>SECRET</html>'), unavailable],
  ['hangs up', hangsUp, unavailable],
  ['never answers', never, unavailable],
  ['stops in the middle of an answer', halfAnAnswer, unavailable],
  ['has an internal error', fails('InternalServerError', 500), failed],
  ['finds the request invalid', fails('ValidationException', 400, 'com.amazon.coral.validate'), failed],
  ['has no such table', fails('ResourceNotFoundException'), failed],
  ['denies access', fails('AccessDeniedException', 400, 'com.amazon.coral.service'), failed],
  ['does not know the credentials', fails('UnrecognizedClientException', 400, 'com.amazon.coral.service'), failed],
  ['answers something else', html, failed]
]

t.test('a store that fails is answered for, nothing of it shown, and the next request is served', async (t) => {
  // The slow ones take seconds each and run at once; those that fail at once take turns on one store.
  const slow = cases.filter(([, , error]) => error === unavailable)
  const groups = [cases.filter((one) => !slow.includes(one)), ...slow.map((one) => [one])]
  const stores = []
  for (const group of groups) {
    const engine = await startFakeEngine(t)
    stores.push({ group, engine, app: await build(t, { DYNAMODB_ENDPOINT: engine.endpoint }) })
  }
  t.jobs = stores.length
  await Promise.all(
    stores.map(({ group, engine, app }) =>
      t.test(`a store that ${group.map(([what]) => what).join(', ')}`, async (t) => {
        for (const [what, script, error] of group) {
          engine.script = script
          await Promise.all(calls.map((call) => answersFor(t, app, call, error)))
          await t.rejects(app.probes.get('store')!(), { message: /^The lock store/ }, what)

          engine.script = works
          for (const call of calls) t.match((await app.inject(call)).json(), { success: true }, `${call.method} works again`)
          await t.resolves(app.probes.get('store')!())
        }
      })
    )
  )
})

for (const [what, endpoint] of [
  ['nothing listens', 'http://127.0.0.1:9'],
  ['the name is unknown', 'http://store.invalid']
] as const) {
  t.test(`a store where ${what} is answered for`, async (t) => {
    const app = await build(t, { DYNAMODB_ENDPOINT: endpoint })
    await Promise.all(calls.map((call) => answersFor(t, app, call, unavailable)))
  })
}

t.test('a failure of the store is one line in the log, which names the cause and shows no text of a lock', async (t) => {
  const engine = await startFakeEngine(t)
  const { app, logged } = await buildLogged(t, { DYNAMODB_ENDPOINT: engine.endpoint })
  for (const [name, cause] of [
    ['ValidationException', /SECRET-MESSAGE/],
    ['ThrottlingException', /SECRET-MESSAGE/]
  ] as const) {
    engine.script = fails(name)
    logged()
    const replies = await Promise.all(calls.map((call, index) => app.inject({ ...call, headers: { 'x-request-id': `call-${index}` } })))
    const lines = logged()
    t.notMatch(JSON.stringify(lines), 'SECRET-PAYLOAD')
    for (const [index, { statusCode }] of replies.entries()) {
      const own = lines.filter(({ level, reqId }) => level >= 40 && reqId === `call-${index}`)
      t.match(own, [{ level: 50, err: { message: cause } }], `${calls[index]!.method} ${statusCode}`)
      t.equal(own.length, 1)
    }
  }
})

t.test('a query that is answered without Items is a failure of the store', async (t) => {
  const engine = await startFakeEngine(t)
  const app = await build(t, { DYNAMODB_ENDPOINT: engine.endpoint })
  engine.script = (_operation, _input, response) => say(response, 200, {})
  for (const call of calls.filter(({ method, url }) => method === 'GET' || url.endsWith('?uid=7'))) await answersFor(t, app, call, failed)
})

t.test('one throttled or lost attempt is made good by another', async (t) => {
  const engine = await startFakeEngine(t)
  const app = await build(t, { DYNAMODB_ENDPOINT: engine.endpoint })
  for (const [first, attempts] of [
    [fails('ThrottlingException'), ['PutItem', 'PutItem']],
    [fails('InternalServerError', 500), ['PutItem', 'PutItem', 'PutItem']],
    [hangsUp, ['PutItem', 'PutItem', 'PutItem']]
  ] as const) {
    engine.operations.length = 0
    engine.script = (...args) => (engine.operations.length === 1 ? first(...args) : works(...args))
    t.match((await app.inject(calls[0])).json(), { success: true })
    t.strictSame(engine.operations, attempts, 'where its outcome is not known a tombstone keeps the first off')
  }
})

t.test('POST asks once, and learns the holder without another request where the engine tells', async (t) => {
  const engine = await startFakeEngine(t)
  const app = await build(t, { DYNAMODB_ENDPOINT: engine.endpoint })
  await app.inject(calls[0])
  t.strictSame(engine.operations.splice(0), ['PutItem'])
  const item = {
    env_entityType_entityId: { S: 'test-article-42' },
    fieldName: { S: 'title' },
    timestamp: { N: '12345678901234567890' },
    userData: { M: { uid: { S: '8' } } },
    payload: { S: 'SECRET' }
  }
  engine.script = (_operation, input, response) => {
    t.equal(input['ReturnValuesOnConditionCheckFailure'], 'ALL_OLD')
    say(response, 400, {
      __type: 'com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException',
      message: 'The conditional request failed',
      Item: item
    })
  }
  const reply = await app.inject(calls[0])
  t.equal(reply.statusCode, 423)
  t.strictSame(reply.json().error.lock, { fieldName: 'title', timestamp: 12345678901234567000, userData: { uid: '8' } })
  t.strictSame(engine.operations, ['PutItem'])
})

t.test('POST tries again when the holder is gone before it can be read, but not for ever', async (t) => {
  const engine = await startFakeEngine(t)
  const app = await build(t, { DYNAMODB_ENDPOINT: engine.endpoint })
  const refuse = fails('ConditionalCheckFailedException')
  let refusals = 1
  engine.script = (...args) => (args[0] === 'PutItem' && refusals-- > 0 ? refuse(...args) : works(...args))
  t.match((await app.inject(calls[0])).json(), { success: true })
  t.strictSame(engine.operations.splice(0), ['PutItem', 'GetItem', 'PutItem'])

  refusals = Infinity
  const reply = await app.inject(calls[0])
  t.equal(reply.statusCode, 503)
  t.equal(reply.headers['retry-after'], '1')
  t.match(reply.json(), {
    success: false,
    message: 'Error: Server error',
    error: { code: 'STORE_UNAVAILABLE', message: /changes hands too fast/ }
  })
  t.ok(engine.operations.length <= 400, `${engine.operations.length} requests`)
})

t.test('DELETE names the fields it could not delete, and a second call finishes the work', async (t) => {
  const engine = await startFakeEngine(t)
  const app = await build(t, { DYNAMODB_ENDPOINT: engine.endpoint })
  const names = Array.from({ length: 40 }, (_, index) => `field_${String(index).padStart(2, '0')}`)
  const locked = new Set(names)
  let broken: Record<string, Script> = {}
  let inFlight = 0
  let most = 0
  engine.script = (operation, input, response) => {
    if (operation === 'Query') {
      const Items = [...locked].map((name) => ({ env_entityType_entityId: { S: 'test-article-42' }, fieldName: { S: name } }))
      return say(response, 200, { Items, Count: Items.length, ScannedCount: Items.length })
    }
    const name = input['Key'].fieldName.S
    most = Math.max(most, ++inFlight)
    setTimeout(() => {
      inFlight--
      if (broken[name]) return broken[name](operation, input, response)
      locked.delete(name)
      say(response, 200, {})
    }, 5)
  }

  broken = { field_07: fails('InternalServerError', 500), field_31: fails('AccessDeniedException') }
  const first = await app.inject(calls[5])
  t.equal(first.statusCode, 500)
  t.strictSame(first.json(), { success: false, message: 'Error: Server error', error: { ...failed, failed: ['field_07', 'field_31'] } })
  t.strictSame([...locked], ['field_07', 'field_31'])
  t.ok(most > 3 && most <= 10, `several at once, at most ten: ${most}`)

  broken = {}
  t.strictSame((await app.inject(calls[5])).json(), { success: true })
  t.equal(locked.size, 0)

  for (const name of names) locked.add(name)
  engine.operations.length = 0
  broken = Object.fromEntries(names.slice(20).map((name) => [name, fails('ProvisionedThroughputExceededException')]))
  const second = await app.inject(calls[5])
  t.equal(second.statusCode, 503)
  t.equal(second.headers['retry-after'], '1')
  t.strictSame(second.json().error, { ...unavailable, failed: names.slice(20) })
  t.ok(engine.operations.length < 1 + 20 + 3 * 20, 'once it is throttled the rest is not tried')

  broken = {
    field_25: (...args) =>
      args[0] === 'GetItem'
        ? say(args[2], 200, {
            Item: { env_entityType_entityId: { S: 'test-article-42' }, fieldName: { S: 'field_25' }, userData: { M: { uid: { S: '8' } } } }
          })
        : fails('ConditionalCheckFailedException')(...args)
  }
  t.strictSame((await app.inject(calls[5])).json(), { success: true }, 'a field taken over meanwhile is no failure')
  t.strictSame([...locked], ['field_25'])
})

async function answersFor(t: Test, app: FastifyInstance, call: (typeof calls)[number], error: object): Promise<void> {
  const started = performance.now()
  const reply = await app.inject(call)
  const took = performance.now() - started
  t.ok(took < 10_000, `${call.method} within seconds: ${Math.round(took)} ms`)
  t.equal(reply.statusCode, error === unavailable ? 503 : 500)
  t.equal(reply.headers['retry-after'], error === unavailable ? '1' : undefined)
  t.strictSame(reply.json(), { success: false, message: 'Error: Server error', error })
}
