import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { startEngine } from '../locks/fixtures/engines.ts'
import { core, quoin, signIn, startQuoin } from './quoin.ts'
import { startSite } from './site.ts'
import { gazette, startStrange, startStrangeQuoin } from './strange.ts'

/** A site on which editions are closed. */
interface Desk {
  site: { url: string }
  service: FastifyInstance
  entityType: string
  path: (id: number) => string
  /** Of a new edition with published articles that is not published itself. */
  body: object
  articles: [number, number]
  published: string
  articlesField: string
  /** What a save sets besides. */
  set: string[]
  dangling: number
  hiddenTargets: number
  /** Whether an editor sees the unpublished articles of the last. */
  seesDrafts: boolean
}

const value = (value: unknown) => [{ value }]
const codes = (findings: any[]) =>
  findings.map(({ code, entityType, entityId, fieldName }) => [code, entityType, entityId, fieldName].filter(Boolean).join(' '))

async function compareClosing(
  t: Test,
  { site, service, entityType, path, body, articles, published, articlesField, set, dangling, hiddenTargets, seesDrafts }: Desk
) {
  const [editor, admin, reader] = [await signIn(site, 'editor'), await signIn(site, 'admin'), await signIn(site, 'reader')]
  const stored = async (id: number) => (await core(site, admin, 'GET', path(id))).body
  const close = (id: number, who = editor, headers = {}) => quoin(service, who, 'POST', `/api/collection/${id}/close`, {}, headers)

  const created = await quoin(service, editor, 'POST', '/api/collection', body)
  t.equal(created.status, 201)
  const uuid = created.body.uuid[0].value
  const id = Number(
    String((created.headers as Record<string, unknown>)['location'])
      .split('/')
      .at(-1)
  )
  const before = await stored(id)
  t.equal(before[published][0].value, false)
  const look = await quoin(service, editor, 'GET', `/api/collection/${id}/readiness`)
  t.strictSame([look.status, look.body], [200, { ready: true, blockers: [], warnings: [], proposals: 0 }])

  t.equal(
    (
      await quoin(service, editor, 'POST', `/api/cloud/data-state/node/${articles[0]}`, {
        fieldName: 'title',
        userData: { uid: '7', name: 'Ada' },
        payload: 'typed'
      })
    ).status,
    200
  )
  const locked = await close(id)
  t.strictSame([locked.status, locked.body.code, codes(locked.body.blockers)], [409, 'NOT_READY', [`LOCKED node ${articles[0]} title`]])
  t.strictSame(await stored(id), before, 'a refused close saves nothing')
  t.equal((await close(id, editor, { 'if-match': '"x.y"', 'x-user-uid': '7' })).status, 412)
  const denied = await close(id, reader, { 'x-user-uid': '7' })
  t.ok([403, 404].includes(denied.status), `${denied.status} for a reader`)
  t.strictSame(await stored(id), before)

  const closed = await close(id, editor, { 'x-user-uid': '7' })
  t.strictSame([closed.status, closed.body.data?.[published], closed.body.meta], [200, value(true), { since: [] }], closed.body.message)
  const after = await stored(id)
  t.strictSame(after[published], value(true))
  const unset = (edition: Record<string, unknown>) =>
    Object.fromEntries(Object.entries(edition).filter(([field]) => field !== published && !set.includes(field)))
  t.strictSame(unset(after), unset(before), 'nothing but the status is saved')
  t.equal(
    (closed.headers as Record<string, unknown>)['etag'],
    ((await quoin(service, editor, 'GET', `/api/collection/${uuid}`)).headers as Record<string, unknown>)['etag']
  )
  t.equal((await close(id, editor, { 'x-user-uid': '7' })).status, 200, 'closed already')
  t.strictSame(await stored(id), after, 'what is closed is not saved again')

  for (const [edition, who, wanted] of [
    [dangling, editor, /^ARTICLE_GONE/],
    [hiddenTargets, editor, seesDrafts ? /^ARTICLE_UNPUBLISHED node / : /^ARTICLE_HIDDEN node /],
    [hiddenTargets, admin, /^ARTICLE_UNPUBLISHED node /]
  ] as const) {
    const found = await stored(edition)
    const { status, body } = await close(edition, who, { 'x-user-uid': '7' })
    t.equal(status, 409)
    t.strictSame(
      codes(body.blockers).filter((line) => !wanted.test(line)),
      []
    )
    t.ok(body.blockers.length > 0)
    t.strictSame(await stored(edition), found)
  }
  t.match((await quoin(service, editor, 'GET', `/api/collection/${dangling}/readiness`, undefined, { 'x-user-uid': '7' })).body.blockers, [
    { code: 'ARTICLE_GONE', entityType, fieldName: articlesField }
  ])
}

t.test('an edition is closed when it is ready, and only its status is saved', { timeout: 1_800_000 }, async (t) => {
  const { endpoint } = await startEngine(t, 'dynalite')
  const env = { DYNAMODB_ENDPOINT: endpoint }

  await t.test('on the site "bundles"', { timeout: 900_000 }, async (t) => {
    const site = await startSite()
    t.teardown(site.stop)
    const service = await startQuoin(site, env)
    t.teardown(() => service.close())
    await compareClosing(t, {
      site,
      service,
      entityType: 'publisher_container',
      path: (id) => `/publisher_container/${id}`,
      body: {
        type: [{ target_id: 'daily' }],
        title: value('To close'),
        status: value(false),
        field_key: value('to-close'),
        field_publisher_edition_type: value('daily'),
        field_articles: [{ target_id: 3 }, { target_id: 5 }]
      },
      articles: [3, 5],
      published: 'status',
      articlesField: 'field_articles',
      set: ['changed', 'revision_id', 'revision_timestamp', 'revision_uid', 'revision_translation_affected', 'revision_log'],
      dangling: site.content.cases.dangling,
      hiddenTargets: site.content.cases.hiddenTargets,
      seesDrafts: false
    })
  })

  await t.test('on the strange site', { timeout: 900_000 }, async (t) => {
    const site = await startStrange()
    t.teardown(site.stop)
    const service = await startStrangeQuoin(site, gazette, '', { ...env, ENVIRONMENT: 'strange' })
    t.teardown(() => service.close())
    const { articles, cases } = site.content
    await compareClosing(t, {
      site,
      service,
      entityType: 'gazette',
      path: (id) => gazette.path(id),
      body: {
        sort: [{ target_id: 'sheet' }],
        headline: value('Zu schließen'),
        signature: value('to-close'),
        live: value(false),
        stories: [{ target_id: articles['3'] }, { target_id: articles['5'] }]
      },
      articles: [articles['3']!, articles['5']!],
      published: 'live',
      articlesField: 'stories',
      set: ['touched', 'state', 'state_at', 'state_by', 'state_touched', 'state_note'],
      dangling: cases.dangling,
      hiddenTargets: cases.hiddenTargets,
      seesDrafts: true
    })
  })
})
