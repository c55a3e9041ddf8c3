/** What was measured of one contestant in one round, or the median of that over all rounds. */
export interface Figures {
  requestsPerSecond?: number
  p50Ms?: number
  p99Ms?: number
  /** Milliseconds from sending a write until 99 of 100 watchers have its event. */
  eventsP99Ms?: number
  /** CPU time of the process under measurement for one request, in microseconds. */
  cpuUs?: number
  /** Largest resident memory of that process while it was measured, in MiB. */
  peakMiB?: number
  /** Requests to the CMS for one request. */
  upstreamRequests?: number
  /** Requests to the store for one request. */
  storeRequests?: number
  /** How often one request waits for the store: requests to it at the same time are one trip. */
  storeTrips?: number
  /** Time that the translation of one page takes, in microseconds. */
  pageUs?: number
  /** Milliseconds from the start of a process until it is ready. */
  readyMs?: number
  /** CPU time that it took until then, in milliseconds. */
  readyCpuMs?: number
  /** Read units that the engine has counted, for an hour, and the reads that they are of. */
  readUnitsPerHour?: number
  readsPerHour?: number
  writeUnitsPerHour?: number
  /** Read units in a second of the entity that takes most. */
  peakReadUnitsPerSecond?: number
  /** Entities that one instance watches. */
  watchedEntities?: number
  /** Reads at the CMS in a second, for lock boards. */
  boardReadsPerSecond?: number
  /** What the table's units cost, in US dollars. */
  usdPerHour?: number
  /** Resident memory of a process that has just become ready, in MiB. */
  readyMiB?: number
}

/** The same work done by several contestants, of whom the first is Quoin. */
export interface Comparison {
  /** What was done, such as `write, 32 at once, canned store`: the name that --check goes by. */
  work: string
  /** Medians over the rounds. */
  contestants: Record<string, Figures>
  /** By baseline: the median over the rounds of Quoin's figure divided by the baseline's of the same round. */
  ratios: Record<string, Figures>
}

export interface SuiteOptions {
  /** How often each contestant is measured, after one time that does not count. */
  rounds: number
  /** How long one contestant is measured in one round. */
  ms: number
  /** Only what CI compares. */
  short: boolean
  /** Says what is going on. */
  say: (text: string) => void
}

/** One subject of the benchmark. To add one: a file in suites/ that exports one of these, and its name in `suites` of run.ts. */
export interface Suite {
  name: string
  title: string
  /** Whether it runs only where it is named: it needs what `npm ci` does not bring. */
  onlyNamed?: true
  run: (options: SuiteOptions) => Promise<Comparison[]>
}
