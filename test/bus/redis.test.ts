import t from 'tap'
import { startFakeRedis } from './fixtures/fake-redis.ts'
import { ask, listening, testRedis, until } from './fixtures/redis-tests.ts'

testRedis(t, startFakeRedis)

t.test('a bus that counts wrong, does not answer or is away refuses nobody: each instance counts for itself', async (t) => {
  const { url, counting, stop } = await startFakeRedis(t)
  const [instance] = await listening(t, [{ EVENTS_BUS_URL: url, RATE_LIMIT: '3' }])
  const statuses: number[] = []
  for (const how of ['wrong', 'silent'] as const) {
    counting.how = how
    statuses.push((await ask(instance!)).statusCode)
  }
  await stop()
  await until(() => instance!.readings.get('quoin_bus_up')!.read() === 0, 'the loss')
  for (let n = 0; n < 2; n++) statuses.push((await ask(instance!)).statusCode)
  t.strictSame(statuses, [400, 400, 400, 429])
})
