import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { newspaper } from '../../dev/content.ts'
import { createCatalog } from '#lib/editions/site/catalog.ts'
import { createStaleCache } from '#lib/editions/stale-cache.ts'
import type { Jsonapi } from '#lib/drupal/client.ts'
import { fingerprint, markOf } from '#lib/drupal/credentials.ts'
import { model } from './fixtures.ts'
import { JSONAPI, openHostile, type Asked, type Behaviour } from './hostile-cms.ts'
import { basic, editionsOf, type Known } from './site.ts'
import { fakeTime } from '../fixtures/time.ts'
import { newCaller } from '#lib/http/calls.ts'

const [first, second] = editionsOf(newspaper()).filter(({ published, bundle }) => published && bundle === 'daily') as [Known, Known]
const editor = basic('editor')
const errors = (status: number): { status: number; headers: Record<string, string>; body: object } => ({
  status,
  headers: { ...JSONAPI, ...(status === 401 && { 'www-authenticate': 'Basic realm="CMS"' }) },
  body: { errors: [{ status: String(status), detail: 'x' }] }
})

/** What shows the first edition, and what does not. */
const SHOWING = [
  `/api/collection/${first.id}`,
  `/api/collection/${first.uuid}`,
  `/api/collection/${first.id}?x=1`,
  `/api/collection/${first.uuid.toUpperCase()}`,
  '/api/collections/daily?limit=5',
  '/api/collections/publisher_container?limit=50&status=1'
]
const OTHER = [`/api/collection/${second.id}`, '/api/collections/special', '/api/collection/bundles']

async function desk(t: Test) {
  const { app, cms, call } = await openHostile(t)
  const get = async (url: string, headers: Record<string, string> = editor) => (await app.inject({ url, headers })).statusCode
  const all = (urls: string[], headers?: Record<string, string>) => Promise.all(urls.map((url) => get(url, headers)))
  return { app, cms, call, get, all }
}

const isEditors = ({ headers }: Asked) => headers.authorization === editor.authorization
/** In maintenance, which does not open the circuit breaker. */
const away: Behaviour = () => errors(503)
/** Refuses the editor the first edition, whatever it is asked by. */
const refusing =
  (status: number): Behaviour =>
  (asked) => {
    if (!isEditors(asked)) return undefined
    if (asked.path.endsWith(first.uuid)) return errors(status)
    return asked.line.includes('filter[ids]') ? { body: { data: [] } } : undefined
  }

t.test('a refusal ends all copies that its caller has of the edition, however they were asked for, and no others', async (t) => {
  const { cms, get, all } = await desk(t)
  const german = { ...editor, 'accept-language': 'de' }
  for (const [status, by] of [
    [403, first.uuid],
    [404, first.uuid.toUpperCase()],
    [401, `${first.id}?other=spelling`]
  ] as const) {
    cms.behave = () => undefined
    t.strictSame(
      new Set([
        ...(await all([...SHOWING, ...OTHER])),
        ...(await all(SHOWING.slice(0, 2), german)),
        ...(await all(SHOWING, basic('reader')))
      ]),
      new Set([200])
    )
    cms.behave = refusing(status)
    t.equal(await get(`/api/collection/${by}`), status, by)
    cms.behave = away
    t.strictSame(
      new Set([...(await all(SHOWING)), ...(await all(SHOWING.slice(0, 2), german))]),
      new Set([503]),
      `${status} by ${by}: none is left, in no language`
    )
    t.strictSame(new Set(await all(SHOWING, basic('reader'))), new Set([200]), 'what others were given is')
    t.strictSame(
      new Set(await all(OTHER)),
      new Set([status === 401 ? 503 : 200]),
      'and what does not show it, unless the credentials are refused'
    )
  }
})

t.test('a refused save or board ends the copies too, a refused right to save does not', async (t) => {
  const { app, cms, call, all } = await desk(t)
  const save = () =>
    app.inject({ method: 'POST', url: `/api/collection/${first.id}`, headers: editor, payload: { title: [{ value: 'New' }] } })
  await all(SHOWING)
  cms.behave = ({ method }) => (method === 'PATCH' ? errors(403) : undefined)
  t.equal((await save()).statusCode, 403)
  cms.behave = away
  t.strictSame(new Set(await all(SHOWING)), new Set([200]), 'who may not change it may still see it')
  for (const refused of [save, () => call('GET', `/api/collection/${first.id}/locks`, { as: 'editor' })]) {
    cms.behave = () => undefined
    await all(SHOWING)
    cms.behave = refusing(403)
    await refused()
    cms.behave = away
    t.strictSame(new Set(await all(SHOWING)), new Set([503]))
  }
})

t.test('a refused list ends all copies of its caller; a bundle that is not there ends none', async (t) => {
  const { cms, get, all } = await desk(t)
  await all([...SHOWING, ...OTHER])
  t.equal(await get('/api/collections/nowhere'), 404)
  cms.behave = (asked) => (isEditors(asked) && asked.path.endsWith('/publisher_container/special') ? errors(403) : undefined)
  t.equal(await get('/api/collections/special?limit=3'), 403)
  cms.behave = away
  t.strictSame(new Set(await all([...SHOWING, ...OTHER])), new Set([503]))
})

t.test('a read that was under way when its edition was refused leaves no copy', async (t) => {
  const { cms, get } = await desk(t)
  let answer = () => {}
  const held = new Promise<void>((resolve) => {
    cms.behave = async (asked, honest) => {
      if (!asked.path.endsWith('/publisher_container/daily') || asked.line.includes('filter')) return undefined
      const said = await honest()
      const answered = new Promise<void>((resolve) => {
        answer = resolve
      })
      resolve()
      await answered
      return said
    }
  })
  const list = get('/api/collections/daily?limit=5')
  await held
  cms.behave = refusing(403)
  t.equal(await get(`/api/collection/${first.uuid}`), 403)
  answer()
  t.equal(await list, 200)
  cms.behave = away
  t.equal(await get('/api/collections/daily?limit=5'), 503)
})

t.test('a save that ended uncertain bars copies from before it, until a read that began after it', async (t) => {
  const { app, cms, all } = await desk(t)
  await all(SHOWING)
  let lose = () => {}
  const sent = new Promise<void>((resolve) => {
    cms.behave = async ({ method }) => {
      if (method !== 'PATCH') return undefined
      const lost = new Promise<void>((resolve) => {
        lose = resolve
      })
      resolve()
      await lost
      return 'reset'
    }
  })
  const save = app.inject({ method: 'POST', url: `/api/collection/${first.id}`, headers: editor, payload: { title: [{ value: 'New' }] } })
  await sent
  t.strictSame(new Set(await all(SHOWING)), new Set([200]), 'read while the save is under way')
  cms.behave = away
  lose()
  t.match((await save).json(), { statusCode: 502, message: /not known/ })
  t.strictSame(new Set(await all(SHOWING)), new Set([503]), 'nothing from before its end')
  cms.behave = () => undefined
  t.strictSame(new Set(await all(SHOWING)), new Set([200]))
  cms.behave = away
  t.strictSame(new Set(await all(SHOWING)), new Set([200]), 'but what was read since')
})

t.test('copies of one caller are bounded, and those of all', async (t) => {
  const clock = { now: 0 }
  const copies = createStaleCache({ seconds: 10, model, time: fakeTime({ monotonic: () => clock.now }) })
  const copy = (payload = 'x') => ({ payload, etag: undefined, at: 0, isEdition: true })
  const [ann, ben] = [basic('ann'), basic('ben')]
  const isKept = (key: string) => copies.find(key) !== undefined
  copies.keep('ben', copy(), 0, newCaller(ben))
  for (let index = 0; index <= 500; index++) copies.keep(`ann ${index}`, copy(), 0, newCaller(ann))
  copies.keep('ann 1', copy(), 0, newCaller(ann))
  t.strictSame(['ben', 'ann 0', 'ann 1', 'ann 500'].map(isKept), [true, false, true, true], 'the one kept longest ago makes room')
  copies.keep('ann 501', copy(), 0, newCaller(ann))
  t.strictSame(['ann 1', 'ann 2'].map(isKept), [true, false])
  copies.keep('ben', copy('x'.repeat(40 * 1024 * 1024)), 0, newCaller(ben))
  t.notOk(isKept('ben'), 'one that is too large takes the place of none')
  copies.refuse(newCaller(ben))
  copies.keep('ben', copy(), 0, newCaller(ben))
  t.notOk(isKept('ben'), 'what was asked for before the refusal')
  copies.keep('ben', copy(), 1, newCaller(ben))
  t.ok(isKept('ben'))
  clock.now = 5
  copies.refuse(newCaller(ann))
  t.strictSame(['ben', 'ann 1', 'ann 501'].map(isKept), [true, false, false])
})

t.test('only an edition itself is taken for it: no text that mentions it, no longer number', async (t) => {
  const copies = createStaleCache({ seconds: 10, model, time: fakeTime({ monotonic: () => 0 }) })
  const edition = (id: number, title: string) =>
    JSON.stringify({
      id: [{ value: id }],
      uuid: [{ value: `00000000-0000-4000-8000-${String(id).padStart(12, '0')}` }],
      title: [{ value: title }]
    })
  const kept: Record<string, string> = {
    one: edition(12, 'x'),
    text: edition(5, edition(12, 'x')),
    longer: edition(123, 'x'),
    list: `{"data":[${edition(7, 'x')},${edition(12, 'x')}]}`
  }
  for (const id of ['12', '00000000-0000-4000-8000-000000000012']) {
    for (const [key, payload] of Object.entries(kept)) {
      copies.keep(key, { payload, etag: undefined, at: 0, isEdition: true }, 1, newCaller())
    }
    copies.refuse(newCaller(), id)
    t.strictSame(
      Object.keys(kept).filter((key) => copies.find(key)),
      ['text', 'longer'],
      id
    )
  }
})

t.test(
  'a refusal through another instance ends the copies of those callers who may be meant, and keeps none that was asked for before',
  async (t) => {
    const clock = { now: 1 }
    const copies = createStaleCache({ seconds: 10, model, time: fakeTime({ monotonic: () => clock.now }) })
    const [ann, ben] = [basic('ann'), basic('ben')]
    const mark = markOf(fingerprint(newCaller(ann)))
    t.not(mark, markOf(fingerprint(newCaller(ben))))
    const keep = () => {
      for (const [who, caller] of Object.entries({ ann, ben })) {
        for (const id of [12, 13]) {
          copies.keep(
            `${who} ${id}`,
            { payload: JSON.stringify({ id: [{ value: id }] }), etag: undefined, at: 0, isEdition: true },
            1,
            newCaller(caller)
          )
        }
      }
    }
    const kept = () => ['ann 12', 'ann 13', 'ben 12', 'ben 13'].filter((key) => copies.find(key))
    keep()
    clock.now = 2
    copies.withdraw(mark, '12')
    t.strictSame(kept(), ['ann 13', 'ben 12', 'ben 13'])
    keep()
    t.strictSame(kept(), ['ann 13', 'ben 12', 'ben 13'])
  }
)

t.test('what the CMS tells one caller of its bundles and edition types no other is told', async (t) => {
  const asked: string[] = []
  const exposed: Record<string, string[] | undefined> = { ann: ['daily', 'special'], ben: ['daily'] }
  const cms: Jsonapi = {
    async request({ path, caller }) {
      asked.push(`${caller.headers['authorization']} ${path}`)
      const links = Object.fromEntries(
        exposed[caller.headers['authorization']!]!.map((bundle) => [
          `publisher_container--${bundle}`,
          { href: `/jsonapi/publisher_container/${bundle}` }
        ])
      )
      return { status: 200, document: { data: [], links: { self: { href: '/jsonapi' }, ...links } } }
    }
  }
  const clock = { now: 0 }
  const catalog = createCatalog({ cms, model, time: fakeTime({ monotonic: () => clock.now }) })
  const bundles = async (authorization: string) =>
    (await catalog.bundles(newCaller({ authorization, 'x-request-id': String(asked.length) }))).map(({ id }) => id)
  for (let time = 0; time < 2; time++) {
    t.strictSame(await bundles('ann'), ['daily', 'special'])
    t.strictSame(await bundles('ben'), ['daily'])
  }
  t.strictSame(asked, ['ann ', 'ben '], 'each is asked for once')
  exposed['ann'] = ['daily']
  clock.now = 59_999
  t.strictSame(await bundles('ann'), ['daily', 'special'], 'believed for a minute')
  clock.now = 60_000
  exposed['ann'] = undefined
  t.strictSame(await bundles('ann'), ['daily', 'special'], 'and while it is asked for anew')
  exposed['ann'] = ['daily']
  await sleep(0)
  t.ok(catalog.age(newCaller({ authorization: 'ann' })) >= 60_000)
  t.strictSame(await bundles('ann'), ['daily', 'special'], 'after a failure too, but not for another minute')
  t.equal(asked.length, 4)
  await sleep(0)
  t.strictSame(await bundles('ann'), ['daily'])
  exposed['ann'] = ['daily', 'special']
  clock.now = 180_000
  t.strictSame(await bundles('ann'), ['daily', 'special'], 'after two minutes it is waited for')
  exposed['ann'] = ['daily']
  clock.now = 300_000
  t.strictSame(await bundles('ann'), ['daily'])
  t.equal(
    await catalog.all(newCaller({ authorization: 'ann' })),
    await (async () => {
      await bundles('ben')
      return catalog.all(newCaller({ authorization: 'ben' }))
    })(),
    'the same list is in memory once'
  )
})
