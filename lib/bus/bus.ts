import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Type, type Static, type TSchema } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import {
  countSilent,
  createPeers,
  hearBeat,
  hearGoodbye,
  listenAnew,
  PATIENCE,
  type Peers
} from './peers.ts'
import type { Wire } from './wire.ts'

export interface BusOptions {
  wire: Wire
  /** Milliseconds between two beats. */
  beatMs?: number
  /** Told when it becomes usable and when it is not any more, with the reason. */
  onChange?: (isUp: boolean, reason: string) => void
  /** Told how many other instances have fallen silent without a goodbye, whenever that changes. */
  onSilence?: (silent: number) => void
  /**
   * How long a silent instance is waited for, in milliseconds: it may only be cut off, and go on
   * writing.
   */
  forgetMs?: number
}

/** Messages, counted by outcome. */
export type MessageCounts = Record<'sent' | 'lost' | 'received' | 'ignored', number>

/**
 * Sends a message to all other instances, in the topic that it was made for.
 * @returns whether it was sent: false while the bus is away, for a message that is too large, and
 *   beyond the limit on messages in flight
 */
export type Tell<T> = (body: T) => boolean

/**
 * The version of the messages. Instances ignore messages of other versions, so that releases can
 * run beside each other.
 */
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
type Message = Static<typeof Message>

/** The bus as one instance has it. */
interface BusContext {
  wire: Wire
  beatMs: number
  onChange: (isUp: boolean, reason: string) => void
  onSilence: (silent: number) => void
  /** What the messages of this instance are from. */
  name: string
  /** What takes in the messages of each topic, and returns whether they are of its schema. */
  topics: Map<string, (body: unknown) => boolean>
  /** Called when the bus comes up or goes down, or begins or ceases to hear all instances. */
  listeners: Set<() => void>
  counts: MessageCounts
  /** When the newest beats were sent, by their ids. */
  beats: Map<string, number>
  peers: Peers
  /** How many peers have fallen silent without a goodbye. */
  silent: number
  beatTimer: NodeJS.Timeout | undefined
  isConnected: boolean
  isUp: boolean
  /** When the last beat came back in time. */
  heardAt: number
  /** How long the last beat took. */
  roundTripMs: number | undefined
  /** How many messages are on their way to the bus. */
  underWay: number
}

export type Bus = ReturnType<typeof createBus>

/**
 * Notices between instances. The bus may lose, delay, repeat and invent messages: whoever hears one
 * takes it for a hint.
 *
 * Each instance sends beats to itself. The bus is up as long as they come back in time, so a bus
 * that is cut off, full or slow is down within three beats.
 *
 * The others hear these beats too. An instance that was heard for a while, and then falls silent
 * without a goodbye, may be cut off from the bus and still write to the table. Until it comes back,
 * nobody knows of all writes by the bus alone.
 */
export function createBus({
  wire,
  beatMs = 1000,
  onChange = () => {},
  onSilence = () => {},
  forgetMs = Infinity
}: BusOptions) {
  const bus: BusContext = {
    wire,
    beatMs,
    onChange,
    onSilence,
    name: randomBytes(9).toString('base64url'),
    topics: new Map(),
    listeners: new Set(),
    counts: { sent: 0, lost: 0, received: 0, ignored: 0 },
    beats: new Map(),
    peers: createPeers(beatMs, forgetMs),
    silent: 0,
    beatTimer: undefined,
    isConnected: false,
    isUp: false,
    heardAt: 0,
    roundTripMs: undefined,
    underWay: 0
  }
  return {
    start: () => startBus(bus),
    close: () => closeBus(bus),
    topic: <T extends TSchema>(topic: string, schema: T, hear: (body: Static<T>) => void) =>
      addTopic(bus, topic, schema, hear),
    /** Whether messages go to and fro in time. */
    isUp: () => bus.isUp,
    /**
     * Whether all instances that were heard are heard still: then their notices tell of all writes.
     */
    hearsAll: () => bus.isUp && bus.silent === 0,
    /** How many instances have fallen silent without a goodbye. */
    silent: () => bus.silent,
    /**
     * Calls the listener whenever the bus comes up or goes down, or begins or ceases to hear all
     * instances.
     */
    onChange: (listener: () => void): void => {
      bus.listeners.add(listener)
    },
    counts: (): Readonly<MessageCounts> => bus.counts,
    /** The time that the last beat took, in milliseconds; undefined while the bus is down. */
    roundTripMs: () => bus.roundTripMs
  }
}

/** Connects. Before that nothing is sent or heard. */
function startBus(bus: BusContext): void {
  bus.beatTimer = setInterval(() => beat(bus), bus.beatMs)
  bus.wire.open(
    (text) => receive(bus, text),
    (isConnected) => setConnected(bus, isConnected)
  )
}

/** Says goodbye and disconnects. Call this when nothing is written any more. */
export async function closeBus(bus: BusContext): Promise<void> {
  clearInterval(bus.beatTimer)
  const wasConnected = bus.isConnected
  setConnected(bus, false)
  if (wasConnected) await sendGoodbye(bus)
  bus.wire.close()
}

/**
 * Adds a topic.
 * @param schema what its messages have to be; others are ignored
 * @param hear gets those of other instances
 */
export function addTopic<T extends TSchema>(
  bus: BusContext,
  topic: string,
  schema: T,
  hear: (body: Static<T>) => void
): Tell<Static<T>> {
  bus.topics.set(topic, (body) => {
    if (!Value.Check(schema, body)) return false
    hear(body)
    return true
  })
  return (body) => bus.isUp && sendMessage(bus, topic, body)
}

function setConnected(bus: BusContext, isConnected: boolean): void {
  bus.isConnected = isConnected
  bus.beats.clear()
  if (isConnected) beat(bus)
  else setUp(bus, false, 'the connection is lost')
}

function setUp(bus: BusContext, isUp: boolean, reason: string): void {
  if (isUp === bus.isUp) return
  bus.isUp = isUp
  if (isUp) listenAnew(bus.peers)
  else bus.roundTripMs = undefined
  bus.onChange(isUp, reason)
  callListeners(bus)
}

function callListeners({ listeners }: BusContext): void {
  for (const listener of listeners) listener()
}

/**
 * Sends a beat, and looks whether the earlier ones have come back, and which peers have fallen
 * silent.
 */
function beat(bus: BusContext): void {
  const { beats, beatMs } = bus
  if (!bus.isConnected) return
  if (performance.now() - bus.heardAt > PATIENCE * beatMs) {
    setUp(bus, false, 'its beats do not come back in time')
  }
  if (bus.isUp) updateSilence(bus)
  const id = randomBytes(6).toString('base64url')
  beats.set(id, performance.now())
  if (beats.size > PATIENCE) beats.delete(beats.keys().next().value!)
  sendMessage(bus, 'beat', id)
}

function updateSilence(bus: BusContext): void {
  const before = bus.silent
  bus.silent = countSilent(bus.peers)
  if (bus.silent === before) return
  bus.onSilence(bus.silent)
  if (bus.silent === 0 || before === 0) callListeners(bus)
}

/** @returns whether it was sent */
function sendMessage(bus: BusContext, topic: string, body: unknown): boolean {
  const { counts, wire } = bus
  const text = messageText(bus, topic, body)
  if (text.length > LENGTH || bus.underWay >= UNDER_WAY) {
    counts.lost++
    return false
  }
  bus.underWay++
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
      bus.underWay--
    })
  return true
}

function messageText({ name }: BusContext, topic: string, body: unknown): string {
  return JSON.stringify({ v: VERSION, from: name, topic, body })
}

async function sendGoodbye(bus: BusContext): Promise<void> {
  const sent = new AbortController()
  const sending = bus.wire
    .send(messageText(bus, 'bye', null))
    .catch(() => {})
    .finally(() => sent.abort())
  const patience = sleep(GOODBYE_MS, undefined, { signal: sent.signal }).catch(() => {})
  await Promise.race([sending, patience])
}

function receive(bus: BusContext, text: string): void {
  bus.counts.received++
  if (!isTaken(bus, text)) bus.counts.ignored++
}

/**
 * Whether a text is a message, from another instance or this one. A malformed text does no harm.
 */
function isTaken(bus: BusContext, text: string): boolean {
  if (text.length > LENGTH) return false
  try {
    const message: unknown = JSON.parse(text)
    if (!Value.Check(Message, message)) return false
    if (message.from !== bus.name) return isOfPeer(bus, message)
    return message.topic !== 'beat' || isOwnBeat(bus, message.body)
  } catch {
    return false
  }
}

function isOfPeer({ peers, topics }: BusContext, { from, topic, body }: Message): boolean {
  if (topic === 'beat') hearBeat(peers, from)
  else if (topic === 'bye') hearGoodbye(peers, from)
  else return topics.get(topic)?.(body) ?? false
  return true
}

function isOwnBeat(bus: BusContext, body: unknown): boolean {
  const { beats, beatMs } = bus
  const sentAt = beats.get(body as string)
  if (sentAt === undefined) return false
  beats.delete(body as string)
  const ms = performance.now() - sentAt
  // That slow it counts as no answer.
  if (ms > beatMs) return true
  bus.heardAt = performance.now()
  bus.roundTripMs = ms
  setUp(bus, true, 'its beats come back')
  return true
}
