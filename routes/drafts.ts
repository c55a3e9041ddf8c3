import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Right } from '../lib/access/access.ts'
import type { User } from '../lib/auth/identity.ts'
import { ownNamedOnly, ownOnly } from '../lib/auth/own.ts'
import { Draft, DraftList, DraftsListed, DraftsQuery, Entity } from '../lib/locks/schemas.ts'
import { ref } from '../lib/schema-parts.ts'
import type { Handler } from './handler.ts'
import { answers, done } from './lock-answers.ts'

const { wrong, otherMethod, largeBody, largeList, otherType, broken, unavailable } = answers

/** Kept drafts: the texts of locks that somebody else took over or released, or that have expired. */
export default async function drafts (fastify: FastifyInstance) {
  for (const schema of [Draft, DraftList, DraftsListed]) fastify.addSchema(schema)

  fastify.withTypeProvider<TypeBoxTypeProvider>()
    .get('/api/cloud/data-state/:type/:id/drafts', { schema: listSchema }, list)
    .delete('/api/cloud/data-state/:type/:id/drafts', { schema: discardSchema }, discard)
}

const listSchema = {
  operationId: 'listDrafts',
  tags: ['locks'],
  summary: 'The kept texts of displaced locks of an entity',
  description: 'Whenever a lock with a payload is taken over (PUT, or POST when it had expired) or released (DELETE without its uid) by somebody else, the payload is kept for DRAFT_DAYS, at most 50 of one field and user: the oldest go first. That of an expired lock is shown as a draft before anybody takes the field. A text displaced by two at once is shown once, and may name either.',
  params: Entity,
  querystring: DraftsQuery,
  response: { 200: ref(DraftsListed, { description: 'What was found, be it nothing' }), 400: wrong, 405: otherMethod, 413: largeList, 500: broken, 503: unavailable }
}

const list: Handler<typeof listSchema> = async function (request) {
  const { params, query } = request
  const caller = await askingFor('view', request, params, query)
  return { success: true, data: await this.locks.drafts.list(params, ownOnly(caller, query)) }
}

const discardSchema = {
  operationId: 'discardDrafts',
  tags: ['locks'],
  summary: 'Discard the drafts of a field, of a user, or of both',
  description: 'At least one of the two is needed. Discarding what is not there succeeds.',
  params: Entity,
  querystring: DraftsQuery,
  response: { 200: done('Discarded'), 400: wrong, 405: otherMethod, 413: largeBody, 415: otherType, 500: broken, 503: unavailable }
}

const discard: Handler<typeof discardSchema> = async function (request) {
  const { params, query } = request
  const caller = await askingFor('edit', request, params, query)
  await this.locks.drafts.discard(params, ownNamedOnly(caller, query))
  return { success: true }
}

/** Who asks: drafts are their owner's, those of others an administrator's who has a right to the entity. */
async function askingFor (right: Right, request: Pick<FastifyRequest, 'identity' | 'may'>, entity: Entity, { uid }: DraftsQuery): Promise<User | undefined> {
  const { identity: user } = request
  if (!user?.admin || uid === user.uid) return user
  return { ...user, admin: await request.may(right, entity) }
}
