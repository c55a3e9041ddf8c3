import {
  DeleteCommand,
  GetCommand,
  PutCommand,
  QueryCommand,
  TransactWriteCommand,
  type DynamoDBDocumentClient,
  type QueryCommandInput
} from '@aws-sdk/lib-dynamodb'
import { unmarshall } from '@aws-sdk/util-dynamodb'
import type { Failure } from '../errors.ts'
import type { InTime, Measure } from './bounds.ts'
import { unmarshallOptions } from './client.ts'
import type { Condition } from './expression.ts'
import {
  isCancelled,
  isUnmet,
  isUnmetCondition,
  lacksTransactions,
  reply,
  storeFailure,
  unmetOf
} from './failures.ts'
import { isUnanswered } from './fence.ts'
import { itemOf, keyOf, type Item, type Key, type StoredItem } from './item.ts'
import type { Time } from '../time.ts'

/**
 * Whether a write's condition held; if not, `readItem()` reads the item that failed it. A write
 * that was `repeated` went unanswered before, so it may have been carried out then.
 */
export type ItemWriteResult =
  WriteDone | { done: false; repeated: boolean; readItem: () => Promise<Item | undefined> }

/**
 * The same of a write that is sent once: `unanswered` if its outcome is not known. `readItem()`
 * then reads the item as it is now.
 */
export type SingleWriteResult =
  WriteDone | { done: false; unanswered?: Failure; readItem: () => Promise<Item | undefined> }

/** Whether a record was claimed, with the record that it replaced or the one in the way. */
export type ClaimResult = WriteDone | { done: false; inTheWay: Item | undefined }

/**
 * A write whose condition held. `previous` is the item that it replaced, if the caller asked for
 * it and there was one.
 */
export interface WriteDone {
  done: true
  previous?: Item
}

/** A condition on one item that decides about the write of another. */
export interface ItemCheck {
  key: Key
  condition: Condition
}

/**
 * Whether a put and the checks that belong to it were carried out. If not, `isReplaced` says that
 * the condition of the put itself did not hold, and `unmet` has the items whose checks did not.
 * `unsupported`: this table takes no such put.
 */
export type TransactionResult =
  | { done: true }
  | { done: false; isReplaced: boolean; unmet: Item[] }
  | { done: false; unsupported: Error }

/** Failures of writes that the store has answered, and has not carried out. */
const refusals = new WeakSet<Error>()

/**
 * Whether a write that failed was never carried out and never will be. Of any other failure that
 * is not known.
 */
export function wasRefused(failure: Error): boolean {
  return refusals.has(failure)
}

/** How often a transaction is tried that meets other writes of its items. */
const TRANSACTIONS_MAX = 6

/**
 * How many attempts at a write may go without an answer, and the longest pause after the first, in
 * milliseconds: each next one is twice as long.
 */
export const UNANSWERED_MAX = 3
const FIRST_PAUSE_MS = 100

export interface QueryOptions {
  /** Called before each page. */
  inTime?: InTime | undefined
  /** Called with what is wanted of each page, and whether that is the only one. */
  measure?: Measure | undefined
  /** Which items are wanted. Count counts the others too. */
  isWanted?: ((item: Item) => boolean) | undefined
  /** No further page is read after so many items. */
  most?: number | undefined
}

export type Table = ReturnType<typeof openTable>

export interface TableDeps {
  client: DynamoDBDocumentClient
  table: string
  time: Time
  /** Makes an item of what the table answers; `itemOf` by default. */
  toItem?: (attributes: Record<string, unknown>) => Item
}

/** What the operations on a table need. */
interface TableContext extends Required<Omit<TableDeps, 'table'>> {
  name: string
}

/**
 * The operations on one DynamoDB table. Each throws a Failure when the store does not do its part.
 */
export function openTable({ table: name, toItem = itemOf, ...deps }: TableDeps) {
  const context: TableContext = { ...deps, name, toItem }
  return {
    putOnce: (item: StoredItem, condition: Condition, ReturnValues?: 'ALL_OLD') =>
      putOnce(context, item, condition, ReturnValues),
    removeOnce: (key: Key, condition?: Condition) => removeOnce(context, key, condition),
    put: (item: StoredItem, condition: Condition, ReturnValues?: 'ALL_OLD') =>
      put(context, item, condition, ReturnValues),
    claim: (
      item: StoredItem & { version: string },
      condition: Condition,
      ReturnValues?: 'ALL_OLD'
    ) => claim(context, item, condition, ReturnValues),
    putIf: (item: StoredItem, condition: Condition, checks: ItemCheck[]) =>
      putIf(context, item, condition, checks),
    remove: (key: Key, condition?: Condition) => remove(context, key, condition),
    get: (key: Key) => get(context, key),
    query: (input: Omit<QueryCommandInput, 'TableName'>, options?: QueryOptions) =>
      query(context, input, options),
    probe: (key: Key, abortSignal: AbortSignal) => probe(context, key, abortSignal)
  }
}

/**
 * A put that must not be carried out twice. @param ReturnValues `ALL_OLD` to be told the item that
 * it replaces
 */
function putOnce(
  context: TableContext,
  item: StoredItem,
  condition: Condition,
  ReturnValues?: 'ALL_OLD'
): Promise<SingleWriteResult> {
  return resultOf(
    context,
    context.client.send(
      new PutCommand({
        TableName: context.name,
        Item: item,
        ...withItemOnFailure(condition),
        ...(ReturnValues && { ReturnValues })
      })
    ),
    keyOf(item)
  )
}

/** A delete that must not be carried out twice. */
function removeOnce(
  context: TableContext,
  key: Key,
  condition?: Condition
): Promise<SingleWriteResult> {
  return resultOf(
    context,
    context.client.send(
      new DeleteCommand({ TableName: context.name, Key: key, ...withItemOnFailure(condition) })
    ),
    key
  )
}

/**
 * A put that does no harm when it is carried out late: its condition names a version, which never
 * comes back, or the item shows nothing.
 */
function put(
  context: TableContext,
  item: StoredItem,
  condition: Condition,
  ReturnValues?: 'ALL_OLD'
): Promise<ItemWriteResult> {
  return repeatUntilAnswered(context, () => putOnce(context, item, condition, ReturnValues))
}

/**
 * A put of a record whose version tells whose it is. A put that got no answer and was sent again
 * finds itself. Nobody can then tell what it replaced.
 */
async function claim(
  context: TableContext,
  item: StoredItem & { version: string },
  condition: Condition,
  ReturnValues?: 'ALL_OLD'
): Promise<ClaimResult> {
  const result = await put(context, item, condition, ReturnValues)
  if (result.done) return result
  const inTheWay = await result.readItem()
  return inTheWay?.['version'] === item.version
    ? { done: true, previous: inTheWay }
    : { done: false, inTheWay }
}

/**
 * A delete that does no harm when it is carried out late: its condition names a version, or nobody
 * writes the item again.
 */
function remove(context: TableContext, key: Key, condition?: Condition): Promise<ItemWriteResult> {
  return repeatUntilAnswered(context, () => removeOnce(context, key, condition))
}

/**
 * A put that takes place only if the conditions of other items hold at the same moment. Carried
 * out late it does no harm, as in `put`.
 * @param checks at most 99
 */
async function putIf(
  context: TableContext,
  item: StoredItem,
  condition: Condition,
  checks: ItemCheck[],
  count = 1
): Promise<TransactionResult> {
  const TransactItems = [
    { Put: { TableName: context.name, Item: item, ...condition } },
    ...checks.map(({ key, condition }) => ({
      ConditionCheck: { TableName: context.name, Key: key, ...withItemOnFailure(condition)! }
    }))
  ]
  try {
    await context.client.send(new TransactWriteCommand({ TransactItems }))
    return { done: true }
  } catch (error) {
    if (lacksTransactions(error)) return { done: false, unsupported: error }
    const [put, ...checkReasons] = unmetOf(error)
    if (put) {
      return {
        done: false,
        isReplaced: isUnmet(put),
        unmet: checkReasons.flatMap((reason, index) =>
          isUnmet(reason)
            ? context.toItem({
                ...checks[index]!.key,
                ...(reason.Item && unmarshall(reason.Item, unmarshallOptions))
              })
            : []
        )
      }
    }
    if (!isCancelled(error) || count === TRANSACTIONS_MAX) throw storeFailure(error as Error)
    await context.time.wait(context.time.random() * FIRST_PAUSE_MS * count)
    return putIf(context, item, condition, checks, count + 1)
  }
}

/** Repeats a write until it is answered. */
async function repeatUntilAnswered(
  context: TableContext,
  write: () => Promise<SingleWriteResult>,
  count = 1
): Promise<ItemWriteResult> {
  const result = await write().catch((failure: Failure) => {
    // An attempt before it may still come.
    if (count > 1) refusals.delete(failure)
    throw failure
  })
  if (result.done) return result
  if (!result.unanswered) return { done: false, repeated: count > 1, readItem: result.readItem }
  if (count === UNANSWERED_MAX) throw result.unanswered
  await context.time.wait(context.time.random() * FIRST_PAUSE_MS * 2 ** (count - 1))
  return repeatUntilAnswered(context, write, count + 1)
}

async function resultOf(
  context: TableContext,
  operation: Promise<{ Attributes?: Record<string, unknown> | undefined }>,
  key: Key
): Promise<SingleWriteResult> {
  try {
    const { Attributes: previous } = await operation
    return previous ? { done: true, previous: context.toItem(previous) } : { done: true }
  } catch (error) {
    if (isUnanswered(error)) {
      return { done: false, unanswered: storeFailure(error), readItem: () => get(context, key) }
    }
    if (!isUnmetCondition(error)) throw failureOf(error as Error)
    const { Item } = error
    return {
      done: false,
      readItem: async () =>
        Item ? context.toItem(unmarshall(Item, unmarshallOptions)) : get(context, key)
    }
  }
}

/** One item, read consistently. */
async function get(context: TableContext, key: Key): Promise<Item | undefined> {
  const { Item } = await reply(
    context.client.send(new GetCommand({ TableName: context.name, Key: key, ConsistentRead: true }))
  )
  return Item && context.toItem(Item)
}

/**
 * Reads all pages of a query's result.
 * @throws {Failure} TOO_LARGE for more than is measured; what `inTime` throws
 */
async function query(
  context: TableContext,
  input: Omit<QueryCommandInput, 'TableName'>,
  { inTime, measure, isWanted = () => true, most = Infinity }: QueryOptions = {}
): Promise<{ Items: Item[]; Count: number; ScannedCount: number }> {
  const result = { Items: [] as Item[], Count: 0, ScannedCount: 0 }
  let next: Record<string, unknown> | undefined
  let pages = 0
  do {
    inTime?.()
    const page = await reply(
      context.client.send(
        new QueryCommand({ TableName: context.name, ...input, ExclusiveStartKey: next })
      )
    )
    if (!page.Items) throw storeFailure(new Error('a Query was answered without Items'))
    const items = page.Items.map(context.toItem).filter(isWanted)
    measure?.(items, ++pages === 1 && !page.LastEvaluatedKey)
    result.Items.push(...items)
    result.Count += page.Count!
    result.ScannedCount += page.ScannedCount!
    next = page.LastEvaluatedKey
  } while (next && result.Items.length < most)
  return result
}

/** Resolves when the table answers a read of one item. */
async function probe(context: TableContext, key: Key, abortSignal: AbortSignal): Promise<void> {
  await reply(
    context.client.send(new GetCommand({ TableName: context.name, Key: key }), { abortSignal })
  )
}

/** The failure of a write. A status of 4xx says that the store has refused it. */
function failureOf(error: Error & { $metadata?: { httpStatusCode?: number } }): Failure {
  const failure = storeFailure(error)
  const status = error.$metadata?.httpStatusCode ?? 0
  if (status >= 400 && status < 500) refusals.add(failure)
  return failure
}

function withItemOnFailure(condition: Condition | undefined) {
  return condition && { ...condition, ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const }
}
