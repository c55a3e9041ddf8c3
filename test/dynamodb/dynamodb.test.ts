import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join, resolve } from 'node:path'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { DescribeTableCommand } from '@aws-sdk/client-dynamodb'
import { GetCommand, QueryCommand } from '@aws-sdk/lib-dynamodb'
import t, { type Test } from 'tap'
import { startDynamodb } from '../../dev/dynamodb.ts'
import { createStore, type StoreSettings } from '#lib/table/client.ts'
import { reply } from '#lib/table/failures.ts'
import { createTable, tableDefinition } from '#lib/table/definition.ts'
import { createLocks } from '#lib/locks/locks.ts'
import { fails, startFakeEngine, works } from '../locks/fixtures/fake-engine.ts'

const HOLD = resolve(import.meta.dirname, 'fixtures/hold.ts')
const get = new GetCommand({ TableName: 'DataState', Key: { env_entityType_entityId: 'a', fieldName: 'b' } })

function store(t: Test, settings: Omit<StoreSettings, 'region'>) {
  const { client, destroy } = createStore({ region: 'local', ...settings })
  t.teardown(destroy)
  return client
}

async function locksIn(t: Test, endpoint: string) {
  const client = store(t, { endpoint })
  await createTable(client, 'DataState')
  return createLocks({ client, table: 'DataState', environment: 'test' })
}

t.test('the table is made where it is absent, and left alone where it is', async (t) => {
  const { endpoint, close } = await startDynamodb()
  t.teardown(close)
  const locks = await locksIn(t, endpoint)
  await locks.acquire({ type: 'node', id: '1' }, { fieldName: 'a', userData: { uid: '7' } })
  const client = store(t, { endpoint })
  await createTable(client, 'DataState')
  t.equal((await locks.list({ type: 'node', id: '1' })).Count, 1)
  const { Table } = await client.send(new DescribeTableCommand({ TableName: 'DataState' }))
  t.match(Table, { TableStatus: 'ACTIVE', KeySchema: tableDefinition('DataState').KeySchema })
})

t.test('a table that cannot be made is an error', async (t) => {
  const engine = await startFakeEngine(t)
  engine.script = fails('AccessDeniedException')
  await t.rejects(createTable(store(t, { endpoint: engine.endpoint }), 'DataState'), { name: 'AccessDeniedException' })
})

t.test('an engine that asks for no credentials is given made-up ones; real ones are used where they are set', async (t) => {
  const engine = await startFakeEngine(t)
  const seen: Array<string | undefined> = []
  engine.script = (operation, input, response) => {
    seen.push(/Credential=(\w+)/.exec(String(response.req.headers.authorization))?.[1])
    works(operation, input, response)
  }
  const { AWS_ACCESS_KEY_ID: key, AWS_SECRET_ACCESS_KEY: secret, AWS_PROFILE: profile } = process.env
  t.teardown(() => {
    for (const [name, value] of Object.entries({ AWS_ACCESS_KEY_ID: key, AWS_SECRET_ACCESS_KEY: secret, AWS_PROFILE: profile })) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
  })
  for (const name of ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_PROFILE']) delete process.env[name]
  await store(t, { endpoint: engine.endpoint }).send(get)
  Object.assign(process.env, { AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE', AWS_SECRET_ACCESS_KEY: 'x' })
  await store(t, { endpoint: engine.endpoint }).send(get)
  t.strictSame(seen, ['local', 'AKIDEXAMPLE'])
})

t.test("without an endpoint the region's own is taken", async (t) => {
  const { client, destroy } = createStore({ region: 'eu-central-1' })
  t.teardown(destroy)
  t.equal(await client.config.region(), 'eu-central-1')
  t.equal(client.config.endpoint, undefined)
})

t.test('an error that is not an answer of the store fails too, its cause kept', async (t) => {
  const cause = new Error('no credentials')
  await t.rejects(reply(Promise.reject(cause)), { code: 'STORE_FAILED', statusCode: 500, cause })
})

t.test('time limits and attempts are as set, and a caller can stop waiting', async (t) => {
  const engine = await startFakeEngine(t)
  engine.script = () => {}
  const client = store(t, { endpoint: engine.endpoint, attemptMs: 400, attempts: 2 })
  await t.rejects(client.send(get), { name: 'TimeoutError' })
  t.equal(engine.operations.splice(0).length, 2)
  const patient = store(t, { endpoint: engine.endpoint, attemptMs: 30_000 })
  const caller = new AbortController()
  engine.script = () => caller.abort()
  await t.rejects(patient.send(get, { abortSignal: caller.signal }), { name: 'AbortError' })
  t.equal(engine.operations.splice(0).length, 1, 'it is not tried again')
  await t.rejects(patient.send(get, { abortSignal: AbortSignal.abort() }), { name: 'AbortError' })
  t.equal(engine.operations.length, 0, 'nor is it sent by who has stopped waiting before')
})

t.test('what was given up while no connection was free for it is not sent later', async (t) => {
  const engine = await startFakeEngine(t)
  const sent: string[] = []
  const answers: Array<() => void> = []
  engine.script = (operation, input, response) => {
    sent.push(input['Key'].fieldName.S)
    answers.push(() => works(operation, input, response))
  }
  const client = store(t, { endpoint: engine.endpoint, attemptMs: 30_000, attempts: 1 })
  const read = (fieldName: string, options = {}) =>
    client.send(new GetCommand({ TableName: 'DataState', Key: { env_entityType_entityId: 'a', fieldName } }), options)
  const others = Array.from({ length: 128 }, () => read('other'))
  const last = Promise.all(others).then(() => read('last'))
  await t.rejects(read('given up', { abortSignal: AbortSignal.timeout(100) }))
  while (!sent.includes('last')) {
    await sleep(5)
    for (const answer of answers.splice(0)) answer()
  }
  for (const answer of answers) answer()
  await last
  t.notOk(sent.includes('given up'))
})

t.test('the embedded engine listens on 127.0.0.1 only, and no more once it is closed', async (t) => {
  const { endpoint, close } = await startDynamodb()
  t.match(endpoint, /^http:\/\/127\.0\.0\.1:\d+$/)
  await close()
  const [error] = await once(connect(Number(new URL(endpoint).port), '127.0.0.1'), 'error')
  t.equal(error.code, 'ECONNREFUSED')
})

t.test('a caller who leaves amid a body, or whose request is under way when the engine is closed, ends no process', async (t) => {
  const query = new QueryCommand({
    TableName: 'DataState',
    KeyConditionExpression: 'env_entityType_entityId = :entity',
    ExpressionAttributeValues: { ':entity': 'a' }
  })
  // How many turns a query takes to where dynalite opens its cursor.
  for (let turns = 0; turns < 10; turns++) {
    const { endpoint, close } = await startDynamodb()
    const { client, destroy } = createStore({ region: 'local', endpoint })
    await createTable(client, 'DataState')

    const amid = connect(Number(new URL(endpoint).port), '127.0.0.1')
    amid.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{')
    await client.send(query)
    amid.destroy()
    t.equal((await client.send(query)).Count, 0, 'the next is answered')

    const left = Array.from({ length: 10 }, async () => client.send(query).catch(() => {}))
    for (let turn = 0; turn < turns; turn++) await nextTurn()
    destroy()
    await close()
    await Promise.all(left)
  }
})

t.test('what is on disk is there again at the next start', async (t) => {
  const dataDir = join(t.testdir(), 'new/data')
  const first = await startDynamodb(dataDir)
  await (await locksIn(t, first.endpoint)).acquire({ type: 'node', id: '1' }, { fieldName: 'a', userData: { uid: '7' }, payload: 'kept' })
  await first.close()

  const second = await startDynamodb(dataDir)
  t.teardown(second.close)
  t.match((await (await locksIn(t, second.endpoint)).list({ type: 'node', id: '1' })).Items, [{ fieldName: 'a', payload: 'kept' }])
})

t.test('a second process on the same directory is refused in one sentence, and the first is not disturbed', async (t) => {
  const dataDir = t.testdir()
  const { endpoint, close } = await startDynamodb(dataDir)
  t.teardown(close)
  const locks = await locksIn(t, endpoint)

  const second = spawn(process.execPath, [HOLD, dataDir], { stdio: ['ignore', 'ignore', 'pipe'] })
  const [[message], [code]] = await Promise.all([once(second.stderr.setEncoding('utf8'), 'data'), once(second, 'exit')])
  t.equal(message, `${dataDir} is in use by another Quoin; stop that one, or set DATA_DIR to another directory.`)
  t.equal(code, 1)
  t.match(await locks.acquire({ type: 'node', id: '1' }, { fieldName: 'a', userData: { uid: '7' } }), { outcome: 'acquired' })
})

t.test('a directory that cannot be one is refused', async (t) => {
  const file = join(t.testdir(), 'file')
  writeFileSync(file, '')
  await t.rejects(startDynamodb(file), { message: `${file} cannot hold the locks: ` })
})

t.test('killed with -9 and started again, the engine has every acknowledged lock', async (t) => {
  const dataDir = t.testdir()
  const process9 = spawn(process.execPath, [HOLD, dataDir], { stdio: ['ignore', 'pipe', 'inherit'] })
  let said = ''
  for await (const chunk of process9.stdout.setEncoding('utf8')) {
    said += chunk
    if (said.includes('field_100\n')) process9.kill('SIGKILL')
  }
  if (process9.signalCode === null) await once(process9, 'exit')
  const acknowledged = said.split('\n').slice(0, -1)

  const { endpoint, close } = await startDynamodb(dataDir)
  t.teardown(close)
  const { Items } = await (await locksIn(t, endpoint)).list({ type: 'node', id: '1' })
  const kept = new Set(Items.map(({ fieldName }) => fieldName))
  t.ok(acknowledged.length > 100)
  t.strictSame(
    acknowledged.filter((fieldName) => !kept.has(fieldName)),
    []
  )
})
