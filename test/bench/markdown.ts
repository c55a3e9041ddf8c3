import type { Results, SuiteResult } from './results.ts'
import type { Comparison, Figures } from './suite.ts'

/** The results as Markdown: for each suite where and when it was measured, and the ratios. */
export function tableOf (results: Results): string {
  return Object.values(results).map(suiteTable).join('\n')
}

function suiteTable ({ title, date, command, machine, rounds, comparisons }: SuiteResult): string {
  const { cores, cpu, node, system } = machine
  return [
    `**${title}**, ${date}, \`${command}\`: ${cores} cores of ${cpu}, Node ${node.slice(1)}, ${system}; medians of ${rounds} rounds.`,
    '',
    '| | Quoin | against | |',
    '|---|---|---|---|',
    ...comparisons.flatMap(rows),
    ''
  ].join('\n')
}

function rows ({ work, contestants, ratios }: Comparison): string[] {
  const [own] = Object.values(contestants)
  return Object.entries(ratios).map(([baseline, ratio], index) => `| ${index === 0 ? work : ''} | ${index === 0 ? absolute(own!) : ''} | ${baseline} | ${relative(ratio)} |`)
}

function absolute ({ requestsPerSecond, p50Ms, p99Ms, cpuUs, peakMiB, upstreamRequests, readyMs, readyMiB }: Figures): string {
  return [
    requestsPerSecond && `${requestsPerSecond} requests/s`,
    p50Ms && `p50 ${p50Ms} ms`,
    p99Ms && `p99 ${p99Ms} ms`,
    cpuUs && `${cpuUs} µs CPU`,
    peakMiB && `${peakMiB} MiB`,
    upstreamRequests && `asks the CMS ${upstreamRequests === 1 ? 'once' : `${upstreamRequests} times`}`,
    readyMs && `${readyMs} ms`,
    readyMiB && `${readyMiB} MiB`
  ].filter(Boolean).join(', ')
}

function relative ({ requestsPerSecond, p99Ms, cpuUs, peakMiB, readyMs, readyMiB }: Figures): string {
  return [
    requestsPerSecond && `**${requestsPerSecond}x** the requests/s`,
    p99Ms && `${p99Ms}x the p99`,
    cpuUs && `${cpuUs}x the CPU`,
    peakMiB && `${peakMiB}x the memory`,
    readyMs && `**${readyMs}x** the time`,
    readyMiB && `${readyMiB}x the memory`
  ].filter(Boolean).join(', ')
}
