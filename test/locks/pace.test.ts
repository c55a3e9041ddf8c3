import t from 'tap'
import { paceOf, READS_PER_SECOND } from '../../lib/locks/pace.ts'

t.test('how often entities are read', async (t) => {
  for (const [sizes, intervals, why] of [
    [[0, 0, 0], [500, 500, 500], 'nothing is watched'],
    [[100, 60, 40], [500, 500, 500], 'all can be read in time'],
    [[400, 0, 0], [1000, 500, 500], 'all reads are for those with locks, if there are no others'],
    [[50, 0, 1500], [500, 500, 5000], 'made-up ids do not delay entities with locks'],
    [[50, 20, 1500], [500, 500, 5769], 'nor those just opened'],
    [[600, 600, 600], [2000, 8000, 24_000], 'the others are read all the same']
  ] as Array<[number[], number[], string]>) {
    const pace = paceOf(sizes, 500)
    t.strictSame(pace.map(Math.round), intervals, why)
    const reads = pace.reduce((sum, ms, index) => sum + sizes[index]! * 1000 / ms, 0)
    t.ok(reads <= READS_PER_SECOND + 0.001, `${reads} reads a second`)
  }
})
