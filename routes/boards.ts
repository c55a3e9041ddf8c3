import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Board } from '../lib/boards/boards.ts'
import type { LiveOptions } from '../lib/boards/live-board.ts'
import { LockBoard, STREAM_SCHEMAS } from '../lib/boards/schemas.ts'
import { streamOwner } from '../lib/auth/address.ts'
import { answers } from '../lib/editions/answers.ts'
import type { Caller } from '../lib/http/calls.ts'
import {
  EditionFailure,
  EditionParams,
  leniently,
  SearchParams,
  SearchQuery
} from '../lib/editions/schemas.ts'
import { Failure } from '../lib/errors.ts'
import { FeedHeaders, LockView, type Entity } from '../lib/locks/schemas.ts'
import { ref } from '../lib/schema-parts.ts'
import { createEventStreams, eventStream } from './event-stream.ts'
import type { Handler } from './handler.ts'

/** Who is at work: in an edition, by its lock board, and in the rows of a list. */
export default async function boards(fastify: FastifyInstance) {
  for (const schema of [EditionFailure, LockBoard, ...STREAM_SCHEMAS]) fastify.addSchema(schema)

  fastify
    .withTypeProvider<TypeBoxTypeProvider>()
    .get('/api/collection/:id/locks', { schema: readSchema }, read)
    .get(
      '/api/collection/:id/locks/events',
      { schema: watchSchema, exposeHeadRoute: false, config: { tokenInQuery: true } },
      watch
    )
    .get(
      '/api/collections/:bundle/events',
      {
        schema: watchRowsSchema,
        exposeHeadRoute: false,
        config: { tokenInQuery: true },
        // As many rows as a list with locks has.
        preValidation: async (request) => {
          request.query = leniently({ ...request.query, locks: '1' }) as typeof request.query
        }
      },
      watchRows
    )
}

/** The failures that every operation may answer. */
const ALWAYS = [400, 401, 403, 404, 405, 413, 500, 502, 503, 504] as const

const readSchema = {
  operationId: 'readLockBoard',
  tags: ['locks'],
  summary: 'List the locks on an edition and on its articles',
  description:
    'One request answers all of them, without texts. The content model says which fields refer to articles, and which type and id their locks have.',
  params: EditionParams,
  response: answers(
    { 200: ref(LockBoard, { description: 'The locks found; empty when there are none' }) },
    ...ALWAYS
  )
}

const read: Handler<typeof readSchema> = async function (request) {
  const {
    params: { id },
    caller
  } = request
  await request.demand('view', this.boards.edition(id))
  return boardBody(await this.boards.read(id, caller, (entity) => request.may('view', entity)))
}

const watchSchema = {
  operationId: 'watchLockBoard',
  tags: ['locks'],
  summary: 'Watch the lock board of an edition, as Server-Sent Events',
  description:
    'First comes `snapshot` with the whole board, then `locked` and `released`, as in the events of one entity. When the articles of the edition change, a new `snapshot` comes: right after the event `saved` that tells of it, else within two heartbeats. `requested`, `present`, `saved`, `stale` and `live` are as in those events, too. Of operations on the running order `saved` has those that changed something, as `operations`, and the entity tag of the state that they were done to, as `from`: the part before the dot counts.',
  params: EditionParams,
  headers: FeedHeaders,
  response: answers(
    {
      200: eventStream(
        'An endless stream of events. `id` names the state of the board after the event',
        LockBoard.examples[0]!,
        LockView.examples[0]!
      )
    },
    429,
    ...ALWAYS
  )
}

const watch: Handler<typeof watchSchema> = async function (request, reply) {
  const {
    params: { id },
    caller
  } = request
  await request.demand('view', this.boards.edition(id))
  return streamOf(request, reply, await this.boards.watch(id, caller, optionsOf(request)))
}

const watchRowsSchema = {
  operationId: 'watchList',
  tags: ['editions'],
  summary: 'Watch a page of a list, as Server-Sent Events',
  description:
    'First comes `snapshot` with the locks on the rows, then `locked`, `released`, `requested`, `present` and `saved`, as in the events of one entity. When rows have come or gone, a new `snapshot` comes within two heartbeats: read the list again then, and after `saved`. The parameters are those of the list; `total` and `placed` have no effect.',
  params: SearchParams,
  querystring: SearchQuery,
  headers: FeedHeaders,
  response: answers(
    {
      200: eventStream(
        'An endless stream of events. `id` names the state of the locks after the event',
        LockBoard.examples[0]!,
        LockView.examples[0]!
      )
    },
    429,
    ...ALWAYS
  )
}

const watchRows: Handler<typeof watchRowsSchema> = async function (request, reply) {
  const {
    params: { bundle },
    query: { total: _total, placed: _placed, locks: _locks, _format, unplaced, ...query },
    caller
  } = request
  if (unplaced) {
    throw new Failure('BAD_REQUEST', 'querystring/unplaced is for lists; their events have none')
  }
  const list = (caller: Caller) => this.editions.search(bundle, { ...query, total: false }, caller)
  return streamOf(
    request,
    reply,
    await this.boards.watchRows(JSON.stringify([bundle, query]), caller, list, optionsOf(request))
  )
}

function optionsOf(request: FastifyRequest): LiveOptions {
  return {
    lastEventId: request.headers['last-event-id'] as string | undefined,
    caller: streamOwner(request),
    // If a right cannot be checked, its locks are left out. The stream goes on.
    ...(request.server.access && {
      mayView: (entity: Entity) => request.may('view', entity).catch(() => false)
    })
  }
}

const streamOf = createEventStreams(boardBody)

function boardBody({ locks, entities }: Board): LockBoard {
  return { data: locks, meta: { entities, count: locks.length } }
}
