import t from 'tap'
import { startFakeRedis } from './fixtures/fake-redis.ts'
import { testRedis } from './fixtures/redis-tests.ts'

testRedis(t, startFakeRedis)
