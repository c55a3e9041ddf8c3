import { crc32 } from 'node:zlib'
import type { Dispatcher } from 'undici'
import Agent from 'undici/lib/dispatcher/agent.js'
import { exchange, LARGEST_HEADER, type HttpAnswer } from '../http/exchange.ts'
import type { Clock } from './clock.ts'

/** A signed request, as far as it is used here. */
export interface SignedRequest {
  origin: string
  path: string
  method: Dispatcher.HttpMethod
  headers: Record<string, string>
  body: string
}

/** The SDK's form of a request. */
interface SdkRequest extends Omit<SignedRequest, 'origin'> {
  protocol: string
  hostname: string
  port?: number
}

/** The SDK's form of an answer. */
export interface SdkAnswer extends Omit<HttpAnswer, 'status'> {
  statusCode: number
}

interface SdkOptions {
  abortSignal?: AbortSignal
  /** The result of the first attempt; taking it empties this. */
  outcome?: Array<Promise<SdkAnswer>>
}

/**
 * In bytes. DynamoDB answers a query with 1 MB and a batch with 16 MB of items, and writes each
 * value with its type beside it.
 */
const LARGEST_BODY = 32 * 1024 * 1024

export type Transport = ReturnType<typeof createTransport>

/**
 * The SDK's transport over undici: half the cost of the stock one, and a deadline for the answer as
 * a whole.
 */
export function createTransport({
  connectMs,
  attemptMs,
  clock
}: {
  connectMs: number
  attemptMs: number
  clock: Clock
}) {
  const agent = new Agent({
    connections: 128,
    pipelining: 1,
    connect: { timeout: connectMs },
    keepAliveTimeout: 60_000,
    maxHeaderSize: LARGEST_HEADER,
    maxResponseSize: LARGEST_BODY
  })
  let endpoint: { origin: string; host: string } | undefined

  /** One attempt. */
  async function attempt(request: SignedRequest, signal?: AbortSignal): Promise<SdkAnswer> {
    const sent = clock.mark()
    try {
      const answer = checkedAnswer(await exchange(agent, request, { ms: attemptMs, signal }))
      if (isOfStore(answer)) clock.observe(answer.headers.date, sent)
      return answer
    } catch (cause) {
      // The SDK retries what is called TimeoutError, not what is called AbortError;
      // lib/table/failures.ts knows both.
      throw Object.assign(new Error('no answer from the store', { cause }), {
        name: signal?.aborted ? 'AbortError' : 'TimeoutError'
      })
    }
  }

  return {
    attempt,
    /** Where the SDK has found DynamoDB, once it has sent a request there. */
    endpoint: () => endpoint,
    metadata: { handlerProtocol: 'http/1.1' },
    async handle(
      { protocol, hostname, port, path, method, headers, body }: SdkRequest,
      { abortSignal, outcome }: SdkOptions = {}
    ) {
      const host = hostname + (port ? `:${port}` : '')
      endpoint = { origin: `${protocol}//${host}`, host }
      return {
        response: await (outcome?.shift() ??
          attempt({ origin: endpoint.origin, path, method, headers, body }, abortSignal))
      }
    },
    destroy: () => agent.destroy()
  }
}

/**
 * Checks that an answer has arrived as the store sent it. DynamoDB answers {} where it has nothing
 * to say, and sends the CRC-32 of the body with it ("DynamoDB low-level API", response format).
 * @throws {Error} for an empty 200, and where the checksum differs
 */
function checkedAnswer({ status: statusCode, headers, body }: HttpAnswer): SdkAnswer {
  const { 'x-amz-crc32': checksum } = headers
  if (statusCode === 200 && body.length === 0) throw new Error('the answer was empty')
  if (checksum !== undefined && Number(checksum) !== crc32(body)) {
    throw new Error('the answer was damaged: its x-amz-crc32 is another')
  }
  return { statusCode, headers, body }
}

/**
 * Whether it is DynamoDB that answers, and not a proxy before it: a success has the checksum, which
 * was compared, and an error has its id and its name. Only then its `Date` is the store's.
 */
function isOfStore({ statusCode, headers, body }: SdkAnswer): boolean {
  if (statusCode === 200) return headers['x-amz-crc32'] !== undefined
  return headers['x-amzn-requestid'] !== undefined && Buffer.from(body).includes('"__type"')
}
