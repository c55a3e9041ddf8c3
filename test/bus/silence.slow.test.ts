import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { openRedis } from '#lib/bus/redis.ts'
import { buildLogged } from '../helper.ts'
import { startFakeRedis } from './fixtures/fake-redis.ts'
import { until } from './fixtures/redis-tests.ts'

t.test('the log and a metric say that an instance fell silent on the bus, and that it is heard again', async (t) => {
  const { url } = await startFakeRedis(t)
  const { app, logged } = await buildLogged(t, { EVENTS_BUS_URL: url })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const silent = () => app.readings.get('quoin_bus_silent_instances')!.read()
  await until(() => app.readings.get('quoin_bus_up')!.read() === 1, 'the bus')

  const { wire } = await openRedis(url, 'quoin:DataState:test', () => {})
  const isHere = Promise.withResolvers<void>()
  wire.open(
    () => {},
    (isConnected) => {
      if (isConnected) isHere.resolve()
    }
  )
  t.teardown(() => wire.close())
  await isHere.promise
  const say = (topic: string) => wire.send(JSON.stringify({ v: 1, from: 'peer', topic, body: 'x' }))
  for (let count = 0; count < 3; count++) {
    await say('beat')
    await sleep(600)
  }
  await until(() => silent() === 1, 'silence')
  await say('bye')
  await until(() => silent() === 0, 'the goodbye')
  const lines = logged()
    .map(({ msg }) => msg as string)
    .filter((msg) => /silent/.test(msg))
  t.equal(lines.length, 2)
  t.match(lines[0], /^instances have fallen silent on the bus without a goodbye/)
  t.match(lines[1], /^no instance is silent/)
})
