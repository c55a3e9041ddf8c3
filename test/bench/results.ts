import { cpus, release, type } from 'node:os'
import type { Comparison } from './suite.ts'

/** What a suite was measured with, and on. */
export interface Circumstances {
  command: string
  /** UTC, as 2026-11-21. */
  date: string
  machine: { cores: number, cpu: string, node: string, system: string }
  rounds: number
}

export interface SuiteResult extends Circumstances {
  title: string
  comparisons: Comparison[]
}

/** The newest result of each suite, by its name. */
export type Results = Record<string, SuiteResult>

/** The machine as far as it matters; not whose it is. */
export function circumstances (command: string, rounds: number): Circumstances {
  const [cpu] = cpus()
  return {
    command,
    date: new Date().toISOString().slice(0, 10),
    machine: { cores: cpus().length, cpu: cpu!.model.trim(), node: process.version, system: `${type()} ${release()}` },
    rounds
  }
}

/** By how much requests a second may fall behind a baseline, compared with the committed ratio, before --check calls it a loss. */
export const TOLERANCE = 0.35

/**
 * What has become worse: ratios of requests a second, or of the time to start, that are beyond the tolerance from what
 * they were. Absolute times say more about the machine than about Quoin, so they are not looked at.
 */
export function losses (before: Comparison[], now: Comparison[], tolerance = TOLERANCE): string[] {
  return now.flatMap(({ work, ratios }) => Object.entries(ratios).flatMap(([baseline, { requestsPerSecond: speed, readyMs: start }]) => {
    const known = before.find((comparison) => comparison.work === work)?.ratios[baseline]
    const [was, is] = speed === undefined ? [1 / known?.readyMs!, 1 / start!] : [known?.requestsPerSecond!, speed]
    return is < was * (1 - tolerance) ? [`${work}: ${shown(is)}x of ${baseline}, was ${shown(was)}x`] : []
  }))
}

function shown (ratio: number): string {
  return ratio.toPrecision(2)
}
