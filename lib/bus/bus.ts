import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Type, type Static, type TSchema } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { countSilent, createPeers, hearBeat, hearGoodbye, listenAnew, PATIENCE } from './peers.ts'

/** What carries texts from each instance to all of them, this one too. */
export interface Wire {
  /**
   * Connects, and does so again after each loss.
   * @param received gets every text
   * @param connected gets whether texts can be sent and received, after each change
   */
  open(received: (text: string) => void, connected: (isConnected: boolean) => void): void
  /** Rejects where the text was not sent, or nobody knows. */
  send(text: string): Promise<unknown>
  close(): void
}

export interface BusOptions {
  wire: Wire
  /** Milliseconds between two beats. */
  beatMs?: number
  /** Told when it becomes usable and when it is not any more, with the reason. */
  onChange?: (isUp: boolean, reason: string) => void
  /** Told how many other instances have fallen silent without a goodbye, whenever that changes. */
  onSilence?: (silent: number) => void
  /** How long a silent instance is waited for, in milliseconds: it may only be cut off, and go on writing. */
  forgetMs?: number
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

/** How long a goodbye may take, in milliseconds. */
const GOODBYE_MS = 500

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
 *
 * The others hear these beats too. An instance that was heard for a while, and then falls silent without a goodbye, may be cut
 * off from the bus and still write to the table. Until it comes back, nobody knows of all writes by the bus alone.
 */
export function createBus({
  wire,
  beatMs = 1000,
  onChange = () => {},
  onSilence = () => {},
  forgetMs = Infinity
}: BusOptions) {
  const name = randomBytes(9).toString('base64url')
  const topics = new Map<string, (body: unknown) => boolean>()
  const listeners = new Set<() => void>()
  const counts: MessageCounts = { sent: 0, lost: 0, received: 0, ignored: 0 }
  const beats = new Map<string, number>()
  const peers = createPeers(beatMs, forgetMs)
  let silent = 0
  let timer: NodeJS.Timeout | undefined
  let isConnected = false
  let isUp = false
  let heardAt = 0
  let roundTripMs: number | undefined
  let underWay = 0

  function setState(up: boolean, reason: string): void {
    if (up === isUp) return
    isUp = up
    if (up) listenAnew(peers)
    else roundTripMs = undefined
    onChange(up, reason)
    for (const listener of listeners) listener()
  }

  function lookForSilence(): void {
    const before = silent
    silent = countSilent(peers)
    if (silent === before) return
    onSilence(silent)
    if (silent === 0 || before === 0) for (const listener of listeners) listener()
  }

  function textOf(topic: string, body: unknown): string {
    return JSON.stringify({ v: VERSION, from: name, topic, body })
  }

  function send(topic: string, body: unknown): boolean {
    const text = textOf(topic, body)
    if (text.length > LENGTH || underWay >= UNDER_WAY) {
      counts.lost++
      return false
    }
    underWay++
    wire
      .send(text)
      .then(
        () => {
          counts.sent++
        },
        () => {
          counts.lost++
        }
      )
      .finally(() => {
        underWay--
      })
    return true
  }

  function receive(text: string): void {
    counts.received++
    if (!isTaken(text)) counts.ignored++
  }

  /** Whether a text is a message, from another instance or this one. A malformed text does no harm. */
  function isTaken(text: string): boolean {
    if (text.length > LENGTH) return false
    try {
      const message: unknown = JSON.parse(text)
      if (!Value.Check(Message, message)) return false
      if (message.from !== name) return isOfPeer(message)
      return message.topic !== 'beat' || isOwnBeat(message.body)
    } catch {
      return false
    }
  }

  function isOfPeer({ from, topic, body }: Static<typeof Message>): boolean {
    if (topic === 'beat') hearBeat(peers, from)
    else if (topic === 'bye') hearGoodbye(peers, from)
    else return topics.get(topic)?.(body) ?? false
    return true
  }

  function isOwnBeat(body: unknown): boolean {
    const sentAt = beats.get(body as string)
    if (sentAt === undefined) return false
    beats.delete(body as string)
    const ms = performance.now() - sentAt
    // That slow it counts as no answer.
    if (ms > beatMs) return true
    heardAt = performance.now()
    roundTripMs = ms
    setState(true, 'its beats come back')
    return true
  }

  function beat(): void {
    if (!isConnected) return
    if (performance.now() - heardAt > PATIENCE * beatMs) {
      setState(false, 'its beats do not come back in time')
    }
    if (isUp) lookForSilence()
    const id = randomBytes(6).toString('base64url')
    beats.set(id, performance.now())
    if (beats.size > PATIENCE) beats.delete(beats.keys().next().value!)
    send('beat', id)
  }

  function setConnected(now: boolean): void {
    isConnected = now
    beats.clear()
    if (now) beat()
    else setState(false, 'the connection is lost')
  }

  async function sayGoodbye(): Promise<void> {
    const over = new AbortController()
    const said = wire
      .send(textOf('bye', null))
      .catch(() => {})
      .finally(() => over.abort())
    await Promise.race([
      said,
      sleep(GOODBYE_MS, undefined, { signal: over.signal }).catch(() => {})
    ])
  }

  return {
    /** Connects. Before that nothing is sent or heard. */
    start(): void {
      timer = setInterval(beat, beatMs)
      wire.open(receive, setConnected)
    },
    /** Says goodbye and disconnects. To be called when nothing is written any more. */
    async close(): Promise<void> {
      clearInterval(timer)
      const wasConnected = isConnected
      setConnected(false)
      if (wasConnected) await sayGoodbye()
      wire.close()
    },
    /**
     * Adds a topic.
     * @param schema what its messages have to be; others are ignored
     * @param hear gets those of other instances
     */
    topic<T extends TSchema>(
      topic: string,
      schema: T,
      hear: (body: Static<T>) => void
    ): Tell<Static<T>> {
      topics.set(topic, (body) => {
        if (!Value.Check(schema, body)) return false
        hear(body)
        return true
      })
      return (body) => isUp && send(topic, body)
    },
    /** Whether messages go to and fro in time. */
    isUp: () => isUp,
    /** Whether all instances that were heard are heard still: then their notices tell of all writes. */
    hearsAll: () => isUp && silent === 0,
    /** How many instances have fallen silent without a goodbye. */
    silent: () => silent,
    /** Calls the listener whenever the bus comes up or goes down, or begins or ceases to hear all instances. */
    onChange: (listener: () => void): void => {
      listeners.add(listener)
    },
    counts: (): Readonly<MessageCounts> => counts,
    /** The time that the last beat took, in milliseconds; undefined while the bus is down. */
    roundTripMs: () => roundTripMs
  }
}
