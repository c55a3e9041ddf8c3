import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { startHostileCms } from '../editions/hostile-cms.ts'
import { hasDynoxide } from '../locks/fixtures/dynoxide.ts'
import { startEngine } from '../locks/fixtures/engines.ts'
import { call } from './fixtures/calls.ts'
import { startInstances, type Instances } from './fixtures/instances.ts'
import { articlesFor, faultsOf, makeEditions, write, type Written } from './fixtures/writers.ts'

/** Rounds begin for so long, each on new editions; CHAOS_SECONDS=1200 for a long run, one round by default. */
const SECONDS = Number(process.env['CHAOS_SECONDS'] ?? 0)
/** How long the twin may take until it shows what it lacks, in milliseconds. */
const TWIN_MS = 120_000

const INSTANCES = 3
const WRITERS = 20
const OPERATIONS = SECONDS > 0 ? 50 : 30
const EDITIONS = 5

/** Each twentieth article is unpublished, which an editor may not put in. */
const ARTICLES = Array.from({ length: 200 }, (_, index) => index + 1)
  .filter((id) => id % 20 !== 0)
  .slice(0, articlesFor(WRITERS))

/** Instances before a site whose saves take some time before they are carried out, and some until they are answered. */
async function startNewsroom(t: Test): Promise<Instances> {
  const now = Date.now()
  // Drupal itself tells two saves apart only where seconds lie between them.
  const cms = await startHostileCms(t, { now: () => now })
  cms.behave = async ({ method }, honest) => {
    if (method !== 'PATCH') return undefined
    await sleep(Math.random() * 20)
    const answer = await honest()
    await sleep(Math.random() * 20)
    return answer
  }
  const { endpoint } = await startEngine(t, hasDynoxide ? 'dynoxide' : 'dynalite')
  // Enforcing locks an instance saves nothing without a ticket, however slow the engine is.
  return startInstances(t, INSTANCES, () => ({
    ENVIRONMENT: 'writers',
    CMS_URL: cms.url,
    CMS_AUTH: 'basic',
    CMS_USER: 'editor',
    CMS_PASSWORD: 'editor',
    CMS_TIMEOUT_MS: '5000',
    DYNAMODB_ENDPOINT: endpoint,
    EDITION_LOCKS: 'enforce'
  }))
}

/** What the journal of an edition has of saves of its running order, the newest first. */
async function journalOf(url: string, edition: string): Promise<Array<{ outcome: string; after: number[] }>> {
  const entries: Array<{ outcome: string; after: number[] }> = []
  for (let next: string | null = ''; next !== null;) {
    const { status, body } = await call(`${url}/api/collection/${edition}/journal?limit=100${next && `&before=${next}`}`, 'GET')
    if (status !== 200) {
      await sleep(100)
      continue
    }
    for (const { kind, outcome, fields } of body.data) {
      if (kind === 'order') {
        entries.push({ outcome, after: fields.field_articles.after.map(({ target_id: id }: { target_id: number }) => Number(id)) })
      }
    }
    next = body.meta.next
  }
  return entries
}

/** The saves that were acknowledged with the order they have led to, and have no entry of their own in the journal. */
async function withoutEntry(url: string, { histories }: Written): Promise<string[]> {
  const missing: string[] = []
  for (const { edition, calls } of histories) {
    const entries = (await journalOf(url, edition)).filter(({ outcome }) => outcome === 'saved').map(({ after }) => after.join())
    for (const { answer } of calls.filter(({ steps }) => steps.length > 0)) {
      if (!answer?.order || answer.outcomes === 'conflict') continue
      const index = entries.indexOf(answer.order.join())
      if (index < 0) missing.push(`${edition}: ${answer.order.join()}`)
      else entries.splice(index, 1)
    }
  }
  return missing
}

t.test(
  `what ${WRITERS} writers are told of ${OPERATIONS} operations each is what is done, while instances are killed`,
  { timeout: SECONDS * 1000 + 900_000 },
  async (t) => {
    const { url, kill } = await startNewsroom(t)
    const until = performance.now() + SECONDS * 1000
    for (let round = 0; round === 0 || performance.now() < until; round++) {
      const newsroom = { url: () => url, articles: ARTICLES }
      const editions = await makeEditions(newsroom, EDITIONS)
      let kills = 0
      const ended = new AbortController()
      const killing = (async () => {
        while (!ended.signal.aborted) {
          await kill(Math.floor(Math.random() * INSTANCES))
          kills++
          await sleep(2000 + Math.random() * 3000)
        }
      })()
      const started = performance.now()
      const written = await write({ ...newsroom, editions, writers: WRITERS, operations: OPERATIONS, pauseMs: 500 }).finally(() =>
        ended.abort()
      )
      await killing
      const { miscounted, impossible } = faultsOf(written)
      t.comment(`${kills} kills in ${Math.round((performance.now() - started) / 1000)} s; ${JSON.stringify(written.counts)}`)
      t.strictSame(written.odd, [], 'no answer is a surprise')
      t.strictSame(written.different, [], 'a request that is sent again is answered the same')
      t.strictSame(miscounted, [], 'what was put in is there once, and what was taken out is gone')
      t.strictSame(impossible, [], 'the histories fit one order')
      t.strictSame(await withoutEntry(url, written), [], 'each save has its entry in the journal')
    }
  }
)

t.test(
  'where whole lists are saved in place of operations, inserts are lost, and the checks find it',
  { timeout: TWIN_MS + 300_000 },
  async (t) => {
    const { url } = await startNewsroom(t)
    const newsroom = { url: () => url, articles: ARTICLES }
    const found = { miscounted: 0, impossible: 0 }
    for (const until = performance.now() + TWIN_MS; performance.now() < until && (found.miscounted === 0 || found.impossible === 0);) {
      const written = await write({ ...newsroom, editions: await makeEditions(newsroom, 1), writers: 4, operations: 5, isWhole: true })
      const { miscounted, impossible } = faultsOf(written)
      found.miscounted += miscounted.length
      found.impossible += impossible.length
      t.comment(`${JSON.stringify(written.counts)}; ${JSON.stringify(miscounted)}`)
    }
    t.ok(found.miscounted > 0, 'inserts are lost, or removed articles come back')
    t.ok(found.impossible > 0, 'no one order has answered so')
  }
)
