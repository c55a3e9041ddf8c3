import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

/**
 * What becomes of a request: answered; lost before it arrives; lost after it was done, so that nobody hears of it; answered 500.
 */
export type Fate = 'answered' | 'dropped' | 'lost' | 'broken'

export interface Line {
  url: string
  /** How many requests there were since this was set to 0. */
  count: number
  /** What becomes of the request with this number. */
  fate: (count: number, request: { method: string; path: string; operation: string }) => Fate | Promise<Fate>
}

/** A line to a service that can fail at any request; closed when the test ends. */
export async function openLine(t: Test, target: string): Promise<Line> {
  const line: Line = { url: '', count: 0, fate: () => 'answered' }
  const server = createServer(async (given, answer) => forward(target, given, answer, await fateOf(line, given)))
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  line.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return line
}

function fateOf(line: Line, { method, url, headers }: IncomingMessage): Fate | Promise<Fate> {
  const operation = String(headers['x-amz-target'] ?? '').split('.')[1] ?? ''
  return line.fate(++line.count, { method: method!, path: url!, operation })
}

function forward(target: string, given: IncomingMessage, answer: ServerResponse, fate: Fate): void {
  if (fate === 'dropped') {
    given.socket.destroy()
    return
  }
  if (fate === 'broken') {
    answer.writeHead(500, { 'content-type': 'text/plain' }).end('broken')
    given.resume()
    return
  }
  const { host: _host, ...headers } = given.headers
  const onward = request(`${target}${given.url}`, { method: given.method, headers }, (from) => {
    if (fate === 'lost') {
      from.resume().on('end', () => given.socket.destroy())
      return
    }
    answer.writeHead(from.statusCode!, from.headers)
    from.pipe(answer)
    from.on('error', () => answer.destroy())
  })
  onward.on('error', () => answer.destroy())
  given.pipe(onward)
}
