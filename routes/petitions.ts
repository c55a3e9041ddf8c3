import { Type } from '@sinclair/typebox'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { ownUserData, ownNamedOnly } from '../lib/auth/own.ts'
import { Failure, texts } from '../lib/errors.ts'
import { Entity, OwnPetitionRequest, PetitionQuery, PetitionRequest } from '../lib/locks/schemas.ts'
import type { Handler } from './handler.ts'
import { lockAnswers, doneAnswer } from './lock-answers.ts'

const { wrong, otherMethod, unheld, largeBody, otherType, crowded, broken, unavailable } =
  lockAnswers

/** Petitions: users ask the holder of a lock for it. */
export default async function petitions(fastify: FastifyInstance) {
  fastify
    .withTypeProvider<TypeBoxTypeProvider>()
    .post('/api/cloud/data-state/:type/:id/requests', { schema: fileSchema(fastify) }, file)
    .delete('/api/cloud/data-state/:type/:id/requests', { schema: withdrawSchema }, withdraw)
}

const fileSchema = ({ authenticates }: FastifyInstance) => ({
  operationId: 'requestLock',
  tags: ['locks'],
  summary: 'Ask the holder of a field for it',
  description:
    'Whoever watches the entity gets the event `requested`. Nothing is taken from the holder. The request ends after 60 seconds. While the field is free or yours, watchers are told that it has ended; withdraw it then, or the next holder within the 60 seconds is asked. Sent again, it goes on. At most 5 users ask for one field at once, and 20 for all fields of one entity.',
  params: Entity,
  body: Type.Unsafe<OwnPetitionRequest>(authenticates ? OwnPetitionRequest : PetitionRequest),
  response: {
    202: doneAnswer('The holder is told, if a page of theirs watches the entity'),
    400: wrong,
    405: otherMethod,
    409: unheld,
    413: largeBody,
    415: otherType,
    429: crowded,
    500: broken,
    503: unavailable
  }
})

const file: Handler<ReturnType<typeof fileSchema>> = async function (request, reply) {
  const {
    params,
    body: { fieldName, userData },
    identity: user
  } = request
  const petition = { fieldName, userData: ownUserData(user, userData) }
  await request.demandLock('edit', params)
  const { outcome } = await this.locks.petitions.file(params, petition)
  if (outcome === 'unheld') throw new Failure('FIELD_NOT_LOCKED', texts.fieldNotLocked)
  reply.code(202)
  return { success: true }
}

const withdrawSchema = {
  operationId: 'withdrawLockRequest',
  tags: ['locks'],
  summary: 'Withdraw requests for a field',
  description:
    'At least one of `fieldName` and `uid` is needed. With authentication, only administrators withdraw those of others. Withdrawing what does not stand succeeds.',
  params: Entity,
  querystring: PetitionQuery,
  response: {
    200: doneAnswer('Withdrawn'),
    400: wrong,
    405: otherMethod,
    413: largeBody,
    415: otherType,
    500: broken,
    503: unavailable
  }
}

const withdraw: Handler<typeof withdrawSchema> = async function (request) {
  const { params, query, identity: user } = request
  const own = ownNamedOnly(user, query)
  if (user && own.uid !== user.uid) await request.demand('edit', params)
  await this.locks.petitions.withdraw(params, own)
  return { success: true }
}
