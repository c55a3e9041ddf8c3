import t from 'tap'
import { createClock } from '#lib/table/clock.ts'
import fc from '../fixtures/property.ts'
import { runs } from '../scope.ts'
import { fakeTime } from '../fixtures/time.ts'

const START = Date.UTC(2026, 0, 1)
const STEPS = [1000, -1000, 300_000, -300_000, 7_200_000, -7_200_000]

/** A machine whose clock is off, beside a store whose clock is right. */
function machine(ahead: number) {
  let time = START
  let skew = ahead
  /** How long the monotonic clock has stood still. */
  let stood = 0
  const said: number[] = []
  const clock = createClock({
    time: fakeTime({ now: () => time + skew, monotonic: () => time - START - stood }),
    onSkew: (offset) => said.push(offset)
  })
  return {
    clock,
    said,
    time: () => time,
    wait(ms: number) {
      time += ms
    },
    /** Somebody sets the machine's clock. */
    step(ms: number) {
      skew += ms
    },
    suspend(ms: number) {
      time += ms
      stood += ms
    },
    /** As `suspend`, of a virtual machine whose own clock stands still as well. */
    freeze(ms: number) {
      time += ms
      stood += ms
      skew -= ms
    },
    /** One request, answered by the store (or one whose clock is `odd` ms off) when so much of its duration has passed. */
    ask(durationMs = 10, part = 0.5, odd = 0): void {
      const sent = clock.mark()
      time += durationMs * part
      const date = new Date(time + odd).toUTCString()
      time += durationMs * (1 - part)
      clock.observe(date, sent)
    }
  }
}

/** A machine beside a store that it can measure by, and how often it did. */
function measuring(ahead = 0) {
  const made = machine(ahead)
  const asked = { count: 0, answers: true, odd: 0 }
  made.clock.start(async () => {
    asked.count++
    if (!asked.answers) throw new Error('no answer')
    made.ask(10, 0.5, asked.odd)
  })
  return { ...made, asked }
}

t.test('whatever the offset and the network, the corrected time is within a second of the store at once, and closer later', async () => {
  fc.assert(
    fc.property(
      fc.integer({ min: -3_600_000, max: 3_600_000 }),
      fc.array(
        fc.record({
          durationMs: fc.integer({ min: 1, max: 1300 }),
          part: fc.double({ min: 0, max: 1, noNaN: true }),
          pauseMs: fc.integer({ min: 0, max: 5000 })
        }),
        { minLength: 1, maxLength: 60 }
      ),
      (ahead, requests) => {
        const { clock, ask, time, wait } = machine(ahead)
        let shortest = Infinity
        for (const { durationMs, part, pauseMs } of requests) {
          wait(pauseMs)
          ask(durationMs, part)
          shortest = Math.min(shortest, durationMs)
          // What no answer contradicts is not corrected: then the machine's clock may be a second off.
          const bound = clock.offset() === 0 ? 1000 + shortest : (1000 + shortest) / 2
          if (Math.abs(clock.time.now() - time()) > bound + 40) return false
        }
        return true
      }
    ),
    { seed: 1, numRuns: runs(500) }
  )
})

t.test('many answers tell the offset to some milliseconds', async (t) => {
  const { clock, ask, time, wait } = machine(-40_000)
  for (let count = 0; count < 200; count++) {
    ask(10)
    wait(317)
  }
  t.ok(Math.abs(clock.time.now() - time()) < 60, `${clock.time.now() - time()} ms off`)
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

for (const step of STEPS) {
  t.test(`a machine's clock that is set by ${step} ms changes nothing, and one request shows it`, async (t) => {
    const { clock, ask, time, wait, step: set, asked } = measuring()
    for (let count = 0; count < 20; count++) {
      ask()
      wait(317)
    }
    t.equal(clock.time.ready(), undefined)
    set(step)
    t.ok(Math.abs(clock.time.now() - time()) < 60, `${clock.time.now() - time()} ms off`)
    const pending = clock.time.ready()
    t.ok(pending, 'whoever decides waits for a measurement')
    await pending
    t.equal(asked.count, 1)
    t.equal(clock.time.ready(), undefined)
    t.ok(Math.abs(clock.time.now() - time()) < 60)
    t.ok(Math.abs(clock.offset() + step) < 60, 'the operator sees the offset')
    set(-step)
    await clock.time.ready()
    t.equal(clock.offset(), 0)
    t.equal(asked.count, 2)
  })

  t.test(`a step of ${step} ms during a request makes its answer tell nothing`, async (t) => {
    const { clock, ask, time, wait, step: set } = measuring()
    ask()
    const sent = clock.mark()
    set(step)
    wait(5)
    clock.observe(new Date(time() + step).toUTCString(), sent)
    t.ok(clock.time.ready())
    t.ok(Math.abs(clock.time.now() - time()) <= 1010)
  })
}

for (const [how, ms] of [
  ['suspend', 1000],
  ['suspend', 7_200_000],
  ['freeze', 300_000]
] as const) {
  t.test(`after ${how} for ${ms} ms nothing is decided before a measurement`, async (t) => {
    const made = measuring()
    for (let count = 0; count < 20; count++) {
      made.ask()
      made.wait(317)
    }
    made[how](ms)
    // Where both clocks stood still, an answer shows it first.
    if (how === 'freeze') made.ask()
    await made.clock.time.ready()
    t.ok(made.asked.count >= 2 && made.asked.count <= 4, `${made.asked.count} requests`)
    t.ok(Math.abs(made.clock.time.now() - made.time()) <= 1010, `${made.clock.time.now() - made.time()} ms off`)
    t.equal(made.clock.time.ready(), undefined)
  })
}

t.test('one odd server changes nothing but is asked about', async (t) => {
  const { clock, ask, time, asked } = measuring(40_000)
  ask()
  const before = clock.offset()
  ask(10, 0.5, 20_000)
  t.equal(clock.offset(), before)
  t.ok(clock.time.ready(), 'whoever decides waits for a measurement')
  await clock.time.ready()
  t.equal(asked.count, 1, 'one that agrees with what was known ends it')
  ask(10, 0.5, 20_000)
  ask(10, 0.5, -20_000)
  ask(10, 0.5, 20_000)
  t.ok(Math.abs(clock.offset() - before) < 600, 'those that contradict each other are not believed')
  ask(10, 0.5, 20_000)
  ask(10, 0.5, 20_000)
  t.ok(Math.abs(clock.time.now() - time() - 20_000) < 600, 'three that agree are')
})

t.test('a Date that a busy server made a moment before raises no doubt, but three that agree count', async (t) => {
  const { clock, ask, time, wait } = measuring()
  const settle = () => {
    for (let count = 0; count < 9; count++) {
      ask()
      wait(317)
    }
  }
  settle()
  for (const late of [-900, 900]) {
    for (let part = 0; part < 9; part++) {
      ask(10, 0.5, late)
      t.equal(clock.time.ready(), undefined)
      t.ok(Math.abs(clock.time.now() - time()) < 60)
      settle()
    }
  }
  ask(10, 0.5, -5000)
  t.ok(clock.time.ready(), 'one that is off by more does')
  for (let count = 0; count < 3; count++) ask(10, 0.5, -1990)
  t.equal(clock.time.ready(), undefined)
  t.ok(Math.abs(clock.time.now() - time() + 1990) < 1010)
})

t.test('a store whose times contradict each other lets nothing be decided', async (t) => {
  const { clock, ask, asked } = measuring()
  ask()
  ask(10, 0.5, 20_000)
  let odd = 40_000
  clock.start(async () => {
    asked.count++
    ask(10, 0.5, (odd *= -2))
  })
  await t.rejects(clock.time.ready()!, { code: 'STORE_UNAVAILABLE', statusCode: 503 })
  t.equal(asked.count, 4)
})

t.test('an operator is told once from two seconds on, and when it is over', async (t) => {
  const { clock, ask, step, said } = machine(1500)
  ask()
  t.strictSame(said, [])
  step(-9000)
  for (let count = 0; count < 9; count++) ask()
  t.equal(said.length, 1)
  t.ok(said[0]! > 6500 && said[0]! < 8500, `${said[0]} ms`)
  step(7500)
  for (let count = 0; count < 9; count++) ask()
  t.equal(said.length, 2)
  t.ok(Math.abs(said[1]!) < 1000)
  t.ok(Math.abs(clock.offset()) < 1000)
})

t.test('a clock that tells nobody of its offset corrects it all the same', async (t) => {
  const clock = createClock({ time: fakeTime({ now: () => START, monotonic: () => 0 }) })
  clock.observe(new Date(START + 60_000).toUTCString(), clock.mark())
  t.equal(clock.time.now(), START + 60_500)
})

t.test('an answer without a Date, or with a wrong one, tells nothing', async (t) => {
  const { clock, time } = machine(40_000)
  for (const date of [undefined, '', 'yesterday', '{}']) clock.observe(date, clock.mark())
  t.equal(clock.offset(), 0)
  t.equal(clock.time.now(), time() + 40_000)
})

t.test('what has to be on time waits for one measurement, that all share, and fails where there is none', async (t) => {
  const { clock, ask } = machine(40_000)
  t.equal(clock.time.ready(), undefined, 'nothing is measured before the start')
  let requests = 0
  let answers = false
  clock.start(async () => {
    requests++
    if (!answers) throw new Error('no answer')
    ask()
  })
  t.equal(clock.time.ready(), clock.time.ready())
  await t.rejects(clock.time.ready()!, { message: 'no answer' })
  t.equal(requests, 1)
  answers = true
  await clock.time.ready()
  t.equal(requests, 2)
  t.ok(Math.abs(clock.offset() + 40_000) < 600)
  t.equal(clock.time.ready(), undefined, 'the offset is known')
})

t.test('a refusal that tells the time is a measurement', async (t) => {
  const { clock, ask } = machine(7_200_000)
  clock.start(async () => {
    ask()
    throw new Error('the signature is of another time')
  })
  await clock.time.ready()
  t.ok(Math.abs(clock.offset() + 7_200_000) < 600)
})

t.test("a store that sends no Date is asked once, and again after a step; the machine's clock counts", async (t) => {
  const { clock, step, time } = machine(40_000)
  let requests = 0
  clock.start(async () => {
    requests++
  })
  await clock.time.ready()
  t.equal(clock.time.ready(), undefined, 'it has answered')
  t.equal(requests, 1)
  step(-40_000)
  await clock.time.ready()
  t.equal(clock.time.ready(), undefined)
  t.equal(requests, 2)
  t.equal(clock.time.now(), time())
})
