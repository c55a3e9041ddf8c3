import { setTimeout as sleep } from 'node:timers/promises'
import { createStore } from '#lib/table/client.ts'
import { createTable } from '#lib/table/definition.ts'
import { createLocks, type Locks } from '#lib/locks/locks.ts'
import { startDynoxide } from '../../locks/fixtures/dynoxide.ts'
import type { Comparison, Suite, SuiteOptions } from '../suite.ts'

const TABLE = 'DataState'
const POLL_MS = 500
const READS_PER_SECOND = 400

/** Editors of one hot article, each of whom saves a lock of his own every so often. */
const EDITORS = 30
const SAVE_MS = 2000

/** As many reads of the engine in a second as this machine is asked for: where instances would make more, all goes slower by the same factor. */
const ENGINE_READS = 400

/** A newsroom: every instance watches every entity, one of which is the hot article. */
interface Newsroom {
  instances: number
  entities: number
  kilobytes: number
}

/** Capacity units that the engine has counted, and a client that lets it count. */
function counting(endpoint: string) {
  const { client, destroy } = createStore({ region: 'local', endpoint, attemptMs: 10_000 })
  const units = { read: 0, reads: 0 }
  const send = client.send.bind(client) as (
    command: { constructor: { name: string }; input: Record<string, unknown> },
    options?: object
  ) => Promise<{ ConsumedCapacity?: { CapacityUnits?: number } }>
  return {
    units,
    destroy,
    client: Object.assign(client, {
      async send(command: Parameters<typeof send>[0], options?: object) {
        if (command.constructor.name !== 'QueryCommand') return send(command, options)
        command.input['ReturnConsumedCapacity'] = 'TOTAL'
        const output = await send(command, options)
        units.read += output.ConsumedCapacity?.CapacityUnits ?? 0
        units.reads++
        return output
      }
    })
  }
}

/**
 * Read units that the feeds of a newsroom take in an hour. Locks of the other entities are there, and nobody writes them.
 * @param ms how long it is watched, at least
 */
export async function unitsPerHour(
  endpoint: string,
  { instances: count, entities, kilobytes }: Newsroom,
  ms: number
): Promise<{ readUnitsPerHour: number; readsPerHour: number }> {
  const { client, units, destroy } = counting(endpoint)
  const perSecond = count * Math.min(READS_PER_SECOND, (entities * 1000) / POLL_MS) + (EDITORS * 1000) / SAVE_MS
  const slowness = Math.max(1, perSecond / ENGINE_READS)
  const environment = `units-${count}-${entities}-${kilobytes}`
  const payload = 'x'.repeat(kilobytes * 1024)
  const locks = Array.from({ length: count }, () =>
    createLocks({
      client,
      table: TABLE,
      environment,
      feed: { pollMs: POLL_MS * slowness, readsPerSecond: READS_PER_SECOND / slowness, watchersMax: entities }
    })
  )
  const save = (instance: Locks, id: number, editor: number) =>
    instance.acquire({ type: 'node', id: String(id) }, { fieldName: `field_${editor}`, userData: { uid: editor }, payload })
  for (let id = 1; id < entities; id += 20) {
    await Promise.all(Array.from({ length: Math.min(20, entities - id) }, (_, index) => save(locks[0]!, id + index, 0)))
  }
  for (let editor = 0; editor < EDITORS; editor++) await save(locks[0]!, 0, editor)

  const ended = new AbortController()
  for (const { feed } of locks) {
    for (let id = 0; id < entities; id += 20) {
      const ids = Array.from({ length: Math.min(20, entities - id) }, (_, index) => String(id + index))
      await Promise.all(ids.map(async (id) => drain(await feed.watch([{ type: 'node', id }]))))
    }
  }
  const editors = Array.from({ length: EDITORS }, async (_, editor) => {
    await sleep((editor / EDITORS) * SAVE_MS * slowness)
    while (!ended.signal.aborted) {
      await Promise.all([
        save(locks[editor % count]!, 0, editor),
        sleep(SAVE_MS * slowness, undefined, { signal: ended.signal }).catch(() => {})
      ])
    }
  })
  // What was just opened is read within one interval, however many there are. From then on each has its pace.
  const cycleMs = Math.max(POLL_MS, (entities * 1000) / READS_PER_SECOND) * slowness
  await sleep(cycleMs)
  const [started, before] = [performance.now(), { ...units }]
  await sleep(Math.max(ms, 3 * cycleMs))
  const hours = (performance.now() - started) / slowness / 3_600_000
  const result = { readUnitsPerHour: (units.read - before.read) / hours, readsPerHour: (units.reads - before.reads) / hours }
  ended.abort()
  await Promise.all(editors)
  for (const { feed } of locks) feed.close()
  destroy()
  return result

  /** Takes every event, until the feed is closed. */
  async function drain({ next }: Awaited<ReturnType<Locks['feed']['watch']>>): Promise<void> {
    await next()
    const follow = async (): Promise<void> => {
      if (await next()) await follow()
    }
    follow().catch(() => {})
  }
}

async function run({ short, ms, say }: SuiteOptions): Promise<Comparison[]> {
  const { endpoint, close } = await startDynoxide()
  const { client, destroy } = createStore({ region: 'local', endpoint })
  await createTable(client, TABLE)
  destroy()
  const comparisons: Comparison[] = []
  for (const kilobytes of short ? [4] : [0, 4, 40]) {
    for (const entities of short ? [10] : [10, 100, 1000]) {
      for (const instances of short ? [1] : [1, 3, 10]) {
        const work = `${EDITORS} editors, ${instances} instances, ${entities} entities watched, locks of ${kilobytes} KB`
        say(work)
        const figures = await unitsPerHour(endpoint, { instances, entities, kilobytes }, short ? ms : 15 * ms)
        comparisons.push({
          work,
          contestants: { Quoin: Object.fromEntries(Object.entries(figures).map(([name, value]) => [name, Math.round(value)])) },
          ratios: {}
        })
      }
    }
  }
  await close()
  return comparisons
}

export const units: Suite = { name: 'units', title: 'Read units of live feeds', onlyNamed: true, run }
