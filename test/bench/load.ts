import { Pool } from 'undici'
import { drive, type Drive } from './drive.ts'
import { serveTasks } from './tasks.ts'

/** A request as it is sent; `{worker}` in its path or header fields stands for the number of the worker. */
export interface LoadRequest {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  path: string
  headers?: Record<string, string>
  body?: string
  /** The status that the answer has to have. */
  status: number
}

/** Requests to a service, sent in turn by every worker. */
export interface Load extends Drive {
  url: string
  requests: LoadRequest[]
  /** Whether they count as one: each turn of a worker sends all of them, one after the other. */
  areOne?: boolean
}

serveTasks(async ({ url, requests, areOne = false, ...how }: Load) => {
  const pool = new Pool(url, { connections: how.concurrency, pipelining: 1 })
  const figures = await drive(how, async (worker, turn) => {
    for (const request of areOne ? requests : [requests[turn % requests.length]!]) await send(request, worker)
  })
  await pool.close()
  return figures

  async function send({ status, path, headers = {}, ...request }: LoadRequest, worker: number): Promise<void> {
    const own = (text: string) => text.replace('{worker}', String(worker))
    const fields = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, own(value)]))
    const { statusCode, body } = await pool.request({ ...request, path: own(path), headers: fields })
    const text = await body.text()
    if (statusCode !== status) throw new Error(`${request.method} ${path} was answered ${statusCode}, not ${status}: ${text.slice(0, 500)}`)
  }
})
