import { Readable } from 'node:stream'
import { Type } from '@sinclair/typebox'
import { encode } from 'eventsource-encoder'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Batch, FeedEvent, Snapshot } from '../lib/locks/feed-events.ts'
import type { Watcher } from '../lib/locks/watcher.ts'
import { Saved, StreamEvent } from '../lib/boards/schemas.ts'
import { Petition, Presence, ProposalView } from '../lib/locks/schemas.ts'
import { ref } from '../lib/schema-parts.ts'

/**
 * A long text goes out in pieces: whoever reads one is a slow reader, not one that reads nothing.
 */
const PIECE_BYTES = 65_536

/**
 * An answer that is an event stream, as the documentation shows it: a handler answers with what the
 * text is read from.
 */
export function eventStream(description: string, snapshot: object, lock: object) {
  const example =
    encode({ event: 'snapshot', id: '2jmj7l5rSw0yVb_vlWAYkK', data: JSON.stringify(snapshot) }) +
    encode({ event: 'released', id: 'S4Zq0P7i3mX1cD9uYw5bTg', data: JSON.stringify(lock) }) +
    encode({
      event: 'requested',
      id: 'b1F0cGzTq3mK8sVwXy2ZpA',
      data: JSON.stringify(Petition.examples[0])
    }) +
    encode({
      event: 'present',
      id: 'mL9vTq2xR5sKd7bYf0NcWg',
      data: JSON.stringify(Presence.examples[0])
    }) +
    encode({
      event: 'proposed',
      id: 'Xq3vR8mWk1sT6bZy0LdEuA',
      data: JSON.stringify(ProposalView.examples[0])
    }) +
    encode({
      event: 'saved',
      data: JSON.stringify(Saved.examples[0])
    }) +
    encode({ event: 'heartbeat', data: '{"seconds":15}' }) +
    encode({ event: 'stale', data: '{}' }) +
    encode({ event: 'live', data: '{}' }) +
    encode({ event: 'snapshot', id: '2jmj7l5rSw0yVb_vlWAYkK', data: JSON.stringify(snapshot) })
  return {
    description,
    content: {
      'text/event-stream': {
        schema: Type.Unsafe<Readable>({
          type: 'string',
          contentMediaType: 'text/event-stream',
          contentSchema: Type.Array(ref(StreamEvent))
        }),
        example
      }
    }
  }
}

/**
 * Answers with Server-Sent Events (WHATWG HTML, section 9.2), each encoded once for all callers.
 * @param dataOf the data of a snapshot
 * @returns the stream that answers a request. It ends when there are no more events, and when the
 *   caller leaves, stops reading or would not be let in any more
 */
export function createEventStreams(dataOf: (snapshot: Snapshot) => object) {
  /** A text stays as long as a caller has not taken it. */
  const texts = new WeakMap<Batch, WeakRef<Buffer>>()

  function textOf(batch: Batch): Buffer {
    const memo = texts.get(batch)?.deref()
    if (memo) return memo
    const text = Buffer.from(batch.map((event) => encodeEvent(event, dataOf)).join(''))
    texts.set(batch, new WeakRef(text))
    return text
  }

  return function streamOf(
    request: FastifyRequest,
    reply: FastifyReply,
    watcher: Watcher
  ): Readable {
    const {
      raw: { socket },
      server: { backlog }
    } = request
    let text: Buffer = Buffer.alloc(0)
    let rest = text
    let silence: NodeJS.Timeout | undefined
    let beatAt = performance.now()

    const stream = new Readable({
      // Reads no batch ahead, since the state may change before it is sent.
      highWaterMark: 0,
      read() {
        clearTimeout(silence)
        if (rest.length > 0) return sendPiece()
        backlog.remove(text, stream)
        next().then(
          (batch) => {
            if (!batch) return stream.push(null)
            text = rest = batch
            return sendPiece()
          },
          (error: Error) => stream.destroy(error)
        )
      },
      destroy(error, done) {
        clearTimeout(silence)
        backlog.remove(text, stream)
        watcher.leave()
        done(error)
      }
    })

    function sendPiece(): void {
      const piece = rest.subarray(0, PIECE_BYTES)
      rest = rest.subarray(PIECE_BYTES)
      stream.push(piece)
    }

    // The connection takes no more for now: a caller that reads nothing for a heartbeat is gone.
    stream.on('pause', () => {
      if (stream.destroyed) return
      backlog.add(text, stream)
      silence = setTimeout(() => stream.destroy(), watcher.heartbeatMs)
    })

    async function next(): Promise<Buffer | undefined> {
      // Node 26 may go on asking for more after the connection is gone.
      const batch = socket.destroyed ? undefined : await watcher.next()
      if (batch?.[0]?.event !== 'heartbeat') return batch && textOf(batch)
      return (await request.isWelcome()) ? heartbeat() : undefined
    }

    /** Tells how long ago the last one was, or the beginning: the next one may take as long. */
    function heartbeat(): Buffer {
      const seconds = Math.round((performance.now() - beatAt) / 1000)
      beatAt = performance.now()
      return Buffer.from(encode({ event: 'heartbeat', data: JSON.stringify({ seconds }) }))
    }

    reply.headers({
      'content-type': 'text/event-stream',
      'cache-control': 'private, no-store',
      'x-accel-buffering': 'no'
    })
    return stream
  }
}

function encodeEvent(event: FeedEvent, dataOf: (snapshot: Snapshot) => object): string {
  if (event.event === 'saved') {
    return encode({ event: event.event, data: JSON.stringify(event.saved) })
  }
  if (!('id' in event)) return encode({ event: event.event, data: '{}' })
  return encode({ event: event.event, id: event.id, data: JSON.stringify(subjectOf(event)) })

  function subjectOf(event: Extract<FeedEvent, { id: string }>): object {
    switch (event.event) {
      case 'snapshot':
        return dataOf(event)
      case 'requested':
        return event.petition
      case 'present':
        return event.presence
      case 'proposed':
        return event.proposal
      default:
        return event.lock
    }
  }
}
