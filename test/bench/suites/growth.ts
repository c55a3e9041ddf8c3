import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createCms, type Cms } from '../../../packages/drupal-stand-in/cms.ts'
import { newspaper } from '../../../dev/content.ts'
import { createEditions } from '#lib/editions/editions.ts'
import { createSite } from '#lib/editions/site/site.ts'
import { list } from '#lib/editions/list/listing.ts'
import type { Source } from '#lib/editions/list/deep.ts'
import { contentModel } from '#lib/editions/model.ts'
import { NEWEST_FIRST } from '#lib/editions/translate/order.ts'
import { createJsonapi } from '#lib/drupal/client.ts'
import { createHttp } from '#lib/http/client.ts'
import { createFeed } from '#lib/locks/feed.ts'
import { basic, enlarged } from '../../editions/site.ts'
import { comparisonOf } from '../compare.ts'
import { curvesOf, type Curve } from '../curves.ts'
import type { Suite } from '../suite.ts'
import { newCaller } from '#lib/http/calls.ts'

const OFFSETS = [0, 250, 500, 1000, 2500, 5000, 10_000]
const EDITIONS = 16_000

type Ask = (
  as: string,
  work: (editions: ReturnType<typeof createEditions>, caller: Record<string, string>) => Promise<unknown>
) => Promise<number>

/** How many requests some work makes to a sample CMS with this many editions in two bundles; what is learned stays. */
async function withCms<T>(editions: number, work: (ask: Ask, cms: Cms) => Promise<T>): Promise<T> {
  const cms = createCms({ content: enlarged(newspaper(), editions) })
  const url = await cms.listen()
  const http = createHttp({ url, timeoutMs: 60_000 })
  const quoin = createEditions({
    site: createSite({ cms: createJsonapi({ http, jsonapiPath: '/jsonapi' }), model: contentModel({}), cmsUrl: url, warn() {} })
  })
  try {
    return await work(async (as, one) => {
      const before = cms.requestLines.length
      await one(quoin, basic(as))
      return cms.requestLines.length - before
    }, cms)
  } finally {
    await http.close()
    await cms.close()
  }
}

async function byOffset(): Promise<Curve> {
  return withCms(EDITIONS, async (ask) => {
    const page = (offset: number, as: string) =>
      ask(as, (editions, caller) => editions.search('publisher_container', { limit: 20, offset, total: false }, newCaller(caller)))
    const series: Curve['series'] = { 'a caller who sees everything': [], 'a caller from whom editions are hidden': [] }
    for (const as of ['editor', 'reader']) await page(0, as)
    for (const offset of OFFSETS) {
      series['a caller who sees everything']!.push([offset, await page(offset, 'editor')])
      series['a caller from whom editions are hidden']!.push([offset, await page(offset, 'reader')])
    }
    return {
      title: 'Requests to the CMS for 20 editions of two bundles, by offset',
      x: 'offset',
      y: 'requests',
      series,
      why: 'Reading on is a line, a request for each 50 editions before the page; skipping guesses at the place by the ids, and is nearly flat.'
    }
  })
}

async function byBundles(): Promise<Curve> {
  const requests = async (bundles: number, skips: boolean) => {
    let count = 0
    const sources = Array.from({ length: bundles }, (_, bundle): Source<number> => async (offset, limit) => {
      count++
      const rows = Array.from({ length: limit }, (_, index) => 1_000_000 - (offset + index) * bundles - bundle)
      return { rows, more: true }
    })
    const nothingHidden = async () => {
      count += 2
      return true
    }
    await list({
      sources,
      order: NEWEST_FIRST,
      offset: 5000,
      limit: 20,
      total: false,
      idOf: (id) => id,
      changeTimeOf: () => NaN,
      pageMax: 50,
      ...(skips && { nothingHidden })
    })
    return count
  }
  const series: Curve['series'] = { skipping: [], 'reading on': [] }
  for (const bundles of [1, 2, 3, 5, 8]) {
    series['skipping']!.push([bundles, await requests(bundles, true)])
    series['reading on']!.push([bundles, await requests(bundles, false)])
  }
  return {
    title: 'Requests to the CMS for 20 editions at offset 5000, by bundles',
    x: 'bundles',
    y: 'requests',
    series,
    why: 'Skipping looks at a few places in each bundle, so it grows with their number; reading on takes one page more for each.'
  }
}

async function byLimit(): Promise<Curve> {
  return withCms(1200, async (ask) => {
    const page = (limit: number) =>
      ask('editor', (editions, caller) => editions.search('publisher_container', { limit, offset: 0, total: false }, newCaller(caller)))
    await page(1)
    const points: Array<[number, number]> = []
    for (const limit of [20, 50, 100, 200, 300, 400, 500]) points.push([limit, await page(limit)])
    return {
      title: 'Requests to the CMS for the first editions of two bundles, by limit',
      x: 'limit',
      y: 'requests',
      series: { 'two bundles': points },
      why: 'A page of JSON:API has 50 editions, so a request for each 50, and one for each bundle.'
    }
  })
}

async function byReferences(): Promise<Curve> {
  const series: Curve['series'] = { 'ids seen for the first time': [], 'ids seen before': [] }
  for (const count of [1, 10, 25, 50, 100]) {
    await withCms(0, async (ask) => {
      let key = 0
      const articles = Array.from({ length: count }, (_, index) => ({ target_id: index + 1 }))
      const create = (references: object[]) =>
        ask('admin', (editions, caller) =>
          editions.create(
            { type: 'daily', title: [{ value: 'T' }], field_key: [{ value: `growth-${key++}` }], field_articles: references },
            newCaller(caller)
          )
        )
      await create([])
      series['ids seen for the first time']!.push([count, await create(articles)])
      series['ids seen before']!.push([count, await create(articles)])
    })
  }
  return {
    title: 'Requests to the CMS to create an edition, by articles given as integer ids',
    x: 'articles',
    y: 'requests',
    series,
    why: 'Ids are looked up 50 at a time and remembered, since they never change: after that there is the write alone.'
  }
}

/** @param spread gives the entity that a watcher watches */
async function readsPerSecond(watchers: number, spread: (watcher: number) => number): Promise<number> {
  let reads = 0
  const feed = createFeed({
    read: async () => {
      reads++
      return []
    },
    pollMs: 500,
    heartbeatMs: 60_000
  })
  const all = await Promise.all(
    Array.from({ length: watchers }, async (_, watcher) => feed.watch([{ type: 'node', id: String(spread(watcher)) }]))
  )
  await sleep(500)
  const before = reads
  await sleep(3000)
  const found = (reads - before) / 3
  all.forEach((watcher) => watcher.leave())
  feed.close()
  return found
}

async function byWatchers(): Promise<Curve> {
  const series: Curve['series'] = { 'all at one entity': [], 'each at an entity of its own': [] }
  for (const watchers of [1, 50, 100, 250, 500, 1000]) {
    series['all at one entity']!.push([watchers, await readsPerSecond(watchers, () => 1)])
    series['each at an entity of its own']!.push([watchers, await readsPerSecond(watchers, (watcher) => watcher)])
  }
  return {
    title: 'Reads of the lock table a second for live feeds, by watchers',
    x: 'watchers',
    y: 'reads a second',
    series,
    why: 'An entity is read twice a second for all who watch it, so only entities count; from 200 on each is read less often, and it stays at 400.'
  }
}

async function memoryByWatchers(): Promise<Curve> {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc') as () => void
  const points: Array<[number, number]> = []
  for (const watchers of [250, 500, 1000, 2000]) {
    const feed = createFeed({ read: async () => [], pollMs: 60_000, heartbeatMs: 60_000 })
    collectGarbage()
    const before = process.memoryUsage().heapUsed
    const all = await Promise.all(
      Array.from({ length: watchers }, async (_, watcher) => feed.watch([{ type: 'node', id: String(watcher) }]))
    )
    for (const one of all) await one.next()
    collectGarbage()
    points.push([watchers, (process.memoryUsage().heapUsed - before) / 1024])
    all.forEach((watcher) => watcher.leave())
    feed.close()
  }
  return {
    title: 'Memory of the feeds, each of an entity of its own, by watchers',
    x: 'watchers',
    y: 'KiB of heap, without connections',
    series: { 'each at an entity of its own': points },
    why: 'A line: a watcher has a state and two timers of its own, and nothing is kept for those who have left.'
  }
}

/** What grows with what: counted, so that no clock and no other work of the machine matters. */
export const growth: Suite = {
  name: 'growth',
  title: 'Growth',
  async run({ short, say }) {
    const curves: Curve[] = []
    for (const curve of short ? [byOffset] : [byOffset, byBundles, byLimit, byReferences, byWatchers, memoryByWatchers]) {
      curves.push(await curve())
      say(
        `${curves.at(-1)!.title}: ${Object.values(curves.at(-1)!.series)
          .map((points) => points.map(([x, y]) => `${x}: ${Math.round(y)}`).join(', '))
          .join('; ')}`
      )
    }
    if (!short) writeFileSync(join(import.meta.dirname, '../growth.svg'), curvesOf(curves))
    const [skipping, reading] = Object.values(curves[0]!.series)
    return OFFSETS.slice(1).map((offset, index) =>
      comparisonOf(`20 editions at offset ${offset}`, {
        Quoin: [{ upstreamRequests: skipping![index + 1]![1] }],
        'reading on, as where editions are hidden': [{ upstreamRequests: reading![index + 1]![1] }]
      })
    )
  }
}
