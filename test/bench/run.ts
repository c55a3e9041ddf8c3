import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { chartOf } from './chart.ts'
import { isShown, tableOf } from './markdown.ts'
import { circumstances, losses, lower, type Results } from './results.ts'
import { coreRest, drupal } from './suites/drupal.ts'
import { bus } from './suites/bus.ts'
import { editions } from './suites/editions.ts'
import { feeds } from './suites/feeds.ts'
import { growth } from './suites/growth.ts'
import { callers, locks } from './suites/locks.ts'
import { saves } from './suites/saves.ts'
import { scale } from './suites/scale.ts'
import { start } from './suites/start.ts'
import { translation } from './suites/translation.ts'
import { units } from './suites/units.ts'

const suites = [locks, callers, feeds, editions, saves, translation, growth, start, units, scale, bus, drupal, coreRest]

const USAGE = `npm run bench [-- suite ...] [--rounds N] [--short] [--check] [--json FILE]
  suite        ${suites.map(({ name }) => name).join(', ')}; unless some are named, all but units and scale, which take minutes, bus, which needs redis-server, and drupal and core-rest, for which see test/drupal/README.md
  --rounds N   how often each contestant is measured (7; with --short 3)
  --short      only what CI compares, in four minutes
  --check      fails where Quoin is slower, as a ratio, than in test/bench/results.json, in each of up to four measurements
  --json FILE  where the results go, and a chart beside them (test/bench/results.json; with --short or --check nowhere)
npm run bench -- --table   measures nothing: the tables of docs/benchmarks.md, of test/bench/results.json`

/**
 * How often --check measures a suite again that seems slower. Other work on the machine often outlasts two measurements:
 * with seven times the work that two cores can do, `list of 50` seemed twice as slow in 23 of 100 measurements, in 4 of the
 * lower of two, and in none of the lowest of four. (By the lowest CPU times of all rounds it would have in 40.)
 */
const AGAIN = 3

const RESULTS = join(import.meta.dirname, 'results.json')

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string' },
    short: { type: 'boolean', default: false },
    check: { type: 'boolean', default: false },
    table: { type: 'boolean', default: false },
    json: { type: 'string' }
  }
})
const rounds = Number(values.rounds ?? (values.short ? 3 : 7))
if (!Number.isInteger(rounds) || rounds < 1 || positionals.some((name) => !suites.some((suite) => suite.name === name))) {
  console.error(USAGE)
  process.exit(2)
}

const committed: Results = existsSync(RESULTS) ? JSON.parse(readFileSync(RESULTS, 'utf8')) : {}
if (values.table) console.log(tableOf(committed, isShown))
else await measure()

async function measure(): Promise<void> {
  const { short, check, json = short || check ? undefined : RESULTS } = values
  const command = ['npm run bench', ...(process.argv.length > 2 ? ['--', ...process.argv.slice(2)] : [])].join(' ')
  const results: Results = {}
  const worse: string[] = []
  for (const { name, title, run } of suites.filter(({ name, onlyNamed }) => {
    if (positionals.length > 0) return positionals.includes(name)
    // What has no committed figures cannot be compared with them.
    return !onlyNamed && (!check || committed[name] !== undefined)
  })) {
    const before = committed[name]?.comparisons ?? []
    const say = (text: string) => console.error(`${name}: ${text}`)
    const measured = () => run({ rounds, short, ms: short ? 300 : 600, say })
    let comparisons = await measured()
    const most = check ? AGAIN : 0
    for (let again = 0; again < most && losses(before, comparisons).length > 0; again++) {
      say(`again, since Quoin seems slower: ${losses(before, comparisons).join('; ')}`)
      comparisons = lower(comparisons, await measured())
    }
    results[name] = { title, ...circumstances(command, rounds), comparisons }
    worse.push(...losses(before, comparisons))
    if (json) keep(json, { ...committed, ...results })
  }
  console.log(tableOf(results))
  if (check && worse.length > 0) {
    console.error(['', 'Slower than in test/bench/results.json, by more than noise:', ...worse.map((line) => `  ${line}`)].join('\n'))
    process.exitCode = 1
  }
}

function keep(json: string, newest: Results): void {
  writeFileSync(json, `${JSON.stringify(newest, null, 2)}\n`)
  writeFileSync(json.replace(/(?:\.json)?$/, '.svg'), chartOf(newest))
}
