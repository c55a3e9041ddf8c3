import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb'
import { DeleteCommand, GetCommand, PutCommand, QueryCommand, type DynamoDBDocumentClient, type QueryCommandInput } from '@aws-sdk/lib-dynamodb'
import { unmarshall } from '@aws-sdk/util-dynamodb'
import { unmarshallOptions } from '../dynamodb/client.ts'
import { reply, storeFailure } from '../dynamodb/failures.ts'
import type { Repeated } from '../dynamodb/fence.ts'
import type { InTime } from './bounds.ts'
import type { Condition } from './expression.ts'
import type { Stored } from './item.ts'
import type { Found, Key } from './record.ts'

const IN_FLIGHT = 10

/**
 * Whether a write's condition held; if not, `found()` is what the condition was not true of. A write that was `repeated`
 * went unanswered before: it may have been carried out then, or may be still.
 */
export type Written = { done: true } | { done: false, repeated: boolean, found: () => Promise<Found | undefined> }

export interface QueryOptions {
  /** Called before each page. */
  inTime?: InTime | undefined
  /** Called with what is wanted of each page, and whether that is the only one. */
  measure?: ((page: unknown[], isOnly: boolean) => void) | undefined
  /** Which items are wanted. Count has all the same. */
  isWanted?: ((item: Found) => boolean) | undefined
}

export type LockTable = ReturnType<typeof createLockTable>

/** The operations on one DynamoDB table that locks are made of. Each throws a Failure when the store does not do its part. */
export function createLockTable ({ client, table: TableName }: { client: DynamoDBDocumentClient, table: string }) {
  async function put (item: Record<string, Stored>, condition?: Condition): Promise<Written> {
    return written(client.send(new PutCommand({ TableName, Item: item, ...tellingWhy(condition) })), item as unknown as Key)
  }

  async function remove (key: Key, condition?: Condition): Promise<Written> {
    return written(client.send(new DeleteCommand({ TableName, Key: key, ...tellingWhy(condition) })), key)
  }

  async function written (pending: Promise<unknown>, { env_entityType_entityId: key, fieldName }: Key): Promise<Written> {
    try {
      await reply(pending)
      return { done: true }
    } catch (error) {
      if (!(error instanceof ConditionalCheckFailedException)) throw error
      const { Item, repeated = false } = error as ConditionalCheckFailedException & Repeated
      return { done: false, repeated, found: async () => Item ? unmarshall(Item, unmarshallOptions) : get({ env_entityType_entityId: key, fieldName }) }
    }
  }

  /** One item, read consistently. */
  async function get (key: Key): Promise<Found | undefined> {
    return (await reply(client.send(new GetCommand({ TableName, Key: key, ConsistentRead: true })))).Item
  }

  /**
   * Every page of a query's result as one.
   * @throws {Failure} TOO_LARGE for more than is measured; what `inTime` throws
   */
  async function query (input: Omit<QueryCommandInput, 'TableName'>, { inTime, measure, isWanted = () => true }: QueryOptions = {}): Promise<{ Items: Found[], Count: number, ScannedCount: number }> {
    const result = { Items: [] as Found[], Count: 0, ScannedCount: 0 }
    let next: Found | undefined
    let pages = 0
    do {
      inTime?.()
      const page = await reply(client.send(new QueryCommand({ TableName, ...input, ExclusiveStartKey: next })))
      if (!page.Items) throw storeFailure(new Error('a Query was answered without Items'))
      const items = page.Items.filter(isWanted)
      measure?.(items, ++pages === 1 && !page.LastEvaluatedKey)
      result.Items.push(...items)
      result.Count += page.Count!
      result.ScannedCount += page.ScannedCount!
      next = page.LastEvaluatedKey
    } while (next)
    return result
  }

  /** Resolves when the table answers a read of one item. */
  async function probe (key: Key, abortSignal: AbortSignal): Promise<void> {
    await reply(client.send(new GetCommand({ TableName, Key: key }), { abortSignal }))
  }

  return { put, remove, get, query, probe }
}

function tellingWhy (condition: Condition | undefined) {
  return condition && { ...condition, ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const }
}

/** Works on all items, several at once: after the last, or after the first error, which it throws. */
export async function forEach<T> (items: T[], work: (item: T) => Promise<void>): Promise<void> {
  const waiting = items.values()
  await Promise.all(Array.from({ length: IN_FLIGHT }, async () => {
    for (const item of waiting) await work(item)
  }))
}
