import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import type { Board } from '../lib/boards/boards.ts'
import { LockBoard } from '../lib/boards/schemas.ts'
import { streamOwner } from '../lib/auth/address.ts'
import { answers } from '../lib/editions/answers.ts'
import { EditionFailure, EditionParams } from '../lib/editions/schemas.ts'
import { FeedHeaders, LockView, type Entity } from '../lib/locks/schemas.ts'
import { ref } from '../lib/schema-parts.ts'
import { createEventStreams, eventStream } from './event-stream.ts'
import type { Handler } from './handler.ts'

/** An edition's lock board: who is at work in it. */
export default async function boards (fastify: FastifyInstance) {
  for (const schema of [EditionFailure, LockView, LockBoard]) fastify.addSchema(schema)

  fastify.withTypeProvider<TypeBoxTypeProvider>()
    .get('/api/collection/:id/locks', { schema: readSchema }, read)
    .get('/api/collection/:id/locks/events', { schema: watchSchema, exposeHeadRoute: false, config: { tokenInQuery: true } }, watch)
}

/** What every request may end in. */
const ALWAYS = [400, 401, 403, 404, 405, 500, 502, 503, 504] as const

const readSchema = {
  operationId: 'readLockBoard',
  tags: ['locks'],
  summary: 'List the locks on an edition and on its articles',
  description: 'One request answers all of them, without texts. The content model says which fields refer to articles, and which type and id their locks have.',
  params: EditionParams,
  response: answers({ 200: ref(LockBoard, { description: 'The locks found; empty when there are none' }) }, ...ALWAYS)
}

const read: Handler<typeof readSchema> = async function (request) {
  const { params: { id }, caller } = request
  await request.demand('view', this.boards.edition(id))
  return bodyOf(await this.boards.read(id, caller, (entity) => request.may('view', entity)))
}

const watchSchema = {
  operationId: 'watchLockBoard',
  tags: ['locks'],
  summary: 'Watch the lock board of an edition, as Server-Sent Events',
  description: 'First comes `snapshot` with the whole board, then `locked` and `released`, as in the events of one entity. When the articles of the edition change, a new `snapshot` comes within two heartbeats. `requested`, `saved`, `stale` and `live` are as in those events, too.',
  params: EditionParams,
  headers: FeedHeaders,
  response: answers({ 200: eventStream('An endless stream of events. `id` names the state of the board after the event', LockBoard.examples[0]!, LockView.examples[0]!) }, ...ALWAYS)
}

const watch: Handler<typeof watchSchema> = async function (request, reply) {
  const { params: { id }, headers, caller } = request
  await request.demand('view', this.boards.edition(id))
  const watcher = await this.boards.watch(id, caller, {
    lastEventId: headers['last-event-id'],
    caller: streamOwner(request),
    // If a right cannot be checked, its locks are left out. The stream goes on.
    ...(this.access && { mayView: (entity: Entity) => request.may('view', entity).catch(() => false) })
  })
  return streamOf(request, reply, watcher)
}

const streamOf = createEventStreams(bodyOf)

function bodyOf ({ locks, entities }: Board): LockBoard {
  return { data: locks, meta: { entities, count: locks.length } }
}
