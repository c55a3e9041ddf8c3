import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { Worker } from 'node:worker_threads'
import type { Test } from 'tap'
import { recording } from '../fixtures/recordings.ts'

export const JSONAPI = { 'content-type': 'application/vnd.api+json' }
export const individual = recording('jsonapi-individual-daily-editor').response.body
export const uuid: string = individual.data.id
export const daily = '/jsonapi/publisher_container/daily'
const entryPoint = recording('jsonapi-entrypoint-anonymous').response.body

export type Script = (response: ServerResponse, request: IncomingMessage) => void

export interface ScriptedCms {
  url: string
  /** What the requests of one kind are answered with, instead of what a healthy CMS says. */
  odd: { is: (line: string) => boolean; script: Script } | undefined
  /** `GET /jsonapi/...`, decoded, in the order of their coming. */
  lines: string[]
  /** Stops listening, so that connections are refused, and listens again in the same place. */
  down: () => Promise<void>
  up: () => Promise<void>
}

/** A CMS with one edition, recorded ones' answers and a real socket, that a test makes ill as it likes. */
export async function startScriptedCms(t: Test): Promise<ScriptedCms> {
  const server = createServer(async (request, response) => {
    const line = `${request.method} ${decodeURIComponent(request.url!)}`
    cms.lines.push(line)
    if (cms.odd?.is(line)) {
      request.resume()
      return cms.odd.script(response, request)
    }
    const sent: Buffer[] = []
    for await (const chunk of request) sent.push(chunk)
    say(response, ...healthy(line, Buffer.concat(sent).toString()))
  })
  const listen = async (port: number) => {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  }
  const down = async () => {
    if (!server.listening) return
    const closed = once(server, 'close')
    server.close()
    server.closeAllConnections()
    await closed
  }
  const port = await listen(0)
  t.teardown(down)
  const cms: ScriptedCms = {
    url: `http://127.0.0.1:${port}`,
    odd: undefined,
    lines: [],
    down,
    up: async () => {
      await listen(port)
    }
  }
  return cms
}

function healthy(line: string, sent: string): [status: number, document: object] {
  if (line === 'GET /jsonapi') return [200, entryPoint]
  if (/^(?:POST|PATCH) /.test(line)) return [200, { data: { ...individual.data, id: JSON.parse(sent).data.id ?? uuid } }]
  if (!line.includes(`${daily}/`)) return [200, { data: line.startsWith(`GET ${daily}`) ? [individual.data] : [] }]
  return line.includes(uuid) ? [200, individual] : [404, errors(404, 'not converted')]
}

/** A document of errors as Drupal writes it. */
export function errors(status: number, detail: string, pointer?: string): object {
  return {
    errors: [
      {
        title: 'T',
        status: String(status),
        detail,
        links: { via: { href: 'http://10.1.2.3:8080/' } },
        ...(pointer && { source: { pointer } })
      }
    ]
  }
}

export function say(response: ServerResponse, status: number, body: object | string, headers: Record<string, string> = JSONAPI): void {
  response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body))
}

const DEAF = `
const { createServer, connect } = require('node:net')
const { parentPort, workerData: { flag, port } } = require('node:worker_threads')
const server = createServer((socket) => { socket.on('error', () => {}).pipe(connect(port, '127.0.0.1').on('error', () => {})).pipe(socket) })
server.listen({ host: '127.0.0.1', port: 0, backlog: 1 }, () => {
  parentPort.postMessage(server.address().port)
  setImmediate(() => Atomics.wait(flag, 0, 0))
})`

/**
 * A port that listens but does not accept: its thread sleeps, and its backlog is full, so the system answers no further
 * connection. Once woken it hands everything on to the port given.
 */
export async function startDeaf(t: Test, port: number): Promise<{ url: string; wake: () => void }> {
  const flag = new Int32Array(new SharedArrayBuffer(4))
  const worker = new Worker(DEAF, { eval: true, workerData: { flag, port } })
  t.teardown(async () => {
    await worker.terminate()
  })
  const [own] = (await once(worker, 'message')) as [number]
  for (let index = 0; index < 4; index++) {
    const filler = connect(own, '127.0.0.1').on('error', () => {})
    t.teardown(() => {
      filler.destroy()
    })
  }
  return {
    url: `http://127.0.0.1:${own}`,
    wake: () => {
      Atomics.store(flag, 0, 1)
      Atomics.notify(flag, 0)
    }
  }
}
