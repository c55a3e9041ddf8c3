import { baselinesIn, type Results, type SuiteResult } from './results.ts'
import type { Comparison, Figures } from './suite.ts'

/**
 * The results as Markdown: for each suite on what it was measured, and a table of what Quoin does, and how that compares.
 * @param shown which works are in it
 */
export function tableOf(results: Results, shown: (work: string) => boolean = () => true): string {
  return Object.values(results)
    .map((result) =>
      suiteTable(
        result,
        result.comparisons.filter(({ work }) => shown(work))
      )
    )
    .join('\n')
}

/** What docs/benchmarks.md shows: one concurrency of each work. */
export function isShown(work: string): boolean {
  return !/, (?:1|128) at once/.test(work)
}

function suiteTable(
  { title, date, command, machine: { cores, cpu, node, system }, rounds }: SuiteResult,
  comparisons: Comparison[]
): string {
  const baselines = baselinesIn(comparisons)
  const names = baselines.map((name) => ` compared with ${name} |`).join('')
  const rows = comparisons.map(
    ({ work, contestants, ratios }) =>
      `| ${work} | ${absolute(Object.values(contestants)[0]!)} |${baselines.map((name) => (ratios[name] ? ` ${relative(ratios[name])} |` : ' |')).join('')}`
  )
  return [
    `**${title}**, ${date}, \`${command}\`, medians of ${rounds} rounds, on ${cores} cores of ${cpu}, Node ${node.slice(1)}, ${system}:`,
    '',
    `| | Quoin |${names}`,
    `|---|---|${baselines.map(() => '---|').join('')}`,
    ...rows,
    ''
  ].join('\n')
}

function absolute({
  requestsPerSecond,
  p50Ms,
  p99Ms,
  eventsP99Ms,
  cpuUs,
  peakMiB,
  upstreamRequests,
  storeRequests,
  storeTrips,
  pageUs,
  readyMs,
  readyCpuMs,
  readyMiB,
  readUnitsPerHour,
  readsPerHour,
  writeUnitsPerHour,
  peakReadUnitsPerSecond,
  watchedEntities,
  boardReadsPerSecond,
  usdPerHour
}: Figures): string {
  return said([
    requestsPerSecond && `${requestsPerSecond} requests/s`,
    p50Ms && p99Ms && `p50 ${p50Ms} ms, p99 ${p99Ms} ms`,
    eventsP99Ms && `events p99 ${eventsP99Ms} ms`,
    cpuUs && `${cpuUs} µs CPU`,
    peakMiB && `${peakMiB} MiB`,
    upstreamRequests && upstreamRequests > 1 && `${upstreamRequests} requests to the CMS`,
    storeRequests && `${storeRequests} to the store`,
    storeTrips && `in ${storeTrips} trips`,
    pageUs && `${pageUs} µs`,
    readyMs && `${readyMs} ms`,
    readyCpuMs && `${readyCpuMs} ms CPU`,
    readyMiB && `${readyMiB} MiB`,
    readUnitsPerHour && `${readUnitsPerHour} read units/h`,
    readsPerHour && `${readsPerHour} reads/h`,
    writeUnitsPerHour && `${writeUnitsPerHour} write units/h`,
    usdPerHour && `${usdPerHour} USD/h`,
    peakReadUnitsPerSecond && `${peakReadUnitsPerSecond} read units/s of one entity`,
    watchedEntities && `${watchedEntities} entities at an instance`,
    boardReadsPerSecond && `${boardReadsPerSecond} reads/s of boards at the CMS`
  ])
}

function relative({
  requestsPerSecond,
  p50Ms,
  p99Ms,
  eventsP99Ms,
  cpuUs,
  peakMiB,
  upstreamRequests,
  pageUs,
  readyMs,
  readyCpuMs,
  readyMiB,
  readUnitsPerHour
}: Figures): string {
  return said([
    requestsPerSecond && `**${requestsPerSecond}x** requests/s`,
    p50Ms && p99Ms && `p50 ${p50Ms}x, p99 ${p99Ms}x`,
    eventsP99Ms && `events p99 ${eventsP99Ms}x`,
    cpuUs && `CPU ${cpuUs}x`,
    peakMiB && `memory ${peakMiB}x`,
    upstreamRequests && upstreamRequests !== 1 && `**${upstreamRequests}x** the requests to the CMS`,
    pageUs && `**${pageUs}x** the time`,
    readyMs && `**${readyMs}x** the time`,
    readyCpuMs && `CPU ${readyCpuMs}x`,
    readyMiB && `memory ${readyMiB}x`,
    readUnitsPerHour && `**${readUnitsPerHour}x** the read units`
  ])
}

function said(parts: Array<string | number | false | undefined>): string {
  return parts.filter(Boolean).join('; ')
}
