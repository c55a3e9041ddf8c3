import { setTimeout as sleep } from 'node:timers/promises'
import { compare } from '../compare.ts'
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

/** How long the store takes for an answer, and how many save at once. */
const stores = [
  { answerMs: 0, concurrency: 32, how: '32 at once' },
  { answerMs: 5, concurrency: 1, how: 'one after the other' }
]

interface Desk extends SuiteOptions {
  cms: Contestant
  proxy: Contestant
  store: Contestant
  load: Worker<Load>
  answerMs: number
  concurrency: number
  how: string
}

/** Saves before a CMS that answers at once and a store that does, or takes 5 ms, beside a proxy that is sent the same as the CMS. */
async function saveBeforeStubs(options: SuiteOptions): Promise<Comparison[]> {
  const comparisons: Comparison[] = []
  const more = { MORE_EDITIONS: String(32 * QUIET_TURNS) }
  const cms = await startProgram('stubs/cms.ts', more)
  const proxy = await startProgram('contestants/http-proxy.ts', { CMS_URL: cms.url })
  const load = await startWorker<Load>('load.ts')
  try {
    for (const how of options.short ? stores.slice(0, 1) : stores) {
      const store = await startProgram('stubs/store.ts', { ANSWER_MS: String(how.answerMs) })
      const desk: Desk = { ...options, ...how, cms, proxy, store, load }
      try {
        for (const work of works) if (!options.short || work.isShort) comparisons.push(await compareSaves(desk, work))
      } finally {
        await store.close()
      }
    }
    return comparisons
  } finally {
    for (const each of [load, proxy, cms]) await each.close()
  }
}

async function compareSaves(desk: Desk, { name, requests, isQuiet, env }: Work): Promise<Comparison> {
  const { cms, proxy, store, load, rounds, ms, answerMs, concurrency, how, say } = desk
  const work = `${name}, ${how}, store of ${answerMs} ms`
  say(work)
  const settings = { CMS_URL: cms.url, DYNAMODB_ENDPOINT: store.url, ENVIRONMENT: 'bench' }
  const quoin = await startQuoin({ ...settings, ...env })
  const task = { url: quoin.url, requests, areOne: true, concurrency, ms, firstEdition: FIRST_MORE }
  try {
    let lastAt = -Infinity
    /** Each edition once, with a pause before, or the same ones for so long. */
    async function saves(how: Partial<Load> = {}): Promise<Figures> {
      return load.run({ ...task, ...(isQuiet && { turns: QUIET_TURNS }), ...how }).finally(() => {
        lastAt = performance.now()
      })
    }
    const quiet = () => sleep(isQuiet ? Math.max(0, lastAt + QUIET_MS - performance.now()) : 0)

    // What If-Match names has to be read once.
    await load.run({ ...task, requests: [read], turns: 1, concurrency: 32 })
    await saves({ ms: WARM_UP_MS })
    await quiet()
    await askedOf(cms.url)
    await storeRequestsOf(store.url)
    await saves({ concurrency: 1, turns: 1 })
    const upstream = await askedOf(cms.url)
    const counts = { upstreamRequests: upstream.length, ...countsOf(await storeRequestsOf(store.url), answerMs) }
    const replay = { requests: upstream.map(asSent), areOne: true, concurrency, ms }
    await load.run({ url: proxy.url, ...replay, ms: WARM_UP_MS })
    return await compare(work, rounds, {
      Quoin: async () => {
        await quiet()
        return { ...(await observed(quoin.pid, () => saves())), ...counts }
      },
      '@fastify/http-proxy': () => observed(proxy.pid, () => load.run({ url: proxy.url, ...replay })),
      'the CMS itself': () => load.run({ url: cms.url, ...replay })
    })
  } finally {
    await quoin.close()
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
