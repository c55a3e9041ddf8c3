import { Pool } from 'undici'
import { drive, type Drive } from './drive.ts'
import { serveTasks } from './tasks.ts'

/**
 * A request as it is sent. In its path, header fields and body `{worker}` stands for the number of the worker, `{edition}`
 * for an edition that no other turn of the task is about, `{save}` for a number that never comes again, and `{etag}` for
 * the entity tag that this worker was answered last at this path.
 */
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
  /**
   * Whether they count as one: each turn of a worker sends all of them, one after the other. `last`: only the last one is
   * timed.
   */
  areOne?: boolean | 'last'
  /** The id of the first `{edition}`. */
  firstEdition?: number
}

let saves = Date.now()
/** Entity tags by worker and url. */
const etags = new Map<string, string>()

serveTasks(async ({ url, requests, areOne = false, firstEdition = 0, ...how }: Load) => {
  const pool = new Pool(url, { connections: how.concurrency, pipelining: 1 })
  const figures = await drive(how, async (worker, turn) => {
    let sent: number | undefined
    for (const request of areOne ? requests : [requests[turn % requests.length]!]) {
      if (areOne === 'last') sent = performance.now()
      await send(request, worker, turn)
    }
    return sent
  })
  await pool.close()
  return figures

  async function send({ status, headers = {}, ...request }: LoadRequest, worker: number, turn: number): Promise<void> {
    const save = String(++saves)
    const edition = String(firstEdition + turn * how.concurrency + worker - 1)
    const own = (text: string) => text.replace('{worker}', String(worker)).replace('{edition}', edition).replace('{save}', save)
    const path = own(request.path)
    const place = `${worker} ${url}${path}`
    const fields = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, own(value).replace('{etag}', () => etags.get(place)!)])
    )
    const message = { ...request, path, headers: fields, ...(request.body !== undefined && { body: own(request.body) }) }
    const answer = await pool.request(message)
    const text = await answer.body.text()
    if (answer.statusCode !== status) {
      throw new Error(`${request.method} ${path} was answered ${answer.statusCode}, not ${status}: ${text.slice(0, 500)}`)
    }
    const etag = answer.headers['etag']
    if (typeof etag === 'string') etags.set(place, etag)
  }
})
