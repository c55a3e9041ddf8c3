import type { Redis, RedisOptions } from 'ioredis'
import type { Wire } from './wire.ts'

/** How long a command may take, and a connection to be made, in milliseconds. */
const TIMEOUT_MS = 2000

/** The longest pause between two tries to connect, in milliseconds. */
const PAUSE_MS = 2000

/** What Redis 7 and Valkey both speak. Nothing is queued: a message that would be late is dropped, and the table has what it says. */
const OPTIONS = {
  protocol: 2,
  lazyConnect: true,
  disableClientInfo: true,
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  connectTimeout: TIMEOUT_MS,
  retryStrategy: (times: number) => Math.min(PAUSE_MS, 50 * 2 ** times) * (1 - Math.random() / 2)
} satisfies RedisOptions

/** A Redis or Valkey by its client library, which is loaded for this alone. */
export interface RedisServer {
  /** Its pub/sub, for one channel. */
  wire: Wire
  /** The connection that commands go by. */
  commands: Redis
}

/**
 * Opens a Redis or Valkey; nothing connects yet. A service without a bus does not load ioredis, which takes 20 ms of CPU and 9 MiB.
 * @param url `redis:` or `rediss:`
 * @param channel where to publish and to listen
 * @param onError told of every failure of a connection
 */
export async function openRedis(
  url: string,
  channel: string,
  onError: (error: Error) => void
): Promise<RedisServer> {
  const { Redis } = await import('ioredis')
  const commands = new Redis(url, { ...OPTIONS, commandTimeout: TIMEOUT_MS })
  const listener = new Redis(url, { ...OPTIONS, autoResubscribe: false })
  const connections = [commands, listener]
  let isSubscribed = false

  return {
    commands,
    wire: {
      open(onMessage, onState) {
        const tell = () => onState(isSubscribed && commands.status === 'ready')
        for (const connection of connections) {
          connection.on('error', onError)
          connection.on('close', () => {
            if (connection === listener) isSubscribed = false
            tell()
          })
        }
        commands.on('ready', tell)
        listener.on('ready', () => {
          listener.subscribe(channel).then(() => {
            isSubscribed = true
            tell()
          }, onError)
        })
        listener.on('message', (_channel, text) => onMessage(text))
        for (const connection of connections) connection.connect().catch(onError)
      },
      send: (text) => commands.publish(channel, text),
      close() {
        for (const connection of connections) connection.disconnect()
      }
    }
  }
}

/**
 * Connects to a Redis or Valkey for commands, with one try.
 * @throws {Error} with what is in the way
 */
export async function connectOnce(url: string): Promise<Redis> {
  const { Redis } = await import('ioredis')
  const connection = new Redis(url, {
    ...OPTIONS,
    commandTimeout: TIMEOUT_MS,
    retryStrategy: () => null
  })
  let obstacle: Error | undefined
  connection.on('error', (error: Error) => {
    obstacle ??= error
  })
  await connection.connect().catch((error: Error) => {
    obstacle ??= error
  })
  if (!obstacle) return connection
  connection.disconnect()
  throw obstacle
}
