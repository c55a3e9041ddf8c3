import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { createBoards } from '#lib/boards/boards.ts'
import { contentModel } from '#lib/editions/model.ts'
import { viewOf } from '#lib/locks/feed-events.ts'
import { createFeed } from '#lib/locks/feed.ts'
import { recordKey, recordOf } from '#lib/locks/record.ts'
import type { Entity, LockRecord } from '#lib/locks/schemas.ts'
import { itemSize } from '#lib/table/item.ts'
import { createVersions } from '#lib/table/version.ts'
import { fakeTime } from '../fixtures/time.ts'
import { newCaller } from '#lib/http/calls.ts'

/** Instances of Quoin, who watches through them, and who writes. */
export interface Newsroom {
  /** ENVIRONMENT, which is part of each key. */
  environment?: string
  instances: number
  /** Whether instances tell each other of writes. */
  hasBus: boolean
  /** Articles of each edition. With none its board is the edition alone. */
  articles: number
  /** Kilobytes of text in a lock. */
  kilobytes: number
  /** Each event stream: at which instance, and of which edition's board. */
  streams: Array<readonly [instance: number, edition: number]>
  /** The edition in which each editor works. */
  editors: number[]
  /** Milliseconds for which an editor types into a field, saving its lock every two seconds, and for which he then holds none. */
  typingMs: number
  pauseMs: number
  /** Whether each edition has a lock that nobody writes. */
  hasIdleLocks?: boolean
  /** Simulated milliseconds, after streams have opened and quietened down. */
  ms: number
}

/** What was counted in the measured time. */
export interface Outcome {
  readUnitsPerHour: number
  readsPerHour: number
  writeUnitsPerHour: number
  writesPerHour: number
  /** Of the busiest entity, for which one partition answers. */
  peakReadUnitsPerSecond: number
  /** Reads of editions for boards at the CMS. */
  boardReadsPerSecond: number
  /** Entities that one instance watches, at most. */
  watchedEntities: number
  /** Milliseconds from a write until a stream has its event. */
  p50Ms: number
  p99Ms: number
  events: number
}

/** The least id of an article. */
const FIRST_ARTICLE = 1_000_000

const EPOCH = Date.UTC(2026, 10, 23)
const SAVE_MS = 2000
/** Milliseconds that an operation of the table takes, a notice of the bus, and a read of the CMS. */
const STORE_MS = 5
const BUS_MS = 3
const CMS_MS = 150
/** In how long all streams open, and until what was opened last is read no more often than others. */
const OPENING_MS = 40_000
const QUIET_MS = 40_000

/**
 * Simulates a newsroom with the real feeds and boards, by a clock of its own: in a thread, since its timers replace those of
 * whatever runs beside it. The same newsroom has the same outcome each time.
 */
export function simulate(newsroom: Newsroom): Promise<Outcome> {
  const { promise, resolve, reject } = Promise.withResolvers<Outcome>()
  const worker = new Worker(new URL(import.meta.url), { workerData: newsroom, resourceLimits: { maxOldGenerationSizeMb: 8192 } })
  worker.once('message', resolve)
  worker.once('error', reject)
  return promise.finally(() => worker.terminate())
}

/** Replaces the timers of this thread. @returns what has time pass */
function takeTime(): (ms: number) => Promise<void> {
  const due = new Map<number, Set<() => void>>()
  const turn = setImmediate
  let now = 0
  const start = (call: (...values: unknown[]) => void, ms = 0, ...values: unknown[]) => {
    let at = 0
    const ring = () => call(...values)
    const timer = {
      refresh() {
        timer.close()
        at = Math.floor(now) + Math.max(1, Math.ceil(ms))
        const calls = due.get(at) ?? new Set()
        due.set(at, calls.add(ring))
        return timer
      },
      close: () => due.get(at)?.delete(ring),
      unref: () => timer
    }
    return timer.refresh()
  }
  Object.assign(globalThis, { setTimeout: start, clearTimeout: (timer?: { close: () => void }) => timer?.close() })
  Object.defineProperty(globalThis, 'performance', { value: { now: () => now } })
  return async function pass(ms) {
    for (const end = now + ms; now < end;) {
      now++
      const calls = due.get(now)
      if (!calls) continue
      for (const call of calls) call()
      due.delete(now)
      // All promises, and watchers that are woken a few in a turn.
      for (let turns = 0; turns < 3; turns++) {
        await new Promise<void>((resolve) => {
          turn(resolve)
        })
      }
    }
  }
}

/** The same numbers from 0 to 1 each time (mulberry32). */
function createRandom(seed: number): () => number {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0
    let bits = Math.imul(seed ^ (seed >>> 15), 1 | seed)
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32
  }
}

async function run({
  environment = 'production',
  instances,
  hasBus,
  articles,
  kilobytes,
  streams,
  editors,
  typingMs,
  pauseMs,
  hasIdleLocks,
  ms
}: Newsroom): Promise<Outcome> {
  const pass = takeTime()
  const random = (Math.random = createRandom(1))
  const sleep = (ms: number) =>
    new Promise<void>((resolve) => {
      setTimeout(resolve, ms)
    })
  const clock = () => EPOCH + performance.now()
  const nextVersion = createVersions(fakeTime({ now: clock }))
  const payload = 'x'.repeat(kilobytes * 1024)
  const table = new Map<string, Map<string, { record: LockRecord; bytes: number }>>()
  const counts = { readUnits: 0, reads: 0, writeUnits: 0, writes: 0, boardReads: 0, events: 0 }
  const unitsOf = new Map<string, number>()
  const latenesses: number[] = []
  let isMeasured = false

  /** Editions are locked as nodes here, whose keys are as short as those of the measured table. */
  const model = contentModel({ lockTypes: { publisher_container: 'node' } })
  const entityOf = (edition: number, article: number): Entity => ({
    type: 'node',
    id: String(article === 0 ? edition : FIRST_ARTICLE + edition * articles + article)
  })

  async function read(entity: Entity): Promise<LockRecord[]> {
    await sleep(STORE_MS / 2)
    const name = recordKey(environment, entity)
    const items = [...(table.get(name)?.values() ?? [])]
    const units = Math.max(1, Math.ceil(items.reduce((sum, { bytes }) => sum + bytes, 0) / 4096))
    counts.reads++
    counts.readUnits += units
    if (isMeasured) unitsOf.set(name, (unitsOf.get(name) ?? 0) + units)
    await sleep(STORE_MS / 2)
    return items.map(({ record }) => record)
  }

  /** Puts a lock, or removes it. */
  async function write({ writing }: (typeof feeds)[number], entity: Entity, uid: number, isHeld: boolean): Promise<void> {
    const told = writing(entity)
    const name = recordKey(environment, entity)
    const items = table.get(name) ?? new Map()
    const fieldName = `field_${uid}`
    const item = {
      ...recordOf(name, { fieldName, userData: { uid: String(uid) }, payload, timestamp: Math.floor(clock()) }, 0),
      version: nextVersion()
    }
    await sleep(STORE_MS / 2)
    const bytes = itemSize(item)
    const record = { ...item, userData: { uid: String(uid) } } as unknown as LockRecord
    table.set(name, items)
    if (isHeld) items.set(fieldName, { record, bytes })
    else items.delete(fieldName)
    counts.writes++
    counts.writeUnits += Math.ceil(bytes / 1024)
    await sleep(STORE_MS / 2)
    told(new Map([[fieldName, isHeld ? viewOf(entity, record) : undefined]]))
  }

  const feeds = Array.from({ length: instances }, (_, index) =>
    createFeed({
      read,
      time: fakeTime({ now: clock }),
      watchersMax: Infinity,
      ...(hasBus && {
        notices: {
          isUp: () => true,
          hearsAll: () => true,
          tell: (notice) => {
            setTimeout(() => {
              for (const [other, { hear }] of feeds.entries()) if (other !== index) hear(notice)
            }, BUS_MS)
          }
        }
      })
    })
  )
  const editions = {
    async bare(id: string) {
      counts.boardReads++
      await sleep(CMS_MS)
      return {
        id: [{ value: Number(id) }],
        field_articles: Array.from({ length: articles }, (_, index) => ({
          target_id: Number(entityOf(Number(id), index + 1).id),
          target_type: 'node'
        }))
      }
    }
  }
  const boards = feeds.map((feed) => createBoards({ locks: { feed, view: async () => [] }, editions, model }))

  async function follow(instance: number, edition: number): Promise<void> {
    await sleep(random() * OPENING_MS)
    const { next } = await boards[instance]!.watch(String(edition), newCaller())
    for (let batch = await next(); batch; batch = await next()) {
      if (!isMeasured) continue
      for (const event of batch) if (event.event === 'locked') latenesses.push(clock() - event.lock.timestamp)
    }
  }

  async function edit(edition: number, uid: number): Promise<void> {
    const through = () => feeds[Math.floor(random() * instances)]!
    await sleep(random() * Math.max(SAVE_MS, typingMs + pauseMs))
    for (;;) {
      const entity = entityOf(edition, Math.floor(random() * (articles + 1)))
      for (let ms = 0; ms < typingMs; ms += SAVE_MS) await Promise.all([write(through(), entity, uid, true), sleep(SAVE_MS)])
      if (pauseMs === 0) continue
      await write(through(), entity, uid, false)
      await sleep(pauseMs)
    }
  }

  if (hasIdleLocks) for (const edition of new Set(streams.map(([, edition]) => edition))) write(feeds[0]!, entityOf(edition, 0), -1, true)
  for (const [instance, edition] of streams) follow(instance, edition)
  for (const [uid, edition] of editors.entries()) edit(edition, uid)
  await pass(OPENING_MS + QUIET_MS)
  const before = { ...counts }
  isMeasured = true
  await pass(ms)
  const since = (name: keyof typeof counts) => counts[name] - before[name]
  const perHour = (name: keyof typeof counts) => Math.round((since(name) * 3_600_000) / ms)
  const sorted = Float64Array.from(latenesses).sort()
  const quantile = (share: number) => sorted[Math.floor(share * (sorted.length - 1))] ?? 0
  return {
    readUnitsPerHour: perHour('readUnits'),
    readsPerHour: perHour('reads'),
    writeUnitsPerHour: perHour('writeUnits'),
    writesPerHour: perHour('writes'),
    peakReadUnitsPerSecond: Math.round((Math.max(0, ...unitsOf.values()) * 1000) / ms),
    boardReadsPerSecond: (since('boardReads') * 1000) / ms,
    watchedEntities: Math.max(...feeds.map(({ counts }) => counts().entities)),
    p50Ms: quantile(0.5),
    p99Ms: quantile(0.99),
    events: sorted.length
  }
}

if (!isMainThread && workerData?.instances) parentPort!.postMessage(await run(workerData))
