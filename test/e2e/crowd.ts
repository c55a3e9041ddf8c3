import { setTimeout as wait } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import type { Client, Held } from '../../packages/client/src/client.ts'

/** How often each of a crowd writes a text into its lock, in milliseconds: whoever types on, every two seconds; whoever pauses, more often. */
const WRITE_MS = 1000

/** How long a reader's fingers rest between two keys, in milliseconds. */
const KEY_MS = 90

/** How many type besides the reader. */
export const CROWD = 59

/** Articles of the sample site, one for each of them: every twentieth is not published. */
const ARTICLES = Array.from({ length: CROWD + 3 }, (_, index) => index + 1).filter((id) => id % 20 !== 0)

/** Many who type at once, each in the title of another article. @returns what ends it */
export async function startCrowd(clients: Client[]): Promise<() => Promise<void>> {
  const ending = new AbortController()
  async function type(lock: Held, index: number): Promise<void> {
    for (let n = 0; !ending.signal.aborted; n++) {
      await wait((WRITE_MS * (n === 0 ? index / clients.length : 1)) | 0)
      // A machine that is too busy for the lock store is no matter of the page's.
      await lock.save(`A text that grows: ${'x'.repeat(n)}`).catch(() => {})
    }
    await lock.release().catch(() => {})
  }
  const locks = await Promise.all(
    clients.map(({ locks }, index) => locks.acquire({ type: 'node', id: String(ARTICLES[index]), fieldName: 'title' }))
  )
  const all = Promise.all(locks.map(type))
  return async () => {
    ending.abort()
    await all
  }
}

/** What a page's main thread did for a while. */
export interface Load {
  /** The part of the time in which it had something to do, and the part for which it had a processor, in percent. */
  busy: number
  cpu: number
  /** From a key to the frame that shows it, in milliseconds: of half of the keys at most, and of 95 %. */
  p50?: number | undefined
  p95?: number | undefined
}

/** Keeps how long each key takes to be shown. */
const WATCH_KEYS = `{
  window.keyTimes = []
  const { port1, port2 } = new MessageChannel()
  const began = []
  port1.onmessage = () => { for (const at of began.splice(0)) window.keyTimes.push(performance.now() - at) }
  addEventListener('keydown', ({ timeStamp }) => {
    requestAnimationFrame(() => { began.push(timeStamp); port2.postMessage(0) })
  }, true)
}`

/** Measures a page for a while, and until it has shown all keys. */
export async function measure(page: Page, work: () => Promise<unknown>): Promise<Load> {
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable')
  const metrics = async () => new Map((await session.send('Performance.getMetrics')).metrics.map(({ name, value }) => [name, value]))
  await page.evaluate(WATCH_KEYS)
  const before = await metrics()
  await work()
  const after = await metrics()
  const times = ((await page.evaluate('window.keyTimes')) as number[]).sort((a, b) => a - b)
  await session.detach()
  const percent = (name: string) =>
    Math.round(((after.get(name)! - before.get(name)!) / (after.get('Timestamp')! - before.get('Timestamp')!)) * 1000) / 10
  const quantile = (q: number) => (times.length > 0 ? Math.round(times[Math.floor(times.length * q)]!) : undefined)
  return { busy: percent('TaskDuration'), cpu: percent('ThreadTime'), p50: quantile(0.5), p95: quantile(0.95) }
}

/** Types so many keys into what has the focus, as fingers do: they wait for nothing. @returns what waits for the page */
export async function type(page: Page, keys: number): Promise<{ shown: Promise<unknown> }> {
  const pressed: Array<Promise<void>> = []
  for (let n = 0; n < keys; n++) {
    pressed.push(page.keyboard.press(n % 8 === 7 ? 'Space' : 'x'))
    await wait(KEY_MS)
  }
  return { shown: Promise.all(pressed) }
}
