import type { FastifyInstance, InjectOptions } from 'fastify'
import t, { type Test } from 'tap'
import { newspaper } from '../../dev/content.ts'
import { createTargetMemory } from '#lib/editions/site/targets.ts'
import { createRefusals } from '#lib/drupal/refusals.ts'
import { JSONAPI, startHostileCms, type Behaviour, type HostileCms } from '../editions/hostile-cms.ts'
import { basic, editionsOf, type Known } from '../editions/site.ts'
import { build } from '../helper.ts'
import { startFakeEngine } from '../locks/fixtures/fake-engine.ts'
import { newCaller } from '#lib/http/calls.ts'

const [edition, other] = editionsOf(newspaper()).filter(({ published, bundle }) => published && bundle === 'daily') as [Known, Known]
const editor = basic('editor')
const errors = (status: number) => ({
  status,
  headers: { ...JSONAPI, ...(status === 401 && { 'www-authenticate': 'Basic realm="CMS"' }) },
  body: { errors: [{ status: String(status), detail: 'x' }] }
})
/** In maintenance, which does not open the circuit breaker. */
const away: Behaviour = () => errors(503)

/** What shows the edition. */
const SHOWING = [
  `/api/collection/${edition.id}`,
  `/api/collection/${edition.uuid}`,
  '/api/collections/daily?limit=5',
  `/api/desk/labels/${edition.id}`,
  `/api/desk/samples/${other.id}`
]
const OTHER = [`/api/collection/${other.id}`, '/api/collection/bundles']

/** Refuses the editor an entity, whatever it is asked by; a filter leaves it out. */
function refusing({ uuid }: { uuid: string }, status: number): Behaviour {
  return (asked) => {
    if (asked.headers.authorization !== editor.authorization) return undefined
    if (asked.path.endsWith(uuid)) return errors(status)
    return asked.line.includes('filter[') ? { body: { data: [] } } : undefined
  }
}

interface Way {
  app: FastifyInstance
  cms: HostileCms
  send(method: NonNullable<InjectOptions['method']>, url: string, payload?: object): Promise<number>
}

async function open(t: Test, env: Record<string, string>): Promise<Way> {
  const [cms, engine] = [await startHostileCms(t), await startFakeEngine(t)]
  const app = await build(t, { CMS_URL: cms.url, DYNAMODB_ENDPOINT: engine.endpoint, DESK: 'on', ...env })
  return {
    app,
    cms,
    send: async (method, url, payload) => (await app.inject({ method, url, headers: editor, ...(payload && { payload }) })).statusCode
  }
}

const lock = { fieldName: 'title', userData: { uid: '2' } }
const title = { title: [{ value: 'New' }] }
const locksOf = `/api/cloud/data-state/publisher_container/${edition.id}`

/** Every request by which a caller hears that an edition is hidden. */
const WAYS: Record<string, [method: 'GET' | 'POST' | 'PUT' | 'DELETE', url: string, payload?: object]> = {
  'a read': ['GET', `/api/collection/${edition.id}?x=1`],

  'its labels': ['GET', `/api/desk/labels/${edition.uuid}?x=1`],
  'its samples': ['GET', `/api/desk/samples/${edition.id}?x=1`],
  'a save': ['POST', `/api/collection/${edition.id}`, title],
  'a change of its order': [
    'POST',
    `/api/collection/${edition.id}/articles`,
    { operations: [{ op: 'insert', article: { target_id: 1 }, at: 'end' }] }
  ],
  readiness: ['GET', `/api/collection/${edition.id}/readiness`],
  closing: ['POST', `/api/collection/${edition.id}/close`, {}],
  'its journal': ['GET', `/api/collection/${edition.id}/journal`],
  'a restoration': ['POST', `/api/collection/${edition.id}/restore`, { entry: 'GkYm3V-0aB9cXy_Z', fields: ['title'], side: 'before' }],
  'its board': ['GET', `/api/collection/${edition.id}/locks`],
  "its board's events": ['GET', `/api/collection/${edition.id}/locks/events`]
}

/** The same at the locks, where Drupal says who may. */
const LOCK_WAYS: typeof WAYS = {
  'its locks': ['GET', locksOf],
  'its locks by the uuid': ['GET', locksOf.replace(String(edition.id), edition.uuid)],
  'a lock': ['POST', locksOf, lock],
  'a takeover': ['PUT', locksOf, lock],
  'a request for a lock': ['POST', `${locksOf}/requests`, lock],
  'looking on': ['POST', `${locksOf}/presence`, {}],
  'events of its locks': ['GET', `${locksOf}/events`]
}

const warm = async ({ send }: Way, urls: string[]) => {
  for (const url of urls) await send('GET', url)
}
/** Of these, those that are answered while the CMS is away. */
async function copied({ cms, send }: Way, urls: string[]): Promise<string[]> {
  cms.behave = away
  const statuses = await Promise.all(urls.map((url) => send('GET', url)))
  return urls.filter((_url, index) => statuses[index] === 200)
}

/** Clocks that the test sets forward, so that what is remembered for a minute is asked for anew. */
function setForward(t: Test): (ms: number) => void {
  const { now } = Date
  const monotonic = performance.now.bind(performance)
  let later = 0
  // Time passes on both clocks of the machine.
  t.intercept(Date, 'now', { value: () => now() + later })
  t.intercept(performance, 'now', { value: () => monotonic() + later })
  return (ms) => {
    later += ms
  }
}

for (const [auth, env, ways] of [
  ['none', {}, WAYS],
  ['drupal', { AUTH: 'drupal' }, { ...WAYS, ...LOCK_WAYS }]
] as Array<[string, Record<string, string>, typeof WAYS]>) {
  t.test(`with AUTH=${auth} a refusal ends the copies of its caller, whatever he has heard it by`, async (t) => {
    const pass = setForward(t)
    const quoin = await open(t, env)
    for (const [way, [method, url, payload]] of Object.entries(ways)) {
      const status = 403 + (Object.keys(ways).indexOf(way) % 2)
      quoin.cms.behave = () => undefined
      pass(16 * 60_000)
      await warm(quoin, [...SHOWING, ...OTHER])
      quoin.cms.behave = refusing(edition, status)
      const heard = await quoin.send(method, url, payload)
      t.ok(heard === 403 || heard === 404, `${way} is refused: ${heard}`)
      t.strictSame(await copied(quoin, SHOWING), [], `${way}: no copy is left after ${status}`)
      t.strictSame(await copied(quoin, OTHER), OTHER, `${way}: but of what does not show it`)
    }
  })
}

t.test('an article that is refused at its locks, or on its own, is shown by no copy', async (t) => {
  const article = newspaper().entities.find(({ type, fields }) => type === 'node--article' && fields!['status'] === true)!
  // The other edition shows the url of it.
  const shown = [
    '/api/collections/article?limit=500',
    `/api/collections/article/${article.id}`,
    `/api/collection/${other.id}`,
    `/api/desk/labels/${other.id}`
  ]
  const untouched = ['/api/collection/bundles']
  for (const url of [
    `/api/collections/article/${article.uuid}?x=1`,
    `/api/collections/article/${article.id}?x=1`,
    `/api/cloud/data-state/node/${article.uuid}`,
    `/api/cloud/data-state/node/${article.id}`
  ]) {
    const quoin = await open(t, { AUTH: 'drupal' })
    await warm(quoin, [...shown, ...untouched])
    quoin.cms.behave = refusing({ uuid: article.uuid! }, 404)
    t.equal(await quoin.send('GET', url), 404, url)
    t.strictSame(await copied(quoin, [...shown, ...untouched]), untouched, url)
  }
})

t.test('credentials that Drupal refuses end all copies of their caller, and those of a service account all copies', async (t) => {
  const pass = setForward(t)
  const all = [SHOWING[0]!, ...OTHER]
  const own = await open(t, { AUTH: 'drupal' })
  await warm(own, all)
  own.cms.behave = ({ headers }) => (headers.authorization === editor.authorization ? errors(401) : undefined)
  t.equal(await own.send('GET', `${SHOWING[0]}?x=1`), 401)
  t.strictSame(await copied(own, all), [])

  const account = await open(t, { CMS_AUTH: 'basic', CMS_USER: 'editor', CMS_PASSWORD: 'editor' })
  await warm(account, all)
  pass(61_000)
  account.cms.behave = async (_asked, honest) => {
    const {
      links: { me, ...links },
      ...document
    } = (await honest()).body
    return { status: 403, body: { ...document, links, errors: [{ status: '403', detail: 'x' }] } }
  }
  t.equal(await account.send('GET', `${SHOWING[0]}?x=1`), 502)
  t.strictSame(await copied(account, all), [])
})

t.test('a permission to see locks does not outlive a refusal that another request has heard', async (t) => {
  const quoin = await open(t, { AUTH: 'drupal' })
  for (const id of [edition.id, other.id]) t.equal(await quoin.send('GET', `/api/cloud/data-state/publisher_container/${id}`), 200)
  quoin.cms.behave = refusing(edition, 403)
  t.equal(await quoin.send('GET', `/api/collection/${edition.uuid}`), 403)
  quoin.cms.behave = away
  t.equal(await quoin.send('GET', locksOf), 503, 'it cannot be known')
  t.equal(await quoin.send('GET', `/api/cloud/data-state/publisher_container/${other.id}`), 200, 'another permission holds')
})

t.test('the url of an article ends with it, in every language', async (t) => {
  const article = newspaper().entities.find(({ type, fields }) => type === 'node--article' && fields!['status'] === true)!
  const refusals = createRefusals()
  const memory = createTargetMemory({ urlsOf: () => () => undefined })
  const [ann, german, ben] = [basic('ann'), { ...basic('ann'), 'accept-language': 'de' }, basic('ben')]
  refusals.listen((caller, id) => memory.refuse(caller, id))
  const reference = { type: 'node--article', id: article.uuid! }
  const learn = (caller: Record<string, string>, known = memory.of(newCaller(caller))) =>
    memory.learn(known, [reference], { data: [], included: [{ ...reference, attributes: {} }] }, newCaller(caller))
  const sizes = () => [ann, german, ben].map((caller) => memory.of(newCaller(caller)).targets.size)
  for (const caller of [ann, german, ben]) learn(caller)
  t.strictSame(sizes(), [1, 1, 1])
  const underway = memory.of(newCaller(german))
  refusals.tell(newCaller(ann), other.uuid)
  t.strictSame(sizes(), [1, 1, 1], 'another entity')
  refusals.tell(newCaller(ann), article.uuid!.toUpperCase())
  t.strictSame(sizes(), [0, 0, 1])
  memory.learn(underway, [{ type: 'node--article', id: other.uuid }], { data: [] }, newCaller(german))
  t.strictSame(sizes(), [0, 0, 1], 'what began before learns nothing for later')
  refusals.tell(newCaller(ben))
  t.strictSame(sizes(), [0, 0, 0])
  const many = Array.from({ length: 100_001 }, (_, index) => ({ type: 'node--article', id: String(index) }))
  memory.learn(memory.of(newCaller(ben)), many, { data: [] }, newCaller(ben))
  refusals.tell(newCaller(ben))
  t.strictSame(sizes(), [0, 0, 0], 'too many are not remembered')
})
