import { createStore } from '#lib/table/client.ts'
import { createTable } from '#lib/table/definition.ts'
import { createLocks } from '#lib/locks/locks.ts'
import { compare } from '../compare.ts'
import { memoryMiB, observed, startProgram, startQuoin, startWorker, type Contestant } from '../processes.ts'
import type { Comparison, Figures, Suite, SuiteOptions } from '../suite.ts'
import type { Watch } from '../watch.ts'
import type { Writes } from '../write.ts'

const ENTITY = '/api/cloud/data-state/node/1'
const LARGE = '/api/cloud/data-state/node/2'
const TABLE = 'DataState'

/** As many as one instance serves by default. */
const WATCHERS = 2000
const WRITES_PER_SECOND = 20

/** So many locks of one entity, each with as much `userData` as is taken. */
const LARGE_LOCKS = 48
const USER_DATA_BYTES = 8000

/** How long writes are measured, and watchers that read nothing are left alone: less than a heartbeat, after which they are ended. */
const WRITING_MS = 4000
const STALLED_MS = 8000

/** A Quoin of its own with so many watchers, who stay. */
interface Watched {
  quoin: Contestant
  watch: { run: (task: Watch) => Promise<Figures>; close: () => Promise<void> }
}

async function startWatched(endpoint: string, open: number): Promise<Watched> {
  const limits = { watchersMax: String(WATCHERS), watchersPerCaller: String(WATCHERS) }
  const quoin = await startQuoin({ DYNAMODB_ENDPOINT: endpoint, ENVIRONMENT: `bench-${open}`, CMS_URL: 'http://127.0.0.1:9', ...limits })
  const watch = await startWorker<Watch>('watch.ts')
  if (open > 0) await watch.run({ open, url: quoin.url, path: `${ENTITY}/events`, stalled: false })
  return { quoin, watch }
}

/** What watchers cost a writer, and how soon they all have the event. */
async function writes(endpoint: string, { rounds, short, say }: SuiteOptions): Promise<Comparison> {
  const watched: Record<string, Watched> = {}
  const writer = await startWorker<Writes>('write.ts')
  try {
    for (const [name, open] of [
      ['Quoin', WATCHERS],
      ['itself with 200 watchers', 200],
      ['itself without watchers', 0]
    ] as const) {
      watched[name] = await startWatched(endpoint, open)
    }
    const work = `write, ${WRITES_PER_SECOND} a second, to an entity with ${WATCHERS} watchers`
    say(work)
    return await compare(
      work,
      rounds,
      Object.fromEntries(
        Object.entries(watched).map(
          ([
            name,
            {
              quoin: { url, pid },
              watch
            }
          ]) => [
            name,
            async () => {
              const figures = await observed(pid, () =>
                writer.run({ url, path: ENTITY, perSecond: WRITES_PER_SECOND, ms: short ? WRITING_MS / 2 : WRITING_MS })
              )
              return { ...figures, ...(await watch.run('lateness')) }
            }
          ]
        )
      )
    )
  } finally {
    for (const { quoin, watch } of Object.values(watched)) {
      await watch.close()
      await quoin.close()
    }
    await writer.close()
  }
}

/** What watchers cost in memory that read nothing, of large locks that change all the time. */
async function stalled(endpoint: string, { rounds, short, say }: SuiteOptions): Promise<Comparison> {
  const writer = await startWorker<Writes>('write.ts')
  const open = short ? WATCHERS / 10 : WATCHERS
  const work = `memory, ${open} watchers that read nothing, of ${LARGE_LOCKS} locks of 8 KB`
  say(work)

  async function measured(watchers: number): Promise<Figures> {
    const {
      quoin: { url, pid, close },
      watch
    } = await startWatched(endpoint, 0)
    if (watchers > 0) await watch.run({ open: watchers, url, path: `${LARGE}/events`, stalled: true })
    await writer.run({ url, path: LARGE, perSecond: 2, ms: short ? STALLED_MS / 4 : STALLED_MS })
    const peakMiB = memoryMiB(pid, 'VmHWM')
    await watch.close()
    await close()
    return { peakMiB }
  }

  try {
    return await compare(work, rounds, { Quoin: () => measured(open), 'itself without watchers': () => measured(0) })
  } finally {
    await writer.close()
  }
}

/** The large locks, of the environment that `stalled` measures. */
async function fill(endpoint: string): Promise<void> {
  const { client, destroy } = createStore({ region: 'local', endpoint })
  await createTable(client, TABLE)
  const { acquire } = createLocks({ client, table: TABLE, environment: 'bench-0' })
  const userData = Object.assign({ uid: '7' }, { note: 'x'.repeat(USER_DATA_BYTES) })
  for (let index = 0; index < LARGE_LOCKS; index++) {
    await acquire({ type: 'node', id: '2' }, { fieldName: `field_${index}`, userData })
  }
  destroy()
}

async function run(options: SuiteOptions): Promise<Comparison[]> {
  const { url: endpoint, close } = await startProgram('stubs/dynalite.ts')
  try {
    await fill(endpoint)
    return [await writes(endpoint, options), await stalled(endpoint, options)]
  } finally {
    await close()
  }
}

export const feeds: Suite = { name: 'feeds', title: 'Event streams', run }
