import t from 'tap'
import { hasRedis, startRealRedis } from './fixtures/real-redis.ts'
import { testRedis } from './fixtures/redis-tests.ts'

t.test('a real Redis', { skip: !hasRedis && 'there is no redis-server here; test/bus/install-redis.sh installs one' }, async (t) => {
  testRedis(t, startRealRedis)
})
