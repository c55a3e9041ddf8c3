import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { createCms, type CmsContent, type CmsOptions } from '../../packages/drupal-stand-in/cms.ts'
import { newspaper, singleBundleNewspaper } from '../../dev/content.ts'
import { fastifyOptions } from '../../config/fastify.ts'
import { drupalCheck } from '#lib/auth/drupal.ts'
import { createBoards, type Boards } from '#lib/boards/boards.ts'
import { createEditions, type Editions } from '#lib/editions/editions.ts'
import { createSite } from '#lib/editions/site/site.ts'
import { contentModel } from '#lib/editions/model.ts'
import { Failure } from '#lib/errors.ts'
import { basicAccount, oauthAccount, sessionAccount } from '#lib/drupal/accounts.ts'
import { createJsonapi } from '#lib/drupal/client.ts'
import type { HttpAnswer } from '#lib/http/exchange.ts'
import type { Http } from '#lib/http/client.ts'
import { newCaller, type Caller } from '#lib/http/calls.ts'
import errors from '../../plugins/app/errors.ts'
import editionRoutes from '../../routes/editions.ts'
import { openHostile } from '../editions/hostile-cms.ts'
import { basic, editionsOf } from '../editions/site.ts'
import { seedOf } from '../fixtures/property.ts'
import { pick, randomOf, spoiled, type Random } from './fixtures/answers.ts'

const SEED = seedOf(17)

/** How many spoiled answers are given in this process, and how many of them to the whole application through sockets. */
const ANSWERS = 7000
const THROUGH_SOCKETS = 250

/** After so many cases there is a new Quoin, which remembers nothing. */
const CASES = 8

/** More requests to the CMS than one request justifies: it would not end. */
const REQUESTS_MAX = 2000

const editor = basic('editor')
const json = { 'content-type': 'application/json' }

interface Operation {
  method: 'GET' | 'POST'
  url: string
  body?: object
  headers?: Record<string, string>
  /** How many requests to the CMS it takes, about. */
  usual: number
}

/** All that callers ask of editions; ids and uuids are those of the sample content. */
function operationsOf(content: CmsContent): Operation[] {
  const [newest, second] = editionsOf(content) as [ReturnType<typeof editionsOf>[number], ReturnType<typeof editionsOf>[number]]
  const create = {
    type: newest.bundle,
    title: [{ value: 'New' }],
    field_key: [{ value: 'fuzz' }],
    field_publisher_edition_type: [{ value: newest.type }],
    field_articles: [{ target_id: 4 }, { target_id: 5 }]
  }
  const gets = [
    `/api/collection/${newest.id}`,
    `/api/collection/${newest.uuid}`,
    '/api/collection/9999',
    '/api/collection/bundles',
    '/api/publisher-edition/bundles',
    `/locks/${newest.id}`,
    `/labels/${newest.id}`,
    '/probe',
    '/who',
    '/api/collections/publisher_container',
    '/api/collections/daily?limit=3',
    '/api/collections/special?q=a&status=1&total=1',
    `/api/collections/publisher_container?key=${newest.key}`,
    '/api/collections/publisher_container?type=daily&limit=60',
    '/api/collections/publisher_container?offset=3&limit=2'
  ].map((url): Operation => ({ method: 'GET', url, usual: 2 }))
  return [
    ...gets,
    { method: 'POST', usual: 4, url: '/api/collection', body: create },
    { method: 'POST', usual: 4, url: '/api/collection', body: { ...create, uuid: [{ value: second.uuid }] } },
    {
      method: 'POST',
      usual: 4,
      url: `/api/collection/${newest.id}`,
      body: { title: [{ value: 'Changed' }], field_articles: [{ target_id: 6 }], field_labels: ['a'] }
    },
    {
      method: 'POST',
      usual: 4,
      url: `/api/collection/${newest.uuid}`,
      body: { title: [{ value: 'Changed' }], field_description: [{ value: 'x' }], field_cover: [] },
      headers: { 'if-match': '*' }
    },
    {
      method: 'POST',
      usual: 4,
      url: `/api/collection/${second.id}`,
      body: {
        status: [{ value: false }],
        created: [{ value: '2026-01-01T00:00:00+00:00' }],
        field_link: [{ uri: 'internal:/', options: {} }]
      }
    }
  ]
}

/** A site with so few editions that thousands of cases take seconds; pages of many rows are made by spoiling. */
function small(content: CmsContent): CmsContent {
  return { ...content, entities: content.entities.filter(({ type, id }) => !type.startsWith('publisher_container--') || Number(id) > 57) }
}

interface Site {
  operations: Operation[]
  /** Right answers, by method and path: asked of the site when they are wanted first. */
  answers: Map<string, HttpAnswer>
  ask: Http['send']
  url: string
}

async function startSite(t: Test, options: CmsOptions): Promise<Site> {
  const cms = createCms(options)
  const url = await cms.listen()
  t.teardown(() => cms.close())
  const answers = new Map<string, HttpAnswer>()
  return { operations: operationsOf(options.content), answers, url, ask }

  async function ask({ method, path, headers, body }: Parameters<Http['send']>[0]): Promise<HttpAnswer> {
    const key = `${method} ${path}`.replaceAll(/[\da-f]{8}-[\da-f-]{27}/g, (uuid) => (isOurs(uuid) ? uuid : 'unknown'))
    const known = answers.get(key) ?? (await fetched())
    answers.set(key, known)
    if (method !== 'POST' || known.status !== 201) return known
    const sent = JSON.parse(body!)
    const document = JSON.parse(known.body.toString())
    return { ...known, body: Buffer.from(JSON.stringify({ ...document, data: { ...document.data, id: sent.data.id } })) }

    async function fetched(): Promise<HttpAnswer> {
      const answer = await fetch(url + path, { method, headers, redirect: 'manual', ...(body !== undefined && { body }) })
      return {
        status: answer.status,
        headers: { ...Object.fromEntries(answer.headers), 'set-cookie': answer.headers.getSetCookie() },
        body: Buffer.from(await answer.arrayBuffer())
      }
    }
  }

  function isOurs(uuid: string): boolean {
    return options.content.entities.some((entity) => entity.uuid === uuid)
  }
}

/** The routes of editions over what a case puts behind them. */
async function startRoutes(
  t: Test
): Promise<{ app: FastifyInstance; put: (editions: Editions, boards: Boards, who: (caller: Caller) => Promise<unknown>) => void }> {
  let current: { editions: Editions; boards: Boards; who: (caller: Caller) => Promise<unknown> }
  const app = Fastify({ ...fastifyOptions, logger: false })
  t.teardown(() => app.close())
  await app.register(errors)
  app.decorate('editions', { getter: () => current.editions } as never)
  app.decorateRequest('caller', null as never)
  app.addHook('onRequest', async (request) => {
    request.caller = newCaller(editor)
  })
  await app.register(async (scope) => editionRoutes(scope))
  app.get('/labels/:id', async ({ params, caller }) => current.editions.labels((params as { id: string }).id, caller))
  app.get('/locks/:id', async ({ params, caller }) => current.boards.read((params as { id: string }).id, caller))
  app.get('/probe', async () => ({ remark: await current.editions.probe(newCaller()) }))
  app.get('/who', async ({ caller }) => current.who(caller))
  await app.ready()
  return {
    app,
    put: (editions, boards, who) => {
      current = { editions, boards, who }
    }
  }
}

/** What is wrong with an answer, if anything. */
function faultOf(statusCode: number, body: string): string | undefined {
  if (statusCode === 500) return 'it is 500'
  const answer = JSON.parse(body)
  if (statusCode < 400) return undefined
  return answer.statusCode === statusCode && typeof answer.message === 'string' && answer.message !== '' && answer.code !== 'INTERNAL'
    ? undefined
    : 'it has the shape of no failure'
}

function comment(t: Test, what: string, statuses: Map<string, number>): void {
  t.comment(
    `${what}: ${[...statuses]
      .sort()
      .map(([status, count]) => `${status} ${count}`)
      .join(', ')}`
  )
}

t.test(`${ANSWERS} spoiled answers of the CMS through every endpoint: never 500`, async (t) => {
  t.comment(`FUZZ_SEED=${SEED} repeats these`)
  const rejections: unknown[] = []
  const noticed = (reason: unknown) => {
    rejections.push(reason)
  }
  process.on('unhandledRejection', noticed)
  t.teardown(() => {
    process.off('unhandledRejection', noticed)
  })
  const sites = [
    await startSite(t, { content: small(newspaper()) }),
    await startSite(t, { content: small(newspaper()), filterAccess: false }),
    await startSite(t, { content: small(singleBundleNewspaper()), includeCount: true })
  ]
  const { app, put } = await startRoutes(t)
  const model = contentModel({})
  const statuses = new Map<string, number>()
  const faults: string[] = []
  let count = 0
  let most = 0
  /** How the site behind the present Quoin answers the present case. */
  let site: Site
  let answer: Http['send']

  async function run(index: number): Promise<void> {
    const random = randomOf(SEED * 1_000_003 + index)
    if (index % CASES === 0) await renew(random)
    const operation = pick(random, site.operations)
    const { method, url, body, headers, usual } = operation
    const from = Math.floor(random() * usual)
    const isLasting = random() < 0.6
    let requests = 0
    answer = async (request) => {
      if (++requests > REQUESTS_MAX) throw new Failure('CMS_UNREACHABLE', 'too many requests', { cause: new Error('enough') })
      const right = await site.ask(request)
      if (isLasting ? requests <= from : requests !== from + 1) return right
      count++
      return spoiled(right, [...site.answers.values()], random)
    }
    const reply = await app.inject({ method, url, headers: { ...json, ...headers }, ...(body && { payload: body }) })
    most = Math.max(most, requests)
    const status = String(reply.statusCode)
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    const fault = requests > REQUESTS_MAX ? `it took more than ${REQUESTS_MAX} requests` : faultOf(reply.statusCode, reply.body)
    if (fault) faults.push(`case ${index}, ${method} ${url}: ${fault}: ${reply.body.slice(0, 300)}`)
  }

  /** Puts a new Quoin before a site, which knows nothing yet. */
  async function renew(random: Random): Promise<void> {
    site = pick(random, sites)
    const account = [undefined, undefined, undefined, basicAccount, sessionAccount, oauthAccount][Math.floor(random() * 6)]
    const options = { http: { send: (request) => answer(request), async close() {} } satisfies Http, jsonapiPath: '/jsonapi' }
    // The account's own answers are right at first: nothing goes on where it is refused for good.
    answer = site.ask
    const credentials = account?.(options, 'editor', 'editor')
    await credentials?.credentials().catch(() => {})
    const cms = createJsonapi({ ...options, ...(credentials && { account: credentials }) })
    const editions = createEditions({ site: createSite({ cms, model, cmsUrl: site.url, warn() {} }) })
    const locks = {
      view: async () => [],
      feed: {
        watch: async () => {
          throw new Error('nobody watches')
        }
      }
    }
    put(editions, createBoards({ locks, editions, model } as never), async ({ headers }) =>
      drupalCheck({ ...options, most: 10 })(headers, 'id')
    )
  }

  let index = 0
  while (count < ANSWERS) await run(index++)
  comment(t, `${count} spoiled answers in ${index} requests, the most requests to the CMS were ${most}`, statuses)
  t.strictSame(faults.slice(0, 10), [], `${faults.length} faults of FUZZ_SEED=${SEED}`)
  t.strictSame(rejections, [], 'no rejection is left unhandled')
  t.ok(statuses.get('200')! > 1000 && statuses.get('502')! > 1000, 'some answers are good enough, some are not')
  t.equal(({} as Record<string, unknown>)['x'] ?? Object.keys(Object.prototype).length, 0, 'no prototype was touched')
})

t.test(`${THROUGH_SOCKETS} of them through sockets, and the whole application: never 500, and well afterwards`, async (t) => {
  const { app, cms } = await openHostile(t, { env: { staleSeconds: '0' } })
  const operations = operationsOf(newspaper()).filter(({ url }) => url.startsWith('/api/'))
  const answers: HttpAnswer[] = []
  const statuses = new Map<string, number>()
  const faults: string[] = []
  let count = 0
  for (let index = 0; count < THROUGH_SOCKETS; index++) {
    const random = randomOf(SEED * 1_000_003 - index)
    let left = Math.floor(random() ** 2 * 4)
    cms.behave = async (asked, honest) => {
      if (asked.method !== 'GET' && random() < 0.5) return { status: 422, body: { errors: [] } }
      const { status, headers, body } = await honest()
      const answer = { status, headers, body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)) }
      if (answers.length < 50) answers.push(answer)
      if (left-- !== 0 || asked.path === '/jsonapi') return undefined
      count++
      const said = spoiled(answer, answers, random)
      // These have no body.
      const { 'content-length': _, ...fields } = said.headers as Record<string, string>
      return { status: said.status, headers: fields, body: [204, 304].includes(said.status) ? '' : said.body.toString('latin1') }
    }
    const { method, url, body, headers } = pick(random, operations)
    const reply = await app.inject({
      method,
      url,
      headers: { ...json, authorization: `Bearer ${index}`, ...headers },
      ...(body && { payload: body })
    })
    statuses.set(String(reply.statusCode), (statuses.get(String(reply.statusCode)) ?? 0) + 1)
    const fault = faultOf(reply.statusCode, reply.body)
    if (fault) faults.push(`request ${index}, ${method} ${url}: ${fault}: ${reply.body.slice(0, 300)}`)
  }
  comment(t, `${count} through sockets`, statuses)
  t.strictSame(faults.slice(0, 10), [], `${faults.length} faults of FUZZ_SEED=${SEED}`)
  cms.behave = () => undefined
  t.equal((await app.inject({ url: '/api/collections/daily', headers: editor })).statusCode, 200)
})
