import type { Redis } from 'ioredis'
import { connectOnce } from '../../../lib/bus/redis.ts'
import { installCommandFor } from '../../../lib/package-root.ts'
import { ok, unchecked, wrong, type Diagnosis } from '../diagnosis.ts'

export interface BusToCheck {
  url: string
  /** Where instances publish and listen. */
  channel: string
  /** Where they count requests; undefined where they do not. */
  counts?: string | undefined
}

/** The oldest major version that is spoken with. */
const OLDEST = 7

/** How long a message may take to come back, in milliseconds. */
const PATIENCE_MS = 2000

/** How long a count of the doctor lives, in milliseconds. */
const LEFT_BEHIND_MS = 1000

const COUNT =
  "local count = redis.call('INCR', KEYS[1]) redis.call('PEXPIRE', KEYS[1], ARGV[1]) return { count, redis.call('PTTL', KEYS[1]) }"

/**
 * Checks the bus: that it is there, who is let in, its version, that messages come back, and that
 * requests can be counted there.
 */
export async function* checkBus({ url, channel, counts }: BusToCheck): AsyncGenerator<Diagnosis> {
  const connections: Redis[] = []
  const connect = async () => {
    const connection = await connectOnce(url)
    connections.push(connection)
    return connection
  }
  try {
    yield* privacy(url)
    const commands = await connect()
    yield versionIn(await commands.info('server'), url)
    yield await roundTrip(commands, await connect(), `${channel}:doctor`)
    if (counts === undefined) return
    await commands.eval(COUNT, 1, `${counts}doctor`, LEFT_BEHIND_MS)
    yield ok('bus: counts requests for all instances (RATE_LIMIT)')
  } catch (error) {
    yield busAdvice(error as Error & { code?: string | undefined }, url)
  } finally {
    for (const connection of connections) connection.disconnect()
  }
}

function versionIn(info: string, url: string): Diagnosis {
  const address = addressOf(url)
  const [, name, version] =
    /^(redis|valkey)_version:(\S+)/m.exec(/^valkey_version:.*/m.exec(info)?.[0] ?? info) ?? []
  if (version === undefined) return unchecked('bus: its version', `${address} does not tell it`)
  const software = `${name === 'valkey' ? 'Valkey' : 'Redis'} ${version}`
  return Number.parseInt(version) >= OLDEST
    ? ok(`bus: ${address} is ${software}`)
    : wrong(`bus: ${address} is ${software}`, `run a Redis or Valkey of version ${OLDEST} or later`)
}

/** Whether others can read and write what instances tell each other. */
function* privacy(url: string): Generator<Diagnosis> {
  const { protocol, hostname, password } = new URL(url)
  if (!password) {
    yield unchecked(
      'bus: a password',
      'EVENTS_BUS_URL has none, so whoever reaches it may read and write there'
    )
  }
  if (protocol === 'redis:' && !/^(?:localhost|127\.|\[::1\])/.test(hostname)) {
    yield unchecked(
      'bus: TLS',
      'redis: has none; beyond a private network write rediss: in EVENTS_BUS_URL'
    )
  }
}

/** Sends a message to a channel that no instance hears. */
async function roundTrip(commands: Redis, listener: Redis, channel: string): Promise<Diagnosis> {
  const text = `${process.pid}`
  const cameBack = Promise.withResolvers<void>()
  listener.on('message', (_channel, received) => {
    if (received === text) cameBack.resolve()
  })
  await listener.subscribe(channel)
  const timer = setTimeout(
    () => cameBack.reject(new Error(`a message did not come back within ${PATIENCE_MS} ms`)),
    PATIENCE_MS
  )
  const sentAt = performance.now()
  try {
    await Promise.all([commands.publish(channel, text), cameBack.promise])
  } finally {
    clearTimeout(timer)
  }
  return ok(`bus: a message comes back (${Math.ceil(performance.now() - sentAt)} ms)`)
}

/** What an operator should do about an error of the bus or on the way to it. */
export function busAdvice(
  { message, code }: Error & { code?: string | undefined },
  url: string
): Diagnosis {
  if (code === 'ERR_MODULE_NOT_FOUND') {
    return wrong('bus: the package ioredis is not installed', `run ${installCommandFor('ioredis')}`)
  }
  const address = addressOf(url)
  if (/^(?:NOAUTH|WRONGPASS)/.test(message)) {
    return wrong(
      `bus: ${address} refuses the password (${message})`,
      'correct the name and the password in EVENTS_BUS_URL'
    )
  }
  if (message.startsWith('NOPERM')) {
    return wrong(
      `bus: ${message}`,
      'give its user the rights that docs/operations.md names for a bus'
    )
  }
  if (/certificate/.test(message)) {
    return wrong(
      `bus: ${address} cannot be trusted (${message})`,
      'name the authority that signed it: NODE_EXTRA_CA_CERTS=<file>'
    )
  }
  const reason = message + hintAt(url, message, code)
  return wrong(
    `bus: ${address} does not answer as it should (${reason})`,
    'correct EVENTS_BUS_URL, or check the bus and the network from here'
  )
}

/** What the protocol in the URL may have to do with it. */
function hintAt(url: string, message: string, code: string | undefined): string {
  if (url.startsWith('rediss:')) {
    return code === 'ETIMEDOUT'
      ? '; a port without TLS does this where EVENTS_BUS_URL begins with rediss:'
      : ''
  }
  const isClosed = code === 'ECONNRESET' || code === 'EPIPE' || message === 'Connection is closed.'
  return isClosed ? '; a port with TLS does this where EVENTS_BUS_URL begins with redis:' : ''
}

/** Without the password. */
function addressOf(url: string): string {
  const { protocol, host } = new URL(url)
  return `${protocol}//${host}`
}
