import type { Figures } from './suite.ts'

/** How requests are sent: so many at once, for so long. */
export interface Drive {
  concurrency: number
  ms: number
}

/**
 * Keeps `concurrency` requests under way for `ms` milliseconds; every worker sends one at least.
 * @param one sends the `turn`th request of a worker, who are numbered from 1, and throws if its answer is not the expected one
 */
export async function drive({ concurrency, ms }: Drive, one: (worker: number, turn: number) => Promise<void>): Promise<Figures> {
  const latencies: number[] = []
  const started = performance.now()
  const end = started + ms
  await Promise.all(
    Array.from({ length: concurrency }, async (_, index) => {
      let sent = performance.now()
      for (let turn = 0; turn === 0 || sent < end; turn++) {
        await one(index + 1, turn)
        const answered = performance.now()
        latencies.push(answered - sent)
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
