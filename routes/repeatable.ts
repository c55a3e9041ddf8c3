import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Attempt } from '../lib/editions/save/attempt.ts'
import type { RequestOutcome } from '../lib/saves/idempotency.ts'

/** The part of a save's result that answers a repeated request. */
interface SaveResult extends Pick<RequestOutcome, 'uuid' | 'etag' | 'outcomes'> {}

export interface Repeatable<T extends SaveResult, Status extends number> {
  save(attempt?: Attempt): Promise<T>
  /** The same of an edition that was saved earlier, as it is now. */
  replay(earlier: RequestOutcome): Promise<T>
  status(saved: T): Status
}

/**
 * A reply whose schema names these statuses. `code` is no method, since TypeScript would let a
 * method take more of them.
 */
interface RepeatableReply<Status extends number> extends Pick<FastifyReply, 'header'> {
  code: (status: Status) => unknown
}

/**
 * Saves once, however often the request is sent with its Idempotency-Key. Sets the status, and
 * `Idempotency-Replayed` where nothing was saved now.
 */
export async function repeatable<T extends SaveResult, Status extends number>(
  request: Pick<FastifyRequest, 'server' | 'uid' | 'method' | 'url' | 'headers' | 'body'>,
  reply: RepeatableReply<Status>,
  { save, replay, status }: Repeatable<T, Status>
): Promise<T> {
  const result = await once()
  reply.code(status(result))
  return result

  async function once(): Promise<T> {
    const {
      server: { idempotency },
      headers: { 'idempotency-key': key },
      uid,
      method,
      url,
      body
    } = request
    if (key === undefined) return save()
    const outcome = await idempotency.once(
      { uid, method, path: url.split('?', 1)[0]!, key: quoted(String(key)), body },
      async (attempt) => {
        const result = await save(attempt)
        const { uuid, etag, outcomes } = result
        return {
          result,
          done: { status: status(result), uuid, etag, ...(outcomes && { outcomes }) }
        }
      }
    )
    const isReplayed = 'earlier' in outcome || outcome.isReplayed
    const answer = 'earlier' in outcome ? await replay(outcome.earlier) : outcome.result
    if (isReplayed) reply.header('idempotency-replayed', 'true')
    return answer
  }
}

/**
 * The same key is one, whether a client sends it in quotes, as the draft has it, or bare, as most
 * do.
 */
function quoted(key: string): string {
  return key.startsWith('"') ? key : `"${key}"`
}
