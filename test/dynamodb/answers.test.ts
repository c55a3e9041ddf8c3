import { crc32 } from 'node:zlib'
import { GetCommand, PutCommand } from '@aws-sdk/lib-dynamodb'
import type { FinalizeRequestMiddleware } from '@smithy/types'
import t, { type Test } from 'tap'
import { createStore } from '../../lib/dynamodb/client.ts'
import { fails, startFakeEngine, type Script } from '../locks/fixtures/fake-engine.ts'

const put = () => new PutCommand({ TableName: 'DataState', Item: { env_entityType_entityId: 'test-node-1', fieldName: 'title' } })

/** An engine, a client of it, and what it received. */
async function bench (t: Test, options: object = {}) {
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
const says = (body: string, checksum?: (sent: string) => number): Script => (_operation, _input, response) => {
  response.writeHead(200, { 'content-type': 'application/x-amz-json-1.0', ...(checksum && { 'x-amz-crc32': String(checksum(body)) }) })
  response.end(body)
}
const done = says('{}', crc32)
const hangsUp: Script = (_operation, _input, response) => { response.destroy() }

for (const shortcut of [true, false]) {
  t.test(`an empty 200 and a body with another checksum count as no answer${shortcut ? '' : ', on the way of the SDK'}`, async (t) => {
    const { client, inputs, answered } = await bench(t, { shortcut })
    for (const [what, broken] of [['empty', says('')], ['damaged', says('{}', () => 1)], ['a checksum that is no number', says('{}', () => NaN)]] as const) {
      answered(broken, done)
      await client.send(put())
      t.equal(inputs.length, 2, `${what}: sent again`)
      answered(broken)
      await t.rejects(client.send(put()), { name: 'TimeoutError', message: 'no answer from the store' }, what)
      t.equal(inputs.length, 3, `${what}: three times in all`)
    }
    for (const right of [done, says('{}')]) {
      answered(right)
      await client.send(put())
      t.equal(inputs.length, 1, 'a right checksum, and none')
    }
  })

  t.test(`what is put again after an attempt without an answer is fenced${shortcut ? '' : ', on the way of the SDK'}`, async (t) => {
    const { client, inputs, answered } = await bench(t, { shortcut })
    const fences = () => inputs.map(({ Item }) => Item['fencedUntil']?.N)
    answered(done)
    await client.send(put())
    t.strictSame(fences(), [undefined])

    for (const lost of [hangsUp, says(''), fails('InternalServerError', 500)]) {
      answered(lost, done)
      await client.send(put())
      const [first, second] = fences()
      t.equal(first, undefined)
      t.ok(Math.abs(Number(second) - Date.now() / 1000 - 16 * 60) < 60, '16 minutes from now')
    }
    answered(fails('ThrottlingException'), done)
    await client.send(put())
    t.strictSame(fences(), [undefined, undefined], 'not after one that was refused')

    answered(hangsUp, fails('ConditionalCheckFailedException'))
    await t.rejects(client.send(put()), { name: 'ConditionalCheckFailedException', repeated: true })
    answered(fails('ConditionalCheckFailedException'))
    await t.rejects(client.send(put()), { name: 'ConditionalCheckFailedException', repeated: undefined })
  })
}

t.test('what is no put is sent again as it was', async (t) => {
  const { client, inputs, answered } = await bench(t)
  answered(hangsUp, done)

  await client.send(new GetCommand({ TableName: 'DataState', Key: { env_entityType_entityId: 'test-node-1', fieldName: 'title' } }))
  t.equal(inputs.length, 2)
  t.strictSame(inputs[0], inputs[1])
})

t.test('nothing is sent again by a process that was halted after an attempt without an answer', async (t) => {
  let halted = 0
  const { client, inputs, answered } = await bench(t, { now: () => Date.now() + halted })
  const halting: FinalizeRequestMiddleware<object, object> = (next) => async (args) => {
    if (inputs.length > 0) halted = 10_000
    return next(args)
  }
  client.middlewareStack.addRelativeTo(halting as never, { relation: 'before', toMiddleware: 'fenceMiddleware' })
  answered(hangsUp, done)
  await t.rejects(client.send(put()), { name: 'TimeoutError', message: 'no answer from the store' })
  t.equal(inputs.length, 1)
})
