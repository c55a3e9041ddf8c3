import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { startEngine } from '../locks/fixtures/engines.ts'
import { startInstances } from '../tickets/fixtures/instances.ts'
import { articlesFor, faultsOf, makeEditions, write } from '../tickets/fixtures/writers.ts'
import { signIn } from './quoin.ts'
import { startSite, type Site } from './site.ts'

const WRITERS = 20
/** Of each writer; ORDERS_OPERATIONS=50 for the full number. */
const OPERATIONS = Number(process.env['ORDERS_OPERATIONS'] ?? 5)
const EDITIONS = 10
/** ORDERS_KILLS=1 kills instances in between, which takes many minutes: what they were doing is waited for. */
const IS_KILLING = process.env['ORDERS_KILLS'] === '1'

/** Each twentieth article is unpublished, which an editor may not put in. */
const ARTICLES = Array.from({ length: 200 }, (_, index) => index + 1)
  .filter((id) => id % 20 !== 0)
  .slice(0, articlesFor(WRITERS))

/** The running order of each revision of an edition, the oldest first. */
async function revisionsOf(site: Site, id: string): Promise<number[][]> {
  return JSON.parse(
    await site.php(`
$storage = \\Drupal::entityTypeManager()->getStorage('publisher_container');
$orders = [];
foreach (array_keys($storage->getQuery()->accessCheck(FALSE)->allRevisions()->condition('id', ${Number(id)})->sort('revision_id')->execute()) as $revision) {
  $orders[] = array_map('intval', array_column($storage->loadRevision($revision)->get('field_articles')->getValue(), 'target_id'));
}
return $orders;`)
  )
}

/** An instance that is killed keeps its turns for up to 15 seconds, and so do the keys of what it was doing. */
const KILL_MS = 22_000

async function work(t: Test, count: number): Promise<void> {
  const site = await startSite()
  t.teardown(site.stop)
  const { endpoint } = await startEngine(t, 'dynalite')
  const { url, kill } = await startInstances(t, count, () => ({
    ENVIRONMENT: `orders-${count}`,
    CMS_URL: site.url,
    CMS_TIMEOUT_MS: '5000',
    DYNAMODB_ENDPOINT: endpoint,
    EDITION_LOCKS: 'enforce'
  }))
  const newsroom = { url: () => url, headers: await signIn(site, 'editor'), articles: ARTICLES }
  const editions = await makeEditions(newsroom, EDITIONS)
  const ended = new AbortController()
  let kills = 0
  async function killing(): Promise<void> {
    await sleep(kills === 0 ? 4000 : KILL_MS + Math.random() * 4000, undefined, { signal: ended.signal }).catch(() => {})
    if (ended.signal.aborted) return
    await kill(Math.floor(Math.random() * count))
    kills++
    return killing()
  }
  const killed = IS_KILLING ? killing() : undefined
  const began = performance.now()
  const written = await write({ ...newsroom, editions, writers: WRITERS, operations: OPERATIONS, pauseMs: 200 }).finally(() =>
    ended.abort()
  )
  await killed
  t.comment(
    `Drupal ${site.version}, ${count} of Quoin: ${WRITERS} writers x ${OPERATIONS} operations on ${EDITIONS} editions in ${Math.round((performance.now() - began) / 1000)} s, ${kills} times kill -9; ${JSON.stringify(written.counts)}`
  )
  const saved = new Map<string, number[][]>()
  for (const edition of editions) saved.set(edition, (await revisionsOf(site, edition)).slice(1))
  const { miscounted, impossible } = faultsOf(written, saved)
  t.equal(kills > 0, IS_KILLING)
  t.strictSame(written.odd, [], 'no answer is a surprise')
  t.strictSame(written.different, [], 'a request that is sent again is answered the same')
  t.strictSame(miscounted, [], 'what was put in is there once, and what was taken out is gone')
  t.strictSame(
    impossible.map(({ edition }) => edition),
    [],
    'the histories fit the revisions: each save has one'
  )
}

t.test('operations of many writers on running orders are done once', { timeout: 3_600_000 }, async (t) => {
  for (const count of [1, 2]) {
    await t.test(`through ${count === 1 ? 'one instance' : 'two instances'}`, { timeout: 1_800_000 }, (t) => work(t, count))
  }
})
