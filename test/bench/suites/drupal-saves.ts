import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { script } from '../../drupal/php.ts'
import { signIn } from '../../drupal/quoin.ts'
import { startSite, type Site } from '../../drupal/site.ts'
import { compare } from '../compare.ts'
import type { Load, LoadRequest } from '../load.ts'
import { startProgram, startQuoin, startWorker, type Contestant, type Worker } from '../processes.ts'
import type { Comparison, Figures, SuiteOptions } from '../suite.ts'
import { JSON_TYPE } from '../upstream.ts'

/** How many articles the editions of each contestant refer to. */
const REFERENCES = [20, 100, 60, 300, 40, 200, 150]

/** The id of the first edition, as its uuid ends. */
const FIRST = 1000
const UUID = '00000000-0000-4000-8000-00000000{edition}'

/** How many saves one contestant is measured by in one round. */
const TURNS = REFERENCES.length

/** Until an edition counts as one that nobody has saved lately: more than the clocks of two instances may differ by. */
const QUIET_MS = 2200

const MODEL = {
  entityType: 'node',
  bundleEntityType: 'node_type',
  keys: { id: 'nid', revision: 'vid', owner: 'uid' },
  fields: { key: 'field_key', editionType: null, articles: ['field_stories'] },
  bundles: { issue: 'Issue' },
  lists: {}
}

/** How one who saves asks: to read an edition, and to save its title. */
interface Way {
  url: string
  read: (edition: string) => LoadRequest
  save: (edition: string, headers?: Record<string, string>) => LoadRequest
  /** The editions that this contestant alone saves, as their ids follow each other. */
  firstEdition: number
}

interface Work {
  name: string
  /** Each save is of another edition, read just before; else all are of one, saved just before. */
  isRead: boolean
  ifMatch?: true
  answerMs?: number
}

const works: Work[] = [
  { name: 'save in a row', isRead: false },
  { name: 'save after a read', isRead: true },
  { name: 'save with If-Match, after a read', isRead: true, ifMatch: true },
  { name: 'save with If-Match, in a row', isRead: false, ifMatch: true },
  { name: 'save in a row, with a store of 5 ms', isRead: false, answerMs: 5 }
]

/** Quoin's saves of one field of rich editions, beside those of core REST and of JSON:API, each of editions of its own. */
export async function savesAtDrupal(options: SuiteOptions): Promise<Comparison[]> {
  const site = await startSite()
  const directory = mkdtempSync(join(tmpdir(), 'quoin-bench-'))
  const contentModel = join(directory, 'model.json')
  writeFileSync(contentModel, JSON.stringify(MODEL))
  const load = await startWorker<Load>('load.ts')
  try {
    const references = [...REFERENCES, ...REFERENCES, ...REFERENCES]
    await site.php(`$first = ${FIRST}; $references = [${references.join()}]; require '${script('rich-editions.php')}';`)
    const others = await plainWays(site)
    const comparisons: Comparison[] = []
    for (const work of works) {
      options.say(work.name)
      const store = await startProgram('stubs/store.ts', { ANSWER_MS: String(work.answerMs ?? 0) })
      const quoin = await startQuoin({
        CMS_URL: site.url,
        CMS_AUTH: 'session',
        CMS_USER: 'editor',
        CMS_PASSWORD: 'editor',
        CONTENT_MODEL: contentModel,
        DYNAMODB_ENDPOINT: store.url,
        ENVIRONMENT: 'bench'
      })
      const ways = { Quoin: quoinWay(quoin), ...others }
      comparisons.push(await compareSaves(load, ways, work, options).finally(() => closeAll(quoin, store)))
    }
    return comparisons
  } finally {
    rmSync(directory, { recursive: true })
    await load.close()
    await site.stop()
  }
}

async function closeAll(...contestants: Contestant[]): Promise<void> {
  for (const each of contestants) await each.close()
}

function quoinWay({ url }: Contestant): Way {
  const path = (edition: string) => `/api/collection/${edition}`
  return {
    url,
    firstEdition: FIRST,
    read: (edition) => ({ method: 'GET', path: path(edition), status: 200 }),
    save: (edition, headers) => ({
      method: 'POST',
      path: path(edition),
      headers: { ...JSON_TYPE, ...headers },
      body: '{"title":[{"value":"Issue {save}"}]}',
      status: 200
    })
  }
}

/** Those who save without Quoin, with a session of the same user. */
async function plainWays({ url }: Site): Promise<Record<string, Way>> {
  const session = await signIn({ url }, 'editor')
  const way = (number: number, path: string, type: string, body: object): Way => ({
    url,
    firstEdition: FIRST + number * REFERENCES.length,
    read: (edition) => ({ method: 'GET', path: path.replace('{edition}', edition), headers: session, status: 200 }),
    save: (edition) => ({
      method: 'PATCH',
      path: path.replace('{edition}', edition),
      headers: { ...session, 'content-type': type },
      body: JSON.stringify(body).replace('{edition}', edition),
      status: 200
    })
  })
  return {
    "core REST's PATCH": way(1, '/node/{edition}?_format=json', 'application/json', {
      type: [{ target_id: 'issue' }],
      title: [{ value: 'Issue {save}' }]
    }),
    "JSON:API's PATCH": way(2, `/jsonapi/node/issue/${UUID}`, 'application/vnd.api+json', {
      data: { type: 'node--issue', id: UUID, attributes: { title: 'Issue {save}' } }
    })
  }
}

/** The median of saves one after the other, by each contestant in turn. */
async function compareSaves(load: Worker<Load>, ways: Record<string, Way>, work: Work, { rounds }: SuiteOptions): Promise<Comparison> {
  const contestants: Record<string, () => Promise<Figures>> = {}
  for (const [name, way] of Object.entries(ways)) {
    const measure = work.isRead ? readAndSave(load, way, work) : saveInARow(load, way, work)
    contestants[name] = async () => {
      const { p50Ms, p99Ms } = await measure()
      return { p50Ms: p50Ms!, p99Ms: p99Ms! }
    }
  }
  return compare(`${work.name}, one after the other`, rounds, contestants)
}

/** Each edition once: a read, and the save that is timed. */
function readAndSave(load: Worker<Load>, { url, read, save, firstEdition }: Way, { ifMatch }: Work): () => Promise<Figures> {
  const requests = [read('{edition}'), save('{edition}', ifMatch && { 'if-match': '{etag}' })]
  let lastAt = -Infinity
  return async () => {
    await sleep(Math.max(0, lastAt + QUIET_MS - performance.now()))
    const figures = await load.run({ url, requests, areOne: 'last', firstEdition, concurrency: 1, ms: 0, turns: TURNS })
    lastAt = performance.now()
    return figures
  }
}

/** One edition, another in each round, after a read and a save that are not timed. */
function saveInARow(load: Worker<Load>, { url, read, save, firstEdition }: Way, { ifMatch }: Work): () => Promise<Figures> {
  let round = 0
  return async () => {
    const edition = String(firstEdition + (round++ % REFERENCES.length))
    const saves = (requests: LoadRequest[], turns: number) => load.run({ url, requests, areOne: 'last', concurrency: 1, ms: 0, turns })
    await saves([read(edition), save(edition)], 1)
    return saves([save(edition, ifMatch && { 'if-match': '{etag}' })], TURNS)
  }
}
