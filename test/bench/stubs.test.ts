import { DeleteCommand } from '@aws-sdk/lib-dynamodb'
import t, { type Test } from 'tap'
import { createStore } from '#lib/table/client.ts'
import { isNothing, isOfVersion, namesOf } from '#lib/table/expression.ts'
import { openTable } from '#lib/table/table.ts'
import { systemTime } from '#lib/time.ts'
import { needsDynoxide, startEngine } from '../locks/fixtures/engines.ts'
import { startProgram } from './processes.ts'
import type { StoreRequest } from './stubs/asked.ts'
import { createItems } from './stubs/items.ts'
import { editionOf, savedText } from './stubs/saved-edition.ts'

const key = (fieldName: string) => ({ env_entityType_entityId: 'bench-node-1', fieldName })
const item = (fieldName: string, version: string) => ({ ...key(fieldName), version })

const ANSWER_MS = 5

async function startStub(t: Test): Promise<string> {
  const { url, close } = await startProgram('stubs/store.ts', { ANSWER_MS: String(ANSWER_MS) })
  t.teardown(close)
  return url
}

/** What is expected of a table, by the operations that Quoin has. */
async function checkTable(t: Test, endpoint: string): Promise<void> {
  const { client, destroy } = createStore({ region: 'local', endpoint })
  t.teardown(destroy)
  const table = openTable({ client, table: 'DataState', time: systemTime })
  t.strictSame(await table.put(item('title', 'a'), isNothing(), 'ALL_OLD'), { done: true })
  t.strictSame(await table.put(item('title', 'b'), isOfVersion('a'), 'ALL_OLD'), { done: true, previous: item('title', 'a') })
  t.match(await table.claim(item('title', 'c'), isNothing()), { done: false, inTheWay: item('title', 'b') })

  const isB = { key: key('title'), condition: isOfVersion('b') }
  t.strictSame(await table.putIf(item('body', 'ä'), isNothing(), [isB]), { done: true })
  t.match(await table.putIf(item('more', 'a'), isNothing(), [{ ...isB, condition: isOfVersion('c') }]), {
    done: false,
    isReplaced: false,
    unmet: [item('title', 'b')]
  })
  t.match(await table.putIf(item('body', 'c'), isNothing(), [isB]), { done: false, isReplaced: true })

  const keys = '#key = :key AND #fieldName < :before'
  const query = {
    KeyConditionExpression: keys,
    ExpressionAttributeNames: namesOf(keys),
    ExpressionAttributeValues: { ':key': 'bench-node-1', ':before': 'z' },
    Limit: 1
  }
  const newestFirst = await table.query({ ...query, ScanIndexForward: false })
  t.strictSame(newestFirst, { Items: [item('title', 'b'), item('body', 'ä')], Count: 2, ScannedCount: 2 }, 'in pages')
  t.strictSame((await table.query({ ...query, ExpressionAttributeValues: { ':key': 'other', ':before': 'z' } })).Items, [])

  t.match(await table.remove(key('title'), isOfVersion('a')), { done: false })
  t.strictSame(await table.remove(key('title'), isOfVersion('b')), { done: true })
  t.equal(await table.get(key('title')), undefined)
  await client.send(new DeleteCommand({ TableName: 'DataState', Key: key('body') }))
}

t.test('the stub store keeps items, and answers what they replace and what refuses them, and takes its time', async (t) => {
  const url = await startStub(t)
  await checkTable(t, url)
  const asked = (await (await fetch(`${url}/asked`)).json()) as StoreRequest[]
  t.strictSame([...new Set(asked.map(({ operation }) => operation))], ['PutItem', 'TransactWriteItems', 'Query', 'DeleteItem', 'GetItem'])
  t.ok(asked.every(({ from, to }) => to - from > ANSWER_MS - 2))
})

t.test('an engine of DynamoDB answers the same', needsDynoxide, async (t) => {
  const { endpoint } = await startEngine(t, 'dynoxide')
  await checkTable(t, endpoint)
})

t.test('the stub store understands the conditions that records have', async (t) => {
  const answer = createItems()
  const Key = { env_entityType_entityId: { S: 'k' }, fieldName: { S: 'f' } }
  answer('PutItem', { Item: { ...Key, lease: { N: '5' }, version: { S: 'b' }, userData: { M: { uid: { S: '7' } } } } })
  const values = {
    ':five': { N: '5.0' },
    ':four': { N: '4' },
    ':a': { S: 'a' },
    ':b': { S: 'b' },
    ':number': { S: 'N' },
    ':uid': { S: '7' }
  }
  for (const [text, holds] of [
    ['#lease = :five', true],
    ['#lease <= :four', false],
    ['#lease > :four AND #lease >= :five', true],
    ['#version < :b OR #version > :a', true],
    ['#lease = :b', false],
    ['#absent < :b', false],
    ['attribute_type(#lease, :number)', true],
    ['NOT attribute_type(#version, :number)', true],
    ['attribute_exists(#version) AND (attribute_exists(#absent) OR begins_with(#version, :b))', true],
    ['contains(#version, :a)', false],
    ['#version IN (:a, :b)', true],
    ['userData.uid = :uid', true],
    ['#lease = #lease AND attribute_not_exists(#key)', false]
  ] as const) {
    const input = { Key, ConditionExpression: text, ExpressionAttributeNames: namesOf(text), ExpressionAttributeValues: values }
    const { status } = answer('TransactWriteItems', { TransactItems: [{ ConditionCheck: input }] })
    t.equal(status === 200, holds, text)
  }
  t.throws(() => answer('DeleteItem', { Key, ConditionExpression: 'size(#version) > :four' }), { message: 'no function size' })
  t.match(answer('Scan', {}), { status: 400 })
})

t.test('the stub CMS shows an edition as it was saved', async (t) => {
  const attributes = { title: 'Old', changed: '2026-01-01T00:00:00+00:00', drupal_internal__revision_id: 1 }
  const document = { data: { id: 'u', attributes, links: { self: 'https://cms.example/u?resourceVersion=id%3A1' } } }
  const text = savedText(document, { attributes: { title: 'New', absent: 1 }, changed: '2026-01-02T00:00:00+00:00', revision: 9 })
  t.strictSame(JSON.parse(text), {
    data: {
      id: 'u',
      attributes: { title: 'New', changed: '2026-01-02T00:00:00+00:00', drupal_internal__revision_id: 9 },
      links: { self: 'https://cms.example/u?resourceVersion=id%3A9' }
    }
  })
  t.equal(editionOf({ data: [{ id: 'u' }] })?.id, 'u')
  t.equal(editionOf({ data: [{ id: 'u' }, { id: 'v' }] }), undefined, 'a list')
})
