import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { newspaper } from '../../dev/content.ts'
import { runNode, START } from '../app/fixtures/processes.ts'
import { startHostileCms, type HostileCms } from '../editions/hostile-cms.ts'
import { editionsOf } from '../editions/site.ts'
import { startEngine } from '../locks/fixtures/engines.ts'
import { call } from '../tickets/fixtures/calls.ts'

/** How long what a test waits for may take, in milliseconds: the longest lease is 15 seconds. */
const PATIENCE_MS = 120_000

const PUBLISHED = editionsOf(newspaper()).filter(({ published, bundle }) => published && bundle === 'daily')

interface JournalPage {
  data: Array<{ kind: string; outcome: string }>
}

/** A save that is under way when its instance is killed. */
interface Save {
  path: string
  headers?: Record<string, string>
  /** What it saves beside a title. */
  more?: object
  /** Whether the CMS has carried it out by then. */
  isSaved?: boolean
}

const kindsOf = ({ data }: JournalPage) => data.map(({ kind, outcome }) => `${kind} ${outcome}`)

/** Two instances that share a table; the second one stays. */
async function startInstances(t: Test, cms: HostileCms, endpoint: string) {
  const start = async () => {
    // Enforcing locks an instance saves nothing without a ticket, however slow the engine is.
    const running = runNode(t, START, {
      env: {
        ENVIRONMENT: 'killed',
        CMS_URL: cms.url,
        CMS_AUTH: 'basic',
        CMS_USER: 'editor',
        CMS_PASSWORD: 'editor',
        DYNAMODB_ENDPOINT: endpoint,
        EDITION_LOCKS: 'enforce',
        CMS_TIMEOUT_MS: '15000',
        PORT: '0'
      }
    })
    const [, url] = await running.says(/listening at (http:\/\/127\.0\.0\.1:\d+)/)
    // What an instance learns of the site first takes it some time.
    await call(`${url}/api/collection/${PUBLISHED[0]!.id}/journal`, 'GET')
    return { running, url: url! }
  }
  const [doomed, other] = await Promise.all([start(), start()])
  const kill = async () => {
    doomed.running.child.kill('SIGKILL')
    await doomed.running.ended
  }
  return { doomed: doomed.url, other: other.url, kill }
}

/** Asks until an answer is what is waited for, and gives the last one. */
async function eventually<T>(ask: () => Promise<T>, isIt: (answer: T) => boolean): Promise<T> {
  for (const deadline = performance.now() + PATIENCE_MS; ;) {
    const answer = await ask()
    if (isIt(answer) || performance.now() > deadline) return answer
    await sleep(250)
  }
}

t.test('of an instance that was killed another tells what became of its saves, and repeats those with a key once', async (t) => {
  const { endpoint } = await startEngine(t, 'dynalite')
  const cms = await startHostileCms(t)
  const { doomed, other, kill } = await startInstances(t, cms, endpoint)
  const [refused, saved, repeated, replayed] = PUBLISHED.map(({ id }) => `/api/collection/${id}`) as [string, string, string, string]
  const key = { 'idempotency-key': '"once"' }
  const made = { type: 'daily', field_key: [{ value: 'made' }] }
  /** By title, which tells the CMS which one it has got. */
  const saves: Record<string, Save> = {
    Refused: { path: refused },
    Saved: { path: saved, isSaved: true },
    Repeated: { path: repeated, headers: key },
    Replayed: { path: replayed, headers: key, isSaved: true },
    'Made again': {
      path: '/api/collection',
      headers: { 'idempotency-key': '"again"' },
      more: { ...made, field_key: [{ value: 'again' }] }
    },
    Made: { path: '/api/collection', headers: key, more: made, isSaved: true }
  }
  const titles = Object.keys(saves)

  // The CMS gets each save, and gives no answer before the instance is gone; half of them it has carried out by then.
  const held = new Set<string>()
  const isKilled = Promise.withResolvers<void>()
  const carriedOut: string[] = []
  cms.behave = async ({ method, body }, honest) => {
    if ((method !== 'PATCH' && method !== 'POST') || body === '{}') return undefined
    const { title } = JSON.parse(body).data.attributes
    const isFirst = !held.has(title)
    const answer = isFirst && !saves[title]!.isSaved ? undefined : await honest()
    if (answer && answer.status < 300) carriedOut.push(title)
    if (!isFirst) return answer
    held.add(title)
    await isKilled.promise
    return 'reset'
  }
  const send = (instance: string, title: string) => {
    const { path, headers = {}, more } = saves[title]!
    return call(instance + path, 'POST', { body: { ...more, title: [{ value: title }] }, headers })
  }
  const journal = async (path: string): Promise<JournalPage> => (await call(`${other}${path}/journal`, 'GET')).body ?? { data: [] }
  const again = (title: string) =>
    eventually(
      () => send(other, title),
      ({ status }) => status === 200 || status === 201
    )
  const settled = (path: string, outcome: string) =>
    eventually(
      () => journal(path),
      ({ data }) => data?.[0]?.outcome === outcome
    )

  const answers = Promise.all(titles.map((title) => send(doomed, title)))
  t.equal(
    await eventually(
      async () => held.size,
      (size) => size === titles.length
    ),
    titles.length,
    'each has come to the CMS'
  )
  t.strictSame(kindsOf(await settled(refused, 'uncertain')), ['update uncertain'], 'what may still be carried out is not taken for refused')
  await kill()
  isKilled.resolve()
  t.ok(
    (await answers).every(({ status }) => status === 0),
    'none was answered'
  )

  const [ofRefused, ofSaved, ...repeats] = await Promise.all([
    settled(refused, 'refused'),
    settled(saved, 'saved'),
    ...titles.slice(2).map(again)
  ])
  for (const [page, title, outcome] of [
    [ofRefused, 'Refused', 'refused'],
    [ofSaved, 'Saved', 'saved']
  ] as const) {
    t.match(page, { data: [{ kind: 'update', outcome, fields: { title: { after: [{ value: title }] } } }] })
    t.strictSame(await settled(saves[title]!.path, outcome), page, 'and so it stays')
  }
  t.match(
    repeats.map(({ status, isReplayed, body }) => [status, isReplayed, body.title?.[0].value]),
    [
      [200, false, 'Repeated'],
      [200, true, 'Replayed'],
      [201, false, 'Made again'],
      [201, true, 'Made']
    ]
  )
  t.strictSame(carriedOut.sort(), titles.slice(1).sort(), 'each was carried out once')
  t.strictSame(kindsOf(await settled(repeated, 'saved')), ['update saved', 'update refused'], 'of two attempts the second one has saved')
  t.strictSame(kindsOf(await settled(replayed, 'saved')), ['update saved'], 'of two attempts the first one has saved')
})
