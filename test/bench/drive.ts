import type { Figures } from './suite.ts'

/** How requests are sent: so many at once, for so long. */
export interface Drive {
  concurrency: number
  ms: number
  /** How many each worker sends, however long that takes. */
  turns?: number
}

/**
 * Keeps `concurrency` requests under way for `ms` milliseconds; every worker sends one at least.
 * @param one sends the `turn`th request of a worker, who are numbered from 1, and throws if its answer is not the expected one;
 *   resolves with when it was sent, if something went before it
 */
export async function drive(
  { concurrency, ms, turns }: Drive,
  one: (worker: number, turn: number) => Promise<number | void>
): Promise<Figures> {
  const latencies: number[] = []
  const started = performance.now()
  const end = started + ms
  await Promise.all(
    Array.from({ length: concurrency }, async (_, index) => {
      let sent = performance.now()
      for (let turn = 0; turns === undefined ? turn === 0 || sent < end : turn < turns; turn++) {
        const begun = (await one(index + 1, turn)) ?? sent
        const answered = performance.now()
        latencies.push(answered - begun)
        sent = answered
      }
    })
  )
  const seconds = (performance.now() - started) / 1000
  latencies.sort((a, b) => a - b)
  return { requestsPerSecond: latencies.length / seconds, p50Ms: quantile(latencies, 0.5), p99Ms: quantile(latencies, 0.99) }
}

/** The figure below which such a share of the figures lies. */
export function quantile(sorted: number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!
}
