import { simulate, type Newsroom, type Outcome } from '../newsroom.ts'
import type { Comparison, Suite, SuiteOptions } from '../suite.ts'

/** US dollars for a million units of on-demand capacity (docs/scale.md). */
const USD = { read: 0.125, write: 0.625 }

/**
 * Thousands of read units an hour that were counted at an engine, from the table in docs/operations.md: those that the
 * machine was not too slow for.
 */
export const MEASURED: ReadonlyArray<readonly [instances: number, entities: number, kilobytes: number, thousands: number]> = [
  [1, 10, 0, 69],
  [1, 10, 40, 2713],
  [1, 100, 0, 684],
  [3, 10, 0, 219],
  [3, 10, 4, 1025],
  [3, 100, 0, 2183],
  [3, 100, 40, 28_447],
  [3, 1000, 0, 4434],
  [3, 1000, 40, 50_779],
  [10, 10, 0, 729],
  [10, 100, 0, 7223],
  [10, 100, 4, 16_845],
  [10, 100, 40, 103_223]
]

/** The newsroom of that table: 30 editors type into one article without a pause, every instance watches every entity. */
export function measuredNewsroom(instances: number, entities: number, kilobytes: number, ms: number): Newsroom {
  return {
    environment: `units-${instances}-${entities}-${kilobytes}`,
    instances,
    kilobytes,
    ms,
    hasBus: false,
    articles: 0,
    hasIdleLocks: true,
    typingMs: 2000,
    pauseMs: 0,
    editors: Array.from({ length: 30 }, () => 0),
    streams: Array.from({ length: instances * entities }, (_, index) => [index % instances, Math.floor(index / instances)] as const)
  }
}

/** How a balancer chooses an instance for an event stream: one after the other, or for an edition always the same. */
export type Balance = 'in turn' | 'by edition'

/** Today's newsroom so many times: four editions, in each of which five editors have the board open (docs/scale.md). */
export function newsroomOf(
  times: number,
  { instances, hasBus, balance, ms }: Pick<Newsroom, 'instances' | 'hasBus' | 'ms'> & { balance: Balance }
): Newsroom {
  const editions = 4 * times
  const editors = Array.from({ length: 20 * times }, (_, index) => index % editions)
  return {
    instances,
    hasBus,
    ms,
    articles: 30,
    kilobytes: 2,
    typingMs: 30_000,
    pauseMs: 90_000,
    editors,
    // Of the editors of one edition each is at another instance, as far as there are so many.
    streams: editors.map(
      (edition, index) => [(balance === 'by edition' ? edition : edition + Math.floor(index / editions)) % instances, edition] as const
    )
  }
}

function figuresOf({ writesPerHour, events, ...outcome }: Outcome) {
  const usdPerHour = (outcome.readUnitsPerHour * USD.read + outcome.writeUnitsPerHour * USD.write) / 1e6
  return {
    ...outcome,
    boardReadsPerSecond: Math.round(outcome.boardReadsPerSecond * 10) / 10,
    usdPerHour: Math.round(usdPerHour * 100) / 100
  }
}

async function run({ short, say }: SuiteOptions): Promise<Comparison[]> {
  const comparisons: Comparison[] = []
  for (const [instances, entities, kilobytes, thousands] of short ? MEASURED.slice(0, 1) : MEASURED) {
    const work = `check, ${instances} instances, ${entities} entities watched, locks of ${kilobytes} KB`
    say(work)
    const { readUnitsPerHour } = await simulate(measuredNewsroom(instances, entities, kilobytes, 20_000))
    const ratio = Math.round(readUnitsPerHour / thousands / 10) / 100
    comparisons.push({ work, contestants: { Quoin: { readUnitsPerHour } }, ratios: { 'the measured': { readUnitsPerHour: ratio } } })
  }
  for (const [times, instances] of short
    ? ([[1, 2]] as const)
    : ([
        [1, 2],
        [10, 2],
        [100, 5],
        [1000, 50]
      ] as const)) {
    for (const [hasBus, balance] of [
      [false, 'in turn'],
      [true, 'in turn'],
      [true, 'by edition']
    ] as const) {
      const work = `${times} times, ${instances} instances, ${hasBus ? 'with' : 'without'} a bus, streams ${balance}`
      say(work)
      const figures = figuresOf(await simulate(newsroomOf(times, { instances, hasBus, balance, ms: 30_000 })))
      // The largest take many minutes of CPU time.
      say(JSON.stringify(figures))
      comparisons.push({ work, contestants: { Quoin: figures }, ratios: {} })
    }
  }
  return comparisons
}

/** Simulated, so that no machine is too small or too busy for it. */
export const scale: Suite = { name: 'scale', title: 'Larger newsrooms, simulated', onlyNamed: true, run }
