import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { runNode, START } from '../app/fixtures/processes.ts'
import { startHostileCms } from '../editions/hostile-cms.ts'
import { basic } from '../editions/site.ts'
import { startEngine } from '../locks/fixtures/engines.ts'
import { call, type Reply } from '../tickets/fixtures/calls.ts'
import { startEngineProxy } from '../tickets/fixtures/engine-proxy.ts'

/** How long what a test waits for may take, in milliseconds: the longest lease is 30 seconds. */
const PATIENCE_MS = 180_000

/** More requests than an upsert or a close sends. */
const STEPS_MAX = 60

const newEdition = (key: string) => ({
  type: [{ target_id: 'daily' }],
  title: [{ value: key }],
  status: [{ value: false }],
  field_key: [{ value: key }],
  field_publisher_edition_type: [{ value: 'daily' }],
  field_articles: [{ target_id: 4 }]
})
const push = (url: string, key: string) =>
  call(`${url}/api/collections/daily/by-key/${key}`, 'PUT', { body: { title: [{ value: key }], field_articles: [{ target_id: 4 }] } })
const close = (url: string, edition: string) => call(`${url}/api/collection/${edition}/close`, 'POST', { body: {} })

/** Instances of two users, so that the requests of those that are killed can be told from those of the one that stays. */
async function startNewsroom(t: Test) {
  const cms = await startHostileCms(t)
  const { endpoint } = await startEngine(t, 'dynalite')
  const gate = { before: () => {} }
  /** What the CMS has saved: methods and bodies. */
  const saved: Array<{ method: string; path: string }> = []
  const proxy = await startEngineProxy(t, endpoint, (_command, body) => {
    gate.before()
    return body
  })
  cms.behave = async ({ method, path, headers }, honest) => {
    // The request goes on, whoever sent it is there or not.
    if (headers.authorization === basic('editor').authorization) gate.before()
    if (method === 'GET') return undefined
    const answer = await honest()
    if (answer.status < 300) saved.push({ method, path: `${path} ${answer.body.data.attributes.title}` })
    return answer
  }
  const start = async (user: string, engine: string) => {
    // Enforcing locks an instance saves nothing without a ticket, however slow the engine is.
    const running = runNode(t, START, {
      env: {
        ENVIRONMENT: 'killed',
        CMS_URL: cms.url,
        CMS_AUTH: 'basic',
        CMS_USER: user,
        CMS_PASSWORD: user,
        CMS_TIMEOUT_MS: '15000',
        DYNAMODB_ENDPOINT: engine,
        EDITION_LOCKS: 'enforce',
        PORT: '0'
      }
    })
    const [, url] = (await running.says(/listening at (http:\/\/127\.0\.0\.1:\d+)/)) as unknown as [string, string]
    return { running, url }
  }
  const { url } = await start('editor2', endpoint)
  return { gate, saved, url, startDoomed: () => start('editor', proxy) }
}

async function eventually(ask: () => Promise<Reply>, isIt: (reply: Reply) => boolean): Promise<Reply> {
  for (const deadline = performance.now() + PATIENCE_MS; ;) {
    const reply = await ask()
    if (isIt(reply) || performance.now() > deadline) return reply
    await sleep(250)
  }
}

const isDone = ({ status }: Reply) => status === 200 || status === 201

t.test('an upsert and a close whose instance is killed at any of their requests', { timeout: 900_000 }, async (t) => {
  const { gate, saved, url, startDoomed } = await startNewsroom(t)
  const make = async (key: string) =>
    String((await eventually(() => call(`${url}/api/collection`, 'POST', { body: newEdition(key) }), isDone)).body.id[0].value)

  /** Sends a request to an instance that is killed as soon as its request of some number has come to the CMS or the table; false where it has fewer. */
  async function isKilled(at: number, send: (url: string) => Promise<Reply>, warmUp: (url: string) => Promise<Reply>): Promise<boolean> {
    const { running, url: doomed } = await startDoomed()
    // What an instance learns of the site first takes more requests.
    t.ok(isDone(await eventually(() => warmUp(doomed), isDone)))
    let count = 0
    gate.before = () => {
      if (count++ === at) running.child.kill('SIGKILL')
    }
    const { status } = await send(doomed)
    gate.before = () => {}
    running.child.kill('SIGKILL')
    await running.ended
    return status === 0
  }

  const keys: string[] = []
  const editions: Array<{ key: string; id: string }> = []
  const warm = await make('warm')
  for (let at = 0; at < STEPS_MAX; at++) {
    const key = `killed-${at}`
    if (
      !(await isKilled(
        at,
        (doomed) => push(doomed, key),
        (doomed) => push(doomed, 'warm')
      ))
    ) {
      break
    }
    keys.push(key)
  }
  for (let at = 0; at < STEPS_MAX; at++) {
    const key = `closed-${at}`
    const id = await make(key)
    if (
      !(await isKilled(
        at,
        (doomed) => close(doomed, id),
        (doomed) => close(doomed, warm)
      ))
    ) {
      break
    }
    editions.push({ key, id })
  }
  t.comment(`killed at ${keys.length} requests of an upsert and ${editions.length} of a close`)
  t.ok(keys.length >= 5 && keys.length < STEPS_MAX && editions.length >= 10 && editions.length < STEPS_MAX)
  const times = (method: string, key: string) => saved.filter((save) => save.method === method && save.path.endsWith(` ${key}`)).length

  await Promise.all(
    keys.map(async (key, at) => {
      const { status, body } = await eventually(() => push(url, key), isDone)
      t.ok([200, 201].includes(status), `${key}: the repeat succeeds`)
      const list = await eventually(() => call(`${url}/api/collections/daily?key=${key}`, 'GET'), isDone)
      t.strictSame(
        list.body.data.map(({ id }: any) => id),
        [body.id],
        `${key}: there is one edition`
      )
      t.equal(times('POST', key), 1, `${key}: it was made once, killed at request ${at + 1}`)
      const journal = await eventually(
        () => call(`${url}/api/collection/${body.id[0].value}/journal`, 'GET'),
        ({ body }) => body?.data?.some(({ kind, outcome }: any) => kind === 'create' && outcome === 'saved')
      )
      t.match(
        journal.body.data.filter(({ outcome }: any) => outcome === 'saved').map(({ kind }: any) => kind),
        ['create'],
        `${key}: and has its entry`
      )
    })
  )
  await Promise.all(
    editions.map(async ({ key, id }, at) => {
      const { status, body } = await eventually(() => close(url, id), isDone)
      t.match([status, body.data?.status], [200, [{ value: true }]], `${key}: the repeat finds it closed, or closes it`)
      t.equal(times('PATCH', key), 1, `${key}: it was closed once, killed at request ${at + 1}`)
      const journal = await eventually(
        () => call(`${url}/api/collection/${id}/journal`, 'GET'),
        ({ body }) => body?.data?.some(({ kind, outcome }: any) => kind === 'close' && outcome === 'saved')
      )
      t.strictSame(
        journal.body.data.filter(({ kind, outcome }: any) => kind === 'close' && outcome === 'saved').length,
        1,
        `${key}: and has its entry`
      )
    })
  )
})
