import { randomBytes } from 'node:crypto'
import { Type, type Static, type TSchema } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'

/** What carries texts from each instance to all of them, this one too. */
export interface Wire {
  /**
   * Connects, and does so again after each loss.
   * @param received gets every text
   * @param connected gets whether texts can be sent and received, after each change
   */
  open (received: (text: string) => void, connected: (isConnected: boolean) => void): void
  /** Rejects where the text was not sent, or nobody knows. */
  send (text: string): Promise<unknown>
  close (): void
}

export interface BusOptions {
  wire: Wire
  /** Milliseconds between two beats. */
  beatMs?: number
  /** Told when it becomes usable and when it is not any more, with the reason. */
  onChange?: (isUp: boolean, reason: string) => void
}

/** Messages, counted by outcome. */
export type MessageCounts = Record<'sent' | 'lost' | 'received' | 'ignored', number>

/**
 * Sends a message to all other instances, in the topic that it was made for.
 * @returns whether it was sent: false while the bus is away, for a message that is too large, and beyond the limit on messages in flight
 */
export type Tell<T> = (body: T) => boolean

export type Bus = ReturnType<typeof createBus>

/** The version of the messages. Instances ignore messages of other versions, so that releases can run beside each other. */
const VERSION = 1

/** The longest message, in characters. */
const LENGTH = 16_384

/** Most messages that are on their way to the bus at once. */
const UNDER_WAY = 1000

/** After this many beats without an answer the bus counts as down. It counts as slow when it answers more than one beat late. */
const PATIENCE = 3

const Message = Type.Object({
  v: Type.Literal(VERSION),
  from: Type.String({ minLength: 1, maxLength: 32 }),
  topic: Type.String({ maxLength: 32 }),
  body: Type.Unknown()
})

/**
 * Notices between instances. The bus may lose, delay, repeat and invent messages: whoever hears one takes it for a hint.
 *
 * Each instance sends beats to itself. The bus is up as long as they come back in time, so a bus that is cut off, full or
 * slow is down within three beats.
 */
export function createBus ({ wire, beatMs = 1000, onChange = () => {} }: BusOptions) {
  const name = randomBytes(9).toString('base64url')
  const topics = new Map<string, (body: unknown) => boolean>([['beat', isOwnBeat]])
  const listeners = new Set<() => void>()
  const counts: MessageCounts = { sent: 0, lost: 0, received: 0, ignored: 0 }
  const beats = new Map<string, number>()
  let timer: NodeJS.Timeout | undefined
  let isConnected = false
  let isUp = false
  let heardAt = 0
  let roundTripMs: number | undefined
  let underWay = 0

  function setState (up: boolean, reason: string): void {
    if (up === isUp) return
    isUp = up
    if (!up) roundTripMs = undefined
    onChange(up, reason)
    for (const listener of listeners) listener()
  }

  function send (topic: string, body: unknown): boolean {
    const text = JSON.stringify({ v: VERSION, from: name, topic, body })
    if (text.length > LENGTH || underWay >= UNDER_WAY) {
      counts.lost++
      return false
    }
    underWay++
    wire.send(text).then(() => { counts.sent++ }, () => { counts.lost++ }).finally(() => { underWay-- })
    return true
  }

  function receive (text: string): void {
    counts.received++
    if (!isTaken(text)) counts.ignored++
  }

  /** Whether a text is a message, from another instance or this one. A malformed text does no harm. */
  function isTaken (text: string): boolean {
    if (text.length > LENGTH) return false
    try {
      const message: unknown = JSON.parse(text)
      if (!Value.Check(Message, message)) return false
      if ((message.from === name) !== (message.topic === 'beat')) return true
      return topics.get(message.topic)?.(message.body) ?? false
    } catch {
      return false
    }
  }

  function isOwnBeat (body: unknown): boolean {
    const sentAt = beats.get(body as string)
    if (sentAt === undefined) return false
    beats.delete(body as string)
    const ms = performance.now() - sentAt
    if (ms > beatMs) return true
    heardAt = performance.now()
    roundTripMs = ms
    setState(true, 'its beats come back')
    return true
  }

  function beat (): void {
    if (!isConnected) return
    if (performance.now() - heardAt > PATIENCE * beatMs) setState(false, 'its beats do not come back in time')
    const id = randomBytes(6).toString('base64url')
    beats.set(id, performance.now())
    if (beats.size > PATIENCE) beats.delete(beats.keys().next().value!)
    send('beat', id)
  }

  function setConnected (now: boolean): void {
    isConnected = now
    beats.clear()
    if (now) beat()
    else setState(false, 'the connection is lost')
  }

  return {
    /** Connects. Before that nothing is sent or heard. */
    start (): void {
      timer = setInterval(beat, beatMs)
      wire.open(receive, setConnected)
    },
    close (): void {
      clearInterval(timer)
      wire.close()
      setConnected(false)
    },
    /**
     * Adds a topic.
     * @param schema what its messages have to be; others are ignored
     * @param hear gets those of other instances
     */
    topic<T extends TSchema>(topic: string, schema: T, hear: (body: Static<T>) => void): Tell<Static<T>> {
      topics.set(topic, (body) => {
        if (!Value.Check(schema, body)) return false
        hear(body)
        return true
      })
      return (body) => isUp && send(topic, body)
    },
    /** Whether messages go to and fro in time. */
    isUp: () => isUp,
    /** Calls the listener whenever the bus comes up or goes down. */
    onChange: (listener: () => void): void => { listeners.add(listener) },
    counts: (): Readonly<MessageCounts> => counts,
    /** The time that the last beat took, in milliseconds; undefined while the bus is down. */
    roundTripMs: () => roundTripMs
  }
}
