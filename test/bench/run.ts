import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { tableOf } from './markdown.ts'
import { circumstances, losses, type Results } from './results.ts'
import { editions } from './suites/editions.ts'
import { locks } from './suites/locks.ts'
import { start } from './suites/start.ts'

// `npm run bench [-- suite ...]`: measures Quoin against what one would run instead; see README.

const suites = [locks, editions, start]

const RESULTS = join(import.meta.dirname, 'results.json')

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string' },
    short: { type: 'boolean', default: false },
    check: { type: 'boolean', default: false },
    json: { type: 'string' }
  }
})
const unknown = positionals.filter((name) => !suites.some((suite) => suite.name === name))
if (unknown.length > 0) throw new Error(`There is no suite ${unknown.join(', ')}; there are ${suites.map(({ name }) => name).join(', ')}`)

const rounds = Number(values.rounds ?? (values.short ? 3 : 7))
const command = ['npm run bench', ...process.argv.slice(2)].join(' ')
const committed: Results = existsSync(RESULTS) ? JSON.parse(readFileSync(RESULTS, 'utf8')) : {}
const results: Results = {}
const worse: string[] = []

for (const { name, title, run } of suites.filter(({ name }) => positionals.length === 0 || positionals.includes(name))) {
  const comparisons = await run({ rounds, ms: values.short ? 500 : 1000, short: values.short, say: (text) => console.error(`${name}: ${text}`) })
  results[name] = { title, ...circumstances(command, rounds), comparisons }
  worse.push(...losses(committed[name]?.comparisons ?? [], comparisons))
}

console.log(tableOf(results))
const file = values.json ?? (values.short || values.check ? undefined : RESULTS)
if (file) writeFileSync(file, `${JSON.stringify({ ...committed, ...results }, null, 2)}\n`)
if (values.check && worse.length > 0) {
  console.error(['', 'Slower than the committed results, beyond what noise does:', ...worse.map((line) => `  ${line}`)].join('\n'))
  process.exitCode = 1
}
