import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { streamOwner } from '../lib/auth/address.ts'
import { STREAM_SCHEMAS } from '../lib/boards/schemas.ts'
import { withoutOperations } from '../lib/locks/feed-events.ts'
import { Entity, FeedHeaders, LockView } from '../lib/locks/schemas.ts'
import { createEventStreams, eventStream } from './event-stream.ts'
import type { Handler } from './handler.ts'
import { lockAnswers } from './lock-answers.ts'

/** Who is editing what, live. */
export default async function lockEvents(fastify: FastifyInstance) {
  for (const schema of STREAM_SCHEMAS) fastify.addSchema(schema)

  fastify
    .withTypeProvider<TypeBoxTypeProvider>()
    .get(
      '/api/cloud/data-state/:type/:id/events',
      { schema: watchSchema, exposeHeadRoute: false, config: { tokenInQuery: true } },
      watch
    )
}

const [example] = LockView.examples

const watchSchema = {
  operationId: 'watchLocks',
  tags: ['locks'],
  summary: 'Watch the locks of an entity, as Server-Sent Events',
  description:
    'First comes `snapshot` with all locks in `data`. Then come `locked` (taken, renewed or taken over) and `released` (or expired), each with its lock. No event has a payload. An instance tells its own writes at once, and those of other instances and programs within EVENTS_POLL_MS. After a reconnect with `Last-Event-ID` a snapshot is sent only if something has changed. `heartbeat` shows that the connection stands. Its `seconds` are the time since the last heartbeat, or since the beginning: the next one may take as long. Of an edition that was saved through this instance `saved` tells the new entity tag, the fields, and who saved. `requested` says who asks the holder of a lock for it, and until when; with `until` 0 that is over. `present` says who looks on at the entity, when they come and as long as that goes on; with `until` 0 they have left. `stale` says that the store does not answer, so locks that the stream has shown may have ended. Locks that expire are still `released`. `live` says that the store answers again; a `snapshot` follows. A caller that reads too slowly for every change gets a `snapshot` instead. A caller that reads nothing for 15 seconds is disconnected.',
  params: Entity,
  headers: FeedHeaders,
  response: {
    200: eventStream(
      'An endless stream of events. `id` names the state of the locks after the event',
      { data: [example] },
      example
    ),
    400: lockAnswers.wrong,
    405: lockAnswers.otherMethod,
    413: lockAnswers.largeList,
    429: lockAnswers.watching,
    500: lockAnswers.broken,
    503: lockAnswers.unwatched
  }
}

const watch: Handler<typeof watchSchema> = async function (request, reply) {
  await request.demandLock('view', request.params)
  const watcher = await this.locks.feed.watch([request.params], {
    lastEventId: request.headers['last-event-id'],
    caller: streamOwner(request)
  })
  // Who may see these locks may not see the edition.
  const next = async () => {
    const batch = await watcher.next()
    return batch && withoutOperations(batch)
  }
  return streamOf(request, reply, { ...watcher, next })
}

const streamOf = createEventStreams(({ locks }) => ({ data: locks }))
