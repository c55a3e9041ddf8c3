import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { php, phpOptions, script } from './php.ts'

/** PHP's built-in server in front of one web root. */
export interface Server {
  url: string
  port: number
  stop: () => Promise<void>
}

export interface ServerOptions {
  web: string
  workers: number
  port: number
  /** Where php.log and php.pid go. */
  folder: string
}

const running = new Set<ChildProcess>()
process.on('exit', () => running.forEach((child) => endGroup(child.pid)))

/** Starts `php -S` on a port of the loopback address and waits for its first answer. */
export async function startServer(options: ServerOptions): Promise<Server> {
  const url = `http://127.0.0.1:${options.port}`
  const log = openSync(join(options.folder, 'php.log'), 'a')
  const child = spawn(
    php,
    [
      ...phpOptions,
      '-d',
      'opcache.enable_cli=1',
      '-d',
      'display_errors=0',
      '-d',
      'log_errors=1',
      '-S',
      `127.0.0.1:${options.port}`,
      '-t',
      options.web,
      script('router.php')
    ],
    {
      cwd: options.web,
      env: { ...process.env, PHP_CLI_SERVER_WORKERS: String(options.workers) },
      stdio: ['ignore', log, log],
      // A process group of its own: the workers do not end with their master.
      detached: true
    }
  )
  closeSync(log)
  running.add(child)
  writeFileSync(join(options.folder, 'php.pid'), String(child.pid))
  const closed = once(child, 'close')
  async function stop(): Promise<void> {
    endGroup(child.pid)
    await closed
    running.delete(child)
    rmSync(join(options.folder, 'php.pid'), { force: true })
  }
  try {
    await firstAnswer(url, child)
  } catch (error) {
    await stop()
    throw new Error(`No answer at ${url}; see ${options.folder}/php.log`, { cause: error })
  }
  return { url, port: options.port, stop }
}

function endGroup(pid: number | undefined): void {
  if (!pid) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // Gone already.
  }
}

/** Ends the server which a killed test process left running for this folder, if its id still belongs to it. */
export function endAbandoned(folder: string): void {
  const file = join(folder, 'php.pid')
  if (!existsSync(file)) return
  const pid = Number(readFileSync(file, 'utf8'))
  const command = `/proc/${pid}/cmdline`
  if (existsSync(command) && readFileSync(command, 'utf8').includes(folder)) endGroup(pid)
}

async function firstAnswer(url: string, child: ChildProcess): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    if (child.exitCode !== null) throw new Error(`php ended with ${child.exitCode}`)
    try {
      const response = await fetch(`${url}/user/login_status?_format=json`)
      const body = await response.text()
      if (response.status === 200) return
      throw new Error(`${response.status} ${body.slice(0, 500)}`)
    } catch (error) {
      if (attempt === 100 || !(error instanceof TypeError)) throw error
      await wait(50)
    }
  }
}
