import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'
import { quantile } from './drive.ts'
import { serveTasks } from './tasks.ts'

/** Writes of one lock, so many a second, whether or not those before are answered. */
export interface Writes {
  url: string
  path: string
  perSecond: number
  ms: number
}

const headers = { 'content-type': 'application/json' }

serveTasks(async ({ url, path, perSecond, ms }: Writes) => {
  const pool = new Pool(url, { connections: 32, pipelining: 1 })
  const latencies: number[] = []

  async function write(turn: number): Promise<void> {
    const sent = performance.now()
    const userData = { uid: '7', name: 'Anna', sentAt: performance.timeOrigin + sent }
    const { statusCode, body } = await pool.request({
      method: 'POST',
      path,
      headers,
      body: JSON.stringify({ fieldName: 'title', userData, payload: `text ${turn}` })
    })
    const text = await body.text()
    if (statusCode !== 200) throw new Error(`a write was answered ${statusCode}: ${text.slice(0, 500)}`)
    latencies.push(performance.now() - sent)
  }

  const started = performance.now()
  const writes: Array<Promise<void>> = []
  for (let turn = 0; turn < (ms / 1000) * perSecond; turn++) {
    await sleep(Math.max(0, started + (turn * 1000) / perSecond - performance.now()))
    writes.push(write(turn))
  }
  await Promise.all(writes)
  const seconds = (performance.now() - started) / 1000
  await pool.close()
  latencies.sort((a, b) => a - b)
  return { requestsPerSecond: latencies.length / seconds, p50Ms: quantile(latencies, 0.5), p99Ms: quantile(latencies, 0.99) }
})
