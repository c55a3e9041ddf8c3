import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb'
import { Failure, texts } from '../errors.ts'
import { isUnanswered } from './fence.ts'

// The names DynamoDB throttles under (API reference, "Common errors" and the errors of each operation), and the
// name lib/dynamodb/transport.ts gives to a request without an answer.
const UNAVAILABLE = new Set([
  'LimitExceededException',
  'ProvisionedThroughputExceededException',
  'ReplicatedWriteConflictException',
  'RequestLimitExceeded',
  'ServiceUnavailable',
  'Throttling',
  'ThrottlingException',
  'TimeoutError',
  'AbortError'
])
const UNAVAILABLE_STATUS = new Set<number | undefined>([429, 502, 503, 504])

/**
 * Awaits a reply of DynamoDB and translates what goes wrong: STORE_UNAVAILABLE (503, Retry-After) when the store is
 * throttled, unreachable or slow, STORE_FAILED (500) otherwise. An unmet condition is the caller's to judge and is
 * rethrown as it is.
 * @throws {Failure | ConditionalCheckFailedException}
 */
export async function reply<T> (pending: Promise<T>): Promise<T> {
  try {
    return await pending
  } catch (error) {
    throw error instanceof ConditionalCheckFailedException ? error : storeFailure(error as Error)
  }
}

/** The failure that an error of the SDK means. */
export function storeFailure (error: Error): Failure {
  const cause: Error & { $metadata?: { httpStatusCode?: number } } = isUnanswered(error) ? error.unanswered : error
  if (UNAVAILABLE.has(cause.name) || UNAVAILABLE_STATUS.has(cause.$metadata?.httpStatusCode)) {
    return new Failure('STORE_UNAVAILABLE', texts.storeUnavailable, { cause, headers: { 'retry-after': '1' } })
  }
  return new Failure('STORE_FAILED', texts.storeFailed, { cause })
}
