import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { BatchWriteCommand, ScanCommand } from '@aws-sdk/lib-dynamodb'
import t, { type Test } from 'tap'
import { newspaper } from '../../dev/content.ts'
import { createCms } from '../../packages/drupal-stand-in/cms.ts'
import { build } from '../helper.ts'
import { startEngine } from '../locks/fixtures/engines.ts'
import { ROOT } from './fixtures/processes.ts'

/**
 * What 1.0.0 writes to the table and answers on the wire (docs/upgrading.md). `RELEASE=write npx tap test/app/release.test.ts`
 * writes it anew, which only a major version may do where it takes something away.
 */
const FILE = join(ROOT, 'test/app/fixtures/release-1.0.0.json')

type Shape = string | Shape[] | { [member: string]: Shape }
type Item = Record<string, unknown>

interface Release {
  /** The records of the table as they were written, for later versions to read. */
  items: Item[]
  /** What became of each request, in their order. */
  wire: Record<string, { status: number; headers: string[]; body: Shape }>
}

const HEADERS = ['etag', 'location', 'lock-expires', 'lock-since', 'idempotency-replayed']
const LOCKS = '/api/cloud/data-state/publisher_container/1'
const anna = { uid: '7', name: 'Anna' }
const ben = { uid: '8', name: 'Ben' }

/** What the requests of a day are, each with what it makes of the table. */
const REQUESTS: Array<[method: 'GET' | 'POST' | 'PUT' | 'DELETE', url: string, body?: object, headers?: Record<string, string>]> = [
  ['POST', LOCKS, { fieldName: 'title', userData: anna, payload: 'typed by Anna' }],
  ['POST', LOCKS, { fieldName: 'title', userData: ben, payload: 'refused' }],
  ['POST', `${LOCKS}/requests`, { fieldName: 'title', userData: ben }],
  ['POST', `${LOCKS}/presence`, { userData: ben }],
  ['POST', `${LOCKS}/proposals`, { fieldName: 'title', userData: ben, payload: 'proposed', base: 'a tag', reason: 'shorter' }],
  ['PUT', LOCKS, { fieldName: 'title', userData: ben, payload: 'typed by Ben' }],
  ['GET', LOCKS],
  ['GET', `${LOCKS}/drafts?uid=7`],
  ['GET', `${LOCKS}/proposals?fieldName=title`],
  ['DELETE', `${LOCKS}?fieldName=title&uid=8`],
  ['POST', LOCKS, { fieldName: 'field_note', userData: anna, payload: 'stays' }],
  ['GET', '/api/collection/1'],
  ['GET', '/api/collections/daily?limit=1'],
  ['GET', '/api/collection/1/locks'],
  ['POST', '/api/collection/1', { title: [{ value: 'Saved' }] }, { 'idempotency-key': '"once"' }],
  ['POST', '/api/collection/1', { title: [{ value: 'Saved' }] }, { 'idempotency-key': '"once"' }],
  ['GET', '/api/collection/1/journal'],
  ['GET', '/api/collection/none'],
  ['GET', '/health/live']
]

/** The names and types of what is there; of a list its first member. */
function shapeOf(value: unknown): Shape {
  if (Array.isArray(value)) return value.slice(0, 1).map(shapeOf)
  if (typeof value !== 'object' || value === null) return value === null ? 'null' : typeof value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shapeOf(member)]))
}

/** Where the later shape lacks something of the earlier one; what is added is no difference. */
function lacks(earlier: Shape, later: Shape | undefined, at = ''): string[] {
  if (later === undefined) return [`${at} is gone`]
  if (typeof earlier === 'string' || typeof later === 'string') return earlier === later ? [] : [`${at} is another type`]
  return Object.entries(earlier).flatMap(([name, shape]) => lacks(shape, (later as Record<string, Shape>)[name], `${at}/${name}`))
}

/** A service before a newspaper and an engine, and what is in its table. */
async function open(t: Test, items: Item[] = []) {
  const { endpoint, client } = await startEngine(t, 'dynalite')
  if (items.length > 0) {
    await client.send(new BatchWriteCommand({ RequestItems: { DataState: items.map((Item) => ({ PutRequest: { Item } })) } }))
  }
  const cms = createCms({ content: newspaper() })
  t.teardown(() => cms.close())
  const env = {
    CMS_AUTH: 'basic',
    CMS_USER: 'editor',
    CMS_PASSWORD: 'editor',
    EDITION_LOCKS: 'enforce',
    DRAFT_DAYS: '3650',
    JOURNAL_DAYS: '3650'
  }
  const app = await build(t, { ...env, DYNAMODB_ENDPOINT: endpoint, CMS_URL: await cms.listen(), ENVIRONMENT: 'release' })
  const scan = async () => (await client.send(new ScanCommand({ TableName: 'DataState', ConsistentRead: true }))).Items!
  return { app, scan }
}

async function record(t: Test): Promise<Release> {
  const { app, scan } = await open(t)
  const wire: Release['wire'] = {}
  let items: Item[] = []
  for (const [index, [method, url, payload, headers = {}]] of REQUESTS.entries()) {
    const answer = await app.inject({ method, url, headers, ...(payload && { payload }) })
    wire[`${index + 1} ${method} ${url}`] = {
      status: answer.statusCode,
      headers: HEADERS.filter((name) => answer.headers[name] !== undefined),
      body: shapeOf(answer.json())
    }
    const known = new Map(
      [...items, ...(await scan())].map((item) => [JSON.stringify([item['env_entityType_entityId'], item['fieldName']]), item])
    )
    items = [...known.values()]
  }
  return { items, wire }
}

/** Which kind of record it is: by its members, since its key may have a hash in it. */
const kindOf = (item: Item) => Object.keys(item).sort().join()

t.test('this version writes and answers all that 1.0.0 did', async (t) => {
  const now = await record(t)
  if (process.env['RELEASE'] === 'write') writeFileSync(FILE, `${JSON.stringify(now, null, 2)}\n`)
  const release = JSON.parse(readFileSync(FILE, 'utf8')) as Release
  t.strictSame(Object.keys(now.wire), Object.keys(release.wire))
  for (const [request, { status, headers, body }] of Object.entries(release.wire)) {
    const later = now.wire[request]!
    t.equal(later.status, status, request)
    t.strictSame(
      headers.filter((name) => !later.headers.includes(name)),
      [],
      request
    )
    t.strictSame(lacks(body, later.body), [], request)
  }
  const kinds = new Set(now.items.map(kindOf))
  for (const item of release.items) t.ok(kinds.has(kindOf(item)), `an older instance beside it reads ${kindOf(item)}`)
})

t.test('this version reads what 1.0.0 left in the table', async (t) => {
  const { items } = JSON.parse(readFileSync(FILE, 'utf8')) as Release
  // As if it had been written now: time to live has not come for it.
  const lasting = items.map((item) =>
    item['removeAt'] === undefined ? item : { ...item, removeAt: Math.floor(Date.now() / 1000) + 86_400 }
  )
  const { app } = await open(t, lasting)
  const locks = (await app.inject(LOCKS)).json().data.Items
  t.match(locks, [{ fieldName: 'field_note', userData: anna, payload: 'stays' }])
  t.equal((await app.inject({ method: 'POST', url: LOCKS, payload: { fieldName: 'field_note', userData: ben } })).statusCode, 423)
  t.match((await app.inject(`${LOCKS}/drafts?uid=7`)).json().data.Items, [{ fieldName: 'title', payload: 'typed by Anna' }])
  const proposals = (await app.inject(`${LOCKS}/proposals?fieldName=title`)).json()
  t.match(JSON.stringify(proposals), /proposed/)
  const [entry] = (await app.inject('/api/collection/1/journal')).json().data
  t.match(JSON.stringify(entry), /title/)
  const repeated = {
    method: 'POST',
    url: '/api/collection/1',
    payload: { title: [{ value: 'Saved' }] },
    headers: { 'idempotency-key': '"once"' }
  } as const
  t.match((await app.inject(repeated)).headers, { 'idempotency-replayed': 'true' })
})
