import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createStore } from '#lib/table/client.ts'
import { createTable } from '#lib/table/definition.ts'
import { emptyDirectory, runNode, type Running } from '../app/fixtures/processes.ts'
import { startFakeRedis } from '../bus/fixtures/fake-redis.ts'
import { hasRedis, startRealRedis } from '../bus/fixtures/real-redis.ts'
import { startHostileCms } from '../editions/hostile-cms.ts'
import { openEvents } from '../fixtures/event-source.ts'
import { hasDynoxide, startDynoxide } from '../locks/fixtures/dynoxide.ts'
import { fitsOneHolder, type Call } from '../locks/fixtures/one-holder.ts'
import { startBalancer } from './fixtures/balancer.ts'
import { call } from './fixtures/calls.ts'
import { startEngineProxy, type ProxyAnswer } from './fixtures/engine-proxy.ts'
import { startInstances } from './fixtures/instances.ts'
import { lockHistory } from './fixtures/lock-histories.ts'
import { steppingClock } from './fixtures/stepping-clock.ts'
import { startUncheckedEngine } from './fixtures/unchecked-engine.ts'

/** How long things go wrong, in all; CHAOS_SECONDS=1200 for a long run. */
const SECONDS = Number(process.env['CHAOS_SECONDS'] ?? 50)
/** Half of it for each of two engines. */
const MS = (SECONDS * 1000) / (hasDynoxide ? 2 : 1)
/** How long a twin may take until it shows what it lacks, in milliseconds. */
const TWIN_MS = 90_000

const ENGINE = resolve(import.meta.dirname, 'fixtures/engine.ts')
const EDITION = '/api/collection/1'
const LOCKS = '/api/cloud/data-state/publisher_container/1'
const SAVERS = 4
const INSTANCES = 3
/** By how much the clock of an instance is set, in milliseconds. */
const STEPS = [1000, -1000, 300_000, -300_000, 7_200_000, -7_200_000]
/** How many writes an instance may send to the table in one second. Four savers and five lockers send a tenth of it. */
const WRITES_MAX = 250
/** The share of requests to the table that a proxy answers. */
const LIES = 0.002
const WRITES = /^(?:PutItem|DeleteItem|TransactWriteItems)$/
/** How long a lease of a lock lasts, less than the long steps, and how far its end may be off: the store tells the time in whole seconds, and a lease ends at one. */
const LEASE_SECONDS = 120
const LEASE_TOLERANCE_MS = 2500
const needsDynoxide = { skip: hasDynoxide ? false : 'dynoxide comes for Linux on x64 alone' } as const

/** A save that was answered 200, and the time in which it ran. */
interface Saved {
  title: string
  from: number
}

/** What a proxy before the store says, with a time of its own. */
function lie(): ProxyAnswer {
  const headers = {
    'content-type': 'text/html',
    date: new Date(Date.now() + STEPS[Math.floor(Math.random() * STEPS.length)]!).toUTCString()
  }
  return { status: 503, headers, body: '<html>Service Unavailable</html>' }
}

interface Chaos {
  /** Where instances find the engine. */
  endpoint: string
  ms: number
  /** Whether no instance is killed, and the bus stays as it is. */
  isCalm?: boolean
  /** What else goes wrong after a kill. */
  disturb?: () => Promise<void>
  /** More settings of an instance. */
  envOf?: (index: number) => Record<string, string>
  /** Whether it may end before its time. */
  isEnough?: (findings: Findings) => boolean
}

/** What went wrong for editors. */
interface Findings {
  /** Saves that were acknowledged, and not carried out exactly once. */
  notOnce: string[]
  /** Saves that were made from another state than the one that they replaced. */
  undoing: string[]
  /** Saves that went over a lock which was held when their ticket was taken. */
  over: string[]
  /** Histories of a lock that no lock with one holder has. */
  impossible: Call[][]
  /** PATCHes of the edition that ran while another one did. */
  together: string[]
  /** Leases whose end is not where it has to be, by the store's clock. */
  odd: string[]
}

/** Three instances, one of which is killed again and again, before a CMS: whether what editors were told is what was done. */
async function chaos(
  t: Test,
  { endpoint, ms, isCalm = false, disturb = async () => {}, envOf = () => ({}), isEnough = () => false }: Chaos
): Promise<Findings> {
  const patches: Array<{ title: string; at: number }> = []
  const now = Date.now()
  // Drupal itself tells two saves apart only where seconds lie between them.
  const cms = await startHostileCms(t, { now: () => now })
  const running = new Set<string>()
  const together: string[] = []
  cms.behave = async ({ method, body }, honest) => {
    if (method !== 'PATCH' || body === '{}') return undefined
    const at = performance.now()
    const { title } = JSON.parse(body).data.attributes
    if (running.size > 0) together.push(`${title} beside ${[...running].join()}`)
    running.add(title)
    const answer = await honest()
    if (answer.status === 200) patches.push({ title, at })
    running.delete(title)
    return answer
  }
  const bus = await (hasRedis ? startRealRedis : startFakeRedis)(t)
  const lines = await Promise.all(Array.from({ length: INSTANCES }, () => startBalancer(t, Number(new URL(bus.url).port))))
  const clocks = Array.from({ length: INSTANCES }, () => steppingClock(t))
  /** How many writes each instance has sent in each second. */
  const writes = Array.from({ length: INSTANCES }, () => new Map<number, number>())
  let lies = 0
  const engines = isCalm
    ? []
    : await Promise.all(
        writes.map((counts) =>
          startEngineProxy(
            t,
            endpoint,
            (command, body) => {
              const second = Math.floor(performance.now() / 1000)
              if (WRITES.test(command)) counts.set(second, (counts.get(second) ?? 0) + 1)
              return body
            },
            () => (Math.random() < LIES ? ([++lies, lie()][1] as ProxyAnswer) : undefined)
          )
        )
      )
  const { url, kill } = await startInstances(t, INSTANCES, (index) => ({
    ENVIRONMENT: 'chaos',
    CMS_URL: cms.url,
    CMS_AUTH: 'basic',
    CMS_USER: 'editor',
    CMS_PASSWORD: 'editor',
    DYNAMODB_ENDPOINT: engines[index] ?? endpoint,
    ...clocks[index]!.env,
    EDITION_LOCKS: 'enforce',
    LOCK_LEASE_SECONDS: String(LEASE_SECONDS),
    EVENTS_BUS_URL: `redis://127.0.0.1:${lines[index]!.port}`,
    heartbeatSeconds: '2',
    ...envOf(index)
  }))
  const until = performance.now() + ms
  const saved: Saved[] = []
  const held: Array<{ from: number; to: number }> = []
  const histories: Call[][] = []
  const odd: string[] = []
  const statuses = new Map<number, number>()
  const times = { kills: 0, 'restarts of the bus': 0, cuts: 0, 'clock steps': 0 }
  let hasEnough = false
  const isOver = () => performance.now() > until || (hasEnough ||= isEnough(findings()))

  function findings(): Findings {
    const titles = patches.map(({ title }) => title)
    const atOf = new Map(patches.map(({ title, at }) => [title, at]))
    const timesOf = Map.groupBy(titles, (title) => title)
    return {
      notOnce: saved.filter(({ title }) => timesOf.get(title)?.length !== 1).map(({ title }) => title),
      undoing: titles.filter((title, index) => index > 0 && title.split(' ').at(-1) !== titles[index - 1]!.split(' ')[0]),
      over: saved
        .filter(({ title, from }) => held.some((lock) => lock.from <= from && atOf.get(title)! <= lock.to))
        .map(({ title }) => title),
      impossible: [],
      together,
      odd
    }
  }

  /** Each title names the one that it was made from, so a save that undoes another shows in the titles. */
  async function save(saver: number): Promise<void> {
    for (let count = 0; !isOver(); count++) {
      const { status, etag, body } = await call(url + EDITION, 'GET')
      if (status !== 200) await sleep(50)
      else {
        const title = `${saver}.${count} after ${String(body.title[0].value).split(' ')[0]}`
        const from = performance.now()
        const reply = await call(url + EDITION, 'POST', {
          body: { title: [{ value: title }] },
          headers: { 'if-match': etag!, 'x-user-uid': `saver-${saver}` }
        })
        statuses.set(reply.status, (statuses.get(reply.status) ?? 0) + 1)
        if (reply.status === 200) saved.push({ title, from })
        await sleep(Math.random() * 100)
      }
    }
  }

  async function lock(): Promise<void> {
    while (!isOver()) {
      const sentAt = Date.now()
      const { status, expires } = await call(url + LOCKS, 'POST', { body: { fieldName: 'title', userData: { uid: 'locker' } } })
      const from = performance.now()
      const [earliest, latest] = [sentAt, Date.now()].map((at) => at + LEASE_SECONDS * 1000)
      if (status === 200 && !isCalm && (expires < earliest! - LEASE_TOLERANCE_MS || expires > latest! + LEASE_TOLERANCE_MS)) {
        odd.push(`${expires - latest!} ms`)
      }
      // Where nothing else goes wrong, long enough for a save on a slow machine.
      await sleep(Math.random() * (isCalm ? 4000 : 400))
      if (status === 200) held.push({ from, to: performance.now() })
      while ((await call(`${url}${LOCKS}?fieldName=title&uid=locker`, 'DELETE')).status !== 200) await sleep(50)
      await sleep(Math.random() * (isCalm ? 200 : 1500))
    }
  }

  async function lockOthers(): Promise<void> {
    while (!isOver()) histories.push(await lockHistory(`${url}/api/cloud/data-state/node/${1000 + histories.length}`))
  }

  async function stepClocks(): Promise<void> {
    while (!isOver()) {
      await sleep(1000 + Math.random() * 3000)
      const index = Math.floor(Math.random() * INSTANCES)
      clocks[index]!.set(Math.random() < 0.3 ? 0 : STEPS[Math.floor(Math.random() * STEPS.length)]!)
      times['clock steps']++
    }
  }

  async function killInstances(): Promise<void> {
    while (!isOver()) {
      await sleep(1000 + Math.random() * 4000)
      await kill(Math.floor(Math.random() * INSTANCES))
      times.kills++
      await disturb()
    }
  }

  async function disturbBus(): Promise<void> {
    while (!isOver()) {
      await sleep(1000 + Math.random() * 4000)
      if (Math.random() < 0.5) {
        await bus.stop()
        await sleep(Math.random() * 2000)
        await bus.start()
        times['restarts of the bus']++
      } else {
        const line = lines[Math.floor(Math.random() * INSTANCES)]!
        line.cut()
        await sleep(Math.random() * 5000)
        line.mend()
        times.cuts++
      }
    }
  }

  /** The locks as a stream tells them that is opened again whenever it ends. */
  async function watch(): Promise<() => Promise<string[]>> {
    const locks = new Set<string>()
    const isDone = Promise.withResolvers<string[]>()
    let wanted: string | undefined
    const isUpToDate = () => [...locks].join() === wanted
    let hasEnded = false
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
          if (isUpToDate()) return isDone.resolve([...locks])
        }
        stream.close()
      }
      if (hasEnded) return undefined
      await sleep(100)
      return follow()
    }
    const following = follow()
    following.catch(isDone.reject)
    return async () => {
      const { body } = await call(url + LOCKS, 'GET')
      wanted = body.data.Items.map(({ fieldName, version }: any) => `${fieldName} ${version}`).join()
      // It may have heard of everything before.
      if (isUpToDate()) {
        hasEnded = true
        isDone.resolve([...locks])
      }
      return isDone.promise
    }
  }

  if (isCalm) {
    await Promise.all([...Array.from({ length: SAVERS }, (_, saver) => save(saver)), lock()])
    return findings()
  }
  const watchers = await Promise.all([1, 2, 3].map(watch))
  await Promise.all([
    ...Array.from({ length: SAVERS }, (_, saver) => save(saver)),
    lock(),
    lockOthers(),
    killInstances(),
    disturbBus(),
    stepClocks()
  ])
  const calls = histories.flat()
  t.comment(
    `${saved.length} saves acknowledged of ${[...statuses.values()].reduce((sum, count) => sum + count, 0)}, ${patches.length} carried out, ${held.length} locks held, ${histories.length} histories of locks with ${calls.length} calls, ${calls.filter(({ outcome }) => !outcome).length} of them unanswered; ${JSON.stringify(times)}; answers ${JSON.stringify([...statuses])}`
  )
  const perSecond = writes.map((counts) => [0, ...counts.values()].sort((one, other) => one - other))
  t.comment(
    `${lies} answers with another Date; writes a second of each instance: ${perSecond.map((counts) => `median ${counts.at(counts.length >> 1)}, p99 ${counts.at(Math.floor(counts.length * 0.99))}, most ${counts.at(-1)}`).join('; ')}`
  )
  for (const counts of perSecond) t.ok(counts.at(-1)! <= WRITES_MAX, `at most ${WRITES_MAX} writes a second: ${counts.at(-1)}`)

  while ((await call(url + LOCKS, 'POST', { body: { fieldName: 'title', userData: { uid: 'last' } } })).status !== 200) await sleep(100)
  for (const isUpToDate of watchers) t.match(await isUpToDate(), [/^title /], "a watcher's last state is the table's")
  return { ...findings(), impossible: histories.filter((history) => !fitsOneHolder(history)) }
}

function isSound(t: Test, { notOnce, undoing, over, impossible, together, odd }: Findings): void {
  t.strictSame(notOnce, [], 'every acknowledged save was carried out exactly once')
  t.strictSame(undoing, [], 'each was made from what the one before it left')
  t.strictSame(over, [], 'none went over a lock that was held when its ticket was taken')
  t.strictSame(impossible, [], 'the histories of locks fit one holder')
  t.strictSame(together, [], 'no two were at the CMS at once')
  t.strictSame(odd, [], "leases end by the store's clock")
}

/** An engine that has transactions. */
async function startStore(t: Test): Promise<string> {
  const { endpoint, close } = await startDynoxide()
  t.teardown(close)
  const { client, destroy } = createStore({ region: 'local', endpoint })
  await createTable(client, 'DataState')
  destroy()
  return endpoint
}

t.test('saves and locks through three instances that are killed at random', needsDynoxide, async (t) => {
  isSound(t, await chaos(t, { endpoint: await startStore(t), ms: MS }))
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
  const endpoint = `http://127.0.0.1:${port}`
  const { client, destroy } = createStore({ region: 'local', endpoint })
  await createTable(client, 'DataState')
  destroy()
  isSound(
    t,
    await chaos(t, {
      endpoint,
      ms: MS,
      disturb: async () => {
        if (Math.random() < 0.3) await start()
      }
    })
  )
})

t.test('without tickets saves are lost', needsDynoxide, async (t) => {
  // Tickets of another environment are none to an instance.
  const envOf = (index: number) => ({ ENVIRONMENT: `chaos-${index}`, EDITION_LOCKS: 'off' })
  const { undoing } = await chaos(t, {
    endpoint: await startStore(t),
    ms: TWIN_MS,
    isCalm: true,
    envOf,
    isEnough: ({ undoing }) => undoing.length > 0
  })
  t.ok(undoing.length > 0)
})

t.test('without the checks in the transaction locks are saved over', needsDynoxide, async (t) => {
  const endpoint = await startUncheckedEngine(t, await startStore(t))
  const { over } = await chaos(t, { endpoint, ms: TWIN_MS, isCalm: true, isEnough: ({ over }) => over.length > 0 })
  t.ok(over.length > 0)
})
