import t from 'tap'
import { paceOf, readsPerSecond } from '#lib/locks/pace.ts'

t.test('how often entities are read', async (t) => {
  for (const [sizes, intervals, why] of [
    [[0, 0, 0, 0], [500, 500, 500, 500], 'nothing is watched'],
    [[50, 50, 60, 40], [500, 500, 500, 500], 'all can be read in time'],
    [[400, 0, 0, 0], [1000, 500, 500, 500], 'all reads are for those with locks, if there are no others'],
    [[100, 200, 0, 0], [500, 1000, 500, 500], 'those whose locks change come first'],
    [[0, 50, 0, 1500], [500, 500, 500, 5000], 'made-up ids do not delay entities with locks'],
    [[0, 50, 20, 1500], [500, 500, 500, 5769], 'nor those just opened'],
    [[600, 600, 600, 600], [2400, 6400, 17_067, 28_444], 'the others are read all the same']
  ] as Array<[number[], number[], string]>) {
    const pace = paceOf(sizes, 500)
    t.strictSame(pace.map(Math.round), intervals, why)
    const reads = pace.reduce((sum, ms, index) => sum + (sizes[index]! * 1000) / ms, 0)
    t.ok(reads <= readsPerSecond(500) + 0.001, `${reads} reads a second`)
  }
})

t.test('200 entities are read as often as is set', async (t) => {
  for (const pollMs of [100, 500, 2000, 60_000]) {
    for (const sizes of [
      [200, 0, 0, 0],
      [0, 0, 0, 200],
      [50, 50, 50, 50]
    ]) {
      t.strictSame(paceOf(sizes, pollMs), [pollMs, pollMs, pollMs, pollMs], `every ${pollMs} ms`)
    }
  }
  t.ok(paceOf([201, 0, 0, 0], 100)[0]! > 100)
})
