import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { newspaper } from '../../dev/content.ts'
import { startHostileCms } from '../editions/hostile-cms.ts'
import { editionsOf } from '../editions/site.ts'
import { startEngine } from '../locks/fixtures/engines.ts'
import { call } from '../tickets/fixtures/calls.ts'
import { startEngineProxy } from '../tickets/fixtures/engine-proxy.ts'
import { startInstances } from '../tickets/fixtures/instances.ts'

const PATIENCE_MS = 60_000

const [twice, once, killed] = editionsOf(newspaper())
  .filter(({ published, bundle }) => published && bundle === 'daily')
  .map(({ id }) => `/api/collection/${id}`) as [string, string, string]

interface Line {
  kind: string
  outcome?: string
  unrecorded?: number
  fields: Record<string, unknown>
}

t.test('saves while the table is away have no entry, and the next one marks that, whoever made them', { timeout: 180_000 }, async (t) => {
  const { endpoint } = await startEngine(t, 'dynalite')
  let isAway = false
  const proxy = await startEngineProxy(t, endpoint, (_command, body) => {
    if (isAway) throw new Error('away')
    return body
  })
  const cms = await startHostileCms(t)
  const { urlOf, kill } = await startInstances(t, 2, () => ({
    ENVIRONMENT: 'away',
    CMS_URL: cms.url,
    CMS_AUTH: 'basic',
    CMS_USER: 'editor',
    CMS_PASSWORD: 'editor',
    DYNAMODB_ENDPOINT: proxy
  }))
  const acknowledged = new Map<string, Array<{ title: string; isAlone: boolean }>>([
    [twice, []],
    [once, []],
    [killed, []]
  ])

  /** Saves a title until that is acknowledged, and gives what the answer says of its turn. */
  async function save(instance: number, path: string, title: string, turn: string | null): Promise<void> {
    for (const deadline = performance.now() + PATIENCE_MS; ;) {
      const { status, body, turn: was } = await post(urlOf(instance) + path, { title: [{ value: title }] })
      if (status === 200) acknowledged.get(path)!.push({ title, isAlone: was === 'instance' })
      if (status === 200 && was === turn) return
      if (performance.now() > deadline) throw new Error(`${title}: ${status} ${was} ${JSON.stringify(body)}`)
      title += '+'
      await sleep(500)
    }
  }

  async function post(url: string, body: object) {
    const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
    return { status: answer.status, turn: answer.headers.get('edition-turn'), body: await answer.json() }
  }

  async function journal(path: string): Promise<Line[]> {
    return (await call(`${urlOf(1)}${path}/journal?limit=100`, 'GET')).body.data
  }

  for (const path of acknowledged.keys()) await save(0, path, 'First', null)
  // Drupal tells two saves apart where seconds lie between them.
  await sleep(1100)

  isAway = true
  await save(0, twice, 'Away', 'instance')
  await save(0, twice, 'Away again', 'instance')
  await save(1, once, 'Away', 'instance')
  await save(0, killed, 'Away', 'instance')
  isAway = false
  await save(0, twice, 'Back', null)
  await kill(0)
  await sleep(1100)
  for (const path of [once, killed]) await save(1, path, 'Back', null)

  const [ofTwice, ofOnce, ofKilled] = (await Promise.all([twice, once, killed].map(journal))) as [Line[], Line[], Line[]]
  const gapsOf = (lines: Line[]) => lines.filter(({ kind }) => kind === 'outside')
  const unrecorded = [twice, once].map((path) => acknowledged.get(path)!.filter(({ isAlone }) => isAlone).length)
  t.ok(unrecorded[0]! >= 2 && unrecorded[1]! >= 1)
  t.strictSame(
    [ofTwice, ofOnce].map((lines) => gapsOf(lines).reduce((sum, { unrecorded = 0 }) => sum + unrecorded, 0)),
    unrecorded,
    'how many, where the instance lives on'
  )
  t.ok(gapsOf(ofKilled).length > 0, 'that something has changed, where it was killed')
  for (const [path, lines] of [
    [twice, ofTwice],
    [once, ofOnce],
    [killed, ofKilled]
  ] as const) {
    t.ok(
      lines.filter(({ kind }) => kind !== 'outside').every(({ outcome }) => outcome === 'saved'),
      path
    )
    t.equal(lines.at(-1)!.outcome, 'saved', 'the first one has its entry')
    t.match(
      lines[0],
      { kind: 'update', outcome: 'saved', fields: { title: { after: [{ value: acknowledged.get(path)!.at(-1)!.title }] } } },
      'and so has the last'
    )
    t.ok(
      lines.slice(1, -1).some(({ kind }) => kind === 'outside'),
      'the gap is between them'
    )
  }
})
