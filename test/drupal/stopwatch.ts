/**
 * The time from a clone to a right answer and a right save on a site that Quoin has never seen:
 * `node test/drupal/stopwatch.ts`, and `node test/drupal/stopwatch.ts nodes` on the site of nodes.
 *
 * It clones this repository, installs it, names the strange site and an account in `.env`, and runs what
 * docs/content-model.md says: npm run model, npm run doctor, npm start. It ends when an edition is answered as core
 * REST answers it, and then saved. The network counts in `npm ci` alone; the lock table is an embedded engine.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { startDynamodb } from '../../dev/dynamodb.ts'
import { createStore } from '#lib/table/client.ts'
import { createTable } from '#lib/table/definition.ts'
import { differences } from './compare.ts'
import { core, signIn, type Answer } from './quoin.ts'
import { freePort } from '../fixtures/free-port.ts'
import { nodesEditions, nodesJsonapiPath, startNodes } from './nodes.ts'
import { gazette, jsonapiPath, startStrange } from './strange.ts'

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))
const USER = 'admin'

/** The sites, each with an edition and its title, and the commands that write its content model, with how each ends. */
const SITES = {
  strange: {
    start: startStrange,
    jsonapiPath,
    edition: () => 1,
    path: gazette.path,
    label: 'headline',
    // It may be one of three entity types: the command says so, and ends.
    models: [
      ['npm run model', 1],
      [`npm run model -- --entity-type=${gazette.entityType}`, 0]
    ]
  },
  nodes: {
    start: startNodes,
    jsonapiPath: nodesJsonapiPath,
    edition: ([first]: number[]) => first!,
    path: nodesEditions.path,
    label: 'title',
    models: [['npm run model', 0]]
  }
} as const
const of = SITES[process.argv[2] === 'nodes' ? 'nodes' : 'strange']
const LIMIT_MS = 900_000

const steps: Array<[name: string, seconds: number]> = []
const folder = mkdtempSync(join(tmpdir(), 'quoin-stopwatch-'))
const clone = join(folder, 'quoin')
// Of this process's environment the clone gets what any shell has.
const environment = Object.fromEntries(
  ['PATH', 'HOME', 'LANG'].flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]!]]))
)

async function timed<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
  const begin = performance.now()
  const result = await work()
  steps.push([name, (performance.now() - begin) / 1000])
  return result
}

/** Runs a command to its end. @throws {Error} with its output, where it ends otherwise than it should */
async function command(line: string, cwd: string, status = 0): Promise<void> {
  await timed(
    line.replace(REPOSITORY, '<this repository>').replace(clone, 'quoin'),
    () =>
      new Promise<void>((resolve, reject) => {
        const [name, ...args] = line.split(' ')
        const child = spawn(name!, args, { cwd, env: environment, timeout: LIMIT_MS })
        let output = ''
        for (const stream of [child.stdout, child.stderr]) {
          stream.setEncoding('utf8').on('data', (text) => {
            output += text
          })
        }
        child.on('error', reject)
        child.on('close', (code) =>
          code === status ? resolve() : reject(new Error(`${line} ended with ${code}, not ${status}:\n${output}`))
        )
      })
  )
}

/** The answer of a server that may not listen yet. */
async function firstAnswer(url: string, deadline = Date.now() + LIMIT_MS): Promise<Answer> {
  try {
    const response = await fetch(url)
    return { status: response.status, body: await response.json(), headers: response.headers }
  } catch (error) {
    if (Date.now() > deadline) throw error
    await wait(50)
    return firstAnswer(url, deadline)
  }
}

async function save(url: string, change: object): Promise<Answer> {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(change) })
  return { status: response.status, body: await response.json(), headers: response.headers }
}

async function measure(): Promise<string[]> {
  const site = await of.start()
  const { editions } = site.content as { editions: number[] }
  const id = of.edition(editions)
  const engine = await startDynamodb()
  Object.assign(process.env, { AWS_ACCESS_KEY_ID: 'local', AWS_SECRET_ACCESS_KEY: 'local' })
  const { client, destroy } = createStore({ region: 'local', endpoint: engine.endpoint })
  try {
    await createTable(client, 'DataState')
    const port = await freePort()
    await command(`git clone --quiet ${REPOSITORY} ${clone}`, folder)
    await command('npm ci --no-audit --no-fund', clone)
    writeFileSync(
      join(clone, '.env'),
      Object.entries({
        ENVIRONMENT: 'stopwatch',
        PORT: port,
        DYNAMODB_ENDPOINT: engine.endpoint,
        AWS_ACCESS_KEY_ID: 'local',
        AWS_SECRET_ACCESS_KEY: 'local',
        CMS_URL: site.url,
        CMS_JSONAPI_PATH: of.jsonapiPath,
        CMS_AUTH: 'basic',
        CMS_USER: USER,
        CMS_PASSWORD: USER,
        CMS_TIMEOUT_MS: 60_000,
        CONTENT_MODEL: 'content-model.json'
      })
        .map(([name, value]) => `${name}=${value}\n`)
        .join('')
    )
    for (const [line, status] of of.models) await command(line, clone, status)
    await command('npm run doctor', clone)
    const address = `http://127.0.0.1:${port}/api/collection/${id}`
    const session = await signIn(site, USER)
    const rest = () => core(site, session, 'GET', of.path(id))
    const server = spawn('npm', ['start'], { cwd: clone, env: environment, stdio: 'ignore', detached: true })
    try {
      const ours = await timed('npm start, and the first answer', () => firstAnswer(address))
      const lines = differences(await rest(), ours)
      const change = { [of.label]: [{ value: 'Saved by the stopwatch' }] }
      const saved = await timed('the first save', () => save(address, change))
      console.log(`Drupal ${site.version}, ${cpus().length} cores, load ${loadavg()[0]!.toFixed(1)}`)
      return [...lines, ...differences(await rest(), saved)]
    } finally {
      process.kill(-server.pid!, 'SIGTERM')
    }
  } finally {
    destroy()
    await engine.close()
    await site.stop()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 500 })
  }
}

const lines = await measure()
for (const [name, seconds] of steps) console.log(`${seconds.toFixed(1).padStart(6)} s  ${name}`)
const sum = (of: typeof steps) => of.reduce((total, [, seconds]) => total + seconds, 0).toFixed(1)
console.log(
  `${sum(steps).padStart(6)} s  from the clone to the save, ${sum(steps.filter(([name]) => !name.startsWith('npm ci')))} s without npm ci`
)
console.log(lines.length === 0 ? 'The answers are those of core REST.' : lines.join('\n'))
if (lines.length > 0) process.exitCode = 1
