import { once } from 'node:events'
import { connect } from 'node:net'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createBacklog } from '#lib/http/backlog.ts'
import { build } from '../helper.ts'
import { say, startFakeEngine } from '../locks/fixtures/fake-engine.ts'

/** An engine with many locks of others, whose `userData` is large, and the service over it. */
async function crowded(t: Test, locks: number) {
  const engine = await startFakeEngine(t)
  const name = 'x'.repeat(300_000)
  const Items = Array.from({ length: locks }, (_, n) => ({
    env_entityType_entityId: { S: 'test-node-1' },
    fieldName: { S: `f${n}` },
    timestamp: { N: '1' },
    userData: { M: { uid: { S: '7' }, name: { S: name } } },
    version: { S: 'v' }
  }))
  engine.script = (_operation, _input, response) => say(response, 200, { Items, Count: locks, ScannedCount: locks })
  const app = await build(t, { DYNAMODB_ENDPOINT: engine.endpoint, heartbeatSeconds: '1', EVENTS_POLL_MS: '60000' })
  const { port } = new URL(await app.listen({ host: '127.0.0.1', port: 0 }))
  return { app, port: Number(port) }
}

/** Opens an event stream on a connection of which nothing is read after its first bytes. */
async function stall(t: Test, port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1').on('error', () => {})
  t.teardown(() => socket.destroy())
  socket.write('GET /api/cloud/data-state/node/1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n')
  await once(socket, 'readable')
}

t.test('a caller that reads nothing for a heartbeat is disconnected', async (t) => {
  const { app, port } = await crowded(t, 40)
  await Promise.all([stall(t, port), stall(t, port)])
  const connections = () =>
    new Promise<number>((resolve) => {
      app.server.getConnections((_error, count) => resolve(count))
    })
  for (const deadline = Date.now() + 60_000; (await connections()) > 0 && Date.now() < deadline;) await sleep(20)
  t.equal(await connections(), 0)
})

t.test('what waits for slow callers is counted once for all who share it, and has a bound', async (t) => {
  const ended: string[] = []
  const stream = (name: string) =>
    new Readable({
      read() {},
      destroy(error, done) {
        ended.push(name)
        done(error)
      }
    })
  const { add, remove, bytes } = createBacklog(1000)
  const [first, second, third] = [Buffer.alloc(600), Buffer.alloc(400), Buffer.alloc(1)]
  const [a, b, c, d] = [stream('a'), stream('b'), stream('c'), stream('d')]
  for (const each of [a, b, a]) add(first, each)
  add(second, c)
  t.equal(bytes(), 1000)
  add(third, d)
  t.strictSame(ended, ['a', 'b'], 'those that have waited longest are ended')
  t.equal(bytes(), 401)
  remove(second, d)
  remove(second, c)
  remove(second, c)
  t.equal(bytes(), 1)
  add(Buffer.alloc(1001), stream('e'))
  t.strictSame(ended.slice(2), ['d', 'e'], 'a text beyond the bound does not wait')
  t.equal(bytes(), 0)
})
