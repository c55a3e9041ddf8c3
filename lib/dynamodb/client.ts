import { crc32 } from 'node:zlib'
import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import type { Dispatcher } from 'undici'
import Agent from 'undici/lib/dispatcher/agent.js'
import { exchange, type HttpAnswer } from '../http/exchange.ts'
import type { Observe } from '../observe.ts'
import { createClock, type Clock, type ClockOptions } from './clock.ts'
import { fenceRepeats } from './fence.ts'
import { observed } from './observed.ts'
import { createShortcut, type Send } from './shortcut.ts'
import { createSigner } from './signer.ts'

export interface StoreSettings extends ClockOptions {
  region: string
  /** Origin of a local or compatible engine; without it, AWS's own for the region. */
  endpoint?: string
  /** Milliseconds until a connection must stand. */
  connectMs?: number
  /** Milliseconds until one attempt must be answered whole. */
  attemptMs?: number
  /** Attempts the SDK makes at a request that was throttled or not answered. */
  attempts?: number
  /** Whether the operations of locks go past the SDK's middleware (lib/dynamodb/shortcut.ts). */
  shortcut?: boolean
  /** Hears of every operation, with all its attempts as one. */
  observe?: Observe
}

export interface Store {
  client: DynamoDBDocumentClient
  clock: Clock
  /** Closes the connections; what is under way fails. */
  destroy: () => void
}

/** Steps of the SDK that cost time at every request: its own logging, a guard for code that runs in AWS Lambda, and a user agent. */
const UNUSED = ['loggerMiddleware', 'recursionDetectionMiddleware', 'getUserAgentMiddleware']

/** Numbers come back as JavaScript's: a record written by others may hold one too large to be exact. */
export const unmarshallOptions = { wrapNumbers: Number }

/**
 * A document client whose every operation ends within about five seconds, the store reachable or not: at most three
 * attempts of 1.3 s and the SDK's pauses between them. An attempt that was given up may reach the store later all the same:
 * the item of the next one is marked (lib/dynamodb/fence.ts), and a write of a lock has a condition that a later one does
 * not meet (lib/locks/record.ts).
 *
 * Credentials come from the SDK's own chain; an engine at `endpoint` that asks for none is given made-up ones.
 */
export function createStore ({ region, endpoint, connectMs = 1000, attemptMs = 1300, attempts = 3, shortcut = true, observe, now, onSkew }: StoreSettings): Store {
  const clock = createClock({ now, onSkew })
  const { AWS_ACCESS_KEY_ID: key, AWS_PROFILE: profile } = process.env
  const signer = createSigner({ region, credentials: () => client.config.credentials(), now: clock.now })
  const transport = createTransport({ connectMs, attemptMs, clock })
  const client: DynamoDBClient = new DynamoDBClient({
    region,
    ...(endpoint && { endpoint }),
    ...(endpoint && !key && !profile && { credentials: { accessKeyId: 'local', secretAccessKey: 'local' } }),
    maxAttempts: attempts,
    retryMode: 'standard',
    signer,
    requestHandler: transport
  })
  for (const name of UNUSED) client.middlewareStack.remove(name)
  fenceRepeats(client, clock.now)
  // A copy, since the document client sets an option of its own in it.
  const document = DynamoDBDocumentClient.from(client, { unmarshallOptions: { ...unmarshallOptions } })
  const own = document.send.bind(document) as Send
  const send = shortcut ? createShortcut({ send: own, transport, signer, unmarshallOptions }) : own
  return {
    clock,
    client: Object.assign(document, { send: observe ? observed(send, observe) : send }),
    destroy: () => client.destroy()
  }
}

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
  /** What has come of the first attempt already; emptied by it. */
  outcome?: Array<Promise<SdkAnswer>>
}

export type Transport = ReturnType<typeof createTransport>

/** The SDK's transport over undici: half the cost of the stock one, and a deadline for the answer as a whole. */
function createTransport ({ connectMs, attemptMs, clock }: { connectMs: number, attemptMs: number, clock: Clock }) {
  const agent = new Agent({ connections: 128, pipelining: 1, connect: { timeout: connectMs }, keepAliveTimeout: 60_000 })
  let endpoint: { origin: string, host: string } | undefined

  /** One attempt. */
  async function attempt (request: SignedRequest, signal?: AbortSignal): Promise<SdkAnswer> {
    const sentAt = clock.local()
    try {
      const answer = whole(await exchange(agent, request, { ms: attemptMs, signal }))
      clock.observe(answer.headers.date, sentAt, clock.local())
      return answer
    } catch (cause) {
      // The SDK retries what is called TimeoutError, not what is called AbortError; lib/dynamodb/failures.ts knows both.
      throw Object.assign(new Error('no answer from the store', { cause }), { name: signal?.aborted ? 'AbortError' : 'TimeoutError' })
    }
  }

  return {
    attempt,
    /** Where the SDK has found DynamoDB, once it has sent a request there. */
    endpoint: () => endpoint,
    metadata: { handlerProtocol: 'http/1.1' },
    async handle ({ protocol, hostname, port, path, method, headers, body }: SdkRequest, { abortSignal, outcome }: SdkOptions = {}) {
      const host = hostname + (port ? `:${port}` : '')
      endpoint = { origin: `${protocol}//${host}`, host }
      return { response: await (outcome?.shift() ?? attempt({ origin: endpoint.origin, path, method, headers, body }, abortSignal)) }
    },
    destroy: () => agent.destroy()
  }
}

/**
 * An answer that is what the store has sent. DynamoDB answers {} where it has nothing to say, and sends the CRC-32 of the
 * body with it ("DynamoDB low-level API", response format).
 * @throws {Error} for an empty 200, and where the checksum is another
 */
function whole ({ status: statusCode, headers, body }: HttpAnswer): SdkAnswer {
  const { 'x-amz-crc32': checksum } = headers
  if (statusCode === 200 && body.length === 0) throw new Error('the answer was empty')
  if (checksum !== undefined && Number(checksum) !== crc32(body)) throw new Error('the answer was damaged: its x-amz-crc32 is another')
  return { statusCode, headers, body }
}
