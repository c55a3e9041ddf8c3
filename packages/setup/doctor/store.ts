import { randomUUID } from 'node:crypto'
import {
  DeleteCommand,
  GetCommand,
  PutCommand,
  QueryCommand,
  TransactWriteCommand
} from '@aws-sdk/lib-dynamodb'
import { advice, isUnknownOperation, noSuchTable, NOT_NEEDED } from '../table/advice.ts'
import {
  describeTable,
  describeTimeToLive,
  judgedTimeToLive,
  unusable,
  type TableAt
} from '../table/provision.ts'
import { keysOf, REMOVE_AT } from '../../../lib/table/definition.ts'
import { ok, unchecked, wrong, type Diagnosis } from '../diagnosis.ts'
import { commandFor } from '../../../lib/package-root.ts'

export interface StoreToCheck extends TableAt {
  /** First part of every record's key. */
  environment: string
  /** Whether saves of editions respect locks, which takes transactions. */
  enforceLocks?: boolean
}

/**
 * How long a record of the doctor may live where it cannot be removed, in seconds: then time to
 * live does it.
 */
const LEFT_BEHIND_SECONDS = 3600

/**
 * Checks the lock table: that it is there, with its keys and its time to live, and that locks can
 * be kept in it.
 */
export async function* checkStore(at: StoreToCheck): AsyncGenerator<Diagnosis> {
  const { client, table } = at
  try {
    const description = await describeTable(client, table)
    const problem = description ? unusable(table, description) : noSuchTable(`table ${table}`)
    if (problem) {
      yield problem
      return
    }
    yield ok(`table ${table}: is there, ${keysOf(description!)}`)
  } catch (error) {
    if (!isDenied(error)) {
      yield advice(`table ${table}`, error as Error)
      return
    }
    yield unchecked(
      `table ${table}: whether its keys are right`,
      'these credentials may not call DescribeTable, which only the doctor needs'
    )
  }
  yield await timeToLive(at)
  yield* access(at)
  if (at.enforceLocks) yield await transactions(at)
}

async function timeToLive(at: StoreToCheck): Promise<Diagnosis> {
  try {
    const verdict = judgedTimeToLive(await describeTimeToLive(at))
    if (verdict) return verdict
    return at.local
      ? unchecked(
          'time to live',
          `is off; ${commandFor('table')} turns it on where the engine has it`
        )
      : wrong(
          'time to live: it is off, so what leases and takeovers leave behind stays',
          `turn it on for ${REMOVE_AT}, with ${commandFor('table')} or otherwise`
        )
  } catch (error) {
    if (isDenied(error)) {
      return unchecked(
        'time to live',
        'these credentials may not call DescribeTimeToLive, which only the doctor needs'
      )
    }
    return at.local && isUnknownOperation(error)
      ? unchecked('time to live', NOT_NEEDED)
      : advice('time to live', error as Error)
  }
}

/**
 * Tries the four operations that locks are made of, on a record of its own: no type of entity has a
 * `#`. Each is tried whatever became of those before, the removal too: a write that was not
 * answered may have been made.
 */
async function* access({
  client,
  table: TableName,
  environment
}: StoreToCheck): AsyncGenerator<Diagnosis> {
  const Key = { env_entityType_entityId: `${environment}-#doctor`, fieldName: randomUUID() }
  const record = { ...Key, [REMOVE_AT]: Math.floor(Date.now() / 1000) + LEFT_BEHIND_SECONDS }
  const failures: Diagnosis[] = []
  let isWritten = false

  async function attempt(operation: string, work: () => Promise<unknown>): Promise<void> {
    try {
      await work()
    } catch (error) {
      failures.push(advice(operation, error as Error))
    }
  }

  await attempt('PutItem', async () => {
    await client.send(new PutCommand({ TableName, Item: record }))
    isWritten = true
  })
  await attempt('GetItem', async () => {
    const { Item } = await client.send(new GetCommand({ TableName, Key, ConsistentRead: true }))
    if (isWritten && !Item) throw notThere()
  })
  await attempt('Query', async () => {
    const { Count } = await client.send(
      new QueryCommand({
        TableName,
        ConsistentRead: true,
        KeyConditionExpression: 'env_entityType_entityId = :key AND fieldName = :fieldName',
        ExpressionAttributeValues: {
          ':key': Key.env_entityType_entityId,
          ':fieldName': Key.fieldName
        }
      })
    )
    if (isWritten && Count !== 1) throw notThere()
  })
  await attempt('DeleteItem', () => client.send(new DeleteCommand({ TableName, Key })))

  yield* failures
  if (failures.length === 0) {
    yield ok(
      'PutItem, GetItem, Query and DeleteItem: work, as tried with a record that is removed again'
    )
  }
}

/**
 * Tries a transaction with a check, as saves with EDITION_LOCKS=enforce send it, on a record that
 * it removes again.
 */
async function transactions({
  client,
  table: TableName,
  environment,
  local
}: StoreToCheck): Promise<Diagnosis> {
  const Key = { env_entityType_entityId: `${environment}-#doctor`, fieldName: randomUUID() }
  const absent = { ConditionExpression: 'attribute_not_exists(fieldName)' }
  const TransactItems = [
    {
      Put: {
        TableName,
        Item: { ...Key, [REMOVE_AT]: Math.floor(Date.now() / 1000) + LEFT_BEHIND_SECONDS }
      }
    },
    { ConditionCheck: { TableName, Key: { ...Key, fieldName: randomUUID() }, ...absent } }
  ]
  const finding = await client.send(new TransactWriteCommand({ TransactItems })).then(
    () =>
      ok(
        'TransactWriteItems: works, so a save checks all locks in one moment (EDITION_LOCKS=enforce)'
      ),
    (error: Error) =>
      local && isUnknownOperation(error)
        ? unchecked(
            'TransactWriteItems',
            'this engine has none, so a save may overwrite a field that is locked right before it is sent (EDITION_LOCKS=enforce)'
          )
        : advice('TransactWriteItems', error)
  )
  await client.send(new DeleteCommand({ TableName, Key })).catch(() => {})
  return finding
}

function isDenied(error: unknown): boolean {
  return (error as Error).name === 'AccessDeniedException'
}

function notThere(): Error {
  return Object.assign(
    new Error('a record that was just written cannot be read; is this really DynamoDB?'),
    { name: 'the record is not there' }
  )
}
