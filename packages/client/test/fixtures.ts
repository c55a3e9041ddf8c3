import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { EventSource } from 'eventsource'
import type { FastifyInstance } from 'fastify'
import type { Test } from 'tap'
import { createFeed } from '../src/feed.ts'
import { createHttp, type HttpOptions } from '../src/http.ts'
import type { Later } from '../src/later.ts'
import { createLocks, type Locks, type User } from '../src/locks.ts'
import { build } from '../../../test/helper.ts'
import { startEngine } from '../../../test/locks/fixtures/engines.ts'

export const anna = { uid: '7', name: 'Anna' }
export const ben = { uid: '8', name: 'Ben' }
export const title = { type: 'node', id: '42', fieldName: 'title' }

/** Time that passes when it is told to. */
export function createTime() {
  let now = 0
  let waiting: Array<{ at: number; run: () => void }> = []
  const later: Later = (ms, run) => {
    const one = { at: now + ms, run }
    waiting.push(one)
    return () => {
      waiting = waiting.filter((other) => other !== one)
    }
  }
  /** In how many milliseconds something is to come, the next first. */
  const waits = () => waiting.map(({ at }) => at - now).sort((a, b) => a - b)
  function pass(ms: number): void {
    now += ms
    const due = waiting.filter(({ at }) => at <= now)
    waiting = waiting.filter(({ at }) => at > now)
    for (const { run } of due) run()
  }
  return { later, waits, pass }
}

export interface Sent {
  method: string
  path: string
  headers: Record<string, string>
  body: any
  keepalive: boolean | undefined
  credentials: string | undefined
}

/** What happens to a request: it gets no further, its answer does not come back, or something before Quoin answers. */
export type Fate = 'down' | 'deaf' | Response

/** Node's fetch, with what it sent, and with the fates that wait for the next requests. */
export function createWire() {
  const sent: Sent[] = []
  const fates: Fate[] = []
  let hold: { after: number; end: Promise<void> } | undefined
  async function wired(input: string | URL | Request, init: RequestInit = {}): Promise<Response> {
    const { pathname, search } = new URL(String(input))
    const count = sent.push({
      method: init.method!,
      path: pathname + search,
      headers: init.headers as Record<string, string>,
      body: init.body ? JSON.parse(String(init.body)) : undefined,
      keepalive: init.keepalive,
      credentials: init.credentials
    })
    const fate = fates.shift()
    if (hold && count > hold.after) await hold.end
    if (fate === 'down') throw new TypeError('fetch failed')
    if (fate instanceof Response) return fate
    const response = await fetch(input, init)
    if (fate !== 'deaf') return response
    await response.text()
    throw new TypeError('fetch failed')
  }
  /** Holds requests back, but for the next few, until what it returns is called. */
  function block({ passing = 0 } = {}): () => void {
    const { promise, resolve } = Promise.withResolvers<void>()
    hold = { after: sent.length + passing, end: promise }
    return () => {
      hold = undefined
      resolve()
    }
  }
  return { fetch: wired as typeof fetch, sent, fates, block }
}

export interface Seat {
  locks: Locks
  time: ReturnType<typeof createTime>
  wire: ReturnType<typeof createWire>
}

/** The application with an empty table, a client to look into that, listening, and places at it. */
export async function open(
  t: Test,
  env: Record<string, string> = {}
): Promise<{ app: FastifyInstance; store: DynamoDBDocumentClient; url: string; seat: (user?: User, options?: HttpOptions) => Seat }> {
  const { endpoint, client: store } = await startEngine(t, 'dynalite')
  const app = await build(t, { DYNAMODB_ENDPOINT: endpoint, EVENTS_POLL_MS: '100', ...env })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  function seat(user?: User, options: HttpOptions = {}): Seat {
    const time = createTime()
    const wire = createWire()
    const http = createHttp({ url, fetch: wire.fetch, ...options })
    return { locks: createLocks({ http, user, feed: createFeed({ http, EventSource, later: time.later }), later: time.later }), time, wire }
  }
  return { app, store, url, seat }
}

/** Waits until something holds. */
export async function until(holds: () => unknown): Promise<void> {
  for (const deadline = Date.now() + 5000; !(await holds());) {
    if (Date.now() > deadline) throw new Error(`never came: ${holds}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** The failure of a promise. */
export async function failureOf(promise: Promise<unknown>): Promise<any> {
  return promise.then(
    () => {
      throw new Error('it succeeded')
    },
    (error) => error
  )
}
