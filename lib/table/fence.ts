import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import type { FinalizeRequestMiddleware } from '@smithy/types'

/**
 * The attribute that says until when (Unix seconds) an attempt at writing an item may still reach
 * the table. A removal before then leaves a tombstone, which stops attempts that come late.
 */
export const FENCED_UNTIL = 'fencedUntil'

/**
 * How long an attempt without an answer may be on its way, in seconds: AWS refuses a signature that
 * is more than 15 minutes old (AWS Identity and Access Management, "Signature Version 4: request
 * expiration"), and one minute more.
 */
export const FENCE_SECONDS = 960

/** The operations that write. */
const WRITES = new Set<string | undefined>(['PutItemCommand', 'DeleteItemCommand'])

/** What undici and Node call a failure to connect: nothing was sent. */
const UNSENT = new Set<unknown>([
  'UND_ERR_CONNECT_TIMEOUT',
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH'
])

/** The error of a write whose outcome is not known: `unanswered` says why. */
export interface UnansweredError extends Error {
  unanswered: Error
}

/**
 * Keeps the SDK from sending a write again that got no answer. The table may have carried it out,
 * or may do so later, and a second one might undo what others have done meanwhile. The caller
 * decides what to do (lib/locks/write.ts). A write that was refused or throttled has an answer, and
 * one that found no connection was not sent: the SDK sends both again.
 */
export function sendWritesOnce(client: DynamoDBClient): void {
  const middleware: FinalizeRequestMiddleware<object, object> = (next, context) => (args) =>
    next(args).catch((error) => {
      // Nothing was written, since a transaction with the same item was under way
      // (lib/saves/tickets.ts): it is over in a moment.
      if (error.name === 'TransactionConflictException') error.$retryable = {}
      throw WRITES.has(context.commandName) && hasNoAnswer(error) ? unansweredBy(error) : error
    })
  client.middlewareStack.addRelativeTo(middleware as never, {
    name: 'onceMiddleware',
    relation: 'before',
    toMiddleware: 'httpSigningMiddleware'
  })
}

/** Whether an error of a write means that its outcome is not known. */
export function isUnanswered(error: unknown): error is UnansweredError {
  return error instanceof Error && 'unanswered' in error
}

/**
 * The SDK repeats requests whose error has a name or a cause on its list, so this error has
 * neither.
 */
export function unansweredBy(error: Error): UnansweredError {
  return Object.assign(new Error('no answer to a write'), {
    name: 'UnansweredError',
    unanswered: error
  })
}

/**
 * DynamoDB's own fault, 5xx, says nothing about the outcome of the write ("Error handling with
 * DynamoDB").
 */
function hasNoAnswer(error: Error & { $metadata?: { httpStatusCode?: number } }): boolean {
  const status = error.$metadata?.httpStatusCode
  if (status !== undefined) return status >= 500
  return !UNSENT.has((error.cause as { code?: unknown } | undefined)?.code)
}
