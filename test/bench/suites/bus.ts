import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { createStore } from '#lib/table/client.ts'
import { createTable } from '#lib/table/definition.ts'
import { startRealRedis } from '../../bus/fixtures/real-redis.ts'
import { compare } from '../compare.ts'
import { quantile } from '../drive.ts'
import { startProgram, startQuoin, type Contestant } from '../processes.ts'
import type { Comparison, Figures, Suite, SuiteOptions } from '../suite.ts'

const INSTANCES = 3
const WRITES_PER_SECOND = 20
const TABLE = 'DataState'
const pathOf = (entity: number) => `/api/cloud/data-state/node/${entity}`

/** When the write behind an event was sent, in milliseconds since 1970, and through which instance. */
const SENT = /"sentAt":([\d.]+),"via":(\d)/g
const clock = () => performance.timeOrigin + performance.now()

/** Instances, each with a stream for each entity, and what they have told late. */
interface Newsroom {
  quoins: Contestant[]
  sockets: Socket[]
  latenesses: number[]
}

async function open(endpoint: string, environment: string, entities: number, busUrl?: string): Promise<Newsroom> {
  const limits = { watchersMax: '5000', watchersPerCaller: '5000', heartbeatSeconds: '600' }
  const newsroom: Newsroom = { quoins: [], sockets: [], latenesses: [] }
  for (let n = 0; n < INSTANCES; n++) {
    newsroom.quoins.push(
      await startQuoin({
        DYNAMODB_ENDPOINT: endpoint,
        ENVIRONMENT: environment,
        CMS_URL: 'http://127.0.0.1:9',
        ...limits,
        ...(busUrl && { EVENTS_BUS_URL: busUrl })
      })
    )
  }
  for (const { url } of newsroom.quoins) {
    for (let entity = 0; entity < entities; entity += 50) {
      await Promise.all(Array.from({ length: Math.min(50, entities - entity) }, (_, index) => watch(newsroom, url, entity + index)))
    }
  }
  // Until all that was read at first has been read once more, and the bus is up.
  await sleep(5000)
  newsroom.latenesses.length = 0
  return newsroom
}

/** Resolves when the first event is there. */
function watch({ quoins, sockets, latenesses }: Newsroom, url: string, entity: number): Promise<void> {
  const { hostname, port, host } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => {
      socket.write(`GET ${pathOf(entity)}/events HTTP/1.1\r\nhost: ${host}\r\naccept: text/event-stream\r\n\r\n`)
    })
    sockets.push(socket)
    socket.setEncoding('latin1').on('error', reject)
    socket.on('data', (chunk: unknown) => {
      const now = clock()
      for (const [, sentAt, via] of String(chunk).matchAll(SENT)) {
        if (quoins[Number(via)]!.url !== url) latenesses.push(now - Number(sentAt))
      }
      resolve()
    })
  })
}

/** How late watchers are told of writes through the other instances. */
async function lateness({ quoins, latenesses }: Newsroom, entities: number, ms: number): Promise<Figures> {
  latenesses.length = 0
  const writes: Array<Promise<unknown>> = []
  const started = performance.now()
  for (let n = 0; performance.now() - started < ms; n++) {
    const body = JSON.stringify({ fieldName: 'title', userData: { uid: '7', sentAt: clock(), via: n % INSTANCES } })
    writes.push(
      fetch(quoins[n % INSTANCES]!.url + pathOf(Math.floor(Math.random() * entities)), {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body
      }).then((answer) => answer.text())
    )
    await sleep(1000 / WRITES_PER_SECOND)
  }
  await Promise.all(writes)
  // The last events may still be on their way.
  await sleep(3000)
  const sorted = latenesses.toSorted((a, b) => a - b)
  return sorted.length === 0 ? {} : { p50Ms: quantile(sorted, 0.5), p99Ms: quantile(sorted, 0.99) }
}

async function run({ rounds, short, say }: SuiteOptions): Promise<Comparison[]> {
  const closing: Array<() => unknown> = []
  try {
    const { url: bus } = await startRealRedis({ teardown: (close: () => unknown) => closing.push(close) } as never)
    const { url: endpoint, close } = await startProgram('stubs/dynalite.ts')
    closing.push(close)
    const { client, destroy } = createStore({ region: 'local', endpoint })
    closing.push(destroy)
    await createTable(client, TABLE)
    const comparisons: Comparison[] = []
    for (const [entities, busUrl] of [
      [100, bus],
      [100, undefined],
      [1000, bus]
    ] as const) {
      const work = `lateness, ${INSTANCES} instances, ${entities} entities watched at each, ${busUrl ? 'with' : 'without'} a bus`
      say(work)
      const newsroom = await open(endpoint, `bench-${comparisons.length}`, entities, busUrl)
      comparisons.push(await compare(work, rounds, { Quoin: () => lateness(newsroom, entities, short ? 3000 : 10_000) }))
      for (const socket of newsroom.sockets) socket.destroy()
      for (const quoin of newsroom.quoins) await quoin.close()
    }
    return comparisons
  } finally {
    for (const close of closing.reverse()) await close()
  }
}

/** Needs redis-server: test/bus/install-redis.sh. */
export const bus: Suite = { name: 'bus', title: 'Lateness across instances', onlyNamed: true, run }
