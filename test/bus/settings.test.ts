import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { build, buildLogged } from '../helper.ts'

const ready = async (app: Awaited<ReturnType<typeof build>>) => (await app.inject('/health/ready')).json().dependencies.bus

t.test('a bus that is away is told by /health/ready, the metrics and once by the log, and leaves the instance ready', async (t) => {
  const { app, logged } = await buildLogged(t, { EVENTS_BUS_URL: 'redis://quoin:SECRET@127.0.0.1:1' })
  await app.listen({ host: '127.0.0.1', port: 0 })
  t.strictSame(await ready(app), { status: 'ok', message: 'The bus is down: each instance finds by EVENTS_POLL_MS what the others write' })
  const lines: unknown[] = []
  const told = () => lines.filter((line) => (line as { msg: string }).msg === 'a connection to the bus fails').length
  for (const end = performance.now() + 10_000; performance.now() < end && told() === 0; await sleep(20)) lines.push(...logged())
  await sleep(300)
  lines.push(...logged())
  t.equal(told(), 1)
  t.notMatch(JSON.stringify(lines), 'SECRET')
  t.equal(app.readings.get('quoin_bus_up')!.read(), 0)
  t.equal(app.readings.get('quoin_bus_round_trip_seconds')!.read(), 0)
  t.match(app.readings.get('quoin_bus_messages_total')!.read(), { sent: 0, lost: 0, received: 0, ignored: 0 })
})

t.test('without EVENTS_BUS_URL there is none', async (t) => {
  const app = await build(t)
  t.equal(await ready(app), undefined)
  t.notOk(app.readings.has('quoin_bus_up'))
})
