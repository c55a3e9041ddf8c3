import {
  ConditionalCheckFailedException,
  TransactionCanceledException,
  type AttributeValue,
  type CancellationReason
} from '@aws-sdk/client-dynamodb'
import { Failure, Stackless, texts } from '../errors.ts'
import { isUnanswered } from './fence.ts'

// The names DynamoDB throttles under (API reference, "Common errors" and the errors of each
// operation), and the name lib/table/transport.ts gives to a request without an answer.
const UNAVAILABLE = new Set([
  'LimitExceededException',
  'ProvisionedThroughputExceededException',
  'ReplicatedWriteConflictException',
  'RequestLimitExceeded',
  'ServiceUnavailable',
  'Throttling',
  'ThrottlingException',
  // Another write of the same item was under way; nothing was written.
  'TransactionCanceledException',
  'TransactionConflictException',
  'TransactionInProgressException',
  'TimeoutError',
  'AbortError'
])
const UNAVAILABLE_STATUS = new Set<number | undefined>([429, 502, 503, 504])

/**
 * The condition of a write is not met. To make the SDK's own error for that,
 * ConditionalCheckFailedException, takes four times as long.
 */
export class UnmetCondition extends Stackless {
  override readonly name = 'ConditionalCheckFailedException'
  /** The item that failed the condition, in DynamoDB's form, if the request asked for it. */
  readonly Item: Record<string, AttributeValue> | undefined

  constructor(message: string, item: Record<string, AttributeValue> | undefined) {
    super(message)
    this.Item = item
  }
}

/**
 * Whether an error says that the condition of a write is not met. It may also be the SDK's own
 * error.
 */
export function isUnmetCondition(
  error: unknown
): error is UnmetCondition | ConditionalCheckFailedException {
  return error instanceof UnmetCondition || error instanceof ConditionalCheckFailedException
}

/**
 * Awaits a reply of DynamoDB and translates what goes wrong: STORE_UNAVAILABLE (503, Retry-After)
 * when the store is throttled, unreachable or slow, STORE_FAILED (500) otherwise. An unmet
 * condition is the caller's to judge and is rethrown as it is.
 * @throws {Failure | UnmetCondition | ConditionalCheckFailedException}
 */
export async function reply<T>(operation: Promise<T>): Promise<T> {
  try {
    return await operation
  } catch (error) {
    throw isUnmetCondition(error) ? error : storeFailure(error as Error)
  }
}

/**
 * Names under which an engine refuses transactions: it has none, or these credentials may not use
 * them.
 */
const WITHOUT_TRANSACTIONS = new Set(['UnknownOperationException', 'AccessDeniedException'])

/** Whether an error of a transaction says that the table takes none. */
export function lacksTransactions(error: unknown): error is Error {
  return WITHOUT_TRANSACTIONS.has((error as Error).name)
}

/**
 * Whether a transaction was not carried out, because of its conditions or since it met another
 * write.
 */
export function isCancelled(error: unknown): error is TransactionCanceledException {
  return error instanceof TransactionCanceledException
}

/**
 * For each item of a transaction that conditions have stopped, the reason; empty where it failed
 * otherwise.
 */
export function unmetOf(error: unknown): CancellationReason[] {
  const reasons = isCancelled(error) ? (error.CancellationReasons ?? []) : []
  return reasons.some(isUnmet) ? reasons : []
}

/** Whether an item's own condition has stopped a transaction. */
export function isUnmet({ Code }: CancellationReason): boolean {
  return Code === 'ConditionalCheckFailed'
}

/** The failure that an error of the SDK means. */
export function storeFailure(error: Error): Failure {
  const cause: Error & { $metadata?: { httpStatusCode?: number } } = isUnanswered(error)
    ? error.unanswered
    : error
  if (UNAVAILABLE.has(cause.name) || UNAVAILABLE_STATUS.has(cause.$metadata?.httpStatusCode)) {
    return new Failure('STORE_UNAVAILABLE', texts.storeUnavailable, {
      cause,
      headers: { 'retry-after': '1' }
    })
  }
  return new Failure('STORE_FAILED', texts.storeFailed, { cause })
}
