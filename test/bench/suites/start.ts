import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../fixtures/free-port.ts'
import { compare } from '../compare.ts'
import { cpuUs, memoryMiB, ROOT, startProgram, startService } from '../processes.ts'
import type { Comparison, Figures, Suite, SuiteOptions } from '../suite.ts'

const SETTINGS = { ENVIRONMENT: 'bench', CMS_URL: 'http://127.0.0.1:9', DYNAMODB_ENDPOINT: 'http://127.0.0.1:9' }

/** Where the command is bundled as for the image, below this repository, whose packages it needs. */
const BUNDLE = '.data/bundle'

/** After the first answer schemas are still compiled; that is over by then. */
const SETTLED_MS = 2500

/** From the start of a process until /health/live is answered 200, and the memory that it has once all is loaded. */
async function started(script: string, env: Record<string, string>): Promise<Figures> {
  const directory = mkdtempSync(join(tmpdir(), 'quoin-bench-'))
  const begun = performance.now()
  const { pid, close } = await startService(script, { ...env, PORT: String(await freePort()) }, directory)
  const figures = ready(pid, begun)
  await sleep(SETTLED_MS)
  const readyMiB = memoryMiB(pid, 'VmRSS')
  await close()
  rmSync(directory, { recursive: true })
  return { ...figures, readyMiB }
}

/** The same of a process that imports the framework and the store's client and says so. */
async function imported(): Promise<Figures> {
  const begun = performance.now()
  const { pid, close } = await startProgram('contestants/imports.ts')
  const figures = { ...ready(pid, begun), readyMiB: memoryMiB(pid, 'VmRSS') }
  await close()
  return figures
}

function ready(pid: number, begun: number): Figures {
  return { readyMs: performance.now() - begun, readyCpuMs: cpuUs(pid) / 1000 }
}

async function run({ rounds, say }: SuiteOptions): Promise<Comparison[]> {
  say('npm start, the image and npm run dev')
  execFileSync(process.execPath, [join(ROOT, 'dev/bundle.ts'), join(ROOT, BUNDLE)])
  const image = () => started(`${BUNDLE}/cli.js start`, SETTINGS)
  // As when the image is built: Node keeps what it has compiled.
  await image()
  const baseline = 'a process that only imports fastify and lib-dynamodb'
  return [
    await compare('npm start, until it answers /health/live', rounds, {
      Quoin: () => started('server.ts', SETTINGS),
      [baseline]: imported
    }),
    await compare('the image, until it answers /health/live', rounds, { Quoin: image, [baseline]: imported }),
    await compare('npm run dev, until it answers /health/live', rounds, { Quoin: () => started('dev/start.ts', {}), [baseline]: imported })
  ]
}

export const start: Suite = { name: 'start', title: 'Start', run }
