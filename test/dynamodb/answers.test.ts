import { crc32 } from 'node:zlib'
import { DeleteCommand, GetCommand, PutCommand } from '@aws-sdk/lib-dynamodb'
import t, { type Test } from 'tap'
import { createStore } from '#lib/table/client.ts'
import { fails, startFakeEngine, type Script } from '../locks/fixtures/fake-engine.ts'

const Key = { env_entityType_entityId: 'test-node-1', fieldName: 'title' }
const put = () => new PutCommand({ TableName: 'DataState', Item: Key })
const remove = () => new DeleteCommand({ TableName: 'DataState', Key }) as unknown as PutCommand
const get = () => new GetCommand({ TableName: 'DataState', Key })

/** An engine, a client of it, and what it received. */
async function bench(t: Test, options: object = {}) {
  const engine = await startFakeEngine(t)
  const { client, destroy } = createStore({ region: 'local', endpoint: engine.endpoint, ...options })
  t.teardown(destroy)
  const inputs: Array<Record<string, any>> = []
  /** Has the next attempts answered in turn by these; those after them by the last one. */
  const answered = (...scripts: Script[]) => {
    inputs.splice(0)
    engine.script = (operation, input, response) => {
      inputs.push(input)
      scripts[Math.min(inputs.length, scripts.length) - 1]!(operation, input, response)
    }
  }
  return { client, inputs, answered }
}

/** 200 with a body, and perhaps a checksum. */
const says =
  (body: string, checksum?: (sent: string) => number): Script =>
  (_operation, _input, response) => {
    response.writeHead(200, { 'content-type': 'application/x-amz-json-1.0', ...(checksum && { 'x-amz-crc32': String(checksum(body)) }) })
    response.end(body)
  }
const done = says('{}', crc32)
const hangsUp: Script = (_operation, _input, response) => {
  response.destroy()
}

for (const shortcut of [true, false]) {
  t.test(`an empty 200 and a body with another checksum count as no answer${shortcut ? '' : ', on the way of the SDK'}`, async (t) => {
    const { client, inputs, answered } = await bench(t, { shortcut })
    for (const [what, broken] of [
      ['empty', says('')],
      ['damaged', says('{}', () => 1)],
      ['a checksum that is no number', says('{}', () => NaN)]
    ] as const) {
      answered(broken, done)
      await client.send(get())
      t.equal(inputs.length, 2, `${what}: sent again`)
      answered(broken)
      await t.rejects(client.send(get()), { name: 'TimeoutError', message: 'no answer from the store' }, what)
      t.equal(inputs.length, 3, `${what}: three times in all`)
    }
    for (const right of [done, says('{}')]) {
      answered(right)
      await client.send(put())
      t.equal(inputs.length, 1, 'a right checksum, and none')
    }
  })

  t.test(`a write without an answer is sent once${shortcut ? '' : ', on the way of the SDK'}`, async (t) => {
    const { client, inputs, answered } = await bench(t, { shortcut })
    for (const write of [put, remove]) {
      for (const [lost, name] of [
        [hangsUp, 'TimeoutError'],
        [says(''), 'TimeoutError'],
        [fails('InternalServerError', 500), 'InternalServerError']
      ] as const) {
        answered(done)
        await client.send(write())
        answered(lost, done)
        await t.rejects(client.send(write()), { name: 'UnansweredError', unanswered: { name } })
        t.equal(inputs.length, 1, name)
      }
      answered(fails('ThrottlingException'), done)
      await client.send(write())
      t.equal(inputs.length, 2, 'one that was refused has an answer')
      answered(fails('ConditionalCheckFailedException'))
      await t.rejects(client.send(write()), { name: 'ConditionalCheckFailedException' })
    }
  })
}

t.test('a write that found no connection was not sent, and is tried again', async (t) => {
  const { client, destroy } = createStore({ region: 'local', endpoint: 'http://127.0.0.1:9' })
  t.teardown(destroy)
  await t.rejects(client.send(put()), { name: 'TimeoutError', $metadata: { attempts: 3 } })
})
