import { once } from 'node:events'
import { connect, createServer, type AddressInfo } from 'node:net'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createStore } from '../../lib/dynamodb/client.ts'
import { createTable } from '../../lib/dynamodb/table.ts'
import { emptyDirectory, runNode, START, type Running } from '../app/fixtures/processes.ts'
import { startHostileCms } from '../editions/hostile-cms.ts'
import { openEvents } from '../fixtures/event-source.ts'
import { hasDynoxide, startDynoxide } from '../locks/fixtures/dynoxide.ts'

/** How long things go wrong, in all; CHAOS_SECONDS=1200 for a long run. */
const SECONDS = Number(process.env['CHAOS_SECONDS'] ?? 120)

const ENGINE = resolve(import.meta.dirname, 'fixtures/engine.ts')
const EDITION = '/api/collection/1'
const LOCKS = '/api/cloud/data-state/publisher_container/1'
const SAVERS = 4
const INSTANCES = 3

/** A save that was answered 200, and the time in which it ran. */
interface Saved { title: string, from: number }

/** Passes connections on to one of several ports, at random. */
async function startBalancer (t: Test): Promise<{ port: number, targets: Set<number> }> {
  const targets = new Set<number>()
  const server = createServer((caller) => {
    const ports = [...targets]
    const port = ports[Math.floor(Math.random() * ports.length)]
    if (port === undefined) return caller.destroy()
    const target = connect(port, '127.0.0.1')
    for (const [one, other] of [[caller, target], [target, caller]] as const) one.on('error', () => {}).on('close', () => other.destroy()).pipe(other)
    return undefined
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return { port: (server.address() as AddressInfo).port, targets }
}

/** A request whose answer may get lost; each has a connection of its own, so that the balancer chooses anew. */
async function call (url: string, method: string, { body, headers = {} }: { body?: object, headers?: Record<string, string> } = {}) {
  try {
    const answer = await fetch(url, { method, signal: AbortSignal.timeout(60_000), headers: { connection: 'close', 'content-type': 'application/json', ...headers }, ...(body && { body: JSON.stringify(body) }) })
    return { status: answer.status, etag: answer.headers.get('etag'), body: await answer.json() as any }
  } catch {
    return { status: 0, etag: null, body: undefined }
  }
}

/** Three instances, one of which is killed again and again, before a CMS; what was acknowledged is what was done. */
async function chaos (t: Test, endpoint: string, ms: number, disturb: () => Promise<void>): Promise<void> {
  const patches: Array<{ title: string, at: number }> = []
  const now = Date.now()
  // Drupal itself tells two saves apart only where seconds lie between them.
  const cms = await startHostileCms(t, { now: () => now })
  cms.behave = async ({ method, body }, honest) => {
    if (method !== 'PATCH') return undefined
    const at = performance.now()
    const answer = await honest()
    if (answer.status === 200) patches.push({ title: JSON.parse(body).data.attributes.title, at })
    return answer
  }
  const env = { ENVIRONMENT: 'chaos', CMS_URL: cms.url, CMS_AUTH: 'basic', CMS_USER: 'editor', CMS_PASSWORD: 'editor', DYNAMODB_ENDPOINT: endpoint, EDITION_LOCKS: 'enforce', EVENTS_HEARTBEAT_SECONDS: '2', PORT: '0' }
  const { port, targets } = await startBalancer(t)
  const url = `http://127.0.0.1:${port}`
  const instances: Array<{ running: Running, port: number }> = []

  async function start (index: number): Promise<void> {
    const running = runNode(t, START, { env })
    const [, port] = await running.says(/listening at http:\/\/127\.0\.0\.1:(\d+)/)
    instances[index] = { running, port: Number(port) }
    targets.add(Number(port))
  }

  async function kill (index: number): Promise<void> {
    const { running, port } = instances[index]!
    running.child.kill('SIGKILL')
    await running.ended
    targets.delete(port)
    await start(index)
  }

  await Promise.all(Array.from({ length: INSTANCES }, (_, index) => start(index)))
  const until = performance.now() + ms
  const isOver = () => performance.now() > until
  const saved: Saved[] = []
  const held: Array<{ from: number, to: number }> = []
  const statuses = new Map<number, number>()
  let kills = 0

  /** Each title names the one that it was made from, so a save that undoes another shows in the titles. */
  async function save (saver: number): Promise<void> {
    for (let count = 0; !isOver(); count++) {
      const { status, etag, body } = await call(url + EDITION, 'GET')
      if (status !== 200) await sleep(50)
      else {
        const title = `${saver}.${count} after ${String(body.title[0].value).split(' ')[0]}`
        const from = performance.now()
        const reply = await call(url + EDITION, 'POST', { body: { title: [{ value: title }] }, headers: { 'if-match': etag!, 'x-user-uid': `saver-${saver}` } })
        statuses.set(reply.status, (statuses.get(reply.status) ?? 0) + 1)
        if (reply.status === 200) saved.push({ title, from })
        await sleep(Math.random() * 100)
      }
    }
  }

  async function lock (): Promise<void> {
    while (!isOver()) {
      const { status } = await call(url + LOCKS, 'POST', { body: { fieldName: 'title', userData: { uid: 'locker' } } })
      const from = performance.now()
      await sleep(Math.random() * 400)
      if (status === 200) held.push({ from, to: performance.now() })
      while ((await call(`${url}${LOCKS}?fieldName=title&uid=locker`, 'DELETE')).status !== 200) await sleep(50)
      await sleep(Math.random() * 1500)
    }
  }

  async function destroy (): Promise<void> {
    while (!isOver()) {
      await sleep(1000 + Math.random() * 4000)
      await kill(Math.floor(Math.random() * INSTANCES))
      kills++
      await disturb()
    }
  }

  /** The locks as a stream tells them that is opened again whenever it ends. */
  async function watch (): Promise<() => Promise<string[]>> {
    const locks = new Set<string>()
    const isDone = Promise.withResolvers<string[]>()
    let wanted: string | undefined
    const follow = async (): Promise<void> => {
      const stream = await openEvents(t, `${url}${LOCKS}/events`).catch(() => undefined)
      if (stream?.response.statusCode === 200) {
        for (let event = await stream.next().catch(() => undefined); event; event = await stream.next().catch(() => undefined)) {
          if (event.event === 'snapshot') locks.clear()
          for (const { fieldName, version } of event.event === 'snapshot' ? event.data.data : []) locks.add(`${fieldName} ${version}`)
          if (event.event === 'locked' || event.event === 'released') {
            for (const lock of locks) if (lock.startsWith(`${event.data.fieldName} `)) locks.delete(lock)
          }
          if (event.event === 'locked') locks.add(`${event.data.fieldName} ${event.data.version}`)
          if (wanted !== undefined && [...locks].join() === wanted) return isDone.resolve([...locks])
        }
        stream.close()
      }
      await sleep(100)
      return follow()
    }
    const following = follow()
    following.catch(isDone.reject)
    return async () => {
      const { body } = await call(url + LOCKS, 'GET')
      wanted = body.data.Items.map(({ fieldName, version }: any) => `${fieldName} ${version}`).join()
      return isDone.promise
    }
  }

  const watchers = await Promise.all([1, 2, 3].map(watch))
  await Promise.all([...Array.from({ length: SAVERS }, (_, saver) => save(saver)), lock(), destroy()])
  t.comment(`${saved.length} saves acknowledged of ${[...statuses.values()].reduce((sum, count) => sum + count, 0)}, ${patches.length} carried out, ${held.length} locks held, ${kills} kills; answers ${JSON.stringify([...statuses])}`)

  const titles = patches.map(({ title }) => title)
  t.strictSame(saved.filter(({ title }) => titles.filter((other) => other === title).length !== 1), [], 'every acknowledged save was carried out exactly once')
  t.strictSame(titles.filter((title, index) => index > 0 && title.split(' ').at(-1) !== titles[index - 1]!.split(' ')[0]), [], 'each was made from what the one before it left')
  const over = saved.filter(({ title, from }) => held.some((lock) => lock.from <= from && patches.find((patch) => patch.title === title)!.at <= lock.to))
  t.strictSame(over, [], 'none went over a lock that was held when its ticket was taken')

  while ((await call(url + LOCKS, 'POST', { body: { fieldName: 'title', userData: { uid: 'last' } } })).status !== 200) await sleep(100)
  for (const isUpToDate of watchers) t.match(await isUpToDate(), [/^title /], "a watcher's last state is the table's")
}

const engines = hasDynoxide ? 2 : 1

t.test('saves and locks through three instances that are killed at random', { skip: hasDynoxide ? false : 'dynoxide comes for Linux on x64 alone' }, async (t) => {
  const { endpoint, close } = await startDynoxide()
  t.teardown(close)
  const { client, destroy } = createStore({ region: 'local', endpoint })
  await createTable(client, 'DataState')
  destroy()
  await chaos(t, endpoint, SECONDS * 1000 / engines, async () => {})
})

t.test('the same while the engine is killed too', async (t) => {
  const directory = join(emptyDirectory(t), 'data')
  const { port, targets } = await startBalancer(t)
  let engine: Running | undefined
  const start = async () => {
    engine?.child.kill('SIGKILL')
    await engine?.ended
    targets.clear()
    engine = runNode(t, [ENGINE, directory])
    const [, target] = await engine.says(/engine at http:\/\/127\.0\.0\.1:(\d+)/)
    targets.add(Number(target))
  }
  await start()
  const { client, destroy } = createStore({ region: 'local', endpoint: `http://127.0.0.1:${port}` })
  await createTable(client, 'DataState')
  destroy()
  await chaos(t, `http://127.0.0.1:${port}`, SECONDS * 1000 / engines, async () => { if (Math.random() < 0.3) await start() })
})
