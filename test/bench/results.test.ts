import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { ROOT } from '../app/fixtures/processes.ts'
import { chartOf } from './chart.ts'
import { compare, comparisonOf, median } from './compare.ts'
import { drive } from './drive.ts'
import { isShown, tableOf } from './markdown.ts'
import { memoryMiB, startProgram } from './processes.ts'
import { circumstances, losses, lower, TOLERANCE, type Results } from './results.ts'

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')
const newest: Results = JSON.parse(read('test/bench/results.json'))

t.test('a ratio is the median of what the rounds say, not that of medians', async (t) => {
  t.strictSame([median([3, 1, 2]), median([4, 1, 2, 3])], [2, 2.5])
  // The machine is twice as slow in the second round, for all alike.
  const found = comparisonOf('write', {
    Quoin: [{ cpuUs: 100, p50Ms: 2 }, { cpuUs: 200 }, { cpuUs: 110 }],
    stock: [{ cpuUs: 50 }, { cpuUs: 100 }, { cpuUs: 100 }]
  })
  t.strictSame(found, { work: 'write', contestants: { Quoin: { cpuUs: 110 }, stock: { cpuUs: 100 } }, ratios: { stock: { cpuUs: 2 } } })
  t.strictSame(
    comparisonOf('start', { Quoin: [{ readyMs: 3, readyMiB: 1 }], other: [{ readyMs: 2 }] }).ratios,
    { other: { readyMs: 1.5 } },
    'only what both have'
  )
})

t.test('contestants take turns in each round, and the first round does not count', async (t) => {
  const order: string[] = []
  const measure = (name: string, figures: number[]) => async () => {
    order.push(name)
    return { requestsPerSecond: figures.shift()! }
  }
  const { contestants } = await compare('list', 3, { a: measure('a', [1, 10, 30, 20]), b: measure('b', [1, 5, 5, 5]) })
  t.strictSame(order, ['a', 'b', 'a', 'b', 'a', 'b', 'a', 'b'])
  t.strictSame(contestants, { a: { requestsPerSecond: 20 }, b: { requestsPerSecond: 5 } })
})

t.test('load is so many requests at once, and one that fails ends it', async (t) => {
  let [running, most] = [0, 0]
  const { requestsPerSecond, p50Ms, p99Ms } = await drive({ concurrency: 3, ms: 40 }, async () => {
    most = Math.max(most, ++running)
    await new Promise((resolve) => setTimeout(resolve, 2))
    running--
  })
  t.equal(most, 3)
  t.ok(requestsPerSecond! > 10 && p50Ms! >= 1 && p99Ms! >= p50Ms!)
  let sent = 0
  await drive({ concurrency: 2, ms: -1 }, async () => {
    sent++
  })
  t.equal(sent, 2, 'one of each worker, though the time be over before')
  await t.rejects(
    drive({ concurrency: 2, ms: 1000 }, async () => {
      throw new Error('answered 500')
    }),
    { message: 'answered 500' }
  )
})

t.test('what has become worse by more than noise is a loss, and nothing else is', async (t) => {
  const works = (cpuUs: number, readyCpuMs: number) => [
    { work: 'write', contestants: {}, ratios: { stock: { cpuUs, requestsPerSecond: 1 / cpuUs } } },
    { work: 'start', contestants: {}, ratios: { imports: { readyCpuMs } } }
  ]
  const before = works(0.5, 2)
  t.strictSame(losses(before, works(0.5 * (1 + TOLERANCE), 2 * (1 + TOLERANCE))), [])
  t.strictSame(losses(before, works(0.1, 0.1)), [], 'better is no loss')
  t.strictSame(losses(before, works(5, 20)), [
    'write: 5x the CPU for a request of stock, was 0.5x',
    'start: 20x the CPU for a start of imports, was 2x'
  ])
  t.strictSame(losses([], works(5, 20)), [], 'what is new cannot be worse')
  t.strictSame(
    losses(before, lower(works(5, 20), works(0.5, 20))),
    ['start: 20x the CPU for a start of imports, was 2x'],
    'a loss shows in both of two measurements'
  )
  t.strictSame(lower(works(5, 2), works(0.5, 3)), [
    { ...works(0.5, 2)[0]!, ratios: { stock: { cpuUs: 0.5, requestsPerSecond: 0.2 } } },
    works(0.5, 2)[1]!
  ])
})

t.test('a program that has nothing left to do stays until it is closed, so that its memory can be looked at', async (t) => {
  const { pid, close } = await startProgram('contestants/imports.ts')
  await sleep(100)
  t.ok(memoryMiB(pid, 'VmRSS') > 1)
  await close()
  t.throws(() => memoryMiB(pid, 'VmRSS'), { message: `process ${pid} has ended` })
})

t.test('the committed results are of every suite, in enough rounds, and name no machine', async (t) => {
  t.strictSame(Object.keys(newest).sort(), [
    'callers',
    'core-rest',
    'drupal',
    'editions',
    'feeds',
    'growth',
    'locks',
    'start',
    'translation'
  ])
  for (const [name, { rounds, machine, comparisons }] of Object.entries(newest)) {
    t.ok(rounds >= 7, name)
    t.strictSame(Object.keys(machine), Object.keys(circumstances('', 1).machine))
    for (const { work, contestants } of comparisons) t.equal(Object.keys(contestants)[0], 'Quoin', work)
  }
  t.notMatch(JSON.stringify(newest), /\/(?:home|tmp|root|Users)\//)
})

t.test('the tables of docs/benchmarks.md and the chart are those of the committed results', async (t) => {
  t.ok(read('docs/benchmarks.md').includes(tableOf(newest, isShown)), 'npm run bench -- --table')
  t.equal(read('test/bench/results.svg'), chartOf(newest))
  t.match(chartOf(newest), /^<svg [^>]*>.*prefers-color-scheme:dark/)
  t.match(chartOf(newest), '>of one that includes what the urls are made of<', 'the legend has what one work alone is compared with, too')
})
