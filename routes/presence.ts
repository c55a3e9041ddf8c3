import { Type } from '@sinclair/typebox'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { ownUserData, ownOnly } from '../lib/auth/own.ts'
import { Failure } from '../lib/errors.ts'
import { Entity, OwnPresenceRequest, PresenceQuery, PresenceRequest } from '../lib/locks/schemas.ts'
import type { Handler } from './handler.ts'
import { lockAnswers, doneAnswer } from './lock-answers.ts'

const { wrong, otherMethod, largeBody, otherType, full, broken, unavailable } = lockAnswers

/** Presence: users say that they look on at an entity. */
export default async function presence(fastify: FastifyInstance) {
  fastify
    .withTypeProvider<TypeBoxTypeProvider>()
    .post('/api/cloud/data-state/:type/:id/presence', { schema: enterSchema(fastify) }, enter)
    .delete('/api/cloud/data-state/:type/:id/presence', { schema: leaveSchema }, leave)
}

const enterSchema = ({ authenticates }: FastifyInstance) => ({
  operationId: 'tellPresence',
  tags: ['locks'],
  summary: 'Say that you have an entity open',
  description:
    'Whoever watches the entity gets the event `present`. Nothing is locked. It ends after 90 seconds. Sent again, it goes on. Several windows of a user are one. Everybody may look on who may view the entity, at most 50 users at once.',
  params: Entity,
  body: Type.Unsafe<OwnPresenceRequest>(authenticates ? OwnPresenceRequest : PresenceRequest),
  response: {
    202: doneAnswer('The others are told, if they watch the entity'),
    400: wrong,
    405: otherMethod,
    413: largeBody,
    415: otherType,
    429: full,
    500: broken,
    503: unavailable
  }
})

const enter: Handler<ReturnType<typeof enterSchema>> = async function (request, reply) {
  const { params, body, identity: user } = request
  const userData = ownUserData(user, body.userData)
  await request.demandLock('view', params)
  await this.locks.presence.enter(params, { userData })
  reply.code(202)
  return { success: true }
}

const leaveSchema = {
  operationId: 'endPresence',
  tags: ['locks'],
  summary: 'Say that you have an entity open no longer',
  description:
    'Without authentication `uid` is needed. With it, only administrators say so of others. To leave where you are not succeeds.',
  params: Entity,
  querystring: PresenceQuery,
  response: {
    200: doneAnswer('You have left'),
    400: wrong,
    405: otherMethod,
    413: largeBody,
    415: otherType,
    500: broken,
    503: unavailable
  }
}

const leave: Handler<typeof leaveSchema> = async function (request) {
  const { params, query, identity: user } = request
  const uid = ownOnly(user, query).uid ?? user?.uid
  if (uid === undefined) throw new Failure('BAD_REQUEST', 'querystring must have uid')
  if (user && uid !== user.uid) await request.demand('view', params)
  await this.locks.presence.leave(params, uid)
  return { success: true }
}
