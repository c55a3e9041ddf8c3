import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { streamOwner } from '../lib/auth/address.ts'
import { Entity, FeedHeaders, LockView } from '../lib/locks/schemas.ts'
import { createEventStreams, eventStream } from './event-stream.ts'
import type { Handler } from './handler.ts'
import { answers } from './lock-answers.ts'

/** Who is editing what, live. */
export default async function lockEvents (fastify: FastifyInstance) {
  fastify.addSchema(LockView)

  fastify.withTypeProvider<TypeBoxTypeProvider>()
    .get('/api/cloud/data-state/:type/:id/events', { schema: watchSchema, exposeHeadRoute: false, config: { tokenInQuery: true } }, watch)
}

const [example] = LockView.examples

const watchSchema = {
  operationId: 'watchLocks',
  tags: ['locks'],
  summary: 'The locks of an entity, live, as Server-Sent Events',
  description: 'First `snapshot` with all locks in `data`, then `locked` (taken, renewed or taken over) and `released` (or expired), each with the lock it is about; never a payload. Whichever instance or program writes to the table: its own writes are told at once, those of others within EVENTS_POLL_MS. After a reconnect with `Last-Event-ID` a snapshot is sent only if something has changed. `heartbeat` shows that the connection stands, with the `seconds` that have passed since the one before or the beginning: so long the next may take. `stale`: the store does not answer, so what was told may be over; expired locks are still `released`. `live`: it answers again; a `snapshot` follows. A caller that reads too slowly for every change gets a `snapshot` instead; one that reads nothing for EVENTS_HEARTBEAT_SECONDS is disconnected.',
  params: Entity,
  headers: FeedHeaders,
  response: {
    200: eventStream('Events without end; `id` names the state of the locks after the event', { data: [example] }, example),
    400: answers.wrong,
    405: answers.otherMethod,
    413: answers.largeList,
    500: answers.broken,
    503: answers.unwatched
  }
}

const watch: Handler<typeof watchSchema> = async function (request, reply) {
  await request.demand('view', request.params)
  const watcher = await this.locks.feed.watch([request.params], { lastEventId: request.headers['last-event-id'], caller: streamOwner(request) })
  return streamOf(request, reply, watcher)
}

const streamOf = createEventStreams(({ locks }) => ({ data: locks }))
