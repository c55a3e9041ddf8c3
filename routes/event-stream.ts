import { Readable } from 'node:stream'
import { encode } from 'eventsource-encoder'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FeedEvent, Snapshot } from '../lib/locks/feed-events.ts'
import type { Watcher } from '../lib/locks/feed.ts'

/** An answer that is an event stream, as the documentation shows it. */
export function eventStream (description: string, snapshot: object, lock: object) {
  const example = encode({ event: 'snapshot', id: '2jmj7l5rSw0yVb_vlWAYkK', data: JSON.stringify(snapshot) }) +
    encode({ event: 'released', id: 'S4Zq0P7i3mX1cD9uYw5bTg', data: JSON.stringify(lock) }) +
    encode({ event: 'heartbeat', data: '{"seconds":15}' })
  return { description, content: { 'text/event-stream': { schema: { type: 'string' }, example } } }
}

/**
 * Answers with Server-Sent Events (WHATWG HTML, section 9.2) for as long as the caller stays, would still be let in, and
 * there are events.
 * @param dataOf the data of a snapshot
 */
export function sendEvents (request: FastifyRequest, reply: FastifyReply, watcher: Watcher, dataOf: (snapshot: Snapshot) => object) {
  const chunks = new Readable({
    objectMode: true,
    read () {
      next().then((event) => this.push(event), (error: Error) => this.destroy(error))
    },
    destroy (error, done) {
      watcher.leave()
      done(error)
    }
  })

  async function next (): Promise<string | null> {
    const event = await watcher.next()
    if (!event) return null
    if (event.event !== 'heartbeat') return encoded(event, dataOf)
    return await request.isWelcome() ? heartbeat() : null
  }

  let beatAt = performance.now()

  /** How long ago the last one was, or the beginning, tells when the next is to be expected. */
  function heartbeat (): string {
    const seconds = Math.round((performance.now() - beatAt) / 1000)
    beatAt = performance.now()
    return encode({ event: 'heartbeat', data: JSON.stringify({ seconds }) })
  }

  return reply
    .headers({ 'content-type': 'text/event-stream', 'cache-control': 'private, no-store', 'x-accel-buffering': 'no' })
    .send(chunks)
}

function encoded (event: Exclude<FeedEvent, { event: 'heartbeat' }>, dataOf: (snapshot: Snapshot) => object): string {
  const data = event.event === 'snapshot' ? dataOf(event) : event.lock
  return encode({ event: event.event, id: event.id, data: JSON.stringify(data) })
}
