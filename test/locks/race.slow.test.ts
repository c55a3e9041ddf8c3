import { QueryCommand, type DynamoDBDocumentClient, type PutCommand } from '@aws-sdk/lib-dynamodb'
import t from 'tap'
import { createLocks, type Locks } from '#lib/locks/locks.ts'
import { build } from '../helper.ts'
import { bareClient } from './fixtures/bare-client.ts'
import { engineNames, needsDynoxide, startEngine } from './fixtures/engines.ts'

const UIDS = 200
const options = { table: 'DataState', environment: 'race' }

/** How many of 200 users, all at once, were told that a free lock is theirs. */
async function winners(locks: Locks, round: number): Promise<number> {
  const outcomes = await Promise.all(
    Array.from({ length: UIDS }, (_, uid) => locks.acquire({ type: 'node', id: String(round) }, { fieldName: 'title', userData: { uid } }))
  )
  const holders = new Set(outcomes.map((result) => (result.outcome === 'held' ? result.lock.userData.uid : 'me')))
  // All who lost were shown the same holder.
  return holders.size > 2 ? NaN : outcomes.filter(({ outcome }) => outcome === 'acquired').length
}

t.test('of 200 users racing for one free lock exactly one wins, in each of 200 rounds', needsDynoxide, async (t) => {
  const { endpoint } = await startEngine(t, 'dynoxide')
  const { client, close } = bareClient(endpoint)
  t.teardown(close)
  const locks = createLocks({ ...options, client })
  const started = performance.now()
  const all = []
  for (let round = 0; round < 200; round++) all.push(await winners(locks, round))
  t.comment(`200 rounds of ${UIDS} took ${Math.round(performance.now() - started)} ms`)
  t.strictSame(all, Array(200).fill(1))
})

t.test('the same race without the condition is lost: that it finds more than one winner shows that it looks', needsDynoxide, async (t) => {
  const { endpoint } = await startEngine(t, 'dynoxide')
  const { client, close } = bareClient(endpoint)
  t.teardown(close)
  const unconditional = {
    send(command: PutCommand) {
      const { ConditionExpression, ExpressionAttributeNames, ExpressionAttributeValues, ...input } = command.input
      return client.send({ input } as PutCommand)
    }
  }
  const locks = createLocks({ ...options, client: unconditional as DynamoDBDocumentClient })
  t.equal(await winners(locks, 0), UIDS)
})

for (const engine of engineNames) {
  t.test(`over ${engine}, through the SDK`, async (t) => {
    const { endpoint, client } = await startEngine(t, engine)

    t.test('exactly one of 200 users wins', async (t) => {
      const locks = createLocks({ ...options, client })
      t.equal(await winners(locks, 0), 1)
    })

    t.test('a list of more than 1 MB is complete and in order', async (t) => {
      const app = await build(t, { DYNAMODB_ENDPOINT: endpoint })
      const fieldNames = Array.from({ length: 9 }, (_, index) => `field_${index}`)
      const locks = createLocks({ table: 'DataState', environment: 'test', client })
      for (const fieldName of fieldNames) {
        await locks.overwrite(
          { type: 'node', id: 'large' },
          { fieldName, userData: { uid: '7' }, payload: fieldName.repeat(300_000 / fieldName.length) }
        )
      }
      const first = await client.send(
        new QueryCommand({
          TableName: 'DataState',
          KeyConditionExpression: 'env_entityType_entityId = :key',
          ExpressionAttributeValues: { ':key': 'test-node-large' }
        })
      )
      t.ok(first.LastEvaluatedKey, 'the store gives it in pages')
      const reply = await app.inject('/api/cloud/data-state/node/large')
      const { data } = reply.json()
      t.ok(reply.body.length > 2_500_000)
      t.strictSame(Object.keys(data), ['Items', 'Count', 'ScannedCount'])
      t.strictSame(
        data.Items.map(({ fieldName, payload }: Record<string, string>) => [fieldName, payload!.length]),
        fieldNames.map((name) => [name, Math.floor(300_000 / 7) * 7])
      )
      t.equal(data.Count, 9)
      t.ok(data.ScannedCount >= 9, 'dynoxide counts the record at a page border twice')
      t.match((await app.inject('/api/cloud/data-state/node/large?excludeUid=7')).json().data, { Items: [], Count: 0 })
    })

    t.test('one DELETE empties 60 fields of a user, but not the one that another takes over meanwhile', async (t) => {
      const app = await build(t, { DYNAMODB_ENDPOINT: endpoint })
      const fieldNames = Array.from({ length: 60 }, (_, index) => `field_${String(index).padStart(2, '0')}`)
      const url = '/api/cloud/data-state/node/full'
      await Promise.all(
        fieldNames.map((fieldName) => app.inject({ method: 'POST', url, body: { fieldName, userData: { uid: '7' }, payload: 'of 7' } }))
      )
      t.equal((await app.inject(url)).json().data.Count, 60)

      // The takeover comes between the query and the delete of its field, wherever the store's scheduling lets it.
      const [released, taken] = await Promise.all([
        app.inject({ method: 'DELETE', url: `${url}?uid=7` }),
        app.inject({ method: 'PUT', url, body: { fieldName: 'field_59', userData: { uid: '8' }, payload: 'of 8', timestamp: 1 } })
      ])
      t.strictSame([released.json(), taken.json()], [{ success: true }, { success: true }])
      t.match((await app.inject(url)).json().data.Items, [{ fieldName: 'field_59', payload: 'of 8' }])
    })

    t.test('a takeover exactly between the query and the delete is not lost', async (t) => {
      const url = { type: 'node', id: 'between' }
      const plain = createLocks({ ...options, client })
      for (const fieldName of ['a', 'b', 'c']) await plain.acquire(url, { fieldName, userData: { uid: '7' } })
      let deletes = 0
      const locks = createLocks({
        ...options,
        client: {
          async send(command: PutCommand) {
            if (command.constructor.name === 'DeleteCommand' && deletes++ === 0) {
              await plain.overwrite(url, { fieldName: 'b', userData: { uid: '8' } })
            }
            return client.send(command)
          }
        } as unknown as DynamoDBDocumentClient
      })
      await locks.release(url, { uid: '7' })
      t.match((await plain.list(url)).Items, [{ fieldName: 'b', userData: { uid: '8' } }])
    })
  })
}
