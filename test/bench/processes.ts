import { fork, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../fixtures/free-port.ts'
import type { Figures } from './suite.ts'
import type { Answer } from './tasks.ts'

export const ROOT = resolve(import.meta.dirname, '../..')
const START_MS = 60_000
/** Of the times in /proc/<pid>/stat: USER_HZ is 100 on every Linux. */
const TICK_US = 10_000

/** A process of its own that answers requests. */
export interface Contestant {
  url: string
  pid: number
  close: () => Promise<void>
}

/** A process of its own that does tasks. */
export interface Worker<Task> extends Contestant {
  run: (task: Task) => Promise<Figures>
}

/** No settings of whoever runs the benchmark, and no credentials but made-up ones. */
const ENV = { PATH: process.env['PATH'], AWS_REGION: 'local', AWS_ACCESS_KEY_ID: 'local', AWS_SECRET_ACCESS_KEY: 'local' }

/** Starts a program of this directory, which sends `{ url }` once it is ready. */
export async function startProgram(file: string, env: Record<string, string> = {}): Promise<Contestant> {
  return (await forked(file, env)).contestant
}

/** Starts a program of this directory that does tasks. */
export async function startWorker<Task>(file: string, env: Record<string, string> = {}): Promise<Worker<Task>> {
  const { child, contestant } = await forked(file, env)
  async function run(task: Task): Promise<Figures> {
    child.send(task as object)
    const [answer] = (await once(child, 'message')) as [Answer]
    if ('error' in answer) throw new Error(answer.error)
    return answer.figures
  }
  return { ...contestant, run }
}

async function forked(file: string, env: Record<string, string>): Promise<{ child: ChildProcess; contestant: Contestant }> {
  const child = fork(join(import.meta.dirname, file), { env: { ...ENV, ...env }, execArgv: [] })
  const ended = once(child, 'exit')
  const [{ url }] = (await Promise.race([
    once(child, 'message'),
    ended.then(() => {
      throw new Error(`${file} did not start`)
    })
  ])) as [{ url: string }]
  return { child, contestant: { url, pid: child.pid!, close: () => end(child, ended) } }
}

/** Starts Quoin as `npm start` does, with the log that it has by default. What no setting says may be in `env` too. */
export async function startQuoin(env: Record<string, string>): Promise<Contestant> {
  const directory = mkdtempSync(join(tmpdir(), 'quoin-bench-'))
  const { close, ...running } = await startService(
    'test/app/fixtures/tuned-service.ts',
    { ...env, PORT: String(await freePort()) },
    directory
  )
  return {
    ...running,
    async close() {
      await close()
      rmSync(directory, { recursive: true })
    }
  }
}

/** Runs a script of the repository, such as `server.ts` or `cli.js start`, with its log in a file of the directory, until /health/live is answered 200. */
export async function startService(script: string, env: Record<string, string>, directory: string): Promise<Contestant> {
  const log = openSync(join(directory, 'log'), 'a')
  const [file, ...args] = script.split(' ')
  const child = spawn(process.execPath, ['-r', join(ROOT, 'config/node-version.cjs'), join(ROOT, file!), ...args], {
    cwd: directory,
    env: { ...ENV, ...env },
    stdio: ['ignore', log, 'inherit']
  })
  const ended = once(child, 'exit')
  closeSync(log)
  const url = `http://127.0.0.1:${env['PORT']}`
  const close = () => end(child, ended)
  for (const deadline = Date.now() + START_MS; Date.now() < deadline && child.exitCode === null; await sleep(5)) {
    if (await isLive(url)) return { url, pid: child.pid!, close }
  }
  await close()
  throw new Error(`${script} did not start`)
}

async function isLive(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/health/live`, { headers: { connection: 'close' } })).ok
  } catch {
    return false
  }
}

async function end(child: ChildProcess, ended: Promise<unknown>): Promise<void> {
  child.kill('SIGTERM')
  await ended
}

/** Does some work and adds to its figures what it cost the process: CPU for each request, and peak memory. */
export async function observed(pid: number, work: () => Promise<Figures>): Promise<Figures> {
  forgetPeak(pid)
  const [cpu, started] = [cpuUs(pid), performance.now()]
  const figures = await work()
  const requests = (figures.requestsPerSecond! * (performance.now() - started)) / 1000
  return { ...figures, cpuUs: (cpuUs(pid) - cpu) / requests, peakMiB: memoryMiB(pid, 'VmHWM') }
}

/** CPU time of a process so far. Source: proc_pid_stat(5), utime and stime. */
export function cpuUs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
  return (Number(fields[11]) + Number(fields[12])) * TICK_US
}

/**
 * Memory of a process. Source: proc_pid_status(5).
 * @throws {Error} for a process that has ended: while nobody has asked for its exit code it has a status, without memory
 */
export function memoryMiB(pid: number, what: 'VmHWM' | 'VmRSS'): number {
  const path = `/proc/${pid}/status`
  const line = existsSync(path) ? new RegExp(`${what}:\\s+(\\d+)`).exec(readFileSync(path, 'utf8')) : null
  if (!line) throw new Error(`process ${pid} has ended`)
  return Number(line[1]) / 1024
}

/** Source: proc_pid_clear_refs(5), 5 resets the peak. */
function forgetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5')
}
