import { spawn } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { chromium, type Page } from 'playwright-core'
import type { Test } from 'tap'
import { CHROMIUM, until } from './harness.ts'

/** A Chromium that can be killed, and started again on its profile. */
export interface Killable {
  page: Page
  /** Ends all its processes at once, as a power cut does; what is on its disk stays. */
  kill: () => Promise<void>
}

/**
 * Starts a Chromium in a process group of its own, so that nothing of it outlives `kill`. It is killed when the test ends.
 *
 * @param profile the folder of what it keeps
 */
export async function startKillable(t: Test, profile: string): Promise<Killable> {
  // It tells its port in a file, which an earlier one has left there.
  const portFile = join(profile, 'DevToolsActivePort')
  rmSync(portFile, { force: true })
  const child = spawn(
    CHROMIUM,
    [
      '--headless=new',
      '--remote-debugging-port=0',
      `--user-data-dir=${profile}`,
      '--no-first-run',
      '--disable-background-networking',
      ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
      'about:blank'
    ],
    { detached: true, stdio: 'ignore' }
  )
  const group = -child.pid!
  /** @returns whether there was anything left */
  function signal(what: NodeJS.Signals | 0): boolean {
    try {
      return process.kill(group, what)
    } catch {
      return false
    }
  }
  async function kill(): Promise<void> {
    signal('SIGKILL')
    await until(async () => !signal(0))
  }
  t.teardown(kill)
  let port = ''
  await until(async () => {
    try {
      ;[port = ''] = readFileSync(portFile, 'utf8').split('\n')
    } catch {}
    return port
  })
  const browser = await chromium.connectOverCDP(`http://127.0.0.1:${port}`)
  const page = await browser.contexts()[0]!.newPage()
  return { page, kill }
}
