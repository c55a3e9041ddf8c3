import t from 'tap'
import { simulate } from './newsroom.ts'
import { MEASURED, measuredNewsroom, newsroomOf } from './suites/scale.ts'

t.test('the simulation takes the read units that were counted at an engine', async (t) => {
  const [instances, entities, kilobytes, thousands] = MEASURED[0]!
  const [once, again] = await Promise.all([1, 2].map(() => simulate(measuredNewsroom(instances, entities, kilobytes, 10_000))))
  t.ok(Math.abs(once!.readUnitsPerHour / thousands / 1000 - 1) < 0.1, `${once!.readUnitsPerHour} an hour`)
  t.strictSame(once, again, 'and the same ones each time')
})

t.test('with a bus watchers learn sooner, by fewer reads; boards are read once in a heartbeat', async (t) => {
  const [without, withBus] = await Promise.all(
    [false, true].map((hasBus) => simulate(newsroomOf(1, { instances: 2, hasBus, balance: 'in turn', ms: 30_000 })))
  )
  t.ok(without!.p99Ms > 250 && withBus!.p99Ms < 20, `p99 of ${without!.p99Ms} and ${withBus!.p99Ms} ms`)
  t.ok(
    withBus!.readUnitsPerHour < without!.readUnitsPerHour / 10,
    `${withBus!.readUnitsPerHour} and ${without!.readUnitsPerHour} read units an hour`
  )
  // Four editions at two instances, each read every 13.5 s at most, though there are 20 streams.
  t.ok(withBus!.boardReadsPerSecond > 0.4 && withBus!.boardReadsPerSecond <= (8 * 3) / 30, `${withBus!.boardReadsPerSecond} a second`)
})
