import type { Redis, RedisOptions } from 'ioredis'
import type { Count, SharedCounter, Wire } from './wire.ts'

/** How long a command may take, and a connection to be made, in milliseconds. */
const TIMEOUT_MS = 2000

/** The longest pause between two tries to connect, in milliseconds. */
const PAUSE_MS = 2000

/**
 * What Redis 7 and Valkey both speak. Nothing is queued: a message that would be late is dropped,
 * and the table has what it says.
 */
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

/** One more, in one step with the window that the first one opens. */
const COUNT = `
  local current = redis.call('INCR', KEYS[1])
  if current == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
  return { current, redis.call('PTTL', KEYS[1]) }
`

/**
 * What Quoin uses of a Redis or Valkey. Its client library is loaded for this alone, and nobody
 * else knows it.
 */
export interface RedisServer {
  /** Its pub/sub, for one channel. */
  wire: Wire
  counter: SharedCounter
}

/**
 * Opens a Redis or Valkey; nothing connects yet. A service without a bus does not load ioredis,
 * which takes 20 ms of CPU and 9 MiB.
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
  return {
    wire: createWire({ commands, listener, channel, onError }),
    counter: { count: (key, windowMs) => countAtRedis(commands, key, windowMs) }
  }
}

interface Connections {
  commands: Redis
  /** A connection that has subscribed can send nothing else. */
  listener: Redis
  channel: string
  onError: (error: Error) => void
}

function createWire(connections: Connections): Wire {
  const { commands, listener, channel } = connections
  return {
    open: (onMessage, onState) => openWire(connections, onMessage, onState),
    send: (text) => commands.publish(channel, text),
    close() {
      for (const connection of [commands, listener]) connection.disconnect()
    }
  }
}

function openWire(
  { commands, listener, channel, onError }: Connections,
  onMessage: (text: string) => void,
  onState: (isConnected: boolean) => void
): void {
  let isSubscribed = false
  const tellState = () => onState(isSubscribed && commands.status === 'ready')
  for (const connection of [commands, listener]) {
    connection.on('error', onError)
    connection.on('close', () => {
      if (connection === listener) isSubscribed = false
      tellState()
    })
  }
  commands.on('ready', tellState)
  listener.on('ready', () => {
    listener.subscribe(channel).then(() => {
      isSubscribed = true
      tellState()
    }, onError)
  })
  listener.on('message', (_channel, text) => onMessage(text))
  for (const connection of [commands, listener]) connection.connect().catch(onError)
}

async function countAtRedis(commands: Redis, key: string, windowMs: number): Promise<Count> {
  const [current, ttl] = (await commands.eval(COUNT, 1, key, windowMs)) as [number, number]
  return { current, ttl }
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
