import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { build } from '../helper.ts'
import { say, startFakeEngine, works } from './fixtures/fake-engine.ts'

t.test('a takeover of a lock that changes all the time is not tried again once its caller has hung up', async (t) => {
  const engine = await startFakeEngine(t)
  let puts = 0
  const record = () => ({
    env_entityType_entityId: { S: 'test-node-1' },
    fieldName: { S: 'title' },
    timestamp: { N: '1800000000' },
    userData: { M: { uid: { S: '7' } } },
    version: { S: `version-of-${puts}`.padEnd(16, '0') }
  })
  const caller = new AbortController()
  engine.script = (operation, input, response) => {
    if (operation === 'GetItem' && input['Key'].fieldName.S === 'title') return say(response, 200, { Item: record() })
    if (operation !== 'PutItem') return works(operation, input, response)
    puts++
    say(response, 400, {
      __type: 'com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException',
      message: 'The conditional request failed',
      Item: record()
    })
    if (puts === 3) caller.abort()
  }
  const app = await build(t, { DYNAMODB_ENDPOINT: engine.endpoint })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const takeover = fetch(`${url}/api/cloud/data-state/node/1`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ fieldName: 'title', userData: { uid: '8' } }),
    signal: caller.signal
  })
  await t.rejects(takeover, { name: 'AbortError' })
  // No pause between two tries is longer than half a second.
  await sleep(1500)
  t.ok(puts <= 4, `${puts} tries`)
})
