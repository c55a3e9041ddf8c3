import t from 'tap'
import { createClock } from '../../lib/dynamodb/clock.ts'
import fc from '../fixtures/property.ts'
import { runs } from '../scope.ts'

const START = Date.UTC(2026, 0, 1)

/** A machine whose clock is off, beside a store whose clock is right. */
function machine (ahead: number) {
  let time = START
  let skew = ahead
  const said: number[] = []
  const clock = createClock({ now: () => time + skew, onSkew: (offset) => said.push(offset) })
  return {
    clock,
    said,
    time: () => time,
    wait (ms: number) { time += ms },
    step (ms: number) { skew += ms },
    /** One request, answered by the store (or one whose clock is `odd` ms off) when so much of its duration has passed. */
    ask (durationMs = 10, part = 0.5, odd = 0): void {
      const sentAt = clock.local()
      time += durationMs * part
      const date = new Date(time + odd).toUTCString()
      time += durationMs * (1 - part)
      clock.observe(date, sentAt, clock.local())
    }
  }
}

t.test('whatever the offset and the network, the corrected time is within a second of the store at once, and closer later', async () => {
  fc.assert(fc.property(
    fc.integer({ min: -3_600_000, max: 3_600_000 }), fc.array(fc.record({ durationMs: fc.integer({ min: 1, max: 1300 }), part: fc.double({ min: 0, max: 1, noNaN: true }), pauseMs: fc.integer({ min: 0, max: 5000 }) }), { minLength: 1, maxLength: 60 }),
    (ahead, requests) => {
      const { clock, ask, time, wait } = machine(ahead)
      let shortest = Infinity
      for (const { durationMs, part, pauseMs } of requests) {
        wait(pauseMs)
        ask(durationMs, part)
        shortest = Math.min(shortest, durationMs)
        // What no answer contradicts is not corrected: then the machine's clock may be a second off.
        const bound = clock.offset() === 0 ? 1000 + shortest : (1000 + shortest) / 2
        if (Math.abs(clock.now() - time()) > bound + 40) return false
      }
      return true
    }
  ), { seed: 1, numRuns: runs(500) })
})

t.test('many answers tell the offset to some milliseconds', async (t) => {
  const { clock, ask, time, wait } = machine(-40_000)
  for (let count = 0; count < 200; count++) {
    ask(10)
    wait(317)
  }
  t.ok(Math.abs(clock.now() - time()) < 60, `${clock.now() - time()} ms off`)
})

t.test('a right clock is never corrected', async (t) => {
  const { clock, ask, wait, said } = machine(0)
  const offsets = Array.from({ length: 300 }, (_, count) => {
    ask(count % 50, (count % 10) / 10)
    wait(count * 7)
    return clock.offset()
  })
  t.strictSame(offsets, Array(300).fill(0))
  t.strictSame(said, [])
})

t.test('one odd server changes nothing, a clock that was set does', async (t) => {
  const { clock, ask, step, time } = machine(40_000)
  ask()
  const before = clock.offset()
  ask(10, 0.5, 20_000)
  ask(10, 0.5, 20_000)
  t.ok(Math.abs(clock.offset() - before) < 5, 'two are not enough')
  ask()
  ask(10, 0.5, 20_000)
  t.ok(Math.abs(clock.offset() - before) < 600, 'an answer that agrees ends the count')
  step(-40_000)
  for (let count = 0; count < 3; count++) ask()
  t.equal(clock.offset(), 0, 'NTP has set this clock')
  t.equal(clock.now(), time())
})

t.test('an operator is told once from two seconds on, and when it is over', async (t) => {
  const { ask, step, said } = machine(1500)
  ask()
  t.strictSame(said, [])
  step(-9000)
  for (let count = 0; count < 9; count++) ask()
  t.equal(said.length, 1)
  t.ok(said[0]! > 6500 && said[0]! < 8500, `${said[0]} ms`)
  step(7500)
  for (let count = 0; count < 9; count++) ask()
  t.strictSame(said.slice(1), [0])
})

t.test('a clock that tells nobody of its offset corrects it all the same', async (t) => {
  const clock = createClock({ now: () => START })
  clock.observe(new Date(START + 60_000).toUTCString(), START, START)
  t.equal(clock.now(), START + 60_500)
})

t.test('an answer without a Date, or with a wrong one, tells nothing', async (t) => {
  const { clock } = machine(40_000)
  for (const date of [undefined, '', 'yesterday', '{}']) clock.observe(date, clock.local(), clock.local())
  t.equal(clock.offset(), 0)
})

t.test('what has to be on time waits for one measurement, that all share', async (t) => {
  const { clock, ask } = machine(40_000)
  t.equal(clock.ready(), undefined, 'nothing is measured before the start')
  let requests = 0
  let answers = false
  clock.start(async () => {
    requests++
    if (!answers) throw new Error('no answer')
    ask()
  })
  t.equal(clock.ready(), clock.ready())
  await clock.ready()
  t.equal(requests, 1)
  answers = true
  await clock.ready()
  t.equal(requests, 2)
  t.ok(Math.abs(clock.offset() + 40_000) < 600)
  t.equal(clock.ready(), undefined, 'the offset is known')
})

t.test('a store that sends no Date is asked once', async (t) => {
  const { clock } = machine(40_000)
  let requests = 0
  clock.start(async () => { requests++ })
  await clock.ready()
  t.equal(clock.ready(), undefined, 'it has answered')
  t.equal(requests, 1)
})
