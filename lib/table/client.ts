import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import type { Observe } from '../observe.ts'
import { createClock, type Clock, type ClockOptions } from './clock.ts'
import { numberOf } from './exact-number.ts'
import { sendWritesOnce } from './fence.ts'
import { observing } from './observed.ts'
import { createShortcut, type Send } from './shortcut.ts'
import { createSigner } from './signer.ts'
import { createTransport } from './transport.ts'

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
  /** Whether the most frequent operations go past the SDK's middleware (lib/table/shortcut.ts). */
  shortcut?: boolean
  /** Hears of every operation, with all its attempts as one. */
  observe?: Observe
}

export interface Store {
  client: DynamoDBDocumentClient
  clock: Clock
  /** Closes the connections. Requests under way fail. */
  destroy: () => void
}

/**
 * Steps of the SDK that cost time at every request: its own logging, a guard for code that runs in
 * AWS Lambda, and a user agent.
 */
const UNUSED = ['loggerMiddleware', 'recursionDetectionMiddleware', 'getUserAgentMiddleware']

/**
 * Numbers come back as JavaScript's, unless a record written by others holds one that JavaScript
 * does not.
 */
export const unmarshallOptions = { wrapNumbers: numberOf }

/**
 * A document client whose every operation ends within about five seconds, the store reachable or
 * not: at most three attempts of 1.3 s and the SDK's pauses between them. A write without an answer
 * is not sent again (lib/table/fence.ts): the store may still carry it out.
 *
 * Credentials come from the SDK's own chain; an engine at `endpoint` that asks for none is given
 * made-up ones.
 */
export function createStore({
  region,
  endpoint,
  connectMs = 1000,
  attemptMs = 1300,
  attempts = 3,
  shortcut = true,
  observe,
  time,
  onSkew
}: StoreSettings): Store {
  const clock = createClock({ time, onSkew })
  const { AWS_ACCESS_KEY_ID: key, AWS_PROFILE: profile } = process.env
  const signer = createSigner({
    region,
    credentials: () => client.config.credentials(),
    time: clock.time
  })
  const transport = createTransport({ connectMs, attemptMs, clock })
  const client: DynamoDBClient = new DynamoDBClient({
    region,
    ...(endpoint && { endpoint }),
    ...(endpoint &&
      !key &&
      !profile && { credentials: { accessKeyId: 'local', secretAccessKey: 'local' } }),
    maxAttempts: attempts,
    retryMode: 'standard',
    signer,
    requestHandler: transport
  })
  for (const name of UNUSED) client.middlewareStack.remove(name)
  sendWritesOnce(client)
  // A copy, since the document client changes an option in it.
  const document = DynamoDBDocumentClient.from(client, {
    unmarshallOptions: { ...unmarshallOptions }
  })
  const own = document.send.bind(document) as Send
  const send = shortcut ? createShortcut({ send: own, transport, signer, unmarshallOptions }) : own
  return {
    clock,
    client: Object.assign(document, {
      send: observe ? observing(send, observe, transport.endpoint) : send
    }),
    destroy: () => client.destroy()
  }
}
