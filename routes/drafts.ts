import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { ownNamedOnly, ownOnly } from '../lib/auth/own.ts'
import { Draft, DraftList, DraftsListed, DraftsQuery, Entity } from '../lib/locks/schemas.ts'
import { ref } from '../lib/schema-parts.ts'
import type { Handler } from './handler.ts'
import { lockAnswers, doneAnswer } from './lock-answers.ts'
import { askingFor } from './own-or-all.ts'

const { wrong, otherMethod, largeBody, largeList, otherType, broken, unavailable } = lockAnswers

/**
 * Kept drafts: the texts of locks that somebody else took over or released, or that have expired.
 */
export default async function drafts(fastify: FastifyInstance) {
  for (const schema of [Draft, DraftList, DraftsListed]) fastify.addSchema(schema)

  fastify
    .withTypeProvider<TypeBoxTypeProvider>()
    .get('/api/cloud/data-state/:type/:id/drafts', { schema: listSchema }, list)
    .delete('/api/cloud/data-state/:type/:id/drafts', { schema: discardSchema }, discard)
}

const listSchema = {
  operationId: 'listDrafts',
  tags: ['locks'],
  summary: 'List the drafts of an entity: the texts of displaced locks',
  description:
    'When somebody else takes over a lock with a text (PUT, or POST after it expired) or releases it (DELETE without its uid), Quoin keeps the text for DRAFT_DAYS. It keeps at most 50 drafts of one user for one field and drops the oldest first. The text of an expired lock is listed as soon as the lock expires. A text that two users displaced at once is listed once and names one of them.',
  params: Entity,
  querystring: DraftsQuery,
  response: {
    200: ref(DraftsListed, { description: 'The drafts found; empty when there are none' }),
    400: wrong,
    405: otherMethod,
    413: largeList,
    500: broken,
    503: unavailable
  }
}

const list: Handler<typeof listSchema> = async function (request) {
  const { params, query } = request
  const caller = await askingFor('view', request, params, query.uid)
  return { success: true, data: await this.locks.drafts.list(params, ownOnly(caller, query)) }
}

const discardSchema = {
  operationId: 'discardDrafts',
  tags: ['locks'],
  summary: 'Discard the drafts of a field, of a user, or of both',
  description:
    'At least one of `fieldName` and `uid` is needed. Discarding what does not exist succeeds.',
  params: Entity,
  querystring: DraftsQuery,
  response: {
    200: doneAnswer('Discarded'),
    400: wrong,
    405: otherMethod,
    413: largeBody,
    415: otherType,
    500: broken,
    503: unavailable
  }
}

const discard: Handler<typeof discardSchema> = async function (request) {
  const { params, query } = request
  const caller = await askingFor('edit', request, params, query.uid)
  await this.locks.drafts.discard(params, ownNamedOnly(caller, query))
  return { success: true }
}
