import type { Comparison, Figures } from './suite.ts'

type Metric = keyof Figures

/** Measures every contestant once in each round, one after the other, so that what else the machine does hits all alike. */
export async function compare(work: string, rounds: number, contestants: Record<string, () => Promise<Figures>>): Promise<Comparison> {
  const samples: Record<string, Figures[]> = Object.fromEntries(Object.keys(contestants).map((name) => [name, []]))
  for (let round = 0; round <= rounds; round++) {
    for (const [name, measure] of Object.entries(contestants)) {
      const figures = await measure()
      // The first round is the warm-up.
      if (round > 0) samples[name]!.push(figures)
    }
  }
  return comparisonOf(work, samples)
}

/** @param samples figures by contestant and round, of as many rounds for each; Quoin comes first */
export function comparisonOf(work: string, samples: Record<string, Figures[]>): Comparison {
  const [own, ...baselines] = Object.values(samples)
  const names = Object.keys(samples).slice(1)
  return {
    work,
    contestants: Object.fromEntries(Object.entries(samples).map(([name, rounds]) => [name, mediansOf(rounds)])),
    ratios: Object.fromEntries(
      names.map((name, index) => [name, mediansOf(own!.map((figures, round) => ratiosOf(figures, baselines[index]![round]!)))])
    )
  }
}

function ratiosOf(own: Figures, other: Figures): Figures {
  const both = metricsOf(own).filter((metric) => other[metric])
  return Object.fromEntries(both.map((metric) => [metric, own[metric]! / other[metric]!]))
}

function mediansOf(rounds: Figures[]): Figures {
  const everywhere = metricsOf(rounds[0]!).filter((metric) => rounds.every((figures) => figures[metric] !== undefined))
  return Object.fromEntries(everywhere.map((metric) => [metric, rounded(median(rounds.map((figures) => figures[metric]!)))]))
}

function metricsOf(figures: Figures): Metric[] {
  return Object.keys(figures) as Metric[]
}

/** The middle one, or the mean of the two in the middle. */
export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  return (sorted[Math.floor(middle)]! + sorted[Math.ceil(middle) - 1]!) / 2
}

/** To three digits that mean something. */
function rounded(value: number): number {
  return Number(value.toPrecision(3))
}
