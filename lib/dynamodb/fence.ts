import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import type { FinalizeRequestMiddleware } from '@smithy/types'

/**
 * The attribute that says until when (Unix seconds) earlier attempts at writing an item may still reach the table. Whoever
 * removes the item before then has to leave a tombstone, since an attempt that comes late would find nothing in its way.
 */
export const FENCED_UNTIL = 'fencedUntil'

/**
 * How long an attempt that was given up may be on its way, in seconds: AWS refuses a signature that is more than 15
 * minutes old (AWS Identity and Access Management, "Signature Version 4: request expiration"), and one minute more.
 */
export const FENCE_SECONDS = 960

/**
 * After so many milliseconds nothing is sent again, be it that the process was halted meanwhile: whoever releases a lock
 * counts on it that its writer is done by then (SETTLED_SECONDS in lib/locks/record.ts).
 */
const AGAIN_MS = 6000

/** An error of an operation that was sent again after an attempt without an answer, which may have been carried out. */
export type Repeated = Error & { repeated?: true }

/** As far as it is used here. */
interface PutRequest { headers: Record<string, string>, body: Uint8Array }

/**
 * Has the SDK mark what it sends again: an item that is put after an attempt without an answer gets `fencedUntil`, and an
 * error of such an operation `repeated`. An attempt that was refused or throttled has an answer: it will not come late.
 * @param now milliseconds since 1970
 */
export function fenceRepeats (client: DynamoDBClient, now: () => number): void {
  const unanswered = new WeakMap<object, { at: number, error: unknown }>()
  const middleware: FinalizeRequestMiddleware<object, object> = (next, context) => async (args) => {
    const first = unanswered.get(context)
    if (first && now() - first.at > AGAIN_MS) throw first.error
    if (first) fence(args.request as PutRequest, Math.floor(now() / 1000) + FENCE_SECONDS)
    try {
      return await next(args)
    } catch (error) {
      if (first) (error as Repeated).repeated = true
      else if (isUnanswered(error as Error)) unanswered.set(context, { at: now(), error })
      throw error
    }
  }
  client.middlewareStack.addRelativeTo(middleware as never, { name: 'fenceMiddleware', relation: 'before', toMiddleware: 'httpSigningMiddleware' })
}

function fence (request: PutRequest, until: number): void {
  const input = JSON.parse(new TextDecoder().decode(request.body)) as { Item?: Record<string, object> }
  if (!input.Item) return
  input.Item[FENCED_UNTIL] = { N: String(until) }
  request.body = Buffer.from(JSON.stringify(input))
  request.headers['content-length'] = String(request.body.length)
}

/** DynamoDB's own fault, 5xx, says nothing of what became of the write ("Error handling with DynamoDB"). */
function isUnanswered (error: Error & { $metadata?: { httpStatusCode?: number } }): boolean {
  const status = error.$metadata?.httpStatusCode
  return status === undefined || status >= 500
}
