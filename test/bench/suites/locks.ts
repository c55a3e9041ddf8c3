import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CreateTableCommand, waitUntilTableExists } from '@aws-sdk/client-dynamodb'
import { PutCommand } from '@aws-sdk/lib-dynamodb'
import { createCms } from '../../../packages/drupal-stand-in/cms.ts'
import { newspaper } from '../../../dev/content.ts'
import { createStore } from '#lib/table/client.ts'
import { createTable } from '#lib/table/definition.ts'
import { createLocks } from '#lib/locks/locks.ts'
import { AUDIENCE, claims, ISSUER, pairs, pemOf, tokenOf } from '../../auth/fixtures.ts'
import { hasDynoxide, startDynoxide } from '../../locks/fixtures/dynoxide.ts'
import { compare } from '../compare.ts'
import type { FloorRequest, FloorTask } from '../contestants/floor.ts'
import { LOCK_TABLE, lockId } from '../contestants/lock-service.ts'
import type { Load, LoadRequest } from '../load.ts'
import { observed, startProgram, startQuoin, startWorker, type Contestant } from '../processes.ts'
import type { Comparison, Figures, Suite, SuiteOptions } from '../suite.ts'

interface Work {
  name: string
  /** Sent in turn to a service. */
  requests: LoadRequest[]
  /** The same asked of the store itself. */
  floor: FloorRequest[]
}

/** How long each work is done before it is measured, so that code is compiled by then. */
const WARM_UP_MS = 3000

/** The concurrency that everything is measured at; some works at others too. */
const CONCURRENCY = 32

const PATH = '/api/cloud/data-state/node/{worker}'
const KEY = { S: 'bench-node-{worker}' }
const TableName = 'DataState'
const LOCK_CLIENT = 'node:http with dynamodb-lock-client'
const TEXT = 'Harbour bridge to open in spring'
const ANNA = { uid: '7', name: 'Anna' }
const headers = { 'content-type': 'application/json' }

const acquire = (fieldName: string, userData: object, status = 200): LoadRequest => ({
  method: 'POST',
  path: PATH,
  headers,
  body: JSON.stringify({ fieldName, userData, payload: TEXT }),
  status
})

const put = (fieldName: string, uid: string, status = 200): FloorRequest => ({
  operation: 'PutItem',
  status,
  input: {
    TableName,
    Item: {
      env_entityType_entityId: KEY,
      fieldName: { S: fieldName },
      timestamp: { N: '1767225600' },
      userData: { M: { uid: { S: uid }, name: { S: 'Anna' } } },
      payload: { S: TEXT }
    },
    ConditionExpression: 'attribute_not_exists(fieldName) OR userData.uid = :uid',
    ExpressionAttributeValues: { ':uid': { S: uid } },
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD'
  }
})

const write: Work = { name: 'write', requests: [acquire('title', ANNA)], floor: [put('title', '7')] }

/** Of a field that somebody else holds: refused, with the holder. */
const contended: Work = {
  name: 'contended write',
  requests: [acquire('held', { uid: '8', name: 'Ben' }, 423)],
  floor: [put('held', '8', 400)]
}

const list: Work = {
  name: 'list of 10',
  requests: [{ method: 'GET', path: PATH, status: 200 }],
  floor: [
    {
      operation: 'Query',
      status: 200,
      input: {
        TableName,
        ConsistentRead: true,
        KeyConditionExpression: 'env_entityType_entityId = :key',
        ExpressionAttributeValues: { ':key': KEY }
      }
    }
  ]
}

const release: Work = {
  name: 'release',
  requests: [{ method: 'DELETE', path: `${PATH}?fieldName=title&uid=7`, status: 200 }],
  floor: [
    {
      operation: 'DeleteItem',
      status: 200,
      input: {
        TableName,
        Key: { env_entityType_entityId: KEY, fieldName: { S: 'title' } },
        ConditionExpression: 'userData.uid = :uid',
        ExpressionAttributeValues: { ':uid': { S: '7' } }
      }
    }
  ]
}

/** What is released has to be there first, where the store is a real one. */
const turns: Work = {
  name: 'write and release',
  requests: [...write.requests, ...release.requests],
  floor: [...write.floor, ...release.floor]
}

/** Where the locks are kept: what is done there, and how much of it at once. */
interface Store {
  name: string
  start: () => Promise<{ endpoint: string; close: () => Promise<void> }>
  /** Whether it keeps what it is given. */
  real: boolean
  works: Work[]
  /** Those of them that a lock client can do, of which a lock is taken and released. */
  lockWorks: Work[]
  concurrencies: number[]
}

const canned: Store = {
  name: 'canned store',
  real: false,
  works: [write, contended, list, release],
  lockWorks: [write, contended],
  concurrencies: [CONCURRENCY, 1, 128],
  start: () => startStore('stubs/dynamodb.ts')
}
const engine = { real: true, works: [write, contended, list, turns], lockWorks: [contended, turns], concurrencies: [CONCURRENCY] }
const stores: Store[] = [
  canned,
  ...(hasDynoxide ? [{ ...engine, name: 'dynoxide', start: startDynoxide }] : []),
  { ...engine, name: 'dynalite', start: () => startStore('stubs/dynalite.ts') }
]

async function startStore(file: string): Promise<{ endpoint: string; close: () => Promise<void> }> {
  const { url: endpoint, close } = await startProgram(file)
  return { endpoint, close }
}

/** Quoin and what its users would run instead, over the same store. */
async function inStore(store: Store, { rounds, ms, short, say }: SuiteOptions): Promise<Comparison[]> {
  const { endpoint, close } = await store.start()
  const settings = { DYNAMODB_ENDPOINT: endpoint, ENVIRONMENT: 'bench', CMS_URL: 'http://127.0.0.1:9' }
  const services: Record<string, Contestant> = {
    Quoin: await startQuoin(settings),
    'node:http with the stock client': await startProgram('contestants/node-http.ts', settings),
    ...(!short && { [LOCK_CLIENT]: await startProgram('contestants/lock-client.ts', settings) })
  }
  const doers = (work: Work) => Object.entries(services).filter(([name]) => name !== LOCK_CLIENT || store.lockWorks.includes(work))
  const load = await startWorker<Load>('load.ts')
  const floor = await startWorker<FloorTask>('contestants/floor.ts')
  const comparisons: Comparison[] = []
  try {
    if (store.real) await fill(endpoint)
    for (const each of store.works) {
      for (const [, { url }] of doers(each)) {
        await load.run({ url, requests: each.requests, concurrency: CONCURRENCY, ms: WARM_UP_MS })
      }
    }
    for (const each of store.works) {
      const { name, requests, floor: operations } = each
      for (const concurrency of short ? [CONCURRENCY] : store.concurrencies) {
        const work = `${name}, ${concurrency} at once, ${store.name}`
        say(work)
        const contestants = doers(each).map(
          ([name, { url, pid }]) => [name, () => observed(pid, () => load.run({ url, requests, concurrency, ms }))] as const
        )
        comparisons.push(
          await compare(work, rounds, {
            ...Object.fromEntries(contestants),
            'no service: requests signed by hand': () =>
              observed(floor.pid, () => floor.run({ endpoint, requests: operations, concurrency, ms }))
          })
        )
      }
    }
    return comparisons
  } finally {
    for (const each of [...Object.values(services), load, floor]) await each.close()
    await close()
  }
}

/** An entity for every worker, with ten locks, and a lock that a lock client finds held. */
async function fill(endpoint: string): Promise<void> {
  const { client, destroy } = createStore({ region: 'local', endpoint })
  await createTable(client, TableName)
  await client.send(
    new CreateTableCommand({
      TableName: LOCK_TABLE,
      BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
      KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }]
    })
  )
  await waitUntilTableExists({ client, minDelay: 0.01, maxDelay: 1, maxWaitTime: 30 }, { TableName: LOCK_TABLE })
  const { acquire } = createLocks({ client, table: TableName, environment: 'bench' })
  const fields = ['title', 'held', ...Array.from({ length: 8 }, (_, index) => `field_${index}`)]
  for (let worker = 1; worker <= CONCURRENCY; worker++) {
    const id = String(worker)
    for (const fieldName of fields) await acquire({ type: 'node', id }, { fieldName, userData: ANNA, payload: TEXT })
    await client.send(new PutCommand({ TableName: LOCK_TABLE, Item: { id: lockId(`bench-node-${id}`, 'held'), owner: ANNA.uid } }))
  }
  destroy()
}

/** What it costs to know who calls, and what the caller may, once both are remembered: without AUTH, and with each kind of it. */
async function byKnownCallers({ rounds, ms, say }: SuiteOptions): Promise<Comparison[]> {
  const store = await canned.start()
  const cms = createCms({ content: newspaper() })
  const directory = mkdtempSync(join(tmpdir(), 'quoin-bench-'))
  const key = join(directory, 'key.pem')
  writeFileSync(key, pemOf(pairs.ES256))
  const settings = { DYNAMODB_ENDPOINT: store.endpoint, ENVIRONMENT: 'bench', CMS_URL: await cms.listen(), CMS_AUTH: 'passthrough' }
  const lock = (authorization: string): LoadRequest => ({ ...acquire('title', {}), headers: { ...headers, authorization } })
  const jwt = { AUTH: 'jwt', AUTH_KEYS: key, AUTH_ISSUER: ISSUER, AUTH_AUDIENCE: AUDIENCE }
  const token = tokenOf(claims({ exp: Math.floor(Date.now() / 1000) + 3600 }))
  const callers: Array<[name: string, env: Record<string, string>, request: LoadRequest]> = [
    ['Quoin', {}, acquire('title', ANNA)],
    ['itself with AUTH=jwt, the token remembered', jwt, lock(`Bearer ${token}`)],
    ['itself with AUTH=drupal, the right remembered', { AUTH: 'drupal' }, lock(`Basic ${btoa('admin:admin')}`)]
  ]
  const load = await startWorker<Load>('load.ts')
  const services: Contestant[] = []
  try {
    const contestants: Record<string, () => Promise<Figures>> = {}
    for (const [name, env, request] of callers) {
      const service = await startQuoin({ ...settings, ...env })
      services.push(service)
      await load.run({ url: service.url, requests: [request], concurrency: CONCURRENCY, ms: WARM_UP_MS })
      contestants[name] = () =>
        observed(service.pid, () => load.run({ url: service.url, requests: [request], concurrency: CONCURRENCY, ms }))
    }
    const work = `write, AUTH=none, ${CONCURRENCY} at once, canned store`
    say(work)
    return [await compare(work, rounds, contestants)]
  } finally {
    for (const each of [...services, load]) await each.close()
    await cms.close()
    await store.close()
    rmSync(directory, { recursive: true })
  }
}

export const locks: Suite = {
  name: 'locks',
  title: 'Field locks',
  async run(options) {
    const comparisons: Comparison[] = []
    for (const store of options.short ? [canned] : stores) comparisons.push(...(await inStore(store, options)))
    return comparisons
  }
}

export const callers: Suite = { name: 'callers', title: 'Who calls', run: byKnownCallers }
