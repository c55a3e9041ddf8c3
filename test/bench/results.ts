import { cpus, release, type } from 'node:os'
import type { Comparison } from './suite.ts'

/** What a suite was measured with, and on. */
export interface Circumstances {
  command: string
  /** UTC, as 2026-11-21. */
  date: string
  machine: { cores: number; cpu: string; node: string; system: string }
  rounds: number
}

export interface SuiteResult extends Circumstances {
  title: string
  comparisons: Comparison[]
}

/** All that Quoin was compared with in some works. */
export function baselinesIn(comparisons: Comparison[]): string[] {
  return [...new Set(comparisons.flatMap(({ ratios }) => Object.keys(ratios)))]
}

/** The newest result of each suite, by its name. */
export type Results = Record<string, SuiteResult>

/** The machine as far as it matters; not whose it is. */
export function circumstances(command: string, rounds: number): Circumstances {
  const [cpu] = cpus()
  return {
    command,
    date: new Date().toISOString().slice(0, 10),
    machine: {
      cores: cpus().length,
      cpu: cpu!.model.trim(),
      node: process.version,
      system: `${type()} ${release().split('.', 2).join('.')}`
    },
    rounds
  }
}

/**
 * By how much a ratio may be worse than the committed one before --check calls it a loss. On two cores with six times the
 * work that they can do, ratios of CPU time were up to 0.6 apart.
 */
export const TOLERANCE = 1

/**
 * What --check looks at: counts, and CPU time, which the other processes of a machine lengthen much less than they do
 * times; never by itself but as a ratio to that of a baseline in the same round.
 */
const GUARDED = { cpuUs: 'CPU for a request', readyCpuMs: 'CPU for a start', upstreamRequests: 'requests to the CMS' } as const

/** What has become worse than it was: one line for each ratio that is beyond the tolerance. */
export function losses(before: Comparison[], now: Comparison[], tolerance = TOLERANCE): string[] {
  const known = new Map(before.map(({ work, ratios }) => [work, ratios]))
  const found: string[] = []
  for (const { work, ratios } of now) {
    for (const [baseline, figures] of Object.entries(ratios)) {
      for (const metric of Object.keys(GUARDED) as Array<keyof typeof GUARDED>) {
        const [was, is] = [known.get(work)?.[baseline]?.[metric], figures[metric]]
        if (was !== undefined && is !== undefined && is > was * (1 + tolerance)) {
          found.push(`${work}: ${is}x the ${GUARDED[metric]} of ${baseline}, was ${was}x`)
        }
      }
    }
  }
  return found
}

/** Two measurements of the same works as one: each ratio that --check looks at is the lower of both, since noise only adds to it. */
export function lower(first: Comparison[], second: Comparison[]): Comparison[] {
  return first.map((comparison, index) => ({
    ...comparison,
    ratios: Object.fromEntries(
      Object.entries(comparison.ratios).map(([baseline, figures]) => {
        const others = second[index]!.ratios[baseline]!
        const guarded = (Object.keys(GUARDED) as Array<keyof typeof GUARDED>).filter(
          (metric) => figures[metric] !== undefined && others[metric] !== undefined
        )
        return [
          baseline,
          { ...figures, ...Object.fromEntries(guarded.map((metric) => [metric, Math.min(figures[metric]!, others[metric]!)])) }
        ]
      })
    )
  }))
}
