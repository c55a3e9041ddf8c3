import { setTimeout as sleep } from 'node:timers/promises'
import { compare } from '../compare.ts'
import type { Drive } from '../drive.ts'
import type { Load, LoadRequest } from '../load.ts'
import { observed, startProgram, startQuoin, startWorker, type Contestant, type Worker } from '../processes.ts'
import type { StoreRequest } from '../stubs/asked.ts'
import type { Comparison, Figures, Suite, SuiteOptions } from '../suite.ts'
import { askedOf, asSent, CALLER, JSON_TYPE } from '../upstream.ts'

/** How long each work is done before it is measured, so that code is compiled by then. */
const WARM_UP_MS = 1500

/** Until an edition counts as one that nobody has saved lately: more than the clocks of two instances may differ by. */
const QUIET_MS = 2200

/** How many editions each worker saves in one round where each is saved once only. */
const QUIET_TURNS = 16

/** The editions of the sample CMS end before it. */
const FIRST_MORE = 61

interface Work {
  name: string
  /** What one save is, the save last. */
  requests: LoadRequest[]
  /** Of editions that nobody has saved lately. */
  isQuiet?: true
  env?: Record<string, string>
  /** Whether CI compares it. */
  isShort?: true
}

const save = (headers = {}, edition = '{worker}'): LoadRequest => ({
  method: 'POST',
  path: `/api/collection/${edition}`,
  headers: { ...CALLER, ...JSON_TYPE, ...headers },
  body: '{"title":[{"value":"Thursday, edition {save}"}]}',
  status: 200
})
const read: LoadRequest = { method: 'GET', path: '/api/collection/{worker}', headers: CALLER, status: 200 }
const ifMatch = save({ 'if-match': '{etag}' })

/** In a row: of an edition that this caller has saved just before. */
const works: Work[] = [
  { name: 'save, quiet', requests: [save({}, '{edition}')], isQuiet: true },
  { name: 'saves in a row', requests: [save()] },
  { name: 'saves in a row, with Idempotency-Key', requests: [save({ 'idempotency-key': '{save}' })], isShort: true },
  { name: 'saves in a row, with EDITION_LOCKS=enforce', requests: [save()], env: { EDITION_LOCKS: 'enforce' } },
  { name: 'saves in a row, with If-Match', requests: [ifMatch] },
  { name: 'a read and a save', requests: [read, save()] },
  { name: 'a read and a save with If-Match', requests: [read, ifMatch] }
]

/** What saves pass: the stub CMS and the stub store, which takes so long for an answer. */
interface Line {
  cms: Contestant
  store: Contestant
  answerMs: number
}

/** A service that saves. */
interface Saver {
  quoin: Contestant
  saves: (how?: Partial<Load>) => Promise<Figures>
  /** Waits until the editions of quiet saves are. */
  quiet: () => Promise<unknown>
}

/**
 * Saves before a CMS and a store that answer at once, beside a proxy and a CMS that are sent the same as the CMS; and before
 * a store that takes 5 ms, beside the same with one that answers at once.
 */
async function saveBeforeStubs(options: SuiteOptions): Promise<Comparison[]> {
  const comparisons: Comparison[] = []
  const load = await startWorker<Load>('load.ts')
  const instant = await startLine(0)
  const proxy = await startProgram('contestants/http-proxy.ts', { CMS_URL: instant.cms.url })
  try {
    for (const work of works) {
      if (!options.short || work.isShort) comparisons.push(await besideProxy(options, load, instant, proxy, work))
    }
    if (options.short) return comparisons
    const slow = await startLine(5)
    try {
      for (const work of works) comparisons.push(await besideInstantStore(options, load, slow, instant, work))
    } finally {
      await closeAll(slow.cms, slow.store)
    }
    return comparisons
  } finally {
    await closeAll(load, proxy, instant.cms, instant.store)
  }
}

async function startLine(answerMs: number): Promise<Line> {
  return {
    cms: await startProgram('stubs/cms.ts', { MORE_EDITIONS: String(32 * QUIET_TURNS) }),
    store: await startProgram('stubs/store.ts', { ANSWER_MS: String(answerMs) }),
    answerMs
  }
}

async function closeAll(...contestants: Contestant[]): Promise<void> {
  for (const each of contestants) await each.close()
}

async function besideProxy(
  { rounds, ms, say }: SuiteOptions,
  load: Worker<Load>,
  line: Line,
  proxy: Contestant,
  work: Work
): Promise<Comparison> {
  const name = `${work.name}, 32 at once, store of 0 ms`
  say(name)
  const how = { concurrency: 32, ms }
  const saver = await startSaver(load, line, work, how)
  try {
    const { upstream, counts } = await countRequests(line, saver)
    const replay = { ...how, requests: upstream, areOne: true }
    await load.run({ url: proxy.url, ...replay, ms: WARM_UP_MS })
    return await compare(name, rounds, {
      Quoin: async () => ({ ...(await measured(saver)), ...counts }),
      '@fastify/http-proxy': () => observed(proxy.pid, () => load.run({ url: proxy.url, ...replay })),
      'the CMS itself': () => load.run({ url: line.cms.url, ...replay })
    })
  } finally {
    await saver.quoin.close()
  }
}

async function besideInstantStore(
  { rounds, ms, say }: SuiteOptions,
  load: Worker<Load>,
  slow: Line,
  instant: Line,
  work: Work
): Promise<Comparison> {
  const name = `${work.name}, one after the other, store of ${slow.answerMs} ms`
  say(name)
  const how = { concurrency: 1, ms }
  const saver = await startSaver(load, slow, work, how)
  const other = await startSaver(load, instant, work, how)
  try {
    const { counts } = await countRequests(slow, saver)
    return await compare(name, rounds, {
      Quoin: async () => ({ ...(await measured(saver)), ...counts }),
      'itself with a store that answers at once': () => measured(other)
    })
  } finally {
    await closeAll(saver.quoin, other.quoin)
  }
}

async function startSaver(load: Worker<Load>, { cms, store }: Line, { requests, isQuiet, env }: Work, how: Drive): Promise<Saver> {
  const quoin = await startQuoin({ CMS_URL: cms.url, DYNAMODB_ENDPOINT: store.url, ENVIRONMENT: 'bench', ...env })
  const task = { url: quoin.url, requests, areOne: true, firstEdition: FIRST_MORE, ...how }
  let lastAt = -Infinity
  /** Each edition once, or the same ones for so long. */
  async function saves(differently: Partial<Load> = {}): Promise<Figures> {
    const figures = await load.run({ ...task, ...(isQuiet && { turns: QUIET_TURNS }), ...differently })
    lastAt = performance.now()
    return figures
  }
  // What If-Match names has to be read once.
  await load.run({ ...task, requests: [read], turns: 1, concurrency: 32 })
  await saves({ ms: WARM_UP_MS })
  return { quoin, saves, quiet: () => sleep(isQuiet ? Math.max(0, lastAt + QUIET_MS - performance.now()) : 0) }
}

async function measured({ quoin, saves, quiet }: Saver): Promise<Figures> {
  await quiet()
  return observed(quoin.pid, () => saves())
}

/** What one save asks of the CMS, and how many requests it sends. */
async function countRequests(
  { cms, store, answerMs }: Line,
  { saves, quiet }: Saver
): Promise<{ upstream: LoadRequest[]; counts: Figures }> {
  await quiet()
  await askedOf(cms.url)
  await storeRequestsOf(store.url)
  await saves({ concurrency: 1, turns: 1 })
  const upstream = await askedOf(cms.url)
  return {
    upstream: upstream.map(asSent),
    counts: { upstreamRequests: upstream.length, ...countsOf(await storeRequestsOf(store.url), answerMs) }
  }
}

async function storeRequestsOf(url: string): Promise<StoreRequest[]> {
  return (await (await fetch(`${url}/asked`)).json()) as StoreRequest[]
}

/** Of a store that answers at once nothing tells which requests were sent without waiting for the one before. */
function countsOf(requests: StoreRequest[], answerMs: number): Figures {
  const isTrip = ({ from }: StoreRequest, index: number) => requests.slice(0, index).every(({ to }) => to <= from)
  return {
    storeRequests: requests.length,
    ...(answerMs > 0 && { storeTrips: requests.filter(isTrip).length })
  }
}

export const saves: Suite = { name: 'saves', title: 'Saves', run: saveBeforeStubs }
