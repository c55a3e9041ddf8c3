import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { Agent, type Dispatcher } from 'undici'
import { createSigner } from './signer.ts'

export interface StoreSettings {
  region: string
  /** Origin of a local or compatible engine; without it, AWS's own for the region. */
  endpoint?: string
  /** Milliseconds until a connection must stand. */
  connectMs?: number
  /** Milliseconds until one attempt must be answered whole. */
  attemptMs?: number
  /** Attempts the SDK makes at a request that was throttled or not answered. */
  attempts?: number
}

export interface Store {
  client: DynamoDBDocumentClient
  /** Closes the connections; what is under way fails. */
  destroy: () => void
}

/** Steps of the SDK that cost time at every request: its own logging, a guard for code that runs in AWS Lambda, and a user agent. */
const UNUSED = ['loggerMiddleware', 'recursionDetectionMiddleware', 'getUserAgentMiddleware']

/** Numbers come back as JavaScript's: a record written by others may hold one too large to be exact. */
export const unmarshallOptions = { wrapNumbers: Number }

/**
 * A document client whose every operation ends within about five seconds, the store reachable or not: at most three
 * attempts of 1.3 s and the SDK's pauses between them. All operations of this service can safely be repeated.
 *
 * Credentials come from the SDK's own chain; an engine at `endpoint` that asks for none is given made-up ones.
 */
export function createStore ({ region, endpoint, connectMs = 1000, attemptMs = 1300, attempts = 3 }: StoreSettings): Store {
  const { AWS_ACCESS_KEY_ID: key, AWS_PROFILE: profile } = process.env
  const client: DynamoDBClient = new DynamoDBClient({
    region,
    ...(endpoint && { endpoint }),
    ...(endpoint && !key && !profile && { credentials: { accessKeyId: 'local', secretAccessKey: 'local' } }),
    maxAttempts: attempts,
    retryMode: 'standard',
    signer: createSigner({ region, credentials: () => client.config.credentials() }),
    requestHandler: undiciHandler(connectMs, attemptMs)
  })
  for (const name of UNUSED) client.middlewareStack.remove(name)
  return {
    // A copy, since the document client sets an option of its own in it.
    client: DynamoDBDocumentClient.from(client, { unmarshallOptions: { ...unmarshallOptions } }),
    destroy: () => client.destroy()
  }
}

/** What is used here of the SDK's signed request. */
interface SignedRequest {
  protocol: string
  hostname: string
  port?: number
  path: string
  method: Dispatcher.HttpMethod
  headers: Record<string, string>
  body: string
}

/** The SDK's transport over undici: half the cost of the stock one, and a deadline for the answer as a whole. */
function undiciHandler (connectMs: number, attemptMs: number) {
  const agent = new Agent({ connections: 128, pipelining: 1, connect: { timeout: connectMs }, keepAliveTimeout: 60_000 })
  return {
    metadata: { handlerProtocol: 'http/1.1' },
    async handle ({ protocol, hostname, port, path, method, headers, body }: SignedRequest, { abortSignal }: { abortSignal?: AbortSignal } = {}) {
      const deadline = AbortSignal.timeout(attemptMs)
      const signal = abortSignal ? AbortSignal.any([abortSignal, deadline]) : deadline
      try {
        const origin = `${protocol}//${hostname}${port ? `:${port}` : ''}`
        const response = await agent.request({ origin, path, method, headers, body, signal })
        return { response: { statusCode: response.statusCode, headers: response.headers, body: await response.body.bytes() } }
      } catch (cause) {
        // The SDK retries errors of this name, and lib/dynamodb/failures.ts knows it.
        throw Object.assign(new Error('no answer from the store', { cause }), { name: 'TimeoutError' })
      }
    },
    destroy: () => agent.destroy()
  }
}
