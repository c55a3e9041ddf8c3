import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t, { type Test } from 'tap'
import { openEvents, type EventSource } from '../fixtures/event-source.ts'
import { build } from '../helper.ts'
import { engineNames, needsDynoxide, startEngine } from '../locks/fixtures/engines.ts'
import { DEV, runNode } from './fixtures/processes.ts'

const ENTITIES = 100
const SUBSCRIBERS = 1000
const WRITES = 100
const AT_ONCE = 4
const POLL_MS = 500

interface View {
  entityId: string
  fieldName: string
  version: string
}

/** The service as a process of its own, without a CMS. */
async function instance(t: Test, endpoint: string, port = '0') {
  const { child, ended, says } = runNode(t, DEV, {
    env: { PORT: port, LOG_LEVEL: 'warn', LOCK_LEASE_SECONDS: '0', DYNAMODB_ENDPOINT: endpoint, CMS_URL: 'http://127.0.0.1:9' }
  })
  const [, address] = await says(/^Quoin listens on (http:\S+) /m)
  return { child, ended, url: `${address}/api/cloud/data-state`, port: new URL(address!).port }
}

/** The way to an engine, with a count of the queries that pass. */
async function counted(t: Test, endpoint: string): Promise<{ endpoint: string; queries: () => number }> {
  const target = 'DynamoDB_20120810.Query'
  const sockets = new Set<Socket>()
  let queries = 0
  const server = createServer((socket) => {
    const engine = connect(Number(new URL(endpoint).port), '127.0.0.1')
    let rest = ''
    socket.on('data', (chunk) => {
      const parts = (rest + chunk.toString('latin1')).split(target)
      queries += parts.length - 1
      rest = parts.at(-1)!.slice(1 - target.length)
    })
    for (const [one, other] of [
      [socket, engine],
      [engine, socket]
    ] as const) {
      sockets.add(one)
      one.pipe(other).on('error', () => {})
      one.on('error', () => other.destroy()).on('close', () => other.destroy())
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return { endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, queries: () => queries }
}

async function put(url: string, id: number, uid: string): Promise<void> {
  const reply = await fetch(`${url}/node/${id}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ fieldName: 'title', userData: { uid }, payload: 'x'.repeat(500) })
  })
  if (reply.status !== 200) throw new Error(await reply.text())
}

function quantile(sorted: number[], part: number): number {
  return Math.round(10 * sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]!) / 10
}

for (const engine of engineNames) {
  // On a busy machine dynalite would be behind with more.
  const [subscribers, entities] = engine === 'dynalite' ? [200, 20] : [SUBSCRIBERS, ENTITIES]
  t.test(`two processes on ${engine}, ${subscribers} subscribers on ${entities} entities`, async (t) => {
    const { endpoint } = await startEngine(t, engine)
    const way = await counted(t, endpoint)
    const [here, there] = [await instance(t, way.endpoint), await instance(t, way.endpoint)]
    const streams: Array<{ at: typeof here; id: number; stream: EventSource }> = []
    for (let n = 0; n < subscribers; n += 50) {
      streams.push(
        ...(await Promise.all(
          Array.from({ length: 50 }, async (_, i) => {
            const [at, id] = [(n + i) % 2 ? here : there, Math.floor((n + i) / 2) % entities]
            const stream = await openEvents(t, `${at.url}/node/${id}/events`)
            await stream.next()
            return { at, id, stream }
          })
        ))
      )
    }

    await t.test('the store is read once an interval for each watched entity and instance, however many watch it', async (t) => {
      const [before, started] = [way.queries(), performance.now()]
      await sleep(5000)
      const rate = ((way.queries() - before) / (performance.now() - started)) * 1000
      const most = (2 * entities * 1000) / POLL_MS
      t.comment(`${Math.round(rate)} reads a second, at most ${most}`)
      t.ok(rate <= most * 1.05 && rate > most / 10)
    })

    await t.test('every subscriber notices every change', async (t) => {
      const [own, other]: [number[], number[]] = [[], []]
      async function change(n: number): Promise<void> {
        const id = n % entities
        const watching = streams.filter((one) => one.id === id)
        const written = put(here.url, id, String(n)).then(() => performance.now())
        const notices = await Promise.all(watching.map(({ stream }) => stream.next()))
        const acknowledged = await written
        for (const [index, { event, data, at }] of notices.entries()) {
          if (event !== 'locked' || data.userData.uid !== String(n)) t.fail(`${event} ${JSON.stringify(data)}`)
          const times = watching[index]!.at === here ? own : other
          times.push(Math.max(0, at - acknowledged))
        }
      }
      for (let n = 0; n < WRITES; n += AT_ONCE) await Promise.all(Array.from({ length: AT_ONCE }, (_, i) => change(n + i)))
      for (const times of [own, other]) times.sort((a, b) => a - b)
      const told = (times: number[]) =>
        `${times.length} notices: p50 ${quantile(times, 0.5)} ms, p99 ${quantile(times, 0.99)} ms, worst ${quantile(times, 1)} ms`
      t.comment(`same process, ${told(own)}`)
      t.comment(`other process, ${told(other)}`)
      t.equal(own.length + other.length, (WRITES * subscribers) / entities)
      t.ok(quantile(own, 0.5) < 20)
      t.ok(quantile(other, 0.5) < 700)
      t.ok(quantile(other, 0.99) < 4 * POLL_MS)
    })

    await t.test('when all have left nothing is read any more', async (t) => {
      for (const { stream } of streams) stream.close()
      let reads = Infinity
      for (let tries = 0; reads > 0 && tries < 10; tries++) {
        const before = way.queries()
        await sleep(2 * POLL_MS)
        reads = way.queries() - before
      }
      t.equal(reads, 0)
    })
  })

  t.test(`over ${engine} a subscriber that reconnects with Last-Event-ID across restarts misses nothing`, async (t) => {
    const { endpoint } = await startEngine(t, engine)
    const there = await instance(t, endpoint)
    let here = await instance(t, endpoint)
    const { port } = here
    let known = new Map<string, string>()
    let lastEventId: string | undefined
    let snapshots = 0
    let stream = await openEvents(t, `${here.url}/node/1/events`)

    function takeIn(from: EventSource): void {
      for (const { event, id, data } of from.events.splice(0)) {
        if (event === 'snapshot') {
          snapshots++
          known = new Map(data.data.map(({ fieldName, version }: View) => [fieldName, version]))
        } else if (event === 'locked') known.set(data.fieldName, data.version)
        else known.delete(data.fieldName)
        lastEventId = id
      }
    }

    for (let round = 0; round < 6; round++) {
      const write = async (n: number) => {
        const fieldName = `f${n % 5}`
        const init =
          n % 3 === 2
            ? { method: 'DELETE' }
            : {
                method: 'PUT',
                headers: { 'content-type': 'application/json' },
                body: JSON.stringify({ fieldName, userData: { uid: String(n) } })
              }
        await fetch(`${there.url}/node/1${n % 3 === 2 ? `?fieldName=${fieldName}` : ''}`, init)
      }
      for (let n = 0; n < 12; n++) await write(round + n)
      await sleep(round % 2 ? 700 : 100)
      here.child.kill(round % 2 ? 'SIGKILL' : 'SIGTERM')
      await Promise.all([here.ended, stream.ended])
      takeIn(stream)
      if (round !== 3) for (let n = 0; n < 7; n++) await write(7 * round + n)
      here = await instance(t, endpoint, port)
      stream = await openEvents(t, `${here.url}/node/1/events`, !lastEventId ? {} : { 'last-event-id': lastEventId })
      const { data } = (await (await fetch(`${there.url}/node/1`)).json()) as { data: { Items: View[] } }
      const present = JSON.stringify(data.Items.map(({ fieldName, version }) => [fieldName, version]))
      const told = () => JSON.stringify([...known].sort())
      for (const deadline = Date.now() + 10_000; told() !== present && Date.now() < deadline; takeIn(stream)) await sleep(50)
      await sleep(700)
      takeIn(stream)
      t.equal(told(), present, `round ${round}`)
    }
    t.ok(snapshots >= 2 && snapshots <= 6, `${snapshots} snapshots: none where nothing had changed`)
  })
}

t.test('the memory of watchers is given back when they have left', needsDynoxide, async (t) => {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as () => void
  const { endpoint } = await startEngine(t, 'dynoxide')
  const app = await build(t, { DYNAMODB_ENDPOINT: endpoint })
  const url = `${await app.listen({ host: '127.0.0.1', port: 0 })}/api/cloud/data-state`
  async function used(): Promise<number> {
    await sleep(200)
    for (let n = 0; n < 4; n++) {
      gc()
      await sleep(50)
    }
    return process.memoryUsage().heapUsed
  }
  async function round(): Promise<number> {
    const sockets = await Promise.all(
      Array.from({ length: SUBSCRIBERS }, async (_, n) => {
        const socket = connect(Number(new URL(url).port), '127.0.0.1')
        socket.write(`GET /api/cloud/data-state/node/${n % ENTITIES}/events HTTP/1.1\r\nHost: quoin\r\n\r\n`)
        await once(socket, 'data')
        return socket.resume()
      })
    )
    const during = await used()
    for (const socket of sockets) socket.destroy()
    await Promise.all(sockets.map((socket) => socket.closed || once(socket, 'close')))
    return during
  }
  await round()
  const before = await used()
  const during = await round()
  await round()
  await round()
  const after = await used()
  const kib = (bytes: number) => Math.round(bytes / 1024)
  t.comment(
    `${kib((during - before) / SUBSCRIBERS)} KiB a subscriber, both ends of its connection included; ${kib(after - before)} KiB more after 3000 have come and gone`
  )
  t.ok(during - before > SUBSCRIBERS * 1024)
  t.ok(after - before < (during - before) / 10, `${kib(before)} KiB before, ${kib(during)} with ${SUBSCRIBERS}, ${kib(after)} after`)
})
